"""Tiles of matrix products that are functions of the library."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from levels import EVERY
from tile_cases import Case, text_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import CallFunctionOp
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm, emit_llvm_parts, library_calls
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.numba.python_module import emit_python
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module, lower_to_lir
from xdsl_rlx.lowering.kernel_library.calls import function_of
from xdsl_rlx.lowering.kernel_library.functions import is_function, library_kernel
from xdsl_rlx.lowering.kernel_library.products import (
    PaddedLinesFunction,
    PaddedTileFunction,
    RowsFunction,
    TileFunction,
)
from xdsl_rlx.lowering.kernel_pass import kernels_of
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.target import CostModel, TileCosts
from xdsl_rlx.lowering.tiles.lir_tile_matmuls import LirTileMatmulsPass

WIDE = CostModel(lanes=16, registers=32)
FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "nn": lambda x, y: x @ y,
    "nt": lambda x, y: x @ y.T,
    "tn": lambda x, y: x.T @ y,
    "tt": lambda x, y: x.T @ y.T,
}


def factors(form: str, m: int, k: int, n: int, dtype: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(m * 131 * 131 + k * 131 + n)
    x = rng.standard_normal((k, m) if form[0] == "t" else (m, k)).astype(dtype)
    return x, rng.standard_normal((n, k) if form[1] == "t" else (k, n)).astype(dtype)


def check(f: Callable[..., Any], given: tuple[np.ndarray[Any, Any], ...], threads: int = 1) -> None:
    found = np.asarray(rlx.compile(f, threads=threads)(*given))
    wanted = f(*(x.astype(np.float64) for x in given))
    assert found.dtype == given[0].dtype and found.shape == wanted.shape
    scale = 1e-4 if given[0].dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=0, atol=scale)


def called(f: Callable[..., Any], *given: np.ndarray[Any, Any], model: CostModel = WIDE, threads: int = 1) -> set[str]:
    """The functions of the library that a program calls on a processor."""
    module = rlx.compile(f, threads=threads).trace(*given).module
    return {
        name
        for text in emit_llvm_parts(kernels_of(lower_to_lir(module, threads, model=model)))
        for name in library_calls(text)
    }


@pytest.mark.sampled
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("m", "k", "n"), [(129, 257, 513), (127, 257, 512), (259, 129, 200), (523, 300, 100)])
@pytest.mark.parametrize("threads", [2, 3, 4])
def test_rows_that_threads_do_not_share_evenly(form: str, m: int, k: int, n: int, threads: int) -> None:
    """Chunks of two lengths call tiles, as chunks of one do: the code asks which it has."""
    given = factors(form, m, k, n, "float32")
    assert called(FORMS[form], *given, threads=threads)
    check(FORMS[form], given, threads)


SIZES = tuple(range(131)) if EVERY else (0, 1, 2, 5, 8, 13, 14, 15, 16, 17, 27, 31, 33, 48, 64, 65, 90, 127, 128, 130)
DEPTHS = (0, 1, 2, 15, 16, 17, 40, 64, 100, 130, 257, 384, 385, 500)
PROCESSORS = (TileCosts(), TileCosts(lanes=16, registers=32), TileCosts(lanes=4, registers=16))


def drawn_cases(seed: int, count: int) -> list[Case]:
    """Products that are drawn, of all layouts."""
    rng = random.Random(seed)
    sizes = [(rng.choice(SIZES), rng.choice(DEPTHS), rng.choice(SIZES)) for _ in range(count)]
    flags = [[rng.random() < 0.5 for _ in range(3)] for _ in range(count)]
    return [Case(*size, max(size[0], 1), *flag) for size, flag in zip(sizes, flags, strict=True)]


def called_once(cases: list[Case], element: str, costs: TileCosts) -> ModuleOp:
    """A program of calls for all products that tiles are for, though a library is faster for small ones."""
    text = text_of(cases, element).replace("lir.loop %t = 0 to 2 {\n", "")
    module = rlx.parse(text.replace("\n}\n}\nlir.kernel", "\n}\nlir.kernel", 1))
    # rows that are some cache lines apart are copied as others are that share sets
    least = replace(costs, min_packed_multiplications=1, wide_register_bytes=1, l1_way_bytes=256)
    with_costs(LirTileMatmulsPass, least).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    return module


@pytest.mark.sampled
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("costs", PROCESSORS, ids=["avx2", "avx512", "sse"])
def test_products_of_any_size_by_calls(element: str, costs: TileCosts) -> None:
    cases = drawn_cases(costs.lanes, 450 if EVERY else 16)
    module = called_once(cases, element, costs)
    assert any(isinstance(op, CallFunctionOp) for op in module.walk()) == (element == "f32" or costs.lanes > 4)
    rng = np.random.default_rng(0)
    given = dict[str, np.ndarray[Any, Any]]()
    for n, case in enumerate(cases):
        shapes = (case.depth, case.rows)[:: 1 if case.across else -1], (case.columns, case.depth)
        shapes = shapes[0], shapes[1][:: 1 if case.transposed else -1]
        for name, shape in zip("ab", shapes, strict=True):
            given[f"{name}{n}"] = rng.standard_normal(shape).astype(f"f{int(element[1:]) // 8}")
    found = compile_module(module, 2, Effort.QUICK, Backend("llvm"))(**given)
    for n, (case, one) in enumerate(zip(cases, found, strict=True)):
        a, b = given[f"a{n}"].astype("f8"), given[f"b{n}"].astype("f8")
        wanted = (a.T if case.across else a) @ (b.T if case.transposed else b)
        np.testing.assert_allclose(one, wanted, rtol=0, atol=2e-4 if element == "f32" else 1e-11, err_msg=str(case))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
def test_values_of_sizes_from_100_to_130(form: str, dtype: str) -> None:
    """Large enough for tiles, where the processor has the registers for them."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        m, k, n = (int(x) for x in rng.integers(100, 131, 3))
        check(FORMS[form], factors(form, m, k, n, dtype))


