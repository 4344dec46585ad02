"""Where the buffers of a program lie: the bytes of what their root declares, and how these move in loops.
Which launches may pass what is in `schedule.py`."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.buffers import ViewOp
from xdsl_rlx.dialects.lir.control_flow import LoopOp, StepOp
from xdsl_rlx.dialects.lir.memory import byte_size, element_bytes, is_contiguous, memref_of, span_elements, strides_of
from xdsl_rlx.dialects.lir.overlap import Term, meets_window


@dataclass(frozen=True)
class LoopMove:
    """How far a place lies behind its start in iteration `i`: `stride * ((i + shift) mod period)` bytes."""

    loop: LoopOp
    stride: int
    shift: int = 0
    """0 where there is no period: the start counts it in."""
    period: int | None = None
    """None: nothing wraps around."""

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
        """Whether bytes of both are surely the same in an iteration."""
        return self.root is other.root and self.dense and other.dense and self._overlaps(other) is True

    def may_meet(self, other: "ByteSpan") -> bool:
        """Whether bytes of both, under one root, may be the same in an iteration."""
        return self._overlaps(other) is not False

    def _overlaps(self, other: "ByteSpan") -> bool | None:
        """Whether the spans share a byte in an iteration; None where `meets_window` does not decide it."""
        if self.moves == other.moves:
            return self.start < other.stop and other.start < self.stop
        if self.start >= other.end or other.start >= self.end:
            return False
        terms: dict[LoopOp, list[Term]] = {}
        own, others = Counter(self.moves), Counter(other.moves)
        for sign, moves in ((1, own - others), (-1, others - own)):
            for move in moves.elements():
                terms.setdefault(move.loop, []).append(Term(sign * move.stride, move.shift, move.period))
        # how far this span is moved against the other one, so that each begins in front of the end of the other
        low, high = other.start - self.stop + 1, other.stop - self.start - 1
        return meets_window([(loop.count, found) for loop, found in terms.items()], low, high)


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
