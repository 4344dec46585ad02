"""Counts of bits, bits as another type, neighbours of floats, and floats of fewer bits."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry2x32_p
from numerics.sample import EVERY_FLOAT, SPECIAL, Operand, Sample, apart, method, values
from oracle import Array, numpy_dtype

from xdsl_rlx.dialects.mir import bits
from xdsl_rlx.dialects.shapes import element_of

INTEGERS = ("i32", "i64", "i8", "u8", "i16", "u32")
EDGES = values(-(2**63), 2**63 - 1, -1, 0, 1, 7, -7, 100)
NUMBERS = Operand(
    (15,), values(0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 0.5, -2.5, 1.9, 65504, 6e-8, 1e-5, 0.3, 449, 1e9)
)
"""Of each half type near its ends, and between numbers of fewer bits."""

WORDS = values(0, 1, 0xFFFFFFFF, 0x243F6A88, 0x85A308D3, 0x13198A2E, 7)
FORMATS = ((5, 10), (8, 7), (4, 3), (5, 2), (2, 0), (1, 4), (11, 3), (3, 60))
"""Bits of exponent and mantissa: of half types, of those of 8 bits, and what some types do not have."""


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op in (("population_count", bits.PopulationCountOp), ("clz", bits.ClzOp)):
        rows.append(Sample(name, op, method(name), (Operand((8,), EDGES),), INTEGERS, exact=True))
    for source, to in (("f32", "i32"), ("f64", "i64"), ("f16", "i16"), ("bf16", "i16"), ("f32", "u32")):
        build = method("bitcast_convert_type", to)
        rows.append(Sample(f"bits-{source}-{to}", bits.BitcastConvertTypeOp, build, (NUMBERS,), (source,), exact=True))
    for source, to in (("i32", "f32"), ("i64", "f64"), ("i16", "f16"), ("i16", "bf16"), ("i8", "u8"), ("u32", "i32")):
        build, operand = method("bitcast_convert_type", to), Operand((4,), values(0x1234, -0x5678, 1, -1000))
        rows.append(Sample(f"bits-{source}-{to}", bits.BitcastConvertTypeOp, build, (operand,), (source,), exact=True))
    next_ = method("nextafter")
    pairs = (Operand((3, 5), apart()), Operand((5,), apart()))
    rows.append(Sample("nextafter", bits.NextafterOp, next_, pairs, differentiable=(0, 1), exact=True))
    special = (Operand((13,), SPECIAL), Operand((13, 1), SPECIAL))
    rows.append(Sample("nextafter-special", bits.NextafterOp, next_, special, EVERY_FLOAT, exact=True))
    precise = method("reduce_precision", 8, 60)
    rows.append(Sample("reduce_precision", bits.ReducePrecisionOp, precise, pairs[:1], differentiable=(0,), exact=True))
    for exponent, mantissa in FORMATS:
        build, name = method("reduce_precision", exponent, mantissa), f"reduce_precision-{exponent}-{mantissa}"
        rows.append(Sample(name, bits.ReducePrecisionOp, build, (NUMBERS,), EVERY_FLOAT, exact=True))
    words = tuple(Operand(shape, WORDS) for shape in ((), (), (3, 1), (4,)))
    for word in (0, 1):
        build, name = method("threefry2x32", word), f"threefry2x32-{word}"
        rows.append(Sample(name, bits.Threefry2x32Op, build, words, ("u32",), exact=True))
    return rows


def _threefry_by_jax(op: bits.Threefry2x32Op, *operands: Any) -> Any:
    words = jnp.broadcast_arrays(*operands)
    return threefry2x32_p.bind(*words)[op.word.value.data]


def _threefry(op: bits.Threefry2x32Op, key0: Array, key1: Array, x: Array, y: Array) -> Array:
    """By whole numbers of Python, from the paper."""

    def block(k0: int, k1: int, x: int, y: int) -> int:
        mask, keys = 0xFFFFFFFF, (k0, k1, k0 ^ k1 ^ 0x1BD11BDA)
        x, y = (x + k0) & mask, (y + k1) & mask
        for number in range(20):
            bits = ((13, 15, 26, 6), (17, 29, 16, 24))[number // 4 % 2][number % 4]
            x = (x + y) & mask
            y = (y << bits | y >> (32 - bits)) & mask ^ x
            if number % 4 == 3:
                added = number // 4 + 1
                x, y = (x + keys[added % 3]) & mask, (y + keys[(added + 1) % 3] + added) & mask
        return y if op.word.value.data else x

    shape = np.broadcast_shapes(*(one.shape for one in (key0, key1, x, y)))
    every = [np.broadcast_to(one, shape).reshape(-1).tolist() for one in (key0, key1, x, y)]
    return np.array([block(*one) for one in zip(*every, strict=True)], np.uint32).reshape(shape)


def _nextafter(op: Any, x: Array, y: Array) -> Array:
    """NumPy's of half floats gives the first one of two zeros."""
    return np.where(x == y, y, np.nextafter(x, y))


