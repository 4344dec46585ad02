"""Convolutions and their transposes."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Operand, Sample
from oracle import Array, widen

from xdsl_rlx.dialects.mir import conv
from xdsl_rlx.dialects.shapes import shape_of

Case = tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]

CASES: tuple[Case, ...] = (
    ("", (2, 3, 5, 4), (4, 3, 3, 2), {}),
    ("-padded", (2, 2, 5, 6), (3, 2, 3, 3), {"padding": 1}),
    ("-strided", (2, 2, 7, 6), (2, 2, 3, 3), {"stride": 2, "padding": [1, 0]}),
    ("-dilated", (1, 2, 8, 7), (2, 2, 2, 3), {"dilation": [3, 2], "padding": [0, 2], "stride": [1, 2]}),
    ("-groups", (2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    ("-depthwise", (2, 3, 6, 5), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
    ("-multiplier", (2, 2, 5, 6), (6, 1, 3, 2), {"groups": 2, "stride": 2, "padding": [2, 0], "dilation": [1, 2]}),
    ("-far-padding", (2, 1, 3, 3), (2, 1, 2, 2), {"padding": 3, "stride": 2}),
    ("-many-taps", (1, 2, 7, 8), (2, 1, 6, 6), {"groups": 2, "padding": 1}),
    ("-long-taps", (1, 1, 2, 40), (2, 1, 1, 34), {"padding": [0, 2]}),
    ("-gray", (3, 1, 5, 5), (4, 1, 3, 3), {}),
    ("-pointwise", (2, 3, 4, 5), (4, 3, 1, 1), {}),
    ("-pointwise-groups", (2, 4, 3, 5), (6, 2, 1, 1), {"groups": 2}),
    ("-pointwise-strided", (2, 3, 5, 4), (2, 3, 1, 1), {"stride": 2}),
    ("-wide", (1, 2, 4, 37), (3, 2, 2, 3), {"padding": 1}),
    ("-none", (0, 2, 4, 4), (3, 2, 3, 3), {}),
)
LINES: tuple[Case, ...] = (
    ("-line", (2, 3, 7), (4, 3, 3), {"padding": 1, "stride": 2}),
    ("-line-depthwise", (2, 3, 7), (3, 1, 4), {"groups": 3, "dilation": 2}),
    ("-line-pointwise", (2, 3, 7), (2, 3, 1), {}),
)
TRANSPOSED: tuple[Case, ...] = (
    ("", (2, 3, 4, 3), (3, 2, 3, 2), {}),
    ("-strided", (2, 2, 3, 4), (2, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": [1, 0]}),
    ("-groups", (1, 4, 3, 3), (4, 1, 2, 2), {"groups": 2, "dilation": 2, "stride": [1, 3], "output_padding": [0, 2]}),
    ("-dilated", (2, 2, 3, 4), (2, 3, 2, 2), {"stride": [2, 1], "padding": 2, "dilation": 3, "output_padding": [2, 1]}),
)


def _upper(x: Sequence[int], w: Sequence[int], attributes: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the result of a convolution."""
    rank = len(x) - 2
    steps = [attributes.get(name, default) for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))]
    spread = [[step] * rank if isinstance(step, int) else step for step in steps]
    axes = zip(x[2:], w[2:], *spread, strict=True)
    return (x[0], w[0], *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes))


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, x, w, attributes in (*CASES, *LINES):
        build = lambda m, x, w, a=attributes: m.conv(x, w, **a)  # noqa: E731
        rows.append(Sample(f"conv{suffix}", conv.ConvOp, build, (Operand(x), Operand(w)), differentiable=(0, 1)))
    for suffix, x, w, attributes in CASES:
        y = Operand(_upper(x, w, attributes))
        build = lambda m, dy, w, x=x, a=attributes: m.conv2d_backward_input(dy, w, x[2:], **a)  # noqa: E731
        op = conv.Conv2dBackwardInputOp
        rows.append(Sample(f"conv2d_backward_input{suffix}", op, build, (y, Operand(w)), differentiable=(0, 1)))
        build = lambda m, x, dy, w=w, a=attributes: m.conv2d_backward_weight(x, dy, w[2:], **a)  # noqa: E731
        op = conv.Conv2dBackwardWeightOp
        rows.append(Sample(f"conv2d_backward_weight{suffix}", op, build, (Operand(x), y), differentiable=(0, 1)))
    for suffix, x, w, attributes in TRANSPOSED:
        build = lambda m, x, w, a=attributes: m.conv_transpose2d(x, w, **a)  # noqa: E731
        op = conv.ConvTranspose2dOp
        rows.append(Sample(f"conv_transpose2d{suffix}", op, build, (Operand(x), Operand(w)), differentiable=(0, 1)))
    return rows


def _other_samples() -> list[Sample]:
    x, w, y = Operand((2, 2, 5, 5)), Operand((3, 2, 3, 3)), Operand((2, 3, 3, 3))
    forward = lambda m, x, w: m.conv(x, w)  # noqa: E731
    lines = (Operand((2, 2, 5)), Operand((3, 2, 1)))
    to_image = lambda m, dy, w: m.conv2d_backward_input(dy, w, (5, 5))  # noqa: E731
    to_weight = lambda m, x, dy: m.conv2d_backward_weight(x, dy, (3, 3))  # noqa: E731
    rows = [
        Sample("conv-narrow", conv.ConvOp, forward, (x, w), NARROW),
        Sample("conv-narrow-line", conv.ConvOp, forward, lines, NARROW),
        Sample("conv2d_backward_input-narrow", conv.Conv2dBackwardInputOp, to_image, (y, w), NARROW),
        Sample("conv2d_backward_weight-narrow", conv.Conv2dBackwardWeightOp, to_weight, (x, y), NARROW),
    ]
    for suffix, shape, attributes in (
        ("", (2, 3, 4, 5), {"kernel_size": [3, 2]}),
        ("-strided", (2, 1, 5, 4), {"kernel_size": 3, "stride": [2, 1], "padding": 1, "dilation": [1, 2]}),
    ):
        build = lambda m, x, a=attributes: m.im2col(x, **a)  # noqa: E731
        rows.append(Sample(f"im2col{suffix}", conv.Im2colOp, build, (Operand(shape),), differentiable=(0,)))
    return rows


