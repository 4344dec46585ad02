"""Losses of classes: cross-entropy, negative log-likelihood and connectionist temporal classification.

Names and defaults are those of `torch.nn.functional`. Losses of numbers are in `losses.py`.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import (
    accumulating,
    axis_index,
    check_choice,
    check_shape,
    floating,
    kind_of,
    reduced,
    weighted_mean,
)
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import scan


def _class_axis(name: str, input: Any, axis: int) -> int:
    """The axis of the classes: the only one of a vector, where PyTorch's default would be out of range."""
    rank = np.ndim(input)
    return 0 if rank == 1 and axis == 1 else axis_index(name, axis, rank)


@composite
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    axis: int = 1,
) -> Any:
    """
    Return the mean of `-w[y] ln softmax(input)[y]` over the samples, or with probabilities as targets of the
    cross-entropy `-sum w t ln softmax(input)`.

    `input` has the classes C along `axis`: `[N, C, ...]`, or `[C]` for one sample. `target` is either integers, the
    classes `y`, of shape `[N, ...]`; or probabilities `t` of the shape of `input`. `weight` is `[C]`.

    The loss of a class `ignore_index` is 0 and has no gradient. A mean of classes divides by the sum of the weights
    that are not ignored; it is NaN if there are none. A mean of probabilities divides by the number of samples. Any
    other class outside of `[0, C)` gives NaN. With `label_smoothing = s`, `t` becomes `(1 - s) t + s / C`
    (Szegedy et al., 2016).
    """
    name = "cross_entropy"
    check_choice(name, "reduction", reduction, ("mean", "sum", "none"))
    if not 0.0 <= label_smoothing <= 1.0:
        raise GraphError(f"{name}: label_smoothing: expected a number from 0 to 1, got {shown(label_smoothing)}")
    axis = _class_axis(name, input, axis)
    logits = np.moveaxis(floating(input), axis, -1)
    classes = logits.shape[-1]
    if weight is not None:
        check_shape(name, "weight", weight, (classes,), "one number per class")
    if kind_of(target) == "f":
        check_shape(name, "target", target, input.shape, "that of input, as it holds probabilities")
        return _of_probabilities(logits, np.moveaxis(target, axis, -1), weight, label_smoothing, reduction)
    check_shape(name, "target", target, logits.shape[:-1], "one class per sample")
    losses = function("softmax_cross_entropy_with_logits")(logits, target, ignore_index)
    share = _weights(target, weight, classes, ignore_index)
    if weight is not None:
        losses = losses * share
    if label_smoothing:
        logs = -function("log_softmax")(logits, -1)
        even = np.sum(logs if weight is None else logs * weight, axis=-1) / classes
        even = np.where(target == ignore_index, 0, even)
        losses = losses * (1 - label_smoothing) + even * label_smoothing
    return _mean_of_classes(name, losses, share, reduction)


def _of_probabilities(logits: Any, target: Any, weight: Any, label_smoothing: float, reduction: str) -> Any:
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / logits.shape[-1]
    terms = target * function("log_softmax")(logits, -1)
    return reduced("cross_entropy", -np.sum(terms if weight is None else terms * weight, axis=-1), reduction)


def _weights(target: Any, weight: Any, classes: int, ignore_index: int) -> Any:
    """The weight of each sample: 0 if it is ignored."""
    ignored = target == ignore_index
    if weight is None:
        return np.where(ignored, 0.0, 1.0)
    chosen = function("gather")(weight, np.where(ignored, 0, target))
    return np.where(ignored, 0, chosen)


def _mean_of_classes(name: str, losses: Any, share: Any, reduction: str) -> Any:
    if reduction != "mean":
        return reduced(name, losses, reduction)
    total = np.sum(accumulating(losses))
    return weighted_mean(total, np.sum(accumulating(share)).astype(total.dtype)).astype(losses.dtype)


@composite
def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", axis: int = 1
) -> Any:
    """
    Return the mean of `-w[y] input[y]`, for logarithms of probabilities `input`.

    Shapes, weights, ignored classes and the mean are those of `cross_entropy`.
    """
    name = "nll_loss"
    check_choice(name, "reduction", reduction, ("mean", "sum", "none"))
    axis = _class_axis(name, input, axis)
    logs = np.moveaxis(floating(input), axis, -1)
    classes = logs.shape[-1]
    check_shape(name, "target", target, logs.shape[:-1], "one class per sample")
    if weight is not None:
        check_shape(name, "weight", weight, (classes,), "one number per class")
    ignored = target == ignore_index
    outside = ((target < 0) | (target >= classes)) & ~ignored
    label = np.where(ignored | outside, 0, target)
    share = _weights(target, weight, classes, ignore_index)
    picked = np.take_along_axis(logs, np.expand_dims(label, -1), -1)[..., 0]
    losses = np.where(ignored, 0, np.where(outside, np.nan, -picked))
    return _mean_of_classes(name, losses if weight is None else losses * share, share, reduction)


