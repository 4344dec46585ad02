"""Quantisation-aware training: rounding to a few levels with a gradient. Conversion to i8 is in `quantize.py`."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.core import Elementwise, MirOp, PerChannel
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    OptionalReal,
    OptionalTensor,
    Tensor,
    Word,
    axis,
    integer,
    optional_tensor,
    real,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.norm import check_cotangent
from xdsl_rlx.dialects.mir.value import BuilderCore, method, pair
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    check_element,
    element_of,
    same_element_type,
    shape_of,
)

LEAST_SCALE = 1e-12
"""Scales in training are at least this."""


class StraightThrough(StrEnum):
    """What stands for the derivative of rounding and clamping `x / scale`, where `q` is the largest level."""

    IDENTITY = "identity"
    """1"""
    CLIPPED_IDENTITY = "clipped_identity"
    """1 where `|x| <= q scale`, else 0"""
    TANH = "tanh"
    """`1 - tanh(x / scale)^2`"""
    HARD_TANH = "hard_tanh"
    """`max(0, 1 - |x| / (q scale))`"""


class ScaleMode(StrEnum):
    """Where the scale of `mir.fake_quantize` comes from."""

    PER_BATCH = "per_batch"
    """the operand: its largest magnitude is the largest level"""
    EMA = "ema"
    """an exponential moving average of that"""
    FIXED = "fixed"
    """given"""


@irdl_attr_definition
class StraightThroughAttr(EnumAttribute[StraightThrough], SpacedOpaqueSyntaxAttribute):
    """A straight-through estimator as a property."""

    name = "mir.ste"


@irdl_attr_definition
class ScaleModeAttr(EnumAttribute[ScaleMode], SpacedOpaqueSyntaxAttribute):
    """Where a scale comes from, as a property."""

    name = "mir.scale_mode"


def scale_shape(x: SSAValue, axis: int | None) -> tuple[int]:
    """`[C]` for scales along `axis`, `[1]` for one scale."""
    return (1 if axis is None else shape_of(x)[axis],)


def _check_vector(name: str, value: SSAValue, x: SSAValue, axis: int | None) -> None:
    expected = TensorType(element_of(x), scale_shape(x, axis))
    if value.type != expected:
        raise VerifyException(f"expected a {name} of type {expected}, got {value.type}")


def levels_of(bits: int) -> int:
    """The largest level: levels are symmetric around 0."""
    return (1 << (bits - 1)) - 1


def _check_bits(bits: int) -> None:
    if bits not in (2, 4, 8):
        raise VerifyException(f"expected 2, 4 or 8 bits, got {bits}")


class StraightThroughOp(MirOp, name="mir.straight_through"):
    """
    `result = value`, differentiated as if it were `carrier`: the cotangent goes to `carrier` unchanged.

    Both have one type. Nothing flows to `value`.
    """

    value: Tensor = tensor()
    carrier: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.value), (*FLOATS, *COMPLEXES))
        if self.carrier.type != self.value.type:
            raise VerifyException(f"expected a carrier of type {self.value.type}, got {self.carrier.type}")
        return (self.value.type,)


class FakeQuantizeOp(PerChannel, MirOp, name="mir.fake_quantize"):
    """
    `result = clamp(round(x / s), -q, q) * s` with `q = 2^(bits-1) - 1`, and `scale = s`.

    The scale is one number, `[1]`, or one per index of `axis`, `[C]`. With `cur = max(max |x| / q, 1e-12)` it is `cur`
    (`per_batch`), `decay state + (1 - decay) cur`, or `cur` where `state <= 0` (`ema`: `scale` is the next state), or
    `max(state, 1e-12)` (`fixed`). Rounding is to nearest, half to even. The derivative with respect to `x` is the one
    that `ste` names, for a constant scale; nothing flows to `state` and from `scale`.
    """

    x: Tensor = tensor()
    state: OptionalTensor = optional_tensor(default=None)
    bits: Integer = integer(default=8)
    axis: OptionalInteger = axis(default=None)
    ste: Word[StraightThrough] = word(StraightThroughAttr, "ste", default=StraightThrough.IDENTITY)
    scale_mode: Word[ScaleMode] = word(ScaleModeAttr, "scale mode", default=ScaleMode.PER_BATCH)
    decay: OptionalReal = real(default=None)
    result = result_def(AnyTensorConstr)
    scale = result_def(AnyTensorConstr)

    assembly_format = (
        "$x (`state` $state^)? `bits` $bits (`axis` $axis^)? `ste` $ste `scale_mode` $scale_mode (`decay` $decay^)? "
        "attr-dict `:` functional-type(operands, results)"
    )

    def infer_types(self) -> tuple[Attribute, Attribute]:
        check_element(element_of(self.x), (f32, f64))
        _check_bits(self.bits.value.data)
        mode = self.scale_mode.data
        if (self.state is None) != (mode == ScaleMode.PER_BATCH):
            raise VerifyException(f"scale mode {mode} takes {'no' if self.state is not None else 'a'} state")
        if (self.decay is None) != (mode != ScaleMode.EMA):
            raise VerifyException(f"scale mode {mode} takes {'no' if self.decay is not None else 'a'} decay")
        if self.decay is not None and not 0 <= self.decay.value.data <= 1:
            raise VerifyException(f"expected a decay from 0 to 1, got {self.decay.value.data}")
        axis = self.axis_index
        if self.state is not None:
            _check_vector("state", self.state, self.x, axis)
        return (self.x.type, TensorType(element_of(self.x), scale_shape(self.x, axis)))


def _check_scaled(x: SSAValue, scale: SSAValue, bits: int, axis: int | None) -> None:
    """Require what all ops with a scale as operand require."""
    check_element(same_element_type(x, scale), (f32, f64))
    _check_bits(bits)
    _check_vector("scale", scale, x, axis)


class FakeQuantizeBackwardOp(PerChannel, MirOp, name="mir.fake_quantize_backward"):
    """
    The cotangent of `x` in `mir.fake_quantize`: `dy` times the derivative that `ste` names.

    `scale` is the one that the forward op used, a constant. With `q = 2^(bits-1) - 1` the derivative is 1 (`identity`),
    1 where `|x| <= q scale`, else 0 (`clipped_identity`), `1 - tanh(x / scale)^2` (`tanh`), or
    `max(0, 1 - |x| / (q scale))` (`hard_tanh`).
    """

    x: Tensor = tensor()
    scale: Tensor = tensor()
    dy: Tensor = tensor()
    bits: Integer = integer(default=8)
    axis: OptionalInteger = axis(default=None)
    ste: Word[StraightThrough] = word(StraightThroughAttr, "ste", default=StraightThrough.IDENTITY)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        _check_scaled(self.x, self.scale, self.bits.value.data, self.axis_index)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


class FakeQuantizeLsqOp(PerChannel, MirOp, name="mir.fake_quantize_lsq"):
    """
    `result = clamp(round(x / s), -q, q) * s` with `s = max(scale, 1e-12)` and `q = 2^(bits-1) - 1`: a learnt step size.

    The scale is one number, `[1]`, or one per index of `axis`, `[C]`. Rounding is to nearest, half to even, with a
    straight-through derivative. With `z = x / s`, the derivative with respect to `x` is 1 where `|z| <= q`, else 0. The
    derivative with respect to `scale` is `round(z) - z` there, else `sign(z) q`, also where `scale` is below its
    minimum.
    """

    x: Tensor = tensor()
    scale: Tensor = tensor()
    bits: Integer = integer(default=8)
    axis: OptionalInteger = axis(default=None)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        _check_scaled(self.x, self.scale, self.bits.value.data, self.axis_index)
        return (self.x.type,)


class LsqBackwardOp(PerChannel, MirOp, abc.ABC):
    """A cotangent of an operand of `mir.fake_quantize_lsq`."""

    x: Tensor = tensor()
    scale: Tensor = tensor()
    dy: Tensor = tensor()
    bits: Integer = integer(default=8)
    axis: OptionalInteger = axis(default=None)
    result = result_def(AnyTensorConstr)

    @staticmethod
    @abc.abstractmethod
    def _of(x: SSAValue, scale: SSAValue) -> SSAValue:
        """The operand whose type the cotangent has."""

    def infer_types(self) -> tuple[Attribute]:
        _check_scaled(self.x, self.scale, self.bits.value.data, self.axis_index)
        check_cotangent(self.dy, self.x)
        return (self._of(self.x, self.scale).type,)


class FakeQuantizeLsqBackwardXOp(LsqBackwardOp, name="mir.fake_quantize_lsq_backward_x"):
    """The cotangent of `x` in `mir.fake_quantize_lsq`: `dy` where `|x / s| <= q`, else 0."""

    @staticmethod
    def _of(x: SSAValue, scale: SSAValue) -> SSAValue:
        return x


class FakeQuantizeLsqBackwardScaleOp(LsqBackwardOp, name="mir.fake_quantize_lsq_backward_scale"):
    """
    The cotangent of `scale` in `mir.fake_quantize_lsq`: `dy psi(x / s)` summed over the elements that share the scale.

    `psi(z)` is `round(z) - z` where `|z| <= q`, else `sign(z) q`.
    """

    @staticmethod
    def _of(x: SSAValue, scale: SSAValue) -> SSAValue:
        return scale


class FakeQuantizeBuilder(BuilderCore):
    """Builder methods of this family."""

    straight_through = method(StraightThroughOp)
    fake_quantize = method(FakeQuantizeOp)
    fake_quantize_with_scale = pair(FakeQuantizeOp)
    fake_quantize_backward = method(FakeQuantizeBackwardOp)
    fake_quantize_lsq = method(FakeQuantizeLsqOp)
    fake_quantize_lsq_backward_x = method(FakeQuantizeLsqBackwardXOp)
    fake_quantize_lsq_backward_scale = method(FakeQuantizeLsqBackwardScaleOp)
