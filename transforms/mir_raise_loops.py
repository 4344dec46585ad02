"""The pass `mir-raise-loops`: loops whose length a counter says become scans, over inputs and with stacked results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.bits import width as width_of
from xdsl_rlx.dialects.mir.branch import WhileOp
from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.mir.elementwise import ConstantOp, EqOp, WhereOp
from xdsl_rlx.dialects.mir.index import GatherOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import INTS, element_of, shape_of
from xdsl_rlx.transforms.dead_ops import is_dead
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.rules.counters import Counters, Line, trips_of
from xdsl_rlx.transforms.rules.scan import Draft

MOST_TIMES = 1 << 31
"""Iterations up to which a loop becomes a scan."""


@dataclass(frozen=True)
class MirRaiseLoopsPass(RewritingPass):
    """
    Replace every `mir.while` that counts to a constant by a `mir.scan` of that length.

    ```
    %0, %y, .. = mir.while carries(%zero, %empty) captured(%x) {%i < 8} do {
      %a = mir.gather %x, %i; ..; mir.yield %i + 1, mir.where(iota == %i, f(%a), %y_arg)}
    // becomes
    %y = mir.scan 8 over(%x) -> stacked {mir.yield f(%a)}
    ```

    1. A carry that the body yields unchanged is captured.
    2. Carries that begin with a constant and grow by a constant are functions of the number of the iteration.
    3. A value of which each iteration takes the slice at the counter, from the front or from the back, is scanned over.
    4. A carry in which each iteration replaces the slice at the counter is a stacked result.

    Loops whose condition depends on anything else stay. A scan has a gradient in reverse mode.
    """

    name = "mir-raise-loops"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, RaiseLoop())


class RaiseLoop(RewritePattern):
    """A loop that counts becomes a scan."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: WhileOp, rewriter: PatternRewriter) -> None:
        loop = _Loop.of(op)
        if loop is None:
            return
        b = MirBuilder(rewriter)
        rewriter.replace(op, [], [x.ssa for x in loop.built(b)])


@dataclass
class _Read:
    """A slice of a value at the counter, in each iteration."""

    op: GatherOp
    at: Line


@dataclass
class _Write:
    """A carry in which each iteration replaces a slice at the counter."""

    carry: int
    op: WhereOp
    at: Line
    value: SSAValue


