"""Launches that can be run in parts, each again and again beside the others: what a part reads of what is written at
all, it has written itself. What is made of that is in `outlined_loop.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.lir.places import ByteSpan
from xdsl_rlx.lowering.analysis.index_ranges import IndexRanges
from xdsl_rlx.lowering.analysis.linear_sums import Linear

_SAME_MOVE = arith.MinSIOp | arith.MaxSIOp


@dataclass(frozen=True)
class LoopParts:
    """How many parts launches have, and how many elements the windows of two neighbours are apart in each operand."""

    count: int
    apart: Mapping[SSAValue, int]


WHOLE = LoopParts(1, {})


def parts_of(
    launches: Sequence[LaunchOp], kernels: Mapping[str, KernelOp], places: Mapping[SSAValue, ByteSpan]
) -> LoopParts | None:
    """
    As many parts as the launch of the most pieces has, or fewer; None where there are none.

    A buffer that is written consists of tiles of one size, each cut into as many equal parts. Every place in it moves
    by whole tiles, so that the parts of each are those of all. A part of a launch runs over as many
    iterations as the others, and what it touches is what the first one touches, moved: that is looked at for all
    buffers, and of those that are written it must be the part.
    """
    written = {places[value].root for launch in launches for value in launch.writes}
    tiles = {root: _tile([place for place in places.values() if place.root is root]) for root in written}
    if None in tiles.values():
        return None
    extent = gcd(*(launch.extent.value.data for launch in launches))
    most = max(launch.chunk_count for launch in launches)
    for count in range(most, 1, -1):
        if extent % count == 0 and (apart := _apart(count, launches, kernels, places, tiles)) is not None:
            return LoopParts(count, apart)
    return None


def _apart(
    count: int,
    launches: Sequence[LaunchOp],
    kernels: Mapping[str, KernelOp],
    places: Mapping[SSAValue, ByteSpan],
    tiles: Mapping[SSAValue, int | None],
) -> dict[SSAValue, int] | None:
    """
    How far the parts of each buffer are apart, if so many are each other's equals and touch only their own.

    `tiles` has the bytes of a tile of each buffer that is written.
    """
    apart: dict[SSAValue, int] = {}
    for launch in launches:
        kernel = kernels[launch.kernel.string_value()]
        iterations = launch.extent.value.data // count
        steps = _Steps(kernel, iterations).find()
        if steps is None:
            return None
        owned: dict[SSAValue, tuple[int, int]] = {}
        for arg, value in zip(kernel.body.block.args, launch.operands, strict=False):
            moved, type_ = steps.get(arg, 0), memref_of(value)
            if apart.setdefault(value, moved) != moved:
                return None
            if (tile := tiles.get(places[value].root)) is not None:
                size = element_bytes(type_.element_type)
                owned[arg] = places[value].start % tile // size, moved
                if moved * count * size != tile:
                    return None
        if not _stays_inside(kernel, iterations, owned):
            return None
    return apart


def _tile(places: Collection[ByteSpan]) -> int | None:
    """The bytes of a tile, the largest place, if all move by multiples of it."""
    size = max(place.stop - place.start for place in places)
    moves = [move.stride for place in places for move in place.moves]
    return size if size and not any(stride % size for stride in moves) else None


def _stays_inside(kernel: KernelOp, iterations: int, owned: Mapping[SSAValue, tuple[int, int]]) -> bool:
    """
    Whether the first iterations touch only the first part of a tile of these buffers.

    `owned` has where in the tile a buffer begins, and the elements of a part.
    """
    *_, low, high = kernel.body.block.args
    ranges, outside = IndexRanges(), list[Operation]()
    ranges.forms |= {low: Linear(0), high: Linear(iterations)}

    def visit(op: Operation) -> None:
        if isinstance(op, memref.LoadOp | memref.StoreOp) and (part := owned.get(op.memref)) is not None:
            start, size = part
            place = Linear(start)
            for index, stride in zip(op.indices, strides_of(memref_of(op.memref)), strict=True):
                place = place.plus(ranges.of(index), stride)
            if not ranges.holds(place) or not ranges.holds(Linear(size - 1).plus(place, -1)):
                outside.append(op)

    ranges.walk(kernel.body.block, visit)
    return not outside


class _Steps:
    """
    How far the accesses of a kernel to each buffer move when its range begins, and ends, some iterations later.

    `moves` has what index values do then, if they do not stay: None is anything, and may be used for nothing. None is
    negative, as nothing that indices are computed from is.
    """

    def __init__(self, kernel: KernelOp, iterations: int):
        self.block = kernel.body.block
        *buffers, low, high = self.block.args
        self.buffers = {*buffers}
        self.moves: dict[SSAValue, int | None] = {low: iterations, high: iterations}
        self.steps: dict[SSAValue, int] = {}

    def find(self) -> dict[SSAValue, int] | None:
        """The elements, where they are the same for all accesses to a buffer and nothing else changes."""
        return self.steps if self._walk(self.block) else None

    def _move(self, value: SSAValue) -> int | None:
        return self.moves.get(value, 0)

    def _stay(self, values: Sequence[SSAValue]) -> bool:
        return all(self._move(value) == 0 for value in values)

    def _walk(self, block: Block) -> bool:
        return all(self._learn(op) for op in block.ops)

    def _learn(self, op: Operation) -> bool:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            return self._access(op) and (isinstance(op, memref.LoadOp) or self._stay([op.value]))
        if isinstance(op, scf.ForOp):
            begin = self._move(op.lb)
            self.moves[op.body.block.args[0]] = begin
            same = begin is not None and begin == self._move(op.ub)
            return same and self._stay([op.step, *op.iter_args]) and self._walk(op.body.block)
        if op.regions or not op.results:
            inner = [block for region in op.regions for block in region.blocks]
            return self._stay(op.operands) and all(map(self._walk, inner))
        self.moves[op.results[0]] = self._result(op)
        return True

    def _access(self, op: memref.LoadOp | memref.StoreOp) -> bool:
        if op.memref not in self.buffers:
            return self._stay(op.indices)
        total = 0
        for index, stride in zip(op.indices, strides_of(memref_of(op.memref)), strict=True):
            if (move := self._move(index)) is None:
                return False
            total += move * stride
        return self.steps.setdefault(op.memref, total) == total

    def _result(self, op: Operation) -> int | None:
        moves = [self._move(operand) for operand in op.operands]
        if not any(moves) and None not in moves:
            return 0
        known = [move for move in moves if move is not None]
        if len(known) < len(moves):
            return None
        if isinstance(op, arith.AddiOp):
            return sum(known)
        if isinstance(op, arith.SubiOp):
            return known[0] - known[1]
        if isinstance(op, arith.MuliOp):
            factors = [constant_index(operand) for operand in op.operands]
            return next((move * n for move, n in zip(known, reversed(factors), strict=True) if n is not None), None)
        if isinstance(op, arith.DivSIOp | arith.RemSIOp):
            by = constant_index(op.rhs)
            if by is None or by < 1 or known[0] % by:
                return None
            return known[0] // by if isinstance(op, arith.DivSIOp) else 0
        if isinstance(op, arith.CmpiOp) and known[0] == known[1]:
            return 0
        return known[0] if isinstance(op, _SAME_MOVE) and known[0] == known[1] else None
