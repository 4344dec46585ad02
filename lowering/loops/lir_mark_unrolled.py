"""`lir-mark-unrolled`: which loops of a kernel are written out, by a model of their cost.
LLVM is told to write out the loops that have the mark and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, cast

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IndexType, IntegerAttr, MemRefType, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp
from xdsl_rlx.dialects.lir.bounds import trip_count
from xdsl_rlx.dialects.lir.kernel import AT_ONCE, LANES, MASKED, NO_UNROLL, UNROLL
from xdsl_rlx.dialects.lir.memory import strides_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.kernel_pass import KernelPass
from xdsl_rlx.lowering.scalar_functions import FUNCTIONS
from xdsl_rlx.lowering.target import COMMON, UnrollCosts

INDEX = IndexType()

SHORT = 16
"""Iterations from which on LLVM makes vectors of a loop before it unrolls it. The emitter tells LLVM the same."""

ROW_OF_VECTOR = 4
"""Iterations from which on a row alone in its block is computed in vectors along it, the rest one by one: across rows,
elements are shuffled from row to row. Rows of 9 to 15 take an eighth of the time. benchmarks/breadth.py "covariance".
The emitter tells LLVM the same."""

DIVIDED = 7
"""The same for rows with divisions and roots, which take longer one by one than shuffled."""


@dataclass(frozen=True)
class LirMarkUnrolledPass(UnrollCosts, KernelPass):
    """
    Set `lir.unroll` on loops to unroll, and `lir.masked` on those that end in a masked vector, by a cost model.

    Bounds must be constant. Short loops, and loops that fill a stack buffer, are unrolled fully, innermost first.
    Longer innermost loops are unrolled as vectors if these are few. A loop around a row of few vectors is unrolled by
    several rows, unless it is marked to stay rolled. Limits per loop and per kernel bound the unrolled operations, so
    that LLVM's work grows with the text of the kernel, not with its extents.

    With registers of AVX-512, the rest of a short loop with functions, or with a long reduction, is a masked vector if
    it is a quarter of a vector or more, and not half of one.

    ```mlir
    scf.for %k = %c0 to %c3 step %c1 {
      %x = memref.load %a[%i, %k] : memref<9x3xf32>
      memref.store %x, %b[%k, %i] : memref<3x9xf32>
    }
    // becomes
    scf.for %k = %c0 to %c3 step %c1 {
      ...
    } {lir.unroll = 3 : i64}
    ```
    """

    name = "lir-mark-unrolled"

    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Mark the loops of one kernel."""
        for choice in _chosen(kernel, self):
            choice.loop.attributes[UNROLL] = _count(choice.count)
        for op in ops_within(kernel):
            if isinstance(op, scf.ForOp) and _ends_in_mask(op, self):
                op.attributes[MASKED] = UnitAttr()


def leaves_short_loops(kernel: KernelOp, costs: UnrollCosts) -> bool:
    """Whether a loop of a kernel stays that is too short for vectors: there would be vectors of the loop around it."""
    unrolled = {choice.loop for choice in _chosen(kernel, costs)}
    loops = [op for op in ops_within(kernel) if isinstance(op, scf.ForOp) and op not in unrolled]
    return any((trips := trip_count(loop)) is not None and trips < SHORT for loop in loops if precedes_vectors(loop))


def _ends_in_mask(loop: scf.ForOp, costs: UnrollCosts) -> bool:
    """Whether the last iterations of a loop are a masked vector, which LLVM would else compute one by one."""
    trips, ops = trip_count(loop), loop.body.block.ops
    wide = costs.lanes * costs.registers >= COMMON.lanes * COMMON.registers * 4
    if trips is None or not wide or not loop.attributes.keys().isdisjoint((UNROLL, NO_UNROLL, LANES)):
        return False
    if any(op.regions for op in ops):
        return False
    floats = [x.type for op in ops for x in op.results if isinstance(x.type, AnyFloat)]
    lanes = min(map(costs.lanes_of, floats), default=costs.lanes)
    rest = trips % lanes
    if not lanes <= trips < costs.max_masked_iterations or 2 * rest == lanes:
        return False
    if any(type(op) in FUNCTIONS for op in ops):
        return 4 * rest >= lanes
    is_long = sum(type(op) not in _FREE for op in ops) >= costs.min_masked_ops
    return bool(loop.iter_args) and is_long and 4 * rest >= 3 * lanes


