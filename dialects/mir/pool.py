"""Pooling and resizing of images, and their builder methods. Convolutions are in `conv.py`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, result_def, traits_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import pad
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    IntegerList,
    OptionalStepList,
    StepList,
    Tensor,
    Truth,
    Word,
    integer_list,
    steps,
    tensor,
    truth,
    word,
)
from xdsl_rlx.dialects.mir.padding import Padding, Steps, common, sides
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, integers, same_element_type, shape_of, window_counts


class PoolKind(StrEnum):
    """What a window becomes."""

    MAX = "max"
    MIN = "min"
    SUM = "sum"
    MEAN = "mean"


@irdl_attr_definition
class PoolKindAttr(EnumAttribute[PoolKind], SpacedOpaqueSyntaxAttribute):
    """A kind of pooling as a property."""

    name = "mir.pool_kind"


class Frames(NamedTuple):
    """How the windows of a pooling lie, by axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def counts(self, image: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result for images [N, C, H, W]; VerifyException if the windows do not fit."""
        if len(image) != 4:
            raise VerifyException(f"expected images of shape [N, C, H, W], got {dims(image)}")
        counts = window_counts(image[2:], self.kernel, self.stride, self.padding, (1, 1))
        if any(2 * p > k for p, k in zip(self.padding, self.kernel, strict=True)):
            raise VerifyException(
                f"expected a padding of at most half the kernel {list(self.kernel)}, got {list(self.padding)}"
            )
        return (*image[:2], *counts)


class _Framed(Operation):
    """An op that takes windows, behind its other arguments."""

    if TYPE_CHECKING:
        kernel_size: StepList
        stride: OptionalStepList
        padding: StepList


class PoolLike(_Framed, MirOp, abc.ABC):
    """What the ops of a pooling share: how its windows lie."""

    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @property
    def frames(self) -> Frames:
        """The windows as integers."""
        lists = (self.kernel_size, self.stride, self.padding)
        kernel, stride, padding = (tuple(int(n) for n in values.get_values()) for values in lists)
        return Frames(kernel, stride, padding)


class PoolOp(PoolLike, name="mir.pool"):
    """
    `result[n, c, i] = kind over k of x[n, c, i stride + k - padding]`: max, min, sum or mean of windows of an image.

    `x` is `[N, C, H, W]`; `i` and `k` have an entry per dimension. Padding is the identity of the reduction. A mean
    divides by the extent of the kernel, or with `count_include_pad = false` by the number of elements that are not
    padding. NaN in a window gives NaN. Padding is at most half the kernel, so that no window consists of padding only.
    Not supported: the product of a window; use `mir.im2col` and `mir.reduce_prod`.
    """

    x: Tensor = tensor()
    kind: Word[PoolKind] = word(PoolKindAttr, "kind of pooling")
    kernel_size: StepList = steps()
    stride: OptionalStepList = steps(default=None, like="kernel_size")
    padding: StepList = steps(default=0)
    count_include_pad: Truth = truth(default=True)

    assembly_format = (
        "$kind $x `count_include_pad` $count_include_pad `kernel_size` custom<IntList>($kernel_size) "
        "`stride` custom<IntList>($stride) `padding` custom<IntList>($padding) attr-dict "
        "`:` functional-type(operands, results)"
    )

    @property
    def includes_padding(self) -> bool:
        """Whether a mean divides by the whole extent of the kernel everywhere."""
        return bool(self.count_include_pad.value.data)

    def infer_types(self) -> tuple[Attribute]:
        element = same_element_type(self.x)
        check_element(element, FLOATS)
        return (TensorType(element, self.frames.counts(shape_of(self.x))),)


class Maxpool2dTakeOp(PoolLike, name="mir.maxpool2d_take"):
    """
    `result[n, c, i] = t[n, c, m]`, `m` the position of the largest element of `x` in the window `i`: the tangent of max
    pooling.

    Of equal elements the first in row-major order counts; NaN is larger than every number.
    """

    x: Tensor = tensor()
    t: Tensor = tensor()
    kernel_size: StepList = steps()
    stride: OptionalStepList = steps(default=None, like="kernel_size")
    padding: StepList = steps(default=0)

    def infer_types(self) -> tuple[Attribute]:
        x, t = self.x, self.t
        element = same_element_type(x, t)
        check_element(element, FLOATS)
        if shape_of(x) != shape_of(t):
            raise VerifyException(f"expected t of shape {dims(shape_of(x))}, got {dims(shape_of(t))}")
        return (TensorType(element, self.frames.counts(shape_of(x))),)


class Maxpool2dBackwardOp(PoolLike, name="mir.maxpool2d_backward"):
    """
    `result[n, c, m] = sum of dy[n, c, i]` over the windows `i` whose largest element of `x` is at `m`: the cotangent of
    max pooling.

    Of equal elements the first in row-major order counts; NaN is larger than every number.
    """

    x: Tensor = tensor()
    dy: Tensor = tensor()
    kernel_size: StepList = steps()
    stride: OptionalStepList = steps(default=None, like="kernel_size")
    padding: StepList = steps(default=0)

    def infer_types(self) -> tuple[Attribute]:
        x, dy = self.x, self.dy
        element = same_element_type(x, dy)
        check_element(element, FLOATS)
        expected = self.frames.counts(shape_of(x))
        if shape_of(dy) != expected:
            raise VerifyException(f"expected dy of shape {dims(expected)}, got {dims(shape_of(dy))}")
        return (TensorType(element, shape_of(x)),)


class Sumpool2dBackwardOp(PoolLike, name="mir.sumpool2d_backward"):
    """
    `result[n, c, m] = sum of dy[n, c, i]` over the windows `i` that contain `m`: the cotangent of sum pooling.

    `dy` is `[N, C, H', W']`, the result `[N, C, *input_size]`.
    """

    dy: Tensor = tensor()
    input_size: IntegerList = integer_list()
    kernel_size: StepList = steps()
    stride: OptionalStepList = steps(default=None, like="kernel_size")
    padding: StepList = steps(default=0)

    def infer_types(self) -> tuple[Attribute]:
        size = tuple(int(n) for n in self.input_size.get_values())
        dy = self.dy
        element = same_element_type(dy)
        check_element(element, FLOATS)
        image = (*shape_of(dy)[:2], *size)
        expected = self.frames.counts(image)
        if shape_of(dy) != expected:
            raise VerifyException(f"expected dy of shape {dims(expected)}, got {dims(shape_of(dy))}")
        return (TensorType(element, image),)


class ResizeNearest2xOp(MirOp, name="mir.resize_nearest_2x"):
    """`result[n, c, 2 i + a, 2 j + b] = x[n, c, i, j]` for `a`, `b` of 0 and 1: each element four times."""

    x: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        shape = shape_of(self.x)
        if len(shape) != 4:
            raise VerifyException(f"expected images of shape [N, C, H, W], got {dims(shape)}")
        return (TensorType(same_element_type(self.x), (*shape[:2], 2 * shape[2], 2 * shape[3])),)


class PoolBuilder(BuilderCore):
    """Builder methods of this family; windows do not overlap unless a stride is given."""

    def pool(
        self,
        x: Operand,
        kind: PoolKind | str,
        kernel_size: Steps,
        stride: Steps | None = None,
        padding: Padding = 0,
        count_include_pad: bool = True,
    ) -> Value:
        """
        `mir.pool`: max, min, sum or mean of windows of images [N, C, H, W]; `stride` is by default the kernel size.

        The result is [N, C, H', W'] with `H' = floor((H + 2 padding - kH) / stride) + 1`. Padding is the identity of
        the reduction, and at most half the kernel. It may be a pair (before, after) for an axis. "valid" is 0, and
        "same" gives `H' = ceil(H / stride)`, with the odd element after. A mean divides by the extent of the kernel,
        or with `count_include_pad=False` by the number of elements that are not padding. NaN in a window gives NaN.
        """
        image = self.value(self.operand(x))
        size = image.shape[2:]
        kernel = integers("kernel_size", kernel_size)
        kernel = kernel * len(size) if len(kernel) == 1 else kernel
        step = kernel if stride is None else stride
        given = sides("pool", padding, size, kernel, step) if len(kernel) == len(size) else None
        if given is None:
            return self.op(PoolOp, image.ssa, kind, kernel_size, stride, cast(Steps, padding), count_include_pad)
        if any(max(pair) > (k + 1) // 2 for pair, k in zip(given, kernel, strict=True)):
            raise GraphError(f"pool: padding: expected at most half the kernel {list(kernel)}, got {list(given)}")
        b, (same, rest) = self._this, common(given)
        kind = PoolKind(kind)
        least = {PoolKind.MAX: -inf, PoolKind.MIN: inf}.get(kind, 0.0)
        padded = pad(b, image, ((0, 0), (0, 0), *rest), constant_values=least)
        if kind is not PoolKind.MEAN or count_include_pad or not any(map(any, rest)):
            return b.pool(padded, kind, kernel, step, same, count_include_pad)
        ones = pad(b, b.full((1, 1, *size), 1.0, image.dtype), ((0, 0), (0, 0), *rest))
        sums, counts = (b.pool(one, PoolKind.SUM, kernel, step, same) for one in (padded, ones))
        return b.div(sums, counts)

    maxpool2d_take = method(Maxpool2dTakeOp)
    maxpool2d_backward = method(Maxpool2dBackwardOp)
    sumpool2d_backward = method(Sumpool2dBackwardOp)
    resize_nearest_2x = method(ResizeNearest2xOp)
