"""Rows of quantisation in training. What is rounded has a derivative by convention: the straight-through estimators."""

from collections.abc import Sequence

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.fake_quantize import (
    LEAST_SCALE,
    FakeQuantizeBackwardOp,
    FakeQuantizeLsqBackwardScaleOp,
    FakeQuantizeLsqBackwardXOp,
    FakeQuantizeLsqOp,
    FakeQuantizeOp,
    LsqBackwardOp,
    ScaleMode,
    StraightThrough,
    StraightThroughOp,
    levels_of,
    scale_shape,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rows import decompose, leading
from xdsl_rlx.transforms.rules.rule_table import INERT, JVP, SCALAR, VJP, Cotangent

leading(StraightThroughOp)
leading(FakeQuantizeBackwardOp, "axis", shared=("scale",))
leading(FakeQuantizeLsqOp, "axis", shared=("scale",))
leading(FakeQuantizeLsqBackwardXOp, "axis", shared=("scale",))

INERT.add(StraightThroughOp, "value", "the carrier is differentiated in its place")
INERT.add(FakeQuantizeOp, "state", "the scale is a statistic, constant to the gradient")
INERT.add(FakeQuantizeBackwardOp, "scale", "the scale is a statistic, constant to the gradient")


@VJP.rule(StraightThroughOp)
def straight_through_vjp(op: StraightThroughOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [None, g]


@JVP.rule(StraightThroughOp)
def straight_through_jvp(op: StraightThroughOp, b: MirBuilder, value: None, carrier: Value) -> Sequence[Value | None]:
    return [carrier]


@SCALAR.rule(StraightThroughOp)
def straight_through_scalar(op: StraightThroughOp, b: ScalarBuilder, value: Scalar, carrier: Scalar) -> Scalar:
    return value


def along_axis(b: MirBuilder, vector: Value, rank: int, axis: int | None) -> Value:
    """A scale, `[C]` along `axis` or `[1]`, as a tensor that broadcasts with one of that rank."""
    return b.reshape(vector, [vector.shape[0] if d == axis else 1 for d in range(rank)])


def _clamp(b: MirBuilder, x: Value, largest: float) -> Value:
    return b.max(b.min(x, largest), -largest)


def _others(x: Value, axis: int | None) -> list[int]:
    """The axes along which the scale is the same."""
    return [d for d in range(x.rank) if d != axis]


def _used_scale(op: FakeQuantizeOp, b: MirBuilder) -> Value:
    """The scale, `[C]` or `[1]`."""
    state = None if op.state is None else b.value(op.state)
    if op.scale_mode.data == ScaleMode.FIXED:
        assert state is not None
        return b.max(state, LEAST_SCALE)
    x, axis = b.value(op.x), op.axis_index
    top = b.reduce_max(b.abs(x), _others(x, axis))
    largest = b.reshape(top, scale_shape(op.x, axis))
    current = b.max(largest / float(levels_of(op.bits.value.data)), LEAST_SCALE)
    if state is None:
        return current
    assert op.decay is not None
    decay = op.decay.value.data
    return b.where(state <= 0.0, current, state * decay + current * (1.0 - decay))


def _never_clips(op: FakeQuantizeOp) -> bool:
    """Whether the largest magnitude is the largest level, so that nothing lies beyond."""
    return op.scale_mode.data == ScaleMode.PER_BATCH


def _carrier(op: FakeQuantizeOp, b: MirBuilder, x: Value, scale: Value) -> Value:
    """A function of `x` that has the derivative which `ste` names."""
    top = scale * float(levels_of(op.bits.value.data))
    match op.ste.data:
        case StraightThrough.TANH:
            return scale * b.tanh(x / scale)
        case StraightThrough.HARD_TANH:
            part = b.abs(x) / top
            return b.where(part < 1.0, x * (1.0 - 0.5 * part), 0.0)
        case StraightThrough.CLIPPED_IDENTITY if not _never_clips(op):
            return b.where(b.abs(x) <= top, x, 0.0)
        case _:
            return x


@decompose(FakeQuantizeOp)
def fake_quantize_decompose(op: FakeQuantizeOp, b: MirBuilder) -> Sequence[Value]:
    x = b.value(op.x)
    used = b.stop_gradient(_used_scale(op, b))
    scale = along_axis(b, used, x.rank, op.axis_index)
    value = _clamp(b, b.round(x / scale), float(levels_of(op.bits.value.data))) * scale
    return [b.straight_through(value, _carrier(op, b, x, scale)), used]


@VJP.rule(FakeQuantizeOp)
def fake_quantize_vjp(op: FakeQuantizeOp, b: MirBuilder, g: Value | None, d_scale: Value | None) -> Sequence[Cotangent]:
    """A cotangent of the scale goes nowhere."""
    state: list[Cotangent] = [] if op.state is None else [None]
    if g is None:
        return [lambda: b.zeros_like(op.x), *state]
    ste = op.ste.data
    if ste == StraightThrough.IDENTITY or (ste == StraightThrough.CLIPPED_IDENTITY and _never_clips(op)):
        return [g, *state]
    bits, axis = op.bits.value.data, op.axis_index
    return [lambda: b.fake_quantize_backward(op.x, op.scale, g, bits, axis, ste), *state]


@decompose(FakeQuantizeBackwardOp)
def fake_quantize_backward_decompose(op: FakeQuantizeBackwardOp, b: MirBuilder) -> Sequence[Value]:
    x, dy = b.value(op.x), b.value(op.dy)
    scale = b.stop_gradient(along_axis(b, b.value(op.scale), x.rank, op.axis_index))
    top = scale * float(levels_of(op.bits.value.data))
    match op.ste.data:
        case StraightThrough.IDENTITY:
            return [dy]
        case StraightThrough.CLIPPED_IDENTITY:
            return [b.where(b.abs(x) <= top, dy, 0.0)]
        case StraightThrough.TANH:
            t = b.tanh(x / scale)
            return [dy * (1.0 - t * t)]
        case StraightThrough.HARD_TANH:
            return [dy * b.relu(1.0 - b.abs(x) / top)]


def _learnt(op: FakeQuantizeLsqOp | LsqBackwardOp, b: MirBuilder) -> tuple[Value, Value, float]:
    """`s` and `z = x / s`, and the largest level. The least scale passes cotangents, so that it can be left again."""
    x, scale = b.value(op.x), b.value(op.scale)
    used = b.straight_through(b.max(scale, LEAST_SCALE), scale)
    s = along_axis(b, used, x.rank, op.axis_index)
    return s, x / s, float(levels_of(op.bits.value.data))


@decompose(FakeQuantizeLsqOp)
def fake_quantize_lsq_decompose(op: FakeQuantizeLsqOp, b: MirBuilder) -> Sequence[Value]:
    s, z, largest = _learnt(op, b)
    level = b.where(b.abs(z) <= largest, b.round(z), b.stop_gradient(_clamp(b, z, largest)))
    return [level * s]


@VJP.rule(FakeQuantizeLsqOp)
def fake_quantize_lsq_vjp(op: FakeQuantizeLsqOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    bits, axis = op.bits.value.data, op.axis_index
    return (
        lambda: b.fake_quantize_lsq_backward_x(op.x, op.scale, g, bits, axis),
        lambda: b.fake_quantize_lsq_backward_scale(op.x, op.scale, g, bits, axis),
    )


@decompose(FakeQuantizeLsqBackwardXOp)
def fake_quantize_lsq_backward_x_decompose(op: FakeQuantizeLsqBackwardXOp, b: MirBuilder) -> Sequence[Value]:
    _, z, largest = _learnt(op, b)
    return [b.where(b.abs(z) <= largest, op.dy, 0.0)]


@decompose(FakeQuantizeLsqBackwardScaleOp)
def fake_quantize_lsq_backward_scale_decompose(op: FakeQuantizeLsqBackwardScaleOp, b: MirBuilder) -> Sequence[Value]:
    _, z, largest = _learnt(op, b)
    slope = b.where(b.abs(z) <= largest, b.round(z) - z, b.stop_gradient(_clamp(b, z, largest)))
    total = b.reduce_sum(slope * op.dy, _others(z, op.axis_index))
    return [b.reshape(total, scale_shape(op.x, op.axis_index))]
