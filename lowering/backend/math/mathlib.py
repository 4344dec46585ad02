"""The functions that have no instruction, each defined once as scalar ops that both emitters print.

The definitions are in the files `math_*.py`; what fits no family is here, and the registry."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, f32, f64, i32
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math import (
    math_exp,
    math_gamma,
    math_inverse,
    math_log,
    math_normal,
    math_remainder,
    math_trig,
)

TABLES: dict[str, tuple[float, ...]] = {
    "two_over_pi_f32": math_trig.two_over_pi_f32(),
    "two_over_pi_f64": math_trig.two_over_pi_f64(),
}
"""Constant f64 tables, read by memref.get_global and memref.load."""


def _extend_f16(b: ScalarBuilder, bits: Scalar) -> Scalar:
    """The f16 in the low bits, as f32. Multiplying by 2^112 moves the exponent, of denormal numbers as well."""
    magnitude = b.bitcast((bits & 0x7FFF) << 13, f32) * 2.0**112
    special = b.bitcast(((bits & 0x3FF) << 13) | 0x7F800000, f32)
    sign = (bits & 0x8000) << 16
    chosen = b.select((bits & 0x7C00) >= 0x7C00, special, magnitude)
    return b.bitcast(b.bitcast(chosen, i32) | sign, f32)


def _truncate_f16(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    The nearest f16, ties to even, in the low bits. Normal results are rounded by integer addition, denormal ones by
    adding 1/2, whose last bit has the weight of theirs.
    """
    bits = b.bitcast(x, i32)
    magnitude = bits & 0x7FFFFFFF
    rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1)
    normal = b.minimum((rounded >> 13) - (112 << 10), 0x7C00)
    denormal = b.bitcast(b.bitcast(magnitude, f32) + 0.5, i32) - 0x3F000000
    finite = b.select(magnitude < 0x38800000, denormal, normal)
    quiet = ((magnitude >> 13) & 0x3FF) | 0x7E00
    return b.select(magnitude > 0x7F800000, quiet, finite) | (b.shift_right_logical(bits, 16) & 0x8000)


def _extend_bf16(b: ScalarBuilder, bits: Scalar) -> Scalar:
    return b.bitcast(bits << 16, f32)


def _truncate_bf16(b: ScalarBuilder, x: Scalar) -> Scalar:
    """The nearest bf16, ties to even, in the low bits; NaN stays NaN."""
    bits = b.bitcast(x, i32)
    rounded = bits + 0x7FFF + (b.shift_right_logical(bits, 16) & 1)
    return b.shift_right_logical(b.select(b.is_nan(x), bits | 0x400000, rounded), 16)


def _round_odd(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    f64 to f32, towards zero, with the last bit set when inexact: rounding the result again to a narrower format gives
    what one rounding would (Boldo and Melquiond).
    """
    near = b.cast(x, f32)
    back = b.cast(near, f64)
    inexact = b.cast((back < x) | (back > x), i32)
    too_far = b.cast(b.abs(back) > b.abs(x), i32)
    return b.bitcast((b.bitcast(near, i32) - too_far) | inexact, f32)


def _rsqrt(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.rsqrt(x)


_UNARY: dict[str, Callable[[ScalarBuilder, Scalar], Scalar]] = {
    "exp": math_exp.exp,
    "exp2": math_exp.exp2,
    "expm1": math_exp.expm1,
    "sigmoid": math_exp.sigmoid,
    "sinh": math_exp.sinh,
    "cosh": math_exp.cosh,
    "tanh": math_exp.tanh,
    "erf": math_exp.erf,
    "gaussian": math_normal.gaussian,
    "ndtr": math_normal.ndtr,
    "gelu": math_normal.gelu,
    "erfc": math_normal.erfc,
    "erfcx": math_normal.erfcx,
    "erf_inv": math_inverse.erf_inv,
    "ndtri": math_inverse.ndtri,
    "lgamma": math_gamma.lgamma,
    "digamma": math_gamma.digamma,
    "log": math_log.log,
    "log2": math_log.log2,
    "log10": math_log.log10,
    "log1p": math_log.log1p,
    "asinh": math_log.asinh,
    "acosh": math_log.acosh,
    "atanh": math_log.atanh,
    "cbrt": math_log.cbrt,
    "sin": math_trig.sin,
    "cos": math_trig.cos,
    "tan": math_trig.tan,
    "sin_small": math_trig.sin_small,
    "cos_small": math_trig.cos_small,
    "tan_small": math_trig.tan_small,
    "asin": math_trig.asin,
    "acos": math_trig.acos,
    "atan": math_trig.atan,
    "rsqrt": _rsqrt,
}
_BINARY: dict[str, Callable[[ScalarBuilder, Scalar, Scalar], Scalar]] = {
    "pow_f32": math_log.pow,
    "pow_f64": math_log.pow,
    "fmod_f32": math_remainder.fmod,
}
_NARROW: dict[str, tuple[Attribute, Callable[[ScalarBuilder, Scalar], Scalar]]] = {
    "extend_f16": (i32, _extend_f16),
    "truncate_f16": (f32, _truncate_f16),
    "extend_bf16": (i32, _extend_bf16),
    "truncate_bf16": (f32, _truncate_bf16),
    "round_odd": (f64, _round_odd),
}
_TYPES: dict[str, Attribute] = {"f32": f32, "f64": f64}

NAMES: tuple[str, ...] = (
    *(f"{name}_{suffix}" for name in _UNARY for suffix in _TYPES),
    *_BINARY,
    *_NARROW,
)
"""Every function: `exp_f32`, `exp_f64`, ..., and the conversions of narrow floats."""


@cache
def function(name: str) -> func.FuncOp:
    """The definition of one of `NAMES`. Raises `KeyError` for another name."""
    if name in _NARROW:
        type, define = _NARROW[name]
        return _define(name, [type], lambda b, args: define(b, args[0]))
    stem, _, suffix = name.rpartition("_")
    type = _TYPES[suffix]
    if (binary := _BINARY.get(name)) is not None:
        return _define(name, [type, type], lambda b, args: binary(b, args[0], args[1]))
    unary = _UNARY[stem]
    return _define(name, [type], lambda b, args: unary(b, args[0]))


def _define(name: str, types: list[Attribute], body: Callable[[ScalarBuilder, list[Scalar]], Scalar]) -> func.FuncOp:
    block = Block(arg_types=types)
    for arg, hint in zip(block.args, "xy", strict=False):
        arg.name_hint = hint
    b = ScalarBuilder(Builder(InsertPoint.at_end(block)))
    result = body(b, [b.of(arg) for arg in block.args]).value
    b.insert(func.ReturnOp(result))
    return func.FuncOp(name, FunctionType.from_lists(types, [result.type]), Region(block), visibility="private")
