"""Quantisation in training. Gradients are conventions: JAX gets them by `lax.stop_gradient`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import Operand, Sample, apart, normal, uniform, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import fake_quantize as mir

STES = tuple(mir.StraightThrough)
GRID = values(0.25, -0.75, 3.5, -3.5, 0.0, -0.0, 1.25, 3.75, -4.0, 2.0, -2.5, 1.5)
"""With a scale of 0.5 and 4 bits: halves of a level, the last level (3.5), and beyond."""
SMOOTHLY_CLIPPED = (mir.StraightThrough.TANH, mir.StraightThrough.IDENTITY)


def _fixed(m: Any, x: Any, s: Any, **given: Any) -> Any:
    return m.fake_quantize_with_scale(x, s, scale_mode="fixed", **given)


def _per_batch_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = mir.FakeQuantizeOp
    for ste in STES:
        for suffix, shape, bits, axis in (
            ("", (3, 5), 8, None),
            ("-rows", (3, 5), 4, 0),
            ("-columns", (2, 3, 4), 2, -1),
            ("-empty", (0, 3), 4, 1),
            ("-empty-all", (3, 0), 8, None),
            ("-no-channels", (2, 0), 8, 1),
            ("-scalar", (), 8, None),
        ):
            build = lambda m, x, n=bits, a=axis, s=ste: m.fake_quantize_with_scale(x, None, n, a, s)  # noqa: E731
            given = (Operand(shape),)
            name = f"fake_quantize-{ste}{suffix}"
            rows.append(Sample(name, op, build, given, differentiable=(0,), smooth=False))
    zeros = (Operand((3, 2), values(0.0, 1.0)),)
    build = lambda m, x: m.fake_quantize_with_scale(x, None, 4, 1)  # noqa: E731
    rows.append(Sample("fake_quantize-zeros", op, build, zeros, differentiable=(0,), smooth=False))
    return rows


def _stateful_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = mir.FakeQuantizeOp
    for ste in STES:
        build = lambda m, x, s, ste=ste: _fixed(m, x, s, bits=4, ste=ste)  # noqa: E731
        given = (Operand((3, 4), GRID), Operand((1,), values(0.5)))
        row = Sample(f"fake_quantize-{ste}-fixed", op, build, given, differentiable=(0,), smooth=False)
        rows.append(row)
        build = lambda m, x, s, ste=ste: _fixed(m, x, s, bits=2, axis=-1, ste=ste)  # noqa: E731
        given = (Operand((3, 4), GRID), Operand((4,), values(0.5, 2.0, 0.25, 4.0)))
        rows.append(replace(row, id=f"{row.id}-channels", build=build, operands=given))
        build = lambda m, x, s, ste=ste: m.fake_quantize_with_scale(x, s, 4, 0, ste, "ema", 0.75)  # noqa: E731
        given = (Operand((3, 4), GRID), Operand((3,), values(-1.0, 0.125, 2.0)))
        rows.append(replace(row, id=f"fake_quantize-{ste}-ema", build=build, operands=given))
    least = (Operand((2, 2), values(1e-12, -3e-12, 1.0, 0.0)), Operand((1,), values(-1.0)))
    build = lambda m, x, s: _fixed(m, x, s, ste="clipped_identity")  # noqa: E731
    rows.append(Sample("fake_quantize-least-scale", op, build, least, differentiable=(0,), smooth=False))
    far = (Operand((5,), values(np.inf, -np.inf, np.nan, 1e30, 0.0)), Operand((1,), values(0.5)))
    rows.append(Sample("fake_quantize-far", op, build, far))
    return rows


def _backward_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = mir.FakeQuantizeBackwardOp
    for ste in STES:
        for suffix, shape, axis in (("", (3, 4), None), ("-columns", (3, 4), 1), ("-empty", (0, 4), 1)):
            build = lambda m, x, s, d, a=axis, t=ste: m.fake_quantize_backward(x, s, d, 4, a, t)  # noqa: E731
            scale = Operand((1 if axis is None else shape[axis],), uniform(0.3, 1.5))
            given = (Operand(shape, apart(0.37)), scale, Operand(shape))
            name = f"fake_quantize_backward-{ste}{suffix}"
            smooth = ste in SMOOTHLY_CLIPPED
            rows.append(Sample(name, op, build, given, differentiable=(0, 2), smooth=smooth, tol=32))
        build = lambda m, x, s, d, t=ste: m.fake_quantize_backward(x, s, d, 4, None, t)  # noqa: E731
        given = (Operand((3, 4), GRID), Operand((1,), values(0.5)), Operand((3, 4)))
        name = f"fake_quantize_backward-{ste}-ties"
        rows.append(Sample(name, op, build, given, differentiable=(2,), smooth=False))
    return rows


def _lsq_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, x, scale, bits, axis in (
        ("", Operand((3, 5), normal(2.0)), Operand((1,), values(0.4)), 4, None),
        ("-ties", Operand((3, 4), GRID), Operand((1,), values(0.5)), 4, None),
        ("-rows", Operand((3, 4), GRID), Operand((3,), values(0.5, 2.0, 0.25)), 2, 0),
        ("-columns", Operand((2, 3, 4), normal(2.0)), Operand((4,), uniform(0.01, 0.03)), 8, -1),
        ("-least-scale", Operand((2, 2), values(1e-12, -3e-12, 1.0, 0.0)), Operand((1,), values(-1.0)), 2, None),
        ("-empty", Operand((0, 4)), Operand((4,), uniform(0.1, 1.0)), 8, 1),
        ("-empty-all", Operand((2, 0)), Operand((1,), uniform(0.1, 1.0)), 8, None),
    ):
        op = mir.FakeQuantizeLsqOp
        build = lambda m, x, s, n=bits, a=axis: m.fake_quantize_lsq(x, s, n, a)  # noqa: E731
        row = Sample(f"fake_quantize_lsq{suffix}", op, build, (x, scale), differentiable=(0, 1), smooth=False, tol=64)
        rows.append(row)
        for part, op in (("x", mir.FakeQuantizeLsqBackwardXOp), ("scale", mir.FakeQuantizeLsqBackwardScaleOp)):
            name = f"fake_quantize_lsq_backward_{part}"
            build = lambda m, x, s, d, f=name, n=bits, a=axis: getattr(m, f)(x, s, d, n, a)  # noqa: E731
            given = (x, scale, Operand(x.shape))
            rows.append(
                replace(row, id=f"{name}{suffix}", op=op, build=build, operands=given, differentiable=(0, 1, 2))
            )
    return rows


def _straight_through_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = mir.StraightThroughOp
    plain = lambda m, x, y: m.straight_through(x, y)  # noqa: E731
    for shape in ((3, 5), (), (0, 3)):
        given = (Operand(shape), Operand(shape))
        row = Sample(f"straight_through-{len(shape)}", op, plain, given, differentiable=(1,), smooth=False, exact=True)
        rows.append(replace(row, id="straight_through-empty") if 0 in shape else row)
    sign = lambda m, x: m.straight_through(m.where(x > 0.0, 1.0, m.neg(m.ones_like(x))), m.tanh(x))  # noqa: E731
    rows.append(Sample("straight_through-sign", op, sign, (Operand((4, 3)),), differentiable=(0,), smooth=False))
    return rows


def _largest(op: Any) -> float:
    return float(mir.levels_of(op.bits.value.data))


def _along(op: Any, vector: Any, x: Any) -> Any:
    """A scale as an array that broadcasts with `x`."""
    return vector.reshape([vector.size if a == op.axis_index else 1 for a in range(x.ndim)])


def _scale(np_: Any, op: Any, x: Any, state: Any) -> Any:
    if op.scale_mode.data == "fixed":
        return np_.maximum(state, 1e-12)
    others = tuple(a for a in range(x.ndim) if a != op.axis_index)
    top = np_.max(np_.abs(x), axis=others, initial=0.0).reshape(mir.scale_shape(op.x, op.axis_index))
    current = np_.maximum(top / _largest(op), 1e-12)
    if state is None:
        return current
    decay = op.decay.value.data
    return np_.where(state <= 0, current, decay * state + (1 - decay) * current)


def _levels(np_: Any, op: Any, x: Any, scale: Any) -> Any:
    return np_.clip(np_.round(x / scale), -_largest(op), _largest(op)) * scale


def _oracle(op: mir.FakeQuantizeOp, x: Array, state: Array | None = None) -> tuple[Array, Array]:
    """The scale has the type of the operand, and is rounded to it before it is used."""
    given = None if state is None else widen(state)
    scale = _scale(np, op, widen(x), given).astype(x.dtype).astype(np.float64)
    return _levels(np, op, widen(x), _along(op, scale, x)), scale


def _slope(np_: Any, op: Any, x: Any, scale: Any) -> Any:
    """The derivative that `ste` names."""
    top = _largest(op) * scale
    slopes: dict[str, Callable[[], Any]] = {
        "identity": lambda: np_.ones_like(x),
        "clipped_identity": lambda: np_.where(np_.abs(x) <= top, 1.0, 0.0),
        "tanh": lambda: 1 - np_.tanh(x / scale) ** 2,
        "hard_tanh": lambda: np_.where(np_.abs(x) < top, 1 - np_.abs(x) / top, 0.0),
    }
    return slopes[str(op.ste.data)]()


def _jax(op: mir.FakeQuantizeOp, x: Any, state: Any = None) -> tuple[Any, Any]:
    fixed = lax.stop_gradient(x)
    scale = lax.stop_gradient(_scale(jnp, op, fixed, state))
    s = _along(op, scale, x)
    # The largest magnitude of a batch is the largest level: there clipping clips nothing, whatever rounding says.
    unclipped = op.scale_mode.data == "per_batch" and op.ste.data == "clipped_identity"
    slope = 1.0 if unclipped else _slope(jnp, op, fixed, s)
    return _levels(jnp, op, fixed, s) + slope * (x - fixed), scale


def _backward(np_: Any, op: Any, x: Any, scale: Any, dy: Any) -> Any:
    return dy * _slope(np_, op, x, _along(op, scale, x))


def _round(x: Any) -> Any:
    return x + lax.stop_gradient(jnp.round(x) - x)


def _learnt(np_: Any, op: Any, x: Any, scale: Any) -> tuple[Any, Any, Any]:
    """`s`, `x / s`, and where that is within the levels; the least scale passes derivatives."""
    used = np_.maximum(scale, 1e-12)
    if np_ is jnp:
        used = lax.stop_gradient(used) + (scale - lax.stop_gradient(scale))
    s = _along(op, used, x)
    return s, x / s, np_.abs(x / s) <= _largest(op)


def _jax_lsq(op: mir.FakeQuantizeLsqOp, x: Any, scale: Any) -> Any:
    s, z, inside = _learnt(jnp, op, x, scale)
    return jnp.where(inside, _round(z), jnp.sign(z) * _largest(op)) * s


def _lsq(op: mir.FakeQuantizeLsqOp, x: Array, scale: Array) -> Array:
    return _levels(np, op, widen(x), _along(op, np.maximum(widen(scale), 1e-12), x))


def _lsq_x(np_: Any, op: Any, x: Any, scale: Any, dy: Any) -> Any:
    return np_.where(_learnt(np_, op, x, scale)[2], dy, 0.0)


def _lsq_scale(np_: Any, op: Any, x: Any, scale: Any, dy: Any) -> Any:
    _, z, inside = _learnt(np_, op, x, scale)
    rounded = _round(z) if np_ is jnp else np.rint(z)
    slope = np_.where(inside, rounded - z, np_.sign(z) * _largest(op))
    others = tuple(a for a in range(x.ndim) if a != op.axis_index)
    return np_.sum(slope * dy, axis=others).reshape(mir.scale_shape(op.x, op.axis_index))


def _wide(row: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *xs: row(np, op, *map(widen, xs))


def _traced(row: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *xs: row(jnp, op, *xs)


_ROWS: dict[Any, Callable[..., Any]] = {
    mir.FakeQuantizeLsqBackwardXOp: _lsq_x,
    mir.FakeQuantizeLsqBackwardScaleOp: _lsq_scale,
}

SAMPLES = (
    *_per_batch_samples(),
    *_stateful_samples(),
    *_backward_samples(),
    *_lsq_samples(),
    *_straight_through_samples(),
)
ORACLE = {
    mir.StraightThroughOp: lambda op, value, carrier: value,
    mir.FakeQuantizeOp: _oracle,
    mir.FakeQuantizeBackwardOp: _wide(_backward),
    mir.FakeQuantizeLsqOp: _lsq,
    **{op: _wide(row) for op, row in _ROWS.items()},
}
JAX = {
    mir.StraightThroughOp: lambda op, value, carrier: carrier + lax.stop_gradient(value - carrier),
    mir.FakeQuantizeOp: _jax,
    mir.FakeQuantizeBackwardOp: _traced(_backward),
    mir.FakeQuantizeLsqOp: _jax_lsq,
    **{op: _traced(row) for op, row in _ROWS.items()},
}