@dataclass
class _Loop:
    """A loop of known length on its way to a scan."""

    op: WhileOp
    times: int
    lines: dict[int, Line]
    """Carries that are functions of the number of the iteration."""
    same: set[int]
    """Carries that the body yields unchanged."""
    counters: Counters
    reads: list[_Read] = field(default_factory=list["_Read"])
    writes: dict[int, _Write] = field(default_factory=dict[int, "_Write"])

    @classmethod
    def of(cls, op: WhileOp) -> _Loop | None:
        """The loop of an op; None if its length is not known."""
        body, last = op.body.block, op.last
        same = {k for k in range(len(op.init)) if last.values[k] is body.args[k]}
        lines = _lines(op, same)
        test = Counters(op.condition.block, _given(op, op.condition.block, lines, same), None)
        times = trips_of(test, op.asked)
        if times is None:
            return None
        times = times if op.most is None else min(times, op.most)
        if times > MOST_TIMES or not all(line.fits(times + 1, element_of(op.init[k])) for k, line in lines.items()):
            return None
        found = cls(op, times, lines, same, Counters(body, _given(op, body, lines, same), times))
        if times:
            found._match()
        return found

    def _match(self) -> None:
        """Find what is read and written at the counter."""
        carries = len(self.op.init)
        for op in self.op.body.block.ops:
            if isinstance(op, GatherOp) and (read := self._read(op, carries)) is not None:
                self.reads.append(read)
        for k in range(carries):
            if k not in self.lines and k not in self.same and (write := self._write(k)) is not None:
                self.writes[k] = write

    def _read(self, op: GatherOp, carries: int) -> _Read | None:
        table = op.table
        is_same = (
            isinstance(table, BlockArgument)
            and table.block is self.op.body.block
            and (table.index >= carries or table.index in self.same)
        )
        if not is_same and not isinstance(table.owner, ConstantOp):
            return None
        if op.axis.value.data or op.batch_dims.value.data or _size(op.indices) != 1:
            return None
        at = self.counters.line(op.indices)
        if at is None or abs(at.step) != 1 or not at.is_within(self.times, shape_of(table)[0]):
            return None
        return _Read(op, at)

    def _write(self, k: int) -> _Write | None:
        op, body = self.op, self.op.body.block
        arg, after = body.args[k], op.last.values[k]
        where = after.owner
        if not isinstance(where, WhereOp) or where.on_false is not arg or not shape_of(arg):
            return None
        if op.condition.block.args[k].uses.get_length() or arg.uses.get_length() != 1 or after.uses.get_length() != 1:
            return None
        at, value = self._position(where.cond, shape_of(arg)), where.on_true
        if at is None or abs(at.step) != 1 or not at.is_within(self.times, shape_of(arg)[0]):
            return None
        rank, shape = len(shape_of(arg)), shape_of(value)
        if len(shape) == rank and shape[0] != 1:
            return None
        return _Write(k, where, at, value)

    def _position(self, mask: SSAValue, shape: Sequence[int]) -> Line | None:
        """The position on the leading axis that a mask of this shape is true at."""
        wanted = (shape[0], *(1,) * (len(shape) - 1))
        if shape_of(mask) != wanted:
            return None
        while isinstance(mask.owner, ReshapeOp | ExpandOp) and _size(mask) == _size(mask.owner.operands[0]):
            mask = mask.owner.operands[0]
        if not isinstance(mask.owner, EqOp):
            return None
        for numbers, at in (mask.owner.operands, reversed(tuple(mask.owner.operands))):
            if _counts(numbers, shape[0]) and _size(at) == 1:
                return self.counters.line(at)
        return None

    def built(self, b: MirBuilder) -> list[Value]:
        """The results of the loop: those of a scan, where there is anything to run."""
        op = self.op
        if not self.times:
            return [*map(b.value, op.init), b.constant(0, element_of(op.trips))]
        steps = [one.at.step for one in (*self.reads, *self.writes.values())]
        backwards = bool(steps) and all(step < 0 for step in steps)
        draft = Draft(self.times, backwards)
        running = [k for k in range(len(op.init)) if k not in self.lines and k not in self.same | set(self.writes)]
        elements = self._elements(b, draft, running, backwards)
        carries = dict(zip(running, [draft.carry(op.init[k]) for k in running], strict=True))
        return self._finished(b, draft, carries, elements, backwards)

    def _elements(
        self, b: MirBuilder, draft: Draft, running: Sequence[int], backwards: bool
    ) -> dict[int | Operation, SSAValue]:
        """Elements of what is scanned over: counters by number, slices by the op that takes them."""
        found: dict[int | Operation, SSAValue] = {}
        args, reads = self.op.body.block.args, {one.op: one for one in self.reads}
        for k, line in self.lines.items():
            if args[k].first_use is not None:
                found[k] = draft.element(self._numbers(b, line, element_of(args[k]), backwards))
        counted: dict[object, SSAValue] = {}
        for op in self._positions(backwards):
            element = element_of(op.results[0])
            if element not in counted:
                counted[element] = draft.element(b.iota((self.times,), 0, element).ssa)
            found[op] = counted[element]
        shared: dict[tuple[SSAValue, Line], SSAValue] = {}
        for read in reads.values():
            key = read.op.table, read.at
            if key not in shared:
                shared[key] = draft.element(self._slices(b, read, backwards))
            found[read.op] = shared[key]
        return found

    def _positions(self, backwards: bool) -> list[Operation]:
        """The ops of the body that count from 0, or down to it as `n - t - 1`: a scan goes along these numbers."""
        line = Line(self.times - 1, -1) if backwards else Line(0, 1)
        ops = [op for op in self.op.body.block.ops if len(op.results) == 1 and not op.regions]
        scalars = [op for op in ops if not shape_of(op.results[0]) and element_of(op.results[0]) in INTS]
        return [op for op in scalars if self.counters.line(op.results[0]) == line]

    def _numbers(self, b: MirBuilder, line: Line, element: object, backwards: bool) -> SSAValue:
        """The values of a counter in all iterations, as the scan goes along them."""
        line = line.reversed(self.times) if backwards else line
        numbers = b.iota((self.times,), 0, element)
        scaled = numbers * line.step if line.step != 1 else numbers
        return (scaled + line.start if line.start else scaled).ssa

    def _slices(self, b: MirBuilder, read: _Read, backwards: bool) -> SSAValue:
        """The slices that are read, in the order of the leading axis of what is scanned over."""
        table = read.op.table
        if isinstance(table, BlockArgument):
            n = len(self.op.init)
            table = self.op.init[table.index] if table.index < n else self.op.captured[table.index - n]
        else:
            assert isinstance(table.owner, ConstantOp)
            table = b.constant(table.owner.value).ssa
        first = read.at.start if read.at.step > 0 else read.at.last(self.times)
        rows = b.value(table)
        if shape_of(table)[0] != self.times:
            rows = b.narrow(rows, 0, first, self.times)
        return (b.flip(rows, 0) if (read.at.step < 0) is not backwards else rows).ssa

    def _finished(
        self,
        b: MirBuilder,
        draft: Draft,
        carries: dict[int, SSAValue],
        elements: dict[int | Operation, SSAValue],
        backwards: bool,
    ) -> list[Value]:
        op, body = self.op, self.op.body.block
        given = [carries.get(k, elements.get(k, x)) for k, x in enumerate(op.init)]
        env = draft.inline(body, [*given, *op.captured])
        for read in self.reads:
            result = env[read.op.result]
            result.replace_all_uses_with(_reshaped(draft.b, elements[read.op], shape_of(result), result))
            env[read.op.result] = elements[read.op]
        for counts, x in elements.items():
            if isinstance(counts, Operation) and not isinstance(counts, GatherOp):
                env[counts.results[0]].replace_all_uses_with(x)
                env[counts.results[0]] = x
        last = op.last.values
        ys = [self._row(draft.b, env.get(one.value, one.value), k) for k, one in self.writes.items()]
        after = [env.get(last[k], last[k]) for k in carries]
        _remove_dead(draft.block, [*after, *ys])
        _remove_unused(draft, [*after, *ys])
        scan = draft.finish(b, after, ys)
        results: dict[int, Value] = {k: b.value(x) for k, x in zip(carries, scan.carries, strict=True)}
        for (k, one), y in zip(self.writes.items(), scan.ys, strict=True):
            results[k] = self._written(b, one, b.value(y), backwards)
        for k, line in self.lines.items():
            results[k] = b.constant(line.start + line.step * self.times, element_of(op.init[k]))
        found = [results[k] if k in results else b.value(op.init[k]) for k in range(len(op.init))]
        return [*found, b.constant(self.times, element_of(op.trips))]

    def _row(self, b: MirBuilder, value: SSAValue, k: int) -> SSAValue:
        """What an iteration writes, in the shape of a slice."""
        tail = shape_of(self.op.init[k])[1:]
        shape = shape_of(value)
        shape = shape[1:] if len(shape) > len(tail) else shape
        row = b.reshape(b.value(value), shape)
        return (b.expand(row, tail) if shape != tail else row).ssa

    def _written(self, b: MirBuilder, one: _Write, y: Value, backwards: bool) -> Value:
        """The carry after the loop: what was written, and what was there before where nothing was."""
        init = b.value(self.op.init[one.carry])
        rows = b.flip(y, 0) if (one.at.step < 0) is not backwards else y
        first = one.at.start if one.at.step > 0 else one.at.last(self.times)
        end, extent = first + self.times, init.shape[0]
        parts = [b.narrow(init, 0, 0, first)] if first else []
        parts += [rows, *([b.narrow(init, 0, end, extent - end)] if end < extent else [])]
        return b.concat(parts, 0) if len(parts) > 1 else rows


