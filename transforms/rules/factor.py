"""Rows of factorisations: their derivatives are products and triangular solves with the factors."""

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, Block
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.compositions import argmin, clip, diagonal, eye, inv, tril
from xdsl_rlx.dialects.mir.factor import CholeskyOp, CofactorsOp, DetOp, EighOp, QrOp, SlogdetOp, SvdOp, parity_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.engines.forward import push_forward
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.matrix_function import once, outside_of, pairs, rounding_of
from xdsl_rlx.transforms.rules.rows import decompose, leading
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent
from xdsl_rlx.transforms.rules.solve import Triangles


def _symmetric(b: MirBuilder, x: Value) -> Value:
    return (x + transposed(b, x)) * 0.5


def _lower_half(b: MirBuilder, x: Value) -> Value:
    """The lower triangle, with half of the diagonal: of a symmetric matrix, what with its transpose adds up to it."""
    return tril(b, x) * (1.0 - eye(b, x.shape[-1], dtype=x.dtype) * 0.5)


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
    return diagonal(b, inner, 0, -2, -1) + b.reduce_sum(once(b, values), -1)


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
    both = q @ (tril(b, middle) + transposed(b, tril(b, middle, -1)))
    left = both if g_q is None else g_q + both
    return [transposed(b, b.triangular_solve(r, transposed(b, left), lower=False))]


