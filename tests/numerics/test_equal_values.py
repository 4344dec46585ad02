"""Derivatives of what is made of spectra, where eigenvalues or singular values are equal, nearly so, or 0.

The references are the same functions without a spectrum, differentiated by JAX in f64, and central differences.
"""

# Functions of arrays and of values of a graph are of any type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import expm
from numerics import jaxpr

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

N = 4
RNG = np.random.default_rng(35)
WEIGHTS = RNG.standard_normal((12, 6, 6))
TOWARD = RNG.standard_normal((6, 6))
COLUMNS = RNG.standard_normal((N, 2))

SPECTRA: dict[str, list[float]] = {
    "identity": [1, 1, 1, 1],
    "zero": [0, 0, 0, 0],
    "pair": [1, 1, 2.5, 3],
    "two pairs": [0.5, 0.5, 2, 2],
    "nearly equal": [1, 1 + 1e-13, 1 + 1e-9, 3],
    "nearly so": [1, 1 + 1e-6, 2, 2 + 1e-5],
    "zeros": [0, 0, 0, 1.5],
    "apart": [0.5, 1, 2, 4],
}
POSITIVE = [values for values in SPECTRA.values() if values[0]]


def _rotation(n: int, seed: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def _symmetric(spectrum: Sequence[float]) -> Array:
    q = _rotation(N, 1)
    a = (q * spectrum) @ q.T
    return (a + a.T) / 2


def _tall(spectrum: Sequence[float], rows: int) -> Array:
    return (_rotation(rows, 2)[:, :N] * spectrum) @ _rotation(N, 3)


SYMMETRIC = [np.eye(N), *map(_symmetric, SPECTRA.values())]

FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "columns": lambda v, f: (v * f) @ v.T,
    "diag": lambda v, f: v @ np.diag(f) @ v.T,
    "diag on the right": lambda v, f: v @ (np.diag(f) @ v.T),
    "constant identity": lambda v, f: v @ (np.eye(f.shape[0]) * f) @ v.T,
    "rows": lambda v, f: v @ (f[:, None] * v.T),
    "einsum": lambda v, f: np.einsum("ij,j,kj->ik", v, f, v),
    "halves": lambda v, f: (v * f**0.5) @ (v * f**0.5).T,
    "quotient": lambda v, f: (v / (1 / f)) @ v.T,
    "applied": lambda v, f: v @ (f[:, None] * (v.T @ COLUMNS)),
    "applied quotient": lambda v, f: v @ ((v.T @ COLUMNS) / (1 / f)[:, None]),
    "applied to a vector": lambda v, f: (v @ (f * (v.T @ COLUMNS[:, 0])))[:, None],
    "times a product": lambda v, f: ((v * f) @ (v.T @ COLUMNS[:, 0]))[:, None],
}
FUNCTIONS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (np.exp, expm),
    (lambda w: w**3 + 1, lambda a: a @ a @ a + jnp.eye(N)),
    (lambda w: 1 / (w + 0.7), lambda a: jnp.linalg.inv(a + 0.7 * jnp.eye(N))),
    (lambda w: (w + 1) / (w + 1).sum(), lambda a: (a + jnp.eye(N)) / (jnp.trace(a) + N)),
]


def _weighted(x: Any, number: int = 0) -> Any:
    return (x * WEIGHTS[number, : x.shape[0], : x.shape[1]]).sum()


def _symmetric_part(a: Any) -> Any:
    return (a + a.T) / 2


def _close(found: Any, expected: Any, tolerance: float) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def _check(function: Any, meaning: Any, matrices: Sequence[Array], order: int = 1) -> None:
    """Reverse and forward mode in f64 and f32, and differences; with `order` 2 the Hessian along a direction too."""

    def everything(a: Any, toward: Any) -> Any:
        first = function(a), rlx.grad(function)(a), rlx.jvp(function)((a,), (toward,))[1]
        if order == 1:
            return first
        along = rlx.grad(lambda x: (rlx.grad(function)(x) * toward).sum())
        return *first, rlx.hvp(function)((a,), toward), along(a)

    run, first = rlx.compile(everything), jax.grad(meaning)
    step, toward = 1e-5, TOWARD[: matrices[0].shape[0], : matrices[0].shape[1]]
    derivative = jaxpr.trace(first, matrices[0])
    bent = jaxpr.trace(jax.grad(lambda x: (first(x) * toward).sum()), matrices[0]) if order == 2 else derivative
    for a in matrices:
        (expected,) = derivative(a)
        _, gradient, tangent, *second = run(a, toward)
        _close(gradient, expected, 1e-9)
        _close(tangent, (expected * toward).sum(), 1e-9)
        slope = (run(a + step * toward, toward)[0] - run(a - step * toward, toward)[0]) / (2 * step)
        _close((gradient * toward).sum(), slope, 1e-6)
        if order == 2:
            (curvature,) = bent(a)
            for found in second:
                _close(found, curvature, 1e-9)
        if a is matrices[0]:
            narrow = rlx.grad(function)(a.astype(np.float32))
            _close(narrow, expected, 1e-4)


