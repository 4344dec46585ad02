"""Where complex tensors are easily wrong: the factor and the conjugate of gradients, real parts, branch cuts, overflow.

Each test names in its docstring the weakness that it guards against.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]


def numbers(*shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex128)


def graph(build: Callable[..., Any], *arrays: Array) -> rlx.Graph:
    g = rlx.Graph("f")
    g.set_outputs([build(g, *(g.input(f"x{i}", a.shape, dtype=a.dtype) for i, a in enumerate(arrays)))])
    return g


def gradients(build: Callable[..., Any], *arrays: Array) -> list[Array]:
    """The gradients of the sum of squared magnitudes of what is built."""
    g = graph(lambda g, *xs: g.reduce_sum(g.complex_norm_sq(build(g, *xs))), *arrays)
    step = rlx.compile(rlx.grad_with_loss(g, wrt=[f"x{i}" for i in range(len(arrays))]))
    return list(step(*arrays))[1:]


def test_gradients_carry_both_parts_without_a_factor_of_a_half():
    """W-21: `L = |a b|^2` has the gradient `2 a |b|^2`, and so on for quotients, sums and products of matrices."""
    a, b = numbers(3, 4, seed=1), numbers(3, 4, seed=2)
    da, db = gradients(lambda g, a, b: a * b, a, b)
    np.testing.assert_allclose(da, 2 * a * abs(b) ** 2)
    np.testing.assert_allclose(db, 2 * b * abs(a) ** 2)
    da, db = gradients(lambda g, a, b: a / b, a, b)
    np.testing.assert_allclose(da, 2 * a / abs(b) ** 2)
    np.testing.assert_allclose(db, -2 * b * abs(a) ** 2 / abs(b) ** 4)
    da, db = gradients(lambda g, a, b: a + b, a, b)
    np.testing.assert_allclose(da, 2 * (a + b))
    np.testing.assert_allclose(db, 2 * (a + b))
    (da, db), c = gradients(lambda g, a, b: a @ b.T, a, b), a @ b.T
    np.testing.assert_allclose(da, 2 * c @ b.conj())
    np.testing.assert_allclose(db, 2 * c.T @ a.conj())


def test_gradients_are_the_conjugates_of_those_of_jax():
    """W-21: the convention is dL/dx + i dL/dy, PyTorch's; JAX gives the conjugate."""
    z = numbers(5, seed=3)
    (ours,) = gradients(lambda g, z: g.exp(z) * g.log(z) / g.sqrt(z), z)
    theirs = jax.grad(lambda z: jnp.sum(jnp.abs(jnp.exp(z) * jnp.log(z) / jnp.sqrt(z)) ** 2))(z)
    np.testing.assert_allclose(ours, np.conj(theirs), rtol=1e-12)


def test_a_real_operand_gets_the_real_part():
    """W-21: the cotangent of a real tensor that becomes complex is real, and complete."""
    x, w = np.random.default_rng(4).standard_normal(6), numbers(6, seed=5)
    dx, dw = gradients(lambda g, x, w: g.cast(x, "c128") * w, x, w)
    assert dx.dtype == np.float64
    np.testing.assert_allclose(dx, 2 * x * abs(w) ** 2)
    np.testing.assert_allclose(dw, 2 * w * x**2)


def test_a_complex_tensor_has_no_cast_to_real_numbers():
    """W-21: a cast that drops imaginary parts has no adjoint; it is refused, and mir.real says what is meant."""
    g = rlx.Graph("f")
    with pytest.raises(rlx.GraphError, match=r"take mir\.real or mir\.imag"):
        g.cast(g.input("z", (3,), "c64"), "f32")


def test_conjugating_twice_is_nothing():
    """W-21: conj(conj z) = z, and so for its gradient."""
    z = numbers(4, seed=6)
    (found,) = rlx.compile(graph(lambda g, z: g.conjugate(g.conjugate(z)), z))(z)
    np.testing.assert_array_equal(found, z)
    np.testing.assert_allclose(gradients(lambda g, z: g.conjugate(g.conjugate(z)), z)[0], 2 * z)


