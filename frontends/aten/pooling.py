"""Rows of pools over one to three spatial axes, and of their gradients.

Max pools return the positions of the elements, as PyTorch saves them: their gradient adds up at these positions.
"""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.backward import gradients
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import dtype_of
from xdsl_rlx.nn.pooling import max_and_positions
from xdsl_rlx.op_functions import function

Sizes = int | Sequence[int]


def _per_axis(x: Sizes, axes: int) -> list[int]:
    """One number for each spatial axis."""
    given = [x] if isinstance(x, int) else list(x)
    return given * axes if len(given) == 1 else given


def _windows(axes: int, kernel: Sizes, stride: Sizes, *others: Sizes) -> Any:
    """Kernel, stride (by default the kernel) and other arguments, one number for each axis."""
    sizes = _per_axis(kernel, axes)
    steps = sizes if not isinstance(stride, int) and not len(stride) else _per_axis(stride, axes)
    return [sizes, steps, *(_per_axis(one, axes) for one in others)]


def at_positions(grad: Any, indices: Any, like: Any, axes: int) -> Any:
    """An image of zeros like another one, to which elements are added at flat positions in its spatial axes."""
    lead, size = like.shape[: np.ndim(like) - axes], like.shape[np.ndim(like) - axes :]
    index = indices.reshape(*lead, -1)
    table = function("full")((*lead, prod(size)), 0, dtype_of(grad))
    found = gradients(lambda x: np.take_along_axis(x, index, -1), (table,), grad.reshape(index.shape))[0]
    return found.reshape(like.shape)


def _max_pools(axes: int) -> None:
    def row(pool: Callable[..., Any]) -> Callable[..., Any]:
        def build(
            c: Call,
            self: Any,
            kernel_size: Sizes,
            stride: Sizes = (),
            padding: Sizes = 0,
            dilation: Sizes = 1,
            ceil_mode: bool = False,
        ) -> Any:
            return pool(self, *_windows(axes, kernel_size, stride, padding, dilation), ceil_mode)

        return build

    values, with_indices = row(nn.max_pool), row(lambda *args: list(max_and_positions(*args)))

    def backward(
        c: Call,
        grad_output: Any,
        self: Any,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        ceil_mode: bool,
        indices: Any,
    ) -> Any:
        return at_positions(grad_output, indices, self, axes)

    ROWS.add(f"max_pool{axes}d.default")(values)
    ROWS.add(f"max_pool{axes}d_with_indices.default")(with_indices)
    if axes > 1:
        ROWS.add(f"max_pool{axes}d_with_indices_backward.default")(backward)


def _avg_pools(axes: int) -> None:
    def values(
        c: Call,
        self: Any,
        kernel_size: Sizes,
        stride: Sizes = (),
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        kernel, steps, pads = _windows(axes, kernel_size, stride, padding)
        return nn.avg_pool(self, kernel, steps, pads, ceil_mode, count_include_pad, divisor_override)

    def backward(c: Call, grad_output: Any, self: Any, *args: Any) -> Any:
        return gradients(lambda x: values(c, x, *args), (self,), grad_output)[0]

    ROWS.add(f"avg_pool{axes}d.default")(values)
    if axes > 1:
        ROWS.add(f"avg_pool{axes}d_backward.default")(backward)


def _adaptive_pools(axes: int) -> None:
    def mean(c: Call, self: Any, output_size: Sizes) -> Any:
        return nn.adaptive_avg_pool(self, _per_axis(output_size, axes))

    def largest(c: Call, self: Any, output_size: Sizes) -> Any:
        return list(nn.adaptive_max_pool(self, _per_axis(output_size, axes), True))

    def mean_backward(c: Call, grad_output: Any, self: Any) -> Any:
        size = grad_output.shape[np.ndim(grad_output) - axes :]
        return gradients(lambda x: mean(c, x, size), (self,), grad_output)[0]

    def largest_backward(c: Call, grad_output: Any, self: Any, indices: Any) -> Any:
        return at_positions(grad_output, indices, self, axes)

    ROWS.add(f"adaptive_avg_pool{axes}d.default")(mean)
    ROWS.add(f"adaptive_max_pool{axes}d.default")(largest)
    if axes > 1:
        ROWS.add(f"_adaptive_avg_pool{axes}d.default")(mean)
        ROWS.add(f"_adaptive_avg_pool{axes}d_backward.default")(mean_backward)
        ROWS.add(f"adaptive_max_pool{axes}d_backward.default")(largest_backward)


for _axes in (1, 2, 3):
    _max_pools(_axes)
    _avg_pools(_axes)
    _adaptive_pools(_axes)
