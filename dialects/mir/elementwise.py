"""Elementwise ops: unary, binary, compare, select and constants. Conversions are in `cast.py`."""

import abc
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, ConstantLike
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.dense_text import ExactDense, hold_exactly, parse_dense, print_dense
from xdsl_rlx.dialects.mir.core import Elementwise, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Field, Tensor, attribute, tensor
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


class ConstantOp(MirOp, name="mir.constant"):
    """`result = value`, of any element type; a splat is stored once."""

    exact_value: Field[ExactDense, ExactDense] = attribute(ExactDense, alias="value")
    result = result_def(AnyTensorConstr)

    traits = traits_def(ConstantLike())

    def __init__(self, value: AnyDense):
        Operation.__init__(self, properties={"value": ExactDense(value)}, result_types=[value.type])

    def __post_init__(self) -> None:
        hold_exactly(self)
        super().__post_init__()

    @property
    def value(self) -> AnyDense:
        """The elements."""
        return self.exact_value.elements

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


class GeluOp(UnaryOp, name="mir.gelu"):
    """`result = x ndtr(x)`; at -inf the limit, 0."""


class GeluApproxOp(UnaryOp, name="mir.gelu_approx"):
    """`result = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`; at -inf the limit, 0."""


class SiluOp(UnaryOp, name="mir.silu"):
    """`result = x / (1 + exp(-x))`; at -inf the limit, 0."""


class ReluOp(UnaryOp, name="mir.relu"):
    """`result = max(x, 0)`; NaN stays NaN. The derivative at 0 and at NaN is 0."""


class SigmoidOp(UnaryOp, name="mir.sigmoid"):
    """`result = 1 / (1 + exp(-x))`."""


class TanhOp(UnaryOp, name="mir.tanh"):
    """`result = tanh(x)`."""


class ExpOp(UnaryOp, name="mir.exp"):
    """`result = e^x`."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


class LogOp(UnaryOp, name="mir.log"):
    """`result = ln x`: -inf at 0, NaN below."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


class ErfOp(UnaryOp, name="mir.erf"):
    """`result = 2/sqrt(pi) integral_0^x exp(-t^2) dt`."""


class NdtrOp(UnaryOp, name="mir.ndtr"):
    """`result = 1/sqrt(2 pi) integral_-inf^x e^(-t^2/2) dt`, the distribution function of the normal distribution."""


class GaussianOp(UnaryOp, name="mir.gaussian"):
    """`result = e^(-x^2/2)`, accurate where the rounding of `x^2` would show."""


class SqrtOp(UnaryOp, name="mir.sqrt"):
    """`result = sqrt x`: NaN below 0. The derivative at 0 is +inf."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


class RsqrtOp(UnaryOp, name="mir.rsqrt"):
    """`result = 1 / sqrt x`: +inf at 0, NaN below."""


class RecipOp(UnaryOp, name="mir.recip"):
    """`result = 1 / x`."""


class NegOp(UnaryOp, name="mir.neg"):
    """`result = -x`, also of integers and complex numbers."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES)


class AbsOp(UnaryOp, name="mir.abs"):
    """`result = |x|`, also of integers. The derivative at 0 is 0."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)


class SinOp(UnaryOp, name="mir.sin"):
    """`result = sin x`."""


class CosOp(UnaryOp, name="mir.cos"):
    """`result = cos x`."""


class TanOp(UnaryOp, name="mir.tan"):
    """`result = tan x`."""


class AtanOp(UnaryOp, name="mir.atan"):
    """`result = atan x`."""


class RoundOp(UnaryOp, name="mir.round"):
    """`result` is the nearest integer, half to even; differentiated straight through (derivative 1) in both modes."""


class StopGradientOp(UnaryOp, name="mir.stop_gradient"):
    """`result = x`; nothing flows back, and tangents are zero."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES, i1)


class BinaryOp(MirOp, abc.ABC):
    """`result[i] = f(lhs[i], rhs[i])`; operands of one element type broadcast as in NumPy."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES)

    lhs: Tensor = tensor()
    rhs: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        lhs, rhs = self.lhs, self.rhs
        check_element(same_element_type(lhs, rhs), self.ELEMENTS)
        return (_broadcast_type(lhs, rhs),)


def _broadcast_type(lhs: SSAValue, rhs: SSAValue) -> Attribute:
    mine = shape_of(lhs)
    # Most are of one type, and making another is the costly part of building an op.
    if lhs.type is rhs.type:
        return lhs.type
    shape = broadcast_shapes(mine, shape_of(rhs))
    return lhs.type if shape == mine else tensor_of(element_of(lhs), shape)


class AddOp(BinaryOp, name="mir.add"):
    """`result = lhs + rhs`; integers wrap."""

    traits = traits_def(Commutative())


class SubOp(BinaryOp, name="mir.sub"):
    """`result = lhs - rhs`; integers wrap."""


class MulOp(BinaryOp, name="mir.mul"):
    """`result = lhs * rhs`; integers wrap."""

    traits = traits_def(Commutative())


class DivOp(BinaryOp, name="mir.div"):
    """`result = lhs / rhs` on floats, with IEEE infinities and NaN."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


class MaxOp(BinaryOp, name="mir.max"):
    """`result = max(lhs, rhs)`; NaN if either is. A tie gives half the cotangent to each, a NaN none to either."""

    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)


class MinOp(BinaryOp, name="mir.min"):
    """`result = min(lhs, rhs)`; NaN if either is. A tie gives half the cotangent to each, a NaN none to either."""

    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)


class PowOp(BinaryOp, name="mir.pow"):
    """`result = lhs^rhs` as IEEE pow: `0^0 = 1`, NaN for a negative base and a fractional exponent."""

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


class EqOp(CompareOp, name="mir.eq"):
    """`result = lhs == rhs`."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES, i1)
    traits = traits_def(Commutative())


class NeOp(CompareOp, name="mir.ne"):
    """`result = lhs != rhs`; true if either is NaN."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES, i1)
    traits = traits_def(Commutative())


class LtOp(CompareOp, name="mir.lt"):
    """`result = lhs < rhs`."""


class LeOp(CompareOp, name="mir.le"):
    """`result = lhs <= rhs`."""


class GtOp(CompareOp, name="mir.gt"):
    """`result = lhs > rhs`."""


class GeOp(CompareOp, name="mir.ge"):
    """`result = lhs >= rhs`."""


class WhereOp(MirOp, name="mir.where"):
    """
    `result[i] = on_true[i] if cond[i] else on_false[i]`; all three broadcast.

    `cond` is i1. The builder's method takes numbers of any type and compares them with 0 by `mir.ne`.
    """

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


class AndOp(BinaryOp, name="mir.and"):
    """`result = lhs and rhs` of i1, bitwise of integers."""

    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (i1, *INTS)


class ShiftRightLogicalOp(BinaryOp, name="mir.shift_right_logical"):
    """`result` is the bits of `lhs`, as an unsigned integer, shifted right by `rhs` modulo their number."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = INTS


def is_integer_like(type_: Attribute) -> bool:
    """Whether values of this element type have no derivative."""
    return isinstance(type_, IntegerType)
