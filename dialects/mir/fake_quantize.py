"""Quantisation in training: rounding to a few levels with a gradient. Conversion to i8 is in `quantize.py`."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, f64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import (
    F64,
    I64,
    AnyTensorConstr,
    Elementwise,
    MirOp,
    f64_attr,
    i64_attr,
)
from xdsl_rlx.dialects.mir.norm import check_cotangent
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import (
    FLOATS,
    check_element,
    element_of,
    normalize_axis,
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


def _axis_of(x: SSAValue, axis: int | None) -> int | None:
    return None if axis is None else normalize_axis(axis, len(shape_of(x)))


def _optional(axis: int | None) -> IntegerAttr | None:
    return None if axis is None else i64_attr(axis)


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


@irdl_op_definition
class StraightThroughOp(MirOp):
    """
    `result = value`, differentiated as if it were `carrier`: the cotangent goes to `carrier` unchanged.

    Both have one type. Nothing flows to `value`.
    """

    name = "mir.straight_through"

    value = operand_def(AnyTensorConstr)
    carrier = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())
    assembly_format = "$value `,` $carrier attr-dict `:` functional-type(operands, results)"

    def __init__(self, value: SSAValue, carrier: SSAValue):
        super().__init__(operands=[value, carrier], result_types=[value.type])

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.value), FLOATS)
        if self.carrier.type != self.value.type:
            raise VerifyException(f"expected a carrier of type {self.value.type}, got {self.carrier.type}")
        return (self.value.type,)


@irdl_op_definition
class FakeQuantizeOp(MirOp):
    """
    `result = clamp(round(x / s), -q, q) * s` with `q = 2^(bits-1) - 1`, and `scale = s`.

    The scale is one, `[1]`, or one per index of `axis`, `[C]`. With `cur = max(max |x| / q, 1e-12)` it is `cur`
    (`per_batch`), `decay state + (1 - decay) cur`, or `cur` where `state <= 0` (`ema`: `scale` is the next state), or
    `max(state, 1e-12)` (`fixed`). Rounding is to the nearest, half to even. The derivative with respect to `x` is the
    one that `ste` names, for a constant scale; nothing flows to `state` and from `scale`.
    """

    name = "mir.fake_quantize"

    x = operand_def(AnyTensorConstr)
    state = opt_operand_def(AnyTensorConstr)
    bits = prop_def(I64)
    axis = opt_prop_def(I64)
    ste = prop_def(StraightThroughAttr)
    scale_mode = prop_def(ScaleModeAttr)
    decay = opt_prop_def(F64)
    result = result_def(AnyTensorConstr)
    scale = result_def(AnyTensorConstr)

    assembly_format = (
        "$x (`state` $state^)? `bits` $bits (`axis` $axis^)? `ste` $ste `scale_mode` $scale_mode (`decay` $decay^)? "
        "attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        x: SSAValue,
        state: SSAValue | None = None,
        bits: int = 8,
        axis: int | None = None,
        ste: StraightThrough = StraightThrough.IDENTITY,
        scale_mode: ScaleMode = ScaleMode.PER_BATCH,
        decay: float | None = None,
    ):
        axis = _axis_of(x, axis)
        super().__init__(
            operands=[x, state],
            properties={
                "bits": i64_attr(bits),
                "axis": _optional(axis),
                "ste": StraightThroughAttr(ste),
                "scale_mode": ScaleModeAttr(scale_mode),
                "decay": None if decay is None else f64_attr(decay),
            },
            result_types=[x.type, TensorType(element_of(x), scale_shape(x, axis))],
        )

    @property
    def axis_index(self) -> int | None:
        """The axis of the channels, counted from the front; None where the scale is one for all."""
        return None if self.axis is None else normalize_axis(self.axis.value.data, len(shape_of(self.x)))

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


@irdl_op_definition
class FakeQuantizeBackwardOp(MirOp):
    """
    The cotangent of `x` in `mir.fake_quantize`: `dy` times the derivative that `ste` names.

    `scale` is the one that the forward op used, a constant. With `q = 2^(bits-1) - 1` the derivative is 1 (`identity`),
    1 where `|x| <= q scale`, else 0 (`clipped_identity`), `1 - tanh(x / scale)^2` (`tanh`), or
    `max(0, 1 - |x| / (q scale))` (`hard_tanh`).
    """

    name = "mir.fake_quantize_backward"

    x = operand_def(AnyTensorConstr)
    scale = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)
    bits = prop_def(I64)
    axis = opt_prop_def(I64)
    ste = prop_def(StraightThroughAttr)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$x `,` $scale `,` $dy `bits` $bits (`axis` $axis^)? `ste` $ste attr-dict "
        "`:` functional-type(operands, results)"
    )

    def __init__(
        self,
        x: SSAValue,
        scale: SSAValue,
        dy: SSAValue,
        bits: int = 8,
        axis: int | None = None,
        ste: StraightThrough = StraightThrough.IDENTITY,
    ):
        super().__init__(
            operands=[x, scale, dy],
            properties={
                "bits": i64_attr(bits),
                "axis": _optional(_axis_of(x, axis)),
                "ste": StraightThroughAttr(ste),
            },
            result_types=[x.type],
        )

    @property
    def axis_index(self) -> int | None:
        """The axis of the channels, counted from the front; None where the scale is one for all."""
        return None if self.axis is None else normalize_axis(self.axis.value.data, len(shape_of(self.x)))

    def infer_types(self) -> tuple[Attribute]:
        _check_scaled(self.x, self.scale, self.bits.value.data, self.axis_index)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


@irdl_op_definition
class FakeQuantizeLsqOp(MirOp):
    """
    `result = clamp(round(x / s), -q, q) * s` with `s = max(scale, 1e-12)` and `q = 2^(bits-1) - 1`: a learnt step size.

    The scale is one, `[1]`, or one per index of `axis`, `[C]`. Rounding is to the nearest, half to even, and is
    differentiated straight through: with `z = x / s`, the derivative with respect to `x` is 1 where `|z| <= q`, else 0,
    with respect to `scale` it is `round(z) - z` there, else `sign(z) q`, also where `scale` is below its least value.
    """

    name = "mir.fake_quantize_lsq"

    x = operand_def(AnyTensorConstr)
    scale = operand_def(AnyTensorConstr)
    bits = prop_def(I64)
    axis = opt_prop_def(I64)
    result = result_def(AnyTensorConstr)

    assembly_format = "$x `,` $scale `bits` $bits (`axis` $axis^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: SSAValue, scale: SSAValue, bits: int = 8, axis: int | None = None):
        super().__init__(
            operands=[x, scale],
            properties={"bits": i64_attr(bits), "axis": _optional(_axis_of(x, axis))},
            result_types=[x.type],
        )

    @property
    def axis_index(self) -> int | None:
        """The axis of the channels, counted from the front; None where the scale is one for all."""
        return None if self.axis is None else normalize_axis(self.axis.value.data, len(shape_of(self.x)))

    def infer_types(self) -> tuple[Attribute]:
        _check_scaled(self.x, self.scale, self.bits.value.data, self.axis_index)
        return (self.x.type,)


class LsqBackwardOp(MirOp, abc.ABC):
    """A cotangent of an operand of `mir.fake_quantize_lsq`."""

    x = operand_def(AnyTensorConstr)
    scale = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)
    bits = prop_def(I64)
    axis = opt_prop_def(I64)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$x `,` $scale `,` $dy `bits` $bits (`axis` $axis^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, x: SSAValue, scale: SSAValue, dy: SSAValue, bits: int = 8, axis: int | None = None):
        super().__init__(
            operands=[x, scale, dy],
            properties={"bits": i64_attr(bits), "axis": _optional(_axis_of(x, axis))},
            result_types=[self._of(x, scale).type],
        )

    @property
    def axis_index(self) -> int | None:
        """The axis of the channels, counted from the front; None where the scale is one for all."""
        return None if self.axis is None else normalize_axis(self.axis.value.data, len(shape_of(self.x)))

    @staticmethod
    @abc.abstractmethod
    def _of(x: SSAValue, scale: SSAValue) -> SSAValue:
        """The operand whose type the cotangent has."""

    def infer_types(self) -> tuple[Attribute]:
        _check_scaled(self.x, self.scale, self.bits.value.data, self.axis_index)
        check_cotangent(self.dy, self.x)
        return (self._of(self.x, self.scale).type,)


@irdl_op_definition
class FakeQuantizeLsqBackwardXOp(LsqBackwardOp):
    """The cotangent of `x` in `mir.fake_quantize_lsq`: `dy` where `|x / s| <= q`, else 0."""

    name = "mir.fake_quantize_lsq_backward_x"

    @staticmethod
    def _of(x: SSAValue, scale: SSAValue) -> SSAValue:
        return x


@irdl_op_definition
class FakeQuantizeLsqBackwardScaleOp(LsqBackwardOp):
    """
    The cotangent of `scale` in `mir.fake_quantize_lsq`: `dy psi(x / s)` summed over what shares the scale.

    `psi(z)` is `round(z) - z` where `|z| <= q`, else `sign(z) q`.
    """

    name = "mir.fake_quantize_lsq_backward_scale"

    @staticmethod
    def _of(x: SSAValue, scale: SSAValue) -> SSAValue:
        return scale


class FakeQuantizeBuilder(BuilderCore):
    """Builder methods of this family."""

    def straight_through(self, value: Operand, carrier: Operand) -> Value:
        """`mir.straight_through`: `value`, differentiated as if it were `carrier`."""
        return self.op(StraightThroughOp, self.operand(value), self.operand(carrier))

    def fake_quantize(
        self,
        x: Operand,
        state: Operand | None = None,
        bits: int = 8,
        axis: int | None = None,
        ste: StraightThrough | str = StraightThrough.IDENTITY,
        scale_mode: ScaleMode | str = ScaleMode.PER_BATCH,
        decay: float | None = None,
    ) -> Value:
        """`mir.fake_quantize`: `x` rounded to levels, without the scale."""
        return self.fake_quantize_with_scale(x, state, bits, axis, ste, scale_mode, decay)[0]

    def fake_quantize_with_scale(
        self,
        x: Operand,
        state: Operand | None = None,
        bits: int = 8,
        axis: int | None = None,
        ste: StraightThrough | str = StraightThrough.IDENTITY,
        scale_mode: ScaleMode | str = ScaleMode.PER_BATCH,
        decay: float | None = None,
    ) -> tuple[Value, Value]:
        """`mir.fake_quantize`: `x` rounded to levels, and the scale, which is the next state of mode `ema`."""
        given = None if state is None else self.operand(state)
        kind, mode = _estimator(ste), _mode(scale_mode)
        op = self.emit(FakeQuantizeOp, self.operand(x), given, bits, axis, kind, mode, decay)
        return self.value(op.result), self.value(op.scale)

    def fake_quantize_backward(
        self,
        x: Operand,
        scale: Operand,
        dy: Operand,
        bits: int = 8,
        axis: int | None = None,
        ste: StraightThrough | str = StraightThrough.IDENTITY,
    ) -> Value:
        """`mir.fake_quantize_backward`: the cotangent of `x`."""
        x, scale, dy = (self.operand(v) for v in (x, scale, dy))
        return self.op(FakeQuantizeBackwardOp, x, scale, dy, bits, axis, _estimator(ste))

    def fake_quantize_lsq(self, x: Operand, scale: Operand, bits: int = 8, axis: int | None = None) -> Value:
        """`mir.fake_quantize_lsq`: `x` rounded to multiples of a learnt scale, [1] or [C] along `axis`."""
        return self.op(FakeQuantizeLsqOp, self.operand(x), self.operand(scale), bits, axis)

    def fake_quantize_lsq_backward_x(
        self, x: Operand, scale: Operand, dy: Operand, bits: int = 8, axis: int | None = None
    ) -> Value:
        """`mir.fake_quantize_lsq_backward_x`: the cotangent of `x`."""
        x, scale, dy = (self.operand(v) for v in (x, scale, dy))
        return self.op(FakeQuantizeLsqBackwardXOp, x, scale, dy, bits, axis)

    def fake_quantize_lsq_backward_scale(
        self, x: Operand, scale: Operand, dy: Operand, bits: int = 8, axis: int | None = None
    ) -> Value:
        """`mir.fake_quantize_lsq_backward_scale`: the cotangent of `scale`."""
        x, scale, dy = (self.operand(v) for v in (x, scale, dy))
        return self.op(FakeQuantizeLsqBackwardScaleOp, x, scale, dy, bits, axis)


def _estimator(name: StraightThrough | str) -> StraightThrough:
    try:
        return StraightThrough(name)
    except ValueError:
        raise GraphError(f"ste '{name}' is not one of {', '.join(StraightThrough)}") from None


def _mode(name: ScaleMode | str) -> ScaleMode:
    try:
        return ScaleMode(name)
    except ValueError:
        raise GraphError(f"scale mode '{name}' is not one of {', '.join(ScaleMode)}") from None
