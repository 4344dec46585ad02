"""Rows of factorisations of matrices and of systems of linear equations.

Nothing is raised for a matrix that has no factors, or no inverse: as in compiled code elsewhere here, these are NaN or
infinite. What PyTorch returns as `info` is the number of the first column that failed.
"""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, dtype_of, traced
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import fori_loop

ROWS.refuse(
    "no operation computes eigenvalues of matrices that are not symmetric; torch.linalg.eigh has those that are",
    "linalg_eig.default",
    "_linalg_eigvals.default",
)
ROWS.refuse(
    "no operation factors indefinite matrices; torch.linalg.lu_factor has general ones, cholesky definite ones",
    "linalg_ldl_factor_ex.default",
    "linalg_ldl_solve.default",
)
ROWS.refuse("the rank decides the shape of its result; write it with torch.linalg.pinv", "linalg_lstsq.default")


def _transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _symmetric(a: Any, upper: bool) -> Any:
    """The symmetric matrix that has this triangle: the other one is not read."""
    return np.triu(a) + _transposed(np.triu(a, 1)) if upper else np.tril(a) + _transposed(np.tril(a, -1))


def _failed(x: Any) -> Any:
    """`info`: the number of the first column, counted from 1, whose diagonal is not a positive number, or 0."""
    diagonal = np.diagonal(x, 0, -2, -1)
    bad = np.logical_not(abs(diagonal) > 0)
    if not diagonal.shape[-1]:
        return np.zeros(diagonal.shape[:-1], np.int32)
    return np.where(np.any(bad, axis=-1), np.argmax(cast(bad, "i8"), axis=-1) + 1, 0).astype(np.int32)


def _batched(*xs: Any) -> list[Any]:
    """Matrices with the same axes in front."""
    front = np.broadcast_shapes(*(tuple(x.shape[:-2]) for x in xs))
    return [np.broadcast_to(x, (*front, *x.shape[-2:])) for x in xs]


