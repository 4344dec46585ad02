"""Results that are written over arguments: kernels that read and write one buffer.
In which order ops may then run is in `fusion/analysis/update_order.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.bounds import buffers_written_by
from xdsl_rlx.lowering.buffers import Argument, Launch, is_updated


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


def reads_before_it_writes(kernel: lir.KernelOp, old: int, new: int, is_one_chunk: bool) -> bool:
    """Whether a kernel reads, of its buffer `old`, no element but the one of `new` that it is about to store."""
    block = kernel.body.block
    *buffers, low, high = block.args
    return _InPlace(buffers[old], buffers[new], (low, high)).may_be(block, (), is_one_chunk)


def in_one_buffer(kernel: lir.KernelOp, old: int, new: int, name: str) -> lir.KernelOp:
    """The kernel, which is used up, without its buffer `old`: that is read from `new`."""
    block = kernel.body.block
    block.args[old].replace_all_uses_with(block.args[new])
    block.erase_arg(block.args[old])
    return lir.KernelOp(name, block.arg_types[:-2], kernel.detach_region(0))


def _merged(launch: Launch, read: Argument, written: Argument) -> Launch:
    if (read.type, read.buffer.layout.offset) != (written.type, written.buffer.layout.offset):
        raise ReadElsewhereError
    old, new = launch.reads.index(read), len(launch.reads) + launch.writes.index(written)
    if not reads_before_it_writes(launch.kernel, old, new, launch.extent <= launch.chunk):
        raise ReadElsewhereError
    kernel = in_one_buffer(launch.kernel, old, new, launch.kernel.sym_name.data)
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
