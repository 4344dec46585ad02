"""Numbers as integers that have their order, by which sorts compare them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, f64, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.shapes import u32
from xdsl_rlx.lowering.kernel_dsl import Number, bitcast, cast, isnan, select


@dataclass(frozen=True)
class FloatOrder:
    """Floats by their place in the order of all of them, an integer; the bits of negative ones run backwards."""

    element: Attribute
    bits: Attribute
    most: int
    """The largest place, one that no number has."""

    @staticmethod
    def of(element: Attribute) -> FloatOrder:
        return FloatOrder(f64, i64, 2**63 - 1) if element == f64 else FloatOrder(f32, i32, 2**31 - 1)

    def turned(self, x: Number) -> Number:
        return x ^ ((x >> self.most.bit_length()) & self.most)

    def place(self, x: Number) -> Number:
        """Both zeros are one number."""
        return self.turned(bitcast(x + 0.0, self.bits))

    def number(self, place: Number) -> Number:
        return bitcast(self.turned(place), self.element)

    def magnitude(self, x: Number) -> Number:
        """An integer that is the larger the larger a float is, whatever its sign; NaN is above all."""
        return bitcast(x, self.bits) & self.most


@dataclass(frozen=True)
class Keys:
    """Numbers as signed integers of their order, which are numbers again."""

    element: Attribute
    is_descending: bool

    @property
    def type(self) -> IntegerType:
        return i64 if self.element in (f64, i64) else i32

    @property
    def lanes(self) -> int:
        """Rows of a block: 64 bytes of each element."""
        return 64 // element_bytes(self.type)

    @property
    def most(self) -> int:
        """The largest key."""
        return (1 << (8 * element_bytes(self.type) - 1)) - 1

    @property
    def turned(self) -> int:
        return -1 if self.is_descending else 0

    def key(self, x: Number) -> Number:
        """NaN has the largest key, whatever its sign; a zero with a sign comes before one without."""
        if isinstance(self.element, AnyFloat):
            order = FloatOrder.of(self.element)
            return select(isnan(x), order.most, order.turned(bitcast(x, order.bits))) ^ self.turned
        if self.element == u32:
            return cast(x, i32) ^ (-(1 << 31) ^ self.turned)
        return cast(x, self.type) ^ self.turned

    def number(self, key: Number) -> Number:
        if isinstance(self.element, AnyFloat):
            return FloatOrder.of(self.element).number(key ^ self.turned)
        return cast(key ^ (-(1 << 31) ^ self.turned if self.element == u32 else self.turned), self.element)
