"""The pass `mir-convert-scans-for-ad`: what the gradient of a scan needs of each time becomes a stacked result.
The gradients themselves are rows of VJP in `rules/scan.py` and `rules/recurrence.py`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.recurrence import RecurrenceOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.transforms.checkpoints import in_segments, is_recomputed
from xdsl_rlx.transforms.driver import is_behind_a_rule, is_constant, is_differentiated, is_view
from xdsl_rlx.transforms.engines.define import define, rewrite_by
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.rules.recurrence import by_products, with_states
from xdsl_rlx.transforms.rules.scan import Reverse
from xdsl_rlx.transforms.rules.table import SCALAR
from xdsl_rlx.transforms.rules.wide import rounded, wide
from xdsl_rlx.transforms.scalar_cost import DEAR, scalar_cost


@dataclass(frozen=True)
class MirConvertScansForAdPass(ModulePass):
    """
    Have every `mir.scan` stack what its gradient needs of each time and cannot compute again at little cost.

    Recurrences with a name (`mir.selective_scan`, `mir.gated_delta_net`) give the states before each time as one more
    result.

    ```
    %h = mir.scan 8 carries(%h0) over(%x) captured(%w) -> (T) () {tanh(h @ w + x)}
    // becomes
    %h, %before, %after = mir.scan 8 carries(%h0) over(%x) captured(%w) -> (T) (8xT, 8xT) {tanh(h @ w + x), h, ..}
    ```

    A scan with `checkpoints` becomes nested ones first (`checkpoints.py`); the outer ones stack the carries with which
    each of the inner ones begins, which the gradient then runs again.
    """

    name = "mir-convert-scans-for-ad"

    recurrences: Literal["closed", "unroll"] = "closed"
    """`closed`: recurrences with a name stay, and have reverse recurrences of their own; `unroll`: they are written
    out time by time in simpler ops, for sequences that are short."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for recurrence in [inner for inner in op.walk() if isinstance(inner, RecurrenceOp)]:
            if is_differentiated(recurrence):
                continue
            if self.recurrences == "unroll":
                _unroll(recurrence)
            elif recurrence.states is None and not is_behind_a_rule(recurrence):
                rewrite_by(recurrence, _giving_states)
        # inner scans first: what they stack is a value of the body around them
        for scan in reversed([inner for inner in op.walk() if isinstance(inner, ScanOp)]):
            if not is_differentiated(scan) and not is_behind_a_rule(scan) and _to_stack(scan):
                for one in in_segments(scan):
                    if values := _to_stack(one):
                        _stack(one, values)


def _giving_states(op: RecurrenceOp, b: MirBuilder) -> list[Value]:
    """In f32 for half floats: the rule would compute the states again in f32."""
    with wide(op, b) as seen:
        assert isinstance(seen, RecurrenceOp)
        twin = with_states(seen, b)
    return [rounded(b, b.value(twin.result), op.result), b.value(twin.final)]


def _unroll(op: RecurrenceOp) -> None:
    """Replace a recurrence by its definition, and the scan in that by its body for each time."""
    b = MirBuilder(Builder(InsertPoint.before(op)))
    with located(b.builder, op.location) as made:
        replace(op, define(op, b, by_products))
    for scan in made:
        if isinstance(scan, ScanOp):
            rewrite_by(scan, define)


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


def _stack(op: ScanOp, values: Iterable[SSAValue]) -> None:
    """Yield more values of the body."""
    block = op.body.detach_block(0)
    end = block.last_op
    assert isinstance(end, YieldOp)
    yielded = [*end.values, *values]
    end.detach()
    end.erase()
    block.add_op(YieldOp(*yielded))
    how = (op.reverse is not None, op.kept, op.recomputed is not None)
    more = ScanOp(op.init, op.xs, op.captured, op.times, block, *how)
    more.location = op.location
    parent = op.parent_block()
    assert parent is not None
    parent.insert_op_before(more, op)
    replace(op, [*more.carries, *more.ys[: len(op.ys)]])
