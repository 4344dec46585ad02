"""Complex tensors: their parts, conjugates and squared magnitudes, and real functions of a pair of parts.

Arithmetic on complex tensors is that of the elementwise ops.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import AnyTensorConstr, MirOp, View
from xdsl_rlx.dialects.mir.elementwise import BinaryOp
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, c64, c128, check_element, dims, element_of, same_element_type, shape_of


def part_type(type_: Attribute) -> Attribute:
    """The type of the parts of a complex element type: f32 for c64, f64 for c128."""
    check_element(type_, COMPLEXES)
    return f32 if type_ == c64 else f64


def complex_type(type_: Attribute) -> Attribute:
    """The complex type whose parts have this type: c64 for f32, c128 for f64."""
    check_element(type_, (f32, f64))
    return c64 if type_ == f32 else c128


class PartOp(MirOp, abc.ABC):
    """A tensor of the shape of a complex one."""

    operand = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[self._infer(operand)])

    @staticmethod
    def _infer(operand: SSAValue) -> Attribute:
        return TensorType(part_type(element_of(operand)), shape_of(operand))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.operand),)


@irdl_op_definition
class RealOp(PartOp):
    """`result = re z`, f32 for c64 and f64 for c128."""

    name = "mir.real"

    traits = traits_def(View())


@irdl_op_definition
class ImagOp(PartOp):
    """`result = im z`, f32 for c64 and f64 for c128."""

    name = "mir.imag"

    traits = traits_def(View())


@irdl_op_definition
class ComplexNormSqOp(PartOp):
    """`result = (re z)^2 + (im z)^2`, a real number. The cotangent of `z` is `2 g z`."""

    name = "mir.complex_norm_sq"


class TwoOperandOp(MirOp, abc.ABC):
    """An op of two tensors of one shape."""

    lhs = operand_def(AnyTensorConstr)
    rhs = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"


def _same_shape(lhs: SSAValue, rhs: SSAValue) -> tuple[int, ...]:
    if shape_of(lhs) != shape_of(rhs):
        raise VerifyException(f"expected operands of one shape, got {dims(shape_of(lhs))} and {dims(shape_of(rhs))}")
    return shape_of(lhs)


@irdl_op_definition
class ComplexOp(TwoOperandOp):
    """`result = lhs + i rhs` of two real tensors of one shape and type: c64 of f32, c128 of f64."""

    name = "mir.complex"

    def __init__(self, re: SSAValue, im: SSAValue):
        super().__init__(operands=[re, im], result_types=[self._infer(re, im)])

    @staticmethod
    def _infer(re: SSAValue, im: SSAValue) -> Attribute:
        return TensorType(complex_type(same_element_type(re, im)), _same_shape(re, im))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.lhs, self.rhs),)


@irdl_op_definition
class ComplexNormSqBackwardOp(TwoOperandOp):
    """`result = 2 g z` for a complex `lhs = z` and a real `rhs = g`: the cotangent of `z` in `mir.complex_norm_sq`."""

    name = "mir.complex_norm_sq_backward"

    def __init__(self, z: SSAValue, g: SSAValue):
        super().__init__(operands=[z, g], result_types=[z.type])

    def infer_types(self) -> tuple[Attribute]:
        _same_shape(self.lhs, self.rhs)
        if element_of(self.rhs) != part_type(element_of(self.lhs)):
            raise VerifyException(f"expected a cotangent of the type of the parts, got {self.rhs.type}")
        return (self.lhs.type,)


@irdl_op_definition
class ConjugateOp(PartOp):
    """`result = re z - i im z`."""

    name = "mir.conjugate"

    @staticmethod
    def _infer(operand: SSAValue) -> Attribute:
        check_element(element_of(operand), COMPLEXES)
        return operand.type


@irdl_op_definition
class HypotOp(BinaryOp):
    """`result = sqrt(lhs^2 + rhs^2)`, without overflow or underflow on the way; +inf if one is infinite. The derivative
    at (0, 0) is 0."""

    name = "mir.hypot"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (f32, f64)


@irdl_op_definition
class LogHypotOp(BinaryOp):
    """`result = ln sqrt(lhs^2 + rhs^2)`, accurate where the root is near 1 and without overflow on the way."""

    name = "mir.log_hypot"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (f32, f64)


@irdl_op_definition
class Atan2Op(BinaryOp):
    """`result` is the angle of the point `(rhs, lhs)` with the x axis, from -pi to pi, as C's `atan2(lhs, rhs)`.

    Signed zeros and infinities of `lhs` and `rhs` are told apart as there: atan2(0, -1) = pi, atan2(-0, -1) = -pi. The
    derivative at (0, 0) is 0.
    """

    name = "mir.atan2"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (f32, f64)


class ComplexBuilder(BuilderCore):
    """Builder methods of this family."""

    def real(self, z: Operand) -> Value:
        """`mir.real`; a real tensor as it is."""
        value = self.operand(z)
        return self.op(RealOp, value) if element_of(value) in COMPLEXES else self.value(value)

    def imag(self, z: Operand) -> Value:
        """`mir.imag`; zeros for a real tensor."""
        value = self.operand(z)
        return self.op(ImagOp, value) if element_of(value) in COMPLEXES else self.zeros_like(value)

    def complex(self, re: Operand, im: Operand) -> Value:
        """`mir.complex`: `re + i im`, where a number stands for that number everywhere."""
        re, im = self.operands(re, im)
        shape = max(shape_of(re), shape_of(im), key=len)
        return self.op(ComplexOp, self._this.expand(re, shape).ssa, self._this.expand(im, shape).ssa)

    def conjugate(self, z: Operand) -> Value:
        """`mir.conjugate`; a real tensor as it is."""
        value = self.operand(z)
        if isinstance(value.owner, ConjugateOp):
            return self.value(value.owner.operand)
        return self.op(ConjugateOp, value) if element_of(value) in COMPLEXES else self.value(value)

    def complex_norm_sq(self, z: Operand) -> Value:
        """`mir.complex_norm_sq`: `|z|^2`, a real tensor."""
        return self.op(ComplexNormSqOp, self.operand(z))

    def complex_norm_sq_backward(self, z: Operand, g: Operand) -> Value:
        """`mir.complex_norm_sq_backward`: `2 g z`."""
        return self.op(ComplexNormSqBackwardOp, self.operand(z), self.operand(g))

    def hypot(self, x: Operand, y: Operand) -> Value:
        """`mir.hypot`: `sqrt(x^2 + y^2)`."""
        return self.op(HypotOp, *self.operands(x, y))

    def log_hypot(self, x: Operand, y: Operand) -> Value:
        """`mir.log_hypot`: `ln sqrt(x^2 + y^2)`."""
        return self.op(LogHypotOp, *self.operands(x, y))

    def atan2(self, y: Operand, x: Operand) -> Value:
        """`mir.atan2`: the angle of the point `(x, y)`."""
        return self.op(Atan2Op, *self.operands(y, x))

    def complex_abs(self, z: Operand) -> Value:
        """`|z|`, a real tensor; its derivative at 0 is 0."""
        value = self.operand(z)
        return self.hypot(self.real(value), self.imag(value))

    def angle(self, z: Operand) -> Value:
        """The angle of `z` with the positive real axis, from -pi to pi."""
        value = self.operand(z)
        return self.atan2(self.imag(value), self.real(value))
