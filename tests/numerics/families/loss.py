"""Cross entropy of logits and labels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Operand, Sample, integers, values
from oracle import Array, convert, widen

from xdsl_rlx.dialects.mir import loss

INF = np.inf
_WRT = {"differentiable": (0,)}


def _labels(shape: tuple[int, ...], classes: int, dtype: str = "i64") -> Operand:
    return Operand(shape, integers(0, classes), dtype)


CASES: tuple[tuple[str, Operand, Operand, int | None, dict[str, Any]], ...] = (
    ("", Operand((4, 5)), _labels((4,), 5), None, _WRT),
    ("-i32", Operand((4, 5)), _labels((4,), 5, "i32"), None, _WRT),
    ("-f32-labels", Operand((4, 5)), _labels((4,), 5, "f32"), None, _WRT),
    ("-leading", Operand((2, 3, 5)), _labels((2, 3), 5), None, _WRT),
    ("-vector", Operand((5,)), _labels((), 5), None, _WRT),
    ("-one-class", Operand((3, 1)), _labels((3,), 1), None, _WRT),
    ("-empty", Operand((0, 5)), _labels((0,), 5), None, _WRT),
    ("-large", Operand((3, 4), values(1e4, -1e4, 0.0, 1e4)), _labels((3,), 4), None, _WRT),
    (
        "-masked",
        Operand((3, 4), values(-INF, 1.0, 2.0, 0.0)),
        Operand((3,), values(1, 2, 0), "i64"),
        None,
        {"smooth": False},
    ),
    ("-ignored", Operand((4, 5)), Operand((4,), values(1, -100, 4, -100), "i64"), -100, _WRT),
    ("-out-of-range", Operand((4, 5)), Operand((4,), values(1, -1, 5, 4), "i32"), None, {"smooth": False}),
    ("-narrow", Operand((4, 5)), _labels((4,), 5), None, {"dtypes": NARROW}),
)
"""Logits, labels, the label that is ignored, and more about a sample."""


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    op = loss.SoftmaxCrossEntropyWithLogitsOp
    for suffix, logits, labels, ignore, more in CASES:
        build = lambda m, x, y, i=ignore: m.softmax_cross_entropy_with_logits(x, y, i)  # noqa: E731
        rows.append(Sample(f"cross_entropy{suffix}", op, build, (logits, labels), **more))
    return rows


def classes(op: Any, logits: Array, labels: Array) -> tuple[Array, Array, Array]:
    """Labels as valid indices, which rows have one, which are ignored."""
    label = convert(labels, np.dtype(np.int64)).astype(np.int64)
    ignored = np.zeros(label.shape, bool) if op.ignore_index is None else label == op.ignore_index.value.data
    valid = (label >= 0) & (label < logits.shape[-1])
    return np.where(valid, label, 0), valid, ignored


def _cross_entropy(op: loss.SoftmaxCrossEntropyWithLogitsOp, logits: Array, labels: Array) -> Array:
    x = widen(logits)
    label, valid, ignored = classes(op, x, labels)
    top = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    lse = top[..., 0] + np.log(np.sum(np.exp(x - top), axis=-1))
    picked = np.take_along_axis(x, label[..., None], -1)[..., 0] if x.shape[-1] else np.zeros(lse.shape)
    return np.where(ignored, 0.0, np.where(valid, lse - picked, np.nan))


def jax_cross_entropy(op: Any, logits: Any, labels: Any) -> Any:
    labels = labels.astype(jnp.int64)
    logp = jax.nn.log_softmax(logits, axis=-1)
    inside = jnp.clip(labels, 0, logits.shape[-1] - 1)
    picked = jnp.take_along_axis(logp, inside[..., None], -1)[..., 0]
    return -picked if op.ignore_index is None else jnp.where(labels == op.ignore_index.value.data, 0.0, -picked)


SAMPLES = tuple(_samples())
ORACLE = {loss.SoftmaxCrossEntropyWithLogitsOp: _cross_entropy}
JAX = {loss.SoftmaxCrossEntropyWithLogitsOp: jax_cross_entropy}
