"""Rows of special functions: derivatives by other special functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import pi, prod, sqrt
from typing import TypeAlias

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir import special as mir
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.special import SpecialFunction, SpecialFunctionOp
from xdsl_rlx.transforms.rules.rows import diagonal, leading
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent

_TWO_OVER_ROOT_PI = 2 / sqrt(pi)

Partial: TypeAlias = Callable[[MirBuilder, Sequence[Value], Value], Value]
"""`(b, operands, result) -> the partial derivative`."""


def _function(b: MirBuilder, function: SpecialFunction, *operands: Value | float) -> Value:
    """A special function of operands of which the numbers are repeated."""
    like = next(x for x in operands if isinstance(x, Value))
    return b.special_function(
        [x if isinstance(x, Value) else b.expand(b.constant(x, like.dtype), like.shape) for x in operands], function
    )


def zeta(b: MirBuilder, s: Value | float, q: Value) -> Value:
    """`sum over k >= 0 of (q + k)^-s`."""
    return _function(b, SpecialFunction.ZETA, s, q)


diagonal(mir.LgammaOp, lambda b, g, x, y: g * b.digamma(x), scalar=lambda b, x: b.lgamma(x))
diagonal(
    mir.DigammaOp, lambda b, g, x, y: g * _function(b, SpecialFunction.TRIGAMMA, x), scalar=lambda b, x: b.digamma(x)
)


def _beta_slope(b: MirBuilder, x: Value, other: Value) -> Value:
    """The derivative of `ln B(x, other)` by `x`."""
    return b.digamma(x) - b.digamma(x + other)


def _over(b: MirBuilder, y: Value, x: Value, limit: float) -> Value:
    """`y / x`, and at 0 the limit."""
    at = b.eq(x, 0.0)
    return b.where(at, limit, y / b.where(at, 1.0, x))


def _gamma_density_by_a(b: MirBuilder, xs: Sequence[Value], y: Value) -> Value:
    a, x = xs
    return _function(b, SpecialFunction.GAMMA_DENSITY, a, x) * (b.log(x) - b.digamma(a))


_TAIL = 10.0
"""From where on the slope of erfcx is summed as a series: `2 x y` and `2 / sqrt(pi)` have most digits alike."""
_TAIL_TERMS = tuple(-((-1) ** k) * prod(range(1, 2 * k + 2, 2)) / (2**k * sqrt(pi)) for k in range(14))


def _erfcx_slope(b: MirBuilder, x: Value, y: Value) -> Value:
    """`2 x y - 2 / sqrt(pi)`; for large x `-sum over k of (2 k + 1)!! / (-2 x^2)^k / (sqrt(pi) x^2)` (DLMF 7.12.1)."""
    far = b.gt(x, _TAIL)
    inverse = b.recip(b.where(far, x, _TAIL))
    u = inverse * inverse
    *terms, before, last = _TAIL_TERMS
    tail = reduce(lambda total, term: total * u + term, reversed(terms), u * last + before) * u
    near = b.where(far, 0.0, x) * b.where(far, 0.0, y) * 2.0 - _TWO_OVER_ROOT_PI
    return b.where(far, tail, near)


_DAWSN_TERMS = tuple(-float(prod(range(1, 2 * k + 2, 2))) / 2 ** (k + 1) for k in range(14))


def _dawsn_slope(b: MirBuilder, x: Value, y: Value) -> Value:
    """`1 - 2 x y`; for large x `-sum over k of (2 k + 1)!! / (2 x^2)^(k + 1)` (DLMF 7.12.1)."""
    far = b.gt(b.abs(x), _TAIL)
    inverse = b.recip(b.where(far, x, _TAIL))
    u = inverse * inverse
    *terms, last = _DAWSN_TERMS
    tail = reduce(lambda total, term: total * u + term, reversed(terms), u * 0.0 + last) * u
    near = 1.0 - b.where(far, 0.0, x) * b.where(far, 0.0, y) * 2.0
    return b.where(far, tail, near)


def _spence_slope(b: MirBuilder, x: Value) -> Value:
    """`ln x / (1 - x)`; near 1 by the series of the logarithm, of which the derivatives do not cancel."""
    apart = x - 1.0
    near = b.lt(b.abs(apart), 0.06)
    inside = b.where(near, apart, 0.0)
    series = reduce(lambda total, k: total * inside - (-1.0) ** k / (k + 1.0), range(12, -1, -1), b.zeros_like(inside))
    return b.where(near, series, -(b.log(x) / b.where(near, 1.0, apart)))


diagonal(mir.ErfcxOp, lambda b, g, x, y: g * _erfcx_slope(b, x, y), scalar=lambda b, x: b.erfcx(x))
diagonal(
    mir.ErfInvOp,
    lambda b, g, x, y: g * (b.exp(y * y) * (0.5 * sqrt(pi))),
    scalar=lambda b, x: b.erf_inv(x),
)
diagonal(
    mir.NdtriOp,
    lambda b, g, x, y: g * (b.exp(y * y * 0.5) * sqrt(2 * pi)),
    scalar=lambda b, x: b.ndtri(x),
)

_PARTIALS: dict[SpecialFunction, tuple[Partial | None, ...]] = {
    SpecialFunction.ZETA: (None, lambda b, xs, y: -(xs[0] * zeta(b, xs[0] + 1.0, xs[1]))),
    SpecialFunction.TRIGAMMA: (lambda b, xs, y: -2.0 * zeta(b, 3.0, xs[0]),),
    SpecialFunction.IGAMMA: (
        lambda b, xs, y: _function(b, SpecialFunction.IGAMMA_GRAD_A, *xs),
        lambda b, xs, y: _function(b, SpecialFunction.GAMMA_DENSITY, *xs),
    ),
    SpecialFunction.IGAMMAC: (
        lambda b, xs, y: -_function(b, SpecialFunction.IGAMMA_GRAD_A, *xs),
        lambda b, xs, y: -_function(b, SpecialFunction.GAMMA_DENSITY, *xs),
    ),
    SpecialFunction.IGAMMA_GRAD_A: (None, _gamma_density_by_a),
    SpecialFunction.GAMMA_DENSITY: (
        _gamma_density_by_a,
        lambda b, xs, y: y * ((xs[0] - 1.0) / xs[1] - 1.0),
    ),
    SpecialFunction.BETAINC: (None, None, lambda b, xs, y: _function(b, SpecialFunction.BETA_DENSITY, *xs)),
    SpecialFunction.BETA_DENSITY: (
        lambda b, xs, y: y * (b.log(xs[2]) - b.digamma(xs[0]) + b.digamma(xs[0] + xs[1])),
        lambda b, xs, y: y * (b.log1p(-xs[2]) - b.digamma(xs[1]) + b.digamma(xs[0] + xs[1])),
        lambda b, xs, y: y * ((xs[0] - 1.0) / xs[2] - (xs[1] - 1.0) / (1.0 - xs[2])),
    ),
    SpecialFunction.GAMMA: (lambda b, xs, y: y * b.digamma(xs[0]),),
    SpecialFunction.BETA: (
        lambda b, xs, y: y * _beta_slope(b, xs[0], xs[1]),
        lambda b, xs, y: y * _beta_slope(b, xs[1], xs[0]),
    ),
    SpecialFunction.BETALN: (
        lambda b, xs, y: _beta_slope(b, xs[0], xs[1]),
        lambda b, xs, y: _beta_slope(b, xs[1], xs[0]),
    ),
    SpecialFunction.BESSEL_I0E: (lambda b, xs, y: _function(b, SpecialFunction.BESSEL_I1E, *xs) - y * b.sign(xs[0]),),
    SpecialFunction.BESSEL_I1E: (
        lambda b, xs, y: _function(b, SpecialFunction.BESSEL_I0E, *xs) - y * b.sign(xs[0]) - _over(b, y, xs[0], 0.5),
    ),
    SpecialFunction.BESSEL_J0: (lambda b, xs, y: -_function(b, SpecialFunction.BESSEL_J1, *xs),),
    SpecialFunction.BESSEL_J1: (
        lambda b, xs, y: _function(b, SpecialFunction.BESSEL_J0, *xs) - _over(b, y, xs[0], 0.5),
    ),
    SpecialFunction.EXPN: (None, lambda b, xs, y: -_function(b, SpecialFunction.EXPN, xs[0] - 1.0, xs[1])),
    SpecialFunction.EXPI: (lambda b, xs, y: b.exp(xs[0]) / xs[0],),
    SpecialFunction.SPENCE: (lambda b, xs, y: _spence_slope(b, xs[0]),),
    SpecialFunction.DAWSN: (lambda b, xs, y: _dawsn_slope(b, xs[0], y),),
    SpecialFunction.SI: (lambda b, xs, y: _over(b, b.sin(xs[0]), xs[0], 1.0),),
    SpecialFunction.CI: (lambda b, xs, y: b.cos(xs[0]) / xs[0],),
    SpecialFunction.FRESNEL_S: (lambda b, xs, y: b.sin(xs[0] * xs[0] * (0.5 * pi)),),
    SpecialFunction.FRESNEL_C: (lambda b, xs, y: b.cos(xs[0] * xs[0] * (0.5 * pi)),),
    SpecialFunction.OWENS_T: (
        lambda b, xs, y: -(b.gaussian(xs[0]) * b.erf(xs[0] * xs[1] * sqrt(0.5)) * (0.5 / sqrt(2 * pi))),
        lambda b, xs, y: b.gaussian(xs[0] * b.hypot(xs[1], 1.0)) / ((xs[1] * xs[1] + 1.0) * (2 * pi)),
    ),
    SpecialFunction.HYP1F1: (
        None,
        None,
        lambda b, xs, y: xs[0] / xs[1] * _function(b, SpecialFunction.HYP1F1, xs[0] + 1.0, xs[1] + 1.0, xs[2]),
    ),
}
"""Of each function by each operand; None where none is known."""


def _partial(op: SpecialFunctionOp, b: MirBuilder, number: int) -> Value:
    function = op.function.data
    known = _PARTIALS[function][number]
    if known is None:
        raise GraphError(
            f"{function}: no derivative with respect to argument {number} is known; use stop_gradient on that argument"
        )
    return known(b, [b.value(x) for x in op.parts], b.value(op.result))


@VJP.rule(SpecialFunctionOp)
def special_function_vjp(op: SpecialFunctionOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    def pull(number: int) -> Value:
        return g * _partial(op, b, number)

    return [partial(pull, number) for number in range(len(op.parts))]


@JVP.rule(SpecialFunctionOp)
def special_function_jvp(op: SpecialFunctionOp, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
    first, *others = [t * _partial(op, b, number) for number, t in enumerate(tangents) if t is not None]
    return [sum(others, first)]


leading(SpecialFunctionOp)
