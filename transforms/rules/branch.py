"""Rows of branches, of loops that depend on values, and of what is computed again: engines, called on bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.effects import has_effects, with_effects
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.bodies import clear, end_of, isolate_all, ops_of
from xdsl_rlx.dialects.mir.branch import TRUTH, IfOp, RematOp, SwitchOp, WhileOp
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, ConstantOp, NegOp, SubOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp, TransposeOp
from xdsl_rlx.transforms.engines.batch import Batch
from xdsl_rlx.transforms.engines.reverse import has_derivative, varying
from xdsl_rlx.transforms.rules.bodies import (
    Body,
    or_zeros,
    pulled_back,
    pushed_forward,
    results_of,
    varying_carries,
)
from xdsl_rlx.transforms.rules.debug import print_where
from xdsl_rlx.transforms.rules.rows import align, decompose, lift
from xdsl_rlx.transforms.rules.rule_table import FLOW, INERT, JVP, VJP, VMAP, Cotangent, Together
from xdsl_rlx.transforms.rules.scan import Draft

INERT.add(IfOp, "predicate", "it chooses the branch")
INERT.add(SwitchOp, "index", "it chooses the branch")


# Branches, and what is computed again, which is a branch that is always taken.


def _flow(blocks: Sequence[Block], op: Operation, captured: Sequence[int]) -> list[SSAValue]:
    """The results that depend on captured values of these numbers in some branch."""
    found = set[int]()
    for block in blocks:
        varied = varying(ops_of(block), [block.args[n] for n in captured])
        found |= {k for k, y in enumerate(end_of(block).values) if y in varied}
    return [op.results[k] for k in sorted(found)]


@FLOW.rule(IfOp)
def if_flow(op: IfOp, active: Sequence[int]) -> Sequence[SSAValue]:
    return _flow(op.branches, op, [i - 1 for i in active if i])


@FLOW.rule(SwitchOp)
def switch_flow(op: SwitchOp, active: Sequence[int]) -> Sequence[SSAValue]:
    return _flow(op.branches, op, [i - 1 for i in active if i])


@FLOW.rule(RematOp)
def remat_flow(op: RematOp, active: Sequence[int]) -> Sequence[SSAValue]:
    return _flow([op.body.block], op, active)


@decompose(IfOp)
def if_decompose(op: IfOp, b: MirBuilder) -> Sequence[Value]:
    """Both branches, and for each result a choice."""
    on_true, on_false = (results_of(block, op.captured, b) for block in op.branches)
    return [b.value(x) if x is y else b.where(op.predicate, x, y) for x, y in zip(on_true, on_false, strict=True)]


@decompose(SwitchOp)
def switch_decompose(op: SwitchOp, b: MirBuilder) -> Sequence[Value]:
    """Branches in branches, by binary search for the index: one past either end is found at that end."""
    index = b.cast(op.index, i64).ssa

    def search(b: MirBuilder, low: int, high: int) -> list[SSAValue]:
        if high - low == 1:
            return results_of(op.branches[low], op.captured, b)
        middle = (low + high) // 2
        lower, upper = Body(), Body()
        blocks = [lower.end(search(lower.b, low, middle)), upper.end(search(upper.b, middle, high))]
        return list(b.emit(IfOp, b.lt(index, middle).ssa, isolate_all(blocks, 0), *blocks).results)

    return [b.value(x) for x in search(b, 0, len(op.branches))]


@decompose(RematOp)
def remat_decompose(op: RematOp, b: MirBuilder) -> Sequence[Value]:
    """The ops of the body, side by side with the rest."""
    return [b.value(x) for x in results_of(op.body.block, op.captured, b)]


Make = Callable[..., Operation]
"""From captured values and a block for each branch to an op."""


def _pull_back(
    make: Make, blocks: Sequence[Block], captured: Sequence[SSAValue], b: MirBuilder, arrived: Sequence[Value | None]
) -> list[Cotangent]:
    """One op of the same kind, whose branches compute the values of the others again, and all cotangents."""
    wrt = list(dict.fromkeys(x for x in captured if has_derivative(x)))
    cotangents = [None if g is None else g.ssa for g in arrived]
    bodies = [Body() for _ in blocks]
    rows = [pulled_back(body, block, captured, cotangents, wrt) for body, block in zip(bodies, blocks, strict=True)]
    reached = [k for k in range(len(wrt)) if any(row[k] is not None for row in rows)]
    totals: dict[SSAValue, SSAValue] = {}
    if reached:
        ends = [
            body.end(or_zeros(body.b, row[k], wrt[k]) for k in reached) for body, row in zip(bodies, rows, strict=True)
        ]
        found = b.emit(make, isolate_all(ends, 0), *ends)
        totals = {wrt[k]: y for k, y in zip(reached, found.results, strict=True)}
    leaving: list[Cotangent] = []
    for x in captured:
        # one value may be captured twice: its cotangent is given once
        total = totals.pop(x, None)
        nothing = partial(b.zeros_like, x) if has_derivative(x) else None
        leaving.append(nothing if total is None else b.value(total))
    return leaving


def _push_forward(
    make: Make, blocks: Sequence[Block], captured: Sequence[SSAValue], b: MirBuilder, tangents: Sequence[Value | None]
) -> Together:
    """One op of the same kind, whose branches compute values and tangents together."""
    known = {x: t.ssa for x, t in zip(captured, tangents, strict=True) if t is not None}
    bodies = [Body() for _ in blocks]
    rows = [pushed_forward(body, block, captured, known) for body, block in zip(bodies, blocks, strict=True)]
    count = len(rows[0][0])
    moving = [k for k in range(count) if any(found[k] is not None for _, found in rows)]
    ends = [
        body.end([*values, *(or_zeros(body.b, found[k], values[k]) for k in moving)])
        for body, (values, found) in zip(bodies, rows, strict=True)
    ]
    results = b.emit(make, isolate_all(ends, 0), *ends).results
    leaving = dict(zip(moving, results[count:], strict=True))
    return Together(
        [b.value(y) for y in results[:count]], [b.value(leaving[k]) if k in leaving else None for k in range(count)]
    )


def _batched(
    b: MirBuilder, block: Block, batched: Sequence[bool], size: int, values: Sequence[Value | SSAValue]
) -> Batch:
    """The ops of a body for a whole batch, where `b` inserts; its arguments are these values."""
    batch = Batch(size, b)
    batch.values |= {arg: x.ssa if isinstance(x, Value) else x for arg, x in zip(block.args, values, strict=True)}
    batch.batched |= {arg for arg, has_axis in zip(block.args, batched, strict=True) if has_axis}
    batch.copy(ops_of(block))
    return batch


def _of_batch(
    make: Make, blocks: Sequence[Block], b: MirBuilder, batched: Sequence[bool], size: int, values: Sequence[Value]
) -> list[Value]:
    """One op of the same kind of the whole batch."""
    bodies = [Body() for _ in blocks]
    batches = [_batched(body.b, block, batched, size, values) for body, block in zip(bodies, blocks, strict=True)]
    yielded = [end_of(block).values for block in blocks]
    has_axis = [
        any(y in batch.batched for y, batch in zip(column, batches, strict=True))
        for column in zip(*yielded, strict=True)
    ]
    ends = [
        body.end(batch.with_axis(y) if has else batch.values[y] for y, has in zip(row, has_axis, strict=True))
        for body, batch, row in zip(bodies, batches, yielded, strict=True)
    ]
    results = [b.value(y) for y in b.emit(make, isolate_all(ends, 0), *ends).results]
    return [y if has else lift(b, y, size) for y, has in zip(results, has_axis, strict=True)]


@VJP.rule(IfOp)
def if_vjp(op: IfOp, b: MirBuilder, *cotangents: Value | None) -> Sequence[Cotangent]:
    """The cotangents of the branch that was taken."""
    return [None, *_pull_back(partial(IfOp, op.predicate), op.branches, op.captured, b, cotangents)]


@JVP.rule(IfOp)
def if_jvp(op: IfOp, b: MirBuilder, *tangents: Value | None) -> Together:
    return _push_forward(partial(IfOp, op.predicate), op.branches, op.captured, b, tangents[1:])


@VMAP.rule(IfOp)
def if_vmap(op: IfOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value) -> Sequence[Value]:
    """One branch for all where the predicate is the same for all, else both, and a choice for each."""
    predicate, *captured = operands
    if not batched[0]:
        return _of_batch(partial(IfOp, predicate.ssa), op.branches, b, batched[1:], size, captured)
    otherwise = b.eq(b.cast(predicate, i32), 0)
    if has_effects(op):
        return _printing_where_taken(op, b, batched[1:], size, (predicate, otherwise), captured)
    rows = [
        _where_taken(b, block, taken, batched[1:], size, captured)
        for block, taken in zip(op.branches, (predicate, otherwise), strict=True)
    ]
    return [_choice(b, predicate, x, y) for x, y in zip(*rows, strict=True)]


def _printing_where_taken(
    op: IfOp, b: MirBuilder, batched: Sequence[bool], size: int, taken: Sequence[Value], captured: Sequence[Value]
) -> list[Value]:
    """Both branches of a batch, each of which has its effects for those that take it."""
    rows: list[list[Value]] = []
    for region, one in zip((op.then, op.otherwise), taken, strict=True):
        block = region.clone().detach_block(0)
        print_where(block, TRUTH)
        rows.append(_where_taken(b, block, one, [*batched, True], size, [*captured, one], prints=True))
        clear(block)
    return [_choice(b, taken[0], x, y) for x, y in zip(*rows, strict=True)]


def _where_taken(
    b: MirBuilder,
    block: Block,
    taken: Value,
    batched: Sequence[bool],
    size: int,
    captured: Sequence[Value],
    prints: bool = False,
) -> list[Value]:
    """
    What a branch yields for a whole batch, some of which take it: the others have the operands of one that does.

    So nothing that the branch computes for these is less finite than for one that takes it, and a derivative of 0 times
    infinity does not get from them to what the batch shares. Where none takes it and that matters, nothing is computed.
    With `prints`, the last value is the predicate by which the branch prints, which stays as it is.
    """
    shares = any(has_derivative(x.ssa) and not has for x, has in zip(captured, batched, strict=True))
    if not size or all(isinstance(op, _ADDITIVE) for op in ops_of(block)):
        return _yielded(b, block, batched, size, captured)
    if not shares and not any(op.regions for op in ops_of(block)):
        return _yielded(b, block, batched, size, _of_taken(b, taken, batched, size, captured, prints))
    going, done = Body(), Body()
    found = _yielded(going.b, block, batched, size, _of_taken(going.b, taken, batched, size, captured, prints))
    ends = [going.end(y.ssa for y in found), done.end(done.b.zeros_like(y).ssa for y in found)]
    is_any = b.gt(b.reduce_sum(b.cast(taken, i32)), 0)
    return [b.value(y) for y in b.emit(IfOp, is_any.ssa, isolate_all(ends, 0), *ends).results]


_ADDITIVE = (AddOp, SubOp, NegOp, CastOp, ConstantOp, ExpandOp, ReshapeOp, TransposeOp)
"""Ops whose derivatives do not depend on their operands: nothing in a body of these alone is less finite than them."""


def _yielded(b: MirBuilder, block: Block, batched: Sequence[bool], size: int, values: Sequence[Value]) -> list[Value]:
    """What a body yields for a batch, with its axis."""
    batch = _batched(b, block, batched, size, values)
    return [b.value(batch.with_axis(y)) for y in end_of(block).values]


def _of_taken(
    b: MirBuilder,
    taken: Value,
    batched: Sequence[bool],
    size: int,
    values: Sequence[Value],
    prints: bool = False,
) -> list[Value]:
    """
    Batched values where `taken` says so, elsewhere those of the first that it says so of, without derivative.

    With `prints`, the last value stays as it is.
    """
    if not size:
        return list(values)
    if prints:
        return [*_of_taken(b, taken, batched[:-1], size, values[:-1]), values[-1]]
    position = b.iota(size, 0, i32)
    first = b.reshape(b.reduce_min(b.where(taken, position, size - 1)), (1,))
    found: list[Value] = []
    for value, has_axis in zip(values, batched, strict=True):
        if has_axis:
            one = b.gather(value, first)
            value = _choice(b, taken, value, b.stop_gradient(one) if has_derivative(value.ssa) else one)
        found.append(value)
    return found


def _choice(b: MirBuilder, predicate: Value, on_true: Value, on_false: Value) -> Value:
    """For each of a batch, one of two values."""
    return b.where(align(b, predicate, on_true.rank - 1), on_true, on_false)


@VJP.rule(RematOp)
def remat_vjp(op: RematOp, b: MirBuilder, *cotangents: Value | None) -> Sequence[Cotangent]:
    return _pull_back(RematOp, [op.body.block], op.captured, b, cotangents)


@JVP.rule(RematOp)
def remat_jvp(op: RematOp, b: MirBuilder, *tangents: Value | None) -> Together:
    return _push_forward(RematOp, [op.body.block], op.captured, b, tangents)


@VMAP.rule(RematOp)
def remat_vmap(op: RematOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value) -> Sequence[Value]:
    return _of_batch(RematOp, [op.body.block], b, batched, size, operands)


# Loops.


@FLOW.rule(WhileOp)
def while_flow(op: WhileOp, active: Sequence[int]) -> Sequence[SSAValue]:
    """A carry that depends on another at some time depends on it from then on."""
    return [op.carries[i] for i in sorted(_moving(op, active))]


def _moving(op: WhileOp, active: Sequence[int]) -> set[int]:
    """The numbers of the carries that vary with the operands of these numbers."""
    n = len(op.init)
    return varying_carries(op, [i for i in active if i < n], [i for i in active if i >= n])[0]


@VJP.rule(WhileOp)
def while_vjp(op: WhileOp, b: MirBuilder, *cotangents: Value | None) -> Sequence[Cotangent]:
    """That of its definition by a scan, which the preparation puts in its place."""
    if op.most is None:
        remedy = "set max_iterations" if op.remedy is None else op.remedy.data
        raise PassFailedException(
            f"{named(op)}: a while loop without a bound has no gradient in reverse mode: {remedy}, or use forward mode "
            "(rlx.jvp, mir-jvp)"
        )
    raise PassFailedException(
        f"{named(op)}: it is differentiated by its decomposition: run mir-unroll-while first, and then "
        "mir-convert-scans-for-ad (mir-prepare-for-ad does)"
    )


@decompose(WhileOp)
def while_decompose(op: WhileOp, b: MirBuilder) -> Sequence[Value]:
    """A scan over all times at which the loop may go on, with the body in a branch: later times do nothing."""
    if op.most is None:
        raise PassFailedException(f"{named(op)}: a while loop without a bound cannot become a scan: set max_iterations")
    n = len(op.init)
    draft = Draft(op.most, False)
    start = [*op.init, _asked(op, op.init, b), b.scalar(0, i32).ssa]
    *carries, active, trips = (draft.carry(x) for x in start)
    going, done = Body(), Body()
    after = results_of(op.body.block, [*carries, *op.captured], going.b)
    blocks = [
        going.end([*after, _asked(op, after, going.b), going.b.add(trips, 1).ssa]),
        done.end([*carries, active, trips]),
    ]
    taken = draft.b.emit(IfOp, active, isolate_all(blocks, 0), *blocks)
    found = draft.finish(b, taken.results, []).carries
    return [*map(b.value, found[:n]), b.value(found[n + 1])]


def _asked(op: WhileOp, carries: Sequence[SSAValue], b: MirBuilder) -> SSAValue:
    """Whether the loop goes on with these carries."""
    (found,) = results_of(op.condition.block, [*carries, *op.captured], b)
    return found


@JVP.rule(WhileOp)
def while_jvp(op: WhileOp, b: MirBuilder, *tangents: Value | None) -> Together:
    """One loop of values and tangents; the tangents of carries are carries."""
    n = len(op.init)
    moving = sorted(_moving(op, [i for i, t in enumerate(tangents) if t is not None]))
    arriving = [None if t is None else t.ssa for t in tangents]
    init = [*op.init, *(or_zeros(b, arriving[i], op.init[i]) for i in moving)]
    condition, body = (Body([x.type for x in init]) for _ in range(2))
    args = body.block.args
    known = dict(zip((args[i] for i in moving), args[n:], strict=True))
    known |= {x: t for x, t in zip(op.captured, arriving[n:], strict=True) if t is not None}
    values, found = pushed_forward(body, op.body.block, [*args[:n], *op.captured], known)
    blocks = [
        condition.end([_asked(op, condition.block.args[:n], condition.b)]),
        body.end([*values, *(or_zeros(body.b, found[i], values[i]) for i in moving)]),
    ]
    loop = b.emit(WhileOp, init, isolate_all(blocks, len(init)), *blocks, max_iterations=op.most, remedy=op.remedy)
    leaving = dict(zip(moving, loop.carries[n:], strict=True))
    return Together(
        [*map(b.value, loop.carries[:n]), b.value(loop.trips)],
        [*(b.value(leaving[i]) if i in leaving else None for i in range(n)), None],
    )


@VMAP.rule(WhileOp)
def while_vmap(op: WhileOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value) -> Sequence[Value]:
    """One loop for all: as often as for each where that is the same for all, else until all are done."""
    n = len(op.init)
    carries = {i for i in range(n) if batched[i]}
    while True:
        start = [lift(b, x, size) if i in carries and not batched[i] else x for i, x in enumerate(operands[:n])]
        has_axis = [i in carries or (i >= n and batched[i]) for i in range(len(operands))]
        condition, body = (Body([x.type for x in start]) for _ in range(2))
        asked, after = (
            _batched(made.b, block, has_axis, size, [*made.block.args, *operands[n:]])
            for made, block in ((condition, op.condition.block), (body, op.body.block))
        )
        if op.asked in asked.batched:
            condition.drop()
            body.drop()
            return _until_all_are_done(op, b, batched, size, operands)
        more = {i for i in range(n) if op.last.values[i] in after.batched}
        if more <= carries:
            break
        carries |= more
        condition.drop()
        body.drop()
    blocks = [
        condition.end([asked.values[op.asked]]),
        body.end(after.with_axis(y) if i in carries else after.values[y] for i, y in enumerate(op.last.values)),
    ]
    loop = b.emit(
        WhileOp, [x.ssa for x in start], isolate_all(blocks, n), *blocks, max_iterations=op.most, remedy=op.remedy
    )
    left = [b.value(x) if i in carries else lift(b, b.value(x), size) for i, x in enumerate(loop.carries)]
    return [*left, lift(b, b.value(loop.trips), size)]


def _until_all_are_done(
    op: WhileOp, b: MirBuilder, batched: Sequence[bool], size: int, operands: Sequence[Value]
) -> list[Value]:
    """
    The loop of a batch in which each is done at a time of its own: it keeps its carries from then on.

    Which are not done, and how often each was run, are carries too. Those that are done are run with the operands of
    one that is not, for the sake of derivatives.
    """
    n = len(op.init)
    has_axis = [i < n or batched[i] for i in range(len(operands))]
    captured = operands[n:]

    def ask(b: MirBuilder, carries: Sequence[Value], active: Value | None = None) -> Value:
        (found,) = _for_active(b, op.condition, active, has_axis, size, [*carries, *captured])
        return found

    start = [x if batched[i] else lift(b, x, size) for i, x in enumerate(operands[:n])]
    init = [*start, ask(b, start), b.full((size,), 0, i32)]
    condition, body = (Body([x.type for x in init]) for _ in range(2))
    active = condition.b.value(condition.block.args[n])
    any_left = condition.b.gt(condition.b.reduce_sum(condition.b.cast(active, i32)), 0)
    before = [body.b.value(x) for x in body.block.args]
    active, trips = before[n:]
    operands = _of_taken(body.b, active, has_axis, size, [*before[:n], *captured])
    found = _for_active(body.b, op.body, active, has_axis, size, operands)
    after = [_choice(body.b, active, y, old) for y, old in zip(found, before[:n], strict=True)]
    still = body.b.and_(active, ask(body.b, after, active))
    blocks = [
        condition.end([any_left.ssa]),
        body.end(x.ssa for x in (*after, still, body.b.add(trips, body.b.cast(active, i32)))),
    ]
    loop = b.emit(
        WhileOp,
        [x.ssa for x in init],
        isolate_all(blocks, len(init)),
        *blocks,
        max_iterations=op.most,
        remedy=op.remedy,
    )
    return [*map(b.value, loop.carries[:n]), b.value(loop.carries[n + 1])]


def _for_active(
    b: MirBuilder,
    region: Region,
    active: Value | None,
    batched: Sequence[bool],
    size: int,
    values: Sequence[Value],
) -> list[Value]:
    """What a body yields for a batch; it prints for those that are active."""
    if active is None or not with_effects(region.block.ops):
        return _yielded(b, region.block, batched, size, values)
    block = region.clone().detach_block(0)
    print_where(block, TRUTH)
    found = _yielded(b, block, [*batched, True], size, [*values, active])
    clear(block)
    return found
