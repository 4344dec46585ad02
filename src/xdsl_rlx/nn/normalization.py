"""Normalisation by means and variances, and of weights.

Names and defaults are those of `torch.nn.functional`, with `axis` for the normalised shape; `standardize` is that of
`jax.nn`. Statistics of float16 and bfloat16 are computed in float32.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import accumulating, axis_index, check_integer, check_shape, floating
from xdsl_rlx.nn.distances import vector_norm
from xdsl_rlx.op_functions import function


def _along(vector: Any, axis: int, rank: int) -> Any:
    """A vector as an array of that rank, to be broadcast along `axis`."""
    return np.reshape(vector, tuple(-1 if i == axis else 1 for i in range(rank)))


def _scaled(y: Any, weight: Any, bias: Any, dtype: Any) -> Any:
    """`y weight + bias` in the given element type; the arguments have shapes to broadcast."""
    y = y if weight is None else y * weight.astype(y.dtype)
    return (y if bias is None else y + bias.astype(y.dtype)).astype(dtype)


@composite
def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
    axis: int = 1,
) -> Any:
    """
    Return `(x - mean) / sqrt(var + eps) weight + bias`, with statistics per channel: one for each position of `axis`.

    Without `training`, `mean` and `var` are the running statistics, and the result is `y` alone.

    With `training` they are the mean and the biased variance of `x` over all axes but `axis`, and the result is
    `(y, new_mean, new_var)`. The new statistics are `(1 - momentum) running + momentum batch`, with the unbiased
    variance of the batch; they have no gradient. If the running statistics are None, those of the batch are returned,
    as float32 or wider. An empty batch leaves the statistics as they are. Raises GraphError for one value per channel,
    which has no variance.

    The other arguments are `[C]`, the length of `axis`. `y` has the shape and the element type of `x`, the new
    statistics have those of the running ones (Ioffe and Szegedy, 2015).
    """
    rank = np.ndim(x)
    axis = axis_index("batch_norm", axis, rank)
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, vector in given.items():
        if vector is not None:
            check_shape("batch_norm", name, vector, (x.shape[axis],), f"the length of axis {axis} of x")
    if (running_mean is None) != (running_var is None):
        raise GraphError("batch_norm: expected both running_mean and running_var, or None for both")
    x, dtype = accumulating(x), floating(x).dtype
    weight, bias = (None if one is None else _along(one, axis, rank) for one in (weight, bias))
    if not training:
        if running_mean is None:
            raise GraphError("batch_norm: running_mean: expected an array, got None; without it, pass training=True")
        scale = 1 / np.sqrt(running_var.astype(x.dtype) + eps)
        y = (x - _along(running_mean.astype(x.dtype), axis, rank)) * _along(scale, axis, rank)
        return _scaled(y, weight, bias, dtype)
    others = tuple(i for i in range(rank) if i != axis)
    count = prod(x.shape[i] for i in others)
    if count == 1:
        raise GraphError(
            f"batch_norm: x: expected more than one value per channel, got shape {list(x.shape)}; pass training=False"
        )
    mean, var = np.mean(x, axis=others), np.var(x, axis=others)
    y = (x - _along(mean, axis, rank)) * _along(1 / np.sqrt(var + eps), axis, rank)
    return _scaled(y, weight, bias, dtype), *_moved(running_mean, running_var, mean, var, count, momentum)


def _moved(running_mean: Any, running_var: Any, mean: Any, var: Any, count: int, momentum: Any) -> tuple[Any, Any]:
    """The running statistics, moved towards those of a batch."""
    if not count and running_mean is not None:
        return running_mean, running_var
    mean, var = (function("stop_gradient")(one) for one in (mean, var * (count / max(count - 1, 1))))
    if running_mean is None:
        return mean, var
    pairs = ((function("stop_gradient")(one), other) for one, other in ((running_mean, mean), (running_var, var)))
    new_mean, new_var = (((1 - momentum) * one + momentum * other).astype(one.dtype) for one, other in pairs)
    return new_mean, new_var


def _filled(x: Any, weight: Any, bias: Any, length: int) -> tuple[Any, Any]:
    """Gains and offsets in the element type of `x`: ones and zeros for those left out."""
    found = []
    for given, number in ((weight, 1), (bias, 0)):
        value = function("full")((length,), number, x.dtype) if given is None else given
        found.append(np.reshape(value, (length,)).astype(x.dtype))
    return found[0], found[1]


@composite
def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """
    Return `(x - mean) / sqrt(var + eps) weight + bias`, with statistics over the channels of a group of a sample.

    `x` is `[N, C, ...]`; its channels form `num_groups` groups of neighbours. Mean and biased variance are taken over
    a group and all positions. `weight` and `bias` are `[C]` (Wu and He, 2018).
    """
    if np.ndim(x) < 2:
        raise GraphError(f"group_norm: x: expected [N, C, ...], got {list(np.shape(x))}")
    x, channels = floating(x), x.shape[1]
    check_integer("group_norm", "num_groups", num_groups, 1)
    if channels % num_groups:
        raise GraphError(f"group_norm: num_groups: expected a divisor of {channels} channels, got {shown(num_groups)}")
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector is not None:
            check_shape("group_norm", name, vector, (channels,), "one number per channel")
    return function("group_norm")(x, *_filled(x, weight, bias, channels), num_groups, eps)


@composite
def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Any:
    """
    Return `(x - mean) / sqrt(var + eps) weight + bias`, with statistics per sample and channel of `x` `[N, C, ...]`.

    With running statistics `[C]` the result is `(y, new_mean, new_var)`, as of `batch_norm` with `training`, where
    the statistics of a batch are the means over its samples. Without `use_input_stats` the running statistics
    normalise `x`, and the result is `y` alone. `weight` and `bias` are `[C]` (Ulyanov et al., 2016).
    """
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, eps=eps)
    if np.ndim(x) < 3 or prod(x.shape[2:]) == 1:
        raise GraphError(f"instance_norm: x: expected [N, C, ...] with more than one position, got {list(np.shape(x))}")
    if (running_mean is None) != (running_var is None):
        raise GraphError("instance_norm: expected both running_mean and running_var, or None for both")
    y = group_norm(x, x.shape[1], weight, bias, eps) if x.shape[1] else floating(x)
    if running_mean is None:
        return y
    spatial, count = tuple(range(2, np.ndim(x))), prod(x.shape[2:])
    x = accumulating(x)
    mean, var = (np.mean(one, axis=0) for one in (np.mean(x, axis=spatial), np.var(x, axis=spatial)))
    return y, *_moved(running_mean, running_var, mean, var, count if x.shape[0] else 0, momentum)


@composite
def layer_norm(x: Any, weight: Any = None, bias: Any = None, axis: int | Sequence[int] = -1, eps: float = 1e-5) -> Any:
    """
    Return `(x - mean) / sqrt(var + eps) weight + bias`, with the mean and biased variance over one or more axes.

    `weight` and `bias` have the shape of these axes of `x`, in the order of the axes (Ba et al., 2016).
    """
    return _over_axes("layer_norm", x, weight, bias, axis, eps)


@composite
def rms_norm(x: Any, weight: Any = None, axis: int | Sequence[int] = -1, eps: float | None = None) -> Any:
    """
    Return `x / sqrt(mean(x^2) + eps) weight`, with the mean over one or more axes.

    `weight` has the shape of these axes of `x`. The default of `eps` is the distance from 1 to the next number of the
    element type, as in PyTorch (Zhang and Sennrich, 2019).
    """
    if eps is None:
        eps = float({2: np.finfo(np.float16), 4: np.finfo(np.float32), 8: np.finfo(np.float64)}[_bytes(x)].eps)
        eps = eps if str(x.dtype) not in ("bf16", "bfloat16") else 2.0**-7
    return _over_axes("rms_norm", x, weight, None, axis, eps)


def _bytes(x: Any) -> int:
    return np.dtype(floating(x).dtype).itemsize


def _over_axes(name: str, x: Any, weight: Any, bias: Any, axis: int | Sequence[int], eps: float) -> Any:
    """A normalisation along axes, which are moved to the end and made one."""
    if isinstance(weight, int) or (isinstance(weight, tuple | list) and all(isinstance(one, int) for one in weight)):
        # PyTorch's second argument
        raise GraphError(
            f"{name}: weight: expected an array, got {shown(weight)}; there is no argument normalized_shape: "
            "axis= selects the axes, -1 by default"
        )
    x = floating(x)
    rank = np.ndim(x)
    axes = tuple(axis_index(name, one, rank) for one in (axis if isinstance(axis, Sequence) else (axis,)))
    if len(set(axes)) != len(axes) or not axes:
        raise GraphError(f"{name}: axis: expected different axes, got {shown(axis)}")
    axes = tuple(sorted(axes))
    shape = tuple(x.shape[i] for i in axes)
    for what, vector in (("weight", weight), ("bias", bias)):
        if vector is not None:
            check_shape(name, what, vector, shape, f"that of axes {list(axes)} of x")
    if len(axes) == 1:
        return function(name)(x, *_filled(x, weight, bias, shape[0]), axes[0], eps)
    ends = tuple(range(rank - len(axes), rank))
    moved = np.moveaxis(x, axes, ends)
    rows = moved.reshape(*moved.shape[: rank - len(axes)], prod(shape))
    y = function(name)(rows, *_filled(x, weight, bias, prod(shape)), -1, eps)
    return np.moveaxis(y.reshape(moved.shape), ends, axes)


@composite
def standardize(
    x: Any,
    axis: int | Sequence[int] | None = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
) -> Any:
    """
    Return `(x - mean) / sqrt(variance + epsilon)`, as `jax.nn.standardize`.

    `mean` and `variance` are by default those along `axis` of the elements where `where` is true; the variance is
    `mean(x^2) - mean^2`, at least 0.
    """
    x = floating(x)
    wide = accumulating(x)
    axis = tuple(axis) if isinstance(axis, Sequence) else axis
    chosen: dict[str, Any] = {} if where is None else {"where": where}
    if mean is None:
        mean = np.mean(wide, axis=axis, keepdims=True, **chosen)
    if variance is None:
        variance = np.maximum(np.mean(wide * wide, axis=axis, keepdims=True, **chosen) - mean * mean, 0)
    return ((wide - mean) / np.sqrt(variance + epsilon)).astype(x.dtype)


@composite
def local_response_norm(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """
    Return `x / (k + alpha mean(x^2))^beta`, with the mean over a window of `size` channels around each channel.

    `x` is `[N, C, ...]`. The window has `size div 2` channels before; channels outside of `x` count as 0
    (Krizhevsky et al., 2012).
    """
    check_integer("local_response_norm", "size", size, 1)
    x = floating(x)
    channels = x.shape[1]
    squares = function("pad")(x * x, ((0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (np.ndim(x) - 2)))
    total = sum(squares[:, i : i + channels] for i in range(size))
    return x / (k + alpha / size * total) ** beta


@composite
def weight_norm(v: Any, g: Any, axis: int | None = 0) -> Any:
    """
    Return `g v / |v|`, with the Euclidean norm over all axes but `axis`, or over all with None.

    `g` broadcasts with `v`: a norm for each position of `axis`, as `weight_g` of PyTorch; a vector is read as one along
    `axis` (Salimans and Kingma, 2016).
    """
    if axis is None:
        return v * (g / np.sqrt(np.sum(v * v)))
    axis = axis_index("weight_norm", axis, np.ndim(v))
    others = tuple(i for i in range(np.ndim(v)) if i != axis)
    if np.ndim(g) == 1:
        g = _along(g, axis, np.ndim(v))
    return v * (g / np.sqrt(np.sum(v * v, axis=others, keepdims=True)))


@composite
def spectral_norm(weight: Any, u: Any, n_iterations: int = 1, axis: int = 0, eps: float = 1e-12) -> tuple[Any, Any]:
    """
    Return `(weight / sigma, new_u)`, `sigma` an estimate of the largest singular value of the weight as a matrix.

    The matrix has `axis` as rows and all other axes as columns. `u` has the length of `axis` and estimates the left
    singular vector; each iteration computes `v = normalize(W^T u)`, `u = normalize(W v)`, and `sigma = u . W v`. The
    vectors have no gradient. Pass `new_u` to the next call, and `n_iterations=0` for evaluation (Miyato et al., 2018).
    """
    name = "spectral_norm"
    axis = axis_index(name, axis, np.ndim(weight))
    check_shape(name, "u", u, (weight.shape[axis],), f"the length of axis {axis} of weight")
    check_integer(name, "n_iterations", n_iterations, 0)
    matrix = np.moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1)
    still, u = function("stop_gradient")(matrix), function("stop_gradient")(u)
    v = _unit(u @ still, eps)
    for i in range(n_iterations):
        v = _unit(u @ still, eps) if i else v
        u = _unit(still @ v, eps)
    return weight / np.sum(u * (matrix @ v)), u


def _unit(x: Any, eps: float) -> Any:
    return x / np.maximum(vector_norm(x, 2, -1), eps)
