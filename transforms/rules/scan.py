"""Rows of `mir.scan`. Its derivatives are scans: the engines, called on the body, build theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.effects import remove_effects
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.bodies import isolate
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.scan import ScanOp, ops_of_body, unstacked
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.engines.batch import Batch
from xdsl_rlx.transforms.engines.reverse import add_seeds, has_derivative, pull_back
from xdsl_rlx.transforms.rules.bodies import Body, or_zeros, pushed_forward, results_of, varying_carries
from xdsl_rlx.transforms.rules.rows import decompose, lift, move_axis
from xdsl_rlx.transforms.rules.rule_table import FLOW, JVP, VJP, VMAP, Cotangent, Together


class Draft(Body):
    """
    A scan in the making. What its ops use from outside is captured when it is finished.

    Ops are inserted by `b`, at the end of its block.
    """

    def __init__(self, length: int, reverse: bool, checkpoints: int | None = None, recomputed: bool = False):
        super().__init__()
        self._length, self._how = length, (reverse, checkpoints, recomputed)
        self.init: list[SSAValue] = []
        self.over: list[SSAValue] = []

    @classmethod
    def along(cls, op: ScanOp) -> Draft:
        """One that runs as another does, and keeps as much for its gradient."""
        return cls(op.times, op.reverse is not None, op.kept, op.recomputed is not None)

    @classmethod
    def back(cls, op: ScanOp) -> Draft:
        """One that runs back over another, and is computed again where that is."""
        return cls(op.times, op.reverse is None, recomputed=op.recomputed is not None)

    def carry(self, init: SSAValue) -> SSAValue:
        """One more carry, as the body has it."""
        self.init.append(init)
        return self.block.insert_arg(init.type, len(self.init) - 1)

    def element(self, xs: SSAValue) -> SSAValue:
        """An element of one more value that is gone along."""
        self.over.append(xs)
        return self.block.insert_arg(unstacked(xs), len(self.init) + len(self.over) - 1)

    def copy(self, op: ScanOp, carries: Sequence[SSAValue], xs: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
        """Copy the body of a scan; where each of its values is found here."""
        return self.inline(op.body.block, [*carries, *xs, *op.captured])

    def finish(self, b: MirBuilder, after: Sequence[SSAValue], ys: Sequence[SSAValue]) -> ScanOp:
        """The scan, where `b` inserts, which yields these carries and results."""
        self.end([*after, *ys])
        captured = isolate(self.block, len(self.init) + len(self.over))
        return b.emit(ScanOp, self.init, self.over, captured, self._length, self.block, *self._how)


@FLOW.rule(ScanOp)
def scan_flow(op: ScanOp, active: Sequence[int]) -> Sequence[SSAValue]:
    """A carry that depends on another at some time depends on it from then on."""
    n = len(op.init)
    carries, varied = varying_carries(op, [i for i in active if i < n], [i for i in active if i >= n])
    ys = [y for y, inner in zip(op.ys, op.last.values[n:], strict=True) if inner in varied]
    return [*(op.carries[i] for i in sorted(carries)), *ys]


@decompose(ScanOp)
def scan_decompose(op: ScanOp, b: MirBuilder) -> Sequence[Value]:
    """The body as often as it is run."""
    block, carries = op.body.block, list(op.init)
    columns: list[list[SSAValue]] = [[] for _ in op.ys]
    for t in _times(op):
        elements = [b.reshape(b.narrow(x, 0, t, 1), shape_of(x)[1:]).ssa for x in op.xs]
        found = results_of(block, [*carries, *elements, *op.captured], b)
        carries = found[: len(op.init)]
        for column, y in zip(columns, found[len(op.init) :], strict=True):
            column.append(y)
    if op.reverse is not None:
        for column in columns:
            column.reverse()
    ys = [_stack(b, column, y) for column, y in zip(columns, op.ys, strict=True)]
    return [*map(b.value, carries), *ys]


def _times(op: ScanOp) -> Iterator[int]:
    return iter(range(op.times) if op.reverse is None else reversed(range(op.times)))


def _stack(b: MirBuilder, column: Sequence[SSAValue], like: SSAValue) -> Value:
    if not column:
        return b.zeros_like(like)
    return b.concat([b.reshape(y, (1, *shape_of(y))) for y in column], 0)


@JVP.rule(ScanOp)
def scan_jvp(op: ScanOp, b: MirBuilder, *tangents: Value | None) -> Together:
    """One scan of values and tangents; the tangents of carries are carries."""
    n, m = len(op.init), len(op.init) + len(op.xs)
    given = [i for i, t in enumerate(tangents) if t is not None]
    moving = sorted(varying_carries(op, [i for i in given if i < n], [i for i in given if i >= n])[0])
    draft = Draft.along(op)
    carries, xs = [draft.carry(x) for x in op.init], [draft.element(x) for x in op.xs]
    values = [*carries, *xs, *op.captured]
    pushed: dict[SSAValue, SSAValue] = {}
    for i in moving:
        tangent = tangents[i]
        pushed[carries[i]] = draft.carry((b.zeros_like(op.init[i]) if tangent is None else tangent).ssa)
    for i in given:
        if i >= n and (tangent := tangents[i]) is not None:
            pushed[values[i]] = draft.element(tangent.ssa) if i < m else tangent.ssa
    yielded, leaving = pushed_forward(draft, op.body.block, values, pushed)
    after = [or_zeros(draft.b, leaving[i], yielded[i]) for i in moving]
    with_tangent = {k: t for k, t in enumerate(leaving) if k >= n and t is not None}
    ys = [*yielded[n:], *with_tangent.values()]
    scan = draft.finish(b, [*yielded[:n], *after], ys)
    values = [*scan.carries[:n], *scan.ys[: len(op.ys)]]
    found: dict[int, SSAValue] = dict(zip(moving, scan.carries[n:], strict=True))
    found.update(zip(with_tangent, scan.ys[len(op.ys) :], strict=True))
    return Together([*map(b.value, values)], [b.value(found[k]) if k in found else None for k in range(len(values))])


class Reverse:
    """
    The scan that runs back over another, and yields the cotangents of all its operands in one sweep.

    What the body computed at each time is computed again, but for what is there: what the other scan goes along, and
    what it stacks.
    """

    def __init__(self, op: ScanOp, b: MirBuilder, cotangents: Sequence[SSAValue | None]):
        self.op, self._b, n = op, b, len(op.init)
        self.draft = draft = Draft.back(op)
        self._floats = [i for i, x in enumerate(op.init) if has_derivative(x)]
        arrived = [draft.carry(or_zeros(b, cotangents[i], op.init[i])) for i in self._floats]
        # for the values that carries have at each time, which are known only if the other scan stacks them
        self.stand_ins = Block(arg_types=[x.type for x in op.init])
        xs = [draft.element(x) for x in op.xs]
        self.env = draft.copy(op, self.stand_ins.args, xs)
        remove_effects(draft.block)
        self.forward = list(draft.block.ops)
        self._captured = list(dict.fromkeys(x for x in op.captured if has_derivative(x)))
        sums = [draft.carry(b.zeros_like(x).ssa) for x in self._captured]
        yielded = [self.env[y] for y in op.last.values]
        seeds = [(yielded[i], seed) for i, seed in zip(self._floats, arrived, strict=True)]
        seeds += [(yielded[n + k], draft.element(g)) for k, g in enumerate(cotangents[n:]) if g is not None]
        wrt = [*(self.stand_ins.args[i] for i in self._floats), *xs, *self._captured]
        merged = add_seeds(draft.b, [draft.b.value(y) for y, _ in seeds], [g for _, g in seeds])
        grads = pull_back(draft.b, self.forward, merged, wrt)
        k, m = len(self._floats), len(self._floats) + len(xs)
        self._after = [or_zeros(draft.b, g, x) for g, x in zip(grads[:k], wrt, strict=False)]
        self._after += [
            total if g is None else draft.b.add(total, g).ssa for total, g in zip(sums, grads[m:], strict=True)
        ]
        self._elements = grads[k:m]

    def needed(self) -> list[SSAValue]:
        """The values of the other body that the cotangents are computed from, arguments too."""
        names = {new: old for old, new in self.env.items()}
        own = set(self.forward)
        return [
            names[value]
            for value in dict.fromkeys(x for op in self.draft.block.ops if op not in own for x in op.operands)
            if value in names
        ]

    def finish(self) -> list[Value | None]:
        """The cotangents of the operands of the other scan, in front of where the builder inserts."""
        op, n = self.op, len(self.op.init)
        for inner, y in zip(op.last.values[n:], op.ys, strict=True):
            value = self.env[inner]
            if value.first_use is not None and value not in op.captured:
                value.replace_all_uses_with(self.draft.element(y))
        ys = [g for g in self._elements if g is not None]
        scan = self.draft.finish(self._b, self._after, ys)
        for number, stand_in in enumerate(self.stand_ins.args):
            if stand_in.first_use is not None:
                need = f"its gradient needs carry {number} at each time"
                raise PassFailedException(f"{named(op)}: {need}: run mir-convert-scans-for-ad first")
        found: list[Value | None] = [None] * len(op.operands)
        k = len(self._floats)
        for i, result in zip(self._floats, scan.carries[:k], strict=True):
            found[i] = self._b.value(result)
        left = iter(scan.ys)
        for i, g in enumerate(self._elements, n):
            found[i] = self._b.zeros_like(op.operands[i]) if g is None else self._b.value(next(left))
        totals = dict(zip(self._captured, scan.carries[k:], strict=True))
        for i, x in enumerate(op.captured, n + len(op.xs)):
            if has_derivative(x):
                # one value may be captured twice: its cotangent is given once
                total = totals.pop(x, None)
                found[i] = self._b.zeros_like(x) if total is None else self._b.value(total)
        return found


@VJP.rule(ScanOp)
def scan_vjp(op: ScanOp, b: MirBuilder, *cotangents: Value | None) -> Sequence[Cotangent]:
    """One scan in the other direction."""
    return Reverse(op, b, [None if g is None else g.ssa for g in cotangents]).finish()


@VMAP.rule(ScanOp)
def scan_vmap(op: ScanOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value) -> Sequence[Value]:
    """One scan of the batch; a carry that has the axis at some time has it from the start."""
    n, m = len(op.init), len(op.init) + len(op.xs)
    args = op.body.block.args
    carries = {i for i in range(n) if batched[i]}
    while True:
        draft = Draft.along(op)
        batch = Batch(size, draft.b)
        for i, arg in enumerate(args):
            if i < n:
                start = lift(b, operands[i], size) if i in carries and not batched[i] else operands[i]
                batch.values[arg] = draft.carry(start.ssa)
            elif i < m:
                batch.values[arg] = draft.element((move_axis(b, operands[i], 0, 1) if batched[i] else operands[i]).ssa)
            else:
                batch.values[arg] = operands[i].ssa
            if i in carries or (i >= n and batched[i]):
                batch.batched.add(arg)
        batch.copy(ops_of_body(op))
        more = {i for i in range(n) if op.last.values[i] in batch.batched}
        if more <= carries:
            break
        carries |= more
        draft.drop()
    yielded = op.last.values
    after = [batch.with_axis(y) if i in carries else batch.values[y] for i, y in enumerate(yielded[:n])]
    scan = draft.finish(b, after, [batch.values[y] for y in yielded[n:]])
    values = [b.value(x) if i in carries else lift(b, b.value(x), size) for i, x in enumerate(scan.carries)]
    for y, stack in zip(yielded[n:], scan.ys, strict=True):
        own = b.value(stack)
        values.append(move_axis(b, own, 1, 0) if y in batch.batched else lift(b, own, size))
    return values
