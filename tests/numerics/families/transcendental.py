"""Logarithms, exponentials, hyperbolic and inverse functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import NARROW, SPECIAL, TIES, Operand, Sample, Sampler, apart, method, normal, uniform
from oracle import Array, widen
from scipy import special
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import transcendental


@dataclass(frozen=True)
class _Function:
    """A function of one operand: where it is sampled, and what it is in NumPy and JAX."""

    op: type[Operation]
    sampler: Sampler
    numpy: Callable[[Array], Array]
    jax: Callable[[Any], Any]


_FUNCTIONS: dict[str, _Function] = {
    "log1p": _Function(transcendental.Log1pOp, uniform(-0.8, 3.0), np.log1p, jnp.log1p),
    "expm1": _Function(transcendental.Expm1Op, normal(), np.expm1, jnp.expm1),
    "log2": _Function(transcendental.Log2Op, uniform(0.1, 4.0), np.log2, jnp.log2),
    "log10": _Function(transcendental.Log10Op, uniform(0.1, 4.0), np.log10, jnp.log10),
    "exp2": _Function(transcendental.Exp2Op, normal(2.0), np.exp2, jnp.exp2),
    "cbrt": _Function(transcendental.CbrtOp, apart(), np.cbrt, jnp.cbrt),
    "asin": _Function(transcendental.AsinOp, uniform(-0.9, 0.9), np.arcsin, jnp.arcsin),
    "acos": _Function(transcendental.AcosOp, uniform(-0.9, 0.9), np.arccos, jnp.arccos),
    "sinh": _Function(transcendental.SinhOp, normal(2.0), np.sinh, jnp.sinh),
    "cosh": _Function(transcendental.CoshOp, normal(2.0), np.cosh, jnp.cosh),
    "asinh": _Function(transcendental.AsinhOp, normal(3.0), np.arcsinh, jnp.arcsinh),
    "acosh": _Function(transcendental.AcoshOp, uniform(1.2, 6.0), np.arccosh, jnp.arccosh),
    "atanh": _Function(transcendental.AtanhOp, uniform(-0.9, 0.9), np.arctanh, jnp.arctanh),
    "erfc": _Function(transcendental.ErfcOp, normal(2.0), special.erfc, lax.erfc),
    "softplus": _Function(
        transcendental.SoftplusOp, normal(4.0), lambda x: np.logaddexp(x, 0.0), lambda x: jax.nn.softplus(x)
    ),
}


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, of in _FUNCTIONS.items():
        build = method(name)
        rows.append(Sample(name, of.op, build, (Operand((3, 5), of.sampler),), differentiable=(0,)))
        rows.append(Sample(f"{name}-narrow", of.op, build, (Operand((3, 5), of.sampler),), NARROW))
        rows.append(Sample(f"{name}-empty", of.op, build, (Operand((0, 3)),), differentiable=(0,)))
        rows.append(Sample(f"{name}-special", of.op, build, (Operand((13,), SPECIAL),)))
    op, build = transcendental.LogaddexpOp, method("logaddexp")
    both = (Operand((3, 5), normal(3.0)), Operand((5,), normal(3.0)))
    rows.append(Sample("logaddexp", op, build, both, differentiable=(0, 1)))
    rows.append(Sample("logaddexp-narrow", op, build, both, NARROW))
    rows.append(Sample("logaddexp-special", op, build, (Operand((13,), SPECIAL), Operand((13, 1), SPECIAL))))
    ties = (Operand((7,), TIES), Operand((7,), TIES))
    rows.append(Sample("logaddexp-ties", op, build, ties, differentiable=(0, 1)))
    return rows


def _unary(f: Callable[[Array], Array]) -> Callable[..., Array]:
    return lambda op, x: f(widen(x))


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *xs: f(*xs)


SAMPLES = tuple(_samples())
ORACLE = {
    **{of.op: _unary(of.numpy) for of in _FUNCTIONS.values()},
    transcendental.LogaddexpOp: lambda op, x, y: np.logaddexp(widen(x), widen(y)),
}
JAX = {
    **{of.op: _plain(of.jax) for of in _FUNCTIONS.values()},
    transcendental.LogaddexpOp: _plain(jnp.logaddexp),
}
