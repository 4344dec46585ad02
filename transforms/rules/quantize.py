"""Rows of conversion to i8 levels and back."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quantize import AffineOp, DequantizeOp, QuantizeOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.rules.fake_quantize import along_axis
from xdsl_rlx.transforms.rules.rows import decompose, leading, zero

leading(QuantizeOp, "axis")
leading(DequantizeOp, "axis")

zero(QuantizeOp, "its result is an integer; mir.fake_quantize is the op to train with")
zero(DequantizeOp, "its operand is an integer")


def _constants(op: AffineOp, b: MirBuilder, numbers: Sequence[float], dtype: object) -> Value:
    """Scales or zero points as a constant that broadcasts with the operand."""
    vector = b.constant([float(x) for x in numbers], dtype)
    return along_axis(b, vector, b.value(op.operand).rank, op.axis_index if len(numbers) > 1 else None)


def _exact(op: AffineOp, dtype: object) -> object:
    """f64 where a difference of a level and a zero point may not fit into the digits of f32, else `dtype`."""
    return "f64" if any(abs(point) > 2**23 for point in op.zero_points.get_values()) else dtype


@decompose(QuantizeOp)
def quantize_decompose(op: QuantizeOp, b: MirBuilder) -> Sequence[Value]:
    """The conversion to i8 saturates."""
    x = b.value(op.operand)
    if x.dtype in ("f16", "bf16"):
        x = x.cast("f32")
    wide = _exact(op, x.dtype)
    level = b.cast(b.round(x / _constants(op, b, op.scales.get_values(), x.dtype)), wide)
    return [b.cast(level + _constants(op, b, op.zero_points.get_values(), wide), "i8")]


@decompose(DequantizeOp)
def dequantize_decompose(op: DequantizeOp, b: MirBuilder) -> Sequence[Value]:
    """`q - zero_point` is exact in f16 (11 bits), not in bf16 (8 bits): half floats are computed in f32."""
    to = b.value(op.result).dtype
    wide = _exact(op, "f64" if to == "f64" else "f32")
    scale, zero_point = (_constants(op, b, v.get_values(), wide) for v in (op.scales, op.zero_points))
    return [b.cast((b.cast(op.operand, wide) - zero_point) * scale, element_of(op.result))]