def _next_by_jax(op: Any, x: Any, y: Any) -> Any:
    """JAX does not differentiate it."""
    found = jnp.nextafter(lax.stop_gradient(x), lax.stop_gradient(y))
    return jnp.where(jnp.isfinite(x), found + (x - lax.stop_gradient(x)), found)


def _rounded(op: bits.ReducePrecisionOp, x: Array) -> Array:
    """By arithmetic in f64, in which each step of an f64 number is exact, too."""
    element = element_of(op.operand)
    exponent = min(op.exponent_bits.value.data, bits.EXPONENT_BITS[element])
    mantissa = min(op.mantissa_bits.value.data, bits.MANTISSA_BITS[element])
    wide = x.astype(np.float64)
    _, power = np.frexp(wide)
    if exponent == bits.EXPONENT_BITS[element]:
        # numbers below the least normal one have fewer bits, and are rounded at the place of that
        power = np.maximum(power, 3 - (1 << (exponent - 1)))
    finite = np.isfinite(wide) & (wide != 0)
    near = np.ldexp(np.rint(np.ldexp(wide, np.where(finite, mantissa + 1 - power, 0))), power - mantissa - 1)
    near = np.where(finite, near, wide)
    reach = (1 << (exponent - 1)) - 1
    _, power = np.frexp(near)
    if exponent < bits.EXPONENT_BITS[element]:
        near = np.where(np.isfinite(near) & (power - 1 > reach), np.copysign(np.inf, near), near)
        near = np.where(np.isfinite(near) & ((near == 0) | (power - 1 <= -reach)), np.copysign(0.0, near), near)
    return near.astype(x.dtype)


def _rounded_by_jax(op: bits.ReducePrecisionOp, x: Any) -> Any:
    return lax.reduce_precision(x, op.exponent_bits.value.data, op.mantissa_bits.value.data)


def _view(op: bits.BitcastConvertTypeOp, x: Array) -> Array:
    return x.view(numpy_dtype(element_of(op.result)))


def _of_patterns(count: Callable[[int, int], int]) -> Callable[..., Array]:
    """A function of the bits of each number, as an integer that is not negative, and of their count."""

    def row(op: Any, x: Array) -> Array:
        width = 8 * x.itemsize
        return np.array([count(int(n) % (1 << width), width) for n in x.flat], x.dtype).reshape(x.shape)

    return row


SAMPLES = tuple(_samples())
ORACLE = {
    bits.PopulationCountOp: _of_patterns(lambda n, width: n.bit_count()),
    bits.ClzOp: _of_patterns(lambda n, width: width - n.bit_length()),
    bits.BitcastConvertTypeOp: _view,
    bits.NextafterOp: _nextafter,
    bits.ReducePrecisionOp: _rounded,
    bits.Threefry2x32Op: _threefry,
}
JAX = {
    bits.PopulationCountOp: lambda op, x: lax.population_count(x),
    bits.ClzOp: lambda op, x: lax.clz(x),
    bits.BitcastConvertTypeOp: lambda op, x: lax.bitcast_convert_type(x, numpy_dtype(element_of(op.result))),
    bits.NextafterOp: _next_by_jax,
    bits.ReducePrecisionOp: _rounded_by_jax,
    bits.Threefry2x32Op: _threefry_by_jax,
}
