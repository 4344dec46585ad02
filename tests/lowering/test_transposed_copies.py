"""Copies that turn matrices around, of each element type, of many sizes, batches and distances between lines."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from sampling import sample
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl import Iteration
from xdsl_rlx.lowering.kernel_library.calls import function_of
from xdsl_rlx.lowering.kernel_library.copies import TOGETHER, TransposeFunction
from xdsl_rlx.lowering.kernel_library.functions import library_kernel
from xdsl_rlx.lowering.target import COMMON

TYPES = ["bool", "i1", "u1", "i2", "i4", "u4", "i8", "f2", "f4", "f8", bfloat16, "c8", "c16"]
SIZES = range(131)


def given(shape: tuple[int, ...], dtype: Any = "f4") -> np.ndarray[Any, Any]:
    return np.random.default_rng(shape).integers(-100, 100, shape).astype(dtype)


def check(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def is_called(f: Any, *arrays: np.ndarray[Any, Any]) -> bool:
    return "transpose_" in rlx.llvm_source(rlx.trace(f, *arrays))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_types(dtype: Any) -> None:
    f = rlx.compile(turned)
    for shape in ((3, 7), (40, 3), (17, 30), (2, 5, 6)):
        x = given(shape, dtype)
        check(f(x), turned(x))


def test_the_printed_module_has_the_function() -> None:
    x = given((7, 11))
    names: dict[str, Any] = {}
    exec(rlx.numba_source(rlx.trace(turned, x)), names)
    (found,) = names["turned"](x=x)
    check(found, turned(x))


@pytest.mark.sampled(most=10)
@pytest.mark.parametrize("rows", SIZES)
def test_sizes(rows: int) -> None:
    """Also of parts of lines, and of matrices that lie apart."""
    f = rlx.compile(lambda x: (turned(x), turned(x[..., 1:]), turned(x[:, ::2])))
    for (columns,) in sample([(size,) for size in SIZES], 3, turn=rows):
        for x in (given((1, rows, columns + 1)), given((4, rows, columns + 1))):
            for found, expected in zip(f(x), (turned(x), turned(x[..., 1:]), turned(x[:, ::2])), strict=True):
                check(found, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_read_often(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that are compared with each other; checked, no call reads or writes outside of its buffers."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    x, y = given((50, 3), "f8"), given((41, 3), "f8")

    def distances(x: Any, y: Any) -> Any:
        return ((x[:, None] - y[None]) ** 2).sum(-1)

    assert is_called(distances, x, y)
    check(rlx.compile(distances, threads=threads)(x, y), distances(x, y))


@pytest.mark.parametrize("shape", [(30, 4), (4, 30), (TOGETHER, TOGETHER), (3, 9, 8)])
def test_small_ones_are_calls(shape: tuple[int, ...]) -> None:
    assert is_called(turned, given(shape))


def test_a_copy_in_a_loop_is_a_kernel() -> None:
    def steps(x: Any) -> Any:
        return rlx.scan(lambda carry, y: (carry + turned(turned(y) + 1), turned(y)), np.zeros((8, 9)), x)

    x = given((5, 8, 9), "f8")
    assert not is_called(steps, x)
    for found, expected in zip(rlx.compile(steps)(x), (x.sum(0) + 5, turned(x)), strict=True):
        check(found, expected)


@pytest.mark.parametrize("shape", [(TOGETHER - 1, 9), (200, 300)])
def test_large_and_narrow_ones_are_kernels(shape: tuple[int, ...]) -> None:
    assert not is_called(turned, given(shape))


@pytest.mark.parametrize(("rows", "columns", "apart"), [(2, 9, 2), (4, 9, 4), (3, 9, 5), (7, 11, 7), (130, 4, 131)])
def test_the_function_says_the_same_as_python(rows: int, columns: int, apart: int) -> None:
    """Of matrices with a gap behind each."""
    size = columns * apart + 1
    plan, x, y = np.array([rows, columns, apart, size]), given((2 * size,)), np.zeros(2 * rows * columns, "f4")
    for matrix in (0, 1):
        TransposeFunction("f32").body(Iteration(np.int64(matrix)), plan, x, np.zeros(rows * TOGETHER, "f4"), y)
    lines = x.reshape(2, size)[:, :-1].reshape(2, columns, apart)[..., :rows]
    check(y.reshape(2, rows, columns), turned(lines))


@pytest.mark.parametrize("element", DTYPES)
def test_functions_are_sound_and_found_by_name(element: str) -> None:
    function = TransposeFunction(element)
    assert function_of(function.name) == function
    ModuleOp([library_kernel(function.name, COMMON).clone()]).verify()


def test_the_profile_counts_what_is_copied() -> None:
    x = given((30, 40))
    work = rlx.compile(turned, threads=1).profile(x, runs=1).work
    assert work.read == x.nbytes
    # each element is stored once more between, in a buffer of a few lines
    assert work.written == x.nbytes + 4 * TOGETHER * x.shape[1]
