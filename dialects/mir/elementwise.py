"""Elementwise ops: unary, binary, compare, select and constants. Conversions are in `cast.py`."""

import abc
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, ConstantLike
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.dense_text import parse_dense, print_dense
from xdsl_rlx.dialects.mir.core import Elementwise, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Tensor, tensor
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    INTS,
    broadcast_shapes,
    check_element,
    element_of,
    same_element_type,
    shape_of,
    tensor_of,
    tensor_type,
)


@irdl_op_definition
class ConstantOp(MirOp):
    """`result = value`, of any element type; a splat is stored once."""

    name = "mir.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(ConstantLike())

    def __init__(self, value: AnyDense):
        self.assemble(properties={"value": value}, result_types=[value.type])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_dense(parser))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        print_dense(printer, self.value)

    def infer_types(self) -> tuple[Attribute]:
        return (self.value.type,)


class UnaryOp(MirOp, abc.ABC):
    """`result[i] = f(operand[i])` on floating-point tensors."""

    T: ClassVar = VarConstraint("T", base(TensorType))
    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    operand: Tensor = tensor(T, alias="x")
    result = result_def(T)

    traits = traits_def(Elementwise())
    assembly_format = "$operand attr-dict `:` type($result)"

    def infer_types(self) -> tuple[Attribute]:
        shape_of(self.operand)
        check_element(element_of(self.operand), self.ELEMENTS)
        return (self.operand.type,)


@irdl_op_definition
class GeluOp(UnaryOp):
    """`result = x ndtr(x)`; at -inf the limit, 0."""

    name = "mir.gelu"


@irdl_op_definition
class GeluApproxOp(UnaryOp):
    """`result = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`; at -inf the limit, 0."""

    name = "mir.gelu_approx"


@irdl_op_definition
class SiluOp(UnaryOp):
    """`result = x / (1 + exp(-x))`; at -inf the limit, 0."""

    name = "mir.silu"


@irdl_op_definition
class ReluOp(UnaryOp):
    """`result = max(x, 0)`; NaN stays NaN. The derivative at 0 and at NaN is 0."""

    name = "mir.relu"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """`result = 1 / (1 + exp(-x))`."""

    name = "mir.sigmoid"


@irdl_op_definition
class TanhOp(UnaryOp):
    """`result = tanh(x)`."""

    name = "mir.tanh"


@irdl_op_definition
class ExpOp(UnaryOp):
    """`result = e^x`."""

    name = "mir.exp"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


@irdl_op_definition
class LogOp(UnaryOp):
    """`result = ln x`: -inf at 0, NaN below."""

    name = "mir.log"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


@irdl_op_definition
class ErfOp(UnaryOp):
    """`result = 2/sqrt(pi) integral_0^x exp(-t^2) dt`."""

    name = "mir.erf"


@irdl_op_definition
class NdtrOp(UnaryOp):
    """`result = 1/sqrt(2 pi) integral_-inf^x e^(-t^2/2) dt`, the distribution function of the normal distribution."""

    name = "mir.ndtr"


@irdl_op_definition
class GaussianOp(UnaryOp):
    """`result = e^(-x^2/2)`, accurate where the rounding of `x^2` would show."""

    name = "mir.gaussian"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """`result = sqrt x`: NaN below 0. The derivative at 0 is +inf."""

    name = "mir.sqrt"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """`result = 1 / sqrt x`: +inf at 0, NaN below."""

    name = "mir.rsqrt"


@irdl_op_definition
class RecipOp(UnaryOp):
    """`result = 1 / x`."""

    name = "mir.recip"


@irdl_op_definition
class NegOp(UnaryOp):
    """`result = -x`, also of integers and complex numbers."""

    name = "mir.neg"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES)


@irdl_op_definition
class AbsOp(UnaryOp):
    """`result = |x|`, also of integers. The derivative at 0 is 0."""

    name = "mir.abs"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)


@irdl_op_definition
class SinOp(UnaryOp):
    """`result = sin x`."""

    name = "mir.sin"


@irdl_op_definition
class CosOp(UnaryOp):
    """`result = cos x`."""

    name = "mir.cos"


@irdl_op_definition
class TanOp(UnaryOp):
    """`result = tan x`."""

    name = "mir.tan"


@irdl_op_definition
class AtanOp(UnaryOp):
    """`result = atan x`."""

    name = "mir.atan"


@irdl_op_definition
class RoundOp(UnaryOp):
    """`result` is the nearest integer, half to even; differentiated straight through (derivative 1) in both modes."""

    name = "mir.round"


