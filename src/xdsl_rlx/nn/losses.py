"""Losses between predictions and targets, with the names and defaults of `torch.nn.functional`.

All take `reduction`: "mean" (the default), "sum" or "none", which returns one loss per element or sample. Losses of
classes are in `class_losses.py`.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import check_choice, floating, matched, reduced
from xdsl_rlx.nn.distances import cosine_similarity, pairwise_distance
from xdsl_rlx.op_functions import function


def _difference(input: Any, target: Any) -> Any:
    x, y = matched(input, target)
    return x - y


@composite
def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Return the mean of `(input - target)^2`. The shapes are broadcast."""
    difference = _difference(input, target)
    return reduced("mse_loss", difference * difference, reduction)


@composite
def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Return the mean of `|input - target|`. The shapes are broadcast; the derivative at 0 is 0."""
    return reduced("l1_loss", abs(_difference(input, target)), reduction)


@composite
def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """
    Return the mean of `d^2 / (2 beta)` where `|d| < beta`, else of `|d| - beta / 2`, with `d = input - target`.

    With `beta = 0` it is `l1_loss` (Girshick, 2015).
    """
    if beta == 0:
        return l1_loss(input, target, reduction)
    difference = _difference(input, target)
    size = abs(difference)
    losses = np.where(size < beta, 0.5 / beta * difference * difference, size - 0.5 * beta)
    return reduced("smooth_l1_loss", losses, reduction)


@composite
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """
    Return the mean of `d^2 / 2` where `|d| < delta`, else of `delta (|d| - delta / 2)`, with `d = input - target`.

    (Huber, 1964)
    """
    difference = _difference(input, target)
    size = abs(difference)
    losses = np.where(size < delta, 0.5 * difference * difference, delta * (size - 0.5 * delta))
    return reduced("huber_loss", losses, reduction)


def _clamped_log(q: Any) -> Any:
    """`max(ln q, -100)`, whose derivative is at most 1e12, or the reciprocal of the smallest normal number."""
    least = max(1e-12, {"f16": 6.2e-5, "bf16": 1e-12}.get(str(getattr(q, "dtype", "")), 0.0))
    small = q < least
    lowest = function("straight_through")(np.maximum(np.log(np.where(small, q, 1)), -100), q / least)
    return np.where(small, lowest, np.log(np.where(small, 1, q)))


@composite
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """
    Return the mean of `-(t ln p + (1 - t) ln(1 - p))`, for probabilities `p = input` and `t = target`.

    Logarithms are at least -100 and their derivatives at most 1e12, as in PyTorch. `weight` multiplies each loss. Use
    `binary_cross_entropy_with_logits` where the probabilities are a sigmoid.
    """
    p, target, weight = matched(input, target, weight)
    losses = -(target * _clamped_log(p) + (1 - target) * _clamped_log(1 - p))
    return reduced("binary_cross_entropy", losses if weight is None else losses * weight, reduction)


@composite
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """
    Return the mean of `-(w t ln s + (1 - t) ln(1 - s))`, with `s = sigmoid(input)`, `t = target`, `w = pos_weight`.

    It is computed as `w t softplus(-x) + (1 - t) softplus(x)`, which neither overflows nor cancels. `weight` multiplies
    each loss. All arguments are broadcast.
    """
    x, target, weight, pos_weight = matched(input, target, weight, pos_weight)
    positive = target if pos_weight is None else pos_weight * target
    losses = positive * function("softplus")(-x) + (1 - target) * function("softplus")(x)
    return reduced("binary_cross_entropy_with_logits", losses if weight is None else losses * weight, reduction)


@composite
def sigmoid_focal_loss(
    inputs: Any, targets: Any, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "none"
) -> Any:
    """
    Return `a (1 - q)^gamma` times the binary cross-entropy of logits, `q` the probability of the target.

    `a` is `alpha t + (1 - alpha) (1 - t)`, or 1 if `alpha` is negative. Defaults are those of torchvision
    (Lin et al., 2017).
    """
    x, targets = matched(inputs, targets)
    losses = targets * function("softplus")(-x) + (1 - targets) * function("softplus")(x)
    missed = targets * function("sigmoid")(-x) + (1 - targets) * function("sigmoid")(x)
    losses = losses * (missed * missed if gamma == 2 else missed**gamma)
    if alpha >= 0:
        losses = losses * (alpha * targets + (1 - alpha) * (1 - targets))
    return reduced("sigmoid_focal_loss", losses, reduction)


@composite
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """
    Return the mean of `t (ln t - input)`, for logarithms of probabilities `input` and probabilities `t = target`.

    With `log_target`, `target` is `ln t`. The term of `t = 0` is 0. The reduction "batchmean" divides the sum by the
    length of the first axis, which gives the Kullback-Leibler divergence.
    """
    check_choice("kl_div", "reduction", reduction, ("mean", "batchmean", "sum", "none"))
    if log_target:
        losses = np.exp(target) * (target - input)
    else:
        input, target = matched(input, target)
        nothing = target == 0
        losses = target * (np.log(np.where(nothing, 1, target)) - input)
    if reduction == "batchmean":
        return np.sum(losses) / (losses.shape[0] if losses.shape else 1)
    return reduced("kl_div", losses, reduction)


@composite
def hinge_loss(predictor_outputs: Any, targets: Any) -> Any:
    """Return `max(0, 1 - y f)` for outputs `f` and targets `y` of -1 or 1, elementwise, as `optax.hinge_loss`."""
    outputs, targets = matched(predictor_outputs, targets)
    return np.maximum(0, 1 - outputs * targets)


@composite
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """Return the mean of `x` where the target is 1, and of `max(0, margin - x)` where it is -1."""
    x = floating(input)
    losses = np.where(target != 1, function("relu")(margin - x), 0) + np.where(target != -1, x, 0)
    return reduced("hinge_embedding_loss", losses, reduction)


@composite
def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Return the mean of `ln(1 + e^(-y x))` for targets `y` of -1 or 1, without overflow."""
    x, target = matched(input, target)
    return reduced("soft_margin_loss", function("softplus")(-(x * target)), reduction)


