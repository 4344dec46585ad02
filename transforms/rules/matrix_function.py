"""Rows of functions of the spectrum of a matrix, and how they are seen in products with eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.mir.bodies import clear
from xdsl_rlx.dialects.mir.compositions import diagonal, eye
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.matrix_function import LstsqOp, MatrixFunctionOp, PinvOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.engines.batch import Batch
from xdsl_rlx.transforms.engines.forward import push_forward
from xdsl_rlx.transforms.engines.reverse import varying
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.rows import decompose, leading, move_axis
from xdsl_rlx.transforms.rules.rule_table import INERT, JVP, VJP, Cotangent

leading(MatrixFunctionOp)
leading(PinvOp)

for _name in ("values", "left", "right"):
    INERT.add(MatrixFunctionOp, _name, "the derivative by `operand` accounts for it")


def pairs(b: MirBuilder, values: Value) -> tuple[Value, Value]:
    """Values as a column and as a row, `w_i` and `w_j`, which broadcast to all pairs."""
    return b.expand_dims(values, -1), b.expand_dims(values, -2)


def _epsilon(values: Value) -> float:
    """The gap between 1 and the next number."""
    return 2.0**-23 if values.dtype == "f32" else 2.0**-52


def rounding_of(b: MirBuilder, values: Value) -> Value:
    """The gap up to which values of a matrix are not told apart, because of rounding: [..., 1, 1]."""
    most = b.expand_dims(b.reduce_max(abs(values), -1), (-2, -1))
    return most * (2 * values.shape[-1] ** 0.5 * _epsilon(values))


def once(b: MirBuilder, values: Value) -> Value:
    """
    0 for each pair of values, with a derivative that is NaN for two that are not told apart.

    What is added to can be differentiated one time: what vectors have among each other would be missing the next time.
    """
    column, row = pairs(b, values)
    n, gap = values.shape[-1], column - row
    is_equal = b.gt(b.cast(abs(gap) <= rounding_of(b, values), "i32"), eye(b, n, dtype="i32"))
    return b.sqrt(b.where(is_equal, gap * 0.0, 1)) - b.where(is_equal, b.constant(0.0, gap.dtype), 1)


def outside_of(b: MirBuilder, u: Value, x: Value) -> Value:
    """What is left of the columns `x` without their parts along those of `u`."""
    return x - u @ (transposed(b, u) @ x)


@decompose(MatrixFunctionOp)
def matrix_function_decompose(op: MatrixFunctionOp, b: MirBuilder) -> Sequence[Value]:
    """`(left * images) right^T`."""
    left, right = b.value(op.left), b.value(op.right)
    return [(left * b.expand_dims(op.images, -2)) @ transposed(b, right)]


class _Differences(NamedTuple):
    """What the derivative multiplies pairs of an inner matrix by."""

    symmetric: Value
    """`(f_i - f_j) / (w_i - w_j)`, 0 on the diagonal."""
    skew: Value | None
    """`(f_i + f_j) / (w_i + w_j)`, of singular values alone."""
    outside: Value | None
    """`f_j / w_j`, of more rows than columns."""


def _differences(op: MatrixFunctionOp, b: MirBuilder) -> _Differences:
    values, images = b.value(op.values), b.value(op.images)
    n, epsilon = values.shape[-1], _epsilon(values)
    (w, w_other), (f, f_other) = pairs(b, values), pairs(b, images)
    jacobian = _jacobian(op, b)
    own = diagonal(b, jacobian, 0, -2, -1)
    slope, slope_other = pairs(b, own)
    mean = (slope + slope_other - jacobian - transposed(b, jacobian)) * 0.5
    gap, rise, is_diagonal = w - w_other, f - f_other, eye(b, n, dtype="i1")
    # where both are equal but for rounding: the quotient is off by roundings over the gap, the mean of slopes by the
    # third derivative times gap^2 / 12
    agree = abs(rise - mean * gap) <= (abs(f) + abs(f_other)) * (16 * epsilon)
    is_equal = abs(gap) <= b.max(abs(w), abs(w_other)) * (4 * n**0.5 * epsilon)
    merged = b.or_(agree, is_equal)
    quotient = rise / b.where(merged, 1, gap)
    symmetric = b.where(is_diagonal, 0, b.where(merged, mean, quotient) + once(b, values))
    if op.singular is None:
        return _Differences(symmetric, None, None)
    total = w + w_other
    vanishes = b.eq(total, 0)
    skew = b.where(vanishes, mean, (f + f_other) / b.where(vanishes, 1, total))
    rows, columns = shape_of(op.operand)[-2:]
    if rows == columns:
        return _Differences(symmetric, skew, None)
    is_zero = b.eq(values, 0)
    outside = b.where(is_zero, own, images / b.where(is_zero, 1, values))
    return _Differences(symmetric, skew, b.expand_dims(outside, -2))


def _jacobian(op: MatrixFunctionOp, b: MirBuilder) -> Value:
    """`df_j / dw_i` at [..., i, j]: the tangents of `images` along all unit vectors of `values`, in one batch."""
    start = op.values
    while isinstance(start.owner, ExpandOp):
        # a batch may have the same values for all
        start = start.owner.operand
    values = b.value(start)
    n = values.shape[-1]
    units = b.reshape(eye(b, n, dtype=values.dtype), (n, *([1] * (values.rank - 1)), n))
    seed = b.expand(units, (n, *values.shape))
    aside = Block(arg_types=[values.ssa.type])
    copies: dict[SSAValue, SSAValue] = {}
    for inner in _cone(start, op.images):
        aside.add_op(inner.clone(copies))
    end = YieldOp(copies.get(op.images, op.images))
    ops = list(aside.ops)
    # composite ops are replaced with what they are defined by, and so is what is yielded
    aside.add_op(end)
    tangents: dict[SSAValue, SSAValue] = {start: aside.args[0]}
    push_forward(ops, tangents)
    found = tangents.get(end.values[0])
    rows = b.full((n, *shape_of(op.images)), 0.0, values.dtype)
    if found is not None:
        batch = Batch(n, b)
        ops = list(aside.ops)[:-1]
        batch.values |= {x: x for inner in ops for x in inner.operands}
        batch.values[aside.args[0]] = seed.ssa
        batch.batched.add(aside.args[0])
        batch.copy(ops)
        rows = b.value(batch.with_axis(found))
    clear(aside)
    return move_axis(b, rows, 0, rows.rank - 2)


def _cone(start: SSAValue, end: SSAValue) -> list[Operation]:
    """The ops between two values of one block, in order."""
    owner = end.owner
    if not isinstance(owner, Operation) or owner.parent is None:
        return []
    block, needed = owner.parent, set[Operation]()
    waiting: list[SSAValue] = [end]
    while waiting:
        value = waiting.pop()
        inner = value.owner
        if value is not start and isinstance(inner, Operation) and inner.parent is block and inner not in needed:
            needed.add(inner)
            waiting += inner.operands
    ops = [inner for inner in block.ops if inner in needed]
    varied = varying(ops, [start])
    return [inner for inner in ops if not varied.isdisjoint(inner.results)]


def _inner(differences: _Differences, b: MirBuilder, inner: Value) -> Value:
    """What the derivative makes of an inner matrix, in either direction."""
    if differences.skew is None:
        return differences.symmetric * inner
    turned = transposed(b, inner)
    return (differences.symmetric * (inner + turned) + differences.skew * (inner - turned)) * 0.5


@VJP.rule(MatrixFunctionOp)
def matrix_function_vjp(op: MatrixFunctionOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The adjoint of the JVP: `df = diag(U^T g V)`, `da = U (F * (U^T g V)) V^T`, and what is outside of `U`."""
    left, right = b.value(op.left), b.value(op.right)
    moved = g @ right
    inner = transposed(b, left) @ moved

    def d_operand() -> Value:
        found = _differences(op, b)
        total = left @ _inner(found, b, inner)
        if found.outside is not None:
            total = total + outside_of(b, left, moved) * found.outside
        total = total @ transposed(b, right)
        return total if op.singular is not None else (total + transposed(b, total)) * 0.5

    return d_operand, None, None, None, lambda: diagonal(b, inner, 0, -2, -1)


