"""Primitives of JAX without a row: values and derivatives by their own StableHLO."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.core import ShapedArray
from jax.experimental import pallas
from jax.extend.core import Primitive
from jax.interpreters import ad, mlir
from peers import jax_compare

import xdsl_rlx as rlx

X = np.linspace(0.1, 1, 5)
RNG = np.random.default_rng(1)
MATRIX = RNG.standard_normal((3, 3)).astype(np.float32)


def primitive(name: str, function: Callable[..., Any]) -> Any:
    """A primitive with results like its first operand, whose lowering is a function of JAX."""
    made = Primitive(name)
    made.def_abstract_eval(lambda x, *_, **__: ShapedArray(x.shape, x.dtype))
    made.def_impl(function)
    mlir.register_lowering(made, mlir.lower_fun(function, multiple_results=False))
    return made


wave_p = primitive("test_wave", lambda x: jnp.sin(x) * x)
"""A primitive that JAX cannot differentiate."""

phase_p = primitive("test_phase", lambda x, turns: jnp.sin(x + turns * np.pi / 2))
"""A primitive whose derivative is itself with another parameter."""
ad.defjvp(phase_p, lambda t, x, turns: 3 * t * phase_p.bind(x, turns=turns + 1))

triple_p = primitive("test_triple", lambda x: 3 * x)
"""A linear primitive."""
ad.deflinear2(triple_p, lambda cotangent, _: [triple_p.bind(cotangent)])


def test_a_primitive_without_rules_is_differentiated_by_its_definition() -> None:
    imported = rlx.from_jax(lambda x: (wave_p.bind(x) ** 2).sum(), X)
    assert imported.report.lowered == {"test_wave": 1}
    assert "through StableHLO: test_wave x1" in str(imported.report)

    def plain(x: Any) -> Any:
        return ((jnp.sin(x) * x) ** 2).sum()

    with jax.enable_x64(True):
        jax_compare.same(imported(X), plain(X))
        jax_compare.same(rlx.grad(imported)(X), jax.grad(plain)(X), 1e-12)
        jax_compare.same(rlx.hessian(imported)(X), jax.hessian(plain)(X), 1e-12)
        batch = np.stack([X, 2 * X])
        jax_compare.same(rlx.vmap(rlx.grad(imported))(batch), jax.vmap(jax.grad(plain))(batch), 1e-12)


def test_the_rule_of_a_primitive_is_kept() -> None:
    jax_compare.derivatives(lambda x: phase_p.bind(x, turns=0) ** 2, X, tolerance=1e-12)
    assert np.allclose(rlx.grad(rlx.from_jax(lambda x: phase_p.bind(x, turns=0).sum()))(X), 3 * np.cos(X))
    jax_compare.derivatives(lambda x: triple_p.bind(jnp.exp(x)), X, tolerance=1e-12)


def test_constants_and_loops() -> None:
    def f(x: Any) -> Any:
        fixed = wave_p.bind(jnp.ones(5, x.dtype))
        return jax.lax.scan(lambda c, _: (wave_p.bind(c) + fixed, c.sum()), x, None, length=4)

    jax_compare.values(f, X.astype(np.float32))
    jax_compare.values(lambda: wave_p.bind(jnp.ones(3)))


def test_exported_functions() -> None:
    def f(x: Any) -> Any:
        return (jnp.tanh(x) @ x).sum()

    exported = export.deserialize(bytearray(export.export(jax.jit(f))(MATRIX).serialize(vjp_order=2)))
    imported = rlx.from_jax(exported.call, MATRIX)
    assert imported.report.lowered == {"call_exported": 1}
    jax_compare.same(imported(MATRIX), f(MATRIX))
    jax_compare.same(rlx.grad(imported)(MATRIX), jax.grad(exported.call)(MATRIX))


def test_kernels_of_pallas_and_functions_of_lapack() -> None:
    def kernel(x_ref: Any, out_ref: Any) -> None:
        out_ref[...] = jnp.sin(x_ref[...]) + 1

    def f(x: Any) -> Any:
        return pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    jax_compare.values(f, X.astype(np.float32))
    jax_compare.same(rlx.grad(lambda x: rlx.from_jax(f)(x).sum())(X), np.cos(X), 1e-12)

    def factor(a: Any) -> Any:
        types = (jax.ShapeDtypeStruct(a.shape, a.dtype), jax.ShapeDtypeStruct((), np.int32))
        return jnp.tril(jax.ffi.ffi_call("lapack_spotrf_ffi", types)(a, uplo=np.uint8(ord("L")))[0])

    positive = MATRIX @ MATRIX.T + np.eye(3, dtype=np.float32)
    jax_compare.same(rlx.from_jax(factor)(positive), np.linalg.cholesky(positive))


def test_all_that_cannot_be_lowered_is_one_error() -> None:
    unknown = Primitive("test_unknown")
    unknown.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))

    def f(x: Any) -> Any:
        y = jax.ffi.ffi_call("nowhere", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
        return wave_p.bind(unknown.bind(unknown.bind(y)))

    with pytest.raises(rlx.FrontendError, match="2 operators cannot be read") as caught:
        rlx.from_jax(f, X)
    assert {one.op: one.count for one in caught.value.missing} == {"test_unknown": 2, "ffi_call": 1}
    reasons = {one.op: one.reason for one in caught.value.missing}
    assert reasons["ffi_call"] == (
        "has no translation, and neither has its StableHLO: "
        "stablehlo.custom_call @nowhere: the custom call is not known"
    )
    assert reasons["test_unknown"].startswith("has no translation, and cannot be lowered alone: MLIR translation rule")
    assert all("test_jax_lowered.py:" in one.location for one in caught.value.missing)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _turned(turns: int, x: Any) -> Any:
    return jnp.sin(x + turns * np.pi / 2)


_turned.defvjp(
    lambda turns, x: (_turned(turns, x), x),
    lambda turns, x, g: (3 * g * _turned(turns + 1, x),),  # pyright: ignore[reportCallIssue]
)


def test_a_rule_that_calls_its_function_with_another_parameter() -> None:
    first: Any = partial(_turned, 0)
    gradient = rlx.grad(rlx.from_jax(lambda x: first(x).sum()))(X)
    second = rlx.jacrev(rlx.grad(rlx.from_jax(lambda x: first(x).sum())))(X)
    assert np.allclose(gradient, 3 * np.cos(X))
    assert np.allclose(second, np.diag(-9 * np.sin(X)))
