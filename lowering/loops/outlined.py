"""What loops and branches over launches have in common that become one kernel: where its buffers lie, and its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, StepOp, ViewOp
from xdsl_rlx.dialects.lir.bounds import trip_count
from xdsl_rlx.dialects.lir.kernel import LANES
from xdsl_rlx.dialects.lir.memory import byte_size, is_contiguous, memref_of, strided_memref
from xdsl_rlx.dialects.lir.places import ByteSpan, place_of
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import stem_of
from xdsl_rlx.lowering.kernel_pass import take_name
from xdsl_rlx.lowering.loops.inlining import can_be_inlined
from xdsl_rlx.lowering.target import LoopCosts


@dataclass(frozen=True)
class BufferLine:
    """`size` elements of a buffer from `start` on, which the kernel gets as one of its buffers."""

    buffer: SSAValue
    start: int
    size: int

    @classmethod
    def whole(cls, buffer: SSAValue) -> BufferLine:
        """All elements of a buffer."""
        return cls(buffer, 0, prod(memref_of(buffer).get_shape()))

    def view(self, before: Operation) -> SSAValue:
        """The elements as a buffer with one axis, in front of an op."""
        type_ = strided_memref(memref_of(self.buffer).element_type, (self.size,), (1,))
        if memref_of(self.buffer) == type_ and not self.start:
            return self.buffer
        view = ViewOp(self.buffer, self.start, type_)
        view.result.name_hint = self.buffer.name_hint
        block = before.parent_block()
        assert block is not None
        block.insert_op_before(view, before)
        return view.result


class Outlined:
    """Launches of control flow that are to be one kernel."""

    def __init__(self, launches: Sequence[LaunchOp], taken: set[str], kernels: dict[str, KernelOp], costs: LoopCosts):
        self.taken = taken
        self.costs = costs
        self.launches = [op for op in launches if op.extent.value.data]
        self.kernels = kernels
        self.places: dict[SSAValue, ByteSpan] = {}

    def can_be_one(self) -> bool:
        """Whether the kernels can be inlined, and are not much text, and all buffers are lines."""
        bodies = [self.kernel_of(launch) for launch in self.launches]
        if sum(1 for body in bodies for _ in body.walk()) > self.costs.max_outlined_ops:
            return False
        return all(map(can_be_inlined, bodies)) and self._find_places()

    def kernel_of(self, launch: LaunchOp) -> KernelOp:
        """What a launch runs."""
        return self.kernels[launch.kernel.string_value()]

    def work(self) -> int:
        """Operations of all launches together, each once."""
        vector = self.costs.unroll_vector_elements
        return sum(_work(self.kernel_of(x).body.block, x.extent.value.data, vector) for x in self.launches)

    def operands(self) -> list[SSAValue]:
        """The buffers that the kernel needs."""
        return [value for launch in self.launches for value in launch.operands]

    def _find_places(self) -> bool:
        """Where every buffer lies; whether lines can be made of these, and those that may overlap are one."""
        for value in self.operands():
            place = self.places[value] = self.place(value)
            type_, whole = memref_of(value), memref_of(place.root)
            if whole.element_type != type_.element_type or not is_contiguous(whole):
                return False
        written = self.written()
        wholes = [(root, _declared(root)) for root in dict.fromkeys(place.root for place in self.places.values())]
        for number, (root, place) in enumerate(wholes):
            for other, beside in wholes[:number]:
                if place.root is beside.root and (root in written or other in written) and place.may_meet(beside):
                    return False
        return True

    def written(self) -> set[SSAValue]:
        """The roots of the buffers that launches write to."""
        return {self.places[value].root for launch in self.launches for value in launch.writes}

    def place(self, value: SSAValue) -> ByteSpan:
        """The bytes of a buffer, of what is there before the loop."""
        op = value.owner
        if isinstance(op, ViewOp) or (isinstance(op, StepOp) and self.follows(op)):
            return place_of(op, self.place)
        size = byte_size(memref_of(value))
        return ByteSpan(value, 0, size, size > 0)

    def follows(self, step: StepOp) -> bool:
        """Whether a buffer moves from iteration to iteration of what is outlined."""
        return False

    def name(self, kind: str) -> str:
        """A name for the kernel that nothing of the module has."""
        names = [x.kernel.string_value().partition("_")[2] for x in self.launches]
        stem = stem_of(word for name in names for word in name.split("_") if word != "etc")
        return take_name(f"k{len(self.kernels)}_{kind}_{stem}", self.taken)


def _declared(value: SSAValue) -> ByteSpan:
    """The bytes of a buffer, of what was declared."""
    op = value.owner
    if isinstance(op, ViewOp | StepOp):
        return place_of(op, _declared)
    size = byte_size(memref_of(value))
    return ByteSpan(value, 0, size, size > 0)


def _work(block: Block, extent: int, vector: int) -> int:
    """
    Operations of a block, of lanes those on vectors of so many elements.

    Loops whose bounds are those of the launch have its extent.
    """
    total = 0
    for op in block.ops:
        trips = 1
        if isinstance(op, scf.ForOp):
            known = trip_count(op)
            trips = extent if known is None else known
            if LANES in op.attributes:
                trips = -(-trips // vector)
        inside = sum(_work(inner, extent, vector) for region in op.regions for inner in region.blocks)
        total += trips * inside + 1
    return total