@JVP.rule(MatrixFunctionOp)
def matrix_function_jvp(
    op: MatrixFunctionOp, b: MirBuilder, t: Value | None, values: None, left: None, right: None, t_images: Value | None
) -> Sequence[Value | None]:
    """
    `dR = U (F * (U^T da V) + diag(df)) V^T` with divided differences `F` beside the diagonal (Daleckii and Krein).

    For singular values, `F` multiplies the symmetric part of `P = U^T da V`, and `(f_i + f_j) / (w_i + w_j)` the rest;
    `da` outside of `U` is multiplied by `f_j / w_j`.
    """
    u, v = b.value(op.left), b.value(op.right)
    middle = None if t_images is None else eye(b, v.shape[-1], dtype=v.dtype) * b.expand_dims(t_images, -2)
    outside = None
    if t is not None:
        found = _differences(op, b)
        moved = (t if op.singular is not None else (t + transposed(b, t)) * 0.5) @ v
        inner = _inner(found, b, transposed(b, u) @ moved)
        middle = inner if middle is None else middle + inner
        if found.outside is not None:
            outside = outside_of(b, u, moved) * found.outside
    assert middle is not None
    total = u @ middle
    return [(total if outside is None else total + outside) @ transposed(b, v)]


@decompose(PinvOp)
def pinv_decompose(op: PinvOp, b: MirBuilder) -> Sequence[Value]:
    """`V diag(1 / s) U^T`, of the singular values that count."""
    u, s, vt = b.svd(op.operand)
    is_small = s <= s[..., :1] * op.rcond.value.data
    inverses = b.where(is_small, 0, 1 / b.where(is_small, 1, s))
    return [transposed(b, vt) @ (b.expand_dims(inverses, -1) * transposed(b, u))]