def _taps(x: Array, kernel: Sequence[int], counts: Sequence[int], at: conv.Windows) -> dict[tuple[int, ...], Any]:
    """The index of the elements of a padded image under each tap, of all windows."""
    axes = list(zip(kernel, counts, at.stride, at.dilation, strict=True))
    return {
        tap: (..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, (_, n, s, d) in zip(tap, axes, strict=True)))
        for tap in product(*map(range, kernel))
    }


def _padded(x: Array, at: conv.Windows) -> Array:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in at.padding)])


def _split(x: Array, groups: int, axis: int) -> Array:
    """The axis of channels as groups and channels."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def _oracle_conv(op: conv.ConvOp, x: Array, w: Array) -> Array:
    at, shape = op.windows, shape_of(op.result)
    padded, weight = _padded(widen(x), at), _split(widen(w), at.groups, 0)
    y = np.zeros(_split(np.zeros(shape), at.groups, 1).shape)
    for tap, index in _taps(padded, w.shape[2:], shape[2:], at).items():
        y += np.einsum("ngc...,goc->ngo...", _split(padded[index], at.groups, 1), weight[(..., *tap)])
    return y.reshape(shape)


def _oracle_input(op: conv.Conv2dBackwardInputOp | conv.ConvTranspose2dOp, dy: Array, w: Array) -> Array:
    at, shape = op.windows, shape_of(op.result)
    upper, weight = _split(widen(dy), at.groups, 1), _split(widen(w), at.groups, 0)
    padded = _padded(np.zeros(shape), at)
    for tap, index in _taps(padded, w.shape[2:], dy.shape[2:], at).items():
        part = np.einsum("ngo...,goc->ngc...", upper, weight[(..., *tap)])
        padded[index] += part.reshape(padded[index].shape)
    return padded[(..., *(slice(p, p + n) for p, n in zip(at.padding, shape[2:], strict=True)))]


def _oracle_weight(op: conv.Conv2dBackwardWeightOp, x: Array, dy: Array) -> Array:
    at, shape = op.windows, shape_of(op.result)
    padded, upper = _padded(widen(x), at), _split(widen(dy), at.groups, 1)
    dw = np.zeros(shape)
    for tap, index in _taps(padded, shape[2:], dy.shape[2:], at).items():
        part = np.einsum("ngcij,ngoij->goc", _split(padded[index], at.groups, 1), upper)
        dw[(..., *tap)] = part.reshape(shape[:2])
    return dw


def _im2col(np_: Any, op: conv.Im2colOp, x: Any) -> Any:
    at, n = op.windows, x.shape[0]
    counts = at.counts(x.shape[2:], op.kernel)
    padded = np_.pad(x, [(0, 0), (0, 0), *((p, p) for p in at.padding)])
    taps = np_.stack([padded[index] for index in _taps(padded, op.kernel, counts, at).values()], 2)
    return np_.transpose(taps, (0, 3, 4, 1, 2)).reshape(n * counts[0] * counts[1], -1)


def _jax_conv(at: conv.Windows, x: Any, w: Any) -> Any:
    letters = "HW"[2 - len(at.stride) :]
    padding = [(p, p) for p in at.padding]
    return jax.lax.conv_general_dilated(
        x,
        w,
        at.stride,
        padding,
        rhs_dilation=at.dilation,
        dimension_numbers=(f"NC{letters}", f"OI{letters}", f"NC{letters}"),
        feature_group_count=at.groups,
    )


def _jax_input(op: conv.Conv2dBackwardInputOp | conv.ConvTranspose2dOp, dy: Any, w: Any) -> Any:
    def forward(x: Any) -> Any:
        return _jax_conv(op.windows, x, w)[..., : dy.shape[2], : dy.shape[3]]

    (dx,) = jax.linear_transpose(forward, jnp.zeros(shape_of(op.result), dy.dtype))(dy)
    return dx


def _jax_weight(op: conv.Conv2dBackwardWeightOp, x: Any, dy: Any) -> Any:
    (dw,) = jax.linear_transpose(lambda w: _jax_conv(op.windows, x, w), jnp.zeros(shape_of(op.result), dy.dtype))(dy)
    return dw


SAMPLES = (*_samples(), *_other_samples())
ORACLE = {
    conv.ConvOp: _oracle_conv,
    conv.ConvTranspose2dOp: _oracle_input,
    conv.Conv2dBackwardInputOp: _oracle_input,
    conv.Conv2dBackwardWeightOp: _oracle_weight,
    conv.Im2colOp: lambda op, x: _im2col(np, op, widen(x)),
}
JAX = {
    conv.ConvOp: lambda op, x, w: _jax_conv(op.windows, x, w),
    conv.ConvTranspose2dOp: _jax_input,
    conv.Conv2dBackwardInputOp: _jax_input,
    conv.Conv2dBackwardWeightOp: _jax_weight,
    conv.Im2colOp: lambda op, x: _im2col(jnp, op, x),
}
