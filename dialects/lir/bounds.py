"""What the ops of a kernel touch of their buffers, and what of that can be seen to be wrong before anything runs.

`lir-check-bounds` proves or checks the rest. What a program does with whole buffers is in `schedule.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, IntegerType, MemRefType, UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.blas import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.call_function import CallFunctionOp
from xdsl_rlx.dialects.lir.collectives import CollectiveOp, CollectivePollOp, CollectiveStartOp, CollectiveWaitOp
from xdsl_rlx.dialects.lir.debug import DebugPrintOp
from xdsl_rlx.dialects.lir.fourier import FftOp
from xdsl_rlx.dialects.lir.lapack import LAPACK_OPS, GetrfOp, LapackOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, byte_size, is_contiguous, verify_buffer_type
from xdsl_rlx.dialects.lir.prefetch import PrefetchOp

SCRATCH_LIMIT = 1 << 20
"""Bytes of a kernel's scratch buffers together: they lie on the stack of a thread."""


@dataclass(frozen=True)
class Reach:
    """
    The elements `[start, stop)`, or `[start, start + count)`, along one dimension of a buffer; without either, one.

    An op stays inside its buffer when `0 <= start <= stop <= extent` for each of its reaches.
    """

    buffer: SSAValue
    dimension: int
    start: SSAValue
    stop: SSAValue | None = None
    count: SSAValue | None = None

    @property
    def extent(self) -> int:
        return cast(AnyMemRef, self.buffer.type).get_shape()[self.dimension]

    @property
    def is_iteration(self) -> bool:
        """Whether it is one element, that of the iteration which a loop over the kernel's `[lo, hi)` is at."""
        return self.stop is None and self.count is None and _counts_iterations(self.start)


def _counts_iterations(index: SSAValue) -> bool:
    loop = index.owner.parent_op() if isinstance(index.owner, Block) else None
    if not isinstance(loop, scf.ForOp) or index is not loop.body.block.args[0] or (constant_index(loop.step) or 0) < 1:
        return False
    low, high = loop.lb, loop.ub
    if not isinstance(low, BlockArgument) or not isinstance(high, BlockArgument) or low.owner is not high.owner:
        return False
    args = low.owner.args
    # the last two arguments of the one block that is in no op of a kernel but itself
    return low.owner.parent_op() is _kernel_of(loop) and (low.index, high.index) == (len(args) - 2, len(args) - 1)


