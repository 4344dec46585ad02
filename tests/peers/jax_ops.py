"""Cases for the rows of JAX's primitives on elements, shapes and reductions; `jax_ops_structured.py` has the others."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax


@dataclass(frozen=True)
class Case:
    """A function of JAX with arguments, and how often it can be differentiated in reverse and in forward mode."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    orders: int = 2
    tolerance: float | None = None
    """Of values; None for that of the element type."""
    slack: float = 1e-9
    """Of derivatives."""
    x64: bool = False
    """Whether the arguments are f64, or other types that JAX has only with 64-bit types."""


CASES: dict[str, Case] = {}

RNG = np.random.default_rng(39)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    """Numbers around 0."""
    return RNG.standard_normal(shape).astype(dtype)


def uniform(low: float, high: float, *shape: int, dtype: Any = np.float32) -> Any:
    """Numbers of an interval."""
    return RNG.uniform(low, high, shape).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
    """Integers of a range without its end."""
    return RNG.integers(low, high, shape).astype(dtype)


def f32(numbers: Any) -> Any:
    """An array of these numbers."""
    return np.array(numbers, np.float32)


def f16(numbers: Any) -> Any:
    """An array of these numbers."""
    return np.array(numbers, np.float16)


FLOATS: tuple[Any, ...] = (np.float32, np.float16, ml_dtypes.bfloat16)
INTEGERS: tuple[Any, ...] = (np.int8, np.uint8, np.int16, np.int32, np.uint32)

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 3e38, 2e-38], np.float32)


def each(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of each of several arrays."""
    return lambda *xs: tuple(f(x) for x in xs)


def pairs(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of each pair of neighbours among several arrays."""
    return lambda *xs: tuple(f(x, y) for x, y in zip(xs[::2], xs[1::2], strict=True))


def unary(name: str, f: Callable[..., Any], low: float, high: float, special: bool = True, **options: Any) -> None:
    """
    A function of one number: values in three types, at special numbers, for no elements; derivatives in an interval.
    """
    x = uniform(low, high, 3, 5)
    others = (uniform(low, high, 7, dtype=np.float16), uniform(low, high, 1, 3, dtype=ml_dtypes.bfloat16))
    CASES[name] = Case(f, (x,), **options)
    values = (*others, np.zeros((0, 3), np.float32), *((SPECIAL,) if special else ()))
    CASES[f"{name}, types"] = Case(each(f), values, 0, options.get("tolerance"))


def complex_numbers(*shape: int) -> Any:
    """Complex numbers around 0."""
    return (normal(*shape) + 1j * normal(*shape)).astype(np.complex64)


for _name, _f, _low, _high in (
    ("acos", lax.acos, -0.9, 0.9),
    ("acosh", lax.acosh, 1.1, 3.0),
    ("asin", lax.asin, -0.9, 0.9),
    ("asinh", lax.asinh, -2.0, 2.0),
    ("atan", lax.atan, -2.0, 2.0),
    ("atanh", lax.atanh, -0.9, 0.9),
    ("cbrt", lax.cbrt, 0.2, 2.0),
    ("ceil", lax.ceil, -3.0, 3.0),
    ("cos", lax.cos, -3.0, 3.0),
    ("cosh", lax.cosh, -2.0, 2.0),
    ("erf", lax.erf, -2.0, 2.0),
    ("erfc", lax.erfc, -2.0, 2.0),
    ("exp", lax.exp, -2.0, 2.0),
    ("exp2", lax.exp2, -2.0, 2.0),
    ("expm1", lax.expm1, -2.0, 2.0),
    ("floor", lax.floor, -3.0, 3.0),
    ("is_finite", lax.is_finite, -3.0, 3.0),
    ("log", lax.log, 0.2, 3.0),
    ("log1p", lax.log1p, -0.5, 3.0),
    ("logistic", lax.logistic, -3.0, 3.0),
    ("neg", lax.neg, -3.0, 3.0),
    ("rsqrt", lax.rsqrt, 0.2, 3.0),
    ("sign", lax.sign, -3.0, 3.0),
    ("sinh", lax.sinh, -2.0, 2.0),
    ("sin", lax.sin, -3.0, 3.0),
    ("sqrt", lax.sqrt, 0.2, 3.0),
    ("square", lax.square, -3.0, 3.0),
    ("stop_gradient", lambda x: lax.stop_gradient(x) * x, -3.0, 3.0),
    ("tan", lax.tan, -1.0, 1.0),
    ("tanh", lax.tanh, -3.0, 3.0),
):
    unary(_name, _f, _low, _high)

for _name, _f, _low, _high in (
    ("bessel_i0e", lax.bessel_i0e, -3.0, 3.0),
    ("bessel_i1e", lax.bessel_i1e, -3.0, 3.0),
    ("digamma", lax.digamma, 0.5, 3.0),
    ("erf_inv", lax.erf_inv, -0.9, 0.9),
    ("lgamma", lax.lgamma, 0.5, 3.0),
):
    unary(_name, _f, _low, _high, special=False, tolerance=5e-2)
    CASES[f"{_name}, f32"] = Case(_f, (uniform(_low, _high, 9),), 0, 2e-5)

unary("abs", lax.abs, -3.0, 3.0)
CASES["abs, at zero"] = Case(lax.abs, (np.array([-1.0, 0.0, 2.0], np.float32),))
unary("round, away from zero", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), -3.0, 3.0)
unary("round, to even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), -3.0, 3.0)
CASES["round, ties"] = Case(
    lambda x: (lax.round(x), lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
    (np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32),),
    1,
)
unary("integer_pow", lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, -2), lax.integer_pow(x, 0)), 0.5, 2.0, False)
unary("reduce_precision", lambda x: lax.reduce_precision(x, 5, 4), -2.0, 2.0, False, orders=1)
CASES["copy"] = Case(lambda x: jnp.array(x, copy=True) * 2, (normal(3),))