@composite
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """
    Return the mean of `-ln p(target) / max(target length, 1)`, `p` the sum over all alignments of the target.

    `log_probs` is `[T, N, C]`, logarithms of probabilities of C symbols at T times; `targets` is `[N, S]`, padded with
    any integers; `input_lengths` and `target_lengths` are integers `[N]`. An alignment is a symbol for each time, of
    which repetitions are merged and then blanks removed. The reduction "none" returns `-ln p` `[N]`, "sum" its sum. A
    target without an alignment has the loss infinity, or with `zero_infinity` 0 and no gradient. One sample may be
    passed as `[T, C]`, `[S]` and two numbers (Graves et al., 2006).

    A sample has the loss NaN and no gradient if a symbol of its target is not from 0 to `C - 1`, or a length not from
    0 to T or S. Raises GraphError for other shapes, for symbols and lengths of other types than integers, and for
    such numbers if they are known while the function is traced.
    """
    name = "ctc_loss"
    check_choice(name, "reduction", reduction, ("mean", "sum", "none"))
    single = np.ndim(log_probs) == 2
    if single:
        log_probs, targets = log_probs[:, None], targets[None]
        input_lengths, target_lengths = np.reshape(input_lengths, (1,)), np.reshape(target_lengths, (1,))
    if np.ndim(log_probs) != 3:
        raise GraphError(f"{name}: log_probs: expected [T, N, C] or [T, C], got {list(np.shape(log_probs))}")
    times, count, classes = log_probs.shape
    if np.ndim(targets) != 2 or targets.shape[0] != count:
        raise GraphError(
            f"{name}: targets: expected [N, S] with N = {count}, got {list(np.shape(targets))}; pad the targets of all "
            f"samples to one length"
        )
    if not 0 <= blank < classes:
        raise GraphError(f"{name}: blank: expected an integer from 0 to {classes - 1}, got {shown(blank)}")
    _check_integers(name, "targets", targets, None)
    for one, given, most in (
        ("input_lengths", input_lengths, times),
        ("target_lengths", target_lengths, targets.shape[1]),
    ):
        check_shape(name, one, given, (count,), "one length per sample")
        _check_integers(name, one, given, most)
    used = np.arange(targets.shape[1]) < target_lengths[:, None]
    outside = used & ((targets < 0) | (targets >= classes))
    if isinstance(outside, np.ndarray) and outside.any():
        raise GraphError(f"{name}: targets: expected symbols from 0 to {classes - 1}, got {targets[outside][0]}")
    losses = _ctc(floating(log_probs), targets, input_lengths, target_lengths, blank)
    wrong = outside.any(axis=1)
    for given, most in ((input_lengths, times), (target_lengths, targets.shape[1])):
        wrong = wrong | (given < 0) | (given > most)
    losses = np.where(wrong, np.nan, losses)
    if zero_infinity:
        losses = np.where(losses == inf, 0, losses)
    if reduction == "mean":
        losses = losses / np.maximum(target_lengths, 1).astype(losses.dtype)
    return reduced(name, losses[0] if single else losses, reduction)


def _check_integers(function: str, name: str, x: Any, most: int | None) -> None:
    """Raise GraphError unless `x` is of integers, from 0 to `most` where they are known."""
    if kind_of(x) not in "iu":
        raise GraphError(f"{function}: {name}: expected integers, got {x.dtype}; convert it with astype(np.int64)")
    if isinstance(x, np.ndarray) and most is not None and ((wrong := (x < 0) | (x > most)).any()):
        raise GraphError(f"{function}: {name}: expected lengths from 0 to {most}, got {x[wrong][0]}")


def _ctc(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """
    The forward recursion over time, of the logarithms `a` of the probabilities of the states.

    States are the symbols of a target with blanks around each. A state is reached from itself, from the one before,
    and from the one before that if the blank between may be left out.
    """
    times, count, classes = log_probs.shape
    length = targets.shape[1]
    symbols = np.clip(targets, 0, classes - 1)
    states = np.stack([np.full_like(symbols, blank), symbols], axis=-1).reshape(count, 2 * length)
    states = np.concatenate([states, np.full((count, 1), blank, states.dtype)], axis=1)
    skips = np.concatenate(
        [np.zeros((count, min(2, 2 * length + 1)), bool), (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])],
        axis=1,
    )
    index = np.broadcast_to(states[None], (times, *states.shape))
    emitted = np.take_along_axis(log_probs, index, axis=2)
    first = np.where(np.arange(2 * length + 1) == 0, 0.0, -inf)
    start = function("constant")(np.broadcast_to(first, (count, first.size)), log_probs.dtype)

    def advance(a: Any, given: Any) -> Any:
        time, logs = given
        before = function("pad")(a, ((0, 0), (1, 0)), constant_values=-inf)[:, :-1]
        skipped = np.where(skips, function("pad")(a, ((0, 0), (2, 0)), constant_values=-inf)[:, : a.shape[1]], -inf)
        moved = _log_sum(a, before, skipped) + logs
        return np.where((time < input_lengths)[:, None], moved, a), None

    last, _ = scan(advance, start, (np.arange(times), emitted))
    ends = 2 * target_lengths[:, None]
    final = np.take_along_axis(last, ends, axis=1)[:, 0]
    other = np.take_along_axis(last, np.maximum(ends - 1, 0), axis=1)[:, 0]
    return -_log_sum(final, np.where(target_lengths > 0, other, -inf))


def _log_sum(*terms: Any) -> Any:
    """`ln sum e^x` of a few terms; of terms that are all `-inf` it is that and has no gradient."""
    largest = terms[0]
    for term in terms[1:]:
        largest = np.maximum(largest, term)
    nothing = largest == -inf
    largest = function("stop_gradient")(np.where(nothing, 0, largest))
    total = sum(np.exp(term - largest) for term in terms)
    return np.where(nothing, -inf, largest + np.log(np.where(nothing, 1, total)))