def test_functions_of_a_symmetric_matrix():
    """Each way of writing one, with each function: which one with which is a Latin square, over the matrices too."""

    def program(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        images = [images(w) for images, _ in FUNCTIONS]
        return sum(_weighted(form(v, images[k % 4]), k) for k, form in enumerate(FORMS.values()))

    def meaning(a: Any) -> Any:
        found = [function(_symmetric_part(a)) for _, function in FUNCTIONS]
        total = sum(_weighted(found[k % 4], k) for k in range(8))
        total += sum(_weighted(found[k % 4] @ COLUMNS, k) for k in (8, 9))
        return total + sum(_weighted((found[k % 4] @ COLUMNS[:, 0])[:, None], k) for k in (10, 11))

    _check(program, meaning, SYMMETRIC)


def test_a_batch_of_functions_of_matrices_in_a_loop_and_by_vmap():
    """The derivative does not depend on what is around it."""
    batch = np.stack(SYMMETRIC[:4])

    def one(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return _weighted((v * np.exp(w)) @ v.T)

    def at_once(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return ((v * np.exp(w)[:, None, :]) @ np.swapaxes(v, -1, -2) * WEIGHTS[0, :N, :N]).sum()

    def by_scan(a: Any) -> Any:
        return rlx.scan(lambda total, x: (total + one(x), 0.0), np.float64(0), a)[0]

    def by_vmap(a: Any) -> Any:
        return rlx.vmap(one)(a).sum()

    meaning = jax.grad(lambda a: jnp.sum(jax.vmap(lambda x: _weighted(expm(_symmetric_part(x))))(a)))
    (expected,) = jaxpr.evaluate(meaning, batch)
    for function in (*map(rlx.grad, (at_once, by_scan, by_vmap)), rlx.vmap(rlx.grad(one))):
        _close(function(batch), expected, 1e-9)


def test_second_derivatives_of_eigenvalues():
    """Of functions in which equal values are interchangeable: elementwise ones, and such of all values together."""

    def program(a: Any) -> Any:
        w = np.linalg.eigvalsh(a)
        return (w**4).sum() + 2 * np.log(np.exp(w).sum()) + 3 * np.prod(w + 1)

    def meaning(a: Any) -> Any:
        a = _symmetric_part(a)
        return jnp.sum((a @ a) ** 2) + 2 * jnp.log(jnp.trace(expm(a))) + 3 * jnp.linalg.det(a + jnp.eye(N))

    _check(program, meaning, SYMMETRIC, order=2)
    hessian = rlx.compile(lambda a: (rlx.hessian(program)(a) * TOWARD[:N, :N]).sum((2, 3)))
    along = jaxpr.trace(jax.grad(lambda a: (jax.grad(meaning)(a) * TOWARD[:N, :N]).sum()), SYMMETRIC[0])
    for a in SYMMETRIC[:4]:
        _close(hessian(a), along(a)[0], 1e-9)


@pytest.mark.parametrize("rows", [N, N + 2])
def test_functions_and_second_derivatives_of_singular_values(rows: int):
    matrices = [_tall(values, rows) for values in SPECTRA.values()]

    def cube(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return _weighted((u * s**3) @ vt)

    _check(cube, lambda a: _weighted(a @ a.T @ a), matrices)
    values = lambda a: (np.linalg.svdvals(a) ** 4).sum()  # noqa: E731
    _check(values, lambda a: jnp.sum((a.T @ a) ** 2), matrices, order=2)


def test_the_nearest_orthonormal_matrix_of_equal_singular_values():
    def polar(a: Any) -> Any:
        u, _, vt = np.linalg.svd(a, full_matrices=False)
        return _weighted(u @ vt)

    def meaning(a: Any) -> Any:
        """Newton and Schulz's iteration."""
        x = a / 4
        for _ in range(40):
            x = 1.5 * x - 0.5 * x @ x.T @ x
        return _weighted(x)

    _check(polar, meaning, [_tall(SPECTRA[name], N + 1) for name in ("identity", "pair", "two pairs", "apart")])


def _inverse(a: Any) -> Any:
    """The pseudo-inverse of a matrix of full column rank."""
    return jnp.linalg.inv(a.T @ a) @ a.T


@pytest.mark.parametrize("rows", [N, N + 2])
def test_pseudo_inverses_and_least_squares(rows: int):
    right = WEIGHTS[3, :rows, :2]

    def program(a: Any) -> Any:
        solved = np.linalg.lstsq(a, right, rcond=None)[0]
        return _weighted(np.linalg.pinv(a)) + _weighted(np.linalg.pinv(a.T), 1) + _weighted(solved, 2)

    def meaning(a: Any) -> Any:
        return _weighted(_inverse(a)) + _weighted(_inverse(a).T, 1) + _weighted(_inverse(a) @ right, 2)

    _check(program, meaning, [_tall(values, rows) for values in POSITIVE], order=2)


@pytest.mark.parametrize("shape", [(4, 4), (4, 6)])
def test_a_pseudo_inverse_along_matrices_of_the_same_rank(shape: tuple[int, int]):
    """Of products `b c` of rank 2: `c^T (c c^T)^-1 (b^T b)^-1 b^T`."""
    rng = np.random.default_rng(1)
    b, c = _rotation(shape[0], 4)[:, :2], 2 * _rotation(shape[1], 5)[:2]
    weights = rng.standard_normal(shape[::-1])

    def program(b: Any, c: Any) -> Any:
        return (np.linalg.pinv(b @ c, rcond=1e-6) * weights).sum()

    def meaning(b: Any, c: Any) -> Any:
        return jnp.sum(c.T @ jnp.linalg.inv(c @ c.T) @ jnp.linalg.inv(b.T @ b) @ b.T * weights)

    found = rlx.grad(program, argnums=(0, 1))(b, c)
    for one, other in zip(found, jaxpr.evaluate(jax.grad(meaning, (0, 1)), b, c), strict=True):
        _close(one, other, 1e-9)


def test_the_gradient_of_a_pseudo_inverse_of_the_identity():
    weights = np.array([[1.0, 2], [3, 4]])
    np.testing.assert_allclose(rlx.grad(lambda m: (np.linalg.pinv(m) * weights).sum())(np.eye(2)), -weights)


def test_vectors_of_equal_values_have_a_derivative_of_0_among_each_other():
    """A documented choice: of a projection on both it is right, of one of them there is none."""

    def projection(a: Any) -> Any:
        v = np.linalg.eigh(a)[1][:, :2]
        return _weighted(v @ v.T)

    def one(a: Any) -> Any:
        return _weighted(np.linalg.eigh(a)[1][:, :1])

    a, toward, step = _symmetric(SPECTRA["pair"]), TOWARD[:N, :N], 1e-5
    run = rlx.compile(projection)
    slope = (run(a + step * toward) - run(a - step * toward)) / (2 * step)
    np.testing.assert_allclose((rlx.grad(projection)(a) * toward).sum(), slope, rtol=1e-6)
    np.testing.assert_array_equal(rlx.grad(one)(np.eye(N)), np.zeros((N, N)))


def test_gaps_do_not_depend_on_the_scale():
    """The vectors of a matrix are those of its multiple, in f32 too, in which squares of values vanish or overflow."""

    def program(a: Any) -> Any:
        vectors = _weighted(abs(np.linalg.eigh(a[:N])[1]))
        return vectors + _weighted(abs(np.linalg.svd(a, full_matrices=False)[0]), 1)

    a = np.concatenate([_symmetric(SPECTRA["apart"]), TOWARD[:2, :N]])
    run, expected = rlx.compile(rlx.grad(program)), rlx.grad(program)(a)
    for scale in (1e-30, 1e-18, 1e18, 1e30):
        found = run((a * scale).astype(np.float32))
        _close(np.float64(found) * scale, expected, 1e-4)


def test_a_second_derivative_that_would_lack_terms_is_nan():
    """That of a function of a matrix, where values are equal; where they are apart it is right."""

    def program(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return _weighted((v * np.exp(w)) @ v.T)

    assert np.isnan(rlx.hvp(program)((np.eye(N),), TOWARD[:N, :N])).all()
    squares = lambda a: (np.linalg.eigvalsh(a) ** 2).sum()  # noqa: E731
    tangent = lambda a: rlx.jvp(squares)((a,), (TOWARD[:N, :N],))[1]  # noqa: E731
    assert np.isnan(rlx.grad(tangent)(np.eye(N))).any()
    np.testing.assert_allclose(
        rlx.grad(tangent)(np.diag([1.0, 2, 3, 5])), TOWARD[:N, :N] + TOWARD[:N, :N].T, atol=1e-12
    )
    apart = [_symmetric(SPECTRA["apart"])]
    _check(program, lambda a: _weighted(expm(_symmetric_part(a))), apart, order=2)


def test_a_matrix_may_be_decomposed_several_times():
    """As in an expression that calls `eigh` for vectors and for values: these are of one decomposition."""

    def function(a: Any) -> Any:
        half = (a + a.T) / 2
        vectors, values = np.linalg.eigh(half)[1], np.exp(np.linalg.eigvalsh((a + a.T) / 2))
        return _weighted((vectors * values) @ np.linalg.eigh(half).eigenvectors.T)

    expected = jaxpr.evaluate(jax.grad(lambda a: _weighted(expm(_symmetric_part(a)))), np.eye(N))[0]
    _close(rlx.grad(function)(np.eye(N)), expected, 1e-13)

    def polar(a: Any) -> Any:
        return _weighted(np.linalg.svd(a)[0] @ np.linalg.svd(a)[2])

    _close(rlx.grad(polar)(np.eye(N)), (WEIGHTS[0, :N, :N] - WEIGHTS[0, :N, :N].T) / 2, 1e-13)
