"""Results that are written over arguments: in which order ops of mir may then run.
What replaces what is an attribute of the results (`Signature.replaced`). Kernels are in `bufferize/donation.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xdsl_rlx.dialects.effects import with_effects
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import VIEW
from xdsl_rlx.transforms.signature import Signature


@dataclass(frozen=True)
class Update:
    """Result `value` of number `number` is written over `argument`, called `name`; `strict`: without a copy."""

    number: int
    value: SSAValue
    name: str
    argument: BlockArgument
    strict: bool

    @property
    def writer(self) -> Operation | None:
        """The op that computes the result, perhaps seen in another shape; None where that is an argument."""
        value = self.value
        while isinstance(value.owner, Operation) and VIEW.get(type(value.owner)) is not None:
            value = value.owner.operands[0]
        return value.owner if isinstance(value.owner, Operation) else None

    @property
    def readers(self) -> dict[Operation, None]:
        """The ops that read the argument as it was, through whatever shows the same memory."""
        found: dict[Operation, None] = {}
        aliases: list[SSAValue] = [self.argument]
        for value in aliases:
            for use in value.uses:
                op = use.operation
                found[op] = None
                aliases += _shown_by(op, value)
        return found


def _shown_by(op: Operation, value: SSAValue) -> Iterator[SSAValue]:
    """Results that lie where an operand lies."""
    if VIEW.get(type(op)) is not None:
        yield from op.results
    elif isinstance(op, FusionOp):
        end = op.body.block.last_op
        assert isinstance(end, YieldOp)
        for arg, given in zip(op.body.block.args, op.inputs, strict=True):
            if given is value:
                yield from (result for inner, result in zip(end.values, op.results, strict=True) if inner is arg)


def updates_of(func: FuncOp) -> list[Update]:
    """What results of a function replace; PassFailedException for what cannot be."""
    graph = Signature(func)
    outputs, strict = graph.outputs, graph.in_place
    return [Update(n, outputs[n], a.name, a.value, n in strict) for n, a in graph.replaced.items()]


@dataclass(frozen=True)
class UpdateOrder:
    """How the results of a function come to lie in the arguments that they replace."""

    waits: Mapping[Operation, Sequence[Operation]]
    """By the op that computes a result right into its argument, the readers of that argument, which come before it."""
    copied: Mapping[int, str]
    """Numbers of results that are computed into other memory and copied at the end, with the reason."""


def put_readers_first(func: FuncOp, updates: Sequence[Update]) -> UpdateOrder:
    """
    Put ops that read an argument in front of the one that replaces it.

    A result is copied at the end if it is an argument itself, and if a reader needs the result, as the return does that
    returns the argument as it was: of several results that cannot all be computed in place, the smallest is copied.
    """
    copied: dict[int, str] = {}
    writers: dict[Operation, dict[Update, dict[Operation, None]]] = {}
    for update in updates:
        if update.value is update.argument:
            continue
        if (writer := update.writer) is None:
            copied[update.number] = "it is an argument itself"
        else:
            readers = {reader: None for reader in update.readers if reader is not writer}
            writers.setdefault(writer, {})[update] = readers
    if writers:
        block = func.body.block
        for op in _Order(block, writers, copied).ops():
            op.detach()
            block.add_op(op)
    waits = {writer: list(dict.fromkeys(r for rs in of.values() for r in rs)) for writer, of in writers.items()}
    return UpdateOrder(waits, copied)


@dataclass(frozen=True)
class _Order:
    """The order of the ops of a block in which arguments are read before they are replaced, as far as there is one."""

    block: Block
    writers: dict[Operation, dict[Update, dict[Operation, None]]]
    """The updates that ops compute in place, with the ops that have to run before."""
    copied: dict[int, str]
    effects: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """By each op with effects, the one before it."""

    def ops(self) -> list[Operation]:
        """The ops behind those that they need or wait for; updates that are part of a cycle are moved to `copied`."""
        order: dict[Operation, None] = {}
        self.effects.update((op, before) for before, op in pairwise(with_effects(self.block.ops)))
        for op in self.block.ops:
            path = {op: iter(self._before(op))}
            while path:
                top, before = next(reversed(path.items()))
                inner = next((x for x in before if x not in order), None)
                if inner is None:
                    order[top] = None
                    del path[top]
                elif inner in path:
                    ops = list(path)
                    writer = self._break(ops[ops.index(inner) :])
                    while next(reversed(path)) is not writer:
                        path.popitem()
                    path[writer] = iter(self._before(writer))
                else:
                    path[inner] = iter(self._before(inner))
        return list(order)

    def _before(self, op: Operation) -> Iterable[Operation]:
        """The ops that compute operands, then those that an op waits for."""
        owners = [operand.owner for operand in op.operands]
        needed = [owner for owner in owners if isinstance(owner, Operation) and owner.parent is self.block]
        if (before := self.effects.get(op)) is not None:
            needed.append(before)
        return [*needed, *(reader for readers in self.writers.get(op, {}).values() for reader in readers)]

    def _break(self, cycle: Sequence[Operation]) -> Operation:
        """Have as few bytes copied as end the wait of one op of a cycle for the next one; gives that op."""
        found: list[tuple[int, Operation, Operation, list[Update]]] = []
        for op, other in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            if op in self.writers and not any(operand.owner is other for operand in op.operands):
                waiting = [update for update, readers in self.writers[op].items() if other in readers]
                # an op with effects may wait for the one before it, too
                if waiting:
                    found.append((sum(_size(update) for update in waiting), op, other, waiting))
        _, writer, reader, waiting = min(found, key=lambda one: one[0])
        for update in waiting:
            why = f'{named(reader)} reads "{update.name}", and needs the result'
            if isinstance(reader, ReturnOp):
                why = f'"{update.name}" is returned as it was, too'
            self.copied[update.number] = why
            del self.writers[writer][update]
        return writer


def _size(update: Update) -> int:
    return prod(shape_of(update.argument)) * element_bytes(element_of(update.argument))
