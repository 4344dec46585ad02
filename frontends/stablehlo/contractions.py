"""Rows of contractions, convolutions and Fourier transforms."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared import numbers
from xdsl_rlx.frontends.shared.convolutions import ConvDims, ConvWindows, convolution
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.values import shape_of, traced
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call


@ROWS.add("dot_general")
def _dot_general(c: Call, x: Any, y: Any) -> Any:
    dims = c.get("dot_dimension_numbers")
    contracting, batch = (
        (dims.get(f"lhs_{kind}_dimensions", ()), dims.get(f"rhs_{kind}_dimensions", ()))
        for kind in ("contracting", "batching")
    )
    return numbers.dot_general(x, y, contracting, batch, c.dtype)


@ROWS.add("dot")
def _dot(c: Call, x: Any, y: Any) -> Any:
    return numbers.dot_general(x, y, ((np.ndim(x) - 1,), (0,)), dtype=c.dtype)


@ROWS.add("convolution", composite=True)
def _convolution(c: Call, x: Any, kernel: Any) -> Any:
    axes = np.ndim(x) - 2
    layouts = c.get("dimension_numbers")
    dims = ConvDims(
        _places(layouts["input"], "b", "f"), _places(layouts["kernel"], "o", "i"), _places(layouts["output"], "b", "f")
    )
    ones = (1,) * axes
    padding = c.get("padding")
    pairs = tuple((int(a), int(b)) for a, b in padding) if padding is not None else ((0, 0),) * axes
    windows = ConvWindows(
        tuple(c.get("window_strides", ones)),
        pairs,
        tuple(c.get("lhs_dilation", ones)),
        tuple(c.get("rhs_dilation", ones)),
        tuple(bool(one) for one in c.get("window_reversal", ())),
    )
    groups, batches = int(c.get("feature_group_count", 1)), int(c.get("batch_group_count", 1))
    return convolution(x, kernel, dims, windows, groups, batches, c.dtype)


def _places(layout: Sequence[str], first: str, second: str) -> tuple[int, ...]:
    """Where the dimensions of a layout are: the two that letters name, then those of space by number."""
    axes = [layout.index(str(n)) for n in range(len(layout) - 2)]
    return (layout.index(first), layout.index(second), *axes)


@ROWS.add("fft")
def _fft(c: Call, x: Any) -> Any:
    kind, lengths = str(c.get("fft_type")), [int(n) for n in c.get("fft_length")]
    axes = tuple(range(np.ndim(x) - len(lengths), np.ndim(x)))
    x = traced(x)
    if tuple(shape_of(x)[axes[0] :]) != tuple(lengths) and kind in ("FFT", "IFFT"):
        raise FrontendError(f"a transform of length {lengths} of a tensor of shape {list(shape_of(x))}")
    match kind:
        case "FFT":
            return np.fft.fftn(x, axes=axes)
        case "IFFT":
            return np.fft.ifftn(x, axes=axes)
        case "RFFT":
            return np.fft.rfftn(x, lengths, axes)
        case _:
            return np.fft.irfftn(x, lengths, axes)
