"""
Normalisation by channel: group norm, layer norm over channels, batch norm for inference, and their backward ops.

Norms along one axis are in `norm.py`.
"""

import abc
from math import prod

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import AlongAxis, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Integer, Real, Tensor, axis, integer, real, tensor
from xdsl_rlx.dialects.mir.norm import check_cotangent, check_feature_vector, feature_axis
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, normalize_axis, shape_of


def _check_groups(x: SSAValue, num_groups: int, eps: FloatAttr) -> None:
    if len(shape_of(x)) < 2:
        raise VerifyException(f"expected x of rank at least 2, got {dims(shape_of(x))}")
    feature_axis(x, 1, eps)
    if num_groups < 1 or shape_of(x)[1] % num_groups:
        raise VerifyException(f"{shape_of(x)[1]} channels do not form {num_groups} equal groups")


def _vector(x: SSAValue, axis: int) -> Attribute:
    """The type of a vector along an axis of `x`."""
    return TensorType(element_of(x), [shape_of(x)[normalize_axis(axis, len(shape_of(x)))]])


def grouped_shape(shape: tuple[int, ...], num_groups: int) -> tuple[int, int, int, int]:
    """`[N, C, ...]` as batch, groups, channels of a group, positions."""
    return shape[0], num_groups, shape[1] // num_groups, prod(shape[2:])


class GroupNormOp(MirOp, name="mir.group_norm"):
    """
    `result = (x - mean) / sqrt(var + eps) * gamma + beta`, mean and biased variance over a group of channels.

    `x` is `[N, C, ...]`. Its channels form `num_groups` consecutive groups of equal size. Each group of each `n` is
    normalised over its channels and all positions. `gamma` and `beta` are `[C]`. The variance is computed from the
    differences to the mean.
    """

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    num_groups: Integer = integer()
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        _check_groups(self.x, self.num_groups.value.data, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, 1)
        check_feature_vector("beta", self.beta, self.x, 1)
        return (self.x.type,)


class GroupNormBackwardInputOp(MirOp, name="mir.group_norm_backward_input"):
    """
    The cotangent of `x` in `mir.group_norm`: `inv (s - mean(s) - n mean(s n))`.

    Here `s = dy * gamma`, `inv = 1 / sqrt(var + eps)`, `n = (x - mean) inv`, and means are over a group.
    """

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    dy: Tensor = tensor()
    num_groups: Integer = integer()
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        _check_groups(self.x, self.num_groups.value.data, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, 1)
        check_feature_vector("beta", self.beta, self.x, 1)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


class GroupNormBackwardVectorOp(MirOp, abc.ABC):
    """The cotangent of `gamma` or `beta` of `mir.group_norm`."""

    x: Tensor = tensor()
    dy: Tensor = tensor()
    num_groups: Integer = integer()
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        _check_groups(self.x, self.num_groups.value.data, self.eps)
        check_cotangent(self.dy, self.x)
        return (_vector(self.x, 1),)


class GroupNormBackwardGammaOp(GroupNormBackwardVectorOp, name="mir.group_norm_backward_gamma"):
    """The cotangent of `gamma` in `mir.group_norm`: `dy (x - mean) / sqrt(var + eps)` summed per channel."""


class GroupNormBackwardBetaOp(GroupNormBackwardVectorOp, name="mir.group_norm_backward_beta"):
    """The cotangent of `beta` in `mir.group_norm`: `dy` summed per channel."""


class LayerNorm2dOp(MirOp, name="mir.layer_norm_2d"):
    """
    `mir.layer_norm` over the channels of an image `[N, C, H, W]`, at each position of each image.

    `gamma` and `beta` are `[C]`.
    """

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        if len(shape_of(self.x)) != 4:
            raise VerifyException(f"expected x of rank 4, got {dims(shape_of(self.x))}")
        feature_axis(self.x, 1, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, 1)
        check_feature_vector("beta", self.beta, self.x, 1)
        return (self.x.type,)


class BatchNormInferenceOp(AlongAxis, MirOp, name="mir.batch_norm_inference"):
    """
    `result = (x - mean) / sqrt(var + eps) * gamma + beta` with given statistics.

    `gamma`, `beta`, `mean` and `var` are vectors along `axis`, by default the channels of `[N, C, ...]`. All five
    operands are differentiated.
    """

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    mean: Tensor = tensor()
    var: Tensor = tensor()
    axis: Integer = axis(default=1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        for name, vector in (("gamma", self.gamma), ("beta", self.beta), ("mean", self.mean), ("var", self.var)):
            check_feature_vector(name, vector, self.x, axis)
        return (self.x.type,)


class BatchNormInferenceBackwardInputOp(AlongAxis, MirOp, name="mir.batch_norm_inference_backward_input"):
    """The cotangent of `x` in `mir.batch_norm_inference`: `dy gamma / sqrt(var + eps)`."""

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    mean: Tensor = tensor()
    var: Tensor = tensor()
    dy: Tensor = tensor()
    axis: Integer = axis(default=1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        for name, vector in (("gamma", self.gamma), ("mean", self.mean), ("var", self.var)):
            check_feature_vector(name, vector, self.x, axis)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


class BatchNormInferenceBackwardGammaOp(AlongAxis, MirOp, name="mir.batch_norm_inference_backward_gamma"):
    """
    The cotangent of `gamma` in `mir.batch_norm_inference`: `dy (x - mean) / sqrt(var + eps)` summed over the other
    axes.
    """

    x: Tensor = tensor()
    mean: Tensor = tensor()
    var: Tensor = tensor()
    dy: Tensor = tensor()
    axis: Integer = axis(default=1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_feature_vector("mean", self.mean, self.x, axis)
        check_feature_vector("var", self.var, self.x, axis)
        check_cotangent(self.dy, self.x)
        return (_vector(self.x, axis),)


class BatchNormInferenceBackwardBetaOp(AlongAxis, MirOp, name="mir.batch_norm_inference_backward_beta"):
    """The cotangent of `beta` in `mir.batch_norm_inference`: `dy` summed over all axes but `axis`."""

    dy: Tensor = tensor()
    axis: Integer = axis(default=1)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.dy), FLOATS)
        return (_vector(self.dy, self.axis_index),)


class ChannelNormBuilder(BuilderCore):
    """Builder methods of this family."""

    group_norm = method(GroupNormOp)
    group_norm_backward_input = method(GroupNormBackwardInputOp)
    group_norm_backward_gamma = method(GroupNormBackwardGammaOp)
    group_norm_backward_beta = method(GroupNormBackwardBetaOp)
    layer_norm_2d = method(LayerNorm2dOp)
    batch_norm_inference = method(BatchNormInferenceOp)
    batch_norm_inference_backward_input = method(BatchNormInferenceBackwardInputOp)
    batch_norm_inference_backward_gamma = method(BatchNormInferenceBackwardGammaOp)
    batch_norm_inference_backward_beta = method(BatchNormInferenceBackwardBetaOp)
