"""`lir-elide-copies`: what is computed to be copied is computed where the copy is wanted."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, OutputOp, ReturnOp, SlotOp, StepOp, ViewOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.lowering.bufferize.donation import in_one_buffer, reads_before_it_writes
from xdsl_rlx.lowering.kernel_pass import (
    erase_unused,
    kernels_of,
    launches_of,
    root_of,
    symbols_of,
    take_name,
    users_of,
)
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirElideCopiesPass(ModulePass):
    """
    Compute a value where it is copied to, if nothing else reads it.

    ```mlir
    lir.launch @step over 64 by 64 reads(%x : ..) writes(%new : ..)
    lir.launch @copy over 64 by 64 reads(%new : ..) writes(%x : ..)
    // becomes
    lir.launch @step_in_place over 64 by 64 writes(%x : ..)
    ```

    The value is a whole slot of the block. No launch in between uses the target. The launch that computes the value may
    read the target if each of its iterations reads an element before it stores that one, and no other iteration does:
    so the carries of a `lir.while` are stored over those before.
    """

    name = "lir-elide-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all programs of a module."""
        kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(op)}
        copies = {name for name, kernel in kernels.items() if _is_copy(kernel)}
        before = launches_of(op)
        launches = [x for name, found in before.items() if name in copies for x in found]
        if not launches:
            return
        verify_dominance(op)
        elided = _Elided(kernels, symbols_of(op))
        for copy in launches:
            elided.elide(copy)
        if elided.changed:
            erase_unused(op, before.keys() | {kernel.sym_name.data for kernel in elided.made.values()})


@dataclass
class _Elided:
    """The kernels of a module, with those that store over what they read."""

    kernels: dict[str, KernelOp]
    taken: set[str]
    made: dict[tuple[str, int, int], KernelOp] = field(default_factory=dict[tuple[str, int, int], KernelOp])
    numbers: dict[Block, dict[Operation, int]] = field(default_factory=dict[Block, dict[Operation, int]])
    """Where ops stand in their blocks."""
    users: dict[tuple[SSAValue, Block], list[int]] = field(default_factory=dict[tuple[SSAValue, Block], list[int]])
    changed: bool = False

    def elide(self, copy: LaunchOp) -> None:
        """Have the launch that computes what is copied store it in the target, if it may."""
        (source,), (target,) = copy.reads, copy.writes
        block, root = copy.parent_block(), root_of(target)
        assert block is not None
        writer = _writer_of(source, copy)
        if writer is None or not isinstance(root.owner, SlotOp | OutputOp):
            return
        begin, end = self._number(writer, block), self._number(copy, block)
        users = self._users(root, block)
        behind = bisect_right(users, begin)
        if begin > end or (behind < len(users) and users[behind] < end):
            return
        if any(root_of(value) is root for value in writer.writes) or not self._is_there(target, begin, block):
            return
        read = [value for value in writer.reads if root_of(value) is root]
        if not read:
            self._replace(writer, list(writer.reads), writer.kernel.string_value(), source, target)
        elif len(read) == 1 and _is_same(read[0], target):
            self._store_over(writer, read[0], source, target)
        if writer.parent is None:
            copy.detach()
            copy.erase()
            _erase_unused(source)
            users.remove(end)
            insort(users, begin)
            self.changed = True

    def _number(self, op: Operation, block: Block) -> int:
        if block not in self.numbers:
            self.numbers[block] = {op: n for n, op in enumerate(block.ops)}
        return self.numbers[block][op]

    def _users(self, root: SSAValue, block: Block) -> list[int]:
        """The numbers of the ops that use a buffer, in order; an op in the place of another has its number."""
        if (root, block) not in self.users:
            self.users[root, block] = sorted(self._number(op, block) for op in users_of(root, block))
        return self.users[root, block]

    def _is_there(self, target: SSAValue, begin: int, block: Block) -> bool:
        """Whether a buffer is declared in front of that op, or can be, as a view of one that is."""
        owner = target.owner
        if not isinstance(owner, Operation) or owner.parent_block() is not block or self._number(owner, block) < begin:
            return True
        return isinstance(owner, ViewOp | StepOp) and self._is_there(owner.source, begin, block)

    def _store_over(self, writer: LaunchOp, read: SSAValue, source: SSAValue, target: SSAValue) -> None:
        name, reads = writer.kernel.string_value(), list(writer.reads)
        old, new = reads.index(read), len(reads) + list(writer.writes).index(source)
        key, kernel = (name, old, new), self.kernels[name]
        if not reads_before_it_writes(kernel, old, new, writer.chunk_count == 1):
            return
        if key not in self.made:
            self.made[key] = self._in_place(kernel, old, new)
        del reads[old]
        self._replace(writer, reads, self.made[key].sym_name.data, source, target)

    def _in_place(self, kernel: KernelOp, old: int, new: int) -> KernelOp:
        """A kernel that reads buffer `old` from buffer `new`."""
        stem = re.sub(r"_in_place(_\d+)?$", "", kernel.sym_name.data)
        made = in_one_buffer(kernel.clone(), old, new, take_name(f"{stem}_in_place", self.taken))
        self.kernels[made.sym_name.data] = made
        around = kernel.parent_block()
        assert around is not None
        around.insert_op_after(made, kernel)
        return made

    def _replace(
        self, writer: LaunchOp, reads: Sequence[SSAValue], kernel: str, source: SSAValue, target: SSAValue
    ) -> None:
        """Put a launch that stores in the target in the place of the writer."""
        block = writer.parent_block()
        assert block is not None
        writes = [target if value is source else value for value in writer.writes]
        extent, chunk = writer.extent.value.data, writer.chunk.value.data
        in_order, threads = writer.in_order is not None, writer.most_blas_threads
        new = LaunchOp(kernel, extent, chunk, reads, writes, in_order=in_order, blas_threads=threads)
        new.location = writer.location
        self._move_before(writer, target, block)
        self.numbers[block][new] = self._number(writer, block)
        block.insert_op_before(new, writer)
        writer.detach()
        writer.erase()

    def _move_before(self, writer: LaunchOp, target: SSAValue, block: Block) -> None:
        """Have a view of what is there declared in front of a launch."""
        owner, begin = target.owner, self._number(writer, block)
        if isinstance(owner, ViewOp | StepOp) and owner.parent_block() is block and self._number(owner, block) > begin:
            self._move_before(writer, owner.source, block)
            owner.detach()
            block.insert_op_before(owner, writer)
            self.numbers[block][owner] = begin