@lru_cache(256)
def _count(times: int) -> IntegerAttr[Any]:
    """Attributes are verified when they are made, thus once."""
    return IntegerAttr(times, i64)


@dataclass(frozen=True)
class _Choice:
    """A loop, how many of its iterations may be written out side by side, and the operations that these are."""

    loop: scf.ForOp
    count: int
    size: int


def _chosen(kernel: KernelOp, costs: UnrollCosts) -> list[_Choice]:
    """The loops of a kernel to unroll, the smallest first, as long as a kernel may have their operations."""
    found: list[_Choice] = []
    _size(kernel.body.block, found, costs)
    found.sort(key=lambda choice: choice.size)
    sizes = accumulate(choice.size for choice in found)
    return [choice for choice, size in zip(found, sizes, strict=True) if size <= costs.max_kernel_unrolled_ops]


def _size(block: Block, found: list[_Choice], costs: UnrollCosts) -> int | None:
    """Operations of a block written out, None if a loop stays in it; adds the loops that may be written out."""
    total: int | None = 0
    before, beside = len(found), 0
    for op in block.ops:
        size = _size_of(op, found, costs)
        beside += 0 if op.regions else size or 0
        total = None if total is None or size is None else total + size
    if len(found) > before:
        gathers = 0 if total is None else _far_apart(block, costs)
        if beside > costs.max_ops_beside or gathers > costs.max_gathers:
            del found[before:]
            return None
    return total


def _far_apart(block: Block, costs: UnrollCosts) -> int:
    """Loads and stores of which a loop that is not short, with its loops written out, moves the row or plane."""
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp) or (trip_count(loop) or SHORT) < SHORT:
        return 0
    return _moving(block, {loop.body.block.args[0]}, 1, costs)


def _moving(block: Block, moved: set[SSAValue], around: int, costs: UnrollCosts) -> int:
    """The same of a block that stands in loops of `around` iterations in all, for the indices that have `moved`."""
    total = 0
    for op in block.ops:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            is_shuffled = around > costs.unroll_vector_elements and _is_narrow(op.memref.type)
            weight = costs.narrow_gather_weight if is_shuffled else 1
            total += weight * any(index in moved for index in op.indices[:-1])
            continue
        if any(x in moved for x in op.operands):
            moved.update(result for result in op.results if result.type == INDEX)
        # LLVM makes vectors of lanes, not of the loop around them
        times = (0 if LANES in op.attributes else trip_count(op) or 0) if isinstance(op, scf.ForOp) else 1
        inside = (_moving(inner, moved, around * times, costs) for region in op.regions for inner in region.blocks)
        total += times * sum(inside)
    return total


def _is_narrow(buffer: Attribute) -> bool:
    element = cast("MemRefType[Attribute]", buffer).element_type
    return isinstance(element, FixedBitwidthType) and element.bitwidth < 32


_FREE = (arith.ConstantOp, memref.AllocaOp, memref.GetGlobalOp, scf.YieldOp)
"""What is no operation of the processor."""


def _size_of(op: Operation, found: list[_Choice], costs: UnrollCosts) -> int | None:
    if not op.regions:
        return costs.function_ops if type(op) in FUNCTIONS else int(type(op) not in _FREE)
    sizes = [_size(block, found, costs) for region in op.regions for block in region.blocks]
    if isinstance(op, scf.ForOp):
        return _size_of_loop(op, sizes[0], found, costs)
    if isinstance(op, scf.WhileOp) or None in sizes:
        return None
    return sum(size for size in sizes if size is not None) + 1


