"""Where norms are easily wrong: offsets, several images, axes, derivatives in either mode, parts of fused ops.

Each test names in its docstring the weakness that it guards against.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng


def graph(build: Callable[..., Any], *arrays: Array) -> rlx.Graph:
    """A graph of inputs `x0`, `x1`, ... with the shapes and element types of the arrays."""
    g = rlx.Graph("f")
    g.set_outputs([build(g, *(g.input(f"x{i}", a.shape, dtype=a.dtype) for i, a in enumerate(arrays)))])
    return g


def value(build: Callable[..., Any], *arrays: Array) -> Array:
    """The output."""
    return rlx.compile(graph(build, *arrays))(*arrays)[0]


def gradients(build: Callable[..., Any], dy: Array, *arrays: Array) -> Sequence[Array]:
    """The cotangents of all operands for a cotangent of the output."""
    names = [f"x{i}" for i in range(len(arrays))]
    return rlx.compile(rlx.grad(graph(build, *arrays), wrt=names))(*arrays, dy)


def tangent(build: Callable[..., Any], arrays: Sequence[Array], directions: Sequence[Array]) -> Array:
    """The directional derivative."""
    made = rlx.jvp(graph(build, *arrays), tangent_for=[f"x{i}" for i in range(len(arrays))])
    return rlx.compile(made)(*arrays, *directions)[-1]


def centred(x: Any, axes: Any, eps: float) -> Any:
    d = x - x.mean(axes, keepdims=True)
    return d / jnp.sqrt((d * d).mean(axes, keepdims=True) + eps)


def grouped(x: Any, gamma: Any, beta: Any) -> Any:
    """JAX's group norm of two groups."""
    n = centred(x.reshape(x.shape[0], 2, -1), 2, 1e-5).reshape(x.shape)
    vector = (1, -1, *(1 for _ in x.shape[2:]))
    return n * gamma.reshape(vector) + beta.reshape(vector)


NORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[int, ...], int]] = {
    "layer_norm": (
        lambda g, x, a, b: g.layer_norm(x, a, b),
        lambda x, a, b: centred(x, -1, 1e-5) * a + b,
        (3, 7),
        7,
    ),
    "rms_norm": (
        lambda g, x, a, b: g.rms_norm(x, a, b),
        lambda x, a, b: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * a + b,
        (3, 7),
        7,
    ),
    "group_norm": (lambda g, x, a, b: g.group_norm(x, a, b, 2), grouped, (3, 4, 2, 3), 4),
    "layer_norm_2d": (
        lambda g, x, a, b: g.layer_norm_2d(x, a, b),
        lambda x, a, b: centred(x, 1, 1e-5) * a.reshape(-1, 1, 1) + b.reshape(-1, 1, 1),
        (2, 5, 3, 2),
        5,
    ),
}


def operands(name: str, seed: int = 0) -> list[Array]:
    """x, gamma, beta in f64."""
    *_, shape, n = NORMS[name]
    return [RNG(seed).standard_normal(s) for s in (shape, (n,), (n,))]


@pytest.mark.parametrize("name", NORMS)
def test_norms_have_the_gradients_of_their_formula(name: str):
    """W-16, W-65: with respect to all operands, with gains other than 1 and statistics other than 1."""
    build, formula, *_ = NORMS[name]
    xs = [3 * x for x in operands(name)]
    dy = RNG(1).standard_normal(xs[0].shape)
    with jax.enable_x64():
        expected = jaxpr.evaluate(lambda *xs: jax.vjp(formula, *xs)[1](jnp.asarray(dy)), *xs)
    for got, want in zip(gradients(build, dy, *xs), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_a_norm_and_all_its_cotangents_are_one_kernel_with_one_root(name: str):
    """No backward op finds the statistics again."""
    g = rlx.Graph("g")
    build, xs = NORMS[name][0], operands(name)
    wrt = [f"x{i}" for i in range(len(xs))]
    y = build(g, *(g.input(n, x.shape) for n, x in zip(wrt, xs, strict=True)))
    g.set_outputs(g.reduce_sum(g.sin(y)))
    (kernel,) = rlx.fusion_report(rlx.grad_with_loss(g, wrt)).groups
    assert kernel.launches == kernel.ops.count("mir.rsqrt") == 1


def test_the_gradient_of_rms_norm_divides_by_the_square_of_the_scale():
    """W-16: `r (gamma dy - x r^2 mean(gamma dy x))`, by hand for x = (3, 4)."""
    x, gamma = np.array([[3.0, 4.0]]), np.array([2.0, 1.0])
    dx, *_ = gradients(lambda g, x, a, b: g.rms_norm(x, a, b, eps=0.0), np.array([[1.0, 1.0]]), x, gamma, gamma)
    r = 12.5**-0.5
    mean = (2 * 3 + 1 * 4) / 2
    np.testing.assert_allclose(dx, [[r * (2 - 3 * mean / 12.5), r * (1 - 4 * mean / 12.5)]], rtol=1e-14)


@pytest.mark.parametrize("name", NORMS)
def test_tangents_of_norms_move_the_statistics_and_the_gains(name: str):
    """W-53: forward mode is that of the formula, for all operands at once."""
    build, formula, *_ = NORMS[name]
    xs, along = operands(name), operands(name, 5)
    with jax.enable_x64():
        (expected,) = jaxpr.evaluate(lambda xs, us: jax.jvp(formula, tuple(xs), tuple(us))[1], xs, along)
    np.testing.assert_allclose(tangent(build, xs, along), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "layer_norm_2d"])
