"""Where values live: a strided window of an input, param, constant, slot or output; which of them a kernel is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import InputOp, KernelOp, ParamOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, row_major_strides, strided_memref
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import StridedLayout


@dataclass(frozen=True)
class Buffer:
    """The elements of a tensor value: `layout` of the elements of the `lir` buffer `root`."""

    root: SSAValue
    layout: StridedLayout
    element: Attribute

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        shape, strides = self.layout.shape, self.layout.strides
        expected = row_major_strides(shape)
        return 0 in shape or all(n == 1 or s == e for n, s, e in zip(shape, strides, expected, strict=True))

    @property
    def lies_backwards(self) -> bool:
        """Whether some axis goes from the last element in memory to the first."""
        return min(self.layout.strides, default=0) < 0

    def part(self, value: SSAValue, layout: StridedLayout) -> Buffer:
        """Where a value lies that is a part of this one."""
        return Buffer(self.root, layout, element_of(value))


def contiguous(root: SSAValue, shape: Sequence[int], element: Attribute) -> Buffer:
    """All elements of a `lir` buffer, in row-major order."""
    return Buffer(root, StridedLayout(0, tuple(shape), row_major_strides(shape)), element)


@dataclass(frozen=True)
class Argument:
    """A buffer as a kernel sees it: the dimensions that the kernel indexes."""

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    name: str | None = None

    @property
    def type(self) -> AnyMemRef:
        """The memref type of the kernel's argument."""
        return strided_memref(self.buffer.element, self.shape, self.strides)

    def seen(self, shape: Sequence[int], strides: Sequence[int], first: int = 0) -> Argument:
        """The same buffer seen as `shape`, with strides in elements, from its element `first` on."""
        layout = replace(self.buffer.layout, offset=self.buffer.layout.offset + first)
        return Argument(replace(self.buffer, layout=layout), tuple(shape), tuple(strides), self.name)

    def repeated(self, shape: Sequence[int]) -> Argument:
        """The same buffer seen as `shape`, with stride 0 along dimensions of 1 and those that it lacks in front."""
        strides = [0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)]
        return self.seen(shape, [0] * (len(shape) - len(strides)) + strides)

    @property
    def transposed(self) -> Argument:
        """The same buffer with the last two dimensions exchanged."""
        (*shape, rows, columns), (*strides, down, along) = self.shape, self.strides
        return self.seen((*shape, columns, rows), (*strides, along, down))


def merge_axes(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """The stride of the axes taken as one loop over all their elements, or None if they are not evenly spaced."""
    merged: int | None = None
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 1:
            continue
        if merged is None:
            merged, step = stride, stride * extent
        elif stride != step:
            return None
        else:
            step *= extent
    return 0 if merged is None else merged


@dataclass(frozen=True)
class Launch:
    """A kernel, the buffers it is given, and how its iterations are cut up."""

    kernel: KernelOp
    extent: int
    chunk: int
    reads: tuple[Argument, ...]
    writes: tuple[Argument, ...]
    blas_threads: int = 1
    """How many threads BLAS and LAPACK have at most in it, if it is one piece."""


def is_updated(buffer: Buffer) -> bool:
    """Whether a buffer is an argument's, which a result replaces."""
    owner = buffer.root.owner
    return isinstance(owner, InputOp | ParamOp) and owner.donated is not None
