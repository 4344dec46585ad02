"""Composite ops for matmul epilogues, residual norms and SwiGLU; each is defined by its decomposition."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Flag,
    OptionalTensor,
    OptionalWord,
    Real,
    Tensor,
    flag,
    optional_tensor,
    real,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.norm import check_feature_vector, feature_axis
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import (
    FLOATS,
    broadcasts_to,
    check_element,
    dims,
    element_of,
    matmul_shape,
    same_element_type,
    shape_of,
)


class FusedMatmulBiasActOp(MirOp, name="mir.fused_matmul_bias_act"):
    """`result = f(x @ w + bias)`, with the optional elementwise op `f` named by `activation`; bias broadcasts."""

    x: Tensor = tensor()
    w: Tensor = tensor()
    bias: Tensor = tensor()
    activation: OptionalWord[Activation] = word(ActivationAttr, "activation", default=None)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        shape = matmul_shape(shape_of(self.x), shape_of(self.w))
        if not broadcasts_to(shape_of(self.bias), shape):
            raise VerifyException(f"a bias of shape {dims(shape_of(self.bias))} does not broadcast to {dims(shape)}")
        element = same_element_type(self.x, self.w, self.bias)
        check_element(element, FLOATS)
        return (TensorType(element, shape),)


class FusedResidualNormOp(MirOp, abc.ABC):
    """A normalisation along the last axis of `x + residual + bias`, without the bias where there is none."""

    x: Tensor = tensor()
    residual: Tensor = tensor()
    gamma: Tensor = tensor(keyword="gamma")
    beta: Tensor = tensor(keyword="beta")
    bias: OptionalTensor = optional_tensor(default=None, keyword="bias")
    eps: Real = real(default=1e-5)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, -1, self.eps)
        if self.residual.type != self.x.type:
            raise VerifyException(f"expected a residual of type {self.x.type}, got {self.residual.type}")
        if self.bias is not None:
            check_feature_vector("bias", self.bias, self.x, axis)
        check_feature_vector("gamma", self.gamma, self.x, axis)
        check_feature_vector("beta", self.beta, self.x, axis)
        return (self.x.type,)


class FusedResidualLnOp(FusedResidualNormOp, name="mir.fused_residual_ln"):
    """
    `result = layer_norm(x + residual + bias, gamma, beta)` along the last axis; the bias is optional.

    `bias`, `gamma` and `beta` are vectors along the last axis; `x` and `residual` have one type.
    """


class FusedResidualRmsNormOp(FusedResidualNormOp, name="mir.fused_residual_rms_norm"):
    """
    `result = rms_norm(x + residual + bias, gamma, beta)` along the last axis; the bias is optional.

    `bias`, `gamma` and `beta` are vectors along the last axis; `x` and `residual` have one type.
    """


class FusedSwigluOp(MirOp, name="mir.fused_swiglu"):
    """
    `result = silu(gate) * up`, cast to the element type of the result.

    `packed` is `[..., 2n]`: its first half along the last axis is `up`, the second `gate`; with `gate_first` the first
    half is `gate`. The result is `[..., n]`.
    """

    packed: Tensor = tensor()
    gate_first: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    assembly_format = "$packed (`gate_first` $gate_first^)? attr-dict `:` type($packed) `to` type($result)"

    def __init__(self, packed: SSAValue, cast_to: Attribute | None = None, gate_first: bool = False):
        self.assemble(
            operands=[packed],
            properties={"gate_first": UnitAttr() if gate_first else None},
            result_types=[self._infer(packed, cast_to or element_of(packed))],
        )

    @staticmethod
    def _infer(packed: SSAValue, to: Attribute) -> Attribute:
        shape = shape_of(packed)
        if not shape or shape[-1] % 2:
            raise VerifyException(f"expected two halves along the last axis, got {dims(shape)}")
        return TensorType(to, (*shape[:-1], shape[-1] // 2))

    def infer_types(self) -> tuple[Attribute]:
        for type_ in (element_of(self.packed), element_of(self.result)):
            check_element(type_, FLOATS)
        return (self._infer(self.packed, element_of(self.result)),)


class FusedBuilder(BuilderCore):
    """Builder methods of the gated activation."""

    def fused_swiglu(self, packed: Operand, cast_to: object = None, gate_first: bool = False) -> Value:
        """`mir.fused_swiglu`: `silu(gate) * up` of the halves of `packed`, cast to the element type `cast_to`."""
        to = None if cast_to is None else constants.element_type(cast_to)
        return self.op(FusedSwigluOp, self.operand(packed), to, gate_first)
