"""`convert-mir-to-lir`: tensors to buffers, fusion groups to kernels and launches, op by op.

Where values are is in `program_buffers.py`, what is launched in `launches.py`, built in `fusion/codegen/` and
`kernels/`; loops and branches of launches are in `loops/`. Slots get their place in `lir_plan_memory.py`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, LocationAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.branch import IfOp, WhileOp
from xdsl_rlx.dialects.mir.collectives import CollectiveOp
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.names import text_of
from xdsl_rlx.dialects.shapes import check_size, element_of, shape_of
from xdsl_rlx.lowering.bufferize.branch_lower import inline_remats, lower_if, lower_while
from xdsl_rlx.lowering.bufferize.destinations import can_store_twice, fits, in_time, is_only_placed, is_read_once
from xdsl_rlx.lowering.bufferize.donation import ReadElsewhereError
from xdsl_rlx.lowering.bufferize.launches import Launches, Loops, stem_of_ops
from xdsl_rlx.lowering.bufferize.program_buffers import ProgramBuffers, memref_for
from xdsl_rlx.lowering.bufferize.scan_loop import lower_scan
from xdsl_rlx.lowering.buffers import Buffer, contiguous, is_updated
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PLACE, UPDATED, VIEW
from xdsl_rlx.lowering.fusion.analysis.nesting import GroupLoops
from xdsl_rlx.lowering.fusion.analysis.update_order import Update, put_readers_first, updates_of
from xdsl_rlx.lowering.kernels import NEST
from xdsl_rlx.lowering.prepare.mir_normalize import Normalize
from xdsl_rlx.lowering.target import GroupCosts, NormalizeCosts
from xdsl_rlx.transforms.driver import rewrite, verify_dominance
from xdsl_rlx.transforms.rules import DECOMPOSE
from xdsl_rlx.transforms.signature import SCRATCH, Signature, argument_attributes


def _without_loops(op: Operation) -> str:
    """Why an op cannot be lowered, and what to do about it."""
    if op.name.startswith("hir."):
        return f"{named(op)} has no loop form: run convert-hir-to-mir before convert-mir-to-lir"
    if DECOMPOSE.get(type(op)) is not None:
        return f"{named(op)} has no loop form: run mir-prepare-for-fusion and mir-fuse before convert-mir-to-lir"
    return f"{named(op)} has no loop form; expected mir ops, or ops registered with rlx.custom_op"


@dataclass(frozen=True)
class ConvertMirToLirPass(GroupCosts, NormalizeCosts, ModulePass):
    """
    Lower the function of a module to a `lir.program` and its kernels.

    Every `mir.fusion`, or op outside of one, becomes a kernel and a launch. `mir.scan` becomes a `lir.loop` over the
    launches of its body, `mir.if` a `lir.if`, `mir.while` a `lir.while`; a `mir.remat` is replaced by its body. Views
    cost nothing. `threads` sets the number of chunks of a launch, and of parts of a matmul with a long inner dimension.
    """

    name = "convert-mir-to-lir"

    threads: int = 1
    """Threads that the program is divided for."""

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
        # what is in a fusion has loops that were decided, so this changes nothing there
        rewrite(op, Normalize(self))
        lowering = _Lowering(func, self.threads, self)
        lowering.run()
        func.detach()
        func.erase()
        op.body.block.add_ops([lowering.buffers.program, *lowering.launches.kernels.ops])


class _Lowering:
    """One function on its way to a program: op by op, in order."""

    def __init__(self, func: FuncOp, threads: int, costs: GroupCosts):
        self.func = func
        self.costs = costs
        for argument in func.args:
            check_size(argument.type)
        self.attributes = argument_attributes(func)
        names = [self._name(i) for i in range(len(func.args))]
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            raise PassFailedException(f'two arguments of @{func.sym_name.data} are named "{twice[0]}"')
        optional = [self._name(i) for i, a in enumerate(self.attributes) if "mir.optional" in a]
        self.buffers = ProgramBuffers(lir.ProgramOp(func.sym_name.data, optional=optional))
        self.launches = Launches(self.buffers, threads, costs)
        self.updates = updates_of(func)
        self.copied = put_readers_first(func, self.updates).copied

    def _name(self, index: int) -> str:
        name = text_of(self.attributes[index].get("mir.name"))
        return f"arg{index}" if name is None else name

    def run(self) -> None:
        """Lower arguments, results, then op by op."""
        updated = {update.argument for update in self.updates}
        for index, arg in enumerate(self.func.args):
            is_param = self.attributes[index].get("mir.kind") == StringAttr("param")
            kind = lir.ParamOp if is_param else lir.InputOp
            scratch = SCRATCH in self.attributes[index]
            op = kind(self._name(index), memref_for(arg), donated=arg in updated, scratch=scratch)
            self.buffers.of[arg] = self.buffers.declare(op, arg)
        terminator = self.func.body.block.last_op
        if not isinstance(terminator, ReturnOp):
            raise PassFailedException("expected the function to end in func.return")
        replacing = {update.number for update in self.updates}
        names = Signature(self.func).output_names
        returned = [(value, names.get(n)) for n, value in enumerate(terminator.arguments) if n not in replacing]
        results = [
            (value, self.buffers.declare(lir.OutputOp(number, memref_for(value), name), value))
            for number, (value, name) in enumerate(returned)
        ]
        ops = [op for op in self.func.body.block.ops if op is not terminator]
        in_place = [update for update in self.updates if update.number not in self.copied]
        self._compute(ops, [*results, *((update.value, self.buffers.of[update.argument]) for update in in_place)])
        for value, destination in results:
            self._bring(value, destination)
        self._bring_updates()

    def _bring_updates(self) -> None:
        """
        Copy the results that are not yet in the arguments that they replace.

        A result may lie in an argument that another one replaces, as where two are exchanged: it is copied before that
        one, or first into memory of its own.
        """
        copies: list[tuple[Update, Buffer]] = []
        for update in self.updates:
            value, destination = self.buffers.of[update.value], self.buffers.of[update.argument]
            if 0 not in destination.layout.shape and not self.buffers.destinations.has(destination, value):
                copies.append((update, value))
        for update, _ in copies:
            self._note_copied(update)
        waiting = {self.buffers.of[update.argument].root: (update, source) for update, source in copies}
        readers = Counter(source.root for _, source in copies)
        ready = deque(root for root in waiting if not readers[root])
        others = iter(list(waiting))
        while waiting:
            if ready:
                update, source = waiting.pop(ready.popleft())
                self.launches.copy(source, self.buffers.of[update.argument], update.value)
            else:
                root = next(root for root in others if root in waiting and waiting[root][1].root in waiting)
                update, source = waiting[root]
                waiting[root] = update, self.launches.contiguous_copy(source, update.value)
            readers[source.root] -= 1
            if source.root in waiting and not readers[source.root]:
                ready.append(source.root)

    def _note_copied(self, update: Update) -> None:
        """Have the argument marked; PassFailedException if its update is strict."""
        argument = self.buffers.of[update.argument].root.owner
        assert isinstance(argument, lir.InputOp | lir.ParamOp)
        argument.copied_back = UnitAttr()
        if not update.strict:
            return
        writer = update.writer
        if (why := self.copied.get(update.number)) is None:
            why = "its producer does not write to that buffer"
            if writer is not None and writer in update.readers:
                why = f'{named(writer)} reads more of "{update.name}" than the element that it replaces'
        name, cure = self.func.sym_name.data, "donate without strict to allow a copy at the end"
        raise PassFailedException(
            f'result {update.number} of @{name} cannot be computed in place in "{update.name}": {why}; {cure}'
        )

    def _without_gaps(self, value: SSAValue, at: LocationAttr) -> Buffer:
        """A copy of what is in the buffer of a view, made where it is wanted in the end."""
        destination = self.buffers.destinations.of_copy(value)
        if destination is None or is_updated(destination):
            return self.launches.contiguous_copy(self.buffers.of[value], value, at)
        self._bring(value, destination, at)
        self.buffers.destinations.fill(destination)
        return destination

    def block_of(self, ops: Sequence[Operation], results: Sequence[tuple[SSAValue, Buffer]]) -> None:
        """Lower ops, and have their results in these buffers at the end."""
        self._compute(ops, results)
        for value, destination in results:
            self._bring(value, destination)

    def _compute(self, ops: Sequence[Operation], results: Sequence[tuple[SSAValue, Buffer]]) -> None:
        """Lower ops, and have those of their results in these buffers that can be computed there."""
        ops = in_time(ops)
        for value, destination in results:
            self.buffers.destinations.want(value, destination)
        computed = [op for op in ops if not op.has_trait(ConstantLike)]
        for number, op in reversed([*enumerate(computed)]):
            if PLACE.get(type(op)) is not None:
                # a bucket takes memory as long as its parts would: copies into it would cost more
                is_bucket = all(isinstance(use.operation, CollectiveOp) for use in op.results[0].uses)
                window = number if is_bucket else self.costs.concat_window_ops
                self._give_places(op, computed[max(number - window, 0) : number])
            elif (updated := UPDATED.get(type(op))) is not None and is_read_once(updated(op)):
                self._give_place(updated(op), op, computed[:number])
        for op in ops:
            self._lower(op)

    def _give_places(self, op: Operation, before: Sequence[Operation]) -> None:
        """
        Let those parts of a result be computed right into it that the ops before it compute.

        One that others read, too, has a place without gaps beside. In an argument that is updated, a part has its place
        behind the last op that reads that argument.
        """
        (result,) = op.results
        places = PLACE.lookup(op)

        def places_in(destination: Buffer) -> list[tuple[SSAValue, Buffer]]:
            readers = self._readers_of(destination)
            last = max((number for number, x in enumerate([*before, op]) if x in readers), default=0)
            found = [(part, destination.part(part, layout)) for part, layout in places(op, destination.layout)]
            return [
                (part, place) for part, place in found if part.owner in before[last:] and fits(part, place, self.costs)
            ]

        if not self.buffers.destinations.of(result) and places_in(
            contiguous(result, shape_of(result), element_of(result))
        ):
            self.buffers.destinations.want(result, self.buffers.slot_for(result))
        for destination in self.buffers.destinations.of(result):
            for part, place in places_in(destination):
                if not self.buffers.destinations.of(part) and not place.is_contiguous and not is_only_placed(part):
                    self.buffers.destinations.want(part, self.buffers.slot_for(part))
                self.buffers.destinations.want(part, place)

    def _give_place(self, updated: SSAValue, op: Operation, before: Sequence[Operation]) -> None:
        """Let an operand be computed right into the result in which a kernel changes it, as `_give_places` does."""
        (result,) = op.results
        if not isinstance(updated.owner, Operation) or updated.owner not in before:
            return
        if not self.buffers.destinations.of(result):
            self.buffers.destinations.want(result, self.buffers.slot_for(result))
        destination = self.buffers.destinations.of(result)[0]
        readers = self._readers_of(destination)
        if not any(other in readers for other in before[before.index(updated.owner) :]):
            self.buffers.destinations.want(updated, destination)

    def _readers_of(self, destination: Buffer) -> Collection[Operation]:
        """The ops that read the argument in which a buffer lies, if it is updated: views of it do not read."""
        if not is_updated(destination):
            return ()
        (update,) = [update for update in self.updates if self.buffers.of[update.argument].root is destination.root]
        return [op for op in update.readers if VIEW.get(type(op)) is None]

    def _bring(self, value: SSAValue, place: Buffer, at: LocationAttr | None = None) -> None:
        """Copy a value to where it is wanted, unless it is there; `at` is as in `Launches.copy`."""
        if not self.buffers.destinations.has(place, self.buffers.of[value]):
            self.launches.copy(self.buffers.of[value], place, value, at)

    def _lower(self, op: Operation) -> None:
        if isinstance(op, ScanOp | IfOp | WhileOp):
            self._keep_what_bodies_read(op)
        destinations = self.buffers.destinations
        updating = [result for result in op.results if any(map(is_updated, destinations.of(result)))]
        if not updating:
            self._lower_where_wanted(op)
            return
        last, filled = self.buffers.block.last_op, set(destinations.filled)
        try:
            self._lower_where_wanted(op)
        except ReadElsewhereError:
            # what is launched already has written over the argument, perhaps, and not where else the result is wanted
            added = self.buffers.block.first_op if last is None else last.next_op
            while added is not None:
                launch, added = added, added.next_op
                if isinstance(launch, lir.LaunchOp):
                    launch.detach()
                    launch.erase()
            destinations.filled = filled
            # into memory of its own, from where it is copied when all of the argument has been read
            for result in updating:
                destinations.forget(result)
                self.buffers.of.pop(result, None)
            self._lower_where_wanted(op)

    def _keep_what_bodies_read(self, op: ScanOp | IfOp | WhileOp) -> None:
        """
        Have results that are written over an argument copied there when the op has run, where it reads that argument.

        A body may read it in a later launch, or iteration, than the one that stores. A carry that begins as that
        argument, of which there is no other reader, may stay in its place.
        """
        begins: dict[SSAValue, SSAValue] = {}
        if isinstance(op, WhileOp):
            begins.update(zip(op.carries, op.init, strict=True))
        for result in op.results:
            begin = begins.get(result)
            for destination in filter(is_updated, self.buffers.destinations.of(result)):
                readers = [x for x in op.operands if self.buffers.of[x].root is destination.root]
                stays = readers == [begin] and self.buffers.destinations.has(destination, self.buffers.of[readers[0]])
                if readers and not stays:
                    self.buffers.destinations.forget(result)
                    break

    def _lower_where_wanted(self, op: Operation) -> None:
        if isinstance(op, FusionOp):
            self._lower_fusion(op)
        elif isinstance(op, ScanOp):
            self.buffers.block.add_op(lower_scan(op, self))
        elif isinstance(op, IfOp):
            self.buffers.block.add_op(lower_if(op, self))
        elif isinstance(op, WhileOp):
            self.buffers.block.add_op(lower_while(op, self))
        elif op.has_trait(ConstantLike):
            self.buffers.hold(op)
        elif VIEW.get(type(op)) is not None:
            self._lower_view(op)
        elif PLACE.get(type(op)) is not None:
            self._lower_places(op)
        elif (nest := NEST.get(type(op))) is not None:
            if (updated := UPDATED.get(type(op))) is not None:
                self._bring(updated(op), self.buffers.write(op.results[0]), op.location)
            self.launches.nest(op, nest)
        elif LOOPS.get(type(op)) is not None:
            reads = {operand: self.buffers.of[operand] for operand in op.operands}
            writes: dict[SSAValue, Buffer] = {result: self.buffers.destination(result) for result in op.results}
            also = [(result, place) for result in op.results for place in self.buffers.destinations.of(result)[1:]]
            self._lower_elements([op], reads, writes, also, GroupLoops.of)
            self.buffers.of |= writes
        else:
            raise PassFailedException(_without_loops(op))

    def _lower_fusion(self, op: FusionOp) -> None:
        arguments = zip(op.body.block.args, op.inputs, strict=True)
        reads: dict[SSAValue, Buffer] = {arg: self.buffers.of[v] for arg, v in arguments}
        end = op.body.block.last_op
        assert isinstance(end, YieldOp)
        writes: dict[SSAValue, Buffer] = {}
        also: list[tuple[SSAValue, Buffer]] = []
        twice: list[tuple[SSAValue, SSAValue]] = []
        for value, result in zip(end.values, op.results, strict=True):
            if value in writes or value in reads:
                twice.append((value, result))
                also += [(value, place) for place in self.buffers.destinations.of(result) if value in writes]
                continue
            writes[value] = self.buffers.of[result] = self.buffers.destination(result)
            also += [(value, place) for place in self.buffers.destinations.of(result)[1:]]
        if writes:
            loops = partial(GroupLoops.of_fusion, op)
            self._lower_elements([o for o in op.body.block.ops if o is not end], reads, writes, also, loops, op.loops)
        for value, result in twice:
            self.buffers.of[result] = writes.get(value) or reads[value]

    def _lower_elements(
        self,
        ops: Sequence[Operation],
        reads: Mapping[SSAValue, Buffer],
        writes: Mapping[SSAValue, Buffer],
        also: Sequence[tuple[SSAValue, Buffer]],
        loops: Loops,
        decided: Attribute | None = None,
    ) -> None:
        """Lower a group, which stores some of its values in further places, too, where it has them at hand."""
        for op in ops:
            if any(isinstance(element_of(value), ComplexType) for value in (*op.operands, *op.results)):
                raise PassFailedException(
                    f"{named(op)} of complex numbers has no loop form: run mir-prepare-for-fusion and mir-fuse before "
                    "convert-mir-to-lir"
                )
        copies: list[Operation] = []
        places: dict[SSAValue, Buffer] = {}
        for value, place in also:
            if can_store_twice(value):
                copies.append(ExpandOp(value, place.layout.shape))
                # a launch is located at its last op
                copies[-1].location = ops[-1].location
                places[copies[-1].results[0]] = place
                self.buffers.destinations.fill(place)
        self.launches.group([*ops, *copies], reads, {**writes, **places}, stem_of_ops(ops), loops, decided)
        for copy in copies:
            copy.erase()

    def _lower_places(self, op: Operation) -> None:
        """Put the parts of a result side by side, those that are not computed there."""
        (result,) = op.results
        destinations = self.buffers.destinations.of(result) or [self.buffers.destination(result)]
        for destination in destinations:
            for part, layout in PLACE.lookup(op)(op, destination.layout):
                self._bring(part, destination.part(part, layout), op.location)
            self.buffers.destinations.fill(destination)
        self.buffers.of[result] = destinations[0]

    def _lower_view(self, op: Operation) -> None:
        (result,) = op.results
        source = self.buffers.of[op.operands[0]]
        view = VIEW.lookup(op)
        layout = view(op, source.layout)
        if layout is None:
            source = self._without_gaps(op.operands[0], op.location)
            layout = view(op, source.layout)
            assert layout is not None
        self.buffers.of[result] = Buffer(source.root, layout, element_of(result))
