"""Results that are written over arguments: in which order ops may then run, and kernels that read and write one buffer.
What replaces what is an attribute of the results (`Signature.replaced`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref, scf
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.bounds import buffers_written_by
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.lowering.buffers import Argument, Buffer, Launch
from xdsl_rlx.lowering.fuse.loop_tables import VIEW
from xdsl_rlx.transforms.signature import Signature


@dataclass(frozen=True)
class Update:
    """Result `value` of number `number` is written over `argument`, which is called `name`."""

    number: int
    value: SSAValue
    name: str
    argument: BlockArgument

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
    outputs = graph.outputs
    return [Update(number, outputs[number], a.name, a.value) for number, a in graph.replaced.items()]


def put_readers_first(func: FuncOp, updates: Sequence[Update]) -> dict[Operation, list[Operation]]:
    """
    Put ops that read an argument in front of the one that replaces it; gives the former by the latter.

    PassFailedException if a reader needs the replacement, if what replaces an argument is one itself, and if the
    argument is a result as it was.
    """
    if not updates:
        return {}
    waits: dict[Operation, list[Operation]] = {}
    for update in updates:
        if update.value is update.argument:
            continue
        if (writer := update.writer) is None:
            raise PassFailedException(f"{_cannot(update, func)}: it is an argument itself; {_cure(update)}")
        readers = update.readers
        if any(isinstance(reader, ReturnOp) for reader in readers):
            raise PassFailedException(f"{_cannot(update, func)}: that is returned as it was, too; {_cure(update)}")
        waits.setdefault(writer, []).extend(r for r in readers if r is not writer)

    def circle(ops: Sequence[Operation]) -> PassFailedException:
        pairs = zip(ops, (*ops[1:], ops[0]), strict=True)
        writer, reader = next((op, other) for op, other in pairs if other in waits.get(op, ()))
        update = next(x for x in updates if x.writer is writer and reader in x.readers)
        what = f'{named(reader)} reads "{update.name}", and needs the result'
        return PassFailedException(f"{_cannot(update, func)}: {what}; {_cure(update)}")

    block = func.body.block
    for op in _in_order(block, waits, circle):
        op.detach()
        block.add_op(op)
    return waits


def _in_order(
    block: Block,
    waits: Mapping[Operation, Sequence[Operation]],
    circle: Callable[[Sequence[Operation]], PassFailedException],
) -> list[Operation]:
    """The ops of a block behind those that they need or wait for; raises what `circle` says of one."""
    order: dict[Operation, None] = {}
    for op in block.ops:
        path = {op: iter(_before(op, waits, block))}
        while path:
            top, before = next(reversed(path.items()))
            inner = next((x for x in before if x not in order), None)
            if inner is None:
                order[top] = None
                del path[top]
            elif inner in path:
                ops = list(path)
                raise circle(ops[ops.index(inner) :])
            else:
                path[inner] = iter(_before(inner, waits, block))
    return list(order)


def _before(op: Operation, waits: Mapping[Operation, Sequence[Operation]], block: Block) -> Iterable[Operation]:
    """What an op needs, then what it waits for."""
    owners = (operand.owner for operand in op.operands)
    yield from (owner for owner in owners if isinstance(owner, Operation) and owner.parent is block)
    yield from waits.get(op, ())


def _cannot(update: Update, func: FuncOp) -> str:
    return f'result {update.number} of @{func.sym_name.data} cannot be written over "{update.name}"'


def _cure(update: Update) -> str:
    return f'do not donate "{update.name}"'


class ReadElsewhereError(Exception):
    """A kernel reads a buffer, that it writes to, at other elements or later."""


def in_place(launch: Launch) -> Launch:
    """
    The launch with one argument for what it reads and writes of an updated buffer.

    ReadElsewhereError if the kernel reads more than the element that it is about to write.
    """
    for written in [w for w in launch.writes if is_updated(w.buffer)]:
        for read in [r for r in launch.reads if r.buffer.root is written.buffer.root]:
            launch = _merged(launch, read, written)
    return launch


def is_updated(buffer: Buffer) -> bool:
    """Whether a buffer is an argument's, which a result replaces."""
    owner = buffer.root.owner
    return isinstance(owner, lir.InputOp | lir.ParamOp) and owner.updated is not None


def _merged(launch: Launch, read: Argument, written: Argument) -> Launch:
    if (read.type, read.buffer.layout.offset) != (written.type, written.buffer.layout.offset):
        raise ReadElsewhereError
    block = launch.kernel.body.block
    old = block.args[launch.reads.index(read)]
    new = block.args[len(launch.reads) + launch.writes.index(written)]
    if not _InPlace(old, new, (block.args[-2], block.args[-1])).may_be(block, (), launch.extent <= launch.chunk):
        raise ReadElsewhereError
    old.replace_all_uses_with(new)
    block.erase_arg(old)
    kernel = lir.KernelOp(launch.kernel.sym_name.data, block.arg_types[:-2], launch.kernel.detach_region(0))
    return replace(launch, kernel=kernel, reads=tuple(r for r in launch.reads if r is not read))


@dataclass(frozen=True)
class _InPlace:
    """Two buffers of a kernel with these bounds, of which one is read and the other one stored to."""

    old: SSAValue
    new: SSAValue
    bounds: tuple[SSAValue, SSAValue]

    def may_be(self, block: Block, around: Sequence[SSAValue], apart: bool) -> bool:
        """
        Whether they may be one: every element of `old` is read before the same one of `new` is stored, once.

        `around` are the counters of the loops around the block, each of which is to be an index of both. Where pieces
        are not `apart` yet, one that reads other elements than it stores may read what another one has stored.
        """
        touching = [(op, found) for op in block.ops if (found := self._touches(op))]
        storing = [n for n, (_, found) in enumerate(touching) if any(map(self._stores, found))]
        if len(storing) != 1:
            return not storing and not touching
        (at,) = storing
        holder, own = touching[at]
        before = [x for _, found in touching[:at] for x in found if self._loads(x)]
        behind = [x for _, found in touching[at + 1 :] for x in found]
        stores = [x for x in own if self._stores(x)]
        if len(stores) != 1 or any(map(self._loads, behind)) or (before and not apart):
            return False
        if not self._touch_the_same([*before, *filter(self._loads, own)], stores[0], around):
            return False
        if isinstance(holder, scf.ForOp):
            apart = apart or (holder.lb, holder.ub) == self.bounds
            return self.may_be(holder.body.block, [*around, holder.body.block.args[0]], apart)
        if isinstance(holder, scf.IfOp):
            blocks = [inner for region in holder.regions for inner in region.blocks]
            return all(self.may_be(inner, around, apart) for inner in blocks if any(map(self._touches, inner.ops)))
        return holder is stores[0]

    def _touch_the_same(self, loads: Sequence[Operation], store: Operation, around: Sequence[SSAValue]) -> bool:
        """Whether what is loaded in an iteration of the loops around is stored in the same one, if at all."""
        if not isinstance(store, memref.StoreOp):
            return False
        indices = list(store.indices)
        places = [indices.index(counter) if counter in indices else None for counter in around]
        return all(
            isinstance(load, memref.LoadOp)
            and all(p is not None and load.indices[p] is n for p, n in zip(places, around, strict=True))
            for load in loads
        )

    def _touches(self, op: Operation) -> list[Operation]:
        return [x for x in op.walk() if self.old in x.operands or self.new in x.operands]

    def _stores(self, op: Operation) -> bool:
        return self.new in buffers_written_by(op)

    def _loads(self, op: Operation) -> bool:
        return self.old in op.operands
