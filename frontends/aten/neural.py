"""Rows of embeddings, dropout and losses."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of
from xdsl_rlx.op_functions import function

REDUCTIONS = ("none", "mean", "sum")
"""Names of the numbers that losses are given."""


@ROWS.add("embedding.default")
def embedding(
    c: Call, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Rows of a table; that of `padding_idx` has no gradient."""
    return nn.embedding(indices, weight, None if padding_idx < 0 else padding_idx)


@ROWS.add("native_dropout.default")
def _native_dropout(c: Call, input: Any, p: float, train: bool | None) -> Any:
    if not train or p == 0:
        return [input, np.ones(input.shape, np.bool_)]
    if p >= 1:
        return [input * 0, np.zeros(input.shape, np.bool_)]
    kept = function("rng_uniform")(c.next_key(), input.shape) >= p
    return [np.where(kept, input * (1 / (1 - p)), cast(0, c.dtype)), kept]


@ROWS.add("dropout.default")
def _dropout(c: Call, input: Any, p: float, train: bool) -> Any:
    return nn.dropout(input, p, c.next_key()) if train and p else input


@ROWS.add("cross_entropy_loss.default")
def _cross_entropy(
    c: Call,
    self: Any,
    target: Any,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    return nn.cross_entropy(
        self, target, weight, ignore_index, label_smoothing, REDUCTIONS[reduction], 1 if np.ndim(self) > 1 else 0
    )


@ROWS.add("mse_loss.default")
def _mse_loss(c: Call, self: Any, target: Any, reduction: int = 1) -> Any:
    return nn.mse_loss(cast(self, c.dtype), cast(target, c.dtype), REDUCTIONS[reduction])


@ROWS.add("nll_loss_forward.default", "nll_loss2d_forward.default")
def nll_loss_forward(c: Call, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """The loss, and the sum of the weights of targets that count."""
    axis = min(np.ndim(self) - 1, 1)
    loss = nn.nll_loss(self, target, weight, ignore_index, REDUCTIONS[reduction], axis)
    counted = target != ignore_index
    each = cast(counted, c.dtype)
    if weight is not None:
        each = each * np.take(weight, np.where(counted, target, 0))
    total = np.sum(each) if reduction else np.zeros((), np.float32)
    return [loss, cast(total, dtype_of(self))]
