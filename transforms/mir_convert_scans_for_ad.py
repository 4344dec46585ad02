"""The pass `mir-convert-scans-for-ad`: what the gradient of a scan needs of each time becomes a stacked result.
The gradients themselves are rows of VJP in `rules/scan.py` and `rules/recurrence.py`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.bodies import end_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.recurrence import RecurrenceOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.transforms.checkpoints import in_segments, is_recomputed
from xdsl_rlx.transforms.driver import RewritingPass, is_behind_a_rule, is_constant, is_view, sweep
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.located import recorded
from xdsl_rlx.transforms.rules.recurrence import by_products, with_states
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.rules.scan import Reverse
from xdsl_rlx.transforms.rules.wide import rounded, wide
from xdsl_rlx.transforms.scalar_cost import DEAR, scalar_cost


@dataclass(frozen=True)
class MirConvertScansForAdPass(RewritingPass):
    """
    Make every `mir.scan` stack the residuals that its gradient needs and that are expensive to recompute.

    Named recurrences (`mir.selective_scan`, `mir.gated_delta_net`) return the state before each iteration as an extra
    result.

    ```
    %h = mir.scan 8 carries(%h0) over(%x) captured(%w) -> (T) () {tanh(h @ w + x)}
    // becomes
    %h, %before, %after = mir.scan 8 carries(%h0) over(%x) captured(%w) -> (T) (8xT, 8xT) {tanh(h @ w + x), h, ..}
    ```

    A scan with `checkpoints` first becomes nested scans (`checkpoints.py`). Outer scans stack the initial carries of
    the inner ones; the gradient reruns these.
    """

    name = "mir-convert-scans-for-ad"

    recurrences: Literal["closed", "unroll"] = "closed"
    """`closed`: named recurrences stay; their gradients are reverse recurrences. `unroll`: they are unrolled into
    simpler ops, for short sequences."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        changed = sweep(module, UnrollRecurrence() if self.recurrences == "unroll" else GiveStates())
        # inner scans first: what they stack is a value of the body around them
        return sweep(module, StackResiduals(), inner_first=True) or changed


class UnrollRecurrence(RewritePattern):
    """A recurrence becomes its definition, and the scan in that its body for each time."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, RecurrenceOp):
            return
        with recorded(rewriter) as made:
            values = define(op, MirBuilder(rewriter), by_products)
        rewriter.replace(op, [], [value.ssa for value in values])
        for scan in made:
            if isinstance(scan, ScanOp):
                rewriter.insertion_point = InsertPoint.before(scan)
                rewriter.replace(scan, [], [value.ssa for value in define(scan, MirBuilder(rewriter))])


class GiveStates(RewritePattern):
    """
    A recurrence that a gradient goes back over gives its states too.

    In f32 for half floats: the rule would compute the states again in f32.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, RecurrenceOp) or op.states is not None or is_behind_a_rule(op):
            return
        b = MirBuilder(rewriter)
        with wide(op, b) as seen:
            assert isinstance(seen, RecurrenceOp)
            twin = with_states(seen, b)
        rewriter.replace(op, [], [rounded(b, b.value(twin.result), op.result).ssa, twin.final])


class StackResiduals(RewritePattern):
    """A scan that a gradient goes back over stacks what that needs; with `checkpoints`, it is nested scans first."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ScanOp) or is_behind_a_rule(op) or not _to_stack(op):
            return
        for one in in_segments(op, rewriter):
            if values := _to_stack(one):
                _stack(one, values, rewriter)


def _to_stack(op: ScanOp) -> list[SSAValue]:
    """Values of the body, in its order, that are needed and are not there in the backward sweep."""
    aside = Block(arg_types=[result.type for result in op.results])
    cotangents = [arg if has_derivative(result) else None for arg, result in zip(aside.args, op.results, strict=True)]
    reverse = Reverse(op, MirBuilder(Builder(InsertPoint.at_end(aside))), cotangents)
    needed = reverse.needed()
    reverse.draft.drop()
    n = len(op.init)
    there = {*op.body.block.args[n:], *op.last.values[n:]}
    found: set[SSAValue] = set()
    while needed:
        value = needed.pop()
        if value in there or value in found:
            continue
        owner = value.owner
        if isinstance(owner, Operation) and _is_cheap(owner):
            needed += owner.operands
        else:
            found.add(value)
    return [value for value in _values(op.body.block) if value in found]


def _is_cheap(op: Operation) -> bool:
    """Whether to compute again rather than stack: no transcendental function, for which a step would have to wait."""
    if is_constant(op) or is_recomputed(op) or is_view(op):
        return True
    return SCALAR.get(type(op)) is not None and scalar_cost(op) < DEAR


def _values(block: Block) -> Iterable[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _stack(op: ScanOp, values: Iterable[SSAValue], rewriter: PatternRewriter) -> None:
    """Yield more values of the body."""
    block = op.body.detach_block(0)
    end = end_of(block)
    end.operands = [*end.values, *values]
    how = (op.reverse is not None, op.kept, op.recomputed is not None)
    more = rewriter.insert(ScanOp(op.init, op.xs, op.captured, op.times, block, *how), InsertPoint.before(op))
    rewriter.replace(op, [], [*more.carries, *more.ys[: len(op.ys)]])
