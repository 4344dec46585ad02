"""Sorts of values alone: networks over rows side by side, and passes by digits, of all types and of many sizes."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python
from cost_models import costs
from ml_dtypes import bfloat16
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.index import SortOp, TopkOp
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm_parts, library_calls
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernel_library.called import CalledFunction
from xdsl_rlx.lowering.kernel_library.calls import function_of
from xdsl_rlx.lowering.kernel_library.functions import library_kernel
from xdsl_rlx.lowering.kernel_library.sorting import SortNetworkFunction, SortReadFunction, SortWriteFunction
from xdsl_rlx.lowering.kernel_pass import kernels_of
from xdsl_rlx.lowering.pipelines import fusion_passes
from xdsl_rlx.lowering.target import COMMON
from xdsl_rlx.passes import run_passes

DTYPES = ["float32", "float64", "float16", bfloat16, "int8", "uint8", "int16", "int32", "uint32", "int64"]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Numbers of the whole range of a type, some of them twice; of floats, all that are special."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        found = rng.integers(ends.min, ends.max, shape, kind, endpoint=True)
        found.reshape(-1)[::7] = ends.min
        return found
    found = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(kind)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0]
    places = rng.integers(0, max(found.size, 1), min(found.size, 8))
    found.reshape(-1)[places] = special[: len(places)]
    return found


def ordered(x: np.ndarray) -> np.ndarray:
    """Rows in order, by NumPy."""
    return np.sort(x.astype(np.float32), axis=-1).astype(x.dtype) if x.dtype == bfloat16 else np.sort(x, axis=-1)


def check(found: np.ndarray, exact: np.ndarray) -> None:
    assert found.dtype == exact.dtype
    wide = np.float32 if found.dtype == bfloat16 else found.dtype
    np.testing.assert_array_equal(found.astype(wide), exact.astype(wide))


def sort(x: Any) -> Any:
    return np.sort(x, axis=-1)


@pytest.mark.sampled(most=9)
@pytest.mark.parametrize("extent", range(131))
def test_rows_of_every_length(extent: int):
    """Fewer rows than a vector has lanes, as many, and some more."""
    run = rlx.compile(sort, threads=1)
    dtype = DTYPES[extent % len(DTYPES)]
    for rows in (1, 16, 21) if extent % 10 < 2 else (21,):
        x = numbers((rows, extent), dtype, extent)
        check(run(x), ordered(x))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(33, 64), (1, 700), (40, 300), (9, 129)])
def test_rows_of_every_type(dtype: Any, shape: tuple[int, int]):
    x = numbers(shape, dtype)
    check(rlx.compile(sort, threads=1)(x), ordered(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32"])
def test_descending_rows(dtype: str):
    """All values of `topk`: NaN is first, as the largest."""
    x = numbers((19, 37), dtype)
    run = rlx.compile(lambda x: rlx.topk_values(x, 37), threads=1)
    np.testing.assert_array_equal(run(x), ordered(x)[:, ::-1])


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_other_axes_and_truth_values(axis: int | None):
    x = numbers((5, 6, 7), "float32")

    def program(x: Any) -> Any:
        return np.sort(x, axis=axis), np.sort(x > 0, axis=axis)

    for ours, exact in zip(rlx.compile(program)(x), program(x), strict=True):
        np.testing.assert_array_equal(ours, exact)


def test_zeros_of_both_signs_stay():
    x = np.array([[0.0, -0.0, 1.0, -0.0, -1.0, 0.0]] * 3)
    found = rlx.compile(sort)(x)
    assert (np.signbit(found[:, 1:5]).sum(1) == 2).all() and not found[:, 1:5].any()


@pytest.mark.parametrize(("rows", "extent"), [(40, 20), (2, 300)])
def test_chunks_give_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, extent: int):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    x = numbers((rows, extent), "float32")
    with costs(parallel_ops=1):
        np.testing.assert_array_equal(rlx.compile(sort, threads=2)(x), ordered(x))


@pytest.mark.parametrize("dtype", ["f32", "i64"])
@pytest.mark.parametrize(("rows", "extent"), [(17, 21), (1, 400)])
def test_the_functions_say_the_same_as_python(rows: int, extent: int, dtype: str):
    x = numbers((rows, extent), "float32" if dtype == "f32" else "int64")
    g = rlx.Graph("sorted")
    g.set_outputs([g.op(SortOp, g.input("x", x.shape, dtype).ssa)])
    (found,) = run_as_python(g, x)
    np.testing.assert_array_equal(found, ordered(x))


def test_a_gradient_has_positions():
    """It sorts once, by positions; the value alone has none."""
    x = numbers((3, 8), "float64")
    kinds = [type(op) for op in _fused(lambda x: (np.sort(x) ** 2).sum(), x)]
    assert SortOp in kinds and TopkOp not in kinds
    weights = np.arange(8.0)
    slope = rlx.compile(rlx.grad(lambda x: (np.sort(x) * weights).sum()))
    y = np.random.default_rng(2).standard_normal((3, 8))
    np.testing.assert_array_equal(slope(y), weights[np.argsort(np.argsort(y))])


def _fused(function: Any, *arrays: np.ndarray) -> list[Any]:
    graph = rlx.trace(function, *arrays)
    return list(run_passes(graph, fusion_passes(graph.module)).module.walk())


def test_sorts_of_all_lengths_call_the_same_functions() -> None:
    def called(shape: tuple[int, int]) -> set[str]:
        g = rlx.Graph("step")
        g.set_outputs([g.sort(g.input("x", shape, "f32"))])
        return {name for text in emit_llvm_parts(kernels_of(lower_to_lir(g.module, 1))) for name in library_calls(text)}

    assert len(called((64, 9))) == 3
    assert called((64, 9)) == called((16, 300))
    assert not called((64, 8))


@pytest.mark.parametrize("function", [
    SortReadFunction("f32"), SortReadFunction("bf16", True), SortWriteFunction("u32"), SortWriteFunction("i8", True),
    SortNetworkFunction("i32", 16), SortNetworkFunction("i64", 8),
])  # fmt: skip
def test_functions_are_sound_and_found_by_name(function: CalledFunction) -> None:
    assert function_of(function.name) == function
    ModuleOp([library_kernel(function.name, COMMON).clone()]).verify()


@pytest.mark.parametrize("dtype", ["f32", "i64"])
def test_the_code_of_a_network_does_not_grow_with_its_passes(dtype: str) -> None:
    def length(extent: int) -> int:
        g = rlx.Graph("step")
        g.set_outputs([g.sort(g.input("x", (64, extent), dtype))])
        return len(rlx.llvm_source(g))

    # as many shapes of passes, 10 and 66 passes
    assert length(4096) < 1.05 * length(64)


@pytest.mark.optimised
@pytest.mark.parametrize("rows", [3, 15, 16, 40])
def test_llvm_has_no_remarks_for_the_console(rows: int, capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM prints why it made no vectors of a loop that was given a width."""
    x = np.random.default_rng(0).standard_normal((rows, 4))
    np.testing.assert_array_equal(rlx.compile(lambda x: np.sort(x, axis=0))(x), np.sort(x, axis=0))
    assert capfd.readouterr().err == ""
