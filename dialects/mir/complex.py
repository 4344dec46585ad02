"""
Complex tensors: real and imaginary parts, conjugates, squared magnitudes, and real functions of two parts.

The elementwise ops do arithmetic on complex tensors.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import Attribute
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import MirOp, View
from xdsl_rlx.dialects.mir.elementwise import BinaryOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Tensor, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    c64,
    c128,
    check_element,
    dims,
    element_of,
    same_element_type,
    shape_of,
)


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

    operand: Tensor = tensor(alias="z")
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        return (TensorType(part_type(element_of(self.operand)), shape_of(self.operand)),)


class RealOp(PartOp, name="mir.real"):
    """`result = re z`, f32 for c64 and f64 for c128."""

    traits = traits_def(View())


class ImagOp(PartOp, name="mir.imag"):
    """`result = im z`, f32 for c64 and f64 for c128."""

    traits = traits_def(View())


class ComplexNormSqOp(PartOp, name="mir.complex_norm_sq"):
    """`result = (re z)^2 + (im z)^2`, a real number. The cotangent of `z` is `2 g z`."""


class TwoOperandOp(MirOp, abc.ABC):
    """An op of two tensors of one shape."""

    lhs: Tensor = tensor()
    rhs: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    def shape(self) -> tuple[int, ...]:
        """The shape of both; VerifyException if they differ."""
        shape, other = shape_of(self.lhs), shape_of(self.rhs)
        if shape != other:
            raise VerifyException(f"expected operands of one shape, got {dims(shape)} and {dims(other)}")
        return shape


class ComplexOp(TwoOperandOp, name="mir.complex"):
    """`result = lhs + i rhs` of two real tensors of one shape and type: c64 of f32, c128 of f64."""

    def infer_types(self) -> tuple[Attribute]:
        return (TensorType(complex_type(same_element_type(self.lhs, self.rhs)), self.shape()),)


class ComplexNormSqBackwardOp(TwoOperandOp, name="mir.complex_norm_sq_backward"):
    """`result = 2 g z` for a complex `z` and a real `g` of one shape: the cotangent of `z` in `mir.complex_norm_sq`."""

    lhs: Tensor = tensor(alias="z")
    rhs: Tensor = tensor(alias="g", alone=True)

    def infer_types(self) -> tuple[Attribute]:
        self.shape()
        if element_of(self.rhs) != part_type(element_of(self.lhs)):
            raise VerifyException(
                f"expected a cotangent of the type of the real and imaginary parts, got {self.rhs.type}"
            )
        return (self.lhs.type,)


class ConjugateOp(PartOp, name="mir.conjugate"):
    """`result = re z - i im z`."""

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), COMPLEXES)
        return (self.operand.type,)


class _PointOp(BinaryOp, abc.ABC):
    """A real function of a point."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    lhs: Tensor = tensor(alias="x")
    rhs: Tensor = tensor(alias="y")


class HypotOp(_PointOp, name="mir.hypot"):
    """
    `result = sqrt(x^2 + y^2)`, without intermediate overflow or underflow; +inf if one is infinite. The derivative at
    (0, 0) is 0.
    """


class LogHypotOp(_PointOp, name="mir.log_hypot"):
    """`result = ln sqrt(x^2 + y^2)`, accurate where the root is near 1 and without intermediate overflow."""


class Atan2Op(_PointOp, name="mir.atan2"):
    """
    `result` is the angle of the point `(x, y)` with the x axis, from -pi to pi, as C's `atan2(y, x)`.

    Signed zeros and infinities of `x` and `y` are distinguished as in C: atan2(0, -1) = pi, atan2(-0, -1) = -pi. The
    derivative at (0, 0) is 0.
    """

    lhs: Tensor = tensor(alias="y")
    rhs: Tensor = tensor(alias="x")


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
        """`mir.complex`: `re + i im`; a Python number broadcasts."""
        re, im = self.operands(re, im)
        shape = max(shape_of(re), shape_of(im), key=len)
        return self.op(ComplexOp, self._this.expand(re, shape).ssa, self._this.expand(im, shape).ssa)

    def conjugate(self, z: Operand) -> Value:
        """`mir.conjugate`; a real tensor as it is."""
        value = self.operand(z)
        if isinstance(value.owner, ConjugateOp):
            return self.value(value.owner.operand)
        return self.op(ConjugateOp, value) if element_of(value) in COMPLEXES else self.value(value)

    complex_norm_sq = method(ComplexNormSqOp)
    complex_norm_sq_backward = method(ComplexNormSqBackwardOp)
    hypot = method(HypotOp)
    log_hypot = method(LogHypotOp)
    atan2 = method(Atan2Op)
