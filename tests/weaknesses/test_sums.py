"""Sums of very many numbers, where a single f32 accumulator loses digits: each kind of kernel that adds up."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

ROWS, BATCH = 20_000, 40


def product(np_: Any, x: Any, w: Any) -> Any:
    return np_.matmul(x, w) if np_ is np else x @ w


def total(np_: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return np_.sum(x, axis=axes) if np_ is np else np_.reduce_sum(x, axes=axes)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "columns": (lambda m, x: total(m, x, (0,)), ((ROWS, 7),)),
    "middle": (lambda m, x: total(m, x, (1,)), ((3, ROWS, 5),)),
    "rows": (lambda m, x: total(m, x, (1,)), ((3, 40 * ROWS),)),
    "everything": (lambda m, x: total(m, x * x, (0,)), ((40 * ROWS,),)),
    "a value a row": (lambda m, x, y: total(m, total(m, x, (1,)) * y, (0,)), ((ROWS, 9), (ROWS,))),
    "columns of a product": (lambda m, x, w: total(m, product(m, x, w), (0,)), ((ROWS, 6), (6, 5))),
    "columns of small products": (
        lambda m, x, w: total(m, product(m, x, w), (0, 1)),
        ((ROWS // 5, 5, 6), (ROWS // 5, 6, 3)),
    ),
    "columns of large products": (
        lambda m, x, w: total(m, product(m, x, w), (0, 1)),
        ((BATCH, ROWS // BATCH, 6), (BATCH, 6, 3)),
    ),
    "all of a product": (lambda m, x, w: total(m, product(m, x, w), (0, 1)), ((ROWS, 6), (6, 5))),
    "rows and columns": (
        lambda m, x: total(m, x / (total(m, x, (1,))[:, None] if m is np else m.reduce_sum(x, [1], True)), (0,)),
        ((ROWS, 12),),
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_long_sum_is_right_to_a_few_units_in_the_last_place(name: str, threads: int):
    """A single accumulator is off by tens of units after 20,000 positive numbers."""
    build, shapes = PROGRAMS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, np.float32) for shape in shapes]
    for dtype in ("f32", "f64"):
        g = rlx.Graph("f")
        g.set_outputs([build(g, *(g.input(f"x{i}", shape, dtype) for i, shape in enumerate(shapes)))])
        numpy_type = np.float32 if dtype == "f32" else np.float64
        (found,) = rlx.compile(g, threads=threads)(*(a.astype(numpy_type) for a in arrays))
        expected = build(np, *(a.astype(np.longdouble) for a in arrays))
        error = np.max(np.abs(found - expected) / np.abs(expected)) / np.finfo(numpy_type).eps
        assert error < 24, f"{dtype}: off by {error:.1f} units in the last place"


def test_the_sum_of_equal_numbers_does_not_drift():
    """Rounding errors of equal terms have one sign: 0.1 added two million times in f32 ends at 0.985 of the sum."""
    n = 2_000_000
    g = rlx.Graph("f")
    g.set_outputs([g.reduce_sum(g.input("x", (n, 3)) * 1.0, axes=[0])])
    (found,) = rlx.compile(g)(np.full((n, 3), 0.1, np.float32))
    np.testing.assert_allclose(found, 3 * [n * np.float64(np.float32(0.1))], rtol=2e-6)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_floats_are_summed_in_more_digits(dtype: str):
    n = 5000
    g = rlx.Graph("f")
    g.set_outputs([g.reduce_mean(g.input("x", (n, 3), dtype), axes=[0])])
    (found,) = rlx.compile(g)(np.ones((n, 3), np.float16 if dtype == "f16" else ml_dtypes.bfloat16))
    np.testing.assert_array_equal(found.astype(np.float64), np.ones(3))


@pytest.mark.sampled
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((1_000_000,), 0), ((100_000, 3), 0), ((2, 50_000, 70), 1), ((9, 200_000), 1)]
)
def test_a_long_running_sum_is_right_to_a_few_units_in_the_last_place(shape: tuple[int, ...], axis: int, reverse: bool):
    x = np.full(shape, 0.1, np.float32)
    g = rlx.Graph("f")
    g.set_outputs([g.cumsum(g.input("x", shape), axis=axis, reverse=reverse)])
    (found,) = rlx.compile(g)(x)
    order = np.flip(x, axis) if reverse else x
    expected = np.cumsum(order.astype(np.float64), axis=axis)
    np.testing.assert_allclose(found, np.flip(expected, axis) if reverse else expected, rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_with_and_without_a_rest(threads: int, monkeypatch: pytest.MonkeyPatch):
    """A long sum is cut into blocks, of one size where one divides it; every element counts once."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    sizes = (2049, 3200, 4096, 4097, 64 * 37, 64 * 61, 2 * 12_800, 12_801)
    g = rlx.Graph("blocks")
    given = {f"x{n}": 2.0 ** (np.arange(n) % 11) for n in sizes}
    xs = {n: g.input(f"x{n}", (n,), "f64") for n in sizes}
    g.set_outputs(
        [f(xs[n]) for n in sizes for f in (lambda x: g.reduce_sum(x, [0]), lambda x: g.reduce_sum(x * x, [0]))]
    )
    found = rlx.compile(g, threads=threads)(**given)
    expected = [f(x) for x in given.values() for f in (np.sum, lambda x: np.sum(x * x))]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_columns_of_which_a_kernel_has_the_totals_to_itself(threads: int, monkeypatch: pytest.MonkeyPatch):
    """Narrow ones, such as fit into a kernel and such as do not; few rows and blocks of them; whole pieces or not."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    g = rlx.Graph("columns")
    given: dict[str, Array] = {}
    sums: list[rlx.Value] = []
    expected: list[Array] = []
    for dtype in (np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        for shape in ((3, 65), (129, 64), (129, 65), (130, 200), (300, 128), (300, 1400), (2, 130, 77), (130, 3, 70)):
            name = f"x{len(given)}"
            x = given[name] = (np.arange(np.prod(shape)) % 7 - 2.0).reshape(shape).astype(dtype)
            axes = [1] if shape[0] == 2 else [0]
            sums.append(g.reduce_sum(g.input(name, shape, dtype), axes))
            expected.append(x.astype(np.float64).sum(axes[0]).astype(dtype))
    g.set_outputs(sums)
    for found, wanted in zip(rlx.compile(g, threads=threads)(**given), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
