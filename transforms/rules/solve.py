"""Rows of solves: their derivatives are solves with the same matrix, which share its factorisation."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.solve import BatchedDenseSolveOp, DenseSolveOp, LuOp, LuSolveOp, SolveOp
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.rows import leading, lift, move_axis
from xdsl_rlx.transforms.rules.table import DECOMPOSE, JVP, VJP, VMAP, Cotangent


def _columns(b: MirBuilder, matrices: Value, x: Value) -> Value:
    """A right hand side or solution as columns: [..., n, k]."""
    return x if x.rank == matrices.rank else b.reshape(x, (*x.shape, 1))


def solve_vjp(op: SolveOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`db = a^-T g`, `da = -db x^T`; with the transpose, `db = a^-1 g`, `da = -x db^T`."""
    a, x, flipped = b.value(op.a), b.value(op.result), op.transpose is None
    db = b.op(type(op), op.a, g.ssa, flipped)

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
    return [b.op(type(op), op.a, rest.ssa, op.transpose is not None)]


def solve_decompose(op: SolveOp, b: MirBuilder) -> Sequence[Value]:
    """One factorisation, which `cse` shares among the solves with a matrix."""
    packed, pivots = b.lu(op.a)
    return [b.lu_solve(packed, pivots, op.b, op.transpose is not None)]


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


def _where(op: Operation) -> str:
    return "" if op.location == UNKNOWN_LOC else f" at {op.location}"


def _no_derivative(op: LuOp, b: MirBuilder, *arrived: Value | None) -> Sequence[None]:
    raise PassFailedException(f"{op.name}{_where(op)} has no derivative: differentiate mir.dense_solve instead")


VJP.add(LuOp, _no_derivative)
JVP.add(LuOp, _no_derivative)
leading(LuOp)


@VJP.rule(LuSolveOp)
def lu_solve_vjp(op: LuSolveOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`db = a^-T g`: linear in `b`."""

    def packed() -> Value:
        raise PassFailedException(
            f"{op.name}{_where(op)} has no derivative in its factors: differentiate mir.dense_solve instead"
        )

    return packed, None, lambda: b.lu_solve(op.packed, op.pivots, g, op.transpose is None)


@JVP.rule(LuSolveOp)
def lu_solve_jvp(
    op: LuSolveOp, b: MirBuilder, packed: Value | None, pivots: None, t_b: Value | None
) -> Sequence[Value | None]:
    if packed is not None or t_b is None:
        raise PassFailedException(
            f"{op.name}{_where(op)} has no derivative in its factors: differentiate mir.dense_solve instead"
        )
    return [b.lu_solve(op.packed, op.pivots, t_b, op.transpose is not None)]


leading(LuSolveOp)
