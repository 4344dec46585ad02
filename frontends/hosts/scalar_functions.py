"""Functions of a number that compiled programs compute by arithmetic, for the writer of StableHLO."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.builtin import f64
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir.scalar_builder import ScalarBuilder
from xdsl_rlx.lowering.backend.math import math_inverse, math_normal

_FUNCTIONS = {"erfcx": math_normal.erfcx, "ndtri": math_inverse.ndtri}


def body_of(name: str) -> tuple[Block, SSAValue]:
    """A block of scalar ops that computes a function of its argument, an f64, and the result."""
    block = Block(arg_types=[f64])
    b = ScalarBuilder(Builder(InsertPoint.at_end(block)))
    return block, _FUNCTIONS[name](b, b.of(block.args[0])).value
