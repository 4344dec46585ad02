"""Products of i8 as loops, with and without the instruction for them: exact, as NumPy's in int64, or wrapped to i32."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from levels import EVERY
from tile_cases import Case, text_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import DotI8Op, GemmOp
from xdsl_rlx.lowering.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.lir_tile_matmuls import LirTileMatmulsPass
from xdsl_rlx.lowering.numba.machine import cpu
from xdsl_rlx.lowering.numba.machine.llvm import Effort, target
from xdsl_rlx.lowering.numba.runtime.compile_module import Backend, compile_module
from xdsl_rlx.lowering.tiles.tile_sizes import COMMON, Registers

WITH = Registers(16, 32, int8=True)
PROCESSORS = [
    pytest.param(COMMON, id="avx2"),
    *([pytest.param(WITH, id="avx512vnni")] if cpu.registers(target()).int8 else []),
]
SIZES = tuple(range(1, 131)) if EVERY else (1, 2, 3, 4, 5, 7, 8, 13, 14, 15, 16, 17, 31, 33, 48, 63, 64, 65, 127, 130)
DEPTHS = (0, 1, 2, 3, 4, 5, 7, 33, 40, 131, 400)


def tiled(cases: list[Case], registers: Registers) -> ModuleOp:
    module = rlx.parse(text_of(cases, "i8", "i32"))
    LirTileMatmulsPass(registers.lanes, registers.count, int8=registers.int8).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, GemmOp) for op in module.walk())
    assert any(isinstance(op, DotI8Op) for op in module.walk()) == registers.int8
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    return module


def check(module: ModuleOp, cases: list[Case], effort: Effort, backend: Backend = Backend.LLVM) -> None:
    rng = np.random.default_rng(0)
    values: dict[str, np.ndarray] = {}
    for n, case in enumerate(cases):
        right = (case.columns, case.depth) if case.transposed else (case.depth, case.columns)
        left = (case.depth, case.rows) if case.across else (case.rows, case.depth)
        values[f"a{n}"] = rng.integers(-128, 128, left).astype(np.int8)
        values[f"b{n}"] = rng.integers(-128, 128, right).astype(np.int8)
    results = compile_module(module, 2, effort, backend)(**values)
    for n, (case, found) in enumerate(zip(cases, results, strict=True)):
        a = values[f"a{n}"].T if case.across else values[f"a{n}"]
        b = values[f"b{n}"].T if case.transposed else values[f"b{n}"]
        expected = a.astype(np.int64) @ b.astype(np.int64)
        np.testing.assert_array_equal(found, expected.astype(np.int32), err_msg=str(case))


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
    for rows, depth, columns, chunk in ((64, 4095, 70, 64), (150, 1700, 300, 150), (61, 600, 1100, 32))
    for transposed in (False, True)
    for across in (False, True)
]
"""Sums that go on, of some terms more than four times as many."""


@pytest.mark.parametrize("registers", PROCESSORS)
def test_large_products(registers: Registers):
    check(tiled(LARGE, registers), LARGE, Effort.FULL)


@pytest.mark.parametrize("registers", PROCESSORS)
def test_products_in_numba(registers: Registers):
    cases = [Case(15, 33, 20, 15, False, False), Case(17, 6, 35, 17, True, False, True)]
    check(tiled(cases, registers), cases, Effort.FULL, Backend.NUMBA)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_quantised_products_without_the_instruction(name: str):
    """In a process of its own, which compiles for a processor that lacks it."""
    tests = str(Path(__file__).parent / "nests" / "test_quant_as_python.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "q_matmul", tests]
    environment = {**os.environ, "XDSL_RLX_CPU": name}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_quantised_products_of_several_blocks():
    """Blocks of rows and columns that differ in size, zero points at the ends of their ranges."""
    m, k, n = 130, 300, 531
    rng = np.random.default_rng(0)
    x, w = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    bias = rng.integers(-1000, 1000, n).astype(np.int32)
    for points in ((0, 0, 0), (-128, 127, 5), (0, -128, 0), (127, 0, -7)):
        g = rlx.Graph("q")
        inputs = g.input("x", (m, k), "i8"), g.input("w", (k, n), "i8"), g.input("b", (n,), "i32")
        g.set_outputs([g.q_matmul(*inputs, 0.0005, *points)])
        sums = (x.astype(np.int64) - points[0]) @ (w.astype(np.int64) - points[1]) + bias
        expected = np.clip(np.rint(sums * 0.0005) + points[2], -128, 127)
        np.testing.assert_array_equal(rlx.compile(g)(x, w, bias)[0], expected)
