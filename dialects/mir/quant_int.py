"""
Matmuls and convolutions of i8 tensors in exact integer arithmetic, and their builder methods.

Quantised floating-point weights are in `quant.py`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    IntegerList,
    Real,
    Tensor,
    integer,
    integer_list,
    real,
    tensor,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import dims, element_of, shape_of

_QUANTISERS = "`zero_points` $x_zero_point `,` $w_zero_point `,` $out_zero_point `multiplier` $multiplier"


class _IntegerProductOp(MirOp, abc.ABC):
    """Integer products of `x` and `w`, with a bias, brought back to i8."""

    x: Tensor = tensor()
    w: Tensor = tensor()
    bias: Tensor = tensor(alone=True)
    multiplier: Real = real()
    x_zero_point: Integer = integer(default=0)
    w_zero_point: Integer = integer(default=0)
    out_zero_point: Integer = integer(default=0)

    @property
    def zero_points(self) -> tuple[int, int, int]:
        """Those of x, w and the result."""
        return self.x_zero_point.value.data, self.w_zero_point.value.data, self.out_zero_point.value.data

    def check(self) -> None:
        """Require the element types and attributes that both ops want."""
        for name, value, element in (("x", self.x, i8), ("w", self.w, i8), ("bias", self.bias, i32)):
            _check_type(name, value, element)
        for point in self.zero_points:
            if not -(1 << 31) <= point < 1 << 31:
                raise VerifyException(f"zero point {point} is out of range for i32")
        if not isfinite(self.multiplier.value.data):
            raise VerifyException(f"expected a finite multiplier, got {self.multiplier.value.data}")


def _check_type(name: str, value: SSAValue, element: IntegerType) -> None:
    if element_of(value) != element:
        raise VerifyException(f"expected {name} of element type {element}, got {element_of(value)}")


def _check_bias(bias: SSAValue, count: int) -> None:
    if shape_of(bias) != (count,):
        raise VerifyException(f"expected a bias of shape [{count}], got {dims(shape_of(bias))}")


class QMatmulOp(_IntegerProductOp, name="mir.q_matmul"):
    """
    `result = clamp(round(acc multiplier) + out_zero_point, -128, 127)` with `acc[m, n] = bias[n] + sum over k of (x[m,
    k] - x_zero_point) (w[k, n] - w_zero_point)`.

    `x` is `[M, K]` i8, `w` `[K, N]` i8, `bias` `[N]` i32. `acc` is exact in i32 (it wraps beyond). It is multiplied by
    the multiplier in f64, and rounded to nearest, half to even.
    """

    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = f"$x `,` $w `,` $bias {_QUANTISERS} attr-dict `:` functional-type(operands, results)"

    def infer_types(self) -> tuple[Attribute]:
        self.check()
        a, b = shape_of(self.x), shape_of(self.w)
        if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
            raise VerifyException(f"expected shapes [M, K] and [K, N], got {dims(a)} and {dims(b)}")
        _check_bias(self.bias, b[1])
        return (TensorType(i8, (a[0], b[1])),)


class PaddedAxis(NamedTuple):
    """One spatial axis of a convolution."""

    extent: int
    kernel: int
    stride: int
    before: int
    """Padding in front."""
    dilation: int
    result: int


class QConv2dOp(_IntegerProductOp, name="mir.q_conv2d"):
    """
    `acc[n, o, i, j] = bias[o] + sum over c, p, q of (x[n, c, i s - pad + p d, j s - pad + q d] - x_zero_point) (w[o, c,
    p, q] - w_zero_point)`, rounded to i8 as in `mir.q_matmul`; padding contributes nothing.

    `x` is `[N, C, H, W]` i8, `w` `[O, C / groups, KH, KW]` i8, `bias` `[O]` i32, the result `[N, O, OH, OW]`. `padding`
    is `[top, left, bottom, right]`; `strides` and `dilations` are `[vertical, horizontal]`. An output channel sums over
    the input channels of its group, of which there are `groups`.
    """

    strides: IntegerList = integer_list(default=(1, 1))
    padding: IntegerList = integer_list(default=(0, 0, 0, 0))
    dilations: IntegerList = integer_list(default=(1, 1))
    groups: Integer = integer(default=1)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = (
        "$x `,` $w `,` $bias `strides` custom<IntList>($strides) `padding` custom<IntList>($padding) "
        f"`dilations` custom<IntList>($dilations) `groups` $groups {_QUANTISERS} attr-dict "
        "`:` functional-type(operands, results)"
    )

    @property
    def windows(self) -> tuple[PaddedAxis, PaddedAxis]:
        """The vertical and the horizontal axis."""
        x, w = shape_of(self.x), shape_of(self.w)
        strides, padding, dilations = _ints(self.strides), _ints(self.padding), _ints(self.dilations)
        vertical, horizontal = _windows(x[2:], w[2:], strides, padding, dilations)
        return vertical, horizontal

    def infer_types(self) -> tuple[Attribute]:
        self.check()
        strides, padding, dilations = _ints(self.strides), _ints(self.padding), _ints(self.dilations)
        groups = self.groups.value.data
        a, b = shape_of(self.x), shape_of(self.w)
        if len(a) != 4 or len(b) != 4:
            raise VerifyException(f"expected x and w of rank 4, got {dims(a)} and {dims(b)}")
        if groups < 1 or b[0] % groups or b[1] * groups != a[1]:
            raise VerifyException(f"{groups} groups do not fit {a[1]} channels and weights of shape {dims(b)}")
        if (len(strides), len(padding), len(dilations)) != (2, 4, 2):
            raise VerifyException("expected two strides, four paddings and two dilations")
        if min(*strides, *dilations) < 1 or min(padding) < 0:
            raise VerifyException("expected strides and dilations of at least 1 and no negative padding")
        _check_bias(self.bias, b[0])
        vertical, horizontal = _windows(a[2:], b[2:], strides, padding, dilations)
        if min(vertical.result, horizontal.result) < 1:
            raise VerifyException(f"weights of shape {dims(b)} are larger than the padded input of shape {dims(a)}")
        return (TensorType(i8, (a[0], b[0], vertical.result, horizontal.result)),)


def _ints(values: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(int(n) for n in values.get_values())


def _windows(
    extents: Sequence[int],
    kernels: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilations: Sequence[int],
) -> list[PaddedAxis]:
    rows = zip(extents, kernels, strides, padding[:2], padding[2:], dilations, strict=True)
    return [
        PaddedAxis(n, k, s, before, d, (n + before + after - (k - 1) * d - 1) // s + 1)
        for n, k, s, before, after, d in rows
    ]


class QuantIntBuilder(BuilderCore):
    """Builder methods of this family."""

    q_matmul = method(QMatmulOp)
    q_conv2d = method(QConv2dOp)