@VJP.rule(PinvOp)
def pinv_vjp(op: PinvOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`da = -P^T g P^T + (1 - a P) g^T P P^T + P^T P g^T (1 - P a)`, with `P` the result (Golub and Pereyra, 1973)."""
    a, p = b.value(op.operand), b.value(op.result)
    turned, flipped = transposed(b, p), transposed(b, g)
    over, under = flipped - a @ (p @ flipped), flipped - (flipped @ p) @ a
    return [((over @ p) - turned @ g) @ turned + turned @ (p @ under)]


@JVP.rule(PinvOp)
def pinv_jvp(op: PinvOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [_pinv_tangent(op, b, t)]


def _pinv_tangent(op: PinvOp, b: MirBuilder, t: Value) -> Value:
    """`dP = -P da P + P P^T da^T (1 - a P) + (1 - P a) da^T P^T P`, with `P` the result."""
    a, p = b.value(op.operand), b.value(op.result)
    turned, flipped = transposed(b, p), transposed(b, t)
    over, under = flipped - (flipped @ a) @ p, flipped - p @ (a @ flipped)
    return p @ (turned @ over - t @ p) + (under @ turned) @ p


leading(LstsqOp)


@decompose(LstsqOp)
def lstsq_decompose(op: LstsqOp, b: MirBuilder) -> Sequence[Value]:
    """
    By a QR factorisation where it proves that the rank is full, else by `mir.pinv`, in a branch.

    All singular values count if the condition number is less than `1 / rcond`, and `|R| |R^-1|` in the Frobenius norm
    is at least that number. The triangle of `[a, b]` has `R` and, behind it, `Q^T b`.
    """
    a, given = b.value(op.a), b.value(op.b)
    (rows, n), k, rcond = a.shape[-2:], given.shape[-1], op.rcond.value.data
    if rows < n or not n or not k:
        return [b.pinv(a, rcond) @ given]
    if rows >= n + k:
        _, whole = b.qr(b.concat([a, given], -1))
        r, right = whole[..., :n, :n], whole[..., :n, n:]
    else:
        q, r = b.qr(a)
        right = transposed(b, q) @ given
    identity = b.expand(eye(b, n, dtype=a.dtype), r.shape)
    solved = b.triangular_solve(r, b.concat([identity, right], -1), False)
    condition = b.sqrt(_squares(b, r)) * b.sqrt(_squares(b, solved[..., :n]))
    largest = b.reduce_max(condition, tuple(range(a.rank - 2))) if a.rank > 2 else condition
    return [b.cond(largest * rcond < 1, lambda: solved[..., n:], lambda: b.pinv(a, rcond) @ given)]


def _squares(b: MirBuilder, x: Value) -> Value:
    """The sum of the squares of each matrix."""
    return b.reduce_sum(x * x, (-2, -1))


@VJP.rule(LstsqOp)
def lstsq_vjp(op: LstsqOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`db = P^T g`, and `da` what `g b^T` gives for the pseudo-inverse `P`."""
    inverse = PinvOp(op.a, op.rcond.value.data)
    b.builder.insert(inverse)
    (da,) = pinv_vjp(inverse, b, g @ transposed(b, b.value(op.b)))
    return [da, transposed(b, b.value(inverse.result)) @ g]


@JVP.rule(LstsqOp)
def lstsq_jvp(op: LstsqOp, b: MirBuilder, t_a: Value | None, t_b: Value | None) -> Sequence[Value | None]:
    """`dx = dP b + P db`."""
    inverse = PinvOp(op.a, op.rcond.value.data)
    b.builder.insert(inverse)
    total = None if t_b is None else b.value(inverse.result) @ t_b
    if t_a is not None:
        found = _pinv_tangent(inverse, b, t_a) @ b.value(op.b)
        total = found if total is None else total + found
    return [total]