def test_the_variance_is_found_from_differences(name: str):
    """W-46: an offset of 10^4 leaves the f32 result right, where `E[x^2] - mean^2` has no digit left."""
    build, formula, *_ = NORMS[name]
    exact = [x.astype(np.float32) for x in operands(name)]
    # a unit in the last place of the mean is 1e-3, and must be little beside the spread of a few numbers
    shifted = [(8 * exact[0] + np.float32(1e4)).astype(np.float32), *exact[1:]]
    with jax.enable_x64():
        expected = np.asarray(formula(*(jnp.asarray(x.astype(np.float64)) for x in shifted)))
    np.testing.assert_allclose(value(build, *shifted), expected, atol=2e-3)


def test_group_norm_of_several_images_is_that_of_each():
    """W-47: image by image, forwards and backwards."""
    build, *_ = NORMS["group_norm"]
    x, gamma, beta = operands("group_norm")
    dy = RNG(2).standard_normal(x.shape)
    dx = gradients(build, dy, x, gamma, beta)[0]
    whole = value(build, x, gamma, beta)
    for i in range(len(x)):
        np.testing.assert_allclose(whole[i : i + 1], value(build, x[i : i + 1], gamma, beta), rtol=1e-12)
        alone = gradients(build, dy[i : i + 1], x[i : i + 1], gamma, beta)[0]
        np.testing.assert_allclose(dx[i : i + 1], alone, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_norms_honour_their_axis(name: str):
    """W-49: along axis 0 it is the transposed norm of the transposed."""
    x, gamma, beta = operands(name)
    first = value(lambda g, x, a, b: getattr(g, name)(x, a, b, axis=0), x.T.copy(), gamma, beta)
    np.testing.assert_allclose(first.T, value(NORMS[name][0], x, gamma, beta), rtol=1e-13)


def test_statistics_of_batch_norm_are_differentiated():
    """W-19: mean and variance get their gradients, along the channels of an image."""
    x, gamma, beta = operands("group_norm")
    mean, var = RNG(3).standard_normal(4), RNG(4).uniform(0.5, 2.0, 4)
    dy = RNG(2).standard_normal(x.shape)

    def formula(x: Any, a: Any, b: Any, m: Any, v: Any) -> Any:
        a, b, m, v = (u.reshape(-1, 1, 1) for u in (a, b, m, v))
        return (x - m) / jnp.sqrt(v + 1e-5) * a + b

    with jax.enable_x64():
        given = x, gamma, beta, mean, var
        expected = jaxpr.evaluate(lambda *xs: jax.vjp(formula, *xs)[1](jnp.asarray(dy)), *given)
    build = lambda g, *xs: g.batch_norm_inference(*xs, axis=1)  # noqa: E731
    for got, want in zip(gradients(build, dy, *given), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", NORMS)
def test_batches_of_norms_with_gains_of_their_own(name: str):
    """W-72, W-73: x and gamma batched, beta shared."""
    build, *_ = NORMS[name]
    batch = [operands(name, seed) for seed in range(3)]
    beta = batch[0][2]
    made = rlx.compile(rlx.vmap(graph(build, *batch[0]), ["x0", "x1"], 3))
    got = made(np.stack([b[0] for b in batch]), np.stack([b[1] for b in batch]), beta)[0]
    expected = np.stack([value(build, x, gamma, beta) for x, gamma, _ in batch])
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def test_swiglu_with_the_gate_first_swaps_the_halves():
    """W-07: in the op, in its definition, and in its gradient."""
    x = RNG(6).standard_normal((3, 6))
    swapped = np.concatenate([x[:, 3:], x[:, :3]], axis=1)
    first, last = (lambda g, x, f=f: g.fused_swiglu(x, gate_first=f) for f in (True, False))
    gate, up = x[:, :3], x[:, 3:]
    np.testing.assert_allclose(value(first, x), gate / (1 + np.exp(-gate)) * up, rtol=1e-13)
    np.testing.assert_array_equal(value(first, x), value(last, swapped))
    dy = RNG(7).standard_normal((3, 3))
    (direct,), (other,) = gradients(first, dy, x), gradients(last, dy, swapped)
    np.testing.assert_array_equal(direct, np.concatenate([other[:, 3:], other[:, :3]], axis=1))
