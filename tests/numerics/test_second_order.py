"""Second derivatives of a smooth sample of each op, and third ones of elementwise ops, against JAX in f64.

Not of ops whose derivatives are those of their definitions. With EVERY_SAMPLE set in the environment, as `make fuzz`
does, of all samples.

Reverse over reverse and forward over reverse are both products of the Hessian with a vector: one reference serves both.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from numerics import jaxpr
from numerics.choice import DIFFERENTIABLE, first_of_each, is_own
from numerics.derivatives import (
    close,
    directions,
    gradient,
    gradient_of,
    inner,
    names,
    result_like,
    tangent,
)
from numerics.jax_ops import jax_function
from numerics.sample import Sample
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.rules import VJP
from xdsl_rlx.transforms.signature import graph_of

Array = np.ndarray[Any, Any]

PRECISION = 1e-9

_SMOOTH = [s for s in DIFFERENTIABLE if "f64" in s.dtypes and s.smooth and s.first == 0]
SMOOTH = first_of_each([s for s in _SMOOTH if is_own(s, VJP)])
ELEMENTWISE = first_of_each([s for s in SMOOTH if s.op.has_trait(Elementwise)])


def loss(sample: Sample) -> tuple[ModuleOp, list[Array], Array, list[Array]]:
    """Module and operands of a sample, the weights of its result's elements, a direction per differentiated operand."""
    rng = np.random.default_rng(8)
    g, u = result_like(sample, "f64", rng), directions(sample, "f64", rng)
    return sample.module("f64"), sample.arrays("f64"), g, u


def contracted(gradients: ModuleOp, wrt: Sequence[str]) -> ModuleOp:
    """A copy of a gradient program, contracted to one number with new inputs, a direction for each of `wrt`."""
    derived = gradients.clone()
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


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in SMOOTH])
def test_second_derivatives_agree_with_jax(sample: Sample):
    """The gradient of the gradient, and its tangent."""
    _, inputs, g, u = loss(sample)
    expected = jaxpr.evaluate(lambda *xs: hessian_product(sample, *xs), inputs, g, u)
    first = gradient_of(sample)
    second = gradient(contracted(first, names(sample)), names(sample))
    for result, theirs in zip(oracle.evaluate(second, *inputs, g, *u, 1.0)[1:], expected, strict=True):
        close(result, theirs, PRECISION)
    by_forward = oracle.evaluate(tangent(first, names(sample)), *inputs, g, *u)[-len(u) :]
    for result, theirs in zip(by_forward, expected, strict=True):
        close(result, theirs, PRECISION)


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in ELEMENTWISE])
def test_third_derivatives_of_elementwise_ops_agree_with_jax(sample: Sample):
    """By reverse mode three times, and by forward mode three times."""
    module, inputs, g, u = loss(sample)
    (theirs,) = jaxpr.evaluate(lambda *xs: third_slope(sample, *xs), inputs, g, u)
    program, given = module, list[Array]()
    for order in range(3):
        program = contracted(gradient(program, names(sample)), names(sample))
        given += [*([g] if not order else [np.ones(())]), *u]
    (by_reverse,) = oracle.evaluate(program, *inputs, *given)
    close(by_reverse, theirs, PRECISION)
    for _ in range(3):
        module = tangent(module, names(sample))
    # The results, twice as many with each derivative: the last eighth is of third order.
    outputs = oracle.evaluate(module, *inputs, *u, *u, *u)
    third = outputs[len(outputs) // 8 * 7]
    close(np.asarray(inner(g, third)), theirs, PRECISION)
