"""Rows of factorisations: their derivatives are products and triangular solves with the factors."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.factor import CholeskyOp, EighOp, QrOp, SvdOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.matrix_function import once, outside_of, pairs, rounding_of
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


def _inverses(b: MirBuilder, x: Value, least: Value) -> Value:
    """`1 / x`, and 0 where the magnitude is at most `least`."""
    is_small = abs(x) <= least
    return b.where(is_small, 0, 1 / b.where(is_small, 1, x))


def _gaps(b: MirBuilder, values: Value) -> Value:
    """`1 / (w_j - w_i)`; 0 on the diagonal, and for values equal but for rounding, whose vectors are not told apart."""
    if not values.shape[-1]:
        return b.full((*values.shape, 0), 0.0, values.dtype)
    column, row = pairs(b, values)
    return _inverses(b, row - column, rounding_of(b, values))


def _slopes(b: MirBuilder, values: Value, inner: Value) -> Value:
    """Tangents of values, which are right for functions in which equal values are interchangeable."""
    if not values.shape[-1]:
        return values
    return b.diagonal(inner, 0, -2, -1) + b.reduce_sum(once(b, values), -1)


@VJP.rule(EighOp)
def eigh_vjp(op: EighOp, b: MirBuilder, g_values: Value | None, g_vectors: Value | None) -> Sequence[Cotangent]:
    """`da = sym(V (diag(dw) + F * (V^T dV)) V^T)` with `F = 1 / (w_j - w_i)` (Giles, 2008)."""
    values, vectors = b.value(op.values), b.value(op.vectors)
    total = None if g_values is None else b.matrix_function(op.operand, values, vectors, vectors, g_values)
    if g_vectors is not None:
        turned = transposed(b, vectors)
        found = _symmetric(b, vectors @ (_gaps(b, values) * (turned @ g_vectors)) @ turned)
        total = found if total is None else total + found
    assert total is not None
    return [total]


@JVP.rule(EighOp)
def eigh_jvp(op: EighOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """With `M = V^T sym(da) V`: `dw = diag(M)`, `dV = V (F * M)`."""
    values, vectors = b.value(op.values), b.value(op.vectors)
    inner = transposed(b, vectors) @ _symmetric(b, t) @ vectors
    return [_slopes(b, values, inner), vectors @ (_gaps(b, values) * inner)]


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


def _sums(b: MirBuilder, values: Value) -> Value:
    """`1 / (s_i + s_j)`, and 0 for two values of 0."""
    column, row = pairs(b, values)
    return _inverses(b, row + column, b.constant(0.0, values.dtype))


@VJP.rule(SvdOp)
def svd_vjp(
    op: SvdOp, b: MirBuilder, g_u: Value | None, g_values: Value | None, g_vt: Value | None
) -> Sequence[Cotangent]:
    """
    `da = (U (E * (X + Y) + H * (X - Y) + diag(ds)) + (1 - U U^T) dU S^-1) V^T` (Townsend, 2016).

    `X = skew(U^T dU) / 2`, `Y = skew(V^T dV) / 2`, `skew(x) = x - x^T`. `E = 1 / (s_j - s_i)` and `H = 1 / (s_j + s_i)`
    are apart, so that nothing is squared, and that what `E` is of cancels where values are equal.
    """
    u, values, vt = (b.value(x) for x in op.results)
    total = None if g_values is None else b.matrix_function(op.operand, values, u, transposed(b, vt), g_values, True)
    if g_u is None and g_vt is None:
        assert total is not None
        return [total]
    x, y = b.zeros_like(vt), b.zeros_like(vt)
    if g_u is not None:
        inner = transposed(b, u) @ g_u
        x = (inner - transposed(b, inner)) * 0.5
    if g_vt is not None:
        inner = vt @ transposed(b, g_vt)
        y = (inner - transposed(b, inner)) * 0.5
    left = u @ (_gaps(b, values) * (x + y) + _sums(b, values) * (x - y))
    if g_u is not None and u.shape[-2] > u.shape[-1]:
        left = left + outside_of(b, u, g_u) * _inverses(b, b.expand_dims(values, -2), b.constant(0.0, values.dtype))
    found = left @ vt
    return [found if total is None else total + found]


@JVP.rule(SvdOp)
def svd_jvp(op: SvdOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """
    With `P = U^T da V`: `ds = diag(P)`, `dU = U (E * X + H * Y) + (1 - U U^T) da V S^-1`, `dV = V (E * X - H * Y)`.

    `X = (P + P^T) / 2`, `Y = (P - P^T) / 2`, `E = 1 / (s_j - s_i)`, `H = 1 / (s_j + s_i)`.
    """
    u, values, vt = (b.value(x) for x in op.results)
    moved = t @ transposed(b, vt)
    inner = transposed(b, u) @ moved
    turned = transposed(b, inner)
    apart, together = _gaps(b, values) * ((inner + turned) * 0.5), _sums(b, values) * ((inner - turned) * 0.5)
    t_u = u @ (apart + together)
    if u.shape[-2] > u.shape[-1]:
        t_u = t_u + outside_of(b, u, moved) * _inverses(b, b.expand_dims(values, -2), b.constant(0.0, values.dtype))
    t_v = transposed(b, vt) @ (apart - together)
    return [t_u, _slopes(b, values, inner), transposed(b, t_v)]
