"""VJP of samples, against finite differences, JAX, forward mode and itself in the other precision."""

from functools import partial
from typing import Any

import numpy as np
import oracle
import pytest
from levels import EVERY
from numerics import jaxpr
from numerics.choice import DIFFERENTIABLE, first_of_each, thinned
from numerics.derivatives import (
    close,
    directions,
    directions_of,
    gradient,
    gradient_only,
    inner,
    like,
    names,
    result_like,
    slope,
    tangent_of,
    vjp,
)
from numerics.jax_ops import pull_back
from numerics.sample import Sample
from xdsl.context import Context

from xdsl_rlx.dialects.mir.linalg import DotGeneralOp
from xdsl_rlx.dialects.mir.reduce import ReduceProdOp
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.transforms.rules import VJP

Array = np.ndarray[Any, Any]

ELEMENTS = 24 if EVERY else 4
"""Elements of an operand that are varied one by one; besides, all are at once."""

ALGEBRAIC = 1e-12
TRANSCENDENTAL = 1e-10
DIFFERENCES = 1e-6

F64 = [pytest.param(s, id=s.id) for s in thinned([s for s in DIFFERENTIABLE if "f64" in s.dtypes], 1)]
_SMOOTH = [s for s in DIFFERENTIABLE if "f64" in s.dtypes and s.smooth]
SMOOTH = first_of_each(_SMOOTH)
BOTH = first_of_each([s for s in DIFFERENTIABLE if {"f32", "f64"} <= set(s.dtypes)])
TWICE = [s for s in _SMOOTH if s.first or EVERY]
"""Samples of results that test_second_order.py leaves out; with EVERY_SAMPLE, all."""

TAKEN_APART = (DotGeneralOp, ReduceProdOp)
"""Ops with a rule that preparation replaces all the same, by ops that are faster to differentiate."""

RULES = [s for s in DIFFERENTIABLE if "f64" in s.dtypes and VJP.get(s.op) is not None]
BY_RULE = [
    *thinned([s for s in RULES if s.op not in TAKEN_APART], 1),
    *(s for s in RULES if s.op in TAKEN_APART),
]


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in SMOOTH])
def test_vjp_is_the_slope_that_finite_differences_show(sample: Sample):
    rng = np.random.default_rng(1)
    module, inputs = sample.module("f64"), sample.arrays("f64")
    g = result_like(sample, "f64", rng)
    grads = vjp(sample, "f64", inputs, g)

    def along(t: float, index: int, direction: Array) -> float:
        moved = list(inputs)
        moved[index] = inputs[index] + t * direction
        return inner(g, oracle.evaluate(module, *moved)[0])

    for index, grad in zip(sample.differentiable, grads, strict=True):
        x = inputs[index]
        assert grad.shape == x.shape
        for step in directions_of(x):
            everywhere = np.asarray(rng.uniform(-1, 1, x.shape) * step).astype(x.dtype)
            size = float(np.sum(np.abs(grad * everywhere)))
            expected = slope(partial(along, index=index, direction=everywhere), 1e-3)
            assert inner(grad, everywhere) == pytest.approx(expected, abs=DIFFERENCES * max(1.0, size))
        for position in rng.permutation(x.size)[:ELEMENTS]:
            at = np.unravel_index(position, x.shape)
            one = np.zeros_like(x)
            one[at] = 1
            slopes = (slope(partial(along, index=index, direction=one * s), 1e-3) * s for s in directions_of(x))
            largest = max(1.0, np.abs(grad).max())
            assert grad[at] == pytest.approx(sum(slopes), rel=DIFFERENCES, abs=DIFFERENCES * largest)


def _seed(sample: Sample) -> np.ndarray:
    return result_like(sample, "f64", np.random.default_rng(2))


@pytest.mark.parametrize("sample", F64)
def test_vjp_agrees_with_jax_and_with_jvp(sample: Sample):
    """Of a function that has the op's value there: so JAX's derivative is that of the op. The JVP is the adjoint."""
    module, inputs, g = sample.module("f64"), sample.arrays("f64"), _seed(sample)
    value, *expected = jaxpr.evaluate(lambda x, y: pull_back(module, x, sample.differentiable, y), inputs, g)
    precision = ALGEBRAIC if sample.exact else TRANSCENDENTAL
    close(value, oracle.evaluate(module, *inputs)[0], precision)
    pulled = vjp(sample, "f64", inputs, g)
    for ours, theirs in zip(pulled, expected, strict=True):
        close(ours, theirs, precision)
    u = directions(sample, "f64", np.random.default_rng(3))
    outputs = oracle.evaluate(tangent_of(sample), *inputs, *u)
    pushed = outputs[len(outputs) // 2]
    back = sum(inner(a, b) for a, b in zip(pulled, u, strict=True))
    size = sum(float(np.sum(np.abs(a * b))) for a, b in zip(pulled, u, strict=True))
    rounding = max(float(np.finfo(g.dtype).eps), 1e-14)
    assert inner(g, pushed) == pytest.approx(back, abs=64 * rounding * max(1.0, size))


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in BY_RULE])
def test_the_rule_of_an_op_is_right_without_preparation(sample: Sample):
    """`mir-grad` alone: preparation hides the rules of ops that it takes apart."""
    module = sample.module("f64")
    derived = gradient(module, names(sample), prepare=False)
    arguments = *sample.arrays("f64"), _seed(sample)
    got = oracle.evaluate(derived, *arguments)[-len(sample.differentiable) :]
    expected = vjp(sample, "f64", sample.arrays("f64"), _seed(sample))
    for ours, prepared in zip(got, expected, strict=True):
        close(ours, prepared, TRANSCENDENTAL)
    MirPrepareForAdPass().apply(Context(), module)
    stays = any(type(op) is sample.op for op in module.walk())
    assert stays or sample.op in TAKEN_APART, f"preparation replaces {sample.op.name}: see TAKEN_APART"


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in BOTH])
def test_vjp_in_single_precision_is_that_in_double_rounded(sample: Sample):
    g = result_like(sample, "f32", np.random.default_rng(4))
    inputs = sample.arrays("f32")
    single = vjp(sample, "f32", inputs, g)
    varies = [operand.dtype in ("float", "complex") for operand in sample.operands]
    wide = [oracle.widen(x) if is_float else x for x, is_float in zip(inputs, varies, strict=True)]
    double = vjp(sample, "f64", wide, oracle.widen(g))
    for narrow, exact, index in zip(single, double, sample.differentiable, strict=True):
        assert narrow.dtype == inputs[index].dtype
        close(narrow, exact.astype(narrow.dtype), 8 * sample.tol * float(np.finfo(np.float32).eps))


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in TWICE])
def test_gradient_of_gradient_is_the_slope_of_the_gradient(sample: Sample):
    """What the rules emit is differentiable by the rules."""
    rng = np.random.default_rng(5)
    wrt, index = names(sample)[0], sample.differentiable[0]
    module, inputs = sample.module("f64"), sample.arrays("f64")
    g = result_like(sample, "f64", rng)
    first = gradient_only(module, wrt)
    u, e = (like(inputs[index], rng) for _ in range(2))
    second = gradient(first, [wrt])
    got = inner(oracle.evaluate(second, *inputs, g, u)[-1], e)

    def along(t: float) -> float:
        moved = list(inputs)
        moved[index] = inputs[index] + t * e
        return inner(oracle.evaluate(first, *moved, g)[0], u)

    assert got == pytest.approx(slope(along, 1e-3), rel=1e-5, abs=1e-5)
