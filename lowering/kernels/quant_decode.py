"""What the bytes of quantised weights mean, scheme by scheme. The loops over matrices of them are in `quant.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan

from xdsl.dialects.builtin import f32, i32

from xdsl_rlx.dialects.mir.quant_schemes import Scheme
from xdsl_rlx.lowering.kernel_dsl import Array, Number, bitcast, cast, select


def small_float(code: Number, exponent: int, mantissa: int, ones: float | None = None, ieee: bool = False) -> Number:
    """
    The f32 of a sign-exponent-mantissa code, held in an i32 without higher bits.

    Exponent and mantissa moved to where f32 has them are the value but for the bias, subnormal ones included; a product
    with a power of two, which is exact, puts that right. `ones` is what a magnitude of ones means, if that is something
    else; with `ieee` the greatest exponent is for infinity and NaN, as in IEEE 754.
    """
    largest, fraction = (1 << (exponent + mantissa)) - 1, (1 << mantissa) - 1
    magnitude, shift = code & largest, 23 - mantissa
    bias = (1 << (exponent - 1)) - 1
    value = bitcast(magnitude << shift, f32) * 2.0 ** (127 - bias)
    if ones is not None:
        value = select(magnitude == largest, cast(ones, f32), value)
    if ieee:
        beyond = bitcast(((magnitude & fraction) << shift) | 0x7F800000, f32)
        value = select(magnitude >= largest - fraction, beyond, value)
    sign = (code >> (exponent + mantissa)) << 31
    return bitcast(bitcast(value, i32) | sign, f32)


FP8 = {
    Scheme.FP8_E4M3: partial(small_float, exponent=4, mantissa=3, ones=nan),
    Scheme.FP8_E5M2: partial(small_float, exponent=5, mantissa=2, ieee=True),
}
"""Weights of one byte: e4m3 as of the OCP, whose only special magnitude is a NaN, and e5m2 as of IEEE 754."""

scale_code = partial(small_float, exponent=4, mantissa=3, ones=0.0)
"""An e4m3 scale of nvfp4: the code for NaN is 0."""

fp4 = partial(small_float, exponent=2, mantissa=1)
"""An e2m1 weight: 0, 1/2, 1, 3/2, 2, 3, 4, 6 and their negatives."""


class _Decoders(dict[str, Callable[[Array, Array], None]]):
    def __missing__(self, scheme: str) -> Callable[[Array, Array], None]:
        raise LookupError(f"scheme {scheme}: expected a row of BLOCKS, which a module of `kernels` adds, got none")


BLOCKS = _Decoders()
"""How a block of a scheme that embeds scales, bytes of it, is decoded into its elements: rows of plugins."""
