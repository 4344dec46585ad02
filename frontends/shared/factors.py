"""Factors of matrices as LAPACK has them: LU with interchanges, QR with the signs of its reflections, full SVD."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.shared.values import cast, category, dtype_of, traced
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import fori_loop


def transposed(x: Any) -> Any:
    """The matrices transposed."""
    return np.swapaxes(x, -1, -2)


def symmetric(a: Any, upper: bool) -> Any:
    """The symmetric matrix that has this triangle: the other one is not read."""
    return np.triu(a) + transposed(np.triu(a, 1)) if upper else np.tril(a) + transposed(np.tril(a, -1))


def lu_factors(a: Any) -> tuple[Any, Any]:
    """
    The factors of `P A = L U` in one matrix, and the interchanges of rows, i32, counted from 1.

    `mir.lu` factors the transpose, and returns its factors transposed. Of a matrix that is not square it factors the
    one that zeros make square: those are never swapped with others.
    """
    m, n = a.shape[-2:]
    k = max(m, n)
    square = a if m == n else np.pad(a, [(0, 0)] * (np.ndim(a) - 2) + [(0, k - m), (0, k - n)])
    packed, pivots = function("lu")(transposed(square))
    packed, pivots = transposed(packed)[..., :m, :n], pivots[..., : min(m, n)]
    return packed, pivots.astype(np.int32)


def permutation(pivots: Any, n: int) -> Any:
    """The rows in the order of the factors, from the interchanges in the order they were made in, counted from 1."""
    rows = np.broadcast_to(np.arange(n), (*pivots.shape[:-1], n))
    swaps = cast(traced(pivots), "i64") - 1

    def swapped(step: Any, order: Any) -> Any:
        here = cast(step, "i64")
        other = np.take_along_axis(swaps, np.broadcast_to(here, (*swaps.shape[:-1], 1)), -1)
        at_here = np.take_along_axis(order, np.broadcast_to(here, other.shape), -1)
        at_other = np.take_along_axis(order, other, -1)
        numbers = np.arange(n)
        return np.where(numbers == here, at_other, np.where(numbers == other, at_here, order))

    return fori_loop(0, pivots.shape[-1], swapped, traced(rows))


def orthogonal_factors(a: Any, complete: bool) -> tuple[Any, Any]:
    """
    `q` and `r` with the signs of LAPACK's reflections: those of `mir.qr` make the diagonal of the triangle positive.

    If `complete`, `q` is square.
    """
    m, n = a.shape[-2:]
    q, r = np.linalg.qr(a)
    reflections, signs = _reflections(q)
    q, r = q * np.expand_dims(signs, -2), r * np.expand_dims(signs, -1)
    if complete and m > n:
        eye = np.broadcast_to(cast(np.eye(m), dtype_of(a)), (*a.shape[:-2], m, m))
        q = reflected(reflections, _scales(reflections), eye, True)
        r = np.pad(r, [(0, 0)] * (np.ndim(r) - 2) + [(0, m - n), (0, 0)])
    return q, r


def _reflections(q: Any) -> tuple[Any, Any]:
    """
    The vectors of the reflections whose product has these orthonormal columns, up to signs, and the signs.

    Columns less those of a diagonal S of signs have factors L U without interchanges: L are the vectors, S makes each
    pivot the larger one of two (Ballard et al. 2014, "Reconstructing Householder vectors"). A column of one element
    is not reflected.
    """
    q = function("stop_gradient")(traced(q))
    m, k = q.shape[-2:]
    dtype = dtype_of(q)
    rows, columns = np.arange(m).reshape(-1, 1), np.arange(k)
    one = cast(1, dtype)

    def eliminated(number: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        x, signs = state
        at = cast(number, "i64")
        here = columns == at
        column = np.sum(np.where(here, x, cast(0, dtype)), axis=-1, keepdims=True)
        row = np.sum(np.where(rows == at, x, cast(0, dtype)), axis=-2, keepdims=True)
        pivot = np.sum(np.where(rows == at, column, cast(0, dtype)), axis=-2, keepdims=True)
        opposite = cast(np.where(pivot < 0, one, -one), dtype)
        sign = cast(np.where(at == m - 1, -opposite, opposite), dtype)
        whole = pivot - opposite
        below = np.where(rows > at, column / whole, cast(0, dtype))
        x = np.where(here, np.where(rows > at, below, x), x - below * np.where(columns > at, row, cast(0, dtype)))
        return x, np.where(here, np.squeeze(sign, -1), signs)

    signs = traced(function("full")((*q.shape[:-2], k), 1, dtype))
    packed, signs = fori_loop(0, k, eliminated, (q, signs))
    return np.tril(packed, -1) + cast(np.eye(m, k), dtype), signs


def _scales(reflections: Any) -> Any:
    """The factors of reflections `1 - tau v v^T`; 0 for that of one element."""
    tau = 2 / np.sum(reflections * reflections, axis=-2)
    m, k = reflections.shape[-2:]
    return tau * cast(np.arange(k) != m - 1, dtype_of(tau))


def packed_reflections(a: Any) -> tuple[Any, Any]:
    """The triangle of QR with the reflections below it, and the factors of these."""
    q, r = np.linalg.qr(a)
    reflections, signs = _reflections(q)
    m, n = a.shape[-2:]
    k = min(m, n)
    upper = np.pad(r * np.expand_dims(signs, -1), [(0, 0)] * (np.ndim(r) - 2) + [(0, m - k), (0, 0)])
    lower = np.pad(np.tril(reflections, -1), [(0, 0)] * (np.ndim(r) - 2) + [(0, 0), (0, n - k)])
    return upper + lower, _scales(reflections)


def product_of_reflections(packed: Any, tau: Any) -> Any:
    """The first columns of the product of reflections `1 - tau v v^T`, from the last one to the first."""
    m, n = packed.shape[-2:]
    columns = np.broadcast_to(cast(np.eye(m, n), dtype_of(packed)), (*packed.shape[:-2], m, n))
    return reflected(packed, tau, columns, True)


def reflected(packed: Any, tau: Any, other: Any, last_first: bool) -> Any:
    """A matrix reflected by each column below the diagonal in turn, with these factors."""
    if category(dtype_of(packed)) == 3:
        raise GraphError("reflections of complex vectors are not computed")
    numbers = np.arange(packed.shape[-2])
    order = range(tau.shape[-1])
    for k in reversed(order) if last_first else order:
        below = np.where(numbers > k, packed[..., :, k], cast(numbers == k, dtype_of(packed)))
        v = np.expand_dims(below, -1)
        scale = tau[..., k].reshape(*tau.shape[:-1], 1, 1)
        other = other - (v * scale) @ (transposed(v) @ other)
    return other


def singular_factors(a: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    """`u`, the singular values and `v^T`, with further orthonormal vectors if `full_matrices`."""
    m, n = a.shape[-2:]
    u, values, vt = np.linalg.svd(a, full_matrices=False)
    if full_matrices and m > n:
        u = _completed(u)
    if full_matrices and m < n:
        vt = transposed(_completed(transposed(vt)))
    return u, values, vt


def _completed(q: Any) -> Any:
    """Orthonormal columns with others behind them, up to as many as there are rows."""
    m = q.shape[-2]
    eye = np.broadcast_to(cast(np.eye(m), dtype_of(q)), (*q.shape[:-2], m, m))
    return np.linalg.qr(np.concatenate([q, eye], -1))[0]