def _writer_of(source: SSAValue, copy: LaunchOp) -> LaunchOp | None:
    """The launch before a copy that alone writes what it reads, which is a slot of the block that no one else uses."""
    slot = source.owner.source.owner if isinstance(source.owner, ViewOp) else source.owner
    block = copy.parent_block()
    if not isinstance(slot, SlotOp) or slot.parent_block() is not block:
        return None
    uses = [use.operation for use in slot.result.uses]
    if isinstance(source.owner, ViewOp):
        if uses != [source.owner]:
            return None
        uses = [use.operation for use in source.uses]
    writers = [op for op in uses if op is not copy]
    if len(uses) != 2 or len(writers) != 1:
        return None
    (writer,) = writers
    if not isinstance(writer, LaunchOp) or writer.parent_block() is not block or source in writer.reads:
        return None
    return writer


def _is_same(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers are one, or equal views of one."""
    if one is other:
        return True
    a, b = one.owner, other.owner
    if not isinstance(a, ViewOp) or not isinstance(b, ViewOp) or one.type != other.type:
        return False
    return a.source is b.source and a.properties == b.properties


def _erase_unused(value: SSAValue) -> None:
    """Erase a view and its slot, which nothing uses any more."""
    while isinstance(value.owner, ViewOp | SlotOp) and value.first_use is None:
        op = value.owner
        value = op.source if isinstance(op, ViewOp) else value
        op.detach()
        op.erase()
        if isinstance(op, SlotOp):
            return


def _is_copy(kernel: KernelOp) -> bool:
    """Whether a kernel stores each element of its first buffer in the second one, and does nothing else."""
    *buffers, low, high = kernel.body.block.args
    if len(buffers) != 2 or buffers[0].type != buffers[1].type:
        return False
    left = list(memref_of(buffers[0]).get_shape())
    bounds: list[SSAValue] = []
    block, counters = kernel.body.block, list[SSAValue]()
    while True:
        ops = [op for op in block.ops if constant_index(op.results[0] if op.results else low) is None]
        match ops:
            case [scf.ForOp() as loop, ReturnOp() | scf.YieldOp()] if not loop.iter_args:
                first, last = constant_index(loop.lb), constant_index(loop.ub)
                whole = (loop.lb, loop.ub) == (low, high) and low not in bounds
                extent = left[len(counters)] if len(counters) < len(left) else None
                if constant_index(loop.step) != 1 or not (whole or (first == 0 and last == extent)):
                    return False
                bounds += [loop.lb]
                block = loop.body.block
                counters.append(block.args[0])
            case [memref.LoadOp() as load, memref.StoreOp() as store, ReturnOp() | scf.YieldOp()]:
                moves = store.value is load.res and (load.memref, store.memref) == tuple(buffers)
                return moves and list(load.indices) == list(store.indices) == counters and len(counters) == len(left)
            case _:
                return False
