"""Products of bf16 as loops over tiles, with and without the instruction for them, against NumPy in float64."""

import random

import ml_dtypes
import numpy as np
import pytest
from levels import EVERY
from tile_cases import Case, text_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import DotBf16Op, GemmOp
from xdsl_rlx.lowering.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.lir_tile_matmuls import LirTileMatmulsPass
from xdsl_rlx.lowering.numba.machine import cpu, llvm
from xdsl_rlx.lowering.numba.machine.llvm import Effort, target
from xdsl_rlx.lowering.numba.runtime.compile_module import Backend, compile_module
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.tiles.tile_sizes import COMMON, Registers

BF16 = np.dtype(ml_dtypes.bfloat16)
WITH = Registers(16, 32, bf16=True)
PROCESSORS = [
    pytest.param(COMMON, id="avx2"),
    *([pytest.param(WITH, id="avx512bf16")] if cpu.registers(target()).bf16 else []),
]
SIZES = tuple(range(1, 131)) if EVERY else (1, 2, 3, 4, 5, 7, 8, 13, 14, 15, 16, 17, 31, 33, 48, 63, 64, 65, 127, 130)
DEPTHS = (0, 1, 2, 3, 7, 33, 40, 129, 400)


def tiled(cases: list[Case], registers: Registers) -> ModuleOp:
    module = rlx.parse(text_of(cases, "bf16"))
    LirTileMatmulsPass(registers.lanes, registers.count, registers.bf16).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, GemmOp) for op in module.walk())
    assert any(isinstance(op, DotBf16Op) for op in module.walk()) == registers.bf16
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    return module


def bound(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """The error of a sum in f32 of as many terms, and of rounding it to bf16 once."""
    a, b = (np.abs(x.astype(np.float64)) for x in (a, b))
    return (a.shape[-1] + 1) * 2.0**-23 * (a @ b) + 2.0**-8 * np.abs(product)


def check(module: ModuleOp, cases: list[Case], effort: Effort, backend: Backend = Backend.LLVM) -> None:
    rng = np.random.default_rng(0)
    values: dict[str, np.ndarray] = {}
    for n, case in enumerate(cases):
        right = (case.columns, case.depth) if case.transposed else (case.depth, case.columns)
        left = (case.depth, case.rows) if case.across else (case.rows, case.depth)
        values[f"a{n}"] = rng.standard_normal(left).astype(BF16)
        values[f"b{n}"] = rng.standard_normal(right).astype(BF16)
    results = compile_module(module, 2, effort, backend)(**values)
    for n, (case, found) in enumerate(zip(cases, results, strict=True)):
        a = values[f"a{n}"].T if case.across else values[f"a{n}"]
        b = values[f"b{n}"].T if case.transposed else values[f"b{n}"]
        expected = a.astype(np.float64) @ b.astype(np.float64)
        assert found.dtype == BF16
        assert (np.abs(found.astype(np.float64) - expected) <= bound(a, b, expected)).all(), case


def some_cases(seed: int, count: int) -> list[Case]:
    rng = random.Random(seed)
    found: list[Case] = []
    for _ in range(count):
        rows, columns, depth = rng.choice(SIZES), rng.choice(SIZES), rng.choice(DEPTHS)
        chunk = rng.choice((rows, max(rows // 2, 1), 5))
        found.append(Case(rows, depth, columns, chunk, rng.random() < 0.5, False, rng.random() < 0.5))
    return found


@pytest.mark.parametrize("registers", PROCESSORS)
@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
def test_products_of_any_size(registers: Registers, effort: Effort):
    count = (40 if effort is Effort.QUICK else 4) * (15 if EVERY else 1)
    cases = some_cases(registers.lanes, count)
    check(tiled(cases, registers), cases, effort)


LARGE = [
    Case(rows, depth, columns, chunk, transposed, False, across)
    for rows, depth, columns, chunk in ((64, 2047, 70, 64), (300, 1700, 600, 300), (61, 600, 1100, 32))
    for transposed in (False, True)
    for across in (False, True)
]
"""Sums that go on, in blocks of rows and columns, of an odd number of terms too."""


@pytest.mark.parametrize("registers", PROCESSORS)
def test_large_products(registers: Registers):
    check(tiled(LARGE, registers), LARGE, Effort.FULL)


@pytest.mark.parametrize("registers", PROCESSORS)
def test_products_in_numba(registers: Registers):
    cases = [Case(15, 33, 20, 15, False, False), Case(17, 6, 35, 17, True, False, True)]
    check(tiled(cases, registers), cases, Effort.FULL, Backend.NUMBA)


def test_instructions_that_the_processor_lacks_are_refused(monkeypatch: pytest.MonkeyPatch):
    """LLVM would end the process."""
    module = rlx.parse(text_of([Case(16, 8, 16, 16, False, False)], "bf16"))
    LirTileMatmulsPass(16, 32, bf16=True).apply(Context(), module)
    monkeypatch.setattr(llvm, "host", lambda: ("x86-64-v3", ""))
    with pytest.raises(ConfigurationError, match="lowered for a processor with AVX512-BF16, which x86-64-v3 lacks"):
        compile_module(module, 1)
