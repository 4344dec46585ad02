"""Activation functions, elementwise but for `glu` and the softmax family.

Names and parameters are those of `jax.nn`; functions that only PyTorch has keep PyTorch's defaults. Element types are
kept: float16 and bfloat16 arguments give results of their type. Integers are converted to the default float type.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import inf, log
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.nn.arguments import floating
from xdsl_rlx.op_functions import function

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946
"""Fixed points of mean 0 and variance 1 (Klambauer et al., 2017)."""


@composite
def relu(x: Any) -> Any:
    """Return `max(x, 0)`. The derivative at 0 is 0."""
    return function("relu")(floating(x))


@composite
def relu6(x: Any) -> Any:
    """Return `min(max(x, 0), 6)`. The derivative at 0 and 6 is 0."""
    return np.where(x >= 6, 6, relu(x))


@composite
def sigmoid(x: Any) -> Any:
    """Return `1 / (1 + e^-x)`."""
    return function("sigmoid")(floating(x))


@composite
def log_sigmoid(x: Any) -> Any:
    """Return `ln(1 / (1 + e^-x))`, without overflow."""
    return -function("softplus")(-floating(x))


@composite
def silu(x: Any) -> Any:
    """Return `x sigmoid(x)`, which is also called swish (Elfwing et al., 2018)."""
    return function("silu")(floating(x))


swish = silu


@composite
def gelu(x: Any, approximate: bool = True) -> Any:
    """
    Return `x ndtr(x)`, or with `approximate` `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.

    As in `jax.nn.gelu`, and other than in PyTorch, the approximation is the default (Hendrycks and Gimpel, 2016).
    """
    return function("gelu_approx" if approximate else "gelu")(floating(x))


@composite
def softplus(x: Any, beta: float = 1.0) -> Any:
    """Return `ln(1 + e^(beta x)) / beta`, without overflow."""
    x = floating(x)
    return function("softplus")(x) if beta == 1.0 else function("softplus")(beta * x) / beta


@composite
def squareplus(x: Any, b: Any = 4.0) -> Any:
    """Return `(x + sqrt(x^2 + b)) / 2` (Barron, 2021)."""
    return (x + np.sqrt(x * x + b)) * 0.5


@composite
def soft_sign(x: Any) -> Any:
    """Return `x / (1 + |x|)`."""
    return x / (1 + abs(x))


@composite
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """Return `x` where it is positive, else `alpha (e^x - 1)` (Clevert et al., 2016)."""
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


@composite
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """Return `x` where it is positive, else `alpha (e^(x / alpha) - 1)` (Barron, 2017)."""
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x) / alpha))


@composite
def selu(x: Any) -> Any:
    """Return `scale elu(x, alpha)` with constants that keep mean 0 and variance 1 (Klambauer et al., 2017)."""
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@composite
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """Return `x` where it is not negative, else `negative_slope x`. The derivative at 0 is 1."""
    return np.where(x >= 0, x, negative_slope * x)


@composite
def prelu(x: Any, weight: Any, axis: int = 1) -> Any:
    """
    Return `x` where it is not negative, else `weight x`; `weight` is one number, or one per element of `axis`.

    The default axis is that of PyTorch: the channels of `[N, C, ...]` (He et al., 2015).
    """
    if np.ndim(weight) == 1 and np.ndim(x) > 1:
        weight = np.reshape(weight, tuple(-1 if i == axis % np.ndim(x) else 1 for i in range(np.ndim(x))))
    return np.where(x >= 0, x, weight * x)


@composite
def hard_tanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Return `x`, at least `min_val` and at most `max_val`. The derivative at the bounds is 0."""
    return np.where(x >= max_val, max_val, np.where(x <= min_val, min_val, x))


@composite
def hard_sigmoid(x: Any) -> Any:
    """Return `relu6(x + 3) / 6` (Howard et al., 2019)."""
    return relu6(x + 3.0) / 6.0


@composite
def hard_silu(x: Any) -> Any:
    """Return `x hard_sigmoid(x)`, which is also called hard swish (Howard et al., 2019)."""
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@composite
def mish(x: Any) -> Any:
    """Return `x tanh(softplus(x))` (Misra, 2019)."""
    return x * np.tanh(function("softplus")(floating(x)))


@composite
def tanhshrink(x: Any) -> Any:
    """Return `x - tanh(x)`."""
    return x - np.tanh(x)


@composite
def softshrink(x: Any, lambd: float = 0.5) -> Any:
    """Return `x - lambd` above `lambd`, `x + lambd` below `-lambd`, else 0."""
    return np.where(abs(x) <= lambd, 0, x - lambd * np.sign(x))


@composite
def threshold(x: Any, threshold: float, value: float) -> Any:
    """Return `x` where it exceeds `threshold`, else `value`."""
    return np.where(x <= threshold, value, x)


@composite
def glu(x: Any, axis: int = -1) -> Any:
    """Return the first half of `x` along `axis` times the sigmoid of the second half (Dauphin et al., 2017)."""
    first, second = np.split(x, 2, axis)
    return first * sigmoid(second)


@composite
def hard_shrink(x: Any, lambd: float = 0.5) -> Any:
    """Return `x` where its absolute value exceeds `lambd`, else 0."""
    return np.where(abs(x) <= lambd, 0, x)


@composite
def softmax(x: Any, axis: int = -1, where: Any = None) -> Any:
    """
    Return `e^x / sum e^x`, the sum along `axis`, without overflow.

    Elements where `where` is false do not count and give 0, also if there are no others.
    """
    if where is None:
        return function("softmax")(floating(x), axis)
    return np.where(where, function("softmax")(np.where(where, floating(x), -inf), axis), 0)


@composite
def softmin(x: Any, axis: int = -1) -> Any:
    """Return `softmax(-x)` along `axis`."""
    return function("softmax")(-floating(x), axis)


@composite
def log_softmax(x: Any, axis: int = -1, where: Any = None) -> Any:
    """
    Return `x - ln sum e^x`, the sum along `axis`: the logarithm of `softmax`, finite where that is 0.

    Elements where `where` is false do not count and give minus infinity, also if there are no others.
    """
    if where is None:
        return function("log_softmax")(floating(x), axis)
    return np.where(where, function("log_softmax")(np.where(where, floating(x), -inf), axis), -inf)


@composite
def identity(x: Any) -> Any:
    """Return `x`."""
    return x


@composite
def sparse_plus(x: Any) -> Any:
    """Return 0 up to -1, `(x + 1)^2 / 4` up to 1 and `x` above (Martins and Astudillo, 2016)."""
    x = floating(x)
    inside = np.clip(x, -1, 1) + 1
    return np.where(x >= 1, x, np.where(x <= -1, 0, inside * inside / 4))


@composite
def sparse_sigmoid(x: Any) -> Any:
    """Return `(clip(x, -1, 1) + 1) / 2`, the derivative of `sparse_plus`."""
    x = floating(x)
    return np.where(x <= -1, 0, np.where(x >= 1, 1, (x + 1) / 2))


@composite
def log1mexp(x: Any) -> Any:
    """
    Return `ln(1 - e^-x)` for positive `x`: -inf at 0, NaN below.

    `ln(-expm1(-x))` up to ln 2 and `log1p(-e^-x)` above it are accurate everywhere (Maechler, 2012).
    """
    x = floating(x)
    small = x <= log(2)
    near, far = np.where(small, x, 1), np.where(small, 1, x)
    return np.where(small, np.log(-np.expm1(-near)), np.log1p(-np.exp(-far)))


@composite
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """
    Return `ln mean e^x` along `axis`, by default all, without overflow; the mean of no elements gives NaN.

    Elements where `where` is false do not count.
    """
    x = floating(x)
    if where is None:
        total = function("logsumexp")(x, axis, keepdims)
        count = x.size // max(total.size, 1)
        return total - (log(count) if count else -inf)
    where = np.broadcast_to(where, x.shape)
    total = function("logsumexp")(np.where(where, x, -inf), axis, keepdims)
    return total - np.log(np.sum(where, axis=axis, keepdims=keepdims).astype(x.dtype))
