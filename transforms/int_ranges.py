"""Ranges of integers: the least and the greatest number that a value can hold. No rewriting is here."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir import branch, cast, creation, elementwise, index, reduce, rounding, scan, shape
from xdsl_rlx.dialects.shapes import element_of, shape_of

Range: TypeAlias = tuple[int, int]

DEPTH = 64
"""Ops in a row that are looked at."""
MOST_READ = 1 << 20
"""Bytes of a constant that is read."""

_VIEWS = (shape.ReshapeOp, shape.TransposeOp, shape.NarrowOp, shape.FlipOp, shape.ExpandOp, elementwise.StopGradientOp)
_SAME_ELEMENTS = (reduce.ReduceMaxOp, reduce.ReduceMinOp)


class IntRanges:
    """Ranges of values, found when they are asked for."""

    def __init__(self) -> None:
        self._found: list[dict[SSAValue, Range]] = [{}]
        """What is known, and behind it what is known under an assumption on a carry, which is in it."""
        self._depth = 0

    def of(self, x: SSAValue) -> Range | None:
        """The range of an integer value; None for values of other element types."""
        return self.known(x) if isinstance(element_of(x), IntegerType) else None

    def known(self, x: SSAValue) -> Range:
        """The range of an integer value."""
        for known in reversed(self._found):
            if (found := known.get(x)) is not None:
                return found
        limits = limits_of(element_of(x))
        if self._depth >= DEPTH or 0 in shape_of(x):
            return limits
        self._depth += 1
        low, high = self._range(x) or limits
        self._depth -= 1
        found = (low, high) if limits[0] <= low and high <= limits[1] else limits
        self._found[-1][x] = found
        return found

    def _range(self, x: SSAValue) -> Range | None:
        if isinstance(x, BlockArgument):
            return self._argument(x)
        assert isinstance(x, OpResult)
        op = x.op
        if isinstance(op, scan.ScanOp):
            return self._scan_result(op, x.index)
        if isinstance(op, branch.IfOp | branch.SwitchOp):
            return _union([self.known(_yielded(block)[x.index]) for block in op.branches])
        rule = _RULES.get(type(op))
        return None if rule is None else rule(self, op)

    def _argument(self, x: BlockArgument) -> Range | None:
        """An element of what a scan goes over, a value from outside, or a carry."""
        block = x.block
        op = block.parent_op()
        if isinstance(op, scan.ScanOp):
            carries = len(op.init)
            if x.index < carries:
                return self._carry(op, x)
            return self.known((*op.xs, *op.captured)[x.index - carries])
        if isinstance(op, branch.IfOp | branch.SwitchOp | branch.RematOp):
            return self.known(op.captured[x.index])
        if isinstance(op, branch.WhileOp) and x.index >= len(op.init):
            return self.known(op.captured[x.index - len(op.init)])
        return None

    def _carry(self, op: scan.ScanOp, x: BlockArgument) -> Range | None:
        """The range of the first carry, if the body keeps it."""
        first = self.known(op.init[x.index])
        if first == limits_of(element_of(x)):
            return None
        self._found.append({x: first})
        low, high = self.known(_yielded(op.body.block)[x.index])
        self._found.pop()
        return first if first[0] <= low and high <= first[1] else None

    def _scan_result(self, op: scan.ScanOp, number: int) -> Range | None:
        if number < len(op.init):
            return self.known(op.body.block.args[number]) if op.times else self.known(op.init[number])
        return self.known(_yielded(op.body.block)[number])


def limits_of(element: Attribute) -> Range:
    """The least and greatest number of an element type."""
    if not isinstance(element, IntegerType):
        raise TypeError(f"expected an integer type, got {element}")
    return (0, 1) if element == i1 else constants.integer_range(element)


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    assert last is not None
    return last.operands


def _union(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


Rule: TypeAlias = Callable[[IntRanges, Any], Range | None]
_RULES: dict[type[Operation], Rule] = {}


def _rule(*ops: type[Operation]) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for op in ops:
            _RULES[op] = function
        return function

    return register


@_rule(*_VIEWS, *_SAME_ELEMENTS)
def _first(r: IntRanges, op: Any) -> Range | None:
    return None if 0 in shape_of(op.operands[0]) else r.known(op.operands[0])


@_rule(elementwise.ConstantOp)
def _constant(r: IntRanges, op: elementwise.ConstantOp) -> Range | None:
    value = op.value
    if len(value.data.data) > MOST_READ:
        return None
    found = [int(x) for x in value.get_values()]
    if not found:
        return None
    if element_of(op.result) == i1:
        return int(all(found)), int(any(found))
    return min(found), max(found)


@_rule(creation.IotaOp)
def _iota(r: IntRanges, op: creation.IotaOp) -> Range | None:
    return 0, shape_of(op.result)[op.axis_index] - 1


@_rule(index.TopkOp)
def _topk(r: IntRanges, op: index.TopkOp) -> Range | None:
    return 0, shape_of(op.operand)[-1] - 1


@_rule(index.BisectOp)
def _bisect(r: IntRanges, op: index.BisectOp) -> Range | None:
    return 0, shape_of(op.table)[-1]


@_rule(index.GatherOp)
def _gather(r: IntRanges, op: index.GatherOp) -> Range | None:
    return r.known(op.table)


@_rule(shape.ConcatOp)
def _concat(r: IntRanges, op: shape.ConcatOp) -> Range | None:
    return _union([r.known(x) for x in op.parts])


@_rule(elementwise.WhereOp)
def _where(r: IntRanges, op: elementwise.WhereOp) -> Range | None:
    return _union([r.known(op.on_true), r.known(op.on_false)])


@_rule(cast.CastOp)
def _cast(r: IntRanges, op: cast.CastOp) -> Range | None:
    to, found = limits_of(element_of(op.result)), r.of(op.operand)
    if found is None or element_of(op.result) == i1:
        return None
    return found if to[0] <= found[0] and found[1] <= to[1] else None


@_rule(elementwise.MinOp)
def _min(r: IntRanges, op: elementwise.MinOp) -> Range | None:
    (low, high), (other_low, other_high) = (r.known(x) for x in op.operands)
    return min(low, other_low), min(high, other_high)


@_rule(elementwise.MaxOp)
def _max(r: IntRanges, op: elementwise.MaxOp) -> Range | None:
    (low, high), (other_low, other_high) = (r.known(x) for x in op.operands)
    return max(low, other_low), max(high, other_high)


@_rule(elementwise.AddOp)
def _add(r: IntRanges, op: elementwise.AddOp) -> Range | None:
    (low, high), (other_low, other_high) = (r.known(x) for x in op.operands)
    return None if element_of(op.result) == i1 else (low + other_low, high + other_high)


@_rule(elementwise.SubOp)
def _sub(r: IntRanges, op: elementwise.SubOp) -> Range | None:
    (low, high), (other_low, other_high) = (r.known(x) for x in op.operands)
    return None if element_of(op.result) == i1 else (low - other_high, high - other_low)


@_rule(elementwise.MulOp)
def _mul(r: IntRanges, op: elementwise.MulOp) -> Range | None:
    first, second = (r.known(x) for x in op.operands)
    products = [x * y for x in first for y in second]
    return min(products), max(products)


@_rule(elementwise.AndOp)
def _and(r: IntRanges, op: elementwise.AndOp) -> Range | None:
    (low, high), (other_low, other_high) = (r.known(x) for x in op.operands)
    if element_of(op.result) == i1:
        return min(low, other_low), min(high, other_high)
    tops = [top for bottom, top in ((low, high), (other_low, other_high)) if bottom >= 0]
    return (0, min(tops)) if tops else None


@_rule(rounding.OrOp, rounding.XorOp)
def _or(r: IntRanges, op: Any) -> Range | None:
    (low, high), (other_low, other_high) = (r.known(x) for x in op.operands)
    if element_of(op.result) == i1:
        is_or = isinstance(op, rounding.OrOp)
        return (max(low, other_low), max(high, other_high)) if is_or else None
    return (0, (1 << max(high, other_high).bit_length()) - 1) if min(low, other_low) >= 0 else None


@_rule(elementwise.ShiftRightLogicalOp)
def _shift(r: IntRanges, op: elementwise.ShiftRightLogicalOp) -> Range | None:
    (low, high), (by, most) = (r.known(x) for x in op.operands)
    element = element_of(op.result)
    assert isinstance(element, IntegerType)
    bits = element.width.data
    if not 0 <= by <= most < bits:
        return None
    if low >= 0:
        return low >> most, high >> by
    return (0, (1 << (bits - by)) - 1) if by else None


@_rule(rounding.RemOp)
def _rem(r: IntRanges, op: rounding.RemOp) -> Range | None:
    (low, high), (least, most) = (r.known(x) for x in op.operands)
    if least <= 0:
        return None
    return (0 if low >= 0 else max(low, 1 - most)), (0 if high <= 0 else min(high, most - 1))


@_rule(rounding.ModOp)
def _mod(r: IntRanges, op: rounding.ModOp) -> Range | None:
    least, most = r.known(op.operands[1])
    return (0, most - 1) if least > 0 else None


@_rule(rounding.FloordivOp)
def _floordiv(r: IntRanges, op: rounding.FloordivOp) -> Range | None:
    first, (least, most) = (r.known(x) for x in op.operands)
    if least <= 0:
        return None
    quotients = [x // y for x in first for y in (least, most)]
    return min(quotients), max(quotients)


def _comparison(decide: Callable[[Range, Range], bool | None]) -> Rule:
    def rule(r: IntRanges, op: Any) -> Range | None:
        lhs, rhs = (r.of(x) for x in op.operands)
        found = None if lhs is None or rhs is None else decide(lhs, rhs)
        return None if found is None else (int(found), int(found))

    return rule


def _less(a: Range, b: Range) -> bool | None:
    return True if a[1] < b[0] else False if a[0] >= b[1] else None


def _less_or_equal(a: Range, b: Range) -> bool | None:
    return True if a[1] <= b[0] else False if a[0] > b[1] else None


def _equal(a: Range, b: Range) -> bool | None:
    if a[1] < b[0] or b[1] < a[0]:
        return False
    return True if a[0] == a[1] == b[0] == b[1] else None


def _unequal(a: Range, b: Range) -> bool | None:
    found = _equal(a, b)
    return None if found is None else not found


_COMPARISONS: dict[type[Operation], Callable[[Range, Range], bool | None]] = {
    elementwise.EqOp: _equal,
    elementwise.NeOp: _unequal,
    elementwise.LtOp: _less,
    elementwise.LeOp: _less_or_equal,
    elementwise.GtOp: lambda a, b: _less(b, a),
    elementwise.GeOp: lambda a, b: _less_or_equal(b, a),
}

for _op, _decide in _COMPARISONS.items():
    _RULES[_op] = _comparison(_decide)
