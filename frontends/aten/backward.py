"""Rows of the operators that PyTorch's differentiation makes of others: gradients of the forward rows.

Each is the vector-Jacobian product of the row of the operator that it belongs to, so that a rule is written once.
"""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.linear import convolution
from xdsl_rlx.frontends.aten.neural import embedding
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_functions import vjp


def gradients(of: Callable[..., Any], primals: Sequence[Any], cotangent: Any) -> list[Any]:
    """The gradients of a function of tensors, weighted by the cotangent of its one result."""
    return list(vjp(of)(tuple(primals), cotangent)[1])


def asked(of: Callable[..., Any], primals: Sequence[Any], cotangent: Any, mask: Sequence[bool]) -> list[Any]:
    """The gradients that the mask asks for, and None for the others."""
    wanted = [x for x, here in zip(primals, mask, strict=True) if here and x is not None]
    if not wanted:
        return [None] * len(primals)

    def of_wanted(*xs: Any) -> Any:
        left = iter(xs)
        return of(*(next(left) if here and x is not None else x for x, here in zip(primals, mask, strict=True)))

    found = iter(gradients(of_wanted, wanted, cotangent))
    return [next(found) if here and x is not None else None for x, here in zip(primals, mask, strict=True)]


@ROWS.add("convolution_backward.default")
def _convolution(
    c: Call,
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    def of(x: Any, w: Any) -> Any:
        return convolution(c, x, w, None, stride, padding, dilation, transposed, output_padding, groups)

    dx, dw = asked(of, (input, weight), grad_output, output_mask[:2])
    axes = tuple(axis for axis in range(np.ndim(grad_output)) if axis != 1)
    return [dx, dw, np.sum(grad_output, axis=axes) if output_mask[2] else None]


@ROWS.add("embedding_dense_backward.default")
def _embedding(
    c: Call, grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    table = function("full")((num_weights, grad_output.shape[-1]), 0, c.dtype)
    return gradients(lambda w: embedding(c, w, indices, padding_idx), (table,), grad_output)[0]


def _of_unary(of: Callable[..., Any]) -> Callable[..., Any]:
    def build(c: Call, grad_output: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        return gradients(lambda x: of(x, *args, **kwargs), (self,), grad_output)[0]

    return build


ROWS.add("gelu_backward.default")(_of_unary(lambda x, approximate="none": nn.gelu(x, approximate == "tanh")))
ROWS.add("silu_backward.default")(_of_unary(nn.silu))
ROWS.add("mish_backward.default")(_of_unary(nn.mish))


@ROWS.add("threshold_backward.default")
def _threshold(c: Call, grad_output: Any, self: Any, threshold: float) -> Any:
    return np.where(self <= threshold, cast(0, c.dtype), grad_output)


@ROWS.add("tanh_backward.default")
def _tanh(c: Call, grad_output: Any, output: Any) -> Any:
    return grad_output * np.conj(1 - output * output)


@ROWS.add("sigmoid_backward.default")
def _sigmoid(c: Call, grad_output: Any, output: Any) -> Any:
    return grad_output * np.conj(output * (1 - output))


@ROWS.add("_softmax_backward_data.default")
def _softmax(c: Call, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    product = grad_output * output
    return cast(product - output * np.sum(product, axis=dim, keepdims=True), c.dtype)


@ROWS.add("_log_softmax_backward_data.default")
def _log_softmax(c: Call, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return cast(grad_output - np.exp(output) * np.sum(grad_output, axis=dim, keepdims=True), c.dtype)


@ROWS.add("native_dropout_backward.default")
def _dropout(c: Call, grad_output: Any, mask: Any, scale: float) -> Any:
    return np.where(mask, grad_output * scale, cast(0, c.dtype))


@ROWS.add("slice_backward.default")
def _slice(c: Call, grad_output: Any, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Any:
    n = input_sizes[dim]
    start, stop, step = slice(start, end, step).indices(n)
    count = len(range(start, stop, step))
    widths = [(0, 0)] * len(input_sizes)
    if step == 1:
        widths[dim % len(input_sizes)] = (start, n - start - count)
        return np.pad(grad_output, widths)
    zeros = np.zeros(tuple(input_sizes), np.float32)
    at = (slice(None),) * (dim % len(input_sizes)) + (slice(start, stop, step),)
    return gradients(lambda x: x[at], (cast(function("constant")(zeros), c.dtype),), grad_output)[0]


@ROWS.add("select_backward.default")
def _select(c: Call, grad_output: Any, input_sizes: Sequence[int], dim: int, index: int) -> Any:
    n, axis = input_sizes[dim], dim % len(input_sizes)
    index %= n
    widths = [(0, 0)] * len(input_sizes)
    widths[axis] = (index, n - index - 1)
    return np.pad(np.expand_dims(grad_output, axis), widths)


@ROWS.add("nll_loss_backward.default", "nll_loss2d_backward.default")
def _nll_loss(
    c: Call,
    grad_output: Any,
    self: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    axis = min(np.ndim(self) - 1, 1)
    counted = target != ignore_index
    classes = np.where(counted, target, 0)
    each = cast(counted, c.dtype)
    if weight is not None:
        each = each * np.take(weight, classes)
    scale = grad_output / total_weight if reduction == 1 else grad_output
    numbers = np.arange(self.shape[axis]).reshape(tuple(-1 if k == axis else 1 for k in range(np.ndim(self))))
    hot = np.expand_dims(classes, axis) == numbers
    return np.where(hot, -np.expand_dims(each * scale, axis), cast(0, c.dtype))
