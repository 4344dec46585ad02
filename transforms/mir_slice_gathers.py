"""The pass `mir-slice-gathers`: gathers at known, evenly spaced places become slices and overlapping windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.constants import is_integer
from xdsl_rlx.dialects.mir import cast, creation, elementwise, index, shape
from xdsl_rlx.dialects.mir.compositions import every, frames
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.int_ranges import IntRanges, limits_of

DEPTH = 16
"""Ops in a row that are looked at."""
MOST_READ = 1 << 17
"""Elements of a constant that is read."""
_FORMATS: dict[Attribute, Literal["b", "h", "i", "q"]] = {i8: "b", i16: "h", i32: "i", i64: "q"}
"""Formats of `memoryview`."""
MOST_BLOCKS = 16
"""Hops in a window: a window is put together from as many copies."""
LEAST_HOP = 16
"""Elements in a row that are copied at once; fewer take longer than to gather one by one."""


class Even(NamedTuple):
    """Integers `start + sum_d steps[d] i[d]` for the positions `i` of a tensor."""

    start: int
    steps: tuple[int, ...]

    def reach(self, extents: Sequence[int]) -> tuple[int, int]:
        """The least and the greatest of the numbers."""
        ends = [step * (n - 1) for step, n in zip(self.steps, extents, strict=True)]
        return self.start + sum(min(end, 0) for end in ends), self.start + sum(max(end, 0) for end in ends)


def even(x: SSAValue, depth: int = DEPTH) -> Even | None:
    """The start and the steps of integers that are evenly spaced along each dimension; steps along 1 are 0."""
    op, element, extents = x.owner, element_of(x), shape_of(x)
    rule = _RULES.get(type(op))
    if rule is None or not depth or not is_integer(element) or element == i1 or 0 in extents:
        return None
    found = rule(op, depth - 1)
    if found is None:
        return None
    found = Even(found.start, tuple(0 if n == 1 else step for n, step in zip(extents, found.steps, strict=True)))
    (low, high), (least, most) = found.reach(extents), limits_of(element)
    return found if least <= low and high <= most else None


def _aligned(x: SSAValue, to: SSAValue, depth: int) -> Even | None:
    """An operand that broadcasts to a result, with a step for each dimension of that."""
    found = even(x, depth)
    return None if found is None else Even(found.start, (0,) * (len(shape_of(to)) - len(found.steps)) + found.steps)


def _constant(op: elementwise.ConstantOp, depth: int) -> Even | None:
    layout, extents = _FORMATS.get(element_of(op.result)), shape_of(op.result)
    if prod(extents) > MOST_READ or layout is None:
        return None
    values: list[int] = list(memoryview(op.value.data.data).cast(layout))
    if len(values) == 1:
        return Even(values[0], (0,) * len(extents))
    steps = list[int]()
    last = values[0]
    for d, n in enumerate(extents):
        stride = prod(extents[d + 1 :])
        steps.append(values[stride] - values[0] if n > 1 else 0)
        last += steps[-1] * (n - 1)
    if values[-1] != last:
        return None
    expected = [values[0]]
    for n, step in zip(extents, steps, strict=True):
        expected = [one + step * i for one in expected for i in range(n)]
    return Even(values[0], tuple(steps)) if values == expected else None


def _iota(op: creation.IotaOp, depth: int) -> Even | None:
    return Even(0, tuple(int(d == op.axis_index) for d in range(len(shape_of(op.result)))))


def _sum(op: elementwise.AddOp | elementwise.SubOp, depth: int) -> Even | None:
    lhs, rhs = (_aligned(x, op.result, depth) for x in op.operands)
    if lhs is None or rhs is None:
        return None
    sign = -1 if isinstance(op, elementwise.SubOp) else 1
    return Even(lhs.start + sign * rhs.start, tuple(a + sign * b for a, b in zip(lhs.steps, rhs.steps, strict=True)))


def _product(op: elementwise.MulOp, depth: int) -> Even | None:
    lhs, rhs = (_aligned(x, op.result, depth) for x in op.operands)
    if lhs is None or rhs is None or (any(lhs.steps) and any(rhs.steps)):
        return None
    moving, by = (lhs, rhs.start) if any(lhs.steps) else (rhs, lhs.start)
    return Even(moving.start * by, tuple(step * by for step in moving.steps))


def _reshape(op: shape.ReshapeOp, depth: int) -> Even | None:
    before, after = shape_of(op.operand), shape_of(op.result)
    if [n for n in before if n != 1] != [n for n in after if n != 1] or (found := even(op.operand, depth)) is None:
        return None
    steps = iter([step for n, step in zip(before, found.steps, strict=True) if n != 1])
    return Even(found.start, tuple(0 if n == 1 else next(steps) for n in after))


def _expand(op: shape.ExpandOp, depth: int) -> Even | None:
    return _aligned(op.operand, op.result, depth)


def _transpose(op: shape.TransposeOp, depth: int) -> Even | None:
    found = even(op.operand, depth)
    return None if found is None else Even(found.start, tuple(found.steps[p] for p in op.perm_list))


def _cast(op: cast.CastOp, depth: int) -> Even | None:
    return even(op.operand, depth)


def _where(op: elementwise.WhereOp, depth: int) -> Even | None:
    """One side, as where negative indices would count from the end and there are none."""
    known = IntRanges().of(op.cond)
    if known is None or known[0] != known[1]:
        return None
    return _aligned(op.on_true if known[0] else op.on_false, op.result, depth)


_RULES: dict[type[Any], Callable[[Any, int], Even | None]] = {
    elementwise.ConstantOp: _constant,
    creation.IotaOp: _iota,
    elementwise.AddOp: _sum,
    elementwise.SubOp: _sum,
    elementwise.MulOp: _product,
    elementwise.WhereOp: _where,
    shape.ReshapeOp: _reshape,
    shape.ExpandOp: _expand,
    shape.TransposeOp: _transpose,
    cast.CastOp: _cast,
}


class MirSliceGathersPass(RewritingPass):
    """
    Replace gathers at integers that are evenly spaced along one or two dimensions.

    ```
    %i = mir.add %starts, %steps : (tensor<5x1xi64>, tensor<1x400xi64>)   // 0, 160, .. and 0, 1, ..
    %y = mir.gather %x, %i axis 0
    // becomes a concatenation of narrows of %x as rows of 160
    ```

    The indices are sums and multiples of `mir.iota` and constants, and in range. Gradients of slices are sums of
    padded arrays, which are faster than a scatter.
    """

    name = "mir-slice-gathers"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, _SliceGather())


class _SliceGather(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: index.GatherOp, rewriter: PatternRewriter) -> None:
        if (found := _place(op)) is not None and (taken := _taken(op, MirBuilder(rewriter), *found)) is not None:
            rewriter.replace(op, [], [taken.ssa])


def _place(op: index.GatherOp) -> tuple[Even, Sequence[int]] | None:
    """The indices of a gather, which are in range and rise, and the one or two dimensions that they rise along."""
    if op.batch_dims.value.data or not isinstance(op.indices.owner, Operation):
        return None
    extents = shape_of(op.indices)
    wide = [d for d, n in enumerate(extents) if n != 1]
    found = even(op.indices) if len(wide) in (1, 2) else None
    if found is None:
        return None
    low, high = found.reach(extents)
    is_inside = low >= 0 and high < shape_of(op.table)[op.axis_index]
    return (found, wide) if is_inside and all(found.steps[d] > 0 for d in wide) else None


def _taken(op: index.GatherOp, b: MirBuilder, at: Even, wide: Sequence[int]) -> Value | None:
    table, axis, extents = b.value(op.table), op.axis_index, shape_of(op.indices)
    low, high = at.reach(extents)
    if len(wide) == 1:
        taken = every(table, axis, range(low, high + 1, at.steps[wide[0]]))
    else:
        taken = _windows(b, table, axis, low, [(extents[d], at.steps[d]) for d in wide])
    return None if taken is None else b.reshape(taken, shape_of(op.result))


def _windows(b: MirBuilder, table: Value, axis: int, start: int, loops: Sequence[tuple[int, int]]) -> Value | None:
    """The windows `[.., n, m, ..]` of two loops over an axis, `(extent, step)` each, of which one goes by 1."""
    (count, hop), (length, step) = loops
    is_swapped = step != 1
    if is_swapped:
        (length, step), (count, hop) = loops
    outer, inner = table.shape[:axis], table.shape[axis + 1 :]
    if step != 1 or -(-length // hop) > MOST_BLOCKS or min(hop, length) * prod(inner) < LEAST_HOP:
        return None
    rows = b.narrow(table, axis, start, (count - 1) * hop + length)
    flat = b.reshape(rows, (*outer, rows.shape[axis] * prod(inner)))
    found = b.reshape(frames(b, flat, length * prod(inner), hop * prod(inner)), (*outer, count, length, *inner))
    order = [*range(axis), axis + 1, axis, *range(axis + 2, found.rank)]
    return b.transpose(found, order) if is_swapped else found
