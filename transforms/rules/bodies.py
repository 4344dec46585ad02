"""What the rows of ops with bodies share: a body in the making, and the engines called on a body. No rows are here."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.effects import remove_effects
from xdsl_rlx.dialects.mir.bodies import clear, end_of, ops_of
from xdsl_rlx.dialects.mir.branch import WhileOp
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.engines.forward import push_forward
from xdsl_rlx.transforms.engines.reverse import add_seeds, has_derivative, pull_back, varying


class Body:
    """
    A body in the making. What its ops use from outside is captured when an op is made of it.

    Ops are inserted by `b`, at the end of its block.
    """

    def __init__(self, arg_types: Sequence[Attribute] = ()):
        self.block = Block(arg_types=arg_types)
        self.b = MirBuilder(Builder(InsertPoint.at_end(self.block)))

    def inline(self, source: Block, values: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
        """Copy the ops of a body, whose arguments are these values here; where each of its values is found."""
        return inlined(source, values, self.b)

    def end(self, values: Iterable[SSAValue]) -> Block:
        """The block, which yields these values."""
        self.b.builder.insert(YieldOp(*values))
        region = Region(self.block)
        remove_dead(region)
        return region.detach_block(self.block)

    def drop(self) -> None:
        """Give up: nothing outside is used any more."""
        clear(self.block)


def inlined(source: Block, values: Sequence[SSAValue], b: MirBuilder) -> dict[SSAValue, SSAValue]:
    """Copy the ops of a body, whose arguments are these values, to where `b` inserts; where its values are found."""
    env: dict[SSAValue, SSAValue] = dict(zip(source.args, values, strict=True))
    for op in ops_of(source):
        b.builder.insert(op.clone(env))
    return env


def results_of(source: Block, values: Sequence[SSAValue], b: MirBuilder) -> list[SSAValue]:
    """What a body yields for these values, computed where `b` inserts."""
    env = inlined(source, values, b)
    return [env[y] for y in end_of(source).values]


def or_zeros(b: MirBuilder, value: SSAValue | None, like: SSAValue) -> SSAValue:
    """The value, or zeros in its place."""
    return b.zeros_like(like).ssa if value is None else value


def pulled_back(
    body: Body,
    source: Block,
    values: Sequence[SSAValue],
    cotangents: Sequence[SSAValue | None],
    wrt: Sequence[SSAValue],
) -> list[SSAValue | None]:
    """
    Compute a body again, and the cotangents of `wrt` from those of what it yields.

    Its arguments are `values`, of which those in `wrt` are some.
    """
    found = results_of(source, values, body.b)
    remove_effects(body.block)
    ops = list(body.block.ops)
    seeds = add_seeds(body.b, [body.b.value(y) for y in found], cotangents)
    return pull_back(body.b, ops, seeds, wrt)


def pushed_forward(
    body: Body, source: Block, values: Sequence[SSAValue], tangents: Mapping[SSAValue, SSAValue]
) -> tuple[list[SSAValue], list[SSAValue | None]]:
    """What a body yields for these values, and the tangents of that, None where there is none."""
    end = YieldOp(*results_of(source, values, body.b))
    ops = list(body.block.ops)
    # what is yielded is replaced with the op that computes it
    body.b.builder.insert(end)
    pushed = dict(tangents)
    push_forward(ops, pushed)
    found = list(end.values)
    end.detach()
    end.erase()
    return found, [pushed.get(y) for y in found]


def varying_carries(
    op: ScanOp | WhileOp, carries: Iterable[int], others: Iterable[int]
) -> tuple[set[int], set[SSAValue]]:
    """
    The carries that vary at some time, and what varies in the body then: the least fixpoint.

    `carries` are the numbers of those that vary at first, `others` the numbers of operands that do.
    """
    block = op.body.block
    args, ops, found = block.args, ops_of(block), {n for n in carries if has_derivative(op.init[n])}
    while True:
        varied = varying(ops, [args[n] for n in (*sorted(found), *others)])
        more = {n for n in range(len(op.init)) if op.last.values[n] in varied} | found
        if more == found:
            return found, varied
        found = more


def backward_slice(values: Iterable[SSAValue], known: Container[SSAValue] = ()) -> set[SSAValue]:
    """Values, and those that they are computed from, up to what is known."""
    found: set[SSAValue] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in known and value not in found:
            found.add(value)
            if isinstance(value.owner, Operation):
                waiting += value.owner.operands
    return found


def needed_carries(
    args: Sequence[SSAValue], last: Sequence[SSAValue], carries: set[int], others: Sequence[SSAValue]
) -> tuple[set[int], set[SSAValue]]:
    """
    The carries that are needed for some of them, and for other values of the body; and all that is needed for these.

    `args` are the carries as the body takes them, `last` begins with those for the next time.
    """
    while True:
        needed = backward_slice([*(last[k] for k in carries), *others])
        more = carries | {k for k, arg in enumerate(args) if arg in needed}
        if more == carries:
            return carries, needed
        carries = more