@pytest.mark.sampled
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("m", "k", "n"), [(30, 500, 81), (27, 385, 33), (129, 100, 130), (13, 17, 513), (700, 40, 100), (90, 1024, 200)]
)
def test_values_of_sums_in_parts_and_of_rows_in_blocks(form: str, m: int, k: int, n: int) -> None:
    check(FORMS[form], factors(form, m, k, n, "float32"))


@pytest.mark.parametrize("form", FORMS)
def test_panels_are_padded_if_several_parts_of_a_vector_are_left_over(form: str) -> None:
    def tiles(rows: int, columns: int) -> set[str]:
        names = called(FORMS[form], *factors(form, rows, 300, columns, "float32"))
        return {name.split("_tile_")[0] for name in names if "_tile_" in name}

    assert tiles(128, 30) == {"gemm_padded"}
    # the last panel begins in the one before it, a part in one vector, no part
    assert tiles(128, 45) == tiles(128, 40) == tiles(128, 64) == {"gemm"}


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
def test_values_of_padded_panels(form: str, dtype: str) -> None:
    """All that is left over of vectors, of factors that are not finite in places."""
    for columns in range(17, 66) if EVERY else (19, 26, 31, 45):
        x, y = factors(form, 200, 120, columns, dtype)
        check(FORMS[form], (x, y))
        row = x.T if form[0] == "t" else x
        row[3], row[5] = np.inf, np.nan
        assert np.isfinite(np.asarray(rlx.compile(FORMS[form], threads=1)(x, y))).all(1).sum() == 198


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_values_do_not_depend_on_threads(form: str, threads: int) -> None:
    given = factors(form, 193, 130, 225, "float32")
    check(FORMS[form], given, threads)
    compiled = rlx.compile(FORMS[form], threads=threads)
    np.testing.assert_array_equal(compiled(*given), compiled(*given))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_views_of_larger_arrays(dtype: str) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 130, 130)).astype(dtype)
    check(lambda x, y: x[3:100, 5:120] @ y[10:125, 7:90], (x, y))
    check(lambda x, y: x[3:100, 5:120] @ y[7:90, 10:125].T, (x, y))
    check(lambda x, y: x[5:120, 3:100].T @ y[10:125, 7:90], (x, y))
    check(lambda x, y: x[::2] @ y[:, ::2], (x, y))


@pytest.mark.parametrize("form", FORMS)
def test_sums_of_products_and_their_gradients(form: str) -> None:
    x, y = factors(form, 33, 400, 40, "float64")
    z = np.random.default_rng(1).standard_normal((33, 40))
    check(lambda x, y, z: z + FORMS[form](x, y), (x, y, z))
    f = FORMS[form]
    dx, dy = (np.asarray(g) for g in rlx.compile(rlx.grad(lambda x, y: (f(x, y) * z).sum(), argnums=(0, 1)))(x, y))
    dx, dy = dx.T if form[0] == "t" else dx, dy.T if form[1] == "t" else dy
    left, right = x.T if form[0] == "t" else x, y.T if form[1] == "t" else y
    np.testing.assert_allclose(dx, z @ right.T, rtol=0, atol=1e-11)
    np.testing.assert_allclose(dy, left.T @ z, rtol=0, atol=1e-11)


def test_all_transpositions_and_depths_share_tiles() -> None:
    names = {form: called(f, *factors(form, 130, 300, 128, "float32")) for form, f in FORMS.items()}
    tiles = {form: {name for name in found if "tile" in name} for form, found in names.items()}
    assert tiles["nn"] == tiles["nt"] and tiles["tn"] == tiles["tt"] and all(tiles.values())
    assert tiles["nn"] == {x for x in called(FORMS["nn"], *factors("nn", 130, 250, 128, "float32")) if "tile" in x}


