"""Rows of losses that PyTorch does not decompose, and of their gradients."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.aten.backward import gradients
from xdsl_rlx.frontends.aten.neural import REDUCTIONS
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast


def _ctc(log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int, zero_infinity: bool) -> Any:
    """The losses of all samples; targets are `[N, S]`, or all in a row with known lengths."""
    if np.ndim(targets) == 1 and np.ndim(log_probs) == 3:
        targets = _rows_of_targets(targets, lengths)
    inputs, lengths = (np.asarray(one) if isinstance(one, list) else one for one in (inputs, lengths))
    return nn.ctc_loss(log_probs, targets, inputs, lengths, blank, "none", zero_infinity)


def _rows_of_targets(targets: Any, lengths: Any) -> Any:
    if not isinstance(lengths, list | np.ndarray):
        raise GraphError("targets in one row need lengths that are known; pass targets as [N, S]")
    ends = np.cumsum(lengths)
    index = np.clip((ends - lengths)[:, None] + np.arange(max(int(np.max(lengths)), 1)), 0, targets.shape[0] - 1)
    return np.take(targets, index)


@ROWS.add("_ctc_loss.default", "_ctc_loss.Tensor", composite=True)
def _ctc_loss(
    c: Call,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """The second result is for the gradient alone, whose row computes it again: zeros."""
    losses = _ctc(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    return [losses, cast(np.zeros((1, 1, 1)), c.dtype)]


@ROWS.add("_ctc_loss_backward.default", "_ctc_loss_backward.Tensor", composite=True)
def _ctc_loss_backward(
    c: Call,
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: Any,
    log_alpha: Any,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    def of(x: Any) -> Any:
        return _ctc(x, targets, input_lengths, target_lengths, blank, zero_infinity)

    return gradients(of, (log_probs,), grad)[0]


@ROWS.add("multi_margin_loss.default", composite=True)
def _multi_margin(
    c: Call, self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> Any:
    if np.ndim(self) == 1:
        self, target = self[None], np.reshape(target, (1,))
    return nn.multi_margin_loss(self, target, int(p), margin, weight, REDUCTIONS[reduction])


@ROWS.add("multi_margin_loss_backward.default", composite=True)
def _multi_margin_backward(c: Call, grad_output: Any, self: Any, *args: Any) -> Any:
    return gradients(lambda x: _multi_margin(c, x, *args), (self,), grad_output)[0]


@ROWS.add("multilabel_margin_loss_backward.default", composite=True)
def _multilabel_margin_backward(
    c: Call, grad_output: Any, self: Any, target: Any, reduction: int, is_target: Any
) -> Any:
    def of(x: Any) -> Any:
        return nn.multilabel_margin_loss(x, target, REDUCTIONS[reduction])

    return gradients(of, (self,), grad_output)[0]