@JVP.rule(QrOp)
def qr_jvp(op: QrOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """With `S = da R^-1` and `U` upper triangular, `Q^T S` less an antisymmetric matrix: `dQ = S - Q U`, `dR = U R`."""
    q, r = b.value(op.q), b.value(op.r)
    solved = transposed(b, b.triangular_solve(r, transposed(b, t), lower=False, transpose=True))
    inner = transposed(b, q) @ solved
    below = tril(b, inner, -1)
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


leading(SlogdetOp)


@decompose(SlogdetOp)
def slogdet_decompose(op: SlogdetOp, b: MirBuilder) -> Sequence[Value]:
    """The signs of the pivots of `mir.lu` and of the interchanges, and the sum of the logarithms of magnitudes."""
    packed, pivots = b.lu(op.operand)
    d = diagonal(b, packed, 0, -2, -1)
    signs = b.where(d > 0, 1, b.where(d < 0, -1, d))
    sign = b.reduce_prod(signs, -1) * parity_of(b, pivots, packed.dtype)
    return [sign, b.reduce_sum(b.log(abs(d)), -1)]


@VJP.rule(SlogdetOp)
def slogdet_vjp(op: SlogdetOp, b: MirBuilder, g_sign: Value | None, g: Value | None) -> Sequence[Cotangent]:
    """`da = g a^-T`, by the factorisation that the op has, which `cse` shares."""
    if g is None:
        return [b.zeros_like(op.operand)]
    return [b.expand_dims(g, (-2, -1)) * transposed(b, inv(b, op.operand))]


@JVP.rule(SlogdetOp)
def slogdet_jvp(op: SlogdetOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """The trace of `a^-1 da`."""
    return [None, b.reduce_sum(t * transposed(b, inv(b, op.operand)), (-2, -1))]


leading(DetOp)
leading(CofactorsOp)


@decompose(DetOp)
def det_decompose(op: DetOp, b: MirBuilder) -> Sequence[Value]:
    """The product of the pivots of `mir.lu`, with the sign of the interchanges."""
    packed, pivots = b.lu(op.operand)
    return [b.reduce_prod(diagonal(b, packed, 0, -2, -1), -1) * parity_of(b, pivots, packed.dtype)]


@VJP.rule(DetOp)
def det_vjp(op: DetOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`da = g cof(a)`."""
    return [b.expand_dims(g, (-2, -1)) * b.cofactors(op.operand)]


@JVP.rule(DetOp)
def det_jvp(op: DetOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """The sum of `da * cof(a)`."""
    return [b.reduce_sum(t * b.cofactors(op.operand), (-2, -1))]


_LEAST: dict[Attribute, float] = {f32: 2.0**-126, f64: 2.0**-1022}
"""The smallest normal number. A smaller pivot counts as 0, because its inverse may overflow."""

_LARGEST_STEP: dict[Attribute, float] = {f32: 120.0, f64: 1000.0}
"""The largest exponent of a power of 2 in one of the three products that scale cofactors."""


@decompose(CofactorsOp)
def cofactors_decompose(op: CofactorsOp, b: MirBuilder) -> Sequence[Value]:
    """By the factorisation that `mir.det` has, which `cse` shares."""
    return [_cofactors(b, b.value(op.operand))]


@VJP.rule(CofactorsOp)
def cofactors_vjp(op: CofactorsOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The tangent along `g`, because the second derivative of the determinant is symmetric."""
    return [_change(b, b.value(op.operand), g)]


@JVP.rule(CofactorsOp)
def cofactors_jvp(op: CofactorsOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [_change(b, b.value(op.operand), t)]


def _change(b: MirBuilder, a: Value, t: Value) -> Value:
    """
    Return the tangent of the cofactors along `t`.

    The row of the first pivot that is 0, or of the smallest one, depends on those before it; it is interchanged with
    the last row. If the others are linearly independent, only the last pivot is 0 then, which `_cofactors` and the
    derivative of `mir.lu` allow.
    """
    n = a.shape[-1]
    if not n:
        return t
    packed, _ = b.lu(a)
    smallest = argmin(b, abs(b.stop_gradient(diagonal(b, packed, 0, -2, -1))), -1, keepdims=True)
    row, last = b.iota(n, 0), n - 1
    is_chosen = b.eq(row, smallest)
    chosen, is_last = b.expand_dims(is_chosen, -1), b.reshape(b.eq(row, last), (n, 1))

    def interchange(x: Value) -> Value:
        found = b.reduce_sum(b.where(chosen, x, 0.0), -2, keep_dim=True)
        return b.where(chosen, x[..., last:, :], b.where(is_last, found, x))

    sign = b.where(is_chosen[..., last:], b.constant(1.0, a.dtype), -1.0)
    return b.expand_dims(sign, -1) * interchange(_tangent(b, interchange(a), interchange(t)))


def _tangent(b: MirBuilder, a: Value, t: Value) -> Value:
    """Return the tangent of `_cofactors`."""
    aside, tangents = Block(), {a.ssa: t.ssa}
    found = _cofactors(MirBuilder(Builder(InsertPoint.at_end(aside))), a).ssa
    push_forward(list(aside.ops), tangents)
    for op in list(aside.ops):
        op.detach()
        b.builder.insert(op)
    return b.value(tangents[found])


def _cofactors(b: MirBuilder, a: Value) -> Value:
    """
    Return `cof(a) = det(a) a^-T = det(P) adj(U) L^-1 P`, with `P a^T = L U`, dividing by no zero and no last pivot.

    For `i <= j`, `adj(U)[i, j]` is the product of the pivots before `i` and behind `j`, times a minor of `U`. The minor
    is a sum over the ways to go from `i` to `j` by elements above the diagonal: products of elements `U[k, l]` and of
    the pivots between `k` and `l`, with signs. Hence an element `U[k, l]` with a zero pivot between `k` and `l` does
    not count, and `adj(U) = F det(W) W^-1 G`:

    - `W` is `U` without such elements, and with 1 for zero pivots and for the last pivot;
    - `F` is 1 up to the first zero pivot, else 0;
    - `G` is the last pivot from the last zero pivot on, else 0, and 1 in the last column.

    Zero pivots do not include the last one here. The result is a polynomial in it, so that its derivative is right
    where it is 0 or nearly 0.
    """
    n, dtype = a.shape[-1], a.dtype
    if not n:
        return a
    packed, pivots = b.lu(a)
    f, pivot = Triangles(b, packed.ssa, pivots.ssa), diagonal(b, packed, 0, -2, -1)
    is_last = b.eq(b.iota(n, 0, "i32"), n - 1)
    is_zero = b.where(is_last, False, abs(pivot) < _LEAST[element_of(a.ssa)])
    count = b.cast(is_zero, "i32")
    before = b.cumsum(count, -1, exclusive=True, dtype="i32")
    through = before + count
    # packed factors lie transposed: the column of `U` is the first of the two axes
    counts = f.split(b.eq(b.expand_dims(before, -1), b.expand_dims(through, -2)), False)
    healthy = b.where(b.or_(is_zero, is_last), 1.0, pivot)
    w = b.where(f.is_diagonal, b.expand_dims(healthy, -1), b.where(counts, packed, 0.0))
    behind = b.where(is_last, 1.0, b.where(b.eq(through, through[..., -1:]), pivot[..., -1:], 0.0))
    solved = b.triangular_solve(w, b.expand_dims(behind, -1) * f.l_inverse(f.identity), transpose=True)
    inverse = b.where(b.expand_dims(b.eq(before, 0), -1), solved, 0.0)
    return _times_product(b, inverse, healthy, parity_of(b, pivots, dtype))


def _times_product(b: MirBuilder, matrices: Value, factors: Value, sign: Value) -> Value:
    """Multiply each matrix by the product of some factors and a sign. The product alone may overflow or underflow."""
    most = _LARGEST_STEP[element_of(matrices.ssa)]
    exponents = b.round(b.log2(abs(b.stop_gradient(factors))))
    near_one = b.reduce_prod(factors * b.exp2(-exponents), -1) * sign
    total = b.reduce_sum(exponents, -1)
    third = clip(b, b.round(total * (1 / 3)), -most, most)
    step, rest = b.exp2(third), b.exp2(clip(b, total - 2.0 * third, -most, most))
    for factor in (near_one, step, step, rest):
        matrices = matrices * b.expand_dims(factor, (-2, -1))
    return matrices