def _kernel_of(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and not parent.has_trait(IsolatedFromAbove):
        parent = parent.parent_op()
    return parent


def _elements(buffer: SSAValue, indices: Sequence[SSAValue]) -> list[Reach]:
    return [Reach(buffer, dimension, index) for dimension, index in enumerate(indices)]


def _gemm(op: GemmOp) -> list[Reach]:
    rows, cols = (op.row_lo, op.row_hi), (op.col_lo, op.col_hi)
    inner = None if op.inner_lo is None or op.inner_hi is None else (op.inner_lo, op.inner_hi)
    found: list[Reach] = []
    for buffer, indices, ranges in (
        (op.a, op.a_indices, (rows, inner)),
        (op.b, op.b_indices, (inner, cols)),
        (op.c, op.c_indices, (rows, cols)),
    ):
        found += _elements(buffer, indices)
        for dimension, bounds in enumerate(ranges, len(indices)):
            if bounds is not None:
                found.append(Reach(buffer, dimension, *bounds))
    return found


def _block_gemm(op: BlockGemmOp) -> list[Reach]:
    a, b = (op.rows, op.depth), (op.depth, op.cols)
    found: list[Reach] = []
    for buffer, indices, sizes in (
        (op.a, op.a_indices, a if op.transpose_a is None else a[::-1]),
        (op.b, op.b_indices, b if op.transpose_b is None else b[::-1]),
        (op.c, op.c_indices, (op.rows, op.cols)),
    ):
        found += _elements(buffer, indices[:-2])
        first = len(indices) - 2
        found += [Reach(buffer, first + n, indices[first + n], count=size) for n, size in enumerate(sizes)]
    return found


def _lapack(op: LapackOp) -> list[Reach]:
    return [reach for x in op.buffers() for reach in _elements(x.buffer, x.indices)]


def _getrf(op: GetrfOp) -> list[Reach]:
    a, _ = op.buffers()
    sizes = [(len(a.indices) + n, size) for n, size in enumerate((op.lines, op.columns)) if size is not None]
    return [*_lapack(op), *(Reach(a.buffer, dimension, size, size) for dimension, size in sizes)]


def _written_by_lapack(op: LapackOp) -> tuple[SSAValue, ...]:
    return tuple(x.buffer for x in op.buffers() if x.parameter.is_written)


_REACHES: dict[type[Operation], Callable[[Any], list[Reach]]] = {
    memref.LoadOp: lambda op: _elements(op.memref, op.indices),
    memref.StoreOp: lambda op: _elements(op.memref, op.indices),
    PrefetchOp: lambda op: _elements(op.buffer, op.indices),
    GemmOp: _gemm,
    BlockGemmOp: _block_gemm,
    CallFunctionOp: lambda op: [reach for place in op.places for reach in _elements(*place)],
    FftOp: lambda op: [Reach(buffer, 0, op.piece) for buffer in op.workspace],
    **dict.fromkeys(LAPACK_OPS, _lapack),
    GetrfOp: _getrf,
}
_WRITTEN: dict[type[Operation], Callable[[Any], tuple[SSAValue, ...]]] = {
    memref.StoreOp: lambda op: (op.memref,),
    DebugPrintOp: lambda op: (op.console,),
    CollectiveOp: lambda op: (op.target, op.network),
    CollectiveStartOp: lambda op: (op.target, op.request, op.network),
    CollectiveWaitOp: lambda op: (op.target,),
    CollectivePollOp: lambda op: (op.request,),
    GemmOp: lambda op: (op.c,),
    BlockGemmOp: lambda op: (op.c,),
    CallFunctionOp: lambda op: (*op.writes,),
    FftOp: lambda op: (op.result, *op.workspace),
    **dict.fromkeys(LAPACK_OPS, _written_by_lapack),
}


def reaches(op: Operation) -> list[Reach]:
    """What an op touches that its operands choose; whole dimensions are left out."""
    row = _REACHES.get(type(op))
    return [] if row is None else row(op)


def written_buffers(body: Block) -> set[SSAValue]:
    """The buffers that the ops of a kernel write to."""
    return {buffer for op in body.walk() for buffer in buffers_written_by(op)}


def buffers_written_by(op: Operation) -> tuple[SSAValue, ...]:
    """The buffers that an op, without what is in its regions, writes to."""
    row = _WRITTEN.get(type(op))
    return () if row is None else row(op)


def constant_index(value: SSAValue) -> int | None:
    """The value of an integer constant."""
    owner = value.owner
    # every index of every loop is asked: isinstance takes ten times as long
    if type(owner) is arith.ConstantOp and type(owner.value) is IntegerAttr:
        return cast("IntegerAttr[Any]", owner.value).value.data
    return None


def trip_count(loop: scf.ForOp) -> int | None:
    """How often a loop runs, if its bounds are constants."""
    lb, ub, by = loop.operands[:3]
    low, high, step = constant_index(lb), constant_index(ub), constant_index(by)
    if low is None or high is None or not step:
        return None
    return max(0, -(-(high - low) // step))


def verify_kernel_body(body: Block) -> None:
    """VerifyException for a buffer that a kernel cannot have, and for an access that is outside whatever runs."""
    scratch = 0
    for op in _all_ops(body):
        if isinstance(op, memref.AllocaOp):
            scratch += _scratch_bytes(op)
        elif any(isinstance(result.type, MemRefType) for result in op.results):
            raise VerifyException(f"a kernel's buffers are its arguments and memref.alloca, got {op.name}")
        elif isinstance(op, UnrealizedConversionCastOp):
            _verify_cast(op)
        elif isinstance(op, scf.ForOp) and (step := constant_index(op.step)) is not None and step < 1:
            raise VerifyException(f"expected a step of at least 1, got {step}")
        for reach in reaches(op):
            _verify_reach(op, reach)
    if scratch > SCRATCH_LIMIT:
        raise VerifyException(f"a kernel has at most {SCRATCH_LIMIT} bytes of scratch buffers, got {scratch}")


def _all_ops(body: Block) -> Iterator[Operation]:
    for op in body.ops:
        yield op
        for region in op.regions:
            for block in region.blocks:
                if any(isinstance(arg.type, MemRefType) for arg in block.args):
                    raise VerifyException(f"a kernel's buffers are its arguments and memref.alloca, got {op.name}")
                yield from _all_ops(block)


def _scratch_bytes(op: memref.AllocaOp) -> int:
    type_ = cast(AnyMemRef, op.memref.type)
    verify_buffer_type(type_)
    if not is_contiguous(type_):
        raise VerifyException(f"expected a contiguous buffer, got {type_}")
    return byte_size(type_)


def _verify_cast(op: UnrealizedConversionCastOp) -> None:
    types = [value.type for value in (*op.operands, *op.results)]
    widths = [type_.bitwidth for type_ in types if isinstance(type_, IntegerType)]
    if len(op.operands) != 1 or len(op.results) != 1 or len(widths) != 2 or widths[0] != widths[1]:
        raise VerifyException(f"expected a bitcast between types of one width, got {', '.join(map(str, types))}")


def _verify_reach(op: Operation, reach: Reach) -> None:
    if reach.extent == DYNAMIC_INDEX:
        if not reach.is_iteration:
            raise VerifyException(
                f"{op.name} accesses an element of {reach.buffer.type} other than the one of its iteration"
            )
        return
    start, extent = constant_index(reach.start), reach.extent
    stop = constant_index(reach.stop) if reach.stop is not None else None
    count = constant_index(reach.count) if reach.count is not None else None
    if start is not None and reach.stop is None:
        least = 1 if reach.count is None else count or 0
        stop = start + least
    bad = any(n is not None and n < 0 for n in (start, stop, count))
    bad |= any(n is not None and n > extent for n in (start, stop, count))
    bad |= start is not None and stop is not None and start > stop
    if bad:
        raise VerifyException(
            f"{op.name} is out of bounds of dimension {reach.dimension} of {reach.buffer.type}: {_said(reach)}"
        )


def _said(reach: Reach) -> str:
    """The numbers of a reach, as far as they are constants."""
    start, stop, count = (
        "?" if value is None or (known := constant_index(value)) is None else str(known)
        for value in (reach.start, reach.stop, reach.count)
    )
    if reach.stop is not None:
        return f"elements {start} to {stop}"
    return f"element {start}" if reach.count is None else f"{count} elements from {start}"
