"""Elementwise functions of transposed arrays: each element type, axes in all orders, sizes around those of tiles."""

# Functions of arrays of either library.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from itertools import permutations
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from sampling import sample

import xdsl_rlx as rlx

TYPES = ["bool", "i1", "u1", "i2", "i4", "u4", "i8", "f2", "f4", "f8", ml_dtypes.bfloat16, "c8", "c16"]
SIZES = [1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100, 130]


def given(shape: tuple[int, ...], dtype: Any = "f4") -> np.ndarray[Any, Any]:
    x = np.random.default_rng(shape).integers(-100, 100, shape)
    return (x > 0 if dtype == "bool" else x.astype(dtype)) if dtype != "c8" else (x + 1j * x[::-1]).astype(dtype)


def same(x: Any) -> Any:
    return np.where(x == x, x, x)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_types(dtype: Any, threads: int) -> None:
    f = rlx.compile(lambda x: same(x.T), threads=threads)
    for shape in ((33, 65), (32, 64), (40, 100), (129, 32)):
        x = given(shape, dtype)
        found = f(x)
        assert found.dtype == x.dtype and np.array_equal(found, x.T)


@pytest.mark.sampled(most=6)
@pytest.mark.parametrize("rows", SIZES)
def test_sizes(rows: int) -> None:
    f = rlx.compile(lambda x, y: (x.T + 1) * y - x.T)
    for (columns,) in sample([(size,) for size in SIZES], 5, turn=rows):
        x, y = given((rows, columns)), given((columns, rows))
        assert np.array_equal(f(x, y), (x.T + 1) * y - x.T)


@pytest.mark.parametrize("order", [*permutations(range(3)), *list(permutations(range(4)))[5::3]], ids=str)
def test_orders_of_axes(order: tuple[int, ...]) -> None:
    f = rlx.compile(lambda x: np.transpose(x, order) * 2)
    for shape in ((33, 40, 50), (40, 64, 17), (5, 32, 48)):
        x = given((*shape, 33)[: len(order)])
        assert np.array_equal(f(x), np.transpose(x, order) * 2)


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_values_that_the_second_cache_does_not_hold(threads: int) -> None:
    f = rlx.compile(lambda x, y, z: x.T * y + z.T, threads=threads)
    for shape in ((700, 1001), (512, 1024)):
        x, z = given(shape), given(shape, "f8")
        y = given(shape[::-1])
        assert np.array_equal(f(x, y, z), x.T * y + z.T)


def test_other_layouts() -> None:
    """Slices of transposed arrays, arrays that are repeated, and both layouts of one array."""
    x = given((70, 90))
    for f in (
        lambda x: x.T[3:60, 5:] + 1,
        lambda x: x.T[::2, ::3] + 1,
        lambda x: x.T[::-1] + x.T[:, ::-1],
        lambda x: x[:70, :70].T + x[:70, :70],
        lambda x: np.broadcast_to(x.T[None], (3, 90, 70)) * 2,
        lambda x: x.T[:, None, :] * x.T[None, :, :],
        lambda x: np.where(x.T > 0, x[:, 0], x[0, :, None]),
    ):
        assert np.array_equal(rlx.compile(f)(x), f(x))
        assert np.array_equal(rlx.compile(f)(np.asfortranarray(x)), f(x))


def test_gradients() -> None:
    x, y = given((65, 33), "f8"), given((65, 33), "f8")
    d_x, d_y = rlx.compile(rlx.grad(lambda x, y: (x.T * y.T**2).sum(), (0, 1)))(x, y)
    assert np.array_equal(d_x, y**2) and np.array_equal(d_y, 2 * x * y)
    d_x, d_y = rlx.compile(rlx.grad(lambda x, y: np.einsum("ij,ji->", x, y), (0, 1)))(x, y.T.copy())
    assert np.array_equal(d_x, y) and np.array_equal(d_y, x.T)
