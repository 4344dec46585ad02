"""Second derivatives of smooth samples, of each mode of each op, and third ones of elementwise ops, against JAX in f64.

Reverse over reverse and forward over reverse are both products of the Hessian with a vector: one reference serves both.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from numerics.choice import DIFFERENTIABLE, thinned
from numerics.derivatives import (
    close,
    directions,
    gradient,
    inner,
    names,
    result_like,
    tangent,
)
from numerics.jax_ops import QUICK, jax_function
from numerics.sample import Sample
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.builder import MirBuilder
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.transforms.signature import graph_of

Array = np.ndarray[Any, Any]

PRECISION = 1e-9
CHUNK = 32

SMOOTH = thinned([s for s in DIFFERENTIABLE if "f64" in s.dtypes and s.smooth and s.first == 0], 4)
ELEMENTWISE = [s for s in SMOOTH if s.op.has_trait(Elementwise)]


def loss(sample: Sample) -> tuple[ModuleOp, list[Array], Array, list[Array]]:
    """Module and operands of a sample, the weights of its result's elements, a direction per differentiated operand."""
    rng = np.random.default_rng(8)
    g, u = result_like(sample, "f64", rng), directions(sample, "f64", rng)
    return sample.module("f64"), sample.arrays("f64"), g, u


def slope_along(module: ModuleOp, wrt: Sequence[str]) -> ModuleOp:
    """The gradient program contracted to one number with new inputs, a direction for each of `wrt`."""
    derived = gradient(module, wrt)
    graph = graph_of(derived, "test")
    grads = graph.outputs[-len(wrt) :]
    inputs = [graph.add_input(f"along_{name}", grad.type) for name, grad in zip(wrt, grads, strict=True)]
    last = graph.block.last_op
    assert last is not None
    b = MirBuilder(Builder(InsertPoint.before(last)))
    parts = [
        b.reduce_sum(b.real(b.conjugate(grad) * b.value(along))) for grad, along in zip(grads, inputs, strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    graph.set_outputs([total.ssa])
    derived.verify()
    return derived


def weighted(module: ModuleOp, wrt: Sequence[int]) -> Callable[..., Any]:
    """JAX's sum of the first result's elements times weights, as a function of the operands numbered `wrt`."""
    call = jax_function(module)

    def function(inputs: Sequence[Any], g: Any, *chosen: Any) -> Any:
        full = list(inputs)
        for index, value in zip(wrt, chosen, strict=True):
            full[index] = value
        return jnp.sum((call(*full)[0] * jnp.conj(g)).real)

    return function


def hessian_product(sample: Sample, inputs: Sequence[Any], g: Any, u: Sequence[Any]) -> list[Any]:
    """JAX's product of the Hessian in all differentiated operands together with `u`."""
    function = weighted(sample.module("f64"), sample.differentiable)
    chosen = tuple(inputs[i] for i in sample.differentiable)
    every = tuple(range(len(chosen)))
    first = jax.grad(lambda *xs: function(inputs, g, *xs), every)
    return [jnp.conj(x) for x in jax.jvp(first, chosen, tuple(u))[1]]


def third_slope(sample: Sample, inputs: Sequence[Any], g: Any, u: Sequence[Any]) -> list[Any]:
    """JAX's third derivative along `u`."""
    function = weighted(sample.module("f64"), sample.differentiable)
    chosen = [inputs[i] for i in sample.differentiable]

    def along(t: Any) -> Any:
        return function(inputs, g, *(x + t * v for x, v in zip(chosen, u, strict=True)))

    for _ in range(3):
        along = lambda t, f=along: jax.jvp(f, (t,), (jnp.ones_like(t),))[1]  # noqa: E731
    return [along(jnp.zeros(()))]


REFERENCES = {hessian_product: SMOOTH, third_slope: ELEMENTWISE}


@cache
def _chunk(reference: Callable[..., list[Any]], number: int) -> list[list[Array]]:
    """What JAX says of some samples, compiled as one program: starting its compiler is what costs."""
    samples = REFERENCES[reference][number * CHUNK : (number + 1) * CHUNK]

    def everything(arguments: list[Any]) -> list[list[Any]]:
        return [reference(sample, *argument) for sample, argument in zip(samples, arguments, strict=True)]

    arguments = [loss(sample)[1:] for sample in samples]
    compiled = jax.jit(everything).lower(arguments).compile(compiler_options=QUICK)
    return [[np.asarray(x) for x in found] for found in compiled(arguments)]


def _numbered(samples: Sequence[Sample], stem: str) -> list[Any]:
    # what JAX compiles together runs in one worker
    groups = [pytest.mark.xdist_group(f"{stem}-{n // CHUNK}") for n in range(len(samples))]
    return [pytest.param(n, id=s.id, marks=groups[n]) for n, s in enumerate(samples)]


def by_jax(reference: Callable[..., list[Any]], number: int) -> list[Array]:
    return _chunk(reference, number // CHUNK)[number % CHUNK]


@pytest.mark.parametrize("number", _numbered(SMOOTH, "second"))
def test_gradient_of_gradient_agrees_with_jax(number: int):
    sample = SMOOTH[number]
    module, inputs, g, u = loss(sample)
    second = gradient(slope_along(module, names(sample)), names(sample))
    got = oracle.evaluate(second, *inputs, g, *u, 1.0)[1:]
    for ours, theirs in zip(got, by_jax(hessian_product, number), strict=True):
        close(ours, theirs, PRECISION)


@pytest.mark.parametrize("number", _numbered(SMOOTH, "second"))
def test_tangent_of_gradient_agrees_with_jax(number: int):
    sample = SMOOTH[number]
    module, inputs, g, u = loss(sample)
    outputs = oracle.evaluate(tangent(gradient(module, names(sample)), names(sample)), *inputs, g, *u)
    for ours, theirs in zip(outputs[-len(u) :], by_jax(hessian_product, number), strict=True):
        close(ours, theirs, PRECISION)


@pytest.mark.parametrize("number", _numbered(ELEMENTWISE, "third"))
def test_third_derivatives_of_elementwise_ops_agree_with_jax(number: int):
    sample = ELEMENTWISE[number]
    module, inputs, g, u = loss(sample)
    (theirs,) = by_jax(third_slope, number)
    program, directions_given = module, list[Array]()
    for order in range(3):
        program = slope_along(program, names(sample))
        directions_given += [*([g] if not order else [np.ones(())]), *u]
    (ours,) = oracle.evaluate(program, *inputs, *directions_given)
    close(ours, theirs, PRECISION)


@pytest.mark.parametrize("number", _numbered(ELEMENTWISE, "third"))
def test_tangents_of_tangents_of_tangents_agree_with_jax(number: int):
    sample = ELEMENTWISE[number]
    module, inputs, g, u = loss(sample)
    (theirs,) = by_jax(third_slope, number)
    for _ in range(3):
        module = tangent(module, names(sample))
    # The results, twice as many with each derivative: the last eighth is of third order.
    outputs = oracle.evaluate(module, *inputs, *u, *u, *u)
    third = outputs[len(outputs) // 8 * 7]
    close(np.asarray(inner(g, third)), theirs, PRECISION)