def _lines(op: WhileOp, same: set[int]) -> dict[int, Line]:
    """Carries that begin with a constant and to which the body adds one, as functions of the number of iterations."""
    found: dict[int, Line] = {}
    body = op.body.block
    for k, init in enumerate(op.init):
        if k in same or element_of(init) not in INTS or shape_of(init):
            continue
        start = Counters.constant(init)
        if start is None:
            continue
        # the carry itself as one step of a line that begins at 0: what is yielded says how far it goes
        known, width = {body.args[k]: Line(0, 1)} | _fixed(op, body, same), width_of(element_of(init))
        step = Counters(body, known, None, width).line(op.last.values[k])
        if step is not None and step.step == 1:
            found[k] = Line(start, step.start)
    return {k: line for k, line in found.items() if line.step}


def _fixed(op: WhileOp, block: Block, same: set[int]) -> dict[SSAValue, Line]:
    """Arguments of a block that stand for constants."""
    outside = [*((k, op.init[k]) for k in sorted(same)), *enumerate(op.captured, len(op.init))]
    known = ((block.args[k], Counters.constant(x)) for k, x in outside)
    return {arg: Line(number, 0) for arg, number in known if number is not None}


def _given(op: WhileOp, block: Block, lines: dict[int, Line], same: set[int]) -> dict[SSAValue, Line]:
    return {**{block.args[k]: line for k, line in lines.items()}, **_fixed(op, block, same)}


def _size(x: SSAValue) -> int:
    total = 1
    for n in shape_of(x):
        total *= n
    return total


def _counts(x: SSAValue, extent: int) -> bool:
    """Whether a vector is the numbers from 0 on."""
    if [n for n in shape_of(x) if n != 1] != [extent] * (extent != 1):
        return False
    while isinstance(x.owner, ReshapeOp):
        x = x.owner.operand
    if isinstance(x.owner, IotaOp):
        return len(shape_of(x)) == 1
    if not isinstance(x.owner, ConstantOp) or not isinstance(element_of(x), IntegerType):
        return False
    return list(x.owner.value.get_values()) == list(range(extent))


def _reshaped(b: MirBuilder, x: SSAValue, shape: Sequence[int], before: SSAValue) -> SSAValue:
    """A value in another shape, in front of what uses it."""
    if shape_of(x) == tuple(shape):
        return x
    made = ReshapeOp(x, shape)
    owner = before.owner
    assert isinstance(owner, Operation) and owner.parent is not None
    owner.parent.insert_op_before(made, owner)
    return made.result


def _remove_unused(draft: Draft, yielded: Sequence[SSAValue]) -> None:
    """Do not go along what the body does not use, such as a counter that only said where to read."""
    for n in reversed(range(len(draft.over))):
        arg = draft.block.args[len(draft.init) + n]
        if arg.first_use is None and arg not in yielded:
            draft.over.pop(n)
            draft.block.erase_arg(arg)


def _remove_dead(block: Block, used: Sequence[SSAValue]) -> None:
    """Erase ops of a block that nothing uses; the block does not end yet."""
    kept = {x.owner for x in used}
    for op in reversed(list(block.ops)):
        if op not in kept and is_dead(op):
            op.detach()
            op.erase()
