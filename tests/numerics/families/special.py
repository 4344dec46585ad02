"""Special functions: expressions, and those with loops."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jsp
import jax.scipy.stats as jstats
import numpy as np
from jax import lax
from numerics import jaxpr
from numerics.sample import NARROW, SPECIAL, Operand, Sample, Sampler, method, uniform
from oracle import Array, widen
from scipy import special as scipy
from scipy import stats
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import special
from xdsl_rlx.dialects.mir.special import SpecialFunction


@dataclass(frozen=True)
class _Function:
    """A function: where it is sampled, by which operands it has a derivative, what it is in SciPy and JAX."""

    samplers: tuple[Sampler, ...]
    scipy: Callable[..., Array]
    jax: Callable[..., Any]
    differentiable: tuple[int, ...] = (0,)


_EXPRESSIONS: dict[type[Operation], _Function] = {
    special.LgammaOp: _Function((uniform(0.2, 9.0),), scipy.gammaln, lax.lgamma),
    special.DigammaOp: _Function((uniform(0.2, 9.0),), scipy.psi, lax.digamma),
    special.ErfcxOp: _Function((uniform(-2.0, 4.0),), scipy.erfcx, lambda x: jnp.exp(x * x) * lax.erfc(x)),
    special.ErfInvOp: _Function((uniform(-0.9, 0.9),), scipy.erfinv, lax.erf_inv),
    special.NdtriOp: _Function((uniform(0.1, 0.9),), scipy.ndtri, jsp.ndtri),
}
_POSITIVE = (uniform(0.3, 7.5), uniform(0.3, 7.5))
"""From 8 on JAX's betaln is right to 6 digits only."""
_ITERATED: dict[SpecialFunction, _Function] = {
    SpecialFunction.TRIGAMMA: _Function(
        (uniform(0.3, 5.0),), lambda x: scipy.polygamma(1, x), lambda x: jsp.polygamma(1, x)
    ),
    SpecialFunction.ZETA: _Function((uniform(1.5, 4.0), uniform(0.3, 5.0)), scipy.zeta, jsp.zeta, (1,)),
    SpecialFunction.IGAMMA: _Function(_POSITIVE, scipy.gammainc, jsp.gammainc, (1,)),
    SpecialFunction.BETALN: _Function(_POSITIVE, scipy.betaln, jsp.betaln, (0, 1)),
}
"""Functions with samples of their own; the others are compared in tests/face/test_special.py."""

_MEANINGS: dict[SpecialFunction, tuple[Callable[..., Any], Callable[..., Any]]] = {
    **{function: (of.scipy, of.jax) for function, of in _ITERATED.items()},
    SpecialFunction.IGAMMAC: (scipy.gammaincc, jsp.gammaincc),
    SpecialFunction.IGAMMA_GRAD_A: (
        jaxpr.PLAIN["igamma_grad_a"],
        lax.igamma_grad_a,
    ),
    SpecialFunction.GAMMA_DENSITY: (lambda a, x: stats.gamma.pdf(x, a), lambda a, x: jstats.gamma.pdf(x, a)),
    SpecialFunction.BETAINC: (scipy.betainc, jsp.betainc),
    SpecialFunction.BETA_DENSITY: (lambda a, b, x: stats.beta.pdf(x, a, b), lambda a, b, x: jstats.beta.pdf(x, a, b)),
    SpecialFunction.GAMMA: (scipy.gamma, jsp.gamma),
    SpecialFunction.BETA: (scipy.beta, jsp.beta),
    SpecialFunction.BESSEL_I0E: (scipy.i0e, jsp.i0e),
    SpecialFunction.BESSEL_I1E: (scipy.i1e, jsp.i1e),
    SpecialFunction.BESSEL_J0: (scipy.j0, lambda x: jsp.bessel_jn(x, v=0)[0]),
    SpecialFunction.BESSEL_J1: (scipy.j1, lambda x: jsp.bessel_jn(x, v=1)[1]),
    SpecialFunction.EXPN: (lambda n, x: scipy.expn(n.astype(int), x), jsp.expn),
    SpecialFunction.EXPI: (scipy.expi, jsp.expi),
    SpecialFunction.SPENCE: (scipy.spence, jsp.spence),
    SpecialFunction.DAWSN: (scipy.dawsn, jsp.dawsn),
    SpecialFunction.SI: (lambda x: scipy.sici(x)[0], lambda x: jsp.sici(x)[0]),
    SpecialFunction.CI: (lambda x: scipy.sici(x)[1], lambda x: jsp.sici(x)[1]),
    SpecialFunction.FRESNEL_S: (lambda x: scipy.fresnel(x)[0], lambda x: jsp.fresnel(x)[0]),
    SpecialFunction.FRESNEL_C: (lambda x: scipy.fresnel(x)[1], lambda x: jsp.fresnel(x)[1]),
    SpecialFunction.OWENS_T: (scipy.owens_t, jsp.owens_t),
    SpecialFunction.HYP1F1: (scipy.hyp1f1, jsp.hyp1f1),
}
"""Every function in SciPy, and in JAX."""


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for op, of in _EXPRESSIONS.items():
        name = op.name.removeprefix("mir.")
        build = method(name)
        rows.append(Sample(name, op, build, (Operand((3, 5), of.samplers[0]),), differentiable=of.differentiable))
        rows.append(Sample(f"{name}-narrow", op, build, (Operand((3, 5), of.samplers[0]),), NARROW))
        rows.append(Sample(f"{name}-special", op, build, (Operand((13,), SPECIAL),)))
    op = special.SpecialFunctionOp
    for function, of in _ITERATED.items():
        build = _method(function)
        operands = tuple(Operand((3, 5), sampler) for sampler in of.samplers)
        rows.append(Sample(f"special-{function}", op, build, operands, differentiable=of.differentiable, tol=16))
    operands = tuple(Operand((3, 5), sampler) for sampler in _ITERATED[SpecialFunction.ZETA].samplers)
    rows.append(Sample("special-narrow", op, _method(SpecialFunction.ZETA), operands, NARROW))
    rows.append(Sample("special-empty", op, _method(SpecialFunction.ZETA), (Operand((0, 3)), Operand((0, 3)))))
    return rows


def _method(function: SpecialFunction) -> Callable[..., Any]:
    return lambda m, *xs: m.special_function(list(xs), function)


def _unary(f: Callable[..., Array]) -> Callable[..., Array]:
    return lambda op, x: f(widen(x))


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *xs: f(*xs)


SAMPLES = tuple(_samples())
ORACLE = {
    **{op: _unary(of.scipy) for op, of in _EXPRESSIONS.items()},
    special.SpecialFunctionOp: lambda op, *xs: np.asarray(
        _MEANINGS[op.function.data][0](*(widen(x).astype(np.float64) for x in xs))
    ),
}
JAX = {
    **{op: _plain(of.jax) for op, of in _EXPRESSIONS.items()},
    special.SpecialFunctionOp: lambda op, *xs: _MEANINGS[op.function.data][1](*xs),
}
