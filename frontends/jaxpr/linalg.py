"""Rows of factorisations of matrices, systems of linear equations, and Fourier transforms."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.custom_rules import with_rules
from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.shared.factors import (
    lu_factors,
    orthogonal_factors,
    packed_reflections,
    permutation,
    product_of_reflections,
    reflected,
    singular_factors,
    symmetric,
    transposed,
)
from xdsl_rlx.frontends.shared.values import cast, dtype_of, full, traced
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import scan


def _any(x: Any) -> Any:
    return traced(x)


def _check_whole(c: Call) -> None:
    if c.params.get("subset_by_index") is not None:
        raise ValueError("subset_by_index is not supported; slice the results")


def _lower_factor(a: Any) -> list[Any]:
    return [np.linalg.cholesky(symmetric(a, False))]


@ROWS.add("cholesky")
def _cholesky(c: Call, a: Any) -> Any:
    """
    The lower triangle is read; that of the result is zero above the diagonal.

    JAX has a cotangent for both triangles, which differs from that of mir unless the matrix is made symmetric before.
    """
    return with_rules(c, (traced(a),), _lower_factor)


@ROWS.add("cholesky_update", composite=True)
def _cholesky_update(c: Call, r: Any, w: Any) -> Any:
    """The upper triangle of the factors of `r^T r + w w^T`."""
    r, w = traced(r), traced(w)
    return transposed(np.linalg.cholesky(transposed(r) @ r + np.expand_dims(w, -1) * np.expand_dims(w, -2)))


@ROWS.add("eigh")
def _eigh(c: Call, a: Any) -> Any:
    _check_whole(c)
    values, vectors = np.linalg.eigh(symmetric(traced(a), not c.params["lower"]))
    return [vectors, values]


@ROWS.add("svd", composite=True)
def _svd(c: Call, a: Any) -> Any:
    _check_whole(c)
    if not c.params["compute_uv"]:
        return [np.linalg.svd(traced(a), full_matrices=False, compute_uv=False)]
    u, values, vt = singular_factors(traced(a), bool(c.params["full_matrices"]))
    return [values, u, vt]


@ROWS.add("qr", composite=True)
def _qr(c: Call, a: Any) -> Any:
    if c.params.get("pivoting"):
        raise ValueError("pivoting is not supported")
    return list(orthogonal_factors(traced(a), bool(c.params["full_matrices"])))


@ROWS.add("geqrf", composite=True)
def _geqrf(c: Call, a: Any) -> Any:
    return list(packed_reflections(traced(a)))


@ROWS.add("householder_product", composite=True)
def _householder_product(c: Call, a: Any, taus: Any) -> Any:
    return product_of_reflections(traced(a), traced(taus))


@ROWS.add("ormqr", composite=True)
def _ormqr(c: Call, a: Any, taus: Any, other: Any) -> Any:
    a, taus, other = traced(a), traced(taus), traced(other)
    transpose = bool(c.params["transpose"])
    if c.params["left"]:
        return reflected(a, taus, other, not transpose)
    return transposed(reflected(a, taus, transposed(other), transpose))


@ROWS.add("lu", composite=True)
def _lu(c: Call, a: Any) -> Any:
    packed, pivots = lu_factors(traced(a))
    return [packed, pivots - 1, cast(permutation(pivots, packed.shape[-2]), "i32")]


@ROWS.add("lu_pivots_to_permutation", composite=True)
def _lu_pivots_to_permutation(c: Call, pivots: Any) -> Any:
    return cast(permutation(traced(pivots) + 1, int(c.params["permutation_size"])), "i32")


@ROWS.add("triangular_solve")
def _triangular_solve(c: Call, a: Any, b: Any) -> Any:
    a, b = traced(a), traced(b)
    lower, transpose, unit = (bool(c.params[name]) for name in ("lower", "transpose_a", "unit_diagonal"))
    # x a = b is a^T x^T = b^T
    left = bool(c.params["left_side"])
    found = function("triangular_solve")(a, b if left else transposed(b), lower, transpose is left, unit)
    return found if left else transposed(found)


@ROWS.add("tridiagonal_solve", composite=True)
def _tridiagonal_solve(c: Call, below: Any, diagonal: Any, above: Any, b: Any) -> Any:
    """Elimination without interchanges, forwards, and substitution backwards (Thomas)."""
    rows: Any = [np.moveaxis(_any(one), -1, 0) for one in (below, diagonal, above)]
    right: Any = np.moveaxis(_any(b), -2, 0)
    if not right.shape[0]:
        return b
    none = full(rows[0].shape[1:], 0, c.dtype)

    def forwards(carry: Any, row: Any) -> Any:
        ratio, before = carry
        low, middle, high, rest = row
        pivot = middle - low * ratio
        ratio = high / pivot
        found = (rest - np.expand_dims(low, -1) * before) / np.expand_dims(pivot, -1)
        return (ratio, found), (ratio, found)

    _, (ratios, reduced) = scan(forwards, (none, full(right.shape[1:], 0, c.dtype)), (*rows, right))

    def backwards(after: Any, row: Any) -> Any:
        ratio, rest = row
        found = rest - np.expand_dims(ratio, -1) * after
        return found, found

    found = scan(backwards, full(right.shape[1:], 0, c.dtype), (ratios, reduced), reverse=True)[1]
    return np.moveaxis(found, 0, -2)


ROWS.refuse("no operation computes eigenvalues of matrices that are not symmetric; jnp.linalg.eigh has others", "eig")
ROWS.refuse("no operation computes this factorisation", "schur", "hessenberg", "tridiagonal", "geqp3", "sylvester")


@ROWS.add("fft")
def _fft(c: Call, x: Any) -> Any:
    kind = str(getattr(c.params["fft_type"], "name", c.params["fft_type"])).rsplit(".", 1)[-1]
    lengths = tuple(int(n) for n in c.params["fft_lengths"])
    axes = tuple(range(np.ndim(x) - len(lengths), np.ndim(x)))
    x = traced(x)
    if 0 in c.shape or 0 in x.shape:
        return full(c.shape, 0, c.dtype)
    if kind == "FFT":
        return np.fft.fftn(x, axes=axes)
    if kind == "IFFT":
        return np.fft.ifftn(x, axes=axes)
    if kind == "RFFT":
        found = np.fft.rfft(x, lengths[-1])
        return np.fft.fftn(found, axes=axes[:-1]) if axes[:-1] else found
    found = np.fft.ifftn(x, axes=axes[:-1]) if axes[:-1] else x
    return np.fft.irfft(found, lengths[-1])


@ROWS.add("ragged_dot_general", composite=True)
def _ragged_dot_general(c: Call, x: Any, weights: Any, sizes: Any) -> Any:
    """Rows of groups, one after the other, each times the matrix of its group; rows behind the last group are 0."""
    numbers = c.params["ragged_dot_dimension_numbers"]
    plain = tuple(map(tuple, numbers.dot_dimension_numbers[0])) == ((1,), (1,)) and not any(
        numbers.dot_dimension_numbers[1]
    )
    if not plain or tuple(numbers.lhs_ragged_dimensions) != (0,) or np.ndim(x) != 2:
        raise ValueError("only groups of rows of one matrix are supported, as of jax.lax.ragged_dot")
    ends = np.cumsum(cast(sizes, "i64"), -1)
    row = np.arange(np.shape(x)[0])
    group = np.sum(cast(np.expand_dims(row, -1) >= ends, "i64"), -1)
    inside = group < np.shape(weights)[0]
    found = function("grouped_matmul")(
        cast(traced(x), c.dtype), cast(traced(weights), c.dtype), np.where(inside, group, 0)
    )
    return np.where(np.expand_dims(inside, -1), found, cast(np.float32(0), dtype_of(found)))
