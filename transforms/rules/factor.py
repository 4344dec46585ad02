"""Rows of factorisations: their derivatives are products and triangular solves with the factors."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.factor import CholeskyOp, EighOp, QrOp, SvdOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.rows import leading
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent


def _symmetric(b: MirBuilder, x: Value) -> Value:
    return (x + transposed(b, x)) * 0.5


def _lower_half(b: MirBuilder, x: Value) -> Value:
    """The lower triangle, with half of the diagonal: of a symmetric matrix, what with its transpose adds up to it."""
    return b.tril(x) * (1.0 - b.eye(x.shape[-1], dtype=x.dtype) * 0.5)


leading(CholeskyOp)


@VJP.rule(CholeskyOp)
def cholesky_vjp(op: CholeskyOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`da = sym(L^-T F L^-1)` with `F` the lower half of `L^T dL` (Murray, 2016)."""
    factor = b.value(op.result)
    middle = _lower_half(b, transposed(b, factor) @ g)
    left = b.triangular_solve(factor, middle, transpose=True)
    return [_symmetric(b, b.triangular_solve(factor, transposed(b, left), transpose=True))]


@JVP.rule(CholeskyOp)
def cholesky_jvp(op: CholeskyOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """`dL = L F` with `F` the lower half of `L^-1 sym(da) L^-T`."""
    factor = b.value(op.result)
    left = b.triangular_solve(factor, _symmetric(b, t))
    return [factor @ _lower_half(b, b.triangular_solve(factor, transposed(b, left)))]


leading(EighOp)


def _inverses(b: MirBuilder, x: Value) -> Value:
    """`1 / x`, and 0 for 0."""
    zero = b.eq(x, 0)
    return b.where(zero, 0, 1 / b.where(zero, 1, x))


def _gaps(b: MirBuilder, values: Value) -> Value:
    """`1 / (w_j - w_i)`; 0 on the diagonal, and for equal values, whose vectors are not told apart."""
    return _inverses(b, b.expand_dims(values, -2) - b.expand_dims(values, -1))


@VJP.rule(EighOp)
def eigh_vjp(op: EighOp, b: MirBuilder, g_values: Value | None, g_vectors: Value | None) -> Sequence[Cotangent]:
    """`da = sym(V (diag(dw) + F * (V^T dV)) V^T)` with `F = 1 / (w_j - w_i)` (Giles, 2008)."""
    values, vectors = b.value(op.values), b.value(op.vectors)
    turned = transposed(b, vectors)
    middle = None if g_vectors is None else _gaps(b, values) * (turned @ g_vectors)
    if g_values is not None:
        on_diagonal = b.eye(values.shape[-1], dtype=values.dtype) * b.expand_dims(g_values, -2)
        middle = on_diagonal if middle is None else middle + on_diagonal
    assert middle is not None
    return [_symmetric(b, vectors @ middle @ turned)]


@JVP.rule(EighOp)
def eigh_jvp(op: EighOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """With `M = V^T sym(da) V`: `dw = diag(M)`, `dV = V (F * M)`."""
    values, vectors = b.value(op.values), b.value(op.vectors)
    inner = transposed(b, vectors) @ _symmetric(b, t) @ vectors
    return [b.diagonal(inner, 0, -2, -1), vectors @ (_gaps(b, values) * inner)]


leading(QrOp)


@VJP.rule(QrOp)
def qr_vjp(op: QrOp, b: MirBuilder, g_q: Value | None, g_r: Value | None) -> Sequence[Cotangent]:
    """
    `da = (dQ + Q sym'(M)) R^-T` with `M = R dR^T - dQ^T Q`, of which `sym'` takes the lower triangle for both
    (Townsend, 2018).
    """
    q, r = b.value(op.q), b.value(op.r)
    middle = b.zeros_like(r)
    if g_r is not None:
        middle = middle + r @ transposed(b, g_r)
    if g_q is not None:
        middle = middle - transposed(b, g_q) @ q
    both = q @ (b.tril(middle) + transposed(b, b.tril(middle, -1)))
    left = both if g_q is None else g_q + both
    return [transposed(b, b.triangular_solve(r, transposed(b, left), lower=False))]


@JVP.rule(QrOp)
def qr_jvp(op: QrOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """With `S = da R^-1` and `U` upper triangular, `Q^T S` less an antisymmetric matrix: `dQ = S - Q U`, `dR = U R`."""
    q, r = b.value(op.q), b.value(op.r)
    solved = transposed(b, b.triangular_solve(r, transposed(b, t), lower=False, transpose=True))
    inner = transposed(b, q) @ solved
    below = b.tril(inner, -1)
    upper = inner - (below - transposed(b, below))
    return [solved - q @ upper, upper @ r]


leading(SvdOp)


def _outside(b: MirBuilder, u: Value, x: Value) -> Value:
    """What is left of the columns `x` without their parts along those of `u`."""
    return x - u @ (transposed(b, u) @ x)


@VJP.rule(SvdOp)
def svd_vjp(
    op: SvdOp, b: MirBuilder, g_u: Value | None, g_values: Value | None, g_vt: Value | None
) -> Sequence[Cotangent]:
    """
    `da = (U (F * skew(U^T dU) S + S F * skew(V^T dV) + diag(ds)) + (1 - U U^T) dU S^-1) V^T` (Townsend, 2016).

    `F = 1 / (s_j^2 - s_i^2)`, and `skew(x) = x - x^T`.
    """
    u, values, vt = (b.value(x) for x in op.results)
    gaps, row = _gaps(b, values * values), b.expand_dims(values, -2)
    middle = b.zeros_like(vt)
    if g_values is not None:
        middle = middle + b.eye(values.shape[-1], dtype=values.dtype) * b.expand_dims(g_values, -2)
    if g_u is not None:
        inner = transposed(b, u) @ g_u
        middle = middle + gaps * (inner - transposed(b, inner)) * row
    if g_vt is not None:
        inner = vt @ transposed(b, g_vt)
        middle = middle + b.expand_dims(values, -1) * (gaps * (inner - transposed(b, inner)))
    left = u @ middle
    if g_u is not None and u.shape[-2] > u.shape[-1]:
        left = left + _outside(b, u, g_u) * _inverses(b, row)
    return [left @ vt]


@JVP.rule(SvdOp)
def svd_jvp(op: SvdOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """With `P = U^T da V`: `ds = diag(P)`, `dU = U F * sym(P S) + (1 - U U^T) da V S^-1`, `dV = V F * sym(S P)`."""
    u, values, vt = (b.value(x) for x in op.results)
    gaps, row, column = _gaps(b, values * values), b.expand_dims(values, -2), b.expand_dims(values, -1)
    moved = t @ transposed(b, vt)
    inner = transposed(b, u) @ moved
    by_row, by_column = inner * row, inner * column
    t_u = u @ (gaps * (by_row + transposed(b, by_row)))
    if u.shape[-2] > u.shape[-1]:
        t_u = t_u + _outside(b, u, moved) * _inverses(b, row)
    t_v = transposed(b, vt) @ (gaps * (by_column + transposed(b, by_column)))
    return [t_u, b.diagonal(inner, 0, -2, -1), transposed(b, t_v)]
