"""Rows of solves: their derivatives are solves with the same matrix, which share its factorisation."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.compositions import eye, tril, triu
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.solve import (
    BatchedDenseSolveOp,
    DenseSolveOp,
    InterchangeRowsOp,
    LuInverseOp,
    LuOp,
    LuSolveOp,
    SolveOp,
    TriangularSolveOp,
)
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.transforms.identity_matrix import is_identity
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.rows import decompose, leading, lift, move_axis
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, JVP, VJP, VMAP, Cotangent

LEAST_INVERTED = 65
"""Rows from which on an inverse is one op. Smaller matrices are solved with by registers; `inv 500` of breadth.py."""


def _columns(b: MirBuilder, matrices: Value, x: Value) -> Value:
    """A right hand side or solution as columns: [..., n, k]."""
    return x if x.rank == matrices.rank else b.reshape(x, (*x.shape, 1))


def solve_vjp(op: SolveOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """
    `db = a^-H g`, `da = -db x^H`; with the transpose, `db = conj(a)^-1 g`, `da = -conj(x) db^T`.

    A product with the inverse takes less time than another solve.
    """
    a, x, flipped = b.value(op.a), b.conjugate(op.result), op.transpose is None
    solved = None if is_identity(op.b) else b.op(type(op), op.a, b.conjugate(g).ssa, flipped)
    db = transposed(b, x) @ g if solved is None else b.conjugate(solved)

    def da() -> Value:
        left, right = (db, x) if flipped else (x, db)
        return -(_columns(b, a, left) @ transposed(b, _columns(b, a, right)))

    return da, db


def solve_jvp(op: SolveOp, b: MirBuilder, t_a: Value | None, t_b: Value | None) -> Sequence[Value | None]:
    """`t_x = a^-1 (t_b - t_a x)`."""
    rest = t_b
    if t_a is not None:
        matrices = t_a if op.transpose is None else transposed(b, t_a)
        x = b.value(op.result)
        moved = b.reshape(matrices @ _columns(b, matrices, x), x.shape)
        rest = -moved if rest is None else rest - moved
    assert rest is not None
    if is_identity(op.b):
        return [b.value(op.result) @ rest]
    return [b.op(type(op), op.a, rest.ssa, op.transpose is not None)]


def solve_decompose(op: SolveOp, b: MirBuilder) -> Sequence[Value]:
    """One factorisation, which `cse` shares among the solves with a matrix."""
    if element_of(op.a) in COMPLEXES:
        return [_solve_by_parts(op, b)]
    packed, pivots = b.lu(op.a)
    if op.transpose is None and shape_of(op.a)[-1] >= LEAST_INVERTED and is_identity(op.b):
        return [b.lu_inverse(packed, pivots)]
    return [b.lu_solve(packed, pivots, op.b, op.transpose is not None)]


def _solve_by_parts(op: SolveOp, b: MirBuilder) -> Value:
    """
    The real system of the parts. Its transpose is that of `a^H`, so `a^T x = b` is `a^H conj(x) = conj(b)`.

    Thus a solve and that of its gradient have one matrix here, and share its factorisation.
    """
    turned, a = op.transpose is not None, b.value(op.a)
    rhs = _columns(b, a, b.conjugate(op.b) if turned else b.value(op.b))
    n, re, im = a.shape[-1], b.real(a), b.imag(a)
    rows, columns = a.rank - 2, a.rank - 1
    matrix = b.concat([b.concat([re, -im], columns), b.concat([im, re], columns)], rows)
    solve = b.dense_solve if a.rank == 2 else b.batched_dense_solve
    x = solve(matrix, b.concat([b.real(rhs), b.imag(rhs)], rows), turned)
    whole = b.complex(b.narrow(x, rows, 0, n), b.narrow(x, rows, n, n))
    return b.reshape(b.conjugate(whole) if turned else whole, shape_of(op.b))


for _op in (DenseSolveOp, BatchedDenseSolveOp):
    VJP.add(_op, solve_vjp)
    JVP.add(_op, solve_jvp)
    DECOMPOSE.add(_op, solve_decompose)

leading(BatchedDenseSolveOp)


@VMAP.rule(DenseSolveOp)
def dense_solve_vmap(
    op: DenseSolveOp, b: MirBuilder, batched: Sequence[bool], size: int, matrix: Value, rhs: Value
) -> Sequence[Value]:
    """A batch of solves; with one matrix for all, the right hand sides are more columns of one solve."""
    flag = op.transpose is not None
    if not batched[0]:
        behind = move_axis(b, rhs, 0, rhs.rank - 1)
        x = b.dense_solve(matrix, b.reshape(behind, (behind.shape[0], prod(behind.shape[1:]))), flag)
        return [move_axis(b, b.reshape(x, behind.shape), rhs.rank - 1, 0)]
    if not batched[1]:
        rhs = lift(b, rhs, size)
    return [b.batched_dense_solve(matrix, rhs, flag)]


leading(LuOp)
leading(LuSolveOp)
leading(InterchangeRowsOp)
leading(TriangularSolveOp)


@VJP.rule(InterchangeRowsOp)
def interchange_rows_vjp(op: InterchangeRowsOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The interchanges in the opposite order."""
    return [b.interchange_rows(g, op.pivots, op.inverse is None), None]


