"""What `canonicalize` does to ops with bodies: what is known beforehand is not asked, what nothing reads goes.

Values that go in are those that are used, each once; a number comes inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xdsl_rlx.dialects.effects import with_effects
from xdsl_rlx.dialects.mir.bodies import end_of, isolate_all
from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, SwitchOp, WhileOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.transforms.canonicalize.mir import canonical, splat
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.rules.bodies import Body, backward_slice, needed_carries, results_of
from xdsl_rlx.transforms.rules.scan import Draft

Values = Sequence[Value | SSAValue | None]


@canonical(IfOp)
def take_known_branch(op: IfOp, b: MirBuilder) -> Values | None:
    known = splat(op.predicate)
    return None if known is None else results_of(op.branches[0 if known else 1], op.captured, b)


@canonical(SwitchOp)
def take_known_branch_of_many(op: SwitchOp, b: MirBuilder) -> Values | None:
    known, last = splat(op.index), len(op.branches) - 1
    if last and not isinstance(known, int):
        return None
    number = min(max(known, 0), last) if isinstance(known, int) else 0
    return results_of(op.branches[number], op.captured, b)


@canonical(IfOp)
def tidy_if(op: IfOp, b: MirBuilder) -> Values | None:
    return _tidy(op, op.branches, op.captured, partial(IfOp, op.predicate), b)


@canonical(SwitchOp)
def tidy_switch(op: SwitchOp, b: MirBuilder) -> Values | None:
    def make(captured: Sequence[SSAValue], *branches: Block) -> SwitchOp:
        return SwitchOp(op.index, captured, branches)

    return _tidy(op, op.branches, op.captured, make, b)


@canonical(RematOp)
def tidy_remat(op: RematOp, b: MirBuilder) -> Values | None:
    return _tidy(op, [op.body.block], op.captured, RematOp, b)


def _tidy(
    op: Operation,
    blocks: Sequence[Block],
    captured: Sequence[SSAValue],
    make: Callable[..., Operation],
    b: MirBuilder,
) -> Values | None:
    """The same with the results that are read, but for those that are one captured value in every branch."""
    passed: dict[int, SSAValue] = {}
    for k, column in enumerate(zip(*(end_of(block).values for block in blocks), strict=True)):
        outside = {captured[y.index] if isinstance(y, BlockArgument) else None for y in column}
        if len(outside) == 1 and (value := outside.pop()) is not None:
            passed[k] = value
    kept = [k for k, y in enumerate(op.results) if y.first_use is not None and k not in passed]
    if len(kept) == len(op.results) and _is_captured_well(blocks, captured, 0):
        return None
    found: dict[int, SSAValue] = dict(passed)
    if kept or any(with_effects(block.ops) for block in blocks):
        ends: list[Block] = []
        for block in blocks:
            body = Body()
            values = results_of(block, [_entered(body.b, x) for x in captured], body.b)
            ends.append(body.end(values[k] for k in kept))
        found |= zip(kept, b.emit(make, isolate_all(ends, 0), *ends).results, strict=True)
    return [found.get(k) for k in range(len(op.results))]


def _is_captured_well(blocks: Sequence[Block], captured: Sequence[SSAValue], first: int) -> bool:
    """Whether what goes in is used, is there once, and is no number."""
    used = all(any(block.args[first + n].first_use is not None for block in blocks) for n in range(len(captured)))
    return used and len(set(captured)) == len(captured) and all(splat(x) is None for x in captured)


def _entered(b: MirBuilder, value: SSAValue) -> SSAValue:
    """A captured value as it is seen inside: a number, and its shape, are made there."""
    if splat(value) is None or not isinstance(value.owner, Operation):
        return value
    owner = value.owner
    return b.builder.insert(owner.clone({x: _entered(b, x) for x in owner.operands})).results[0]


def _read_by_effects(block: Block) -> list[SSAValue]:
    """The operands of ops that stay for their effects."""
    return [x for op in with_effects(block.ops) for x in op.operands]


def _unchanged(op: ScanOp | WhileOp, first: int) -> set[int]:
    """The carries that have one value at all times; captured values are arguments from `first` on."""
    args = op.body.block.args
    captured: dict[SSAValue, SSAValue] = dict(zip(args[first:], op.captured, strict=True))
    return {
        k
        for k, (start, y) in enumerate(zip(op.init, op.last.values, strict=False))
        if y is args[k] or captured.get(y) is start
    }


@canonical(ScanOp)
def write_out_short_scan(op: ScanOp, b: MirBuilder) -> Values | None:
    return define(op, b) if op.times < 2 else None


@canonical(ScanOp)
def tidy_scan(op: ScanOp, b: MirBuilder) -> Values | None:
    """Without carries that stay as they are, and without what nothing reads; elements that come out went in."""
    n, m = len(op.init), len(op.init) + len(op.xs)
    args, last = op.body.block.args, op.last.values
    same = _unchanged(op, m)
    passed = {k: op.xs[args.index(y) - n] for k, y in enumerate(last) if k >= n and y in args[n:m]}
    ys = [k for k in range(n, len(last)) if op.results[k].first_use is not None and k not in passed]
    read = {k for k in range(n) if op.results[k].first_use is not None} - same
    others = [*(last[k] for k in ys), *_read_by_effects(op.body.block)]
    carries = needed_carries(args[:n], last, read, others)[0] - same
    used = [k for k in range(n, m) if args[k].first_use is not None]
    changed = len(carries) < n or len(ys) < len(op.ys) or len(used) < len(op.xs)
    if not changed and _is_captured_well([op.body.block], op.captured, m):
        return None
    draft = Draft.along(op)
    inside = {k: draft.carry(op.init[k]) for k in sorted(carries)}
    inside |= {k: draft.element(op.xs[k - n]) for k in used}
    for k, arg in inside.items():
        arg.name_hint = args[k].name_hint
    # what stands for a carry that goes is read by nothing that stays
    values = [inside.get(k, x) for k, x in enumerate([*op.init, *op.xs])]
    found = results_of(op.body.block, [*values, *(_entered(draft.b, x) for x in op.captured)], draft.b)
    scan = draft.finish(b, [found[k] for k in sorted(carries)], [found[k] for k in ys])
    results: dict[int, SSAValue] = {k: op.init[k] for k in same} | passed
    results |= zip([*sorted(carries), *ys], scan.results, strict=True)
    return [results.get(k) for k in range(len(last))]


@canonical(WhileOp)
def leave_loop_that_never_runs(op: WhileOp, b: MirBuilder) -> Values | None:
    known = splat(op.asked)
    asks = with_effects(op.condition.block.ops)
    never = op.most == 0 or (known is not None and not known)
    if asks and never:
        return None
    return [*op.init, b.zeros_like(op.trips)] if never else None


@canonical(WhileOp)
def tidy_while(op: WhileOp, b: MirBuilder) -> Values | None:
    """Without carries that stay as they are, and without those that nothing reads, the condition included."""
    n = len(op.init)
    args, last, asking = op.body.block.args, op.last.values, op.condition.block.args
    same = _unchanged(op, n)
    asked = backward_slice([op.asked, *_read_by_effects(op.condition.block)])
    read = {k for k in range(n) if op.carries[k].first_use is not None or asking[k] in asked} - same
    carries = sorted(needed_carries(args[:n], last, read, _read_by_effects(op.body.block))[0] - same)
    if len(carries) == n and _is_captured_well([op.condition.block, op.body.block], op.captured, n):
        return None
    types = [op.init[k].type for k in carries]
    blocks: list[Block] = []
    for source, wanted in ((op.condition.block, [0]), (op.body.block, carries)):
        body = Body(types)
        inside: dict[int, SSAValue] = dict(zip(carries, body.block.args, strict=True))
        for k, arg in inside.items():
            arg.name_hint = source.args[k].name_hint
        # what stands for a carry that goes is read by nothing that stays
        values = [inside.get(k, x) for k, x in enumerate(op.init)]
        found = results_of(source, [*values, *(_entered(body.b, x) for x in op.captured)], body.b)
        blocks.append(body.end(found[k] for k in wanted))
    captured, init = isolate_all(blocks, len(carries)), [op.init[k] for k in carries]
    loop = b.emit(WhileOp, init, captured, *blocks, max_iterations=op.most, remedy=op.remedy)
    results: dict[int, SSAValue] = {k: op.init[k] for k in same}
    results |= zip(carries, loop.carries, strict=True)
    return [*(results.get(k) for k in range(n)), loop.trips]
