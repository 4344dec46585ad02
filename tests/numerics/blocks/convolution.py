"""Convolutions with what stands behind them, by loops over taps."""

from itertools import product
from typing import Any

import numpy as np
from numerics.blocks import activations, sample
from numerics.blocks.normalization import group_norm

from xdsl_rlx.dialects.hir.convolution import ConvBlockOp, DepthwiseConv1dCausalOp, ResidualConvBlockOp


def conv(np_: Any, x: Any, w: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Any:
    """The sum over taps of images that are moved."""
    rank = x.ndim - 2
    x = np_.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * rank])
    counts = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    outputs = w.shape[0] // groups
    parts = []
    for group in range(groups):
        images = x[:, group * w.shape[1] : (group + 1) * w.shape[1]]
        total: Any = 0.0
        for tap in product(*map(range, w.shape[2:])):
            at = [
                slice(k * dilation, k * dilation + stride * (n - 1) + 1, stride)
                for k, n in zip(tap, counts, strict=True)
            ]
            weight = w[group * outputs : (group + 1) * outputs][(..., *tap)]
            total = total + np_.einsum("nc...,oc->no...", images[(slice(None), slice(None), *at)], weight)
        parts.append(total)
    return np_.concatenate(parts, axis=1)


def _by_channel(vector: Any, x: Any) -> Any:
    return vector.reshape(1, -1, *[1] * (x.ndim - 2))


def _normalized(np_: Any, x: Any, norm: list[Any], num_groups: int | None, eps: float) -> Any:
    if not norm:
        return x
    if num_groups is not None:
        return group_norm(np_, x, *norm, num_groups, eps)
    gamma, beta, mean, var = (_by_channel(vector, x) for vector in norm)
    return (x - mean) / np_.sqrt(var + eps) * gamma + beta


_VECTORS = ("gamma", "beta", "mean", "var")


def _norm(given: dict[str, Any], end: str = "") -> list[Any]:
    return [given[name + end] for name in _VECTORS if name + end in given]


def _conv_block(activation: str | None, num_groups: int | None = None, eps: float = 1e-5, **windows: int) -> Any:
    def reference(np_: Any, x: Any, w: Any, b: Any = None, **given: Any) -> Any:
        y = conv(np_, x, w, **windows)
        y = y if b is None else y + _by_channel(b, y)
        return activations(np_)[activation](_normalized(np_, y, _norm(given), num_groups, eps))

    return reference


def _built(**options: Any) -> Any:
    def build(m: Any, x: Any, w: Any, b: Any = None, **given: Any) -> Any:
        return m.conv_block(x, w, b, _norm(given), **options)

    return build


def _residual(activation: str, stride: int, num_groups: int | None, eps: float = 1e-5) -> Any:
    def reference(np_: Any, x: Any, w1: Any, w2: Any, shortcut_w: Any = None, **given: Any) -> Any:
        f = activations(np_)[activation]
        h = conv(np_, x, w1, stride, w1.shape[2] // 2)
        h = f(_normalized(np_, h, _norm(given, "1"), num_groups, eps))
        y = _normalized(np_, conv(np_, h, w2, 1, w2.shape[2] // 2), _norm(given, "2"), num_groups, eps)
        if shortcut_w is not None:
            x = _normalized(np_, conv(np_, x, shortcut_w, stride), _norm(given, "3"), num_groups, eps)
        return f(y + x)

    return reference


def _residual_block(**options: Any) -> Any:
    def build(m: Any, x: Any, w1: Any, w2: Any, shortcut_w: Any = None, **given: Any) -> Any:
        norms = [_norm(given, end) for end in "123"]
        return m.residual_conv_block(x, w1, w2, shortcut_w, *norms, **options)

    return build


def _vectors(count: int, kinds: int, end: str = "") -> dict[str, Any]:
    """The vectors of a norm; variances are positive."""
    rng = np.random.default_rng(count)
    found: dict[str, Any] = {name + end: (count,) for name in _VECTORS[:kinds]}
    return found | ({f"var{end}": rng.uniform(0.5, 2, count)} if kinds == 4 else {})


def _causal(np_: Any, x: Any, w: Any, left_pad: Any = None) -> Any:
    batch, times, channels = x.shape
    taps = w.shape[3]
    past = np_.concatenate([np.zeros((batch, taps - 1, channels)) if left_pad is None else left_pad, x], axis=1)
    return sum(past[:, k : k + times] * w[:, 0, 0, k] for k in range(taps))


SAMPLES = (
    sample("conv_block", ConvBlockOp, _conv_block(None), {"x": (2, 3, 5, 4), "w": (4, 3, 2, 3)}),
    sample(
        "conv_block-bias",
        ConvBlockOp,
        _conv_block("relu", stride=2, padding=1, dilation=2),
        {"x": (2, 3, 7), "w": (2, 3, 3), "b": (2,)},
        stride=2,
        padding=1,
        dilation=2,
        activation="relu",
    ),
    sample(
        "conv_block-batch",
        ConvBlockOp,
        _conv_block("silu", eps=0.01, groups=2, padding=1),
        {"x": (1, 4, 3, 5), "w": (6, 2, 3, 3), **_vectors(6, 4)},
        build=_built(groups=2, padding=1, activation="silu", eps=0.01),
    ),
    sample(
        "conv_block-group",
        ConvBlockOp,
        _conv_block("gelu", 2),
        {"x": (2, 1, 4, 3), "w": (4, 1, 2, 2), "b": (4,), **_vectors(4, 2)},
        build=_built(num_groups=2, activation="gelu"),
    ),
    sample(
        "residual_conv_block",
        ResidualConvBlockOp,
        _residual("relu", 1, None),
        {"x": (2, 3, 4, 5), "w1": (3, 3, 3, 3), "w2": (3, 3, 1, 1), **_vectors(3, 4, "1"), **_vectors(3, 4, "2")},
        build=_residual_block(),
    ),
    sample(
        "residual_conv_block-bare",
        ResidualConvBlockOp,
        _residual("tanh", 1, None),
        {"x": (1, 2, 5), "w1": (4, 2, 3), "w2": (2, 4, 3)},
        build=_residual_block(activation="tanh"),
    ),
    sample(
        "residual_conv_block-shortcut",
        ResidualConvBlockOp,
        _residual("silu", 2, 2, 0.05),
        {
            "x": (1, 2, 5, 4),
            "w1": (4, 2, 3, 3),
            "w2": (4, 4, 3, 3),
            "shortcut_w": (4, 2, 1, 1),
            **_vectors(4, 2, "1"),
            **_vectors(4, 2, "2"),
            **_vectors(4, 2, "3"),
        },
        build=_residual_block(activation="silu", stride=2, num_groups=2, eps=0.05),
    ),
    sample("depthwise_conv1d_causal", DepthwiseConv1dCausalOp, _causal, {"x": (2, 5, 3), "w": (3, 1, 1, 4)}),
    sample(
        "depthwise_conv1d_causal-goes-on",
        DepthwiseConv1dCausalOp,
        _causal,
        {"x": (2, 2, 3), "w": (3, 1, 1, 4), "left_pad": (2, 3, 3)},
    ),
    sample("depthwise_conv1d_causal-one", DepthwiseConv1dCausalOp, _causal, {"x": (1, 2, 3), "w": (3, 1, 1, 1)}),
)
