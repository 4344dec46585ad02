"""Where the buffers of a program lie: the bytes of what their root declares, and how these move in loops.
Which launches may pass what is in `schedule.py`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, product

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.control_flow import LoopOp, StepOp
from xdsl_rlx.dialects.lir.memory import byte_size, element_bytes, is_contiguous, span_elements, strides_of
from xdsl_rlx.dialects.lir.program import ViewOp, memref_of

ITERATIONS_LOOKED_AT = 64


@dataclass(frozen=True)
class LoopMove:
    """How far a place lies behind its start in iteration `i`: `stride * ((i + shift) mod period)` bytes."""

    loop: LoopOp
    stride: int
    shift: int = 0
    """0 where there is no period: the start counts it in."""
    period: int | None = None
    """None: nothing wraps around."""

    def at(self, iteration: int) -> int:
        """The bytes in one iteration."""
        step = iteration + self.shift
        return self.stride * (step if self.period is None else step % self.period)

    @property
    def most(self) -> int:
        """The bytes it is at most."""
        return self.stride * max((self.loop.count if self.period is None else self.period) - 1, 0)


@dataclass(frozen=True)
class ByteSpan:
    """Where a buffer lies: bytes `[start, stop)` of what `root` declares; `dense` when it takes all, and not none."""

    root: SSAValue
    start: int
    stop: int
    dense: bool
    moves: tuple[LoopMove, ...] = ()

    @property
    def end(self) -> int:
        """Where it ends in the iteration in which it lies last."""
        return self.stop + sum(move.most for move in self.moves) if self.moves else self.stop

    def meets(self, other: "ByteSpan") -> bool:
        """Whether bytes of both are surely the same in an iteration; of many iterations the first are looked at."""
        if self.root is not other.root or not self.dense or not other.dense:
            return False
        if self.moves == other.moves:
            return self.start < other.stop and other.start < self.stop
        loops = list(dict.fromkeys(move.loop for move in (*self.moves, *other.moves)))
        for numbers in islice(product(*(range(loop.count) for loop in loops)), ITERATIONS_LOOKED_AT):
            iteration = dict(zip(loops, numbers, strict=True))
            here, there = self._at(iteration), other._at(iteration)
            if self.start + here < other.stop + there and other.start + there < self.stop + here:
                return True
        return False

    def _at(self, iteration: Mapping[LoopOp, int]) -> int:
        return sum(move.at(iteration[move.loop]) for move in self.moves)

    def may_meet(self, other: "ByteSpan") -> bool:
        """Whether bytes of both, under one root, may be the same in an iteration."""
        if self.start >= other.end or other.start >= self.end:
            return False
        own = [move for move in self.moves if move not in other.moves]
        others = [move for move in other.moves if move not in self.moves]
        if not own and not others:
            return self.start < other.stop and other.start < self.stop
        if len(own) == len(others) == 1 and (distances := _distances(own[0], others[0])):
            return any(self.start + d < other.stop and other.start < self.stop + d for d in distances)
        ahead, behind = sum(move.most for move in own), sum(move.most for move in others)
        return self.start < other.stop + behind and other.start < self.stop + ahead


def _distances(one: LoopMove, other: LoopMove) -> tuple[int, ...]:
    """How far `one` lies behind `other` in one iteration or another; empty where that is not one of two numbers."""
    if one.period is None or (one.loop, one.stride, one.period) != (other.loop, other.stride, other.period):
        return ()
    ahead = (one.shift - other.shift) % one.period
    return ahead * one.stride, (ahead - one.period) * one.stride


def place_of(op: Operation, place: Callable[[SSAValue], ByteSpan], start: int = 0) -> ByteSpan:
    """The place of the buffer that an op defines, by those of its sources; what is no alias begins at `start`."""
    (result,) = op.results
    if not isinstance(op, ViewOp | StepOp):
        size = byte_size(memref_of(result))
        return ByteSpan(result, start, start + size, size > 0)
    source, type_ = place(op.source), memref_of(result)
    size = element_bytes(type_.element_type)
    span = span_elements(type_) * size
    dense = span > 0 and is_contiguous(type_)
    if isinstance(op, ViewOp):
        begin = source.start + op.offset.value.data * size
        return ByteSpan(source.root, begin, begin + span, dense, source.moves)
    stride, begin, shift = strides_of(memref_of(op.source))[0] * size, source.start, op.moved
    if op.period is None:
        begin, shift = begin + stride * shift, 0
    moves = (*source.moves, LoopMove(op.loop, stride, shift, op.period)) if stride else source.moves
    return ByteSpan(source.root, begin, begin + span, dense, moves)