_BINARY: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "add": (lax.add, normal(3, 4), normal(3, 4)),
    "atan2": (lax.atan2, normal(3, 4), normal(3, 4)),
    "div": (lax.div, normal(3, 4), uniform(0.5, 2, 3, 4)),
    "max": (lax.max, normal(3, 4), normal(3, 4)),
    "min": (lax.min, normal(3, 4), normal(3, 4)),
    "mul": (lax.mul, normal(3, 4), normal(3, 4)),
    "pow": (lax.pow, uniform(0.5, 2, 3, 4), normal(3, 4)),
    "rem": (lax.rem, normal(3, 4), uniform(0.5, 2, 3, 4)),
    "sub": (lax.sub, normal(3, 4), normal(3, 4)),
}
for _name, (_f, _x, _y) in _BINARY.items():
    CASES[_name] = Case(_f, (_x, _y))
    _types = [a.astype(t) for t in FLOATS[1:] for a in (_x, _y)]
    _table = np.broadcast_to(SPECIAL, (10, 10))
    CASES[f"{_name}, types"] = Case(
        pairs(_f), (*_types, np.zeros((2, 0), np.float32), np.zeros((2, 0), np.float32), _table, _table.T), 0
    )
CASES["max and min, ties"] = Case(lambda x, y: (lax.max(x, y), lax.min(x, y)), (f32([0, 1, 2]), f32([0, 1, 3])), 1)
CASES["clamp, bounds"] = Case(
    lambda x, low, high: (
        jnp.clip(x, -1, 1),
        lax.clamp(jnp.full_like(x, -1), x, jnp.ones_like(x)),
        lax.clamp(jnp.broadcast_to(low, x.shape), x, jnp.broadcast_to(high, x.shape)),
    ),
    (f32([-2, -1, -0.5, 0, 1, 2, 0]), f32(-0.5), f32(0.5)),
    1,
)
CASES["pow, at zero"] = Case(lax.pow, (f32([0, 0, 1, 2]), f32([1, 2, 0, -1])), 1)
CASES["pow, integers"] = Case(lambda x, n: (lax.pow(x, n), lax.pow(x, jnp.int32(3))), (normal(5), integers(0, 4, 5)), 1)
CASES["nextafter"] = Case(lax.nextafter, (SPECIAL[:9], normal(9)), 0)
CASES["complex"] = Case(lambda x, y: lax.complex(x, y) * lax.complex(y, x), (normal(5), normal(5)))
CASES["igamma"] = Case(lax.igamma, (uniform(0.5, 3, 5), uniform(0.5, 3, 5)), 1, 1e-5)
CASES["igammac"] = Case(lax.igammac, (uniform(0.5, 3, 5), uniform(0.5, 3, 5)), 1, 1e-5)
CASES["igamma_grad_a"] = Case(lax.igamma_grad_a, (uniform(0.5, 3, 5), uniform(0.5, 3, 5)), 0, 1e-5)
CASES["polygamma"] = Case(lambda x: lax.polygamma(jnp.full_like(x, 2), x), (uniform(0.5, 3, 5),), 2, 1e-4)
CASES["zeta"] = Case(lambda q: lax.zeta(jnp.full_like(q, 2.5), q), (uniform(0.5, 3, 5),), 0, 1e-5)
CASES["regularized_incomplete_beta"] = Case(
    lambda x: lax.betainc(jnp.full_like(x, 2), jnp.full_like(x, 0.7), x), (uniform(0.1, 0.9, 5),), 2, 1e-5
)

