"""`linearize`, `linear_transpose` and `eval_shape` against JAX."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
P, X = {"w": RNG.standard_normal((3, 2)), "n": np.int64(2)}, RNG.standard_normal((4, 3))
DP, DX = {"w": RNG.standard_normal((3, 2)), "n": np.int64(0)}, RNG.standard_normal((4, 3))
A = RNG.standard_normal((3, 2))


def model(np_: Any, p: Any, x: Any) -> Any:
    hidden = np_.tanh(x @ p["w"])
    return {"y": hidden.sum() * p["n"], "hidden": hidden * 3}, x[0]


def test_a_linearized_function_is_that_of_jax_and_computes_only_the_linear_part() -> None:
    out, along = rlx.linearize(lambda p, x: model(np, p, x), P, X)
    expected = jax.jvp(lambda w, x: model(jnp, {**P, "w": w}, x), (P["w"], X), (DP["w"], DX))
    for ours, theirs in zip(jax.tree.leaves((out, along(DP, DX))), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    text = str(rlx.trace(along, DP, DX))
    assert "mir.matmul" in text and "mir.tanh" not in text
    batch = rlx.vmap(along, ({"w": None, "n": None}, 0))(DP, np.stack([DX, 2 * DX]))[1]
    np.testing.assert_allclose(batch, [DX[0], 2 * DX[0]])


def test_linearize_and_linear_transpose_nest_in_traced_functions() -> None:
    def both(x: Any, t: Any) -> Any:
        y, along = rlx.linearize(np.sin, x)
        back = rlx.linear_transpose(lambda t: along(t) * x, t)
        return y, along(t), back(t)[0]

    found = oracle.evaluate(rlx.trace(both, X, DX).module, X, DX)
    for ours, theirs in zip(found, (np.sin(X), np.cos(X) * DX, np.cos(X) * X * DX), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


LINEAR: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda f, x: (x @ A, 2 * x),
    "gather": lambda f, x: x[np.array([0, 2, 2])],
    "slice": lambda f, x: x[::2, 1:],
    "mean": lambda f, x: x.mean(0),
    "cumsum": lambda f, x: f.cumsum(x, 0),
    "concatenate": lambda f, x: f.concatenate([x.T, 2 * x.T], 1),
    "pad": lambda f, x: f.pad(x, 1),
    "roll": lambda f, x: f.roll(x, 1, 0),
    "where": lambda f, x: f.where(np.arange(3) > 1, x, 0),
    "fft": lambda f, x: f.fft.fft(x).imag,
    "einsum": lambda f, x: f.einsum("ij,jk->ki", x, A),
    "take_along_axis": lambda f, x: f.take_along_axis(x, np.array([[0], [1], [0], [2]]), 1),
    "tril and diagonal": lambda f, x: (f.tril(x), f.diagonal(x)),
    "complex": lambda f, x: (1 + 2j) * (x + 0j),
}


def test_the_transpose_of_a_linear_function_is_that_of_jax() -> None:
    def of(f: Any, function: Callable[[Any, Any], Any], x: Any) -> Any:
        transpose = rlx.linear_transpose if f is np else jax.linear_transpose
        like = rlx.ShapeDtypeStruct if f is np else jax.ShapeDtypeStruct
        back = transpose(lambda x: function(f, x), like((4, 3), np.dtype(np.float64)))
        shapes = jax.tree.leaves(jax.eval_shape(lambda x: function(jnp, x), X))
        cotangents = [(f.arange(one.size).reshape(one.shape) * x[0, 0]).astype(one.dtype) for one in shapes]
        return back(tuple(cotangents) if len(shapes) > 1 else cotangents[0])

    every = LINEAR.values()
    found = oracle.evaluate(rlx.trace(lambda x: [of(np, one, x)[0] for one in every], X).module, X)
    expected = jax.jit(lambda x: [of(jnp, one, x)[0] for one in every])(X)
    for name, ours, theirs in zip(LINEAR, found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=name)
    (back,) = rlx.linear_transpose(lambda z: (1 + 2j) * z, rlx.ShapeDtypeStruct((2,), "c128"))(np.array([1.0, 1j]))
    np.testing.assert_allclose(back, [1 + 2j, -2 + 1j])


def test_shapes_are_found_without_computing() -> None:
    def function(x: Any, scale: float, how: str) -> Any:
        return {"y": (x * scale).sum(0), "n": x.shape[0], "how": how}

    like = rlx.ShapeDtypeStruct((1 << 20, 1 << 10), "bf16")
    found = rlx.eval_shape(function, like, 2.0, how="any")
    assert found["y"] == rlx.ShapeDtypeStruct((1 << 10,), ml_dtypes.bfloat16) and found["how"] == "any"
    assert (like.ndim, like.size, found["n"].shape) == (2, 1 << 30, ())
    assert repr(found["y"]) == "ShapeDtypeStruct(shape=(1024,), dtype=bfloat16)"
    shapes = rlx.tree.map(lambda one: one.shape, rlx.eval_shape(lambda x: (x, [x.T]), like))
    assert shapes == (like.shape, [like.shape[::-1]])


WRONG: dict[str, Callable[[], Any]] = {
    "linear_transpose: expected a linear function, but the derivative of '<lambda>' depends on primals[0]['a']": (
        lambda: rlx.linear_transpose(lambda x: x["a"] * x["a"], {"a": X})
    ),
    "linear_transpose: expected floating-point arguments of '<lambda>'": lambda: rlx.linear_transpose(
        lambda n: n, np.arange(3)
    ),
    "linearize: expected a floating-point argument of '<lambda>' to differentiate by, got none": (
        lambda: rlx.linearize(lambda n: n, np.arange(3))
    ),
    "linearize: expected 1 tangents for 'sin', got 2": lambda: rlx.linearize(np.sin, X)[1](X, X),
    "tangents[0]: expected shape [4, 3] like the value that it belongs to, got [3]": (
        lambda: rlx.linearize(np.sin, X)[1](X[0])
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_call_is_an_error_that_names_the_argument(message: str) -> None:
    with pytest.raises(rlx.GraphError, match=re.escape(message)):
        WRONG[message]()