def test_quotients_and_roots_do_not_overflow_on_the_way():
    """W-21: numbers whose squares are too large or too small are divided, and have logarithms and roots."""
    z = np.array([3e38 + 3e38j, 1e-38 - 1e-38j, -1e30 + 1e-30j, 2e-45j], np.complex64)
    (quotient,) = rlx.compile(graph(lambda g, z: z / z, z))(z)
    np.testing.assert_allclose(quotient, 1, rtol=1e-6)
    over, under = np.array([3e38 + 3e38j], np.complex64), np.array([1 + 1j], np.complex64)
    (quotient,) = rlx.compile(graph(lambda g, z, w: z / w, over, under))(over, under)
    np.testing.assert_allclose(quotient, 3e38, rtol=1e-6)
    (root,) = rlx.compile(graph(lambda g, z: g.sqrt(z), z))(z)
    np.testing.assert_allclose(root, np.sqrt(z.astype(np.complex128)).astype(np.complex64), rtol=1e-6)
    (log,) = rlx.compile(graph(lambda g, z: g.log(z), z))(z)
    np.testing.assert_allclose(log, np.log(z.astype(np.complex128)).astype(np.complex64), rtol=1e-6)


def test_the_sign_of_a_zero_tells_the_sides_of_a_branch_cut_apart():
    """W-21: on the negative axis the square root and the logarithm follow the sign of the imaginary part's zero."""
    z = np.array([complex(-4.0, 0.0), complex(-4.0, -0.0)])
    (root,) = rlx.compile(graph(lambda g, z: g.sqrt(z), z))(z)
    np.testing.assert_array_equal(root, [2j, -2j])
    (log,) = rlx.compile(graph(lambda g, z: g.log(z), z))(z)
    np.testing.assert_allclose(log.imag, [np.pi, -np.pi])


def test_numbers_of_which_there_are_none_have_gradients_of_which_there_are_none():
    """W-21: real and imaginary parts begin in the same place then, in lir that verifies."""
    z = np.zeros((0, 2), np.complex64)
    for build in (lambda g, z: g.reduce_sum(g.complex_norm_sq(z)), lambda g, z: g.reduce_sum(g.real(g.exp(z) * z))):
        lowered = rlx.lower(rlx.grad_with_loss(graph(build, z), ["x0"]))
        lowered.module.verify()
        value, gradient = rlx.compile(lowered)(z)
        assert value == 0 and gradient.shape == (0, 2) and gradient.dtype == np.complex64


def _mixed(m: Any) -> Any:
    return lambda z, x: {"both": z * z * x, "real": m.abs(z) * x, "of real": m.exp(1j * x), "twice": x * x}


def test_tangents_and_cotangents_of_trees_of_real_and_complex_leaves_are_those_of_jax():
    """Imaginary parts counted as 0. Cotangents and gradients are the conjugates of JAX's."""
    rng = np.random.default_rng(7)
    z, tz, one, two = (rng.standard_normal(3) + 1j * rng.standard_normal(3) for _ in range(4))
    x, tx, three, four = (rng.standard_normal(3) for _ in range(4))
    values, tangents = rlx.jvp(_mixed(np))((z, x), (tz, tx))
    for found, expected in zip((values, tangents), jax.jvp(_mixed(jnp), (z, x), (tz, tx)), strict=True):
        for name in found:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-13)
    cotangents = {"both": one, "real": three, "of real": two, "twice": four}
    _, gradients = rlx.vjp(_mixed(np))((z, x), cotangents)
    of_jax = jax.vjp(_mixed(jnp), z, x)[1]({name: np.conj(g) for name, g in cotangents.items()})
    for found, expected in zip(gradients, of_jax, strict=True):
        np.testing.assert_allclose(found, np.conj(expected), rtol=1e-13, atol=1e-14)
        assert np.iscomplexobj(found) == np.iscomplexobj(expected)
    back = sum(np.real(np.conj(g) * t).sum() for g, t in zip(gradients, (tz, tx), strict=True))
    ahead = sum(np.real(np.conj(cotangents[name]) * t).sum() for name, t in tangents.items())
    np.testing.assert_allclose(back, ahead, rtol=1e-12)
    for wrong in (1j, np.complex128(1j)):
        with pytest.raises(rlx.GraphError, match=r"cotangents\['twice'\]: expected .*, got "):
            rlx.vjp(lambda x: {"twice": (x * x).sum()})((x,), {"twice": wrong})
