"""Rounding to integers, signs, remainders, and the bits of integers, with their builder methods.

Sums, products and comparisons are in `elementwise.py`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import traits_def
from xdsl.traits import Commutative

from xdsl_rlx.dialects.mir.elementwise import BinaryOp, UnaryOp
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import FLOATS, INTS, element_of, i1, u8, u32

_REAL: tuple[Attribute, ...] = (*FLOATS, *INTS)
_ALL_BITS: dict[Attribute, int] = {i1: 1, u8: 0xFF, u32: 0xFFFFFFFF}
"""The number with all bits set, where it is not -1."""


class FloorOp(UnaryOp, name="mir.floor"):
    """`result` is the greatest integer not above `x`; integers stay. The derivative is 0."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class CeilOp(UnaryOp, name="mir.ceil"):
    """`result` is the least integer not below `x`; integers stay. The derivative is 0."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class TruncOp(UnaryOp, name="mir.trunc"):
    """`result` is `x` without its fraction; integers stay. The derivative is 0."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class SignOp(UnaryOp, name="mir.sign"):
    """`result` is 1 above 0, -1 below, +0 at both zeros; NaN stays. The derivative is 0."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class RemOp(BinaryOp, name="mir.rem"):
    """
    `result = lhs - trunc(lhs / rhs) rhs`, exactly, with the sign of `lhs`: `fmod` of C and NumPy.

    Division by zero gives NaN for floats and 0 for integers. The derivative takes `trunc(lhs / rhs)` as constant.
    """

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class ModOp(BinaryOp, name="mir.mod"):
    """
    `result = lhs - floor(lhs / rhs) rhs` with the sign of `rhs`, also of a zero: `%` of Python and NumPy.

    Division by zero gives NaN for floats and 0 for integers. The derivative takes `floor(lhs / rhs)` as constant.
    """

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class FloordivOp(BinaryOp, name="mir.floordiv"):
    """
    `result = floor(lhs / rhs)` of the exact quotient, rounded: `//` of Python and NumPy.

    Division by zero gives `lhs / rhs` for floats and 0 for integers; the least integer over -1 wraps. The derivative is
    0.
    """

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = _REAL


class CopysignOp(BinaryOp, name="mir.copysign"):
    """`result = |lhs|` with the sign of `rhs`, also that of a zero. The cotangent of `rhs` is 0."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS


class OrOp(BinaryOp, name="mir.or"):
    """`result = lhs or rhs` of i1, bitwise of integers."""

    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (i1, *INTS)


class XorOp(BinaryOp, name="mir.xor"):
    """`result` is whether one of `lhs` and `rhs` is true, but not both, of i1; bitwise of integers."""

    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (i1, *INTS)


class ShiftLeftOp(BinaryOp, name="mir.shift_left"):
    """`result = lhs 2^rhs`, wrapped: 0 where `rhs` is negative or not less than the number of bits, as in NumPy."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = INTS


class ShiftRightOp(BinaryOp, name="mir.shift_right"):
    """
    `result = floor(lhs / 2^rhs)`; of unsigned integers that is `mir.shift_right_logical`.

    Where `rhs` is negative or not less than the number of bits, it is -1 of a negative `lhs` and else 0, as in NumPy.
    """

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = INTS


class RoundingBuilder(BuilderCore):
    """Builder methods of this family, and those that build ops of others."""

    floor = method(FloorOp)
    ceil = method(CeilOp)
    trunc = method(TruncOp)
    sign = method(SignOp)
    rem = method(RemOp)
    mod = method(ModOp)
    floordiv = method(FloordivOp)
    copysign = method(CopysignOp)
    or_ = method(OrOp)
    xor = method(XorOp)
    shift_left = method(ShiftLeftOp)
    shift_right = method(ShiftRightOp)

    def not_(self, x: Operand) -> Value:
        """Invert an i1; invert all bits of an integer."""
        value = self._this.value(self.operand(x))
        ones = _ALL_BITS.get(element_of(value.ssa), -1)
        return self.xor(value, ones)

    def is_nan(self, x: Operand) -> Value:
        """Return an i1 for each element: whether it is NaN; false for integers."""
        value = self._this.value(self.operand(x))
        return self._this.ne(value, value)
