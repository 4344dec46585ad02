"""The buffers of a program: where each tensor value of the function is, and room for more.
What is computed into them is in `launches.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.dense_text import dense_of, is_splat
from xdsl_rlx.dialects.lir.memory import AnyMemRef, row_major_strides, strided_memref
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.bufferize.destinations import Destinations
from xdsl_rlx.lowering.buffers import Buffer, contiguous
from xdsl_rlx.lowering.fusion.analysis.loop_tables import StridedLayout


class ProgramBuffers:
    """The buffer of each value, those that are wanted for it, and the block of the program that is being filled."""

    def __init__(self, program: lir.ProgramOp):
        self.program = program
        self.block = program.body.block
        self.of: dict[SSAValue, Buffer] = {}
        self.destinations = Destinations()
        self.in_loop = False
        """Whether what is filled is the body of a loop, or inside of one."""
        self._console: Buffer | None = None
        self._views: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}

    def inside(self, block: Block, lower: Callable[[], None]) -> None:
        """Lower into another block, whose values are not seen afterwards."""
        outer, views, filled = self.block, dict(self._views), set(self.destinations.filled)
        in_loop, self.block = self.in_loop, block
        self.in_loop = in_loop or isinstance(block.parent_op(), lir.LoopOp | lir.WhileOp)
        lower()
        self.in_loop = in_loop
        self.block, self._views, self.destinations.filled = outer, views, filled

    def declare(self, op: lir.InputOp | lir.ParamOp | lir.OutputOp | lir.SlotOp, like: SSAValue) -> Buffer:
        """The buffer of an op, which is added, for a value."""
        self.block.add_op(op)
        op.result.name_hint = like.name_hint
        return contiguous(op.result, shape_of(like), element_of(like))

    def slot(self, shape: Sequence[int], element: Attribute, name: str | None) -> Buffer:
        """A new slot."""
        op = lir.SlotOp(_row_major(element, shape))
        self.block.add_op(op)
        op.result.name_hint = name
        return contiguous(op.result, shape, element)

    def slot_for(self, value: SSAValue) -> Buffer:
        """A new slot for a value."""
        return self.declare(lir.SlotOp(memref_for(value)), value)

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        """A new slot, named as the value `like`."""
        return self.slot(shape, element, None if like is None else like.name_hint)

    def destination(self, value: SSAValue) -> Buffer:
        """Where a value is computed into: its output, or a new slot."""
        wanted = self.destinations.of(value)
        return wanted[0] if wanted else self.slot_for(value)

    def write(self, value: SSAValue) -> Buffer:
        """The buffer of a result."""
        if value not in self.of:
            self.of[value] = self.destination(value)
        return self.of[value]

    def is_wanted(self, value: SSAValue) -> bool:
        """Whether a value has to be at a certain place in the end."""
        return bool(self.destinations.of(value))

    def constant(self, value: AnyDense) -> Buffer:
        """A buffer that holds these numbers."""
        shape, element = value.get_shape(), value.get_element_type()
        # no loop holds constants; those around an op are not there yet, so that it stands in front of them
        constant = lir.ConstantOp(value, _row_major(element, shape))
        self.program.body.block.add_op(constant)
        return contiguous(constant.result, shape, element)

    def console(self) -> Buffer:
        """The buffer that all launches with an effect write to, in front of the op of the program that is lowered."""
        if self._console is None:
            slot = lir.SlotOp(_row_major(i8, (1,)))
            slot.result.name_hint = "console"
            self.program.body.block.add_op(slot)
            self._console = contiguous(slot.result, (1,), i8)
        return self._console

    def hold(self, op: Operation) -> None:
        """Keep the elements of a constant: one where all are the same."""
        (result,) = op.results
        value = dense_of(op)
        if value is None:
            raise PassFailedException(f"{op.name} is not a dense constant of tensors")
        shape = shape_of(result)
        layout = StridedLayout(0, shape, row_major_strides(shape))
        if is_splat(op) and prod(shape) > 1:
            first = value.data.data[: value.get_element_type().compile_time_size]
            value = DenseIntOrFPElementsAttr(TensorType(value.get_element_type(), [1]), BytesAttr(first))
            layout = StridedLayout(0, shape, (0,) * len(shape))
        root = self.constant(value).root
        root.name_hint = result.name_hint
        self.of[result] = Buffer(root, layout, element_of(result))

    def seen_as(self, buffer: Buffer) -> SSAValue:
        """The buffer, which has no gaps, as a value of its own."""
        return self.view(buffer.root, buffer.layout.offset, _row_major(buffer.element, buffer.layout.shape))

    def view(self, root: SSAValue, offset: int, type_: AnyMemRef) -> SSAValue:
        """A buffer from an element on, as another type; itself if that is what it is."""
        if offset == 0 and root.type == type_:
            return root
        key = (root, offset, type_)
        if key not in self._views:
            view = lir.ViewOp(root, offset, type_)
            self.block.add_op(view)
            view.result.name_hint = root.name_hint
            self._views[key] = view.result
        return self._views[key]


def memref_for(value: SSAValue) -> AnyMemRef:
    """The type of a buffer that holds a tensor without gaps."""
    return _row_major(element_of(value), shape_of(value))


def _row_major(element: Attribute, shape: Sequence[int]) -> AnyMemRef:
    return strided_memref(element, tuple(shape), row_major_strides(shape))
