"""Rows of conversion to i8 levels and back."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quantize import AffineOp, DequantizeOp, QuantizeOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.rules.fake_quantize import along_axis
from xdsl_rlx.transforms.rules.rows import decompose, leading, zero

leading(QuantizeOp, "axis")
leading(DequantizeOp, "axis")

zero(QuantizeOp, "its result is an integer; mir.fake_quantize is the op to train with")
zero(DequantizeOp, "its operand is an integer")


def _parameters(op: AffineOp, b: MirBuilder, dtype: str) -> tuple[Value, Value]:
    """Scales and zero points as constants that broadcast with the operand."""
    rank = b.value(op.operand).rank
    made: list[Value] = []
    for numbers in (op.scales.get_values(), op.zero_points.get_values()):
        vector = b.constant([float(x) for x in numbers], dtype)
        made.append(along_axis(b, vector, rank, op.axis_index if len(numbers) > 1 else None))
    return made[0], made[1]


@decompose(QuantizeOp)
def quantize_decompose(op: QuantizeOp, b: MirBuilder) -> Sequence[Value]:
    """The conversion to i8 saturates."""
    x = b.value(op.operand)
    if x.dtype in ("f16", "bf16"):
        x = x.cast("f32")
    scale, zero_point = _parameters(op, b, x.dtype)
    return [b.cast(b.round(x / scale) + zero_point, "i8")]


@decompose(DequantizeOp)
def dequantize_decompose(op: DequantizeOp, b: MirBuilder) -> Sequence[Value]:
    """`q - zero_point` is exact in f16 (11 bits), not in bf16 (8 bits): half floats are computed in f32."""
    to = b.value(op.result).dtype
    wide = "f64" if to == "f64" else "f32"
    scale, zero_point = _parameters(op, b, wide)
    return [b.cast((b.cast(op.operand, wide) - zero_point) * scale, element_of(op.result))]
