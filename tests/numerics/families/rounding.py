"""Rounding to integers, signs, remainders, and the bits of integers."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import EVERY_FLOAT, NARROW, SPECIAL, TIES, Operand, Sample, apart, integers, ints, method, values
from oracle import Array, widen
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import rounding

INTEGERS = ("i32", "i64", "i8", "u8", "i16", "u32")
HALVES = values(0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 7.0, -7.0)
EXTREME = values(0.49999997, -0.49999997, 8388609.0, -8388607.5, 1e-40, 2e18)
"""Near ties, and what has no fraction because it is large."""
EDGES = values(-(2**63), 2**63 - 1, -1, 0, 1, 7, -7, 100)
"""Of i64, and of narrower types by their low bits."""

_ROUNDED: tuple[tuple[str, type[Operation]], ...] = (
    ("floor", rounding.FloorOp),
    ("ceil", rounding.CeilOp),
    ("trunc", rounding.TruncOp),
    ("sign", rounding.SignOp),
)
_DIVIDED: tuple[tuple[str, type[Operation]], ...] = (
    ("rem", rounding.RemOp),
    ("mod", rounding.ModOp),
    ("floordiv", rounding.FloordivOp),
)


def _rounded_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op in _ROUNDED:
        build = method(name)
        rows.append(Sample(name, op, build, (Operand((8,), HALVES),), EVERY_FLOAT, exact=True))
        rows.append(Sample(f"{name}-extreme", op, build, (Operand((6,), EXTREME),), EVERY_FLOAT, exact=True))
        rows.append(Sample(f"{name}-special", op, build, (Operand((13,), SPECIAL),), EVERY_FLOAT, exact=True))
        rows.append(Sample(f"{name}-empty", op, build, (Operand((0, 3)),), exact=True))
        rows.append(Sample(f"{name}-int", op, build, (Operand((8,), EDGES),), INTEGERS, exact=True))
    return rows


def _divided_samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op in _DIVIDED:
        build = method(name)
        # quotients from 1.1 to 1.9 beyond a whole number: differences do not cross a step
        numbers = Operand((2, 3), values(5.5, -4.3, 7.6, 0.7, -9.4, 3.3))
        by = Operand((3,), values(2.0, 3.0, -1.3))
        wrt = () if name == "floordiv" else (0, 1)
        rows.append(Sample(name, op, build, (numbers, by), differentiable=wrt, exact=name == "rem"))
        rows.append(Sample(f"{name}-narrow", op, build, (numbers, by), NARROW, exact=name == "rem"))
        special = (Operand((13,), SPECIAL), Operand((13, 1), SPECIAL))
        rows.append(Sample(f"{name}-special", op, build, special, exact=name != "floordiv"))
        ties = (Operand((7,), TIES), Operand((7, 1), values(1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0)))
        rows.append(Sample(f"{name}-whole", op, build, ties, EVERY_FLOAT, exact=True))
        rows.append(Sample(f"{name}-empty", op, build, (Operand((0, 3)), Operand((3,))), exact=True))
        edges = (Operand((8,), EDGES), Operand((8, 1), EDGES))
        rows.append(Sample(f"{name}-int", op, build, edges, INTEGERS, exact=True))
    return rows


def _bit_samples() -> list[Sample]:
    rows: list[Sample] = []
    booleans = (Operand((2, 4), integers(0, 2), "i1"), Operand((4,), integers(0, 2), "i1"))
    for name, op in (("or_", rounding.OrOp), ("xor", rounding.XorOp)):
        rows.append(Sample(name, op, method(name), booleans, ("i1",), exact=True))
        rows.append(Sample(f"{name}-int", op, method(name), (ints((6,)), ints((2, 1))), ("i32",), exact=True))
    amounts = Operand((9, 1), values(0, 1, 7, 8, 31, 32, 63, 64, -1))
    for name, op in (("shift_left", rounding.ShiftLeftOp), ("shift_right", rounding.ShiftRightOp)):
        rows.append(Sample(name, op, method(name), (Operand((8,), EDGES), amounts), INTEGERS, exact=True))
    rows.append(Sample("not", rounding.XorOp, method("not_"), booleans[:1], ("i1",), exact=True))
    rows.append(Sample("not-int", rounding.XorOp, method("not_"), (Operand((8,), EDGES),), INTEGERS, exact=True))
    return rows


def _copysign_samples() -> list[Sample]:
    op, build = rounding.CopysignOp, method("copysign")
    signs = (Operand((3, 5), apart()), Operand((5,), apart()))
    special = (Operand((13,), SPECIAL), Operand((13, 1), SPECIAL))
    return [
        Sample("copysign", op, build, signs, differentiable=(0, 1), exact=True),
        Sample("copysign-special", op, build, special, exact=True),
        Sample("copysign-narrow", op, build, signs, NARROW, exact=True),
    ]


def _binary(f: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    return lambda op, x, y: f(widen(x), widen(y))


def _unary(f: Callable[[Array], Array]) -> Callable[..., Array]:
    return lambda op, x: f(widen(x))


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *xs: f(*xs)


SAMPLES = (*_rounded_samples(), *_divided_samples(), *_copysign_samples(), *_bit_samples())
ORACLE = {
    rounding.FloorOp: _unary(np.floor),
    rounding.CeilOp: _unary(np.ceil),
    rounding.TruncOp: _unary(np.trunc),
    rounding.SignOp: _unary(np.sign),
    rounding.RemOp: _binary(np.fmod),
    rounding.ModOp: _binary(np.mod),
    rounding.FloordivOp: _binary(np.floor_divide),
    rounding.CopysignOp: _binary(np.copysign),
    rounding.OrOp: _plain(np.bitwise_or),
    rounding.XorOp: _plain(np.bitwise_xor),
    rounding.ShiftLeftOp: _plain(np.left_shift),
    rounding.ShiftRightOp: _plain(np.right_shift),
}
JAX = {
    rounding.FloorOp: _plain(jnp.floor),
    rounding.CeilOp: _plain(jnp.ceil),
    rounding.TruncOp: _plain(jnp.trunc),
    rounding.SignOp: _plain(jnp.sign),
    rounding.RemOp: _plain(jnp.fmod),
    rounding.ModOp: _plain(jnp.mod),
    rounding.FloordivOp: _plain(jnp.floor_divide),
    rounding.CopysignOp: _plain(jnp.copysign),
    rounding.OrOp: _plain(jnp.bitwise_or),
    rounding.XorOp: _plain(jnp.bitwise_xor),
    rounding.ShiftLeftOp: _plain(jnp.left_shift),
    rounding.ShiftRightOp: _plain(jnp.right_shift),
}
