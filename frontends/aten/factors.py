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

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of, traced
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
    factor = np.linalg.cholesky(symmetric(self, upper))
    return [transposed(factor) if upper else factor, _failed(factor)]


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
    a, b = _batched(self, B) if left else _batched(self, transposed(B))
    # x a = b is a^T x^T = b^T
    found = function("triangular_solve")(a, b, not upper, not left, unitriangular)
    return found if left else transposed(found)


@ROWS.add("triangular_solve.default")
def _triangular_solve(
    c: Call, self: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    b, a = _batched(self, A)
    return [function("triangular_solve")(a, b, not upper, transpose, unitriangular), a]


@ROWS.add("linalg_lu_factor_ex.default")
def _lu_factor_ex(c: Call, A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    packed, pivots = lu_factors(A)
    return [packed, pivots, _failed(packed)]


@ROWS.add("linalg_lu_solve.default")
def _lu_solve(c: Call, LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    lu, b = _batched(LU, B if left else transposed(B))
    swaps = np.broadcast_to(pivots, tuple(lu.shape[:-1]))
    found = function("lu_solve")(transposed(lu), swaps, b, adjoint is not left)
    return found if left else transposed(found)


@ROWS.add("lu_unpack.default")
def _lu_unpack(c: Call, LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    dtype = dtype_of(LU_data)
    nothing = function("full")((0,), 0, dtype)
    found = [nothing, nothing, nothing]
    if unpack_pivots:
        order = permutation(LU_pivots, m)
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
    q, r = orthogonal_factors(A, mode == "complete")
    return [function("full")((0,), 0, c.dtype), r] if mode == "r" else [q, r]


@ROWS.add("geqrf.default", composite=True)
def _geqrf(c: Call, self: Any) -> Any:
    """The triangle with the reflections below it, and their factors."""
    return list(packed_reflections(self))


@ROWS.add("_linalg_svd.default")
def _svd(c: Call, A: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    nothing = function("full")((0,), 0, c.dtype)
    if not compute_uv:
        return [nothing, np.linalg.svd(A, full_matrices=False, compute_uv=False), nothing]
    return list(singular_factors(A, full_matrices))


@ROWS.add("_linalg_eigh.default")
def _eigh(c: Call, A: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    values, vectors = np.linalg.eigh(symmetric(A, UPLO.upper() == "U"))
    return [values, vectors if compute_v else function("full")((0,), 0, c.dtypes[1])]


@ROWS.add("linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float", composite=True)
def _pinv(c: Call, self: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Singular values that are larger than both tolerances count."""
    if 0 in self.shape:
        return transposed(self)
    a = symmetric(self, False) if hermitian else self
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    absolute = cast(0 if atol is None else atol, dtype_of(s))
    if rtol is None:
        epsilon = float(np.finfo(np.float64 if dtype_of(s) == "f64" else np.float32).eps) * max(self.shape[-2:])
        relative = np.where(absolute > 0, cast(0, dtype_of(s)), cast(epsilon, dtype_of(s)))
    else:
        relative = cast(rtol, dtype_of(s))
    least = np.maximum(np.expand_dims(absolute, -1), np.expand_dims(relative, -1) * s[..., :1])
    inverse = np.where(s > least, 1 / np.where(s > least, s, 1), 0)
    return transposed(vt) @ (np.expand_dims(inverse, -1) * transposed(u))


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
    return product_of_reflections(input, tau)


@ROWS.add("ormqr.default", composite=True)
def _ormqr(c: Call, self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of reflections times a matrix."""
    if left:
        return reflected(self, input2, input3, not transpose)
    return transposed(reflected(self, input2, transposed(input3), transpose))


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
