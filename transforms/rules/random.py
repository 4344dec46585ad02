"""Rows of random numbers: each is a function of its key, and nothing is differentiated through it."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.random import DrawOp, RngBitsOp, RngNormalOp, RngUniformOp, SampleOp, key_batch
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, compute_type, element_of, shape_of
from xdsl_rlx.transforms.rules.rows import decompose, leading, zero

zero(RngBitsOp, "it depends on a key only")
zero(RngUniformOp, "it depends on a key only")
zero(RngNormalOp, "it depends on a key only")
zero(DrawOp, "ids are integers")
zero(SampleOp, "ids are integers")

# A batch of keys is one more leading dimension of the key and of the result.
leading(RngBitsOp)
leading(RngUniformOp)
leading(RngNormalOp)
leading(DrawOp)
# The draws of a sample depend on its key alone: batched through the definition, an example gets what it gets by itself.


class _Fractions:
    """Numerators in `[0, 2^digits)` made of the words of a key, one or (f64) two for each."""

    def __init__(self, b: MirBuilder, key: SSAValue, shape: Sequence[int], wide: str, count: int):
        self.b, self.wide, self.axis, self.shape = b, wide, len(key_batch(key)), tuple(shape)
        self.per = 2 if wide == "f64" else 1
        self.digits = 53 if wide == "f64" else 24
        inner = shape[self.axis :]
        self.words = b.rng_bits(key, (count * self.per, *inner))

    def _part(self, number: int, drop: int) -> Value:
        """All but the `drop` lowest bits of the words of the n-th set."""
        b = self.b
        words = b.reshape(b.narrow(self.words, self.axis, number, 1), self.shape)
        return b.cast(b.shift_right_logical(words, drop), self.wide)

    def numerator(self, number: int) -> Value:
        """The n-th set of numerators, as floats, which hold them exactly."""
        if self.per == 1:
            return self._part(number, 8)
        return self._part(2 * number, 5) * 2.0**26 + self._part(2 * number + 1, 6)


def _compute_name(op: Operation) -> str:
    return DTYPE_NAMES[compute_type(element_of(op.results[0]))]


@decompose(RngUniformOp)
def rng_uniform_decompose(op: RngUniformOp, b: MirBuilder) -> Sequence[Value]:
    element = element_of(op.result)
    low, high = op.bounds
    fractions = _Fractions(b, op.key, shape_of(op.result), _compute_name(op), 1)
    u = fractions.numerator(0) * 2.0**-fractions.digits
    if (low, high) != (0.0, 1.0):
        u = low + u * (high - low)
    if (low, high) != (0.0, 1.0) or element != compute_type(element):
        u = b.min(u, constants.next_below(high, element))
    return [b.cast(u, DTYPE_NAMES[element])]


@decompose(RngNormalOp)
def rng_normal_decompose(op: RngNormalOp, b: MirBuilder) -> Sequence[Value]:
    fractions = _Fractions(b, op.key, shape_of(op.result), _compute_name(op), 2)
    step = 2.0**-fractions.digits
    u, v = (fractions.numerator(0) + 1.0) * step, fractions.numerator(1) * step
    z = b.sqrt(b.log(u) * -2.0) * b.cos(v * (2 * pi))
    scaled = op.mean.value.data + z * op.scale.value.data
    return [b.cast(scaled, DTYPE_NAMES[element_of(op.result)])]


@decompose(SampleOp)
def sample_decompose(op: SampleOp, b: MirBuilder) -> Sequence[Value]:
    u = b.rng_uniform(op.key, shape_of(op.result), dtype="f64")
    return [b.draw(op.logits, u, op.temperature.value.data, op.top_k.value.data, op.top_p.value.data)]
