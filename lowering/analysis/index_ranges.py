"""What can be known of the integers of a kernel without running it: intervals, and sums of earlier values.
What an op makes of such operands is in `integer_rows.py`; which accesses that is asked for in `lir_check_bounds.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_rlx.lowering.analysis.facts import Facts
from xdsl_rlx.lowering.analysis.integer_rows import ROWS
from xdsl_rlx.lowering.analysis.linear_sums import WIDE, Linear

Visit = Callable[[Operation], None]
_Ranges = list[tuple[int, int]]
"""The least and the greatest of each of some values; anything for those that are no integers."""
MOST_ROUNDS = 3
"""How often the carried values of a loop are widened before they count as unknown."""

_NEGATED = {"eq": "ne", "ne": "eq", "slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"} | {
    "ult": "uge",
    "ule": "ugt",
    "ugt": "ule",
    "uge": "ult",
}


def type_range(type_: Attribute) -> tuple[int, int]:
    """The values of an integer type, read as signed; those of i1 are 0 and 1."""
    if isinstance(type_, IntegerType):
        half = 1 << (type_.bitwidth - 1)
        return (0, 1) if half == 1 else (-half, half - 1)
    return -WIDE, WIDE - 1


def _is_integer(value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType | IndexType)


class IndexRanges(Facts):
    """
    The values of one kernel, walked in order.

    Invariant: `forms` holds what each integer seen so far is, wherever it was computed without wrapping around.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[SSAValue, Linear] = {}

    def walk(self, block: Block, visit: Visit) -> None:
        """Learn from the ops of a block, in order; `visit` sees each once, before it is learnt."""
        for op in block.ops:
            visit(op)
            if isinstance(op, scf.ForOp):
                self._for(op, visit)
            elif isinstance(op, scf.IfOp):
                self._if(op, visit)
            elif isinstance(op, scf.WhileOp):
                self._while(op, visit)
            else:
                for result in op.results:
                    if _is_integer(result):
                        self.forms[result] = self._within(result.type, self._result(op))

    def of(self, value: SSAValue) -> Linear:
        """What a value is."""
        if value not in self.forms:
            self.forms[value] = self.symbols.new(*type_range(value.type))
        return self.forms[value]

    def _within(self, type_: Attribute, x: Linear | None) -> Linear:
        """`x` where it cannot have wrapped around, else anything of the type."""
        low, high = type_range(type_)
        if x is not None:
            least, most = self.symbols.range(x)
            if least >= low and most <= high:
                return x
        return self.symbols.new(low, high)

    def _result(self, op: Operation) -> Linear | None:
        """What an op computes, were integers endless; None for no idea."""
        if isinstance(op, arith.ConstantOp):
            number = cast("IntegerAttr[Any]", op.value).value.data
            return Linear(abs(number) if op.result.type == IntegerType(1) else number)
        if isinstance(op, arith.SelectOp):
            return self._select(op) if _is_integer(op.result) else None
        row = ROWS.get(type(op))
        if row is None or not all(_is_integer(operand) for operand in op.operands):
            return None
        return row(self, op, *(self.of(operand) for operand in op.operands))

    def _select(self, op: arith.SelectOp) -> Linear:
        ends: list[tuple[int, int]] = []
        for value, truth in ((op.lhs, True), (op.rhs, False)):
            with self.given(self.implied(op.cond, truth)):
                ends.append(self.range(self.of(value)))
        return self.symbols.new(min(low for low, _ in ends), max(high for _, high in ends))

    def implied(self, condition: SSAValue, truth: bool) -> list[Linear]:
        """Sums that are not negative where a condition is true, or false."""
        op = condition.owner
        if isinstance(op, arith.CmpiOp) and _is_integer(op.lhs):
            return self._compared(op, truth)
        if isinstance(op, arith.AndIOp if truth else arith.OrIOp):
            return [*self.implied(op.operands[0], truth), *self.implied(op.operands[1], truth)]
        if isinstance(op, arith.XOrIOp) and self.of(op.operands[1]) == Linear(1):
            return self.implied(op.operands[0], not truth)
        return []

    def _compared(self, op: arith.CmpiOp, truth: bool) -> list[Linear]:
        predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        predicate = predicate if truth else _NEGATED[predicate]
        a, b = self.of(op.lhs), self.of(op.rhs)
        if predicate == "eq":
            return [a.plus(b, -1), b.plus(a, -1)]
        if predicate == "ne":
            return []
        if predicate[1] == "g":
            a, b = b, a
        # now a < b or a <= b
        found = [b.plus(a, -1).add(-1 if predicate[2] == "t" else 0)]
        if predicate[0] == "s":
            return found
        return [a, *found] if self.range(b)[0] >= 0 else []

    def _for(self, op: scf.ForOp, visit: Visit) -> None:
        index, *carried = op.body.block.args
        low, high, step = self.of(op.lb), self.of(op.ub), self.of(op.step)
        last = high.add(-1)
        span = high.plus(low, -1)
        if self.range(span)[1] <= 0:
            self.forms |= {r: self.of(x) for r, x in zip(op.results, op.iter_args, strict=True) if _is_integer(r)}
            return
        if step.terms or step.constant < 1:
            step = Linear(1)
        elif all(coefficient % step.constant == 0 for coefficient in (span.constant, *(c for _, c in span.terms))):
            last = high.add(-step.constant)
        elif not low.terms and not high.terms:
            last = Linear(low.constant + (span.constant - 1) // step.constant * step.constant)
        self.forms[index] = self.symbols.new(*type_range(index.type), [low], [last])

        def body(visit: Visit) -> _Ranges:
            with self.given([last.plus(low, -1)]):
                self.walk(op.body.block, visit)
                assert op.body.block.last_op is not None
                return self._ranges(op.body.block.last_op.operands)

        self._carry(carried, op.iter_args, body, visit)
        for result, arg in zip(op.results, carried, strict=True):
            if _is_integer(result):
                self.forms[result] = self.forms[arg]

    def _carry(
        self,
        args: Sequence[SSAValue],
        inits: Sequence[SSAValue],
        body: Callable[[Visit], _Ranges],
        visit: Visit,
    ) -> None:
        """
        Find intervals that hold before and after every round of a loop, then walk its body with them.

        A bound that a round moves becomes that of the type.
        """
        ranges = {arg: self.range(self.of(init)) for arg, init in zip(args, inits, strict=True) if _is_integer(arg)}
        for _ in range(MOST_ROUNDS if ranges else 0):
            self.forms |= {arg: self.symbols.new(*bounds) for arg, bounds in ranges.items()}
            with self.given():
                found = dict(zip(args, body(_ignore), strict=True))
            before = dict(ranges)
            for arg, (low, high) in before.items():
                after, (least, most) = found[arg], type_range(arg.type)
                ranges[arg] = low if low <= after[0] else least, high if high >= after[1] else most
            if ranges == before:
                break
        else:
            ranges = {arg: type_range(arg.type) for arg in ranges}
        self.forms |= {arg: self.symbols.new(*bounds) for arg, bounds in ranges.items()}
        body(visit)

    def _if(self, op: scf.IfOp, visit: Visit) -> None:
        ends: list[_Ranges] = []
        for region, truth in ((op.true_region, True), (op.false_region, False)):
            if not region.blocks:
                continue
            with self.given(self.implied(op.cond, truth)):
                self.walk(region.block, visit)
                last = region.block.last_op
                ends.append(self._ranges(last.operands if last is not None else ()))
        for number, result in enumerate(op.results):
            if _is_integer(result):
                sides = [side[number] for side in ends]
                self.forms[result] = self.symbols.new(min(low for low, _ in sides), max(high for _, high in sides))

    def _while(self, op: scf.WhileOp, visit: Visit) -> None:
        test, after = op.before_region.block, op.after_region.block

        def body(visit: Visit) -> _Ranges:
            self.walk(test, visit)
            condition = test.last_op
            assert isinstance(condition, scf.ConditionOp) and after.last_op is not None
            for inside, outside, value in zip(after.args, op.results, condition.operands[1:], strict=True):
                if _is_integer(value):
                    self.forms[inside] = self.forms[outside] = self.of(value)
            with self.given(self.implied(condition.operands[0], True)):
                self.walk(after, visit)
                return self._ranges(after.last_op.operands)

        self._carry(test.args, op.operands, body, visit)

    def _ranges(self, values: Sequence[SSAValue]) -> _Ranges:
        return [self.range(self.of(value)) if _is_integer(value) else (0, 0) for value in values]


def _ignore(op: Operation) -> None:
    """A visit while bounds are still sought."""