@JVP.rule(InterchangeRowsOp)
def interchange_rows_jvp(op: InterchangeRowsOp, b: MirBuilder, t: Value | None, pivots: None) -> Sequence[Value | None]:
    """The same interchanges."""
    assert t is not None
    return [b.interchange_rows(t, op.pivots, op.inverse is not None)]


def _triangle(b: MirBuilder, op: TriangularSolveOp, x: Value) -> Value:
    """The elements of `x` in the triangle that the op reads, and zeros."""
    beside = op.unit_diagonal is not None
    return tril(b, x, -int(beside)) if op.lower is not None else triu(b, x, int(beside))


@VJP.rule(TriangularSolveOp)
def triangular_solve_vjp(op: TriangularSolveOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`db = a^-T g`, `da` the triangle of `-db x^T`; with the transpose, `db = a^-1 g`, `da` that of `-x db^T`."""
    a, x, flipped = b.value(op.a), b.value(op.result), op.transpose is None
    db = b.triangular_solve(op.a, g, op.lower is not None, flipped, op.unit_diagonal is not None)

    def da() -> Value:
        if not prod(x.shape):
            return b.zeros_like(a)
        left, right = (db, x) if flipped else (x, db)
        return -_triangle(b, op, _outer(b, a, left, right))

    return da, db


@JVP.rule(TriangularSolveOp)
def triangular_solve_jvp(
    op: TriangularSolveOp, b: MirBuilder, t_a: Value | None, t_b: Value | None
) -> Sequence[Value | None]:
    """`t_x = a^-1 (t_b - t_a x)` with the triangle of `t_a`."""
    x, rest, transpose = b.value(op.result), t_b, op.transpose is not None
    if t_a is not None and prod(x.shape):
        matrices = _triangle(b, op, t_a)
        matrices = transposed(b, matrices) if transpose else matrices
        moved = b.reshape(matrices @ _columns(b, matrices, x), x.shape)
        rest = -moved if rest is None else rest - moved
    if rest is None:
        return [b.zeros_like(x)]
    return [b.triangular_solve(op.a, rest, op.lower is not None, transpose, op.unit_diagonal is not None)]


class Triangles:
    """
    The factors `P a^T = L U`, as they are packed: transposed, `U^T` in the lower triangle and `L^T` above its diagonal.

    `lt` and `ut` are matrices of their own, `L^T` and `U^T`.
    """

    def __init__(self, b: MirBuilder, packed: SSAValue, pivots: SSAValue):
        n = shape_of(packed)[-1]
        self.b, self.packed, self.pivots = b, b.value(packed), b.value(pivots)
        row = b.constant(list(range(n)), "i32")
        column = b.reshape(row, (n, 1))
        self.in_upper = row <= column
        self.is_diagonal = b.eq(row, column)
        self.identity = b.expand(b.cast(self.is_diagonal, self.packed.dtype), self.packed.shape)
        self.lt = self.split(self.identity, self.packed)
        self.ut = self.split(self.packed, 0.0)

    def split(self, upper: Value, lower: Value | float) -> Value:
        """Elements of `upper` where those of `U` are packed, of `lower` where those of `L` are."""
        return self.b.where(self.in_upper, upper, lower)

    def lower(self, x: Value) -> Value:
        """What is packed of `L`, zeros where `U` is."""
        return self.b.where(self.in_upper, 0.0, x)

    def l_inverse(self, x: Value, transpose: bool = False, permuted: bool = True) -> Value:
        """`L^-1 P x`, or `P^T L^-T x` with `transpose`; without `permuted`, without `P`."""
        b = self.b
        moved = b.interchange_rows(x, self.pivots) if permuted and not transpose else x
        found = b.triangular_solve(self.packed, moved, False, not transpose, True)
        return b.interchange_rows(found, self.pivots, True) if permuted and transpose else found

    def u_inverse(self, x: Value, transpose: bool = False, last_as_one: bool = False) -> Value:
        """`U^-1 x`, or `U^-T x`; with `last_as_one`, of `U` with 1 for the last pivot, which may be 0."""
        matrix = self.packed
        if last_as_one:
            n = matrix.shape[-1]
            is_last = self.b.and_(self.is_diagonal, self.b.constant([False] * (n - 1) + [True]))
            matrix = self.b.where(is_last, 1.0, matrix)
        return self.b.triangular_solve(matrix, x, True, not transpose)


@VJP.rule(LuOp)
def lu_vjp(op: LuOp, b: MirBuilder, g: Value | None, pivots: None) -> Sequence[Cotangent]:
    """
    `da = (upper(dU) + F U^-T)^T L^-1 P` with `F = lower(L^T dL - dU U^T)`, the diagonal being of `upper`.

    The last column of `F` is 0, so nothing is divided by the last pivot.
    """
    assert g is not None
    if not g.shape[-1]:
        return [g]
    f = Triangles(b, op.packed, op.pivots)
    d_lt, d_ut = f.lower(g), f.split(g, 0.0)
    inner = f.lower(d_lt @ transposed(b, f.lt) - transposed(b, f.ut) @ d_ut)
    middle = transposed(b, d_ut + f.u_inverse(inner, last_as_one=True))
    return [transposed(b, f.l_inverse(middle, transpose=True))]


@JVP.rule(LuOp)
def lu_jvp(op: LuOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """
    With `M = L^-1 P da^T` and `F = lower(M U^-1)`: `dL = L F`, `dU = upper(M - F U)`.

    Only the last column of `M U^-1` is divided by the last pivot, and `F` has 0 there.
    """
    if not t.shape[-1]:
        return [t, None]
    f = Triangles(b, op.packed, op.pivots)
    middle = transposed(b, f.l_inverse(transposed(b, t)))
    inner = f.lower(f.u_inverse(middle, transpose=True, last_as_one=True))
    return [inner @ f.lt + f.split(middle - f.ut @ inner, 0.0), None]


@decompose(LuInverseOp)
def lu_inverse_decompose(op: LuInverseOp, b: MirBuilder) -> Sequence[Value]:
    """The solve with the identity."""
    packed = b.value(op.packed)
    identity = b.expand(eye(b, packed.shape[-1], dtype=packed.dtype), packed.shape)
    return [b.lu_solve(packed, op.pivots, identity)]


def _outer(b: MirBuilder, like: Value, x: Value, y: Value) -> Value:
    return _columns(b, like, x) @ transposed(b, _columns(b, like, y))


@VJP.rule(LuSolveOp)
def lu_solve_vjp(op: LuSolveOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """
    `db` is the other solve of `g`. `x = U^-1 L^-1 P b` and `x = P^T L^-T U^-T b` are two triangular solves one after
    the other, each of which gives its factor a cotangent: minus an outer product.
    """
    packed, x, rhs = b.value(op.packed), b.value(op.result), b.value(op.b)

    def d_packed() -> Value:
        if not prod(x.shape):
            return b.zeros_like(packed)
        f = Triangles(b, op.packed, op.pivots)
        if op.transpose is not None:
            between, d_between = f.l_inverse(rhs), f.u_inverse(g, transpose=True)
            d_first = f.l_inverse(d_between, transpose=True, permuted=False)
            return -f.split(_outer(b, packed, x, d_between), _outer(b, packed, between, d_first))
        between, d_between = f.u_inverse(rhs, transpose=True), f.l_inverse(g)
        last, d_first = f.l_inverse(between, transpose=True, permuted=False), f.u_inverse(d_between)
        return -f.split(_outer(b, packed, d_first, between), _outer(b, packed, d_between, last))

    return d_packed, None, lambda: b.lu_solve(op.packed, op.pivots, g, op.transpose is None)


@JVP.rule(LuSolveOp)
def lu_solve_jvp(
    op: LuSolveOp, b: MirBuilder, t: Value | None, pivots: None, t_b: Value | None
) -> Sequence[Value | None]:
    """The tangents of the two triangular solves, one after the other."""
    rhs, x, packed = b.value(op.b), b.value(op.result), b.value(op.packed)
    if t is None or not prod(x.shape):
        return [b.zeros_like(x) if t_b is None else b.lu_solve(op.packed, op.pivots, t_b, op.transpose is not None)]
    f = Triangles(b, op.packed, op.pivots)
    t_lt, t_ut = f.lower(t), f.split(t, 0.0)

    def times(matrix: Value, y: Value) -> Value:
        return b.reshape(matrix @ _columns(b, packed, y), y.shape)

    if op.transpose is not None:
        between = f.l_inverse(rhs)
        t_between = -f.l_inverse(times(transposed(b, t_lt), between), permuted=False)
        if t_b is not None:
            t_between = t_between + f.l_inverse(t_b)
        return [f.u_inverse(t_between - times(transposed(b, t_ut), x))]
    between = f.u_inverse(rhs, transpose=True)
    last = f.l_inverse(between, transpose=True, permuted=False)
    moved = times(t_ut, between)
    t_between = f.u_inverse(-moved if t_b is None else t_b - moved, transpose=True)
    return [f.l_inverse(t_between - times(t_lt, last), transpose=True)]
