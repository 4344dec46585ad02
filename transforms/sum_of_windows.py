"""Sums of tensors that are zero outside of a window each, as the gradient of many slices of one value is.

Windows that do not overlap become parts of one concat, so that work and memory are those of the value, not of all sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ConcatOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat


@dataclass(frozen=True)
class Window:
    """A tensor between zeros: elements [start, end) of an axis are `part`."""

    axis: int
    start: int
    end: int
    part: SSAValue


class MergeWindows(RewritePattern):
    """In a sum of windows, windows side by side become one term. Where more than two overlap, they are added in another
    order."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if is_term(op):
            return
        terms, adds = _terms(op)
        windows = [window(term) for term in terms]
        layers = _layers([found for found in windows if found is not None])
        if any(len(layer) > 1 for layer in layers):
            rest = [term for term, found in zip(terms, windows, strict=True) if found is None]
            rewriter.replace(op, [], [_sum(MirBuilder(rewriter), shape_of(op.result), rest, layers)])
            merged = [term.owner for term, found in zip(terms, windows, strict=True) if found is not None]
            for gone in (*adds[1:], *merged):
                if isinstance(gone, Operation):
                    rewriter.erase(gone)


def is_sum(op: object) -> bool:
    """Whether an op adds tensors of one shape."""
    return isinstance(op, AddOp) and op.lhs.type == op.rhs.type == op.result.type


def is_term(op: AddOp) -> bool:
    """Whether a sum is a term of another, and of nothing else."""
    use = op.result.get_user_of_unique_use()
    return use is not None and is_sum(op) and is_sum(use)


def _terms(root: AddOp) -> tuple[list[SSAValue], list[Operation]]:
    """The terms of a sum in order, and its additions, users first."""
    terms: list[SSAValue] = []
    adds: list[Operation] = []
    waiting: list[SSAValue] = [root.result]
    while waiting:
        value = waiting.pop()
        op = value.owner
        if isinstance(op, AddOp) and (op is root or is_term(op)) and is_sum(op):
            adds.append(op)
            waiting += (op.rhs, op.lhs)
        else:
            terms.append(value)
    return terms, adds


def window(value: SSAValue) -> Window | None:
    """The value as one window, if it is a concat of one part and zeros."""
    op = value.owner
    if not isinstance(op, ConcatOp) or not value.has_one_use():
        return None
    inside = [number for number, part in enumerate(op.parts) if splat(part) != 0]
    if len(inside) != 1:
        return None
    axis = op.axis_index
    extents = [shape_of(part)[axis] for part in op.parts]
    start = sum(extents[: inside[0]])
    return Window(axis, start, start + extents[inside[0]], op.parts[inside[0]])


def _sum(b: MirBuilder, shape: Sequence[int], rest: Sequence[SSAValue], layers: Iterable[Sequence[Window]]) -> SSAValue:
    total: Value | None = None
    for value in (*map(b.value, rest), *(_concat(b, shape, layer) for layer in layers)):
        total = value if total is None else b.add(total, value)
    assert total is not None
    return total.ssa


def _layers(windows: Iterable[Window]) -> list[list[Window]]:
    """The windows in as few groups as their overlaps allow; within a group they are side by side."""
    ends: dict[int, list[tuple[int, int]]] = {}
    layers: list[list[Window]] = []
    for window in sorted(windows, key=lambda w: (w.axis, w.start)):
        free = ends.setdefault(window.axis, [])
        if free and free[0][0] <= window.start:
            _, number = heappop(free)
            layers[number].append(window)
        else:
            number = len(layers)
            layers.append([window])
        heappush(free, (window.end, number))
    return layers


def _concat(b: MirBuilder, shape: Sequence[int], layer: Sequence[Window]) -> Value:
    """Windows side by side, with zeros between them."""
    axis = layer[0].axis
    parts: list[Value] = []
    at = 0

    def zeros(upto: int) -> None:
        if upto > at:
            parts.append(b.full([*shape[:axis], upto - at, *shape[axis + 1 :]], 0, b.value(layer[0].part).dtype))

    for window in layer:
        zeros(window.start)
        parts.append(b.value(window.part))
        at = window.end
    zeros(shape[axis])
    return b.concat(parts, axis) if len(parts) > 1 else parts[0]