def _size_of_loop(loop: scf.ForOp, size: int | None, found: list[_Choice], costs: UnrollCosts) -> int | None:
    """Operations of a loop that is written out whole, None if it stays one."""
    trips, vector = trip_count(loop), costs.unroll_vector_elements
    if trips is None:
        return None
    if size is None:
        if (rows := _rows(loop, trips, costs)) is not None:
            found.append(rows)
        return None
    if LANES in loop.attributes:
        vectors = -(-trips // vector) * sum(op.results[0].type != INDEX for op in loop.body.block.ops if op.results)
        found.append(_Choice(loop, trips, vectors))
        return vectors
    if precedes_vectors(loop):
        if trips * size > costs.max_unrolled_ops:
            return None
        found.append(_Choice(loop, trips, trips * size))
        return trips * size
    if (vectors := -(-trips // vector) * size) <= costs.max_unrolled_vector_ops:
        found.append(_Choice(loop, trips, vectors))
    return None


def precedes_vectors(loop: scf.ForOp) -> bool:
    """
    Whether a loop that is written out is so before LLVM looks for vectors: it is short, or what it stores to is a
    buffer on the stack, which then is in registers.
    """
    if NO_UNROLL in loop.attributes or LANES in loop.attributes or (trips := trip_count(loop)) is None:
        return False
    if trips >= ROW_OF_VECTOR and _is_row_of_vector(loop) and not (ROW_OF_VECTOR < trips < DIVIDED and _divides(loop)):
        return False
    stores = (op for op in loop.body.block.ops if isinstance(op, memref.StoreOp))
    return trips < SHORT or any(isinstance(op.memref.owner, memref.AllocaOp) for op in stores)


def _is_row_of_vector(loop: scf.ForOp) -> bool:
    """
    Whether a loop moves along rows of neighbours and computes what is cheap, alone in its block or after one reduction.

    Unrolled, it leaves LLVM vectors of the loop around it, whose elements are shuffled from row to row; not those of
    more than a vector, which it loads one by one.
    """
    around = loop.parent_block()
    loops = [op for op in around.ops if op.regions] if around is not None else []
    if len(loops) == 1:
        return not loop.iter_args and _moves_along_row(loop)
    if (trip_count(loop) or 0) <= COMMON.unroll_vector_elements:
        return False
    if not any(isinstance(op, scf.ForOp) and not op.iter_args for op in loops):
        return False
    if sum(len(op.results) for op in loops) > 1 or any(type(op) in FUNCTIONS for op in _ops(around)):
        return False
    return all(isinstance(op, scf.ForOp) and _moves_along_row(op) for op in loops)


def _ops(block: Block | None) -> Iterable[Operation]:
    return block.ops if block is not None else ()


def _moves_along_row(loop: scf.ForOp) -> bool:
    """
    Whether the loads and stores of a loop are of neighbours, and its operations cheap.

    It reads no other elements of what it writes: whether these overlap would be found out in each run of it.
    """
    i = loop.body.block.args[0]
    written = {op.memref: list(op.indices) for op in loop.body.block.ops if isinstance(op, memref.StoreOp)}
    for op in loop.body.block.ops:
        if op.regions or type(op) in FUNCTIONS:
            return False
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            if isinstance(op.memref.owner, memref.AllocaOp) or _is_narrow(op.memref.type):
                return False
            if written.get(op.memref, found := list(op.indices)) != found:
                return False
            *outer, last = [x is i for x in op.indices] or [False]
            if any(outer) or (last and not _is_dense(op.memref.type)):
                return False
        elif any(x is i for x in op.operands):
            return False
    return True


def _divides(loop: scf.ForOp) -> bool:
    return any(isinstance(op, arith.DivfOp | math.SqrtOp) for op in loop.body.block.ops)


def _is_dense(buffer: Attribute) -> bool:
    """Whether elements along the last dimension are neighbours."""
    return strides_of(cast("MemRefType[Attribute]", buffer))[-1] == 1


def _rows(loop: scf.ForOp, trips: int, costs: UnrollCosts) -> _Choice | None:
    """Several rows at a time if the loop is around a row of few vectors: as many as divide the loop, or 2, 4 or 8."""
    if NO_UNROLL in loop.attributes:
        return None
    size = 0
    for op in loop.body.block.ops:
        if op.regions:
            if not isinstance(op, scf.ForOp) or (length := trip_count(op)) is None:
                return None
            if length > costs.max_unrolled_row_elements or (inside := _size(op.body.block, [], costs)) is None:
                return None
            size += -(-length // costs.unroll_vector_elements) * inside
    counts = [n for n in range(2, AT_ONCE + 1) if n < trips and n * size <= costs.max_unrolled_rows_ops]
    if not size or not counts:
        return None
    even = [n for n in counts if trips % n == 0]
    count = even[-1] if even else max(n for n in (2, 4, 8) if n in counts)
    return _Choice(loop, count, count * size)