_WHOLE: list[Any] = [
    integers(np.iinfo(t).min // 2, np.iinfo(t).max // 2, 9, dtype=np.int64).astype(t) for t in INTEGERS
]
_DIVISORS: list[Any] = [np.resize(np.array([1, 2, 3, 0, 7, 100, 255], np.int64), 9).astype(t) for t in INTEGERS]
_SIGNED = [np.array([-128, -7, -7, 7, 7, 0, -128], np.int8), np.array([-1, 2, -2, 2, -2, 0, 0], np.int8)]
_MIXED = [x for pair in zip(_WHOLE, _DIVISORS, strict=True) for x in pair]
for _name in ("add", "sub", "mul", "div", "rem", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor"):
    CASES[f"{_name}, integers"] = Case(pairs(getattr(lax, _name)), (*_MIXED, *_SIGNED), 0)
for _name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
    CASES[f"{_name}, integers"] = Case(pairs(getattr(lax, _name)), tuple(_MIXED), 0)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    CASES[_name] = Case(pairs(getattr(lax, _name)), (*_MIXED, SPECIAL, SPECIAL[::-1].copy()), 0)
CASES["eq_to, le_to, lt_to"] = Case(
    lambda x, y: tuple(one(x, y) for one in (lax.lt_to_p.bind, lax.le_to_p.bind, lax.eq_to_p.bind)),
    (np.repeat(SPECIAL, 10), np.tile(SPECIAL, 10)),
    0,
)
CASES["abs, neg, sign, integers"] = Case(each(lambda x: (jnp.abs(x), lax.neg(x), lax.sign(x))), tuple(_WHOLE), 0)
CASES["clz, population_count, not"] = Case(
    each(lambda x: (lax.clz(x), lax.population_count(x), lax.bitwise_not(x))), tuple(_WHOLE), 0
)
CASES["mulhi"] = Case(
    lambda a, b, c, d: (lax.mulhi(a, b), lax.mulhi(c, d)), (_WHOLE[3], _WHOLE[3][::-1], _WHOLE[4], _WHOLE[4][::-1]), 0
)
CASES["integer_pow, integers"] = Case(lambda x: (lax.integer_pow(x, 3), x**2), (integers(-5, 5, 9),), 0)
CASES["booleans"] = Case(
    lambda x, y: (x & y, x | y, x ^ y, ~x, lax.max(x, y), lax.min(x, y), x.any(0), x.all(1), lax.reduce_xor(x, (0,))),
    (normal(3, 5) > 0, normal(3, 5) > 0),
    0,
)
_TARGETS = (*INTEGERS, *FLOATS, np.bool_)
CASES["convert_element_type, floats"] = Case(
    each(lambda x: tuple(x.astype(t) for t in _TARGETS)),
    (f32([0, -0.7, 0.7, 300.2, -300.2, 1e10, -1e10, np.nan, np.inf, -np.inf]), f16([1.5, -70, np.inf])),
    0,
)
CASES["convert_element_type, integers"] = Case(
    each(lambda x: tuple(x.astype(t) for t in _TARGETS)), (*_WHOLE, normal(5) > 0), 0
)
CASES["convert_element_type, 64 bits"] = Case(
    lambda x, n: (x.astype(jnp.uint64).astype(jnp.float64), n.astype(jnp.uint64) >> 1, n.astype(jnp.uint64) < 9),
    (np.array([0, 1.5, 3e9, 1.2e19, 1e30, -5, np.nan]), np.arange(-3, 4)),
    0,
    x64=True,
)
CASES["convert_element_type, complex"] = Case(lambda z: (z.astype(np.float32), z != 0), (complex_numbers(5),), 0)
CASES["bitcast_convert_type"] = Case(
    lambda x, n: (
        lax.bitcast_convert_type(x, jnp.int32),
        lax.bitcast_convert_type(n, jnp.float32),
        lax.bitcast_convert_type(x, jnp.int8),
        lax.bitcast_convert_type(x, jnp.uint16).astype(jnp.int32),
    ),
    (normal(3, 4), integers(0, 1 << 30, 5)),
    0,
)
CASES["complex functions"] = Case(
    lambda z: (
        z.real, z.imag, jnp.conj(z), jnp.abs(z), jnp.exp(z), jnp.sin(z), jnp.sqrt(z), z * z, z / (z + 2), lax.sign(z),
        lax.logistic(z), lax.rsqrt(z), jnp.tanh(z), jnp.log(z), lax.integer_pow(z, 3), z.sum(0), z @ z.T,
    ),
    (complex_numbers(3, 2),),
    0,
)  # fmt: skip
CASES["complex functions, derivatives"] = Case(
    lambda x, y: [
        f(lax.complex(x, y)) for f in (jnp.exp, jnp.abs, jnp.sqrt, jnp.tanh, jnp.log, lambda z: z * jnp.conj(z))
    ],
    (uniform(0.5, 2, 3), uniform(0.5, 2, 3)),
)
CASES["select_n"] = Case(
    lambda p, i, x, y: (lax.select(p, x, y), lax.select_n(i, x, y, x * y), jnp.where(p[0, 0], x, y)),
    (normal(3, 4) > 0, integers(0, 3, 3, 4), normal(3, 4), normal(3, 4)),
)

# shapes
CASES["broadcast_in_dim"] = Case(
    lambda x, s: (lax.broadcast_in_dim(x, (2, 3, 1, 4), (1, 3)), jnp.broadcast_to(s, (2, 0, 3)), x + s),
    (normal(3, 1).repeat(4, 1), np.float32(2)),
)
CASES["reshape, squeeze, transpose"] = Case(
    lambda x: (x.reshape(-1, 2), lax.reshape(x, (6, 2), (2, 0, 1)), x[:, :1].squeeze(1), x.transpose(2, 0, 1), x.T),
    (normal(2, 2, 3),),
)
CASES["rev"] = Case(lambda x: (lax.rev(x, (0, 2)), lax.rev(x, ())), (normal(2, 1, 3),))
CASES["concatenate, stack, split, unstack, tile"] = Case(
    lambda x, y: (
        lax.concatenate([x, y, x[:0]], 0),
        jnp.stack([x, x], 1),
        lax.split(y, (1, 2), 0),
        jnp.unstack(x, axis=1),
        jnp.tile(x, (2, 1, 3)),
        lax.stack([x, x], 1),
        lax.unstack(x, 1),
        lax.tile(x, (2, 1)),
    ),
    (normal(2, 4), normal(3, 4)),
)
CASES["slice"] = Case(
    lambda x: (lax.slice(x, (1, 0), (4, 3), (2, 1)), x[::-2, 1:], lax.slice(x, (2, 1), (2, 3))), (normal(5, 4),)
)
CASES["pad"] = Case(
    lambda x, v: (lax.pad(x, v, ((1, 2, 0), (0, 0, 2))), lax.pad(x, v, ((-1, 0, 1), (2, -2, 0)))),
    (normal(3, 4), np.float32(0.5)),
)
CASES["iota"] = Case(
    lambda x: (lax.broadcasted_iota(jnp.int32, (3, 2), 1), lax.iota(jnp.float32, 5), x[0] + jnp.arange(600_000)[-1]),
    (normal(1),),
    0,
)
CASES["empty"] = Case(lambda x: lax.empty((2, 3), jnp.float32).shape[0] * x + 0 * lax.full((2,), 3.0), (normal(2),))

# reductions
for _name in ("sum", "prod", "max", "min"):
    _of = getattr(jnp, _name)
    CASES[f"reduce_{_name}"] = Case(
        lambda x, of=_of: (of(x, 0), of(x, (0, 2)), of(x), of(x, 1, keepdims=True)), (uniform(0.5, 2, 3, 1, 5),)
    )
    _limits = {"initial": 0} if _name in ("max", "min") else {}
    CASES[f"reduce_{_name}, types"] = Case(
        each(lambda x, of=_of, options=_limits: (of(x, 0, **options), of(x[:0], 0, **options))),
        (*[x[:4] for x in _WHOLE], normal(3, 2, dtype=np.float16), SPECIAL[:6]),
        0,
    )
CASES["reduce_max, ties"] = Case(lambda x: (x.max(), x.min(0)), (f32([[1, 1, 0], [0, 1, 0]]),), 1)
CASES["reduce_and, reduce_or, reduce_xor"] = Case(
    each(lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (0, 1)), lax.reduce_xor(x, (1,)))),
    (integers(0, 99, 3, 5), integers(0, 99, 4, 2).astype(np.uint8), normal(3, 2) > 0, integers(0, 9, 0, 2)),
    0,
)
CASES["argmax, argmin"] = Case(
    each(lambda x: (jnp.argmax(x, 0), jnp.argmin(x, -1), jnp.argmax(x))),
    (normal(3, 4), integers(0, 3, 3, 4), normal(3, 2) > 0, f32([[1, np.nan], [np.nan, 1]]), f32(np.ones((2, 3)))),
    0,
)
for _name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    _of = getattr(lax, _name)
    CASES[_name] = Case(lambda x, of=_of: (of(x, 0), of(x, 1, reverse=True)), (uniform(0.5, 2, 3, 5),))
