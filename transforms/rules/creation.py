"""Rows of tensors that are made of their positions."""

from xdsl.dialects.builtin import AnyFloat, i32

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.transforms.rules.rows import zero
from xdsl_rlx.transforms.rules.rule_table import SCALAR, VMAP

zero(IotaOp, "it has no operands")
VMAP.exempt(IotaOp, "it has no operands")


@SCALAR.rule(IotaOp)
def iota_scalar(op: IotaOp, b: ScalarBuilder, position: Scalar) -> Scalar:
    """Floats by way of i32, which processors convert several of at a time, where all positions are such."""
    element = compute_type(element_of(op.result))
    if isinstance(element, AnyFloat) and max(shape_of(op.result)) < 1 << 31:
        position = b.cast(position, i32)
    return b.cast(position, element)
