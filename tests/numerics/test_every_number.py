"""Functions of one operand at every number of f16 and bf16, NaN among them, and of two at every pair of bytes."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numerics.families import ORACLE

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir import rounding, transcendental
from xdsl_rlx.dialects.mir.elementwise import BinaryOp, UnaryOp
from xdsl_rlx.dialects.shapes import INTS

OPS = [
    op
    for family in (rounding, transcendental)
    for op in vars(family).values()
    if isinstance(op, type) and issubclass(op, UnaryOp) and op is not UnaryOp
]

OF_INTEGERS = [
    op
    for op in vars(rounding).values()
    if isinstance(op, type) and issubclass(op, BinaryOp) and op is not BinaryOp and set(INTS) <= set(op.ELEMENTS)
]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integers_are_numpys(dtype: Any) -> None:
    """Division by zero and the least integer over -1 do not trap, and shifts go as far as they are told."""
    bits = np.arange(256, dtype=np.uint8).view(dtype)
    g = rlx.Graph("every")
    lhs, rhs = g.input("x", (256, 1), bits.dtype), g.input("y", (256,), bits.dtype)
    g.set_outputs([g.op(op, lhs.ssa, rhs.ssa) for op in OF_INTEGERS])
    for op, result in zip(OF_INTEGERS, rlx.compile(g)(bits[:, None], bits), strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(result, ORACLE[op](None, bits[:, None], bits), err_msg=op.name)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_results_are_exact_ones_rounded(dtype: Any) -> None:
    """But where the f32 result lies next to the middle of two half floats: one in a thousand may be the other one."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    g = rlx.Graph("every")
    operand = g.input("x", x.shape, x.dtype)
    g.set_outputs([g.op(op, operand.ssa) for op in OPS])
    for op, result in zip(OPS, rlx.compile(g)(x), strict=True):
        with np.errstate(all="ignore"):
            expected = np.asarray(ORACLE[op](None, x)).astype(dtype)
        wrong = ~((result == expected) | (np.isnan(result) & np.isnan(expected)))
        assert wrong.mean() < 1e-3, f"{op.name} of {x[wrong][:5]} is {result[wrong][:5]}"
        places = result.view(np.int16)[wrong].astype(int) - expected.view(np.int16)[wrong].astype(int)
        assert not wrong.any() or abs(places).max() == 1, f"{op.name} of {x[wrong][:5]} is {result[wrong][:5]}"
