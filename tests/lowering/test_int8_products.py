"""Products of i8 as loops, with and without the instruction for them: exact, as NumPy's in int64, or wrapped to i32."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from levels import EVERY
from tile_cases import FEW, Array, Case, blocks_of_registers, in_all_layouts, products, some_cases, tiled

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import DotI8Op
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend
from xdsl_rlx.lowering.target import TileCosts

WITH = TileCosts(lanes=16, registers=32, int8=True)
TILES = replace(WITH, bf16=True, amx=True)
PROCESSORS = [
    pytest.param(TileCosts(), id="avx2"),
    *([pytest.param(WITH, id="avx512vnni")] if cost_model().int8 else []),
    *([pytest.param(TILES, id="amx")] if cost_model().amx else []),
]
DEPTHS = (0, 1, 2, 3, 4, 5, 7, 33, 40, 131, 400)


def check(cases: list[Case], costs: TileCosts, effort: Effort, backend: Backend = Backend.LLVM) -> None:
    rng = np.random.default_rng(0)

    def drawn(shape: tuple[int, int]) -> Array:
        return rng.integers(-128, 128, shape).astype(np.int8)

    module = tiled(cases, "i8", "i32", costs, DotI8Op)
    for case, a, b, found in products(module, cases, drawn, effort, backend):
        # exact in float64, whose products are those of a BLAS: sums of 4095 terms are below 2^26
        expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
        np.testing.assert_array_equal(found, expected.astype(np.int32), err_msg=str(case))


@pytest.mark.sampled
@pytest.mark.parametrize("costs", PROCESSORS)
@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
def test_products_of_any_size(costs: TileCosts, effort: Effort):
    count = (20 if effort is Effort.QUICK else 4) * (30 if EVERY else 1)
    check(some_cases(costs.lanes, count, DEPTHS), costs, effort)


def test_blocks_of_tile_registers():
    """Of every remainder; processors without them compute the same cases otherwise."""
    costs = TILES if cost_model().amx else WITH if cost_model().int8 else TileCosts()
    check(blocks_of_registers(15 if EVERY else 2, (64, 65, 66, 67, 124, 127, 128, 190, 1040)), costs, Effort.QUICK)


@pytest.mark.parametrize("costs", PROCESSORS)
def test_sums_that_go_on(costs: TileCosts):
    """Of some terms more than four times as many."""
    check(in_all_layouts((64, 4095, 70, 64), (150, 1700, 300, 150), (61, 600, 1100, 32)), costs, Effort.FULL)


@pytest.mark.parametrize("costs", PROCESSORS)
def test_products_in_numba(costs: TileCosts):
    check(FEW, costs, Effort.FULL, Backend.NUMBA)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"] if EVERY else ["x86-64-v3"])
def test_quantised_products_without_the_instruction(name: str):
    """In a process of its own, which compiles for a processor that lacks it."""
    tests = str(Path(__file__).parent / "kernels" / "test_quant_as_python.py")
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
