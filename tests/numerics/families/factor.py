"""Factorisations of matrices."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.families.solve import jax_eliminate, jax_factors, over_batch, regular
from numerics.sample import Operand, Sample, method, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import factor


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Well-conditioned matrices whose symmetric part is positive definite."""
    n = shape[-1]
    x = rng.uniform(-1, 1, shape) / max(n, 1)
    return 2 * np.eye(n) + x @ np.swapaxes(x, -1, -2) + x


def _cholesky_samples() -> list[Sample]:
    rows: list[Sample] = []
    build = method("cholesky")
    for suffix, shape in (
        ("", (4, 4)),
        ("-batch", (2, 3, 3, 3)),
        ("-one", (1, 1)),
        ("-odd", (17, 17)),
        ("-none", (2, 0, 0)),
    ):
        operands = (Operand(shape, positive),)
        rows.append(Sample(f"cholesky{suffix}", factor.CholeskyOp, build, operands, differentiable=(0,), tol=64))
    indefinite = (Operand((3, 3), values(4.0, 2.0, 0.0, 2.0, 0.0, 1.0, 0.0, 1.0, 3.0)),)
    rows.append(Sample("cholesky-indefinite", factor.CholeskyOp, build, indefinite))
    return rows


def _cholesky(a: Array) -> Array:
    """Of a batch, column by column; NaN where there is none."""
    mean = (a + np.swapaxes(a, -1, -2)) / 2
    found = np.zeros_like(a)
    for j in range(a.shape[-1]):
        rest = mean[..., j:, j] - np.einsum("...ik,...k->...i", found[..., j:, :j], found[..., j, :j])
        with np.errstate(invalid="ignore"):
            found[..., j:, j] = rest / np.sqrt(rest[..., :1])
    return found


def _jax_cholesky(a: Any) -> Any:
    """The same; in JAX, its LAPACK kernels wait for each other's threads when many are in one program."""
    mean = (a + jnp.swapaxes(a, -1, -2)) / 2

    def column(j: int, found: Any) -> Any:
        rest = mean[..., j:, j] - jnp.einsum("...ik,...k->...i", found[..., j:, :j], found[..., j, :j])
        return found.at[..., j:, j].set(rest / jnp.sqrt(rest[..., :1]))

    found = jnp.zeros_like(a)
    for j in range(a.shape[-1]):
        found = column(j, found)
    return found