@irdl_op_definition
class StopGradientOp(UnaryOp):
    """`result = x`; nothing flows back, and tangents are zero."""

    name = "mir.stop_gradient"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES, i1)


class BinaryOp(MirOp, abc.ABC):
    """`result[i] = f(lhs[i], rhs[i])`; operands of one element type broadcast as in NumPy."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES)

    lhs: Tensor = tensor()
    rhs: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        check_element(same_element_type(self.lhs, self.rhs), self.ELEMENTS)
        return (_broadcast_type(self.lhs, self.rhs),)


def _broadcast_type(lhs: SSAValue, rhs: SSAValue) -> Attribute:
    shape = broadcast_shapes(shape_of(lhs), shape_of(rhs))
    # Making a type is the costly part of building an op.
    return lhs.type if shape == shape_of(lhs) else tensor_of(element_of(lhs), shape)


@irdl_op_definition
class AddOp(BinaryOp):
    """`result = lhs + rhs`; integers wrap."""

    name = "mir.add"
    traits = traits_def(Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """`result = lhs - rhs`; integers wrap."""

    name = "mir.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`result = lhs * rhs`; integers wrap."""

    name = "mir.mul"
    traits = traits_def(Commutative())


@irdl_op_definition
class DivOp(BinaryOp):
    """`result = lhs / rhs` of floats, with IEEE infinities and NaN."""

    name = "mir.div"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


@irdl_op_definition
class MaxOp(BinaryOp):
    """`result = max(lhs, rhs)`; NaN if either is. A tie gives half the cotangent to each, a NaN none to either."""

    name = "mir.max"
    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)


@irdl_op_definition
class MinOp(BinaryOp):
    """`result = min(lhs, rhs)`; NaN if either is. A tie gives half the cotangent to each, a NaN none to either."""

    name = "mir.min"
    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)


@irdl_op_definition
class PowOp(BinaryOp):
    """`result = lhs^rhs` as IEEE pow: `0^0 = 1`, NaN for a negative base and a fractional exponent."""

    name = "mir.pow"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS


class CompareOp(MirOp, abc.ABC):
    """`result[i] = lhs[i] <op> rhs[i]` as i1; operands broadcast. NaN compares false (ne: true)."""

    lhs: Tensor = tensor()
    rhs: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, i1)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        check_element(same_element_type(self.lhs, self.rhs), self.ELEMENTS)
        return (tensor_of(i1, broadcast_shapes(shape_of(self.lhs), shape_of(self.rhs))),)


@irdl_op_definition
class EqOp(CompareOp):
    """`result = lhs == rhs`."""

    name = "mir.eq"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES, i1)
    traits = traits_def(Commutative())


@irdl_op_definition
class NeOp(CompareOp):
    """`result = lhs != rhs`; true if either is NaN."""

    name = "mir.ne"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES, i1)
    traits = traits_def(Commutative())


@irdl_op_definition
class LtOp(CompareOp):
    """`result = lhs < rhs`."""

    name = "mir.lt"


@irdl_op_definition
class LeOp(CompareOp):
    """`result = lhs <= rhs`."""

    name = "mir.le"


@irdl_op_definition
class GtOp(CompareOp):
    """`result = lhs > rhs`."""

    name = "mir.gt"


@irdl_op_definition
class GeOp(CompareOp):
    """`result = lhs >= rhs`."""

    name = "mir.ge"


@irdl_op_definition
class WhereOp(MirOp):
    """
    `result[i] = on_true[i] if cond[i] else on_false[i]`; all three broadcast.

    `cond` is i1. The builder's method takes numbers of any type and compares them with 0 by `mir.ne`.
    """

    name = "mir.where"

    cond: Tensor = tensor()
    on_true: Tensor = tensor()
    on_false: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        if tensor_type(self.cond).element_type != i1:
            raise VerifyException(f"expected an i1 condition, got {self.cond.type}")
        same_element_type(self.on_true, self.on_false)
        return (
            tensor_of(
                element_of(self.on_true),
                broadcast_shapes(shape_of(self.cond), shape_of(self.on_true), shape_of(self.on_false)),
            ),
        )


@irdl_op_definition
class AndOp(BinaryOp):
    """`result = lhs and rhs` of i1, bitwise of integers."""

    name = "mir.and"
    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (i1, *INTS)


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """`result` is the bits of `lhs`, as an unsigned integer, shifted right by `rhs` modulo their number."""

    name = "mir.shift_right_logical"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = INTS


def is_integer_like(type_: Attribute) -> bool:
    """Whether values of this element type have no derivative."""
    return isinstance(type_, IntegerType)
