"""Integers in the body of a loop as functions of the number of the iteration: `start + step t`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_rlx.dialects.constants import integer_range, splat_value
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import (
    AddOp,
    AndOp,
    CompareOp,
    ConstantOp,
    EqOp,
    GeOp,
    GtOp,
    LeOp,
    LtOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    NeOp,
    SubOp,
    WhereOp,
)
from xdsl_rlx.dialects.mir.rounding import OrOp
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp
from xdsl_rlx.dialects.shapes import INTS, element_of, shape_of


@dataclass(frozen=True)
class Line:
    """`start + step t` in iteration t, which counts from 0; a truth value is 0 or 1."""

    start: int
    step: int

    def at(self, t: int) -> int:
        """The number in an iteration."""
        return self.start + self.step * t

    def last(self, times: int) -> int:
        """The number in the last of some iterations."""
        return self.at(times - 1)

    def reversed(self, times: int) -> Line:
        """The same numbers from the last iteration to the first."""
        return Line(self.last(times), -self.step)

    def is_within(self, times: int, extent: int) -> bool:
        """Whether all numbers are positions of an axis."""
        ends = self.start, self.last(times)
        return min(ends) >= 0 and max(ends) < extent

    def fits(self, times: int, element: Attribute) -> bool:
        """Whether an element type has all of the numbers."""
        if element not in (*INTS, i1):
            return False
        low, high = _range(element)
        ends = self.start, self.last(times)
        return low <= min(ends) and max(ends) <= high

    def __sub__(self, other: Line) -> Line:
        return Line(self.start - other.start, self.step - other.step)


class Counters:
    """The lines of values of a block, found on demand."""

    def __init__(self, block: Block, given: Mapping[SSAValue, Line], times: int | None, width: int | None = None):
        """
        `given` are lines of arguments; `times` is how often the block is run, None if that is not known.

        With `width`, lines are modulo 2 to this number of bits: integers of at least as many may be converted.
        """
        self.block, self.times, self.width = block, times, width
        self._lines: dict[SSAValue, Line | None] = dict(given)

    @staticmethod
    def constant(x: SSAValue) -> int | None:
        """The integer or truth value that a value without axes, or with one element, is everywhere."""
        owner = x.owner
        while isinstance(owner, ReshapeOp | ExpandOp):
            owner = owner.operands[0].owner
        if not isinstance(owner, ConstantOp) or not isinstance(element_of(owner.result), IntegerType):
            return None
        number = splat_value(owner.value)
        return None if number is None or isinstance(number, complex) else int(number)

    def line(self, x: SSAValue) -> Line | None:
        """The line of a value of one element; None if it is no such function."""
        if x not in self._lines:
            self._lines[x] = self._found(x)
        return self._lines[x]

    def _found(self, x: SSAValue) -> Line | None:
        op = x.owner
        if not isinstance(op, Operation) or any(n != 1 for n in shape_of(x)):
            return None
        if isinstance(op, ConstantOp):
            number = self.constant(x)
            return None if number is None else Line(number, 0)
        if not isinstance(op, _KNOWN):
            return None
        operands = [self.line(one) for one in op.operands]
        if isinstance(op, CastOp) and not self._converts(op):
            return None
        line = _of_op(op, operands, self.times)
        # integers wrap where a line does not fit
        return line if line is not None and line.fits(self.times or 1, element_of(x)) else None

    def _converts(self, op: CastOp) -> bool:
        """Whether a conversion is between integers, and changes none; a line that is known in length is checked."""
        source, to = element_of(op.operand), element_of(op.result)
        if source not in (*INTS, i1) or to not in INTS:
            return False
        if self.times is not None:
            return True
        (low, high), (least, most) = _range(source), _range(to)
        if self.width is not None:
            return min(high - low, most - least) >= (1 << self.width) - 1
        return least <= low and high <= most


_KNOWN = (AddOp, SubOp, MulOp, NegOp, MaxOp, MinOp, CastOp, ReshapeOp, ExpandOp, CompareOp, WhereOp, AndOp, OrOp)


def _of_op(op: Operation, lines: list[Line | None], times: int | None) -> Line | None:
    if isinstance(op, WhereOp):
        return _of_where(lines, times)
    a, b = lines[0], lines[-1]
    if a is None or b is None:
        return None
    match op:
        case AddOp():
            return Line(a.start + b.start, a.step + b.step)
        case SubOp():
            return a - b
        case MulOp():
            return None if a.step and b.step else Line(a.start * b.start, a.start * b.step + a.step * b.start)
        case NegOp():
            return Line(-a.start, -a.step)
        case MaxOp():
            return _larger(a, b, times)
        case MinOp():
            return _larger(b, a, times, smaller=True)
        case CompareOp():
            return _compared(op, a - b, times)
        case AndOp() | OrOp():
            return Line(a.start & b.start if isinstance(op, AndOp) else a.start | b.start, 0) if _fixed(a, b) else None
        case _:
            return a


def _range(element: Attribute) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    if element == i1:
        return 0, 1
    return next(integer_range(one) for one in INTS if one == element)


def _fixed(*lines: Line) -> bool:
    return not any(line.step for line in lines)


def _of_where(lines: list[Line | None], times: int | None) -> Line | None:
    """One of two lines, where the same one is chosen in all iterations."""
    condition, then, otherwise = lines
    if condition is None or condition.step:
        return None
    return then if condition.start else otherwise


def _ends(line: Line, times: int | None) -> tuple[int, int] | None:
    """The numbers at both ends of the loop; None where it may go on for ever."""
    if times is None and line.step:
        return None
    return line.start, line.last(times or 1)


def _larger(a: Line, b: Line, times: int | None, smaller: bool = False) -> Line | None:
    """That of two lines which is not below the other one in any iteration; with `smaller`, the lower one."""
    ends = _ends(a - b, times)
    if ends is None:
        return None
    if min(ends) >= 0:
        return b if smaller else a
    return (a if smaller else b) if max(ends) <= 0 else None


def _compared(op: CompareOp, line: Line, times: int | None) -> Line | None:
    """A comparison with 0 that has one result in all iterations."""
    ends = _ends(line, times)
    if ends is None:
        return None
    low, high = min(ends), max(ends)
    match op:
        case LtOp():
            always, never = high < 0, low >= 0
        case LeOp():
            always, never = high <= 0, low > 0
        case GtOp():
            always, never = low > 0, high <= 0
        case GeOp():
            always, never = low >= 0, high < 0
        case EqOp():
            always, never = low == high == 0, low > 0 or high < 0
        case _:
            always, never = low > 0 or high < 0, low == high == 0
    return Line(1, 0) if always else Line(0, 0) if never else None


def trips_of(counters: Counters, asked: SSAValue) -> int | None:
    """How often a condition is true before it is false; None if it is no comparison of lines, or is always true."""
    op = asked.owner
    if not isinstance(op, CompareOp):
        fixed = counters.line(asked)
        return 0 if fixed == Line(0, 0) else None
    a, b = (counters.line(one) for one in op.operands)
    if a is None or b is None or shape_of(asked):
        return None
    times = _trips(op, a - b)
    # the numbers that end the loop must not wrap
    ends = times is not None and all(
        line.fits(times + 1, element_of(x)) for line, x in zip((a, b), op.operands, strict=True)
    )
    return times if ends else None


def _trips(op: CompareOp, line: Line) -> int | None:
    """How often a comparison of a line with 0 is true before it is false."""
    if isinstance(op, GtOp | GeOp):
        line = Line(-line.start, -line.step)
    match op:
        case LtOp() | GtOp():
            bound = -line.start
        case LeOp() | GeOp():
            bound = -line.start + 1
        case NeOp():
            return _until_zero(line)
        case _:
            return None if line == Line(0, 0) else int(line.start == 0)
    # true while `step t < bound`
    if bound <= 0:
        return 0
    return None if line.step <= 0 else -(-bound // line.step)


def _until_zero(line: Line) -> int | None:
    if not line.start:
        return 0
    if not line.step or line.start % line.step or line.start // line.step > 0:
        return None
    return -line.start // line.step