def spread(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Matrices whose symmetric parts have eigenvalues that are apart, and vectors whose first elements are not 0."""
    n = shape[-1]
    q, _ = np.linalg.qr(rng.standard_normal(shape))
    levels = np.arange(n) - n / 3 + rng.uniform(0.2, 0.4, (*shape[:-2], n))
    skew = rng.standard_normal(shape)
    return np.asarray((q * levels[..., None, :]) @ np.swapaxes(q, -1, -2) + skew - np.swapaxes(skew, -1, -2))


def _eigh_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape in (
        ("", (3, 3)),
        ("-batch", (2, 2, 3, 3)),
        ("-one", (1, 1)),
        ("-large", (21, 21)),
        ("-none", (2, 0, 0)),
    ):
        for first, part in enumerate(("", "-vectors")):
            operands = (Operand(shape, spread),)
            name = f"eigh{suffix}{part}"
            build = method("eigh")
            rows.append(
                Sample(
                    name,
                    factor.EighOp,
                    build,
                    operands,
                    differentiable=(0,),
                    tol=512,
                    first=first,
                    smooth=shape[-1] < 9,
                )
            )
    return rows


def _eigh(np_: Any, a: Any) -> tuple[Any, Any]:
    """Of the symmetric part, with signs that do not depend on the library."""
    values, vectors = np_.linalg.eigh((a + np_.swapaxes(a, -1, -2)) / 2)
    return values, vectors * np_.where(vectors[..., :1, :] < 0, -1, 1)


def tall(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Matrices of full rank, the pivots of some turned."""
    return rng.uniform(-1, 1, shape) / max(shape[-1], 1) + 1.5 * np.eye(*shape[-2:]) * rng.choice([-1, 1], shape[-1:])


def _qr_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape in (
        ("", (4, 3)),
        ("-batch", (2, 2, 3, 3)),
        ("-one", (1, 1)),
        ("-large", (33, 19)),
        ("-none", (3, 0)),
    ):
        for first, part in enumerate(("", "-triangle")):
            operands, build = (Operand(shape, tall),), method("qr")
            name = f"qr{suffix}{part}"
            rows.append(Sample(name, factor.QrOp, build, operands, differentiable=(0,), tol=128, first=first))
    return rows


def _qr(np_: Any, a: Any) -> tuple[Any, Any]:
    """With a diagonal that is not negative."""
    q, r = np_.linalg.qr(a)
    signs = np_.where(np_.diagonal(r, 0, -2, -1) < 0, -1, 1)
    return q * signs[..., None, :], r * signs[..., None]


def stretched(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Matrices whose singular values are apart, and vectors whose first elements are not 0."""
    n = shape[-1]
    u, _ = np.linalg.qr(rng.standard_normal(shape))
    v, _ = np.linalg.qr(rng.standard_normal((*shape[:-2], n, n)))
    return np.asarray((u * (0.5 + np.arange(n) + rng.uniform(0.2, 0.4, (*shape[:-2], 1, n)))) @ v)


def _svd_samples() -> list[Sample]:
    rows: list[Sample] = []
    shapes = {"": (4, 3), "-batch": (2, 2, 3, 3), "-one": (1, 1), "-large": (23, 17), "-none": (3, 0)}
    for suffix, shape in shapes.items():
        for first, part in enumerate(("", "-values", "-right")):
            name, operands, smooth = f"svd{suffix}{part}", (Operand(shape, stretched),), shape[-1] < 9
            build = method("svd")
            sample = Sample(name, factor.SvdOp, build, operands, ("f32", "f64"), (0,), smooth, 1024, first=first)
            rows.append(sample)
    return rows


def _svd(np_: Any, a: Any) -> tuple[Any, Any, Any]:
    """With signs that do not depend on the library."""
    u, s, vt = np_.linalg.svd(a, full_matrices=False)
    if not a.size:
        return u, s, vt
    signs = np_.where(vt[..., :1] < 0, -1, 1)
    return u * np_.swapaxes(signs, -1, -2), s, vt * signs


def _det_samples() -> list[Sample]:
    rows: list[Sample] = []
    build = lambda m, a: m.op(factor.DetOp, a.ssa)  # noqa: E731
    shapes = {
        "": (4, 4),
        "-batch": (2, 2, 5, 5),
        "-one": (1, 1),
        "-small": (3, 3),
        "-lapack": (65, 65),
        "-none": (2, 0, 0),
    }
    for suffix, shape in shapes.items():
        operands = (Operand(shape, regular),)
        rows.append(Sample(f"det{suffix}", factor.DetOp, build, operands, differentiable=(0,), tol=256))
        slogdet = method("slogdet")
        rows.append(Sample(f"slogdet{suffix}", factor.SlogdetOp, slogdet, operands, differentiable=(0,), tol=256))
    singular = (Operand((4, 4), values(0.0, 1.0, 2.0, 0.0, 3.0, 4.0)),)
    rows.append(Sample("det-singular", factor.DetOp, build, singular))
    build = method("cofactors")
    for suffix, shape in {"": (4, 4), "-batch": (2, 3, 3), "-one": (1, 1), "-none": (2, 0, 0)}.items():
        operands = (Operand(shape, regular),)
        rows.append(Sample(f"cofactors{suffix}", factor.CofactorsOp, build, operands, differentiable=(0,), tol=256))
    return rows


def _cofactors(a: Array) -> Array:
    """Of regular matrices."""
    return np.linalg.det(a)[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)


def _jax_det(a: Any) -> Any:
    """By elimination."""
    if not a.size:
        return jnp.ones(a.shape[:-2], a.dtype)

    def one(a: Any) -> Any:
        factors, pivots = jax_factors(a)
        return jnp.prod(jnp.diagonal(factors) * jnp.where(pivots == jnp.arange(a.shape[0]), 1, -1))

    return over_batch(one, a.ndim)(a)


def _jax_cofactors(a: Any) -> Any:
    """Of regular matrices."""
    if not a.size:
        return a
    inverse = over_batch(lambda a: jax_eliminate(a, jnp.eye(a.shape[0], dtype=a.dtype)), a.ndim)(a)
    return _jax_det(a)[..., None, None] * jnp.swapaxes(inverse, -1, -2)


SAMPLES = (*_cholesky_samples(), *_eigh_samples(), *_qr_samples(), *_svd_samples(), *_det_samples())
ORACLE = {
    factor.CholeskyOp: lambda op, a: _cholesky(widen(a)),
    factor.EighOp: lambda op, a: _eigh(np, widen(a)),
    factor.QrOp: lambda op, a: _qr(np, widen(a)),
    factor.SvdOp: lambda op, a: _svd(np, widen(a)),
    factor.DetOp: lambda op, a: np.linalg.det(widen(a)),
    factor.SlogdetOp: lambda op, a: tuple(np.linalg.slogdet(widen(a))),
    factor.CofactorsOp: lambda op, a: _cofactors(widen(a)),
}
JAX = {
    factor.CholeskyOp: lambda op, a: _jax_cholesky(a),
    factor.EighOp: lambda op, a: _eigh(jnp, a),
    factor.QrOp: lambda op, a: _qr(jnp, a),
    factor.SvdOp: lambda op, a: _svd(jnp, a),
    factor.DetOp: lambda op, a: _jax_det(a),
    factor.SlogdetOp: lambda op, a: (jnp.sign(_jax_det(a)), jnp.log(jnp.abs(_jax_det(a)))),
    factor.CofactorsOp: lambda op, a: _jax_cofactors(a),
}