@composite
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """
    Return the mean of `1 - cos` where the target is 1, and of `max(0, cos - margin)` where it is -1.

    `cos` is the cosine of the angle between the inputs `[..., D]` along the last axis; `target` is `[...]`.
    """
    cosine = cosine_similarity(input1, input2, axis=-1, eps=1e-6)
    losses = np.where(target == 1, 1 - cosine, 0) + np.where(target == -1, function("relu")(cosine - margin), 0)
    return reduced("cosine_embedding_loss", losses, reduction)


@composite
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """Return the mean of `max(0, -y (input1 - input2) + margin)`; `y = target` is 1 where `input1` ranks higher."""
    difference, target = matched(input1 - input2, target)
    return reduced("margin_ranking_loss", np.maximum(0, margin - target * difference), reduction)


@composite
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """
    Return the mean of `max(0, d(anchor, positive) - d(anchor, negative) + margin)`, `d` the `pairwise_distance`.

    Arguments are `[..., D]`. With `swap`, `d(positive, negative)` counts if it is less than `d(anchor, negative)`
    (Balntas et al., 2016).
    """
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = np.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", np.maximum(0, near - far + margin), reduction)


@composite
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """
    Return the mean of `(ln v + (input - target)^2 / v) / 2`, with `v = max(var, eps)`.

    With `full`, `ln(2 pi) / 2` is added. A `var` below `eps` has the gradient of `v`, as in PyTorch.
    """
    v = function("straight_through")(np.maximum(var, eps), var)
    difference = _difference(input, target)
    losses = 0.5 * (np.log(v) + difference * difference / v) + (0.5 * log(2 * pi) if full else 0.0)
    return reduced("gaussian_nll_loss", losses, reduction)


@composite
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """
    Return the mean of `e^x - t x`, or without `log_input` of `x - t ln(x + eps)`, with `x = input`, `t = target`.

    With `full`, Stirling's approximation of `ln t!` is added where `t > 1`.
    """
    x, target = matched(input, target)
    losses = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        many = target > 1
        t = np.where(many, target, 2)
        losses = losses + np.where(many, t * np.log(t) - t + 0.5 * np.log(2 * pi * t), 0)
    return reduced("poisson_nll_loss", losses, reduction)


@composite
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """
    Return the mean over samples of the mean over classes of `binary_cross_entropy_with_logits`.

    `input` and `target` are `[N, C]` or `[C]`; `weight` is `[C]`.
    """
    losses = binary_cross_entropy_with_logits(input, target, weight, None, "none")
    return reduced("multilabel_soft_margin_loss", np.mean(losses, axis=-1), reduction)


@composite
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:
    """
    Return the mean over samples of `sum over i != y of max(0, margin - x[y] + x[i])^p w[y] / C`.

    `input` is `[N, C]`, `target` holds the classes `y` `[N]`, `weight` is `[C]`, `p` is 1 or 2.
    """
    if p not in (1, 2):
        raise GraphError(f"multi_margin_loss: p: expected 1 or 2, got {shown(p)}")
    x = floating(input)
    labels = np.expand_dims(target, -1)
    terms = np.maximum(0, margin - np.take_along_axis(x, labels, -1) + x)
    terms = terms * terms if p == 2 else terms
    if weight is not None:
        terms = terms * np.expand_dims(function("gather")(weight, target), -1)
    losses = np.sum(np.where(labels == np.arange(x.shape[-1]), 0, terms), axis=-1) / x.shape[-1]
    return reduced("multi_margin_loss", losses, reduction)


@composite
def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """
    Return the mean over samples of `sum over y in Y, i not in Y of max(0, 1 - x[y] + x[i]) / C`.

    `input` is `[N, C]` or `[C]`, and `target` an integer array like it. The classes `Y` of a sample are the numbers of
    its row up to the first negative one.
    """
    x = floating(input)
    if np.shape(target) != np.shape(x) or np.ndim(x) not in (1, 2):
        raise GraphError(
            f"multilabel_margin_loss: target: expected the shape of input, [N, C] or [C], got {list(np.shape(target))} "
            f"for {list(np.shape(x))}"
        )
    valid = np.cumsum(target < 0, axis=-1) == 0
    classes = np.where(valid, target, 0)
    named = np.any((classes[..., :, None] == np.arange(x.shape[-1])) & valid[..., :, None], axis=-2)
    terms = np.maximum(0, 1 - np.take_along_axis(x, classes, -1)[..., :, None] + x[..., None, :])
    losses = np.where(valid[..., :, None] & ~named[..., None, :], terms, 0).sum((-2, -1)) / x.shape[-1]
    return reduced("multilabel_margin_loss", losses, reduction)


@checked
def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance_function: Callable[[Any, Any], Any] = pairwise_distance,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """Return `triplet_margin_loss` with `distance_function(a, b)` as the distance of rows."""

    def loss(anchor: Any, positive: Any, negative: Any) -> Any:
        near, far = distance_function(anchor, positive), distance_function(anchor, negative)
        if swap:
            far = np.minimum(far, distance_function(positive, negative))
        return reduced("triplet_margin_with_distance_loss", np.maximum(0, near - far + margin), reduction)

    return composite(loss)(anchor, positive, negative)
