"""Rows of normalisations and of their gradients, which use the statistics that the forward pass saves."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.backward import gradients
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of, numpy_dtype


def _accumulating(x: Any) -> str:
    """The element type of statistics."""
    return "f32" if dtype_of(x) in ("f16", "bf16") else dtype_of(x)


def _along_channels(vector: Any, rank: int) -> Any:
    return vector.reshape((1, -1, *(1,) * (rank - 2)))


def _statistics(x: Any, axes: Sequence[int], eps: float) -> tuple[Any, Any]:
    """Mean and reciprocal standard deviation, axes kept."""
    mean = np.mean(x, axis=tuple(axes), keepdims=True)
    var = np.mean(np.square(x - mean), axis=tuple(axes), keepdims=True)
    return mean, 1 / np.sqrt(var + eps)


def _of_input(own: Any, scaled: Any, x_hat: Any, rstd: Any, axes: Sequence[int]) -> Any:
    """The cotangent of what is normalised: that of the difference from the mean, less its share in the deviation."""
    return (own - x_hat * np.mean(scaled * x_hat, axis=tuple(axes), keepdims=True)) * rstd


@ROWS.add("layer_norm.default")
def layer_norm(
    c: Call,
    input: Any,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Normalisation over the last axes."""
    return nn.layer_norm(input, weight, bias, tuple(range(-len(normalized_shape), 0)), eps)