def test_short_sums_and_narrow_products_are_loops() -> None:
    assert not called(FORMS["nn"], *factors("nn", 100, 15, 100, "float32"))
    assert not called(FORMS["nn"], *factors("nn", 14, 100, 16, "float32"))


def test_functions_are_found_by_their_names() -> None:
    tile = TileFunction("f32", 13, 32, 16, True, 4)
    assert tile.name == "gemm_tile_13x32_v16_t1_by4_f32"
    padded = PaddedTileFunction("f32", 13, 30, 16), PaddedLinesFunction("f32", 30, 16)
    for function in (tile, TileFunction("f64", 1, 8, 4), RowsFunction("f64", 8, 2), *padded):
        assert function_of(function.name) == function
        assert is_function(function.name)
    assert function_of("fourier_stage_4_f32") is None
    assert not is_function("gemm_tile_13_v16_f32")


@pytest.mark.parametrize("name", [
    "gemm_tile_13x18_v16_t0_by1_f32", "gemm_tile_9x48_v16_t1_by1_f32", "gemm_tile_2x16_v8_t0_by4_f64",
    "gemm_padded_tile_9x30_v16_t1_by1_f32", "gemm_padded_tile_2x11_v8_t0_by4_f64", "gemm_padded_lines_19_v8_f32",
    "gemm_lines_18_v8_f32", "gemm_transposed_v8x384_f64", "gemm_rows_8x2_f32",
])  # fmt: skip
def test_functions_are_sound(name: str) -> None:
    ModuleOp([library_kernel(name, WIDE).clone()]).verify()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('"f" [1] (%x) to (%y)', "lir.call_function calls 'f', which the library does not have"),
        ('"fourier_stage_4_f32" [1] (%x) to (%y)', "calls 'fourier_stage_4_f32', which the library does not have"),
        (
            '"gemm_lines_8_v8_f32" [1, 2] (%x) to (%y)',
            "takes 1 words, reads 1 buffers and writes 1, got 2 words, 1 and 1",
        ),
        ('"gemm_lines_8_v8_f32" [1] (%x, %x) to (%y)', "reads 1 buffers and writes 1, got 1 words, 2 and 1"),
        ('"gemm_lines_8_v8_f64" [8] (%x) to (%y)', "gemm_lines_8_v8_f64 expected buffers of f64, got f32"),
    ],
)
def test_calls_of_what_the_library_does_not_have_are_named(call: str, message: str) -> None:
    count = call.count("%")
    buffers = ", ".join(["memref<8xf32>"] * (count - 1))
    zeros = ", ".join(["%c0"] * count)
    module = rlx.parse(f"""builtin.module {{
  lir.program @p {{
    %x = lir.input "x" : memref<8xf32>
    %y = lir.output 0 : memref<8xf32>
    lir.launch @k over 1 by 1 reads(%x : memref<8xf32>) writes(%y : memref<8xf32>)
  }}
  lir.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>, %lo: index, %hi: index) {{
    %c0 = arith.constant 0 : index
    lir.call_function {call} at [{zeros}] range %lo to %hi : ({buffers}) to (memref<8xf32>)
    lir.return
  }}
}}""")
    for emit in (emit_llvm, emit_python):
        with pytest.raises(PassFailedException, match=re.escape(message)):
            emit(module)


def test_a_printed_module_has_the_functions_in_it() -> None:
    module = lower_to_lir(
        rlx.compile(FORMS["nt"], threads=1).trace(*factors("nt", 130, 300, 128, "float32")).module, 1, model=WIDE
    )
    text = emit_llvm(module)
    names = [set(re.findall(rf"{word} void @rlx.callee.(\w+)", text)) for word in ("call", "internal")]
    assert names[0] == names[1] and names[0]
    printed = emit_python(module)
    assert all(f"def {name}(" in printed for name in names[0])


@pytest.mark.parametrize("own", [False, True])
def test_what_a_kernel_computes_beside_its_calls_is_optimised(own: bool) -> None:
    def f(x: Any, y: Any) -> Any:
        return x @ y.T + 1 if own else x @ y.T

    module = rlx.compile(f, threads=1).trace(*factors("nt", 130, 300, 128, "float32")).module
    text = emit_llvm(lower_to_lir(module, 1, model=WIDE))
    (line,) = (line for line in text.splitlines() if "@k0_" in line and "noalias captures" in line)
    assert ("optnone" in line) is not own


def test_an_exported_library_has_the_functions_in_it(tmp_path: Path) -> None:
    given = factors("nt", 130, 300, 128, "float32")
    compiled = rlx.compile(FORMS["nt"], threads=1).compiled(*given)
    library = rlx.load_export(rlx.export(compiled, tmp_path / "product"))
    np.testing.assert_array_equal(np.asarray(library(*given)[0]), np.asarray(compiled(*given)[0]))
