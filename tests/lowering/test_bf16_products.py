"""Products of bf16 as loops over tiles, with and without the instruction for them, against NumPy in float64."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from levels import EVERY
from tile_cases import FEW, Array, Case, blocks_of_registers, in_all_layouts, products, some_cases, tiled

from xdsl_rlx.dialects.lir import DotBf16Op
from xdsl_rlx.lowering.backend.machine import llvm
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.target import TileCosts

BF16 = np.dtype(ml_dtypes.bfloat16)
WITH = TileCosts(lanes=16, registers=32, bf16=True)
TILES = replace(WITH, int8=True, amx=True)
PROCESSORS = [
    pytest.param(TileCosts(), id="avx2"),
    *([pytest.param(WITH, id="avx512bf16")] if cost_model().bf16 else []),
    *([pytest.param(TILES, id="amx")] if cost_model().amx else []),
]
DEPTHS = (0, 1, 2, 3, 7, 33, 40, 129, 400)


def bound(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """The error of a sum in f32 of as many terms, and of rounding it to bf16 once."""
    a, b = (np.abs(x.astype(np.float64)) for x in (a, b))
    return (a.shape[-1] + 1) * 2.0**-23 * (a @ b) + 2.0**-8 * np.abs(product)


def check(cases: list[Case], costs: TileCosts, effort: Effort, backend: Backend = Backend.LLVM) -> None:
    rng = np.random.default_rng(0)

    def drawn(shape: tuple[int, int]) -> Array:
        return rng.standard_normal(shape).astype(BF16)

    module = tiled(cases, "bf16", "bf16", costs, DotBf16Op)
    for case, a, b, found in products(module, cases, drawn, effort, backend):
        expected = a.astype(np.float64) @ b.astype(np.float64)
        assert found.dtype == BF16
        assert (np.abs(found.astype(np.float64) - expected) <= bound(a, b, expected)).all(), case


@pytest.mark.sampled
@pytest.mark.parametrize("costs", PROCESSORS)
@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
def test_products_of_any_size(costs: TileCosts, effort: Effort):
    count = (20 if effort is Effort.QUICK else 4) * (30 if EVERY else 1)
    check(some_cases(costs.lanes, count, DEPTHS), costs, effort)


def test_blocks_of_tile_registers():
    """Of every remainder; processors without them compute the same cases otherwise."""
    costs = TILES if cost_model().amx else WITH if cost_model().bf16 else TileCosts()
    check(blocks_of_registers(15 if EVERY else 2, (32, 33, 62, 63, 64, 65, 96, 130, 520)), costs, Effort.QUICK)


@pytest.mark.parametrize("costs", PROCESSORS)
def test_sums_that_go_on(costs: TileCosts):
    """In blocks of rows and columns, of an odd number of terms too."""
    check(in_all_layouts((64, 2047, 70, 64), (300, 1700, 600, 300), (61, 600, 1100, 32)), costs, Effort.FULL)


@pytest.mark.parametrize("costs", PROCESSORS)
def test_products_in_numba(costs: TileCosts):
    check(FEW, costs, Effort.FULL, Backend.NUMBA)


def test_instructions_that_the_processor_lacks_are_refused(monkeypatch: pytest.MonkeyPatch):
    """LLVM would end the process."""
    module = tiled([Case(16, 8, 16, 16, False, False)], "bf16", "bf16", WITH, DotBf16Op)
    monkeypatch.setattr(llvm, "host", lambda: ("x86-64-v3", ""))
    with pytest.raises(ConfigurationError, match="lowered for a processor with AVX512-BF16, which x86-64-v3 lacks"):
        compile_module(module, 1)
