"""Rows of matrix products and convolutions."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast


@ROWS.add("mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default")
def _matmul(c: Call, self: Any, other: Any) -> Any:
    return self @ other


@ROWS.add("vdot.default")
def _vdot(c: Call, self: Any, other: Any) -> Any:
    return (np.conj(self) if c.dtype in ("c64", "c128") else self) @ other


@ROWS.add("linear.default")
def _linear(c: Call, input: Any, weight: Any, bias: Any = None) -> Any:
    y = input @ np.swapaxes(weight, 0, 1) if np.ndim(weight) == 2 else input @ weight
    return y if bias is None else y + bias


def _with_product(c: Call, self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta self + alpha product`; with `beta = 0` the values of `self` do not count, whatever they are."""
    if alpha != 1:
        product = product * cast(alpha, c.dtype)
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * cast(beta, c.dtype))


@ROWS.add("addmm.default", "addmv.default")
def _addmm(c: Call, self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _with_product(c, self, mat1 @ mat2, beta, alpha)


@ROWS.add("baddbmm.default")
def _baddbmm(c: Call, self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _with_product(c, self, batch1 @ batch2, beta, alpha)


@ROWS.add("convolution.default")
def convolution(
    c: Call,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """Convolution or its transpose, with one to three spatial axes."""
    axes = np.ndim(weight) - 2
    steps, around, spread = (_each(x, axes) for x in (stride, padding, dilation))
    if transposed:
        return nn.conv_transpose(input, weight, bias, steps, around, _each(output_padding, axes), groups, spread)
    return nn.conv(input, weight, bias, steps, around, spread, groups)


def _each(x: Any, axes: int) -> Any:
    """One number for each spatial axis; text such as "same" as it is."""
    if isinstance(x, str | int):
        return x
    return list(x) * axes if len(x) == 1 else list(x)


def _convolve(
    c: Call,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    axes = np.ndim(weight) - 2
    return nn.conv(input, weight, bias, _each(stride, axes), _each(padding, axes), _each(dilation, axes), groups)


for _axes in (1, 2, 3):
    ROWS.add(f"conv{_axes}d.default", f"conv{_axes}d.padding")(_convolve)


def _transposed(
    c: Call,
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    axes = np.ndim(weight) - 2
    steps, around, behind, spread = (_each(x, axes) for x in (stride, padding, output_padding, dilation))
    return nn.conv_transpose(input, weight, bias, steps, around, behind, groups, spread)


ROWS.add("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")(_transposed)


@ROWS.add("einsum.default")
def _einsum(c: Call, equation: str, tensors: Sequence[Any], path: Any = None) -> Any:
    return np.einsum(equation, *tensors)


@ROWS.add("outer.default")
def _outer(c: Call, self: Any, vec2: Any) -> Any:
    return np.outer(cast(self, c.dtype), cast(vec2, c.dtype))


@ROWS.add("tensordot.default")
def _tensordot(c: Call, self: Any, other: Any, dims_self: Sequence[int], dims_other: Sequence[int]) -> Any:
    return np.tensordot(self, other, (list(dims_self), list(dims_other)))
