"""Sums of one tensor at several offsets, as the gradient of a stencil is: slices of one copy of it between zeros.

A kernel then reads the copy at all offsets. Each term on its own would be a tensor between zeros, in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, prod
from operator import add

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.elementwise import AddOp, MulOp, NegOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ConcatOp
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.sum_of_windows import is_sum, is_term, window

MARGIN = 1.25
"""How many times as large as the sum the copy may be: stencils are narrow, and a copy is written and read."""


@dataclass(frozen=True)
class Shift:
    """A term of a sum: `scale` times `base`, which begins at `offsets` along the axes of the sum."""

    base: SSAValue
    scale: float
    offsets: tuple[int, ...]


class MergeShifts(RewritePattern):
    """Read the terms of a sum that are one tensor at several offsets from one copy of it between zeros."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if is_term(op) or not is_sum(op) or element_of(op.result) not in FLOATS:
            return
        shape = shape_of(op.result)
        groups: dict[SSAValue, list[Shift]] = {}
        for term in _shifts(op):
            groups.setdefault(term.base, []).append(term)
        merged = [group for group in groups.values() if _is_stencil(group, shape)]
        if not merged:
            return
        b = MirBuilder(rewriter)
        total: Value | None = None
        for group in groups.values():
            for value in _slices(b, group, shape) if group in merged else (_between_zeros(b, x, shape) for x in group):
                total = value if total is None else b.add(total, value)
        assert total is not None
        sides = [side.owner for side in op.operands]
        rewriter.replace(op, [], [total.ssa])
        for side in sides:
            _erase_unused(rewriter, side)


def _shifts(root: AddOp) -> Iterable[Shift]:
    """The terms of a sum, through sums and windows that nothing else uses."""
    nowhere = tuple(0 for _ in shape_of(root.result))
    waiting = [(side, nowhere) for side in reversed(root.operands)]
    while waiting:
        value, offsets = waiting.pop()
        op = value.owner
        if isinstance(op, AddOp) and is_sum(op) and value.has_one_use():
            waiting += [(side, offsets) for side in reversed(op.operands)]
        elif (found := window(value)) is not None:
            moved = tuple(n + found.start * (axis == found.axis) for axis, n in enumerate(offsets))
            waiting.append((found.part, moved))
        else:
            yield _scaled_term(value, offsets)


def _scaled_term(value: SSAValue, offsets: tuple[int, ...]) -> Shift:
    """A term without the numbers that it is multiplied by."""
    base, scale = value, 1.0
    while (factor := _factor(base.owner)) is not None:
        base, more = factor
        scale *= more
    return Shift(base, scale, offsets) if isfinite(scale) else Shift(value, 1.0, offsets)


def _factor(op: object) -> tuple[SSAValue, float] | None:
    """What an op multiplies by a number, and the number."""
    if isinstance(op, NegOp):
        return op.operand, -1.0
    if isinstance(op, MulOp):
        for x, y in (op.operands, reversed(op.operands)):
            if x.type == op.result.type and (number := splat(y)) is not None and not isinstance(number, complex):
                return x, float(number)
    return None


def _is_stencil(group: Sequence[Shift], shape: Sequence[int]) -> bool:
    """Whether terms of one base are better read from one copy: they overlap, and reach little beyond each other."""
    if not overlap({term.offsets for term in group}, shape_of(group[0].base)):
        return False
    extents = [n + high - low for n, (low, high) in zip(shape, _ends(group), strict=True)]
    return prod(extents) <= MARGIN * prod(shape)


def overlap(places: Iterable[tuple[int, ...]], extents: Sequence[int]) -> bool:
    """Whether any two windows of one size share elements: those in one cell of a grid, or in neighbouring cells."""
    cells: dict[tuple[int, ...], tuple[int, ...]] = {}
    for place in places:
        if cells.setdefault(tuple(a // max(n, 1) for a, n in zip(place, extents, strict=True)), place) != place:
            return True
    for cell, place in cells.items():
        for step in product((-1, 0, 1), repeat=len(cell)):
            other = cells.get(tuple(map(add, cell, step)), place)
            if other != place and all(abs(a - b) < n for a, b, n in zip(place, other, extents, strict=True)):
                return True
    return False


def _ends(group: Sequence[Shift]) -> list[tuple[int, int]]:
    """The least and the largest offset along each axis."""
    return [(min(along), max(along)) for along in zip(*(term.offsets for term in group), strict=True)]


def _slices(b: MirBuilder, group: Sequence[Shift], shape: Sequence[int]) -> Iterable[Value]:
    """The terms as slices of the base between so many zeros that each is inside."""
    base, ends = group[0].base, _ends(group)
    padded = b.value(base)
    for axis, (low, high) in enumerate(ends):
        padded = _padded(b, padded, axis, high, shape[axis] - low - shape_of(base)[axis])
    scales: dict[tuple[int, ...], float] = {}
    for term in group:
        scales[term.offsets] = scales.get(term.offsets, 0.0) + term.scale
    for offsets, scale in scales.items():
        found = padded
        for axis, ((_, high), offset) in enumerate(zip(ends, offsets, strict=True)):
            if found.shape[axis] != shape[axis]:
                found = b.narrow(found, axis, high - offset, shape[axis])
        yield _scaled(b, found, scale)


def _between_zeros(b: MirBuilder, term: Shift, shape: Sequence[int]) -> Value:
    found = _scaled(b, b.value(term.base), term.scale)
    for axis, (offset, n) in enumerate(zip(term.offsets, shape, strict=True)):
        found = _padded(b, found, axis, offset, n - offset - found.shape[axis])
    return found


def _scaled(b: MirBuilder, x: Value, scale: float) -> Value:
    return x if scale == 1 else b.neg(x) if scale == -1 else b.mul(x, b.constant(scale, x.dtype))


def _padded(b: MirBuilder, x: Value, axis: int, before: int, after: int) -> Value:
    """A value between zeros along an axis."""
    shape = x.shape
    zeros = [b.full([*shape[:axis], n, *shape[axis + 1 :]], 0, x.dtype) if n else None for n in (before, after)]
    parts = [part for part in (zeros[0], x, zeros[1]) if part is not None]
    return b.concat(parts, axis) if len(parts) > 1 else x


def _erase_unused(rewriter: PatternRewriter, owner: object) -> None:
    """Erase sums, windows and scaled tensors that nothing uses any more."""
    waiting = [owner]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, AddOp | ConcatOp | NegOp | MulOp) or op.parent is None:
            continue
        if op.results[0].first_use is None:
            operands: list[Operation | object] = [x.owner for x in op.operands]
            rewriter.erase(op)
            waiting += operands
