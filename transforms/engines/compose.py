"""Composite ops from simpler ones, by the rows of RAISE, in every block of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.control import FusionOp, VjpOp
from xdsl_rlx.dialects.mir.factor import EighOp, SvdOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.reduce import ReduceOp
from xdsl_rlx.dialects.mir.shape import TransposeOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.transforms.canonicalize.mir import transpose_elements
from xdsl_rlx.transforms.dead_ops import is_dead, remove_dead
from xdsl_rlx.transforms.driver import is_constant, is_elementwise, is_view
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.mir_cse import share_common
from xdsl_rlx.transforms.rules.raise_table import RAISE, Missed, Raised, RaiseRow, Reason, Walk


@dataclass(frozen=True)
class RaisedOp:
    """A composite op that was found in a program."""

    composite: type[Operation]
    at: Operation
    """The op that is in the program now."""


@dataclass(frozen=True)
class MissedOp:
    """An op that ends what has the structure of a composite op, and why it does not become one."""

    composite: type[Operation]
    at: Operation
    why: Missed


@dataclass(frozen=True)
class Composition:
    """What was made composite, and what was not, in the order in which it was found."""

    raised: list[RaisedOp]
    missed: list[MissedOp]
    is_tidier: bool
    """Whether transposes went, or ops that computed what others do."""


def compose(module: ModuleOp, wanted: Callable[[type[Operation]], bool], faster: bool = False) -> Composition:
    """
    Replace what is a composite op of a class that is wanted, in all blocks of a module; with `faster`, where the op
    is not expected to be slower.

    Functions are looked for twice: as the program is, and with what a reduction that is left reads computed once, since
    a mean or a maximum may be written twice within one. Not the other way round: what two functions have in common
    would stand in the way of both. Decompositions of one matrix are one before: a function of it reads several results.
    """
    present = {type(op) for op in ops_within(module)}
    functions, *others = [(stage, RAISE.rows(stage, wanted, present)) for stage in Walk]
    remove_dead(module.body)
    has_sunk = _sink_transposes(module)
    decomposed = _read_by(module, (EighOp, SvdOp))
    is_tidier = (bool(decomposed) and share_common(module, decomposed)) or has_sunk
    raised, missed = list[RaisedOp](), dict[Operation, MissedOp]()

    def walk(*stages: _Stage) -> None:
        for block in _blocks(module):
            for stage, rows in stages:
                raised.extend(_walk(block, stage, rows, missed, faster))

    walk(functions)
    reduced = _read_by(module, (ReduceOp,))
    has_shared = bool(reduced) and share_common(module, reduced)
    walk(*([functions] if has_shared else []), *others)
    if raised:
        remove_dead(module.body)
    return Composition(raised, [miss for op, miss in missed.items() if op.parent is not None], has_shared or is_tidier)


def _sink_transposes(module: ModuleOp) -> bool:
    """Take transposes on both sides of elementwise ops away, as in `(x.T - v).T`. Whether there were any."""
    found = False
    for block in _blocks(module):
        for op in [op for op in block.ops if isinstance(op, TransposeOp)]:
            builder = Builder(InsertPoint.before(op))
            with located(builder, op.location):
                value = transpose_elements(op, MirBuilder(builder))
            if isinstance(value, Value):
                replace(op, [value])
                found = True
    if found:
        remove_dead(module.body)
    return found


def _read_by(module: ModuleOp, kinds: tuple[type[Operation], ...]) -> set[Operation]:
    """The ops of some kinds in a module, and what computes for them: elementwise ops, views, constants, each other."""
    found, left = set[Operation](), [op for op in ops_within(module) if isinstance(op, kinds)]
    while left:
        op = left.pop()
        if op not in found and (isinstance(op, kinds) or is_elementwise(type(op)) or is_view(op) or is_constant(op)):
            found.add(op)
            left += [x.owner for x in op.operands if isinstance(x.owner, Operation)]
    return found


_Stage: TypeAlias = tuple[Walk, dict[type[Operation], list[RaiseRow]]]


def _blocks(module: ModuleOp) -> list[Block]:
    """Every block of code, but what a `mir.vjp` or a kernel holds."""
    found: list[Block] = []
    left = list(reversed(module.body.blocks))
    while left:
        block = left.pop()
        if block.first_op is not None:
            found.append(block)
        holders = [op for op in block.ops if op.regions and not isinstance(op, FusionOp | VjpOp)]
        inner = [block for op in holders for region in op.regions for block in region.blocks]
        left += reversed(inner)
    return found


def _walk(
    block: Block,
    stage: Walk,
    rows: dict[type[Operation], list[RaiseRow]],
    missed: dict[Operation, MissedOp],
    faster: bool,
) -> Iterator[RaisedOp]:
    """Replace what ops of a block are by the rows of a stage."""
    ops = [op for op in block.ops if type(op) in rows]
    for op in ops if stage == Walk.FUNCTIONS else reversed(ops):
        # an op that was taken in is in no block any more
        if op.parent is not None and (made := _look_at(op, rows[type(op)], missed, faster)) is not None:
            yield made


def _look_at(
    op: Operation, rows: Sequence[RaiseRow], missed: dict[Operation, MissedOp], faster: bool
) -> RaisedOp | None:
    """Replace an op by the first composite one that it ends; note what it misses if it ends none."""
    for row in rows:
        found = row.rule(op)
        if isinstance(found, Raised):
            if faster and not found.is_faster:
                continue
            taken = _between(op, found.leaves)
            if taken is None:
                continue
            shared = next((inner for inner in taken[1:] if _is_needed_beside(inner, taken)), None)
            if shared is None:
                made = _replace(op, found, taken)
                if row.stage >= Walk.SUMS:
                    # a product that takes in what almost was attention says nothing of that
                    missed.update((made, missed[inner]) for inner in taken[1:] if inner in missed)
                return RaisedOp(row.op, made)
            found = Missed(Reason.MULTI_CONSUMER, f"its intermediate {shared.name} is an output or has other users")
        if found is not None:
            missed.setdefault(op, MissedOp(row.op, op, found))
    return None


def _between(last: Operation, leaves: Sequence[SSAValue]) -> list[Operation] | None:
    """
    The ops from `last` back to the leaves, users first, without those that compute from constants alone.

    None where something else is read on the way: then the op would not be all that is computed.
    """
    begins, varies = set(leaves), dict[Operation, bool]()
    left = [(last, False)]
    while left:
        op, is_known = left.pop()
        if op in varies:
            continue
        owners = [x.owner for x in op.operands if x not in begins]
        inner = [owner for owner in owners if isinstance(owner, Operation)]
        if len(inner) < len(owners):
            return None
        if is_known:
            varies[op] = len(owners) < len(op.operands) or any(varies[owner] for owner in inner)
        else:
            left.append((op, True))
            left += [(owner, False) for owner in inner]
    return [op for op, does in reversed(varies.items()) if does]


def _is_needed_beside(op: Operation, taken: Sequence[Operation]) -> bool:
    """Whether something but what is taken in reads what an op computes. Views compute nothing."""
    users = (use.operation for result in op.results for use in result.uses)
    return not is_view(op) and any(user not in taken and not is_dead(user) for user in users)


def _replace(op: Operation, found: Raised, taken: Sequence[Operation]) -> Operation:
    builder = Builder(InsertPoint.before(op))
    with located(builder, op.location):
        value = found.build(MirBuilder(builder))
    replace(op, [value])
    for inner in taken[1:]:
        if is_dead(inner):
            inner.detach()
            inner.erase()
    owner = value.ssa.owner
    assert isinstance(owner, Operation)
    return owner
