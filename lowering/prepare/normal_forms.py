"""What ops become before they are loops: the rows of NORMALIZE, from ops of mir to ops of mir.

Half floats are computed with in f32, unsigned extremes as signed ones, and what loops do not do by what they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod

from xdsl.dialects.builtin import IntegerType, TensorType, bf16, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from xdsl_rlx.dialects.lir.fourier import is_smooth
from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionOp
from xdsl_rlx.dialects.mir.branch import WhileOp
from xdsl_rlx.dialects.mir.conv import Conv2dBackwardInputOp, Conv2dBackwardWeightOp, ConvOp, Windows
from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, PowOp
from xdsl_rlx.dialects.mir.fake_quantize import StraightThroughOp
from xdsl_rlx.dialects.mir.index import CumprodOp, CumsumOp, IndexAddOp, ScatterAddOp, TopkOp
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.moe import GroupedMatmulBackwardWeightOp, GroupedMatmulOp
from xdsl_rlx.dialects.mir.pool import Maxpool2dBackwardOp
from xdsl_rlx.dialects.mir.quant import (
    DequantMatmulBackwardInputOp,
    DequantMatmulOp,
)
from xdsl_rlx.dialects.mir.quant_schemes import Scheme
from xdsl_rlx.dialects.mir.random import DrawOp
from xdsl_rlx.dialects.mir.reduce import ReduceMaxOp, ReduceMeanOp, ReduceMinOp, ReduceOp
from xdsl_rlx.dialects.mir.shape import ConcatOp, NarrowOp
from xdsl_rlx.dialects.mir.special import SpecialFunctionOp
from xdsl_rlx.dialects.mir.spectral import FftOp, IrfftOp, RfftOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of, u8, u32
from xdsl_rlx.lowering.prepare.conv_phases import by_phases, has_few_phases
from xdsl_rlx.lowering.prepare.counted_loops import counted
from xdsl_rlx.lowering.prepare.first_of_largest import first_of_the_largest
from xdsl_rlx.lowering.prepare.thin_products import thin_product
from xdsl_rlx.lowering.prepare.transposed_matrices import is_transposed, turned
from xdsl_rlx.lowering.target import NormalizeCosts
from xdsl_rlx.plugins import modules
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.rules import DECOMPOSE
from xdsl_rlx.transforms.rules.conv import planar, plane
from xdsl_rlx.transforms.rules.dft import needs_convolution
from xdsl_rlx.transforms.rules.rule_table import RuleTable
from xdsl_rlx.transforms.rules.wide import is_half, rounded, widened

NORMALIZE: RuleTable[Callable[[Operation, MirBuilder, NormalizeCosts], Sequence[Value] | None]] = RuleTable("normalize")
"""An op that some cases of which have to become other ops before they are loops; None for the other cases."""

NORMALIZE.add(WhileOp, counted)


def _line_of_positions(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """A line, expanded: a value of several loops might be taken as one of all of these together."""
    assert isinstance(op, IotaOp)
    shape, axis = shape_of(op.result), op.axis_index
    if len(shape) == 1:
        return None
    line = b.op(IotaOp, (shape[axis],), 0, element_of(op.result))
    return [b.expand(b.reshape(line, (shape[axis], *([1] * (len(shape) - axis - 1)))), shape)]


NORMALIZE.add(IotaOp, _line_of_positions)

# Once derivatives are taken the carrier is dead, and need not be computed.
NORMALIZE.add(StraightThroughOp, lambda op, b, _: [b.value(op.operands[0])])


def _power_by_root(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """
    Powers of 1.5 and 2.5, by a root: a ninth of the time, and less than 2 units in the last place.

    Behind derivatives, which are not those of the root at 0. Of a negative base they are NaN, of -0 they are 0, and of
    -infinity they are infinity, as IEEE has it.
    """
    assert isinstance(op, PowOp)
    exponent, element = splat(op.rhs), element_of(op.result)
    if element not in (f32, f64) or exponent not in (1.5, 2.5):
        return None
    base = b.expand(op.lhs, shape_of(op.result))
    root, size = b.where(b.eq(base, -inf), inf, b.sqrt(base)), b.abs(base)
    return [b.abs(root) * (size if exponent == 1.5 else size * size)]


NORMALIZE.add(PowOp, _power_by_root)


def _interleaved(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    """
    A choice by position between a few parts of one element in the last axis: one kernel computes and interleaves them.

    As a concatenation each of them is written apart, to every n-th element.
    """
    assert isinstance(op, ConcatOp)
    parts, axis, first = op.parts, op.axis_index, shape_of(op.parts[0])
    if not 2 <= len(parts) <= costs.max_interleaved_parts or prod(first) < costs.min_interleaved_elements:
        return None
    if any(shape_of(part) != first for part in parts) or set(first[axis:]) != {1}:
        return None
    *others, found = (b.value(part) for part in parts)
    shape = [len(parts), *first[axis + 1 :]]
    for number, part in reversed(list(enumerate(others))):
        here = b.reshape(b.constant([n == number for n in range(len(parts))]), shape)
        found = b.where(here, part, found)
    return [found]


NORMALIZE.add(ConcatOp, _interleaved)


def _index_add(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """Scattered updates are added right into what they are added to."""
    assert isinstance(op, AddOp)
    for input_, added in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        part = added.owner
        sums = part.operand if isinstance(part, NarrowOp) else added
        scatter = sums.owner
        if not isinstance(scatter, ScatterAddOp) or not added.has_one_use() or not sums.has_one_use():
            continue
        axis, dims, extent = scatter.axis_index, scatter.batch_dims.value.data, scatter.extent.value.data
        if isinstance(part, NarrowOp) and part.bounds[:2] != (axis, 0):
            continue
        if shape_of(input_) == shape_of(added):
            return [b.index_add(input_, scatter.updates, scatter.indices, extent, axis, dims)]
    return None


NORMALIZE.add(AddOp, _index_add)


def _in_f32(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """Half floats are computed with in f32."""
    if not is_half(op.operands[0]):
        return None
    wide = type(op).create(
        operands=[widened(b, operand).ssa for operand in op.operands],
        result_types=[TensorType(f32, shape_of(x)) if is_half(x) else x.type for x in op.results],
        properties=dict(op.properties),
    )
    b.builder.insert(wide)
    return [rounded(b, b.value(x), like) for x, like in zip(wide.results, op.results, strict=True)]


for _op in (
    AttentionOp,
    AttentionBackwardOp,
    Conv2dBackwardWeightOp,
    CumprodOp,
    CumsumOp,
    DrawOp,
    GroupedMatmulOp,
    GroupedMatmulBackwardWeightOp,
    IndexAddOp,
    Maxpool2dBackwardOp,
    ScatterAddOp,
    SpecialFunctionOp,
):
    NORMALIZE.add(_op, _in_f32)


NORMALIZE.add(TopkOp, first_of_the_largest)

_SIGNED_IN: dict[Attribute, str] = {u8: "i32", u32: "i64"}


def _signed_extreme(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    """Unsigned integers are compared as wider signed ones, whose extremes wrap to the unsigned extremes."""
    assert isinstance(op, ReduceOp)
    element = element_of(op.result)
    if element not in _SIGNED_IN:
        return _split_runs(op, b, costs)
    wide = b.cast(op.operand, _SIGNED_IN[element])
    return [b.op(type(op), wide.ssa, op.axis_list, op.keep_dim is not None).cast(element)]


def _split_runs(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """A reduction over separate runs of axes, one run after the other, the innermost first."""
    assert isinstance(op, ReduceOp)
    extents = shape_of(op.operand)
    runs: list[list[int]] = []
    broken = True
    for axis, extent in enumerate(extents):
        if axis not in op.axis_list:
            broken = broken or extent != 1
        elif broken:
            runs.append([axis])
            broken = False
        else:
            runs[-1].append(axis)
    if len(runs) < 2:
        return None
    value = widened(b, op.operand).ssa
    for run in reversed(runs):
        value = b.op(type(op), value, run, True).ssa
    return [b.reshape(rounded(b, b.value(value), op.result), shape_of(op.result))]


for _op in ReduceOp.__subclasses__():
    # a mean is a sum by then
    if _op is not ReduceMeanOp:
        NORMALIZE.add(_op, _signed_extreme if _op in (ReduceMaxOp, ReduceMinOp) else _split_runs)


def _float_matmul(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    """
    BLAS has f32 and f64: halves are widened (but see `is_product_of_bf16`), integers multiplied and summed without it;
    outer products are fused.
    """
    assert isinstance(op, MatmulOp)
    type_ = element_of(op.result)
    if shape_of(op.lhs)[-1] == 1:
        return [b.mul(op.lhs, op.rhs)]
    if type_ in (f32, f64):
        if (product := _of_many_vectors(op, b)) is not None:
            return [product]
        # in loops, tiles of one row keep what the iterations read
        return thin_product(op, b, costs) or _by_a_vector(op, b) if isinstance(op.parent_op(), FuncOp) else None
    if isinstance(type_, IntegerType):
        lhs, rhs = b.value(op.lhs), b.value(op.rhs)
        left = b.reshape(lhs, (*lhs.shape, 1))
        right = b.reshape(rhs, (*rhs.shape[:-2], 1, *rhs.shape[-2:]))
        return [b.reduce_sum(left * right, [-2], dtype=left.dtype)]
    wide = b.matmul(b.cast(op.lhs, "f32"), b.cast(op.rhs, "f32"))
    return [b.cast(wide, DTYPE_NAMES[type_])]


NORMALIZE.add(MatmulOp, _float_matmul)


def is_product_of_bf16(op: Operation, costs: NormalizeCosts) -> bool:
    """
    Whether an op is a product that dot products of bf16 compute, where there are such.

    Few columns are too little of a vector, and an outer product has no sums.
    """
    if not isinstance(op, MatmulOp) or element_of(op.result) != bf16:
        return False
    return shape_of(op.lhs)[-1] > 1 and shape_of(op.result)[-1] >= costs.min_matmul_columns


def _of_many_vectors(op: MatmulOp, b: MirBuilder) -> Value | None:
    """
    Products of a batch of vectors with one matrix, as one product of matrices; None for other products.

    They come from vmap, as do the batches of tangents of which Jacobians and Hessians consist. One by one, each reads
    the whole matrix.
    """
    lhs, rhs, wanted = b.value(op.lhs), b.value(op.rhs), shape_of(op.result)
    count, (rows, columns) = prod(wanted[:-2]), wanted[-2:]
    if count <= 1 or min(rows, columns) != 1 or rows == columns:
        return None
    vectors, matrix = (rhs, lhs) if columns == 1 else (lhs, rhs)
    if prod(vectors.shape[:-2]) != count or prod(matrix.shape[:-2]) != 1:
        return None
    if len(matrix.shape) > 2:
        matrix = b.reshape(matrix, matrix.shape[-2:])
    matrix = turned(b, matrix) if columns == 1 else matrix
    return b.reshape(b.reshape(vectors, (count, matrix.shape[0])) @ matrix, wanted)


def _by_a_vector(op: MatmulOp, b: MirBuilder) -> Sequence[Value] | None:
    """
    A matrix by a vector as sums along the rows or columns of the matrix, which is read once, in the order of memory.

    The sums fuse with what is around them. `gemm` of BLAS takes several times as long for a single row or column, and
    tiles of one row up to half as long again, as they read a piece of each row before the next ones.
    """
    lhs, rhs, wanted = b.value(op.lhs), b.value(op.rhs), shape_of(op.result)
    matrix = lhs if wanted[-1] == 1 else rhs
    if prod(matrix.shape[:-2]) != prod(wanted[:-2]):
        return None
    if wanted[-1] == 1 and wanted[-2] > 1:
        if is_transposed(op.lhs):
            return [b.reshape(b.reduce_sum(turned(b, lhs) * rhs, -2), wanted)]
        return [b.reshape(b.reduce_sum(lhs * turned(b, rhs), -1), wanted)]
    if wanted[-2] != 1 or wanted[-1] <= 1:
        return None
    if is_transposed(op.rhs):
        return [b.reshape(b.reduce_sum(turned(b, rhs) * lhs, -1), wanted)]
    return [b.reshape(b.reduce_sum(turned(b, lhs) * rhs, -2), wanted)]


def _is_pointwise(at: Windows, kernel: Sequence[int]) -> bool:
    """Whether the windows are the elements of the image, in order, of all channels."""
    return at.groups == 1 and set(kernel) == {1} and set(at.stride) == {1} and set(at.padding) == {0}


def _rows(b: MirBuilder, x: Value) -> Value:
    """Images with their elements in one row, and weights of one element as a matrix."""
    return b.reshape(x, (*x.shape[:2], prod(x.shape[2:])))


def _conv(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    """Two dimensions, and a matrix product where a window is one element."""
    assert isinstance(op, ConvOp)
    at, kernel = op.windows, shape_of(op.w)[2:]
    if _is_pointwise(at, kernel):
        w = b.value(op.w)
        return [b.reshape(b.reshape(w, w.shape[:2]) @ _rows(b, b.value(op.x)), shape_of(op.result))]
    if len(kernel) == 2:
        return _in_f32(op, b, costs)
    x, w = widened(b, op.x), widened(b, op.w)
    y = b.conv(plane(b, x), plane(b, w), *planar(at))
    return [rounded(b, b.reshape(y, shape_of(op.result)), op.result)]


def _conv_backward_input(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    assert isinstance(op, Conv2dBackwardInputOp)
    if not _is_pointwise(op.windows, shape_of(op.w)[2:]):
        wide = _in_f32(op, b, costs)
        return [by_phases(op, b, costs)] if wide is None and has_few_phases(op, costs) else wide
    w = b.value(op.w)
    return [b.reshape(b.reshape(w, w.shape[:2]).T @ _rows(b, b.value(op.dy)), shape_of(op.result))]


NORMALIZE.add(ConvOp, _conv)
NORMALIZE.add(Conv2dBackwardInputOp, _conv_backward_input)


def in_blocks(
    op: Operation, scheme: Scheme, depth: int, b: MirBuilder, costs: NormalizeCosts
) -> Sequence[Value] | None:
    """
    The definition of a product with quantised weights whose blocks go on from one row, of `depth`, to the next.

    There are no panels of whole blocks then.
    """
    if scheme.embeds_scales and depth % scheme.block != 0:
        return DECOMPOSE.lookup(op)(op, b)
    return _in_f32(op, b, costs)


def _dequant_matmul(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    assert isinstance(op, DequantMatmulOp | DequantMatmulBackwardInputOp)
    return in_blocks(op, op.scheme.scheme, op.matrix[0], b, costs)


NORMALIZE.add(DequantMatmulOp, _dequant_matmul)
NORMALIZE.add(DequantMatmulBackwardInputOp, _dequant_matmul)


def _if_rough(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """The definition of a transform that is best done as products: its length has small factors without stages."""
    assert isinstance(op, FftOp | RfftOp | IrfftOp)
    if isinstance(op, RfftOp):
        points = shape_of(op.operand)[-1]
    else:
        points = op.points if isinstance(op, FftOp) else op.points.value.data
    return None if is_smooth(points) or needs_convolution(points) else DECOMPOSE.lookup(op)(op, b)


for _op in (FftOp, RfftOp, IrfftOp):
    NORMALIZE.add(_op, _if_rough)

modules("loops")
