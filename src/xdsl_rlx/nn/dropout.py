"""Functions of random numbers: dropout and its variants, `rrelu` and `gumbel_softmax`.

Each takes a `key`, an i64 array `[2]` as of `rlx.rng_split` that must not be used elsewhere. Without it, dropout
returns its argument, so that training and evaluation share one model.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import axis_index, floating
from xdsl_rlx.op_functions import function

_LOWEST = -1.7580993408473766
"""The limit of SELU at minus infinity: `-scale alpha`."""


def _kept(name: str, p: float, key: Any, shape: tuple[int, ...]) -> Any:
    """Where elements are kept, which has the probability `1 - p`."""
    if not 0.0 <= p <= 1.0:
        raise GraphError(f"{name}: p: expected a probability from 0 to 1, got {shown(p)}")
    if key is None or p == 0.0:
        return None
    return np.zeros(shape, bool) if p == 1.0 else function("rng_uniform")(key, shape) >= np.float32(p)


def _dropped(x: Any, kept: Any, p: float) -> Any:
    return x if kept is None else x * 0.0 if p == 1.0 else np.where(kept, x / (1.0 - p), 0)


@composite
def dropout(x: Any, p: float = 0.5, key: Any = None) -> Any:
    """
    Return `x` with elements set to 0 with probability `p`, and the others divided by `1 - p`.

    (Srivastava et al., 2014)
    """
    x = floating(x)
    return _dropped(x, _kept("dropout", p, key, tuple(x.shape)), p)


def _channels(name: str, x: Any, axes: int, p: float, key: Any) -> Any:
    """A random number for each channel of `[N, C, ...]` or `[C, ...]`."""
    if np.ndim(x) not in (axes + 1, axes + 2):
        raise GraphError(
            f"{name}: x: expected [N, C, ...] or [C, ...] with {axes} spatial axes, got {list(np.shape(x))}"
        )
    lead = tuple(x.shape[: np.ndim(x) - axes])
    return _dropped(floating(x), _kept(name, p, key, (*lead, *(1,) * axes)), p)


@composite
def dropout1d(x: Any, p: float = 0.5, key: Any = None) -> Any:
    """Return `dropout` of whole channels of `[N, C, W]` or `[C, W]` (Tompson et al., 2015)."""
    return _channels("dropout1d", x, 1, p, key)


@composite
def dropout2d(x: Any, p: float = 0.5, key: Any = None) -> Any:
    """Return `dropout` of whole channels of `[N, C, H, W]` or `[C, H, W]` (Tompson et al., 2015)."""
    return _channels("dropout2d", x, 2, p, key)


@composite
def dropout3d(x: Any, p: float = 0.5, key: Any = None) -> Any:
    """Return `dropout` of whole channels of `[N, C, D, H, W]` or `[C, D, H, W]` (Tompson et al., 2015)."""
    return _channels("dropout3d", x, 3, p, key)


def _alpha(x: Any, kept: Any, p: float) -> Any:
    """Dropout that sets the limit of SELU, and then scales to the mean 0 and variance 1 that it had."""
    if kept is None:
        return x
    if p == 1.0:
        return x * 0.0
    scale = ((1 - p) * (1 + p * _LOWEST**2)) ** -0.5
    return np.where(kept, x, _LOWEST) * scale - scale * _LOWEST * p


@composite
def alpha_dropout(x: Any, p: float = 0.5, key: Any = None) -> Any:
    """
    Return `x` with elements set to the limit of SELU with probability `p`, scaled to keep mean 0 and variance 1.

    (Klambauer et al., 2017)
    """
    x = floating(x)
    return _alpha(x, _kept("alpha_dropout", p, key, tuple(x.shape)), p)


@composite
def feature_alpha_dropout(x: Any, p: float = 0.5, key: Any = None) -> Any:
    """Return `alpha_dropout` of whole channels of `[N, C, ...]`."""
    x = floating(x)
    if np.ndim(x) < 2:
        raise GraphError(f"feature_alpha_dropout: x: expected [N, C, ...], got {list(np.shape(x))}")
    shape = (*x.shape[:2], *(1,) * (np.ndim(x) - 2))
    return _alpha(x, _kept("feature_alpha_dropout", p, key, shape), p)


@composite
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, key: Any = None) -> Any:
    """
    Return `x` where it is not negative, else `a x` with a random `a` from `lower` to `upper` for each element.

    Without a key, `a` is the mean of the bounds (Xu et al., 2015).
    """
    x = floating(x)
    slope: Any = (lower + upper) / 2
    if key is not None:
        slope = lower + (upper - lower) * function("rng_uniform")(key, tuple(x.shape)).astype(x.dtype)
    return np.where(x >= 0, x, slope * x)


@composite
def gumbel_softmax(logits: Any, key: Any, tau: Any = 1.0, hard: bool = False, axis: int = -1) -> Any:
    """
    Return `softmax((logits + g) / tau)` along `axis`, with noise `g = -ln(-ln u)` of Gumbel's distribution.

    With `hard` the result is the one-hot vector of its largest element, with the gradient of the softmax (Jang et al.,
    2017; Maddison et al., 2017). PyTorch has no `key`.
    """
    logits = floating(logits)
    axis = axis_index("gumbel_softmax", axis, np.ndim(logits))
    uniform = np.maximum(function("rng_uniform")(key, tuple(logits.shape)), np.float32(2.0**-25))
    noise = -np.log(-np.log(uniform))
    soft = function("softmax")((logits + noise.astype(logits.dtype)) / tau, axis)
    if not hard:
        return soft
    chosen = function("one_hot")(np.argmax(soft, axis=axis), logits.shape[axis], axis, soft.dtype)
    return function("straight_through")(chosen, soft)
