"""`lir-prefetch-stores`: lines of memory that loops fill are asked for ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, PrefetchOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar, ScalarBuilder
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.kernel_pass import KernelPass
from xdsl_rlx.lowering.scalar_functions import FUNCTIONS
from xdsl_rlx.lowering.target import StoreCosts


class _Line(NamedTuple):
    """What a loop stores into: neighbours in a line of a buffer."""

    buffer: SSAValue
    front: tuple[SSAValue, ...]
    """The indices of the line, which are the same in all iterations."""
    rows: int
    """Lines that lie one behind the other."""
    columns: int
    each: int
    """Bytes of an element."""


@dataclass(frozen=True)
class LirPrefetchStoresPass(StoreCosts, KernelPass):
    """
    Prefetch, for writing, what innermost loops store into buffers that caches do not hold.

    A store to a line that is not in the cache waits until memory has sent the line, and processors find reads ahead of
    time, but few stores. A loop over long lines is cut into blocks. In front of each, what is about
    `store_distance_bytes` behind it is prefetched, which is in a later line if there are several; in front of a loop
    over a short line, all of a later one. Of lines that are filled strip by strip, a few columns of all rows at a
    time, it is the strip of the row `strip_rows_ahead` rows later. Loops that read what they store, and those with
    functions, are left alone. `prefetches-stores=false` is for processors that are slower with prefetches, as those of
    AMD are.

    ```mlir
    scf.for %i = %lo to %hi step %c1 {
      memref.store %x, %y[%i] : memref<1000000xf32>
    }
    // becomes
    scf.for %block = %lo to %middle step %c256 {
      lir.prefetch %y[%ahead] write : memref<1000000xf32>
      // ... and of each further line of the block
      scf.for %i = %block to %end step %c1 {
        memref.store %x, %y[%i] : memref<1000000xf32>
      }
    }
    scf.for %i = %middle to %hi step %c1 {
      memref.store %x, %y[%i] : memref<1000000xf32>
    }
    ```
    """

    name = "lir-prefetch-stores"

    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Prefetch what one kernel stores."""
        arguments = set[SSAValue](filter(self._is_streamed, kernel.body.block.args))
        if not arguments or not self.prefetches_stores:
            return
        for loop in [op for op in ops_within(kernel) if isinstance(op, scf.ForOp)]:
            is_whole = (loop.lb, loop.ub) == kernel.body.block.args[-2:]
            lines: list[_Line] = []
            for line in self._lines(loop, arguments):
                if is_whole or (constant_index(loop.lb), constant_index(loop.ub)) == (0, line.columns):
                    lines.append(line)
                else:
                    self._fetch_strip(loop, line)
            long = [line for line in lines if line.columns * line.each > self.store_block_bytes]
            for line in lines:
                if line not in long:
                    self._fetch_row(loop, line)
            if long:
                self._cut(loop, long)

    def _is_streamed(self, argument: SSAValue) -> bool:
        """Whether an argument of a kernel is a buffer of a known size that caches do not hold."""
        if not isinstance(argument.type, MemRefType):
            return False
        type_ = memref_of(argument)
        shape = type_.get_shape()
        known = len(shape) > 0 and min(shape) > 0
        return known and prod(shape) * element_bytes(type_.element_type) >= self.min_streamed_store_bytes

    def _lines(self, loop: scf.ForOp, arguments: set[SSAValue]) -> list[_Line]:
        """What a loop stores that is worth a prefetch."""
        if loop.attributes or constant_index(loop.step) != 1:
            return []
        loaded, found = set[SSAValue](), dict[SSAValue, _Line]()
        for op in loop.body.block.ops:
            if isinstance(op, memref.LoadOp):
                loaded.add(op.memref)
            elif isinstance(op, memref.StoreOp):
                line = self._line(op, loop) if op.memref in arguments else None
                if line is not None:
                    found[op.memref] = line
            elif type(op) in FUNCTIONS or not (isinstance(op, scf.YieldOp) or is_side_effect_free(op)):
                # what is computed takes longer than memory
                return []
        return [line for buffer, line in found.items() if buffer not in loaded]

    def _line(self, store: memref.StoreOp, loop: scf.ForOp) -> _Line | None:
        """What a store fills, if that is neighbours in a line."""
        type_ = memref_of(store.memref)
        shape, each = type_.get_shape(), element_bytes(type_.element_type)
        *front, last = list(store.indices)
        if last is not loop.body.block.args[0] or strides_of(type_)[-1] != 1:
            return None
        if shape[-1] * each < self.line_bytes or any(_belongs_to(x, loop.body.block) for x in front):
            return None
        rows, columns = (1, *shape)[-2:]
        return _Line(store.memref, tuple(front), rows, columns, each)

    def _fetch_row(self, loop: scf.ForOp, line: _Line) -> None:
        """Prefetch a later line in front of a loop over the whole of one."""
        before = ScalarBuilder(Builder(InsertPoint.before(loop)))
        if (later := self._later_row(before, line)) is not None:
            self._fetch(before, line, later, before.const(0, INDEX), line.columns)

    def _fetch_strip(self, loop: scf.ForOp, line: _Line) -> None:
        """Prefetch, of a strip of columns of all rows, a later row: its ends, as a strip is a vector."""
        if line.rows <= self.strip_rows_ahead or not _is_inside(line.front[-1], loop.lb):
            return
        *others, row = line.front
        before = ScalarBuilder(Builder(InsertPoint.before(loop)))
        later = before.minimum(before.of(row) + self.strip_rows_ahead, line.rows - 1).value
        for end in (before.of(loop.lb), before.of(loop.ub) - 1):
            before.insert(PrefetchOp(line.buffer, [*others, later, end.value], write=True))

    def _later_row(self, s: ScalarBuilder, line: _Line) -> list[SSAValue] | None:
        """The indices of a line behind one, or None where lines are far apart."""
        size = line.columns * line.each
        if line.rows == 1 or size > self.l1_bytes:
            return None
        *others, row = line.front
        later = s.minimum(s.of(row) + -(-self.store_distance_bytes // size), line.rows - 1)
        return [*others, later.value]

    def _fetch(self, s: ScalarBuilder, line: _Line, front: Sequence[SSAValue], first: Scalar, count: int) -> None:
        """Prefetch so many elements of a line from one on."""
        for column in range(0, count, self.line_bytes // line.each):
            place = (first + column).value if column else first.value
            s.insert(PrefetchOp(line.buffer, [*front, place], write=True))

    def _cut(self, loop: scf.ForOp, lines: list[_Line]) -> None:
        """Cut a loop into blocks, in front of each of which later lines of memory are prefetched."""
        each = max(line.each for line in lines)
        size, block = self.store_block_bytes // each, Block(arg_types=[INDEX, *(x.type for x in loop.iter_args)])
        before = ScalarBuilder(Builder(InsertPoint.before(loop)))
        inside = ScalarBuilder(Builder(InsertPoint.at_end(block)))
        low, high = before.of(loop.lb), before.of(loop.ub)
        middle = low + before.div(high - low, size) * size
        start = inside.of(block.args[0])
        block.args[0].name_hint = "block"
        for line in lines:
            later, first = self._later_row(before, line), start
            if later is None:
                first = inside.minimum(start + self.store_distance_bytes // each, line.columns - size)
            self._fetch(inside, line, line.front if later is None else later, first, size)
        part = loop.clone()
        part.operands[0], part.operands[1] = start.value, (start + size).value
        for number, value in enumerate(block.args[1:]):
            part.operands[3 + number] = value
        inside.insert(part)
        inside.insert(scf.YieldOp(*part.results))
        step = before.const(size, INDEX)
        whole = before.insert(scf.ForOp(low.value, middle.value, step.value, loop.iter_args, block))
        whole.location = loop.location
        loop.operands[0] = middle.value
        for number, value in enumerate(whole.results):
            loop.operands[3 + number] = value


def _belongs_to(value: SSAValue, block: Block) -> bool:
    """Whether a value is an argument of a block, or computed in it."""
    return (value.owner.parent if isinstance(value.owner, Operation) else value.owner) is block


def _is_inside(inner: SSAValue, outer: SSAValue) -> bool:
    """Whether a value is the counter of a loop in the loop of which another one is the counter."""
    if not isinstance(inner.owner, Block) or not isinstance(outer.owner, Block):
        return False
    loop = inner.owner.parent_op()
    while isinstance(loop, scf.ForOp) and loop.parent is not outer.owner:
        loop = loop.parent_op()
    return isinstance(loop, scf.ForOp)
