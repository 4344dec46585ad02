"""Scans with `checkpoints` as nested scans: a gradient keeps where segments begin, and runs each of them again.

With k at least the square root of the length, segments are uniform: k starts are kept and length / k times of one
segment (T. Chen, B. Xu, C. Zhang, C. Guestrin: Training deep nets with sublinear memory cost, 2016). Below, a segment
is cut up in turn, which is the recursion of the same paper (its section 4.4): d levels of at most k starts each, with
k^d at least the length, and each time is run at most d times. Of all schedules, the binomial one (A. Griewank,
A. Walther: Algorithm 799, revolve, 2000) runs the fewest times for the same number of starts; its segments are all of
different lengths, so as loops of fixed lengths it has no form that does not grow with the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.scan import ScanOp, unstacked
from xdsl_rlx.dialects.shapes import shape_of


def segment_lengths(length: int, kept: int) -> list[int]:
    """How often each of the nested scans runs, the outermost first; what their product leaves over runs behind them."""
    if kept * kept >= length:
        each = -(-length // kept)
        found = [length // each, each]
    else:
        depth = next(d for d in count(2) if max(kept, 2) ** d >= length)
        base = next(n for n in count(2) if n**depth >= length)
        each = base ** (depth - 1)
        found = [length // each, *([base] * (depth - 1))]
    return found[1:] if found[0] == 1 else found


def in_segments(op: ScanOp, rewriter: PatternRewriter) -> list[ScanOp]:
    """
    Replace a scan with `checkpoints` by nested ones, in which the inner ones are `recomputed`.

    What is left over of the length runs behind them: kept whole if that is no more than a level keeps, because its
    gradient is over before that of the last segment begins, else in segments too. Returns the scans that stand there
    now, inner ones first; the scan itself where there is nothing to cut.
    """
    if op.kept is None or len(sizes := segment_lengths(op.times, op.kept)) == 1:
        return [op]
    rewriter.insertion_point = InsertPoint.before(op)
    b = MirBuilder(rewriter)
    whole = prod(sizes)
    rest = op.times - whole
    first = 0 if op.reverse is None else rest
    xs = [_times(b, x, first, whole) for x in op.xs]
    nested = [b.reshape(x, (*sizes, *x.shape[1:])).ssa for x in xs]
    made = _nest(b, op, sizes, op.init, nested, op.captured, op.recomputed is not None)
    carries, ys = [b.value(x) for x in made[-1].carries], list[Value]()
    for y, like in zip(made[-1].ys, op.ys, strict=True):
        ys.append(b.reshape(y, (whole, *shape_of(like)[1:])))
    tail = None
    if rest:
        over = [_times(b, x, whole - first if first == 0 else 0, rest).ssa for x in op.xs]
        kept = op.kept if rest > op.kept else None
        how = (op.reverse is not None, kept, op.recomputed is not None)
        tail = b.emit(ScanOp, [x.ssa for x in carries], over, op.captured, rest, _copy(op), *how)
        carries = [b.value(x) for x in tail.carries]
        pairs = [(y, b.value(more)) for y, more in zip(ys, tail.ys, strict=True)]
        ys = [b.concat(pair if op.reverse is None else pair[::-1], 0) for pair in pairs]
    rewriter.replace(op, [], [value.ssa for value in (*carries, *ys)])
    return made if tail is None else [*made, *in_segments(tail, rewriter)]


def _times(b: MirBuilder, x: SSAValue, first: int, length: int) -> Value:
    """Some of the elements of the leading axis."""
    return b.value(x) if length == shape_of(x)[0] else b.narrow(x, 0, first, length)


def _copy(op: ScanOp) -> Block:
    return op.body.clone().detach_block(0)


def _nest(
    b: MirBuilder,
    op: ScanOp,
    sizes: Sequence[int],
    init: Sequence[SSAValue],
    xs: Sequence[SSAValue],
    captured: Sequence[SSAValue],
    recomputed: bool,
) -> list[ScanOp]:
    """The body of a scan in nested ones, where `b` inserts; the outermost is the last of the list."""
    made: list[ScanOp] = []
    if len(sizes) == 1:
        block = _copy(op)
    else:
        block = Block(arg_types=[*(x.type for x in init), *map(unstacked, xs), *(x.type for x in captured)])
        n, m = len(init), len(init) + len(xs)
        inside, args = MirBuilder(Builder(InsertPoint.at_end(block))), block.args
        made = _nest(inside, op, sizes[1:], args[:n], args[n:m], args[m:], True)
        block.add_op(YieldOp(*made[-1].results))
    how = (op.reverse is not None, None, recomputed)
    return [*made, b.emit(ScanOp, init, xs, captured, sizes[0], block, *how)]


def is_recomputed(op: Operation) -> bool:
    """Whether the gradient of what is around an op runs it again, whatever it costs."""
    return isinstance(op, ScanOp) and op.recomputed is not None


def runs_segments(op: ScanOp) -> bool:
    """Whether a scan runs others that its gradient runs again: it is not to keep something of all their times."""
    return any(is_recomputed(inner) for inner in op.body.block.ops)
