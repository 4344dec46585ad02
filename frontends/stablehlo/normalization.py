"""Rows of batch normalisation, in training and inference, and its gradient."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import traced
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.types import like
from xdsl_rlx.tree_functions import vjp


def _along(c: Call, x: Any, rank: int) -> Any:
    """Numbers of each feature, for tensors of this rank."""
    axis = int(c.get("feature_index"))
    return traced(x).reshape(-1, *(1,) * (rank - axis - 1))


def _others(c: Call, x: Any) -> tuple[int, ...]:
    return tuple(n for n in range(np.ndim(x)) if n != int(c.get("feature_index")))


def _normalised(c: Call, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    rank = np.ndim(x)
    mean, variance, scale, offset = (_along(c, one, rank) for one in (mean, variance, scale, offset))
    epsilon = like(float(c.get("epsilon")), c.dtype)
    return (traced(x) - mean) / np.sqrt(variance + epsilon) * scale + offset


@ROWS.add("batch_norm_inference", composite=True)
def _batch_norm_inference(c: Call, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    return _normalised(c, x, scale, offset, mean, variance)


@ROWS.add("batch_norm_training", composite=True)
def _batch_norm_training(c: Call, x: Any, scale: Any, offset: Any) -> Any:
    x, axes = traced(x), _others(c, x)
    mean = np.mean(x, axes)
    variance = np.mean((x - _along(c, mean, np.ndim(x))) ** 2, axes)
    return [_normalised(c, x, scale, offset, mean, variance), mean, variance]


@ROWS.add("batch_norm_grad", composite=True)
def _batch_norm_grad(c: Call, x: Any, scale: Any, mean: Any, variance: Any, cotangent: Any) -> Any:
    """The gradient in training: mean and variance are those of the operand."""
    axes = _others(c, x)

    def of(x: Any, scale: Any, offset: Any) -> Any:
        mean = np.mean(x, axes)
        variance = np.mean((x - _along(c, mean, np.ndim(x))) ** 2, axes)
        return _normalised(c, x, scale, offset, mean, variance)

    return list(vjp(of)((traced(x), traced(scale), traced(scale) * 0), traced(cotangent))[1])
