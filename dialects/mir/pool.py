"""Pooling and resizing of images, and their builder methods. Convolutions are in `conv.py`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, operand_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.core import MirOp, OwnNest
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, I64List, IntList, Tensor, i64_list, tensor, word_of
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, same_element_type, shape_of, window_counts


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


class PoolLike(MirOp, abc.ABC):
    """What the ops of a pooling share: how its windows lie."""

    kernel_size = prop_def(I64List)
    stride = prop_def(I64List)
    padding = prop_def(I64List)
    result = result_def(AnyTensorConstr)

    custom_directives = (IntList,)
    traits = traits_def(OwnNest())
    FORMAT: ClassVar[str] = (
        "`kernel_size` custom<IntList>($kernel_size) `stride` custom<IntList>($stride) "
        "`padding` custom<IntList>($padding) attr-dict `:` functional-type(operands, results)"
    )

    @property
    def frames(self) -> Frames:
        """The windows as integers."""
        lists: tuple[DenseArrayBase, ...] = (self.kernel_size, self.stride, self.padding)
        kernel, stride, padding = (tuple(int(n) for n in values.get_values()) for values in lists)
        return Frames(kernel, stride, padding)

    @staticmethod
    def frame_properties(frames: Frames) -> dict[str, Attribute]:
        """The properties of these windows."""
        return {
            "kernel_size": i64_list(frames.kernel),
            "stride": i64_list(frames.stride),
            "padding": i64_list(frames.padding),
        }


class PoolOp(PoolLike, name="mir.pool"):
    """
    `result[n, c, i] = kind over k of x[n, c, i stride + k - padding]`: max, min, sum or mean of windows of an image.

    `x` is `[N, C, H, W]`; `i` and `k` have an entry per dimension. Padding is never the largest or least and adds
    nothing; a mean divides by the extent of the kernel, or with `count_include_pad = false` by the number of elements
    that are not padding. NaN in a window gives NaN. Padding is at most half the kernel, so no window lies in it alone.
    There is no product of a window: `mir.im2col` and `mir.reduce_prod` give it.
    """

    x = operand_def(AnyTensorConstr)
    kind = prop_def(PoolKindAttr)
    count_include_pad = prop_def(IntegerAttr.constr(i1))

    assembly_format = f"$kind $x `count_include_pad` $count_include_pad {PoolLike.FORMAT}"

    def __init__(self, x: SSAValue, kind: PoolKind, frames: Frames, count_include_pad: bool = True):
        self.assemble(
            operands=[x],
            properties={
                **self.frame_properties(frames),
                "kind": PoolKindAttr(kind),
                "count_include_pad": IntegerAttr.from_bool(count_include_pad),
            },
            result_types=[self._infer(x, frames)],
        )

    @property
    def includes_padding(self) -> bool:
        """Whether a mean divides by the whole extent of the kernel everywhere."""
        return bool(self.count_include_pad.value.data)

    @staticmethod
    def _infer(x: SSAValue, frames: Frames) -> Attribute:
        element = same_element_type(x)
        check_element(element, FLOATS)
        return TensorType(element, frames.counts(shape_of(x)))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.x, self.frames),)


class Maxpool2dTakeOp(PoolLike, name="mir.maxpool2d_take"):
    """
    `result[n, c, i] = t[n, c, m]`, `m` the place of the largest element of `x` in the window `i`: the tangent of a
    pooling by maximum.

    Of equal elements the first in row-major order counts; NaN is larger than every number.
    """

    x = operand_def(AnyTensorConstr)
    t = operand_def(AnyTensorConstr)

    assembly_format = f"$x `,` $t {PoolLike.FORMAT}"

    def __init__(self, x: SSAValue, t: SSAValue, frames: Frames):
        self.assemble(
            operands=[x, t],
            properties=self.frame_properties(frames),
            result_types=[self._infer(x, t, frames)],
        )

    @staticmethod
    def _infer(x: SSAValue, t: SSAValue, frames: Frames) -> Attribute:
        element = same_element_type(x, t)
        check_element(element, FLOATS)
        if shape_of(x) != shape_of(t):
            raise VerifyException(f"expected t of shape {dims(shape_of(x))}, got {dims(shape_of(t))}")
        return TensorType(element, frames.counts(shape_of(x)))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.x, self.t, self.frames),)


class Maxpool2dBackwardOp(PoolLike, name="mir.maxpool2d_backward"):
    """
    `result[n, c, m] = sum of dy[n, c, i]` over the windows `i` whose largest element of `x` is at `m`: the cotangent of
    a pooling by maximum.

    Of equal elements the first in row-major order counts; NaN is larger than every number.
    """

    x = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)

    assembly_format = f"$x `,` $dy {PoolLike.FORMAT}"

    def __init__(self, x: SSAValue, dy: SSAValue, frames: Frames):
        self.assemble(
            operands=[x, dy],
            properties=self.frame_properties(frames),
            result_types=[self._infer(x, dy, frames)],
        )

    @staticmethod
    def _infer(x: SSAValue, dy: SSAValue, frames: Frames) -> Attribute:
        element = same_element_type(x, dy)
        check_element(element, FLOATS)
        expected = frames.counts(shape_of(x))
        if shape_of(dy) != expected:
            raise VerifyException(f"expected dy of shape {dims(expected)}, got {dims(shape_of(dy))}")
        return TensorType(element, shape_of(x))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.x, self.dy, self.frames),)


class Sumpool2dBackwardOp(PoolLike, name="mir.sumpool2d_backward"):
    """
    `result[n, c, m] = sum of dy[n, c, i]` over the windows `i` that `m` is in: the cotangent of a pooling by sum.

    `dy` is `[N, C, H', W']`, the result `[N, C, *input_size]`.
    """

    dy = operand_def(AnyTensorConstr)
    input_size = prop_def(I64List)

    assembly_format = f"$dy `input_size` custom<IntList>($input_size) {PoolLike.FORMAT}"

    def __init__(self, dy: SSAValue, input_size: Sequence[int], frames: Frames):
        self.assemble(
            operands=[dy],
            properties={**self.frame_properties(frames), "input_size": i64_list(input_size)},
            result_types=[self._infer(dy, tuple(input_size), frames)],
        )

    @staticmethod
    def _infer(dy: SSAValue, input_size: tuple[int, ...], frames: Frames) -> Attribute:
        element = same_element_type(dy)
        check_element(element, FLOATS)
        image = (*shape_of(dy)[:2], *input_size)
        expected = frames.counts(image)
        if shape_of(dy) != expected:
            raise VerifyException(f"expected dy of shape {dims(expected)}, got {dims(shape_of(dy))}")
        return TensorType(element, image)

    def infer_types(self) -> tuple[Attribute]:
        size = tuple(int(n) for n in self.input_size.get_values())
        return (self._infer(self.dy, size, self.frames),)


class ResizeNearest2xOp(MirOp, name="mir.resize_nearest_2x"):
    """`result[n, c, 2 i + a, 2 j + b] = x[n, c, i, j]` for `a`, `b` of 0 and 1: each element four times."""

    x: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        shape = shape_of(self.x)
        if len(shape) != 4:
            raise VerifyException(f"expected images of shape [N, C, H, W], got {dims(shape)}")
        return (TensorType(same_element_type(self.x), (*shape[:2], 2 * shape[2], 2 * shape[3])),)


Steps = int | Sequence[int]
"""A number for both dimensions, or one a dimension."""


def _frames(kernel_size: Steps, stride: Steps | None, padding: Steps) -> Frames:
    def spread(steps: Steps) -> tuple[int, ...]:
        return (steps, steps) if isinstance(steps, int) else tuple(steps)

    return Frames(spread(kernel_size), spread(kernel_size if stride is None else stride), spread(padding))


class PoolBuilder(BuilderCore):
    """Builder methods of this family; windows do not overlap unless a stride is given."""

    def pool(
        self,
        x: Operand,
        kind: PoolKind | str,
        kernel_size: Steps,
        stride: Steps | None = None,
        padding: Steps = 0,
        count_include_pad: bool = True,
    ) -> Value:
        """`mir.pool`: `"max"`, `"min"`, `"sum"` or `"mean"` of the windows of images [N, C, H, W]."""
        kind = word_of(PoolKind, "kind of pooling", kind)
        return self.op(PoolOp, self.operand(x), kind, _frames(kernel_size, stride, padding), count_include_pad)

    def maxpool2d_take(
        self, x: Operand, t: Operand, kernel_size: Steps, stride: Steps | None = None, padding: Steps = 0
    ) -> Value:
        """`mir.maxpool2d_take`: the elements of `t` where the windows of `x` are largest."""
        image, tangent = self.operands(x, t)
        return self.op(Maxpool2dTakeOp, image, tangent, _frames(kernel_size, stride, padding))

    def maxpool2d_backward(
        self, x: Operand, dy: Operand, kernel_size: Steps, stride: Steps | None = None, padding: Steps = 0
    ) -> Value:
        """`mir.maxpool2d_backward`: `dy` added to zeros where the windows of `x` are largest."""
        image, upper = self.operands(x, dy)
        return self.op(Maxpool2dBackwardOp, image, upper, _frames(kernel_size, stride, padding))

    def sumpool2d_backward(
        self,
        dy: Operand,
        input_size: Sequence[int],
        kernel_size: Steps,
        stride: Steps | None = None,
        padding: Steps = 0,
    ) -> Value:
        """`mir.sumpool2d_backward`: `dy` added to every element of its window, of images of extents `input_size`."""
        return self.op(Sumpool2dBackwardOp, self.operand(dy), input_size, _frames(kernel_size, stride, padding))

    resize_nearest_2x = method(ResizeNearest2xOp)