CASES["cumsum, cumprod, cummax, integers"] = Case(
    each(lambda x: (lax.cumsum(x), lax.cumprod(x), lax.cummax(x), lax.cummin(x, reverse=True), lax.cumsum(x[:0]))),
    (integers(-3, 4, 7), integers(0, 200, 5).astype(np.uint8)),
    0,
)
CASES["cummax, ties"] = Case(lax.cummax, (f32([0, 0, 1, 1, 0, 2, 2]),), 1)
CASES["dot_general"] = Case(
    lambda x, y: (
        x @ y,
        jnp.einsum("bij,bjk->bik", jnp.stack([x, x]), jnp.stack([y, y])),
        jnp.tensordot(x, y, 0),
        x[0] @ y,
        lax.dot_general(x, y, (((0,), (1,)), ((1,), (0,)))) if x.shape[::-1] == y.shape else x @ y,
        jnp.vdot(x[0], x[0]),
    ),
    (normal(3, 4), normal(4, 3)),
)
CASES["dot_general, types"] = Case(
    lambda a, b, n, m: (
        a @ a.T,
        b @ b.T,
        n @ n.T,
        lax.dot(m, m.T, preferred_element_type=jnp.int32),
        a[:, :0] @ a.T[:0],
    ),
    (
        normal(3, 4),
        normal(3, 4, dtype=ml_dtypes.bfloat16),
        integers(-4, 4, 3, 2),
        integers(-100, 100, 3, 2, dtype=np.int8),
    ),
    0,
)
CASES["top_k"] = Case(lambda x, n: (lax.top_k(x, 2), lax.top_k(n, 3)), (normal(3, 5), integers(0, 3, 2, 6)), 1)
CASES["top_k, NaN"] = Case(lambda x: lax.top_k(x, 4), (f32([1, np.nan, 2, np.nan, -np.inf, 2]),), 0)
CASES["approx_top_k"] = Case(lambda x: (lax.approx_max_k(x, 2), lax.approx_min_k(x, 2)), (normal(3, 5),), 1)