@ROWS.add("native_layer_norm.default")
def _native_layer_norm(c: Call, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    """With mean and reciprocal standard deviation, axes kept."""
    mean, rstd = _statistics(cast(input, c.dtypes[1]), range(-len(normalized_shape), 0), eps)
    return [layer_norm(c, input, normalized_shape, weight, bias, eps), mean, rstd]


@ROWS.add("native_layer_norm_backward.default")
def _layer_norm_backward(
    c: Call,
    grad_out: Any,
    input: Any,
    normalized_shape: Sequence[int],
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Sequence[bool],
) -> Any:
    axes = tuple(range(-len(normalized_shape), 0))
    front = tuple(range(np.ndim(input) - len(normalized_shape)))
    x_hat = (cast(input, dtype_of(mean)) - mean) * rstd
    g = cast(grad_out, dtype_of(mean))
    found: list[Any] = [None, None, None]
    if output_mask[0]:
        scaled = g if weight is None else g * weight
        centred = scaled - np.mean(scaled, axis=axes, keepdims=True)
        found[0] = cast(_of_input(centred, scaled, x_hat, rstd, axes), dtype_of(input))
    if output_mask[1] and weight is not None:
        found[1] = cast(np.sum(g * x_hat, axis=front), dtype_of(weight))
    if output_mask[2] and bias is not None:
        found[2] = cast(np.sum(g, axis=front), dtype_of(bias))
    return found


@ROWS.add("rms_norm.default")
def _rms_norm(
    c: Call, input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Any:
    return nn.rms_norm(input, weight, tuple(range(-len(normalized_shape), 0)), eps)


@ROWS.add("_fused_rms_norm.default")
def _rms_norm_with_statistics(
    c: Call, input: Any, normalized_shape: Sequence[int], weight: Any, eps: float | None
) -> Any:
    """With the reciprocal root of the mean square, axes kept."""
    axes = tuple(range(-len(normalized_shape), 0))
    given = float(np.finfo(numpy_dtype(dtype_of(input))).eps) if eps is None else eps
    wide = cast(input, c.dtypes[1])
    rstd = 1 / np.sqrt(np.mean(np.square(wide), axis=axes, keepdims=True) + given)
    return [nn.rms_norm(input, weight, axes, given), rstd]


@ROWS.add("_fused_rms_norm_backward.default")
def _rms_norm_backward(
    c: Call,
    grad_out: Any,
    input: Any,
    normalized_shape: Sequence[int],
    rstd: Any,
    weight: Any,
    output_mask: Sequence[bool],
) -> Any:
    axes = tuple(range(-len(normalized_shape), 0))
    front = tuple(range(np.ndim(input) - len(normalized_shape)))
    x_hat = cast(input, dtype_of(rstd)) * rstd
    g = cast(grad_out, dtype_of(rstd))
    found: list[Any] = [None, None]
    if output_mask[0]:
        scaled = g if weight is None else g * cast(weight, dtype_of(rstd))
        found[0] = cast(_of_input(scaled, scaled, x_hat, rstd, axes), dtype_of(input))
    if output_mask[1] and weight is not None:
        found[1] = cast(np.sum(g * x_hat, axis=front), dtype_of(weight))
    return found


@ROWS.add("batch_norm.default")
def _batch_norm(
    c: Call,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    y = nn.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    return y[0] if training else y


@ROWS.add("instance_norm.default")
def _instance_norm(
    c: Call,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    if use_input_stats:
        return nn.instance_norm(input, weight=weight, bias=bias, eps=eps)
    return nn.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)


def _batch_norm_parts(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> list[Any]:
    """The result, mean and reciprocal deviation of the batch, and the new running statistics."""
    if not training:
        y = nn.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        nothing = np.zeros(0, numpy_dtype(_accumulating(input)))
        return [y, nothing, nothing, running_mean, running_var]
    rank, channels = np.ndim(input), input.shape[1]
    axes = tuple(axis for axis in range(rank) if axis != 1)
    wide = cast(input, _accumulating(input))
    mean = np.mean(wide, axis=axes)
    var = np.mean(np.square(wide - _along_channels(mean, rank)), axis=axes)
    rstd = 1 / np.sqrt(var + eps)
    y = (wide - _along_channels(mean, rank)) * _along_channels(rstd, rank)
    if weight is not None:
        y = y * _along_channels(weight, rank)
    if bias is not None:
        y = y + _along_channels(bias, rank)
    count = prod(input.shape) // max(channels, 1)
    unbiased = var * (count / max(count - 1, 1))
    pairs = ((running_mean, mean), (running_var, unbiased))
    moved = [old if old is None else cast((1 - momentum) * old + momentum * new, dtype_of(old)) for old, new in pairs]
    return [cast(y, dtype_of(input)), mean, rstd, *moved]


@ROWS.add("_native_batch_norm_legit_functional.default", composite=True)
def _batch_norm_functional(c: Call, input: Any, weight: Any, bias: Any, *args: Any) -> Any:
    return _batch_norm_parts(input, weight, bias, *args)


@ROWS.add("_native_batch_norm_legit.no_stats", composite=True)
def _batch_norm_no_statistics(
    c: Call, input: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    return _batch_norm_parts(input, weight, bias, None, None, training, momentum, eps)[:3]


@ROWS.add("_native_batch_norm_legit_no_training.default", composite=True)
def _batch_norm_no_training(
    c: Call, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    return _batch_norm_parts(input, weight, bias, running_mean, running_var, False, momentum, eps)[:3]


@ROWS.add("native_batch_norm_backward.default", composite=True)
def _batch_norm_backward(
    c: Call,
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> Any:
    rank = np.ndim(input)
    axes = tuple(axis for axis in range(rank) if axis != 1)
    dtype = _accumulating(input)
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, 1 / np.sqrt(cast(running_var, dtype) + eps))
    mean, scale = (_along_channels(cast(one, dtype), rank) for one in (mean, rstd))
    g = cast(grad_out, dtype)
    x_hat = (cast(input, dtype) - mean) * scale
    d_bias, d_weight = np.sum(g, axis=axes), np.sum(g * x_hat, axis=axes)
    found: list[Any] = [None, None, None]
    if output_mask[0]:
        if weight is not None:
            scale = scale * _along_channels(cast(weight, dtype), rank)
        if train:
            count = prod(input.shape) / max(input.shape[1], 1)
            mean_g, mean_gx = (_along_channels(one / count, rank) for one in (d_bias, d_weight))
            g = g - mean_g - x_hat * mean_gx
        found[0] = cast(g * scale, dtype_of(input))
    kind = dtype if weight is None else dtype_of(weight)
    if output_mask[1]:
        found[1] = cast(d_weight, kind)
    if output_mask[2]:
        found[2] = cast(d_bias, kind)
    return found


@ROWS.add("group_norm.default")
def _group_norm(
    c: Call,
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    return nn.group_norm(input, num_groups, weight, bias, eps)


@ROWS.add("native_group_norm.default", composite=True)
def _native_group_norm(
    c: Call, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """With mean and reciprocal deviation of each group of a sample, `[N, group]`."""
    dtype = c.dtypes[1]
    x = cast(input, dtype).reshape(N, group, C // group, HxW)
    mean, rstd = _statistics(x, (2, 3), eps)
    y = (x - mean) * rstd
    for vector, combine in ((weight, np.multiply), (bias, np.add)):
        if vector is not None:
            y = combine(y, cast(vector, dtype).reshape(1, group, C // group, 1))
    return [cast(y, c.dtype).reshape(input.shape), mean.reshape(N, group), rstd.reshape(N, group)]


@ROWS.add("native_group_norm_backward.default", composite=True)
def _group_norm_backward(
    c: Call,
    grad_out: Any,
    input: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> Any:
    """All sums over positions are taken at once, per channel of a sample; those over groups are of these."""
    dtype, shape = dtype_of(mean), (N, group, C // group, HxW)
    g = cast(grad_out, dtype).reshape(shape)
    mean, rstd = (one.reshape(N, group, 1, 1) for one in (mean, rstd))
    x_hat = (cast(input, dtype).reshape(shape) - mean) * rstd
    of_g, of_gx = np.sum(g, axis=3, keepdims=True), np.sum(g * x_hat, axis=3, keepdims=True)
    found: list[Any] = [None, None, None]
    kind = dtype if weight is None else dtype_of(weight)
    if output_mask[0]:
        gain = 1.0 if weight is None else cast(weight, dtype).reshape(1, group, C // group, 1)
        share = HxW * (C // group)
        mean_g, mean_gx = (np.sum(one * gain, axis=2, keepdims=True) / share for one in (of_g, of_gx))
        found[0] = cast((g * gain - mean_g - x_hat * mean_gx) * rstd, dtype_of(input)).reshape(input.shape)
    if output_mask[1]:
        found[1] = cast(np.sum(of_gx, axis=0).reshape(C), kind)
    if output_mask[2]:
        found[2] = cast(np.sum(of_g, axis=0).reshape(C), kind)
    return found


@ROWS.add("_weight_norm_interface_backward.default", composite=True)
def _weight_norm_backward(c: Call, grad_w: Any, saved_v: Any, saved_g: Any, saved_norms: Any, dim: int) -> Any:
    return gradients(lambda v, g: nn.weight_norm(v, g, dim), (saved_v, saved_g), grad_w)
