"""Normalisation along an axis: softmax, layer norm, and rms norm with its backward ops.
The other backward ops are in `backward.py`; norms over groups of channels and per channel in `channel_norm.py`."""

import abc
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import AlongAxis, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Integer, Real, Tensor, axis, real, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    FLOATS,
    check_element,
    dims,
    element_of,
    normalize_axis,
    same_element_type,
    shape_of,
)


def feature_axis(x: SSAValue, axis: int, eps: FloatAttr) -> int:
    """The axis of a normalisation, counted from the front; VerifyException for a bad axis, element type or eps."""
    check_element(element_of(x), FLOATS)
    if not 0 <= eps.value.data < float("inf"):
        raise VerifyException(f"expected a finite eps of at least 0, got {eps.value.data}")
    return normalize_axis(axis, len(shape_of(x)))


def check_feature_vector(name: str, value: SSAValue, x: SSAValue, axis: int) -> None:
    """Require a vector with an element for every position of `axis` of `x`."""
    same_element_type(x, value)
    if shape_of(value) != (shape_of(x)[axis],):
        raise VerifyException(f"expected {name} of shape [{shape_of(x)[axis]}], got {dims(shape_of(value))}")


def check_cotangent(dy: SSAValue, like: SSAValue) -> None:
    """Require the cotangent of a value to have its type."""
    if dy.type != like.type:
        raise VerifyException(f"expected a cotangent of type {like.type}, got {dy.type}")


class SoftmaxOp(AlongAxis, MirOp, name="mir.softmax"):
    """
    `result = exp(operand - m) / sum along axis of exp(operand - m)`, with `m` the maximum along `axis`.

    NaN where a row holds NaN or +inf, or only -inf.
    """

    operand: Tensor = tensor(alias="x")
    axis: Integer = axis(default=-1)
    result = result_def(AnyTensorConstr)

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), self.ELEMENTS)
        normalize_axis(self.axis.value.data, len(shape_of(self.operand)))
        return (self.operand.type,)


class AffineNormOp(AlongAxis, MirOp, abc.ABC):
    """A normalisation along `axis`, with gains and offsets."""

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    axis: Integer = axis(default=-1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, axis)
        check_feature_vector("beta", self.beta, self.x, axis)
        return (self.x.type,)


class LayerNormOp(AffineNormOp, name="mir.layer_norm"):
    """
    `result = (x - mean) / sqrt(var + eps) * gamma + beta`, mean and biased variance along `axis`.

    `gamma` and `beta` are vectors along `axis`. The variance is computed from the differences to the mean.
    """


class RmsNormOp(AffineNormOp, name="mir.rms_norm"):
    """
    `result = x / sqrt(mean(x^2) + eps) * gamma + beta`, the mean along `axis`.

    `gamma` and `beta` are vectors along `axis`. The result has the shape of `x`.
    """


class RmsNormBackwardOp(AlongAxis, MirOp, abc.ABC):
    """A cotangent of an operand of `mir.rms_norm`, from the operands and the cotangent `dy` of the result."""

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    dy: Tensor = tensor()
    axis: Integer = axis(default=-1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    @staticmethod
    def _of(x: SSAValue, gamma: SSAValue) -> SSAValue:
        """The operand whose type the cotangent has."""
        return gamma

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, axis)
        check_feature_vector("beta", self.beta, self.x, axis)
        check_cotangent(self.dy, self.x)
        return (self._of(self.x, self.gamma).type,)


class RmsNormBackwardInputOp(RmsNormBackwardOp, name="mir.rms_norm_backward_input"):
    """
    The cotangent of `x` in `mir.rms_norm`: `r (s - n mean(s n))`.

    Here `s = dy * gamma`, `r = 1 / sqrt(mean(x^2) + eps)`, `n = x r`, and means are along `axis`.
    """

    @staticmethod
    def _of(x: SSAValue, gamma: SSAValue) -> SSAValue:
        return x


class RmsNormBackwardGammaOp(RmsNormBackwardOp, name="mir.rms_norm_backward_gamma"):
    """The cotangent of `gamma` in `mir.rms_norm`: `dy x / sqrt(mean(x^2) + eps)` summed over the other axes."""


class RmsNormBackwardBetaOp(RmsNormBackwardOp, name="mir.rms_norm_backward_beta"):
    """The cotangent of `beta` in `mir.rms_norm`: `dy` summed over all axes but `axis`."""


class NormBuilder(BuilderCore):
    """Builder methods of layer and rms norm."""

    def layer_norm(
        self, x: Operand, gamma: Operand | None = None, beta: Operand | None = None, axis: int = -1, eps: float = 1e-5
    ) -> Value:
        """`mir.layer_norm` along `axis`; `gamma` and `beta` are vectors along it, by default ones and zeros."""
        return self.op(LayerNormOp, *self._affine(x, gamma, beta, axis), axis, eps)

    def rms_norm(
        self, x: Operand, gamma: Operand | None = None, beta: Operand | None = None, axis: int = -1, eps: float = 1e-5
    ) -> Value:
        """`mir.rms_norm` along `axis`; `gamma` and `beta` are vectors along it, by default ones and zeros."""
        return self.op(RmsNormOp, *self._affine(x, gamma, beta, axis), axis, eps)

    def _affine(
        self, x: Operand, gamma: Operand | None, beta: Operand | None, axis: int
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """`x`, gains and offsets; ones and zeros for those left out."""
        value = self.operand(x)
        along = (shape_of(value)[normalize_axis(axis, len(shape_of(value)))],)
        filled = (
            self.full(along, number, element_of(value)) if given is None else given
            for given, number in ((gamma, 1), (beta, 0))
        )
        gain, offset = (self.operand(one) for one in filled)
        return value, gain, offset

    rms_norm_backward_input = method(RmsNormBackwardInputOp)
    rms_norm_backward_gamma = method(RmsNormBackwardGammaOp)
    rms_norm_backward_beta = method(RmsNormBackwardBetaOp)
