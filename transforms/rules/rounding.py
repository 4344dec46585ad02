"""Rows of rounding, signs, remainders and the bits of integers. What is piecewise constant has no derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder, int_width, is_float
from xdsl_rlx.dialects.mir import rounding as mir
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.rules.elementwise import is_unsigned
from xdsl_rlx.transforms.rules.rows import diagonal, pointwise, zero
from xdsl_rlx.transforms.rules.rule_table import SCALAR

_Unary: TypeAlias = Callable[[ScalarBuilder, Scalar], Scalar]
_Binary: TypeAlias = Callable[[ScalarBuilder, Scalar, Scalar], Scalar]


def _rounded_scalar(function: _Unary, op: Operation, b: ScalarBuilder, x: Scalar) -> Scalar:
    return function(b, x) if is_float(x.type) else x


for _op, _function in (
    (mir.FloorOp, ScalarBuilder.floor),
    (mir.CeilOp, ScalarBuilder.ceil),
    (mir.TruncOp, ScalarBuilder.trunc),
):
    zero(_op, "it is piecewise constant")
    pointwise(_op)
    SCALAR.add(_op, partial(_rounded_scalar, _function))

zero(mir.SignOp, "it is piecewise constant")
pointwise(mir.SignOp)


@SCALAR.rule(mir.SignOp)
def sign_scalar(op: mir.SignOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    """What is neither above nor below 0 is NaN, or a zero, of which the sign is dropped."""
    if is_unsigned(element_of(op.operand)):
        return b.select(b.ne(x, 0), 1, x)
    rest = b.select(b.eq(x, 0), b.const(0, x.type), x)
    return b.select(x > 0, 1, b.select(x < 0, -1, rest))


def fmod_scalar(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return b.fmod(lhs, rhs)


def mod_scalar(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """The remainder, and a divisor more where its sign is not that of the divisor, which a zero gets."""
    rest = b.fmod(lhs, rhs)
    moved = b.select((rest < 0.0) ^ (rhs < 0.0), rest + rhs, rest)
    return b.select(b.eq(rest, 0.0), b.copysign(rest, rhs), moved)


def floordiv_scalar(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """
    As in CPython and NumPy: what the remainder leaves is a multiple of the divisor, so the quotient is nearly whole.

    It is rounded to the nearest integer, and a zero has the sign of the quotient.
    """
    rest = b.fmod(lhs, rhs)
    quotient = (lhs - rest) / rhs
    apart = b.ne(rest, 0.0) & ((rest < 0.0) ^ (rhs < 0.0))
    quotient = b.select(apart, quotient - 1.0, quotient)
    down = b.floor(quotient)
    nearest = b.select(quotient - down > 0.5, down + 1.0, down)
    plain = lhs / rhs
    whole = b.select(b.eq(quotient, 0.0), b.copysign(b.const(0.0, lhs.type), plain), nearest)
    return b.select(b.eq(rhs, 0.0), plain, whole)


def _integer_rem(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return b.select(b.eq(rhs, 0), 0, b.rem(lhs, rhs))


def _integer_mod(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    rest = _integer_rem(b, lhs, rhs)
    return b.select(b.ne(rest, 0) & ((rest ^ rhs) < 0), rest + rhs, rest)


def _narrow_quotient(round_: _Unary, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """The rounded quotient of integers held in floats that have more digits, which is exact; 0 for a divisor of 0."""
    quotient = round_(b, lhs / b.select(b.eq(rhs, 0.0), 1.0, rhs))
    return b.select(b.eq(rhs, 0.0), 0.0, quotient)


def _narrow_rest(round_: _Unary, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """What the rounded quotient leaves, exact too; 0 for a divisor of 0."""
    divisor = b.select(b.eq(rhs, 0.0), 1.0, rhs)
    return lhs - round_(b, lhs / divisor) * divisor


@dataclass(frozen=True)
class _Division:
    """A division of floats, of integers, and of integers in floats that hold them and their products."""

    of_floats: _Binary
    of_integers: _Binary
    in_floats: _Binary

    def scalar(self, op: Operation, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
        """
        The row of the division.

        No processor divides vectors of integers. Those of up to 32 bits are divided as floats, unless the divisor is a
        constant: LLVM multiplies then.
        """
        if is_float(lhs.type):
            return self.of_floats(b, lhs, rhs)
        signed, width = not is_unsigned(element_of(op.operands[0])), int_width(lhs.type) or 64
        if 1 < width <= 32 and not isinstance(rhs.value.owner, arith.ConstantOp):
            wide = f32 if width <= 16 else f64
            found = self.in_floats(b, *(b.cast(x, wide, signed=signed) for x in (lhs, rhs)))
            if signed and width == 32:
                # the one quotient that i32 does not hold wraps around
                found = b.select(found >= 2.0**31, -(2.0**31), found)
            return b.cast(b.cast(found, i32 if width <= 16 or signed else i64), lhs.type)
        if signed:
            return self.of_integers(b, lhs, rhs)
        # i64 holds all of them
        return b.cast(self.of_integers(b, *(b.cast(x, i64, signed=False) for x in (lhs, rhs))), lhs.type)


diagonal(
    mir.RemOp,
    lambda b, g, lhs, rhs, y: g,
    lambda b, g, lhs, rhs, y: -(g * b.trunc(lhs / rhs)),
)
diagonal(
    mir.ModOp,
    lambda b, g, lhs, rhs, y: g,
    lambda b, g, lhs, rhs, y: -(g * b.floordiv(lhs, rhs)),
)
zero(mir.FloordivOp, "it is piecewise constant")
pointwise(mir.FloordivOp)
_trunc, _floor = ScalarBuilder.trunc, ScalarBuilder.floor
for _op, _division in (
    (mir.RemOp, _Division(fmod_scalar, _integer_rem, partial(_narrow_rest, _trunc))),
    (mir.ModOp, _Division(mod_scalar, _integer_mod, partial(_narrow_rest, _floor))),
    (mir.FloordivOp, _Division(floordiv_scalar, ScalarBuilder.floordiv, partial(_narrow_quotient, _floor))),
):
    SCALAR.add(_op, _division.scalar)

diagonal(
    mir.CopysignOp,
    lambda b, g, lhs, rhs, y: g * (b.copysign(1.0, lhs) * b.copysign(1.0, rhs)),
    lambda b, g, lhs, rhs, y: b.zeros_like(y),
    scalar=lambda b, lhs, rhs: b.copysign(lhs, rhs),
)


def _bits_scalar(function: _Binary, op: Operation, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return function(b, lhs, rhs)


def _within(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> tuple[Scalar, Scalar]:
    """Whether a shift by `rhs` leaves bits, and `rhs` then, else 0: others are undefined where it is compiled."""
    inside = b.compare("olt", "ult", rhs, int_width(lhs.type) or 64)
    return inside, b.select(inside, rhs, 0)


def _shift_left(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    inside, amount = _within(b, lhs, rhs)
    return b.select(inside, lhs << amount, 0)


for _op in (mir.OrOp, mir.XorOp, mir.ShiftLeftOp, mir.ShiftRightOp):
    zero(_op, "the operands are integers")
    pointwise(_op)

SCALAR.add(mir.OrOp, partial(_bits_scalar, lambda b, lhs, rhs: lhs | rhs))
SCALAR.add(mir.XorOp, partial(_bits_scalar, lambda b, lhs, rhs: lhs ^ rhs))
SCALAR.add(mir.ShiftLeftOp, partial(_bits_scalar, _shift_left))


@SCALAR.rule(mir.ShiftRightOp)
def shift_right_scalar(op: mir.ShiftRightOp, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    inside, amount = _within(b, lhs, rhs)
    if is_unsigned(element_of(op.lhs)):
        return b.select(inside, b.shift_right_logical(lhs, amount), 0)
    return lhs >> b.select(inside, amount, (int_width(lhs.type) or 64) - 1)
