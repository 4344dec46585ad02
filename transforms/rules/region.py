"""Rows of regions of elementwise ops and of resizes: their definitions, which all else follows from."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.transforms.rules.bodies import results_of
from xdsl_rlx.transforms.rules.rows import decompose


@decompose(ElementwiseRegionOp)
def elementwise_region_decompose(op: ElementwiseRegionOp, b: MirBuilder) -> Sequence[Value]:
    return [b.value(x) for x in results_of(op.body.block, op.inputs, b)]


@decompose(TransformRegionOp)
def transform_region_decompose(op: TransformRegionOp, b: MirBuilder) -> Sequence[Value]:
    return [b.value(x) for x in results_of(op.body.block, [op.operand], b)]


@decompose(BatchElementwiseRegionOp)
def batch_elementwise_region_decompose(op: BatchElementwiseRegionOp, b: MirBuilder) -> Sequence[Value]:
    """The ops of the body for each input, and a concat."""
    parts = [b.value(results_of(op.body.block, [x, *op.captured], b)[0]) for x in op.inputs]
    return [b.concat(parts, 0)]
