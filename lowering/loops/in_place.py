"""What is computed element by element from a line, stored over it rather than in another line."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest


def store_in_place(nest: Nest, old: SSAValue, new: SSAValue, size: int) -> bool:
    """
    Have the ops of a nest leave in the line `old` what they leave in `new`, where that changes nothing else.

    So it is if the last loop that stores to `new` does so once for each of its `size` elements, when it has read of
    both lines that element only, and `old` is neither stored to nor read behind it. Returns whether it is so.
    """
    ops = list(nest.block.ops)
    touched = [_accesses([op], old, new) for op in ops]
    last = max((n for n, found in enumerate(touched) if any(_stores(x, new) for x in found)), default=-1)
    behind = [x for found in touched[last + 1 :] for x in found]
    if last < 0 or any(_stores(x, old) for found in touched for x in found) or any(x.memref is old for x in behind):
        return False
    loop = ops[last]
    if not isinstance(loop, scf.ForOp) or [constant_index(x) for x in (loop.lb, loop.ub, loop.step)] != [0, size, 1]:
        return False
    index, body = loop.body.block.args[0], list(loop.body.block.ops)
    stores = [x for x in touched[last] if _stores(x, new)]
    if len(stores) != 1 or stores[0] not in body or any([*x.indices] != [index] for x in touched[last]):
        return False
    if _accesses(body[body.index(stores[0]) + 1 :], old, new):
        return False
    for op in (*stores, *behind):
        op.operands[op.operands.index(new)] = old
    return True


def _accesses(ops: Iterable[Operation], *lines: SSAValue) -> list[memref.LoadOp | memref.StoreOp]:
    found = (x for op in ops for x in op.walk() if isinstance(x, memref.LoadOp | memref.StoreOp))
    return [x for x in found if x.memref in lines]


def _stores(op: Operation, line: SSAValue) -> bool:
    return isinstance(op, memref.StoreOp) and op.memref is line
