"""The launches of a program: of groups and of ops with nests of their own, equal ones by the same kernels.
Where values are is in `program_buffers.py`; which ops are launched, and in what order, in `convert_mir_to_lir.py`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import LocationAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.locations import location_of
from xdsl_rlx.dialects.mir.complex import ImagOp, RealOp
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.bufferize.donation import in_place
from xdsl_rlx.lowering.bufferize.kernel_reuse import LoweredSite, Passed, Recorder, Site, Step
from xdsl_rlx.lowering.bufferize.program_buffers import ProgramBuffers
from xdsl_rlx.lowering.buffers import Buffer, Launch, is_updated
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT, VIEW
from xdsl_rlx.lowering.fusion.analysis.nesting import GroupLoops
from xdsl_rlx.lowering.fusion.codegen.group import Group
from xdsl_rlx.lowering.fusion.codegen.group_launches import group_launches, pieces_of
from xdsl_rlx.lowering.fusion.codegen.long_products import LongProduct
from xdsl_rlx.lowering.fusion.codegen.products import has_short_matrices, is_ready
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import stem_of
from xdsl_rlx.lowering.kernel_pass import take_name
from xdsl_rlx.lowering.kernels import Work
from xdsl_rlx.lowering.kernels.transposed_copy import TransposedCopy
from xdsl_rlx.lowering.kernels.work import Buffers, NestRule
from xdsl_rlx.lowering.target import GroupCosts, LoopNestCosts
from xdsl_rlx.transforms.structure import structure_of_region

Loops: TypeAlias = Callable[[Sequence[Operation], LoopNestCosts], GroupLoops]
"""The loops of ops that are lowered together."""


class _Kernels:
    """The kernels of a program so far: structurally equal ones are one."""

    def __init__(self, program: str) -> None:
        self._taken = {program}
        self.ops: list[lir.KernelOp] = []
        self._alone: dict[tuple[object, ...], lir.KernelOp | None] = {}
        """The only kernel of an outline; None where there are several, which are known by their structure."""
        self._names: dict[tuple[object, ...], SymbolRefAttr] = {}

    def name_of(self, kernel: lir.KernelOp, stem: str) -> SymbolRefAttr:
        """The name of the kernel, or of the equal one that is there already."""
        block = kernel.body.block
        outline = (*(arg.type for arg in block.args), *(op.name for op in block.ops))
        if outline not in self._alone:
            self._alone[outline] = kernel
            return self._added(kernel, stem)
        if (first := self._alone[outline]) is not None:
            self._names[structure_of_region(first.body)] = SymbolRefAttr(first.sym_name)
            self._alone[outline] = None
        structure = structure_of_region(kernel.body)
        if structure not in self._names:
            self._names[structure] = self._added(kernel, stem)
        return self._names[structure]

    def _added(self, kernel: lir.KernelOp, stem: str) -> SymbolRefAttr:
        kernel.sym_name = StringAttr(take_name(f"k{len(self.ops)}_{stem}", self._taken))
        self.ops.append(kernel)
        return SymbolRefAttr(kernel.sym_name)


class Launches:
    """What is launched, in the block of the program that is being filled."""

    def __init__(self, buffers: ProgramBuffers, threads: int, costs: GroupCosts):
        self.buffers = buffers
        self.threads = threads
        self.costs = costs
        self.kernels = _Kernels(buffers.program.sym_name.data)
        self._lowered: dict[tuple[object, ...] | None, LoweredSite] = {}

    def group(
        self,
        ops: Sequence[Operation],
        reads: Mapping[SSAValue, Buffer],
        writes: Mapping[SSAValue, Buffer],
        stem: str,
        loops: Loops = GroupLoops.of,
        decided: Attribute | None = None,
    ) -> None:
        """Launch ops that are one kernel, over `loops`, as far as these are `decided`; `stem` names it."""
        if (long := LongProduct.of(ops, reads, self.threads, self.costs)) is not None:
            long.lower(writes, stem, self.group, self.buffers.slot)
            return
        factors = self._factors(ops, reads)
        reads = self._near(ops, reads, factors, loops)

        def launches(buffers: Buffers) -> Sequence[Launch]:
            group = Group.of(ops, reads, writes, factors, loops(ops, self.costs), self.costs)
            return group_launches(group, buffers)

        site = Site(ops, [reads, writes, factors], also=(decided, *map(is_updated, writes.values())))
        self._once(site, launches, stem, ops[-1].location)

    def nest(self, op: Operation, rule: NestRule[Operation]) -> None:
        """Launch an op with a nest of its own."""

        reads = {operand: self.buffers.of[operand] for operand in op.operands}
        # it is computed into the first of its places only, which may be that of an operand
        destinations = [self.buffers.of.get(x) or next(iter(self.buffers.destinations.of(x)), None) for x in op.results]
        over = [
            destination is not None and read.root is destination.root
            for destination in destinations
            for read in reads.values()
        ]
        # rules leave out results that nothing reads
        used = [result.first_use is not None for result in op.results]
        site = Site([op], [reads], offsets=True, also=[*over, *used])
        self._once(site, lambda buffers: _filled(buffers, partial(rule, op)), stem_of_ops([op]), op.location)

    def copy(self, source: Buffer, target: Buffer, value: SSAValue, at: LocationAttr | None = None) -> None:
        """
        Launch a copy of a value, unless it is there already.

        `at` is the location of what wants it, by default that of what computes the value.
        """
        shape = target.layout.shape
        if 0 in shape or source == target:
            return
        at = location_of(value) if at is None else at
        if source.element in COMPLEXES:
            self._copy_parts(source, target, value, at)
            return
        op = ExpandOp(value, shape)
        op.location = at
        reads: Mapping[SSAValue, Buffer] = {value: source}
        writes: Mapping[SSAValue, Buffer] = {op.result: target}
        # a kernel of its own is faster, which pays for its compilation in a loop
        most_bytes = 0 if self.buffers.in_loop else self.costs.l1_bytes
        if (transposed := TransposedCopy.of(source, target, most_bytes)) is None:
            self.group([op], reads, writes, stem="copy")
        else:
            site = Site([op], [reads, writes], also=[is_updated(target)])
            self._once(site, lambda buffers: _filled(buffers, transposed.launch), "copy", at)
        op.erase()

    def _copy_parts(self, source: Buffer, target: Buffer, value: SSAValue, at: LocationAttr) -> None:
        """A copy of complex numbers: no loop computes on them."""
        for op in (RealOp(value), ImagOp(value)):
            view, element = VIEW.lookup(op), element_of(op.result)
            read, written = view(op, source.layout), view(op, target.layout)
            assert read is not None and written is not None
            self.copy(Buffer(source.root, read, element), Buffer(target.root, written, element), op.result, at)
            op.erase()

    def read(self, value: SSAValue, contiguous: bool = True) -> Buffer:
        """The buffer of an operand, copied first if it lies backwards, or has gaps and `contiguous` is asked for."""
        buffer = self.buffers.of[value]
        fits = buffer.is_contiguous or not (contiguous or buffer.lies_backwards)
        return buffer if fits else self.contiguous_copy(buffer, value)

    def write(self, value: SSAValue) -> Buffer:
        """The buffer of a result."""
        return self.buffers.write(value)

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        """A new slot, named as the value `like`."""
        return self.buffers.room(shape, element, like)

    def constant(self, value: AnyDense) -> Buffer:
        """A buffer that holds these numbers."""
        return self.buffers.constant(value)

    def console(self) -> Buffer:
        """The buffer that stands for what is printed."""
        return self.buffers.console()

    def pieces(self, extent: int, work: int) -> int:
        """Into how many pieces a launch is cut."""
        most = self.threads * self.costs.chunks_per_thread
        return pieces_of(self.threads, extent, extent * work, most, self.costs)

    def contiguous_copy(self, buffer: Buffer, value: SSAValue, at: LocationAttr | None = None) -> Buffer:
        """A copy of what is in the buffer of a value, without gaps, made as `copy` says."""
        copy = self.buffers.slot(buffer.layout.shape, buffer.element, value.name_hint)
        self.copy(buffer, copy, value, at)
        return copy

    def _once(
        self, site: Site, launches: Callable[[Buffers], Sequence[Launch]], stem: str, location: LocationAttr
    ) -> None:
        """Launch what `launches` makes for a site, or what it made for an equal one."""
        lowered = self._lowered.get(site.key)
        if lowered is None:
            recorder = Recorder(self, site)
            found = [in_place(launch) for launch in launches(recorder) if launch.extent]
            steps = tuple(self._step(launch, site, stem) for launch in found)
            lowered = LoweredSite(tuple(recorder.events), steps)
            if site.key is not None:
                self._lowered[site.key] = lowered
        else:
            site.repeat(lowered.events, self)
        for step in lowered.steps:
            reads = [self._pass(site, a) for a in step.reads]
            writes = [self._pass(site, a) for a in step.writes]
            op = lir.LaunchOp(step.kernel, step.extent, step.chunk, reads, writes, blas_threads=step.blas_threads)
            op.location = location
            self.buffers.block.add_op(op)

    def _step(self, launch: Launch, site: Site, stem: str) -> Step:
        kernel = self.kernels.name_of(launch.kernel, stem)
        reads, writes = site.passed(launch.reads), site.passed(launch.writes)
        return Step(kernel, launch.extent, launch.chunk, reads, writes, launch.blas_threads)

    def _factors(self, ops: Iterable[Operation], reads: Mapping[SSAValue, Buffer]) -> Mapping[SSAValue, Buffer]:
        ready: dict[SSAValue, Buffer] = {}
        products = [(op, rule(op)) for op in ops if (rule := PRODUCT.get(type(op))) is not None]
        in_rows = all(prod(shape_of(rhs)[:-2]) == 1 for _, (_, rhs) in products)
        for op, factors in products:
            batch = shape_of(op.results[0])[:-2]
            for operand in factors:
                if operand not in reads:
                    raise PassFailedException(f"{op.name} reads a result of its own fusion")
                buffer = ready.setdefault(operand, reads[operand])
                scattered = in_rows and operand is factors[0] and has_short_matrices(buffer.layout, op)
                if is_ready(buffer.layout, batch) and not scattered:
                    continue
                buffer = self.contiguous_copy(buffer, operand, op.location)
                if not is_ready(buffer.layout, batch):
                    full = (*batch, *buffer.layout.shape[-2:])
                    spread = self.buffers.slot(full, buffer.element, operand.name_hint)
                    self.copy(buffer, spread, operand, op.location)
                    buffer = spread
                ready[operand] = buffer
        return ready

    def _near(
        self, ops: Sequence[Operation], reads: Mapping[SSAValue, Buffer], factors: Container[SSAValue], loops: Loops
    ) -> Mapping[SSAValue, Buffer]:
        """The buffers; those that are read often across their lines are copied first."""
        across = [value for value, buffer in reads.items() if value not in factors and not _ends_in_lines(buffer)]
        if not across:
            return reads
        space, near = loops(ops, self.costs).space, dict(reads)
        last, iterations = len(space.extents) - 1, prod(space.extents)
        for value in across:
            layout, axes = reads[value].layout, space.maps.get(value, ())
            elements = prod(n for n, stride in zip(layout.shape, layout.strides, strict=True) if stride)
            # the last axis may be one of several that are merged into the last loop
            is_across = last in axes and abs(layout.strides[axes.index(last)]) > 1
            if is_across and iterations >= self.costs.min_reads_of_copy * elements:
                near[value] = self.contiguous_copy(reads[value], value, ops[-1].location)
        return near

    def _pass(self, site: Site, argument: Passed) -> SSAValue:
        """The buffer as the kernel's argument: the buffer itself, or a view of it."""
        root, start = site.places[argument.place]
        return self.buffers.view(root, start + argument.by, argument.type)


def stem_of_ops(ops: Sequence[Operation]) -> str:
    """A few words on what a kernel does, for its name."""
    return stem_of(op.name.split(".", 1)[1] for op in ops if not op.has_trait(ConstantLike))


def _filled(buffers: Buffers, fill: Callable[[Work], None]) -> Sequence[Launch]:
    work = Work(buffers)
    fill(work)
    return work.launches


def _ends_in_lines(buffer: Buffer) -> bool:
    """Whether neighbours along the last axis are neighbours in memory, or one element."""
    sides = [(n, stride) for n, stride in zip(buffer.layout.shape, buffer.layout.strides, strict=True) if n > 1]
    return not sides or abs(sides[-1][1]) <= 1
