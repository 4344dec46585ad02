"""Rows of conversions between element types."""

from collections.abc import Sequence

from xdsl.dialects.builtin import bf16, f16, f32

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder, int_width
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, compute_type, element_of
from xdsl_rlx.transforms.rules.elementwise import is_unsigned
from xdsl_rlx.transforms.rules.rows import linear, pointwise
from xdsl_rlx.transforms.rules.rule_table import NARROW, SCALAR, Cotangent


def _cast_transpose(op: CastOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """A real operand of a complex result gets the real part of the cotangent."""
    to = element_of(op.operand)
    return [b.cast(g if to in COMPLEXES else b.real(g), to)]


# Between float and complex types only: an operand or result of another type is on no differentiable path.
linear(CastOp, _cast_transpose)
pointwise(CastOp)
NARROW.add(CastOp)


@SCALAR.rule(CastOp)
def cast_scalar(op: CastOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    """To half precision rounds and comes back to f32, in which half-precision scalars are computed."""
    source, to = element_of(op.operand), element_of(op.result)
    unsigned = is_unsigned(source if int_width(source) is not None else to)
    if to in (f16, bf16):
        return b.cast(b.cast(x, to, signed=not unsigned), f32)
    return b.cast(x, compute_type(to), signed=not unsigned)
