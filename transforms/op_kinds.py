"""What kind of work an op does, which decides on the precision it is done in. The pass is `mir_mixed_precision.py`.

A family has a kind, so an op of a family that is there needs no row. Plugins add rows by `set_kind`; their ops without
one count as custom ops.
"""

from functools import cache

from xdsl.ir import Operation
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir import branch, conv, elementwise, fused, index, pool, quant, random
from xdsl_rlx.dialects.mir.core import Elementwise, View


class OpKind(StrEnum):
    """What an op does with floating-point numbers."""

    COMPUTE = "compute"
    """sums of products: most of the time, and what narrow operands make faster"""
    REDUCTION = "reduction"
    """sums, statistics, and what feeds on its own results, where rounding adds up"""
    ELEMENTWISE = "elementwise"
    """one element of each operand at a time"""
    DATA_MOVEMENT = "data_movement"
    """elements of operands, at other places: nothing to round"""
    BOUNDARY = "boundary"
    """where types are given: constants, random numbers, conversions, code of others"""
    BODY = "body"
    """computes by bodies, each by its own ops"""
    LOOP = "loop"
    """as `body`, and runs one again and again, of its own results: those of `init`"""


_OF_FAMILY = {
    "attention": OpKind.COMPUTE,
    "backward": OpKind.REDUCTION,
    "bits": OpKind.BOUNDARY,
    "branch": OpKind.BODY,
    "cast": OpKind.BOUNDARY,
    "channel_norm": OpKind.REDUCTION,
    "collectives": OpKind.REDUCTION,
    "complex": OpKind.ELEMENTWISE,
    "control": OpKind.BOUNDARY,
    "conv": OpKind.COMPUTE,
    "creation": OpKind.BOUNDARY,
    "custom": OpKind.BOUNDARY,
    "custom_fn": OpKind.BODY,
    "debug": OpKind.BOUNDARY,
    "distributions": OpKind.BOUNDARY,
    "elementwise": OpKind.ELEMENTWISE,
    "factor": OpKind.REDUCTION,
    "fake_quantize": OpKind.ELEMENTWISE,
    "fused": OpKind.COMPUTE,
    "index": OpKind.REDUCTION,
    "linalg": OpKind.COMPUTE,
    "loss": OpKind.REDUCTION,
    "matrix_function": OpKind.REDUCTION,
    "moe": OpKind.COMPUTE,
    "norm": OpKind.REDUCTION,
    "pool": OpKind.REDUCTION,
    "quant": OpKind.COMPUTE,
    "quant_int": OpKind.COMPUTE,
    "quantize": OpKind.ELEMENTWISE,
    "random": OpKind.BOUNDARY,
    "recurrence": OpKind.REDUCTION,
    "reduce": OpKind.REDUCTION,
    "region": OpKind.BOUNDARY,
    "rope": OpKind.ELEMENTWISE,
    "rounding": OpKind.ELEMENTWISE,
    "scan": OpKind.LOOP,
    "shape": OpKind.DATA_MOVEMENT,
    "solve": OpKind.REDUCTION,
    "special": OpKind.REDUCTION,
    "spectral": OpKind.REDUCTION,
    "transcendental": OpKind.ELEMENTWISE,
    "transformer": OpKind.COMPUTE,
}
"""Of the ops of a file of `dialects/mir/`, but for elementwise ops and views among them, and the exceptions below."""

_OF_OP: dict[type[Operation], OpKind] = {
    branch.WhileOp: OpKind.LOOP,
    conv.Im2colOp: OpKind.DATA_MOVEMENT,
    elementwise.ConstantOp: OpKind.BOUNDARY,
    elementwise.StopGradientOp: OpKind.DATA_MOVEMENT,
    fused.FusedResidualLnOp: OpKind.REDUCTION,
    fused.FusedResidualRmsNormOp: OpKind.REDUCTION,
    index.GatherOp: OpKind.DATA_MOVEMENT,
    index.TopkOp: OpKind.DATA_MOVEMENT,
    index.BisectOp: OpKind.BOUNDARY,
    pool.Maxpool2dTakeOp: OpKind.DATA_MOVEMENT,
    pool.ResizeNearest2xOp: OpKind.DATA_MOVEMENT,
    quant.DequantizeWeightsOp: OpKind.ELEMENTWISE,
    random.DrawOp: OpKind.REDUCTION,
    random.SampleOp: OpKind.REDUCTION,
}


def set_kind(kind: OpKind, *ops: type[Operation]) -> None:
    """State the kind of ops, as the rows of a plugin do."""
    _OF_OP.update(dict.fromkeys(ops, kind))
    kind_of.cache_clear()


@cache
def kind_of(op: type[Operation]) -> OpKind | None:
    """The kind of an op class; None for one of another dialect, or of a family without a row."""
    if (kind := _OF_OP.get(op)) is not None:
        return kind
    package, _, family = op.__module__.rpartition(".")
    kind = _OF_FAMILY.get(family) if package == elementwise.__name__.rpartition(".")[0] else None
    if kind is None and op.name.startswith("mir.") and not package.startswith("xdsl_rlx."):
        kind = _OF_FAMILY["custom"]
    if kind is None or kind is OpKind.BOUNDARY:
        return kind
    return OpKind.ELEMENTWISE if op.has_trait(Elementwise) else OpKind.DATA_MOVEMENT if op.has_trait(View) else kind
