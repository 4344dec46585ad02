"""`convert-mir-to-lir`: tensors to buffers, fusion groups to kernels and launches. Slots get their place in
`lir_plan_memory.py`; the loop nests are built in `row_kernel.py`, `column_kernel.py` and `nests/`, loops and branches
of launches in `scan_loop.py` and `branch_lower.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.lir.memory import AnyMemRef, row_major_strides, strided_memref
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.branch import IfOp, WhileOp
from xdsl_rlx.dialects.mir.complex import ImagOp, RealOp
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.shapes import COMPLEXES, check_size, element_of, shape_of
from xdsl_rlx.lowering.branch_lower import inline_remats, lower_if, lower_while
from xdsl_rlx.lowering.buffers import Buffer, Launch, contiguous
from xdsl_rlx.lowering.group import Group
from xdsl_rlx.lowering.group_launches import PIECES_PER_THREAD, group_launches, pieces_of
from xdsl_rlx.lowering.homes import NEAR, Homes, can_store_twice, fits, in_time, is_only_placed
from xdsl_rlx.lowering.long_products import LongProduct
from xdsl_rlx.lowering.nest.builder import stem_of
from xdsl_rlx.lowering.nests import NEST, Work
from xdsl_rlx.lowering.nests.table import Buffers, NestRule
from xdsl_rlx.lowering.products import is_ready
from xdsl_rlx.lowering.recipe import Passed, Recipe, Recorder, Site, Step
from xdsl_rlx.lowering.scan_loop import lower_scan
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.mir_fuse import dense_of, is_splat
from xdsl_rlx.transforms.rules import DECOMPOSE
from xdsl_rlx.transforms.rules.lowering import LOOPS, PLACE, PRODUCT, VIEW, Layout
from xdsl_rlx.transforms.structure import structure_of_region


def _without_loops(op: Operation) -> str:
    """Why an op cannot be lowered, and what to do about it."""
    if op.name.startswith("hir."):
        return f"{named(op)} has no loops: run convert-hir-to-mir before convert-mir-to-lir"
    if DECOMPOSE.get(type(op)) is not None:
        return f"{named(op)} has no loops: run mir-prepare-for-fusion and mir-fuse before convert-mir-to-lir"
    return f"{named(op)} has no loops: only ops of mir have, and custom ones (rlx.custom_op)"


@dataclass(frozen=True)
class ConvertMirToLirPass(ModulePass):
    """
    Turn the one function of a module into a `lir.program` and its kernels.

    Every `mir.fusion`, or single op outside of one, becomes a kernel, every `mir.scan` a `lir.loop` over what its body
    launches, every `mir.if` a `lir.if`, every `mir.while` a `lir.while`; a `mir.remat` is its body. Views cost nothing.
    `threads` is the number of threads that the program is cut up for: launches into pieces, and products along a long
    inner dimension into a part of it for each.
    """

    name = "convert-mir-to-lir"

    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        if self.threads < 1:
            raise PassFailedException(f"threads must be at least 1, got {self.threads}")
        funcs = [f for f in op.ops if isinstance(f, FuncOp)]
        if len(funcs) != 1:
            raise PassFailedException(f"expected a module with one function, got {len(funcs)}")
        (func,) = funcs
        if len(func.body.blocks) != 1:
            raise PassFailedException(f"expected @{func.sym_name.data} to have one block, got {len(func.body.blocks)}")
        inline_remats(func)
        lowering = _Lowering(func, self.threads)
        lowering.run()
        func.detach()
        func.erase()
        op.body.block.add_ops([lowering.program, *lowering.kernels.ops])


class _Kernels:
    """The kernels so far: structurally equal ones are one."""

    def __init__(self) -> None:
        self.ops: list[lir.KernelOp] = []
        self._names: dict[tuple[object, ...], SymbolRefAttr] = {}

    def name_of(self, kernel: lir.KernelOp, stem: str) -> SymbolRefAttr:
        """The name of the kernel, or of the equal one that is there already."""
        key = structure_of_region(kernel.body)
        if key not in self._names:
            kernel.sym_name = StringAttr(f"k{len(self.ops)}_{stem}")
            self._names[key] = SymbolRefAttr(kernel.sym_name)
            self.ops.append(kernel)
        return self._names[key]


class _Lowering:
    """One function on its way to a program: the buffer of each tensor value, and the launches so far."""

    def __init__(self, func: FuncOp, threads: int):
        self.func = func
        self.threads = threads
        for argument in func.args:
            check_size(argument.type)
        attributes = list(func.arg_attrs.data) if func.arg_attrs is not None else []
        self.attributes = [dict(a.data) for a in attributes] or [{} for _ in func.args]
        names = [self._name(i) for i in range(len(func.args))]
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            raise PassFailedException(f'two arguments of @{func.sym_name.data} are named "{twice[0]}"')
        optional = [self._name(i) for i, a in enumerate(self.attributes) if "mir.optional" in a]
        self.program = lir.ProgramOp(func.sym_name.data, optional=optional)
        self.block = self.program.body.block
        self.buffers: dict[SSAValue, Buffer] = {}
        self.homes = Homes()
        self.views: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}
        self.kernels = _Kernels()
        self.recipes: dict[tuple[object, ...] | None, Recipe] = {}

    def _name(self, index: int) -> str:
        name = self.attributes[index].get("mir.name")
        return name.data if isinstance(name, StringAttr) else f"arg{index}"

    def run(self) -> None:
        """Lower arguments, results, then op by op."""
        for index, arg in enumerate(self.func.args):
            is_param = self.attributes[index].get("mir.kind") == StringAttr("param")
            kind = lir.ParamOp if is_param else lir.InputOp
            self.buffers[arg] = self._declare(kind(self._name(index), _memref(arg)), arg)
        terminator = self.func.body.block.last_op
        if not isinstance(terminator, ReturnOp):
            raise PassFailedException("expected the function to end in func.return")
        outputs = [
            self._declare(lir.OutputOp(number, _memref(value)), value)
            for number, value in enumerate(terminator.arguments)
        ]
        ops = [op for op in self.func.body.block.ops if op is not terminator]
        self.block_of(ops, list(zip(terminator.arguments, outputs, strict=True)))

    def block_of(self, ops: Sequence[Operation], results: Sequence[tuple[SSAValue, Buffer]]) -> None:
        """Lower ops, and have their results in these buffers at the end."""
        ops = in_time(ops)
        for value, home in results:
            self.homes.want(value, home)
        for number, op in reversed([*enumerate(ops)]):
            if PLACE.get(type(op)) is not None:
                self._give_places(op, ops[max(number - NEAR, 0) : number])
        for op in ops:
            self._lower(op)
        for value, home in results:
            self._bring(value, home)

    def inside(self, block: Block, lower: Callable[[], None]) -> None:
        """Lower into another block, whose values are not seen afterwards."""
        outer, views, filled = self.block, dict(self.views), set(self.homes.filled)
        self.block = block
        lower()
        self.block, self.views, self.homes.filled = outer, views, filled

    def seen_as(self, buffer: Buffer) -> SSAValue:
        """The buffer, which has no gaps, as a value of its own."""
        return self._view(buffer.root, buffer.layout.offset, _row_major(buffer.element, buffer.layout.shape))

    def _declare(self, op: lir.InputOp | lir.ParamOp | lir.OutputOp | lir.SlotOp, like: SSAValue) -> Buffer:
        self.block.add_op(op)
        op.result.name_hint = like.name_hint
        return contiguous(op.result, shape_of(like), element_of(like))

    def _give_places(self, op: Operation, before: Sequence[Operation]) -> None:
        """
        Let those parts of a result be computed right into it that the ops before it compute.

        One that others read, too, has a place without gaps beside.
        """
        (result,) = op.results
        places = PLACE.lookup(op)

        def places_in(home: Buffer) -> list[tuple[SSAValue, Buffer]]:
            found = [(part, home.part(part, layout)) for part, layout in places(op, home.layout)]
            return [(part, place) for part, place in found if part.owner in before and fits(part, place)]

        if not self.homes.of(result) and places_in(contiguous(result, shape_of(result), element_of(result))):
            self.homes.want(result, self._declare(lir.SlotOp(_memref(result)), result))
        for home in self.homes.of(result):
            for part, place in places_in(home):
                if not self.homes.of(part) and not place.is_contiguous and not is_only_placed(part):
                    self.homes.want(part, self._declare(lir.SlotOp(_memref(part)), part))
                self.homes.want(part, place)

    def _bring(self, value: SSAValue, place: Buffer) -> None:
        """Copy a value to where it is wanted, unless it is there."""
        if not self.homes.has(place, self.buffers[value]):
            self.copy(self.buffers[value], place, value)

    def _lower(self, op: Operation) -> None:
        if isinstance(op, FusionOp):
            self._lower_fusion(op)
        elif isinstance(op, ScanOp):
            self.block.add_op(lower_scan(op, self))
        elif isinstance(op, IfOp):
            self.block.add_op(lower_if(op, self))
        elif isinstance(op, WhileOp):
            self.block.add_op(lower_while(op, self))
        elif op.has_trait(ConstantLike):
            self._lower_constant(op)
        elif VIEW.get(type(op)) is not None:
            self._lower_view(op)
        elif PLACE.get(type(op)) is not None:
            self._lower_places(op)
        elif (nest := NEST.get(type(op))) is not None:
            self._lower_whole(op, nest)
        elif LOOPS.get(type(op)) is not None:
            reads = {operand: self.buffers[operand] for operand in op.operands}
            writes: dict[SSAValue, Buffer] = {result: self.home(result) for result in op.results}
            also = [(result, place) for result in op.results for place in self.homes.of(result)[1:]]
            self._lower_elements([op], reads, writes, also)
            self.buffers |= writes
        else:
            raise PassFailedException(_without_loops(op))

    def _lower_fusion(self, op: FusionOp) -> None:
        arguments = zip(op.body.block.args, op.inputs, strict=True)
        reads: dict[SSAValue, Buffer] = {arg: self.buffers[v] for arg, v in arguments}
        end = op.body.block.last_op
        assert isinstance(end, YieldOp)
        writes: dict[SSAValue, Buffer] = {}
        also: list[tuple[SSAValue, Buffer]] = []
        twice: list[tuple[SSAValue, SSAValue]] = []
        for value, result in zip(end.values, op.results, strict=True):
            if value in writes or value in reads:
                twice.append((value, result))
                also += [(value, place) for place in self.homes.of(result) if value in writes]
                continue
            writes[value] = self.buffers[result] = self.home(result)
            also += [(value, place) for place in self.homes.of(result)[1:]]
        if writes:
            self._lower_elements([o for o in op.body.block.ops if o is not end], reads, writes, also)
        for value, result in twice:
            self.buffers[result] = writes.get(value) or reads[value]

    def _lower_elements(
        self,
        ops: Sequence[Operation],
        reads: Mapping[SSAValue, Buffer],
        writes: Mapping[SSAValue, Buffer],
        also: Sequence[tuple[SSAValue, Buffer]],
    ) -> None:
        """Lower a group, which stores some of its values in further places, too, where it has them at hand."""
        copies: list[Operation] = []
        places: dict[SSAValue, Buffer] = {}
        for value, place in also:
            if can_store_twice(value):
                copies.append(ExpandOp(value, place.layout.shape))
                places[copies[-1].results[0]] = place
                self.homes.fill(place)
        self._lower_group([*ops, *copies], reads, {**writes, **places}, _stem(ops))
        for copy in copies:
            copy.erase()

    def _lower_places(self, op: Operation) -> None:
        """Put the parts of a result side by side, those that are not computed there."""
        (result,) = op.results
        homes = self.homes.of(result) or [self.home(result)]
        for home in homes:
            for part, layout in PLACE.lookup(op)(op, home.layout):
                self._bring(part, home.part(part, layout))
            self.homes.fill(home)
        self.buffers[result] = homes[0]

    def _lower_whole(self, op: Operation, rule: NestRule[Operation]) -> None:
        def launches(buffers: Buffers) -> Sequence[Launch]:
            work = Work(buffers)
            rule(op, work)
            return work.launches

        reads = {operand: self.buffers[operand] for operand in op.operands}
        self._lower_once(Site([op], [reads], offsets=True), launches, _stem([op]), op.location)

    def read(self, value: SSAValue, contiguous: bool = True) -> Buffer:
        """The buffer of an operand, copied first if it has gaps and `contiguous` is asked for."""
        buffer = self.buffers[value]
        return buffer if buffer.is_contiguous or not contiguous else self._contiguous_copy(buffer, value)

    def write(self, value: SSAValue) -> Buffer:
        """The buffer of a result."""
        if value not in self.buffers:
            self.buffers[value] = self.home(value)
        return self.buffers[value]

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        """A new slot, named as the value `like`."""
        return self._slot(shape, element, None if like is None else like.name_hint)

    def constant(self, value: AnyDense) -> Buffer:
        """A buffer that holds these numbers."""
        shape, element = value.get_shape(), value.get_element_type()
        constant = lir.ConstantOp(value, _row_major(element, shape))
        self.program.body.block.add_op(constant)
        return contiguous(constant.result, shape, element)

    def pieces(self, extent: int, work: int) -> int:
        """Into how many pieces a launch is cut."""
        return pieces_of(self.threads, extent, extent * work, self.threads * PIECES_PER_THREAD)

    def _lower_constant(self, op: Operation) -> None:
        (result,) = op.results
        value = dense_of(op)
        if value is None:
            raise PassFailedException(f"{op.name} is no dense constant of tensors")
        shape, element = shape_of(result), element_of(result)
        if is_splat(op) and prod(shape) > 1:
            first = value.data.data[: value.get_element_type().compile_time_size]
            one = DenseIntOrFPElementsAttr(TensorType(value.get_element_type(), [1]), BytesAttr(first))
            constant = lir.ConstantOp(one, _row_major(element, [1]))
            layout = Layout(0, shape, (0,) * len(shape))
        else:
            constant = lir.ConstantOp(value, _row_major(element, shape))
            layout = Layout(0, shape, row_major_strides(shape))
        # no loop holds constants; those around this op are not there yet, so that it stands in front of them
        self.program.body.block.add_op(constant)
        constant.result.name_hint = result.name_hint
        self.buffers[result] = Buffer(constant.result, layout, element)

    def _lower_view(self, op: Operation) -> None:
        (result,) = op.results
        source = self.buffers[op.operands[0]]
        view = VIEW.lookup(op)
        layout = view(op, source.layout)
        if layout is None:
            source = self._contiguous_copy(source, op.operands[0])
            layout = view(op, source.layout)
            assert layout is not None
        self.buffers[result] = Buffer(source.root, layout, element_of(result))

    def home(self, value: SSAValue) -> Buffer:
        """Where a value is computed into: its output, or a new slot."""
        wanted = self.homes.of(value)
        return wanted[0] if wanted else self._declare(lir.SlotOp(_memref(value)), value)

    def is_wanted(self, value: SSAValue) -> bool:
        """Whether a value has to be at a certain place in the end."""
        return bool(self.homes.of(value))

    def _slot(self, shape: Sequence[int], element: Attribute, name: str | None) -> Buffer:
        op = lir.SlotOp(_row_major(element, shape))
        self.block.add_op(op)
        op.result.name_hint = name
        return contiguous(op.result, shape, element)

    def _contiguous_copy(self, buffer: Buffer, value: SSAValue) -> Buffer:
        copy = self._slot(buffer.layout.shape, buffer.element, value.name_hint)
        self.copy(buffer, copy, value)
        return copy

    def copy(self, source: Buffer, target: Buffer, value: SSAValue) -> None:
        shape = target.layout.shape
        if 0 in shape:
            return
        if source.element in COMPLEXES:
            self._copy_parts(source, target, value)
            return
        op = ExpandOp(value, shape)
        self._lower_group([op], {value: source}, {op.result: target}, stem="copy")
        op.erase()

    def _copy_parts(self, source: Buffer, target: Buffer, value: SSAValue) -> None:
        """A copy of complex numbers: no loop computes on them."""
        for op in (RealOp(value), ImagOp(value)):
            view, element = VIEW.lookup(op), element_of(op.result)
            read, written = view(op, source.layout), view(op, target.layout)
            assert read is not None and written is not None
            self.copy(Buffer(source.root, read, element), Buffer(target.root, written, element), op.result)
            op.erase()

    def _lower_group(
        self,
        ops: Sequence[Operation],
        reads: Mapping[SSAValue, Buffer],
        writes: Mapping[SSAValue, Buffer],
        stem: str,
    ) -> None:
        if (long := LongProduct.of(ops, reads, self.threads)) is not None:
            long.lower(writes, stem, self._lower_group, self._slot)
            return
        factors = self._factors(ops, reads)

        def launches(buffers: Buffers) -> Sequence[Launch]:
            return group_launches(Group(ops, reads, writes, factors), buffers)

        site = Site(ops, [reads, writes, factors])
        self._lower_once(site, launches, stem, ops[-1].location)

    def _lower_once(
        self, site: Site, launches: Callable[[Buffers], Sequence[Launch]], stem: str, location: LocationAttr
    ) -> None:
        """Launch what `launches` makes for a site, or what it made for an equal one."""
        recipe = self.recipes.get(site.key)
        if recipe is None:
            recorder = Recorder(self, site)
            steps = tuple(self._step(launch, site, stem) for launch in launches(recorder) if launch.extent)
            recipe = Recipe(tuple(recorder.events), steps)
            if site.key is not None:
                self.recipes[site.key] = recipe
        else:
            site.repeat(recipe.events, self)
        for step in recipe.steps:
            reads = [self._pass(site, a) for a in step.reads]
            writes = [self._pass(site, a) for a in step.writes]
            op = lir.LaunchOp(step.kernel, step.extent, step.chunk, reads, writes)
            op.location = location
            self.block.add_op(op)

    def _step(self, launch: Launch, site: Site, stem: str) -> Step:
        kernel = self.kernels.name_of(launch.kernel, stem)
        return Step(kernel, launch.extent, launch.chunk, site.passed(launch.reads), site.passed(launch.writes))

    def _factors(self, ops: Iterable[Operation], reads: Mapping[SSAValue, Buffer]) -> Mapping[SSAValue, Buffer]:
        ready: dict[SSAValue, Buffer] = {}
        for op in ops:
            if (rule := PRODUCT.get(type(op))) is None:
                continue
            batch = shape_of(op.results[0])[:-2]
            for operand in rule(op):
                if operand not in reads:
                    raise PassFailedException(f"{op.name} reads what the fusion that it is in computes")
                buffer = ready.setdefault(operand, reads[operand])
                if is_ready(buffer.layout, batch):
                    continue
                buffer = self._contiguous_copy(buffer, operand)
                if not is_ready(buffer.layout, batch):
                    full = (*batch, *buffer.layout.shape[-2:])
                    spread = self._slot(full, buffer.element, operand.name_hint)
                    self.copy(buffer, spread, operand)
                    buffer = spread
                ready[operand] = buffer
        return ready

    def _pass(self, site: Site, argument: Passed) -> SSAValue:
        """The buffer as the kernel's argument: the buffer itself, or a view of it."""
        root, start = site.places[argument.place]
        return self._view(root, start + argument.by, argument.type)

    def _view(self, root: SSAValue, offset: int, type_: AnyMemRef) -> SSAValue:
        if offset == 0 and root.type == type_:
            return root
        key = (root, offset, type_)
        if key not in self.views:
            view = lir.ViewOp(root, offset, type_)
            self.block.add_op(view)
            view.result.name_hint = root.name_hint
            self.views[key] = view.result
        return self.views[key]


def _memref(value: SSAValue) -> AnyMemRef:
    return _row_major(element_of(value), shape_of(value))


def _row_major(element: Attribute, shape: Sequence[int]) -> AnyMemRef:
    return strided_memref(element, tuple(shape), row_major_strides(shape))


def _stem(ops: Sequence[Operation]) -> str:
    """A few words on what a kernel does, for its name."""
    return stem_of(op.name.split(".", 1)[1] for op in ops if not op.has_trait(ConstantLike))
