"""A branch or a while loop over small launches as one kernel, which has the branch or the loop inside of it.
Loops whose length is known are in `outlined_loop.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Block, SSAValue

from xdsl_rlx.dialects.lir import IfOp, KernelOp, LaunchOp, LoopOp, PollOp, SlotOp, StepOp, ViewOp, WhileOp
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest, end_block
from xdsl_rlx.lowering.loops.inlining import BufferWindow, inline
from xdsl_rlx.lowering.loops.merge_loops import merge_loops
from xdsl_rlx.lowering.loops.outlined import BufferLine, Outlined
from xdsl_rlx.lowering.target import LoopCosts


class OutlinedBranch(Outlined):
    """One branch or while loop, and what is known of it."""

    def __init__(self, op: IfOp | WhileOp, taken: set[str], kernels: dict[str, KernelOp], costs: LoopCosts):
        self.op = op
        self.ops = [inner for region in op.regions for inner in region.block.ops]
        super().__init__([inner for inner in self.ops if isinstance(inner, LaunchOp)], taken, kernels, costs)
        self.args: dict[SSAValue, SSAValue] = {}
        """The line of the kernel that stands for a buffer."""

    def fits(self) -> bool:
        """
        Whether it can be a kernel, and is better as one.

        A branch outside of loops runs once: another kernel costs more than it gains.
        """
        if not self.launches or not all(isinstance(op, LaunchOp | ViewOp | StepOp | SlotOp) for op in self.ops):
            return False
        if isinstance(self.op, IfOp) and not isinstance(self.op.parent_op(), LoopOp | WhileOp | IfOp):
            return False
        if any(launch.chunk_count > 1 for launch in self.launches):
            return False
        return self.can_be_one() and self.work() <= self.costs.max_iteration_work

    def operands(self) -> list[SSAValue]:
        return [self.op.predicate, *super().operands()]

    def replace(self) -> KernelOp:
        """Put the launch of a kernel in the place of the branch or loop."""
        block = self.op.parent_block()
        assert block is not None
        for op in self.ops:
            if not isinstance(op, LaunchOp):
                op.detach()
                block.insert_op_before(op, self.op)
        written, roots = self.written(), list(dict.fromkeys(place.root for place in self.places.values()))
        private = [root for root in roots if self._is_private(root)]
        reads = [root for root in roots if root not in written and root not in private]
        writes = [root for root in roots if root in written and root not in private]
        views = [BufferLine.whole(root).view(self.op) for root in (*reads, *writes)]
        into = Kernel(
            [memref_of(view) for view in views], [root.name_hint for root in (*reads, *writes)], 1, len(reads)
        )
        self.args = dict(zip((*reads, *writes), into.block.args, strict=False))
        self.args |= {root: self._on_stack(root, into) for root in private}
        self._emit(into.entry, [root for root in writes if self._bytes(root) <= self.costs.kept_branch_bytes])
        kernel = into.finish()
        kernel.sym_name = StringAttr(self.name("if" if isinstance(self.op, IfOp) else "while"))
        launch = LaunchOp(kernel.sym_name.data, 1, 1, views[: len(reads)], views[len(reads) :])
        launch.location = self.op.location
        block.insert_op_before(launch, self.op)
        self.op.detach()
        self.op.erase()
        for root in private:
            for user in reversed(list(_aliases(root))):
                user.detach()
                user.erase()
        return kernel

    def _is_private(self, root: SSAValue) -> bool:
        """Whether only this touches a buffer, and finds nothing in it, so that it need not be in memory."""
        slot = root.owner
        if not isinstance(slot, SlotOp) or slot.parent_block() is not self.op.parent_block():
            return False
        users = {use.operation for alias in _aliases(root) for use in alias.results[0].uses}
        inside = {*self.launches, self.op}
        is_small = self._bytes(root) <= self.costs.private_branch_bytes
        return is_small and all(x in inside or isinstance(x, ViewOp | StepOp) for x in users)

    def _bytes(self, root: SSAValue) -> int:
        return BufferLine.whole(root).size * element_bytes(memref_of(root).element_type)

    def _on_stack(self, root: SSAValue, into: Kernel) -> SSAValue:
        type_ = MemRefType(memref_of(root).element_type, [BufferLine.whole(root).size])
        return into.scratch(type_, root.name_hint)

    def _emit(self, nest: Nest, kept: Sequence[SSAValue]) -> None:
        """The branch or loop, in front of which a loop gets its own copies of some buffers."""
        predicate = self.places[self.op.predicate].root
        if isinstance(self.op, IfOp):
            then, other = (self._part(region.block, nest.kernel) for region in self.op.regions)
            nest.choose(self._predicate(nest, predicate), then, other)
            return
        test, body = (list(region.block.ops) for region in self.op.regions)
        outside = {root: self.args[root] for root in kept}
        inside = {root: self._on_stack(root, nest.kernel) for root in kept}
        _copy(nest, outside, inside)
        self.args |= inside
        limit = max(1, self.costs.poll_work // max(self.work(), 1))

        def goes_on(at: Nest, counts: tuple[SSAValue, ...]) -> tuple[SSAValue, Sequence[SSAValue]]:
            self._inline(at, test)
            poll = at.builder.insert(PollOp(counts[0], limit)).result
            return (at.scalars.of(self._predicate(at, predicate)) & at.scalars.of(poll)).value, counts

        def run(at: Nest, counts: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            self._inline(at, body)
            return [(at.scalars.of(counts[0]) + at.scalars.of(at.kernel.index(1))).value]

        nest.repeat([nest.kernel.index(0)], goes_on, run)
        _copy(nest, inside, outside)

    def _predicate(self, nest: Nest, root: SSAValue) -> SSAValue:
        start = self.places[self.op.predicate].start
        return nest.element(self.args[root], [nest.kernel.index(start)]).value

    def _part(self, block: Block, kernel: Kernel) -> Block:
        part = Block()
        self._inline(Nest(part, kernel), list(block.ops))
        end_block(part)
        return part

    def _inline(self, nest: Nest, ops: Sequence[object]) -> None:
        """The kernels of a part, one behind the other."""
        for launch in ops:
            if not isinstance(launch, LaunchOp) or launch not in self.launches:
                continue
            windows: list[BufferWindow] = []
            for value in launch.operands:
                place, type_ = self.places[value], memref_of(value)
                start = nest.kernel.index(place.start // element_bytes(type_.element_type)) if place.start else None
                windows.append(BufferWindow(self.args[place.root], start, strides_of(type_)))
            inline(self.kernel_of(launch), nest, windows, launch.extent.value.data)
        merge_loops(nest)


def _aliases(root: SSAValue) -> Iterator[ViewOp | StepOp | SlotOp]:
    """The op of a buffer, and those of its aliases."""
    op = root.owner
    assert isinstance(op, ViewOp | StepOp | SlotOp)
    yield op
    for use in op.results[0].uses:
        if isinstance(use.operation, ViewOp | StepOp):
            yield from _aliases(use.operation.results[0])


def _copy(nest: Nest, source: Mapping[SSAValue, SSAValue], to: Mapping[SSAValue, SSAValue]) -> None:
    """Copy lines to others."""
    for root, line in source.items():
        size = BufferLine.whole(root).size
        for inside, j in nest.times(size, "j"):
            inside.store(inside.element(line, [j]), to[root], [j])
