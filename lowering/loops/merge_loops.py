"""A loop around a loop that together pass over neighbours one by one: one loop takes the place of both."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.bounds import constant_index, trip_count
from xdsl_rlx.dialects.lir.kernel import LANES
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest


def merge_loops(nest: Nest) -> None:
    """
    Merge two loops of a nest where all that is asked of their indices `i` and `j` is `i n + j`, for `n` iterations of
    the inner one.

    Of short rows, LLVM would make vectors of the outer loop, and gather what it reads.

    ```mlir
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c10 step %c1 {
        %row = arith.muli %i, %c10 : index
        %at = arith.addi %row, %j : index
        memref.store %x, %y[%at] : memref<320xf32>
      }
    }
    // becomes
    scf.for %i = %c0 to %c320 step %c1 {
      memref.store %x, %y[%i] : memref<320xf32>
    }
    ```
    """
    # inner loops first
    for loop in reversed([op for op in nest.block.walk() if isinstance(op, scf.ForOp)]):
        _merge(loop, nest)


def _merge(outer: scf.ForOp, nest: Nest) -> None:
    inner, *rest = outer.body.block.ops
    if len(rest) != 1 or not isinstance(inner, scf.ForOp) or outer.iter_args or inner.iter_args:
        return
    low, high, width = constant_index(outer.lb), constant_index(outer.ub), trip_count(inner)
    unit = constant_index(outer.step) == constant_index(inner.step) == 1 and constant_index(inner.lb) == 0
    if low is None or high is None or not width or not unit or LANES in inner.attributes:
        return
    if (found := _asked(outer, inner, width)) is None:
        return
    products, sums = found
    for op in sums:
        op.results[0].replace_all_uses_with(outer.body.block.args[0])
    body = [op for op in inner.body.block.ops if op not in products | sums][:-1]
    for op in body:
        op.detach()
    outer.body.block.insert_ops_before(body, inner)
    outer.attributes.update(inner.attributes)
    inner.detach()
    inner.erase()
    outer.operands[0], outer.operands[1] = nest.kernel.index(low * width), nest.kernel.index(high * width)


def _asked(outer: scf.ForOp, inner: scf.ForOp, width: int) -> tuple[set[Operation], set[Operation]] | None:
    """The products `i n` and the sums `i n + j`, in the inner loop, if nothing else is asked of the indices."""
    i, j = outer.body.block.args[0], inner.body.block.args[0]
    products = {use.operation for use in i.uses}
    if not all(isinstance(op, arith.MuliOp) and op.lhs is i and constant_index(op.rhs) == width for op in products):
        return None
    lines = {op.results[0] for op in products}
    sums = {use.operation for line in lines for use in line.uses}
    if not all(isinstance(op, arith.AddiOp) and op.lhs in lines and op.rhs is j for op in sums):
        return None
    inside = all(op.parent is inner.body.block for op in products | sums)
    return (products, sums) if inside and sums == {use.operation for use in j.uses} else None
