"""Rows of reductions and of operators that add up along an axis."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx import nn, special
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import axes_of, cast, category, dtype_of

Dims = int | Sequence[int] | None


@ROWS.add("sum.default", "sum.dim_IntList")
def _sum(c: Call, self: Any, dim: Dims = None, keepdim: bool = False, dtype: str | None = None) -> Any:
    return np.sum(cast(self, c.dtype), axis=axes_of(dim, np.ndim(self)), keepdims=keepdim)


@ROWS.add("mean.default", "mean.dim")
def _mean(c: Call, self: Any, dim: Dims = None, keepdim: bool = False, dtype: str | None = None) -> Any:
    return np.mean(cast(self, c.dtype), axis=axes_of(dim, np.ndim(self)), keepdims=keepdim)


@ROWS.add("prod.default", "prod.dim_int")
def _prod(c: Call, self: Any, dim: Dims = None, keepdim: bool = False, dtype: str | None = None) -> Any:
    return np.prod(cast(self, c.dtype), axis=axes_of(dim, np.ndim(self)), keepdims=keepdim)


@ROWS.add("amax.default", "max.default")
def _amax(c: Call, self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """Elements that tie share the gradient."""
    return np.max(self, axis=axes_of(dim, np.ndim(self)), keepdims=keepdim)


@ROWS.add("amin.default", "min.default")
def _amin(c: Call, self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    return np.min(self, axis=axes_of(dim, np.ndim(self)), keepdims=keepdim)


def _at_extreme(self: Any, at: Any, dim: int, keepdim: bool) -> Any:
    """The elements at the first extreme along an axis, and their positions."""
    if not np.ndim(self):
        return [self, at]
    found = np.take_along_axis(self, np.expand_dims(at, dim), dim)
    return [found, np.expand_dims(at, dim)] if keepdim else [np.squeeze(found, dim), at]


@ROWS.add("max.dim")
def _max_dim(c: Call, self: Any, dim: int, keepdim: bool = False) -> Any:
    """The gradient is that of one element."""
    return _at_extreme(self, _argmax(c, self, dim), dim, keepdim)


@ROWS.add("min.dim")
def _min_dim(c: Call, self: Any, dim: int, keepdim: bool = False) -> Any:
    return _at_extreme(self, _argmin(c, self, dim), dim, keepdim)


@ROWS.add("argmax.default")
def _argmax(c: Call, self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if not np.ndim(self):
        return np.zeros((), np.int64)
    return np.argmax(self, axis=dim, keepdims=keepdim)


@ROWS.add("argmin.default")
def _argmin(c: Call, self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if not np.ndim(self):
        return np.zeros((), np.int64)
    return np.argmin(self, axis=dim, keepdims=keepdim)


@ROWS.add("any.default", "any.dim", "any.dims")
def _any(c: Call, self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    return cast(np.any(cast(self, "i1"), axis=axes_of(dim, np.ndim(self)), keepdims=keepdim), c.dtype)


@ROWS.add("all.default", "all.dim", "all.dims")
def _all(c: Call, self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    return cast(np.all(cast(self, "i1"), axis=axes_of(dim, np.ndim(self)), keepdims=keepdim), c.dtype)


def _count(self: Any, axes: Sequence[int]) -> int:
    return int(np.prod([self.shape[axis] for axis in axes])) if axes else 1


def _variance(self: Any, dim: Dims, correction: float | None, keepdim: bool) -> tuple[Any, Any]:
    """The variance and the mean: sums of squares of differences over `n - correction`, with nan for 0 / 0."""
    axes = axes_of(dim, np.ndim(self))
    mean = np.mean(self, axis=axes, keepdims=True)
    deviation = self - mean
    squares = np.square(abs(deviation)) if category(dtype_of(self)) == 3 else np.square(deviation)
    square = np.sum(squares, axis=axes, keepdims=keepdim)
    rest = max(_count(self, axes) - (1 if correction is None else correction), 0)
    var = square / rest if rest else square * np.inf
    return var, mean if keepdim else mean.reshape(var.shape)


@ROWS.add("var.correction", composite=True)
def _var(c: Call, self: Any, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return _variance(self, dim, correction, keepdim)[0]


@ROWS.add("var.dim", "var.default", composite=True)
def _var_dim(c: Call, self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _variance(self, dim, float(unbiased), keepdim)[0]


@ROWS.add("var_mean.correction", composite=True)
def _var_mean(c: Call, self: Any, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return list(_variance(self, dim, correction, keepdim))


@ROWS.add("std.correction", composite=True)
def _std(c: Call, self: Any, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return np.sqrt(_variance(self, dim, correction, keepdim)[0])


@ROWS.add("logsumexp.default")
def _logsumexp(c: Call, self: Any, dim: Dims, keepdim: bool = False) -> Any:
    return special.logsumexp(cast(self, c.dtype), axis=axes_of(dim, np.ndim(self)), keepdims=keepdim)


@ROWS.add("cumsum.default")
def _cumsum(c: Call, self: Any, dim: int, dtype: str | None = None) -> Any:
    x = cast(self, c.dtype)
    return np.cumsum(x, axis=dim, dtype=x.dtype) if np.ndim(x) else x


@ROWS.add("cumprod.default")
def _cumprod(c: Call, self: Any, dim: int, dtype: str | None = None) -> Any:
    x = cast(self, c.dtype)
    return np.cumprod(x, axis=dim, dtype=x.dtype) if np.ndim(x) else x


@ROWS.add("softmax.int", "_softmax.default")
def _softmax(c: Call, self: Any, dim: int, half_to_float: Any = None, dtype: str | None = None) -> Any:
    x = cast(self, c.dtype)
    return nn.softmax(x, dim) if np.ndim(x) else x * 0 + 1


@ROWS.add("_safe_softmax.default")
def _safe_softmax(c: Call, self: Any, dim: int, dtype: str | None = None) -> Any:
    x = cast(self, c.dtype)
    if not np.ndim(x):
        return np.where(x == -np.inf, 0, 1).astype(x.dtype)
    masked = np.max(x, axis=dim, keepdims=True) == -np.inf
    # 0 in front, too: the derivative of what is not selected would be NaN
    return np.where(masked, 0, nn.softmax(np.where(masked, 0, x), dim))


@ROWS.add("log_softmax.int", "_log_softmax.default")
def _log_softmax(c: Call, self: Any, dim: int, half_to_float: Any = None, dtype: str | None = None) -> Any:
    x = cast(self, c.dtype)
    return nn.log_softmax(x, dim) if np.ndim(x) else x * 0
