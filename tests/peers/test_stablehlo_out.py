"""`rlx.to_stablehlo` and the pass behind it: what XLA computes is what compiled programs compute."""

# JAX's arrays, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportAttributeAccessIssue=false

from functools import partial
from typing import Any

import jax
import numpy as np
import oracle
import pytest
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir
from numerics.sample import named
from peers.stablehlo_samples import SAMPLES_OF, runs_of
from xdsl.ir import Operation

import xdsl_rlx as rlx
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.frontends.hosts.jax_program import JaxProgram, Run, call_p
from xdsl_rlx.frontends.stablehlo.write_table import REFUSED
from xdsl_rlx.frontends.stablehlo.writer import OWN_KERNEL


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in SAMPLES_OF])
def test_xla_computes_what_the_op_means(op: type[Operation]) -> None:
    for sample, dtype in runs_of(op):
        with named(sample, dtype):
            module, inputs = sample.module(dtype), sample.arrays(dtype)
            program = JaxProgram(GraphModule(module, "mir"), {}, {})
            try:
                _ = program.stablehlo
            except rlx.GraphError as error:
                assert "cannot be written as StableHLO" in str(error)
                assert any(reason in str(error) for reason in (*REFUSED.values(), OWN_KERNEL, "it has no function"))
                continue
            found = jax.jit(partial(call_p.bind, program=program, run=Run.XLA))(*inputs)
            for result, reference in zip(found, oracle.evaluate(module, *inputs), strict=True):
                array = np.asarray(result)
                assert (array.dtype, array.shape) == (reference.dtype, reference.shape)
                oracle.assert_close(array, reference, 4 * sample.tol)


def block(params: Any, x: Any) -> Any:
    """A layer of a transformer, with a loop and a loss."""
    hidden = rlx.nn.layer_norm(x, params["g"], params["b"])
    weights = rlx.softmax(hidden @ np.swapaxes(hidden, -1, -2) / 2.0, -1)
    mixed = rlx.gelu(weights @ hidden @ params["w"])

    def body(carry: Any, row: Any) -> Any:
        carry = np.tanh(carry @ params["u"] + row)
        return carry, carry.sum()

    last, sums = rlx.scan(body, np.zeros_like(mixed[0]), mixed)
    return (last**2).sum() + np.sort(sums)[::2].mean()


def example(dtype: str) -> Any:
    rng = np.random.default_rng(0)
    shapes = {"g": (6,), "b": (6,), "w": (6, 6), "u": (6, 6)}
    params = {name: rng.standard_normal(shape).astype(dtype) / 2 for name, shape in shapes.items()}
    return params, rng.standard_normal((5, 6)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_that_xla_executes_are_those_of_compiled_programs(dtype: str) -> None:
    args = example(dtype)
    gradient = rlx.value_and_grad(block)
    own = rlx.compile(gradient)(*args)
    found = jax.jit(rlx.to_jax(gradient, run="xla"))(*args)
    tolerance = 1e-11 if dtype == "float64" else 2e-4
    for mine, other in zip(jax.tree.leaves(own), jax.tree.leaves(found), strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(other, mine, rtol=tolerance, atol=tolerance)


def eigenvalues(a: Any) -> Any:
    values, vectors = np.linalg.eigh(a)
    return (values * np.arange(1, 5)).sum() + (vectors[..., 0] ** 4).sum()


def singular_values(a: Any) -> Any:
    u, values, vt = np.linalg.svd(a, full_matrices=False)
    return (values**2).sum() + (u[..., 0] ** 4).sum() + (vt[..., 0, :] ** 4).sum()


def tails(a: Any) -> Any:
    return (np.log(rlx.special.erfcx(3 * a)) + rlx.special.ndtri(rlx.nn.sigmoid(a))).sum()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [eigenvalues, singular_values, tails])
def test_functions_that_stablehlo_lacks_have_values_and_gradients(function: Any, dtype: str) -> None:
    shape = (3, 4, 4) if function is eigenvalues else (2, 5, 4)
    a = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    gradient = rlx.value_and_grad(function)
    own = rlx.compile(gradient)(a)
    found = jax.jit(rlx.to_jax(gradient, run="xla"))(a)
    tolerance = 1e-10 if dtype == "float64" else 2e-3
    for mine, other in zip(own, found, strict=True):
        np.testing.assert_allclose(other, mine, rtol=tolerance, atol=tolerance)


def test_factorisations_of_matrices_that_are_not_finite_are_nan() -> None:
    a = np.array([[[1.0, np.nan], [np.nan, 1.0]], [[1.0, 0.0], [0.0, 2.0]]])
    for of in (eigenvalues_of, singular_values_of):
        found = np.asarray(jax.jit(rlx.to_jax(of, run="xla"))(a))
        assert np.isnan(found[0]).all()
        assert np.allclose(np.sort(found[1]), [1.0, 2.0])


def eigenvalues_of(a: Any) -> Any:
    return np.linalg.eigh(a)[0]


def singular_values_of(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)[1]


def test_jax_reads_the_text_and_the_artifact() -> None:
    args = example("float32")
    text = rlx.to_stablehlo(rlx.grad(block), *args)
    artifact = rlx.to_stablehlo(rlx.grad(block), *args, portable=True)
    assert artifact.startswith(b"ML\xefR")
    with mlir.make_ir_context() as context:
        printed = str(mlir.ir.Module.parse(text, context))
        assert "stablehlo.while" in printed
        again = str(stablehlo.deserialize_portable_artifact(context, artifact))
    assert again.count("stablehlo.while") == printed.count("stablehlo.while")
    assert " chlo." not in again
