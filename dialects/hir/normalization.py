"""Normalisation layers, alone and of the sum of a residual connection."""

import abc

from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp, OneOp, check_eps, features_of, float_element
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalTensor,
    Real,
    Tensor,
    axis,
    check_operands,
    integer,
    optional_tensor,
    real,
    tensor,
)


class NormOp(OneOp, abc.ABC):
    """A normalisation along an axis; gains are ones and offsets zeros where left out."""

    x: Tensor = tensor()
    gamma: OptionalTensor = optional_tensor(default=None)
    beta: OptionalTensor = optional_tensor(default=None)
    axis: Integer = axis(default=-1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)


class LayerNormOp(NormOp, name="hir.layer_norm"):
    """
    `result = (x - mean) / sqrt(var + eps) * gamma + beta`, mean and biased variance along `axis`: `mir.layer_norm`.

    `gamma` and `beta` are vectors along `axis`; they default to ones and zeros.
    """


class RmsNormOp(NormOp, name="hir.rms_norm"):
    """
    `result = x / sqrt(mean(x^2) + eps) * gamma + beta`, the mean along `axis`: `mir.rms_norm`.

    `gamma` and `beta` are vectors along `axis`; they default to ones and zeros.
    """


class GroupNormOp(OneOp, name="hir.group_norm"):
    """
    `result = (x - mean) / sqrt(var + eps) * gamma + beta`, mean and variance over a group of channels:
    `mir.group_norm`.

    x is `[N, C, ...]`, its channels are `num_groups` runs of equal length; `gamma` and `beta` are `[C]`.
    """

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    beta: Tensor = tensor()
    num_groups: Integer = integer()
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)


class ResidualNormOp(HirOp, abc.ABC):
    """A normalisation along the last axis of `x + residual + bias`."""

    x: Tensor = tensor()
    residual: Tensor = tensor()
    gamma: OptionalTensor = optional_tensor(default=None, shape="K")
    beta: OptionalTensor = optional_tensor(default=None, shape="K")
    bias: OptionalTensor = optional_tensor(default=None, shape="K")
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        float_element(*self.operands)
        features = features_of("x", self.x)
        if self.residual.type != self.x.type:
            raise VerifyException(f"expected a residual of type {self.x.type}, got {self.residual.type}")
        check_operands(self, K=features)
        check_eps(self.eps)
        return (self.x.type,)


class ResidualRmsNormOp(ResidualNormOp, name="hir.residual_rms_norm"):
    """
    `result = rms_norm(x + residual + bias, gamma, beta)` along the last axis.

    `x` and `residual` have one type. `gamma`, `beta` and `bias` are vectors along the last axis; they default to ones,
    zeros and zeros.
    """


class ResidualLayerNormOp(ResidualNormOp, name="hir.residual_layer_norm"):
    """
    `result = layer_norm(x + residual + bias, gamma, beta)` along the last axis.

    `x` and `residual` have one type. `gamma`, `beta` and `bias` are vectors along the last axis; they default to ones,
    zeros and zeros.
    """