@ROWS.add("linalg_cholesky_ex.default")
def _cholesky_ex(c: Call, self: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    factor = np.linalg.cholesky(_symmetric(self, upper))
    return [_transposed(factor) if upper else factor, _failed(factor)]


@ROWS.add("cholesky.default")
def _cholesky(c: Call, self: Any, upper: bool = False) -> Any:
    return _cholesky_ex(c, self, upper=upper)[0]


@ROWS.add("cholesky_solve.default")
def _cholesky_solve(c: Call, self: Any, input2: Any, upper: bool = False) -> Any:
    b, factor = _batched(self, input2)
    return function("cho_solve")(factor, b, not upper)


@ROWS.add("cholesky_inverse.default")
def _cholesky_inverse(c: Call, self: Any, upper: bool = False) -> Any:
    eye = np.broadcast_to(np.eye(self.shape[-1]).astype(np.float32), tuple(self.shape))
    return _cholesky_solve(c, cast(traced(eye), dtype_of(self)), self, upper)


@ROWS.add("linalg_solve_triangular.default")
def _solve_triangular(
    c: Call, self: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    a, b = _batched(self, B) if left else _batched(self, _transposed(B))
    # x a = b is a^T x^T = b^T
    found = function("triangular_solve")(a, b, not upper, not left, unitriangular)
    return found if left else _transposed(found)


@ROWS.add("triangular_solve.default")
def _triangular_solve(
    c: Call, self: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    b, a = _batched(self, A)
    return [function("triangular_solve")(a, b, not upper, transpose, unitriangular), a]


@ROWS.add("linalg_lu_factor_ex.default")
def _lu_factor_ex(c: Call, A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """
    `mir.lu` factors the transpose, and returns its factors transposed.

    Of a matrix that is not square it factors the one that zeros make square: those are never swapped with others.
    """
    m, n = A.shape[-2:]
    k = max(m, n)
    square = A if m == n else np.pad(A, [(0, 0)] * (np.ndim(A) - 2) + [(0, k - m), (0, k - n)])
    packed, pivots = function("lu")(_transposed(square))
    packed, pivots = _transposed(packed)[..., :m, :n], pivots[..., : min(m, n)]
    return [packed, pivots.astype(np.int32), _failed(packed)]


@ROWS.add("linalg_lu_solve.default")
def _lu_solve(c: Call, LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    lu, b = _batched(LU, B if left else _transposed(B))
    swaps = np.broadcast_to(pivots, tuple(lu.shape[:-1]))
    found = function("lu_solve")(_transposed(lu), swaps, b, adjoint is not left)
    return found if left else _transposed(found)


def _permutation(pivots: Any, n: int) -> Any:
    """The rows in the order of the factors, from the interchanges in the order they were made in."""
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


@ROWS.add("lu_unpack.default")
def _lu_unpack(c: Call, LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    dtype = dtype_of(LU_data)
    nothing = function("full")((0,), 0, dtype)
    found = [nothing, nothing, nothing]
    if unpack_pivots:
        order = _permutation(LU_pivots, m)
        found[0] = cast(np.expand_dims(np.arange(m), -1) == np.expand_dims(order, -2), dtype)
    if unpack_data:
        found[1] = np.tril(LU_data[..., :k], -1) + cast(np.eye(m, k), dtype)
        found[2] = np.triu(LU_data[..., :k, :])
    return found


@ROWS.add("linalg_lu.default")
def _lu(c: Call, A: Any, *, pivot: bool = True) -> Any:
    packed, pivots, _ = _lu_factor_ex(c, A)
    return _lu_unpack(c, packed, pivots)


@ROWS.add("linalg_inv_ex.default")
def _inv_ex(c: Call, A: Any, *, check_errors: bool = False) -> Any:
    return [np.linalg.inv(A), _failed(_lu_factor_ex(c, A)[0])]


@ROWS.add("linalg_qr.default")
def _qr(c: Call, A: Any, mode: str = "reduced") -> Any:
    """With the signs of LAPACK's reflections: those of `mir.qr` make the diagonal of the triangle positive."""
    m, n = A.shape[-2:]
    q, r = np.linalg.qr(A)
    reflections, signs = _reflections(q)
    q, r = q * np.expand_dims(signs, -2), r * np.expand_dims(signs, -1)
    if mode == "r":
        return [function("full")((0,), 0, c.dtype), r]
    if mode == "complete" and m > n:
        eye = np.broadcast_to(cast(np.eye(m), dtype_of(A)), (*A.shape[:-2], m, m))
        q = _reflected(reflections, _scales(reflections), eye, True)
        r = np.pad(r, [(0, 0)] * (np.ndim(r) - 2) + [(0, m - n), (0, 0)])
    return [q, r]


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


@ROWS.add("geqrf.default", composite=True)
def _geqrf(c: Call, self: Any) -> Any:
    """The triangle with the reflections below it, and their factors."""
    q, r = np.linalg.qr(self)
    reflections, signs = _reflections(q)
    m, n = self.shape[-2:]
    k = min(m, n)
    upper = np.pad(r * np.expand_dims(signs, -1), [(0, 0)] * (np.ndim(r) - 2) + [(0, m - k), (0, 0)])
    lower = np.pad(np.tril(reflections, -1), [(0, 0)] * (np.ndim(r) - 2) + [(0, 0), (0, n - k)])
    return [upper + lower, _scales(reflections)]


@ROWS.add("_linalg_svd.default")
def _svd(c: Call, A: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    nothing = function("full")((0,), 0, c.dtype)
    if not compute_uv:
        return [nothing, np.linalg.svd(A, full_matrices=False, compute_uv=False), nothing]
    m, n = A.shape[-2:]
    u, values, vt = np.linalg.svd(A, full_matrices=False)
    if full_matrices and m > n:
        u = _completed(u)
    if full_matrices and m < n:
        vt = _transposed(_completed(_transposed(vt)))
    return [u, values, vt]


def _completed(q: Any) -> Any:
    """Orthonormal columns with others behind them, up to as many as there are rows."""
    m = q.shape[-2]
    eye = np.broadcast_to(cast(np.eye(m), dtype_of(q)), (*q.shape[:-2], m, m))
    return np.linalg.qr(np.concatenate([q, eye], -1))[0]


@ROWS.add("_linalg_eigh.default")
def _eigh(c: Call, A: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    values, vectors = np.linalg.eigh(_symmetric(A, UPLO.upper() == "U"))
    return [values, vectors if compute_v else function("full")((0,), 0, c.dtypes[1])]


@ROWS.add("linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float", composite=True)
def _pinv(c: Call, self: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Singular values that are larger than both tolerances count."""
    if 0 in self.shape:
        return _transposed(self)
    a = _symmetric(self, False) if hermitian else self
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    absolute = cast(0 if atol is None else atol, dtype_of(s))
    if rtol is None:
        epsilon = float(np.finfo(np.float64 if dtype_of(s) == "f64" else np.float32).eps) * max(self.shape[-2:])
        relative = np.where(absolute > 0, cast(0, dtype_of(s)), cast(epsilon, dtype_of(s)))
    else:
        relative = cast(rtol, dtype_of(s))
    least = np.maximum(np.expand_dims(absolute, -1), np.expand_dims(relative, -1) * s[..., :1])
    inverse = np.where(s > least, 1 / np.where(s > least, s, 1), 0)
    return _transposed(vt) @ (np.expand_dims(inverse, -1) * _transposed(u))


_TAYLOR = 18
"""The degree of the polynomial of the exponential: to all digits of f64 for a norm of at most 1 (18! = 6e15)."""


@ROWS.add("linalg_matrix_exp.default", "matrix_exp.default", composite=True)
def _matrix_exp(c: Call, self: Any) -> Any:
    """A polynomial of the matrix over a power of two that makes its norm at most 1, squared as many times."""
    n = self.shape[-1]
    if not n:
        return self
    norm = np.max(np.sum(abs(self), axis=-2, keepdims=True), axis=-1, keepdims=True)
    times = np.maximum(np.ceil(np.log2(np.maximum(norm, 1))), 0)
    x = self * np.exp2(-times)
    eye = np.broadcast_to(cast(np.eye(n), c.dtype), tuple(self.shape))
    found = eye
    for k in range(_TAYLOR, 0, -1):
        found = eye + (x @ found) / k
    most = np.max(times).astype(np.int64)

    def squared(step: Any, y: Any) -> Any:
        return np.where(cast(step, dtype_of(times)) < times, y @ y, y)

    return fori_loop(0, most, squared, found)


@ROWS.add("linalg_householder_product.default", composite=True)
def _householder_product(c: Call, input: Any, tau: Any) -> Any:
    """The first columns of the product of reflections `1 - tau v v^T`, from the last one to the first."""
    m, n = input.shape[-2:]
    columns = np.broadcast_to(cast(np.eye(m, n), c.dtype), (*input.shape[:-2], m, n))
    return _reflected(input, tau, columns, True)


def _reflected(input: Any, tau: Any, other: Any, last_first: bool) -> Any:
    if category(dtype_of(input)) == 3:
        raise GraphError("reflections of complex vectors are not computed")
    numbers = np.arange(input.shape[-2])
    order = range(tau.shape[-1])
    for k in reversed(order) if last_first else order:
        below = np.where(numbers > k, input[..., :, k], cast(numbers == k, dtype_of(input)))
        v = np.expand_dims(below, -1)
        scale = tau[..., k].reshape(*tau.shape[:-1], 1, 1)
        other = other - (v * scale) @ (_transposed(v) @ other)
    return other


@ROWS.add("ormqr.default", composite=True)
def _ormqr(c: Call, self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of reflections times a matrix."""
    if left:
        return _reflected(self, input2, input3, not transpose)
    return _transposed(_reflected(self, input2, _transposed(input3), transpose))


def _with_product(c: Call, self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    scaled = product if alpha == 1 else product * cast(alpha, c.dtype)
    return scaled if beta == 0 else scaled + self * cast(beta, c.dtype)


@ROWS.add("addbmm.default")
def _addbmm(c: Call, self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _with_product(c, self, np.sum(batch1 @ batch2, axis=0), beta, alpha)


@ROWS.add("_trilinear.default", composite=True)
def _trilinear(
    c: Call,
    i1: Any,
    i2: Any,
    i3: Any,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Any:
    """A sum of products of three tensors, each of which lacks some of the axes."""
    rank = np.ndim(i1) + len(expand1)
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    terms = ["".join(a for n, a in enumerate(letters) if n not in out) for out in (expand1, expand2, expand3)]
    result = "".join(a for n, a in enumerate(letters) if n not in sumdim)
    return np.einsum(f"{','.join(terms)}->{result}", i1, i2, i3)
