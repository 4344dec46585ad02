"""Ops on the bits of numbers: counts of bits, bits as another type, the next number, and fewer bits.

And, or, xor and shifts are in `elementwise.py` and `rounding.py`.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import FixedBitwidthType, bf16, f16, f32, f64, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import Elementwise, MirOp
from xdsl_rlx.dialects.mir.elementwise import BinaryOp, UnaryOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Integer, Tensor, integer, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    DTYPE_NAMES,
    FLOATS,
    INTS,
    broadcast_shapes,
    check_element,
    dims,
    element_of,
    same_element_type,
    shape_of,
    tensor_of,
    u32,
)

_NUMBERS: tuple[Attribute, ...] = (*FLOATS, *INTS)
_SIGNLESS: dict[int, Attribute] = {8: i8, 16: i16, 32: i32, 64: i64}

MANTISSA_BITS: dict[Attribute, int] = {f64: 52, f32: 23, f16: 10, bf16: 7}
"""Of each float type, without the leading bit."""
EXPONENT_BITS: dict[Attribute, int] = {f64: 11, f32: 8, f16: 5, bf16: 8}


def width(element: Attribute) -> int:
    """The number of bits of an element type other than i1 and complex numbers."""
    return cast("FixedBitwidthType", element).bitwidth


class PopulationCountOp(UnaryOp, name="mir.population_count"):
    """`result` is the number of bits of `x` that are 1; of a negative number, those of its two's complement."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = INTS


class ClzOp(UnaryOp, name="mir.clz"):
    """`result` is the number of leading zeros of `x`, the bits above the highest 1: for 0, the width of the type."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = INTS


class BitcastConvertTypeOp(MirOp, name="mir.bitcast_convert_type"):
    """
    `result[i]` has the bits of `operand[i]`, as an element type of the same width.

    The bits of a NaN in f16 and bf16 may change, and it stays NaN. No gradient flows through the op.
    """

    operand: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, to: Attribute):
        self.assemble(operands=[operand], result_types=[tensor_of(to, shape_of(operand))])

    def infer_types(self) -> tuple[Attribute]:
        source, to = element_of(self.operand), element_of(self.result)
        for type_ in (source, to):
            check_element(type_, _NUMBERS)
        if width(source) != width(to):
            raise VerifyException(f"expected element types of one width, got {source} and {to}")
        return (tensor_of(to, shape_of(self.operand)),)


class NextafterOp(BinaryOp, name="mir.nextafter"):
    """
    `result` is the next number after `lhs` in the direction of `rhs`: `rhs` where both are equal, NaN if one is NaN.

    The derivative is 1 with respect to `lhs` and 0 with respect to `rhs`.
    """

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS


class ReducePrecisionOp(MirOp, name="mir.reduce_precision"):
    """
    `result` is `x` rounded to a float with these bits of exponent and mantissa, in the type of `x`.

    To nearest, ties to even; beyond the largest number it is infinite, below the least normal number a zero. NaN stays.
    More bits than the type has change nothing. The op is linear to derivatives: cotangents are rounded, as in JAX.
    """

    operand: Tensor = tensor(alias="x")
    exponent_bits: Integer = integer()
    mantissa_bits: Integer = integer()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), FLOATS)
        for name, bits, least in (
            ("exponent_bits", self.exponent_bits.value.data, 1),
            ("mantissa_bits", self.mantissa_bits.value.data, 0),
        ):
            if bits < least:
                raise VerifyException(f"expected {name} of at least {least}, got {bits}")
        return (tensor_of(element_of(self.operand), shape_of(self.operand)),)


class Threefry2x32Op(MirOp, name="mir.threefry2x32"):
    """
    `result` is word 0 or 1 of Threefry 2x32 of 20 rounds, with the key `key0`, `key1` and the counter `x`, `y`.

    The function of Salmon et al., 2011, Parallel random numbers: as easy as 1, 2, 3, which JAX draws random bits with.
    Operands are u32 and broadcast. Two ops that differ in `word` alone compute the rounds once.
    """

    key0: Tensor = tensor()
    key1: Tensor = tensor()
    x: Tensor = tensor()
    y: Tensor = tensor()
    word: Integer = integer()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        parts = (self.key0, self.key1, self.x, self.y)
        check_element(same_element_type(*parts), (u32,))
        if (word := self.word.value.data) not in (0, 1):
            raise VerifyException(f"expected word 0 or 1, got {word}")
        return (tensor_of(u32, broadcast_shapes(*map(shape_of, parts))),)


class BitsBuilder(BuilderCore):
    """Builder methods of this family, and those that build ops of others."""

    population_count = method(PopulationCountOp)
    clz = method(ClzOp)
    nextafter = method(NextafterOp)
    reduce_precision = method(ReducePrecisionOp)
    threefry2x32 = method(Threefry2x32Op)

    def bitcast_convert_type(self, x: Operand, new_dtype: object) -> Value:
        """
        Return the bits of `x` as elements of another type; `x` itself if it has that type.

        An element of a type `n` times as wide is `n` elements along a last axis, the lowest bits first: `[..]` becomes
        `[.., n]`, and `[.., n]` becomes `[..]`. Booleans and complex numbers are a GraphError. The bits of a NaN in f16
        and bf16 may change, and it stays NaN. No gradient flows.
        """
        value, to = self._this.value(self.operand(x)), constants.element_type(new_dtype)
        source = element_of(value.ssa)
        if source == to:
            return value
        for type_ in (source, to):
            if type_ not in _NUMBERS:
                raise GraphError(
                    f"bitcast_convert_type: expected real numbers that are no booleans, got {DTYPE_NAMES[type_]}"
                )
        if width(source) > width(to):
            return self._cut(value, to)
        return self._joined(value, to) if width(source) < width(to) else self.op(BitcastConvertTypeOp, value.ssa, to)

    def _cut(self, value: Value, to: Attribute) -> Value:
        """`[..]` of a wide type as `[.., n]` of a narrow one."""
        b, bits, narrow = self._this, width(element_of(value.ssa)), width(to)
        whole = self.bitcast_convert_type(value, _SIGNLESS[bits])
        amounts = b.iota((bits // narrow,), 0, whole.dtype) * narrow
        parts = b.shift_right_logical(b.reshape(whole, (*value.shape, 1)), amounts)
        return self.bitcast_convert_type(b.cast(parts, _SIGNLESS[narrow]), to)

    def _joined(self, value: Value, to: Attribute) -> Value:
        """`[.., n]` of a narrow type as `[..]` of a wide one."""
        b, narrow, bits = self._this, width(element_of(value.ssa)), width(to)
        count = bits // narrow
        if value.shape[-1:] != (count,):
            raise GraphError(
                f"bitcast_convert_type: expected a last axis of extent {count}, of which {DTYPE_NAMES[to]} takes the "
                f"bits, got shape {dims(value.shape)}"
            )
        element = _SIGNLESS[bits]
        plain = b.cast(self.bitcast_convert_type(value, _SIGNLESS[narrow]), element) & ((1 << narrow) - 1)
        total: Value | None = None
        for place in range(count):
            part = b.reshape(b.narrow(plain, -1, place, 1), value.shape[:-1])
            moved = b.shift_left(part, place * narrow) if place else part
            total = moved if total is None else total | moved
        assert total is not None
        return self.bitcast_convert_type(total, to)
