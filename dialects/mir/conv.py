"""Convolutions and their transposes, and their builder methods. Pooling is in `pool.py`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import pad
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    IntegerList,
    StepList,
    Tensor,
    integer,
    integer_list,
    steps,
    tensor,
)
from xdsl_rlx.dialects.mir.padding import Padding, Steps, common, sides
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    FLOATS,
    check_element,
    check_windows,
    dims,
    same_element_type,
    shape_of,
    window_counts,
)


class ConvExtents(NamedTuple):
    """The loops of a convolution; sizes, counts of windows and steps are by axis."""

    images: int
    groups: int
    inputs: int
    """Input channels of a group."""
    outputs: int
    """Output channels of a group."""
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    counts: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def _numbers(values: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(int(n) for n in values.get_values())


class Windows(NamedTuple):
    """How windows lie: their steps, the zeros around the image, the distance of taps, and the groups of channels."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    def counts(self, size: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are; VerifyException if they do not fit."""
        return window_counts(size, kernel, self.stride, self.padding, self.dilation)


def _channels(inputs: int, outputs: int, per_group: int, groups: int) -> None:
    """Require the channels of an input and of the result to be those that the weight and the groups say."""
    if groups < 1:
        raise VerifyException(f"expected at least 1 group, got {groups}")
    if not inputs or not outputs:
        raise VerifyException("expected at least 1 channel")
    if outputs % groups:
        raise VerifyException(f"{outputs} output channels do not divide into {groups} groups")
    if inputs != per_group * groups:
        raise VerifyException(
            f"an input of {inputs} channels in {groups} groups does not fit a weight for {per_group} channels a group"
        )


def _images(shape: Sequence[int], what: str) -> None:
    if len(shape) != 4:
        raise VerifyException(f"expected {what} of shape [N, C, H, W], got {dims(shape)}")


class ConvLike(MirOp, abc.ABC):
    """What the ops of a convolution share: two operands, and how its windows lie."""

    stride: StepList = steps(default=1)
    padding: StepList = steps(default=0)
    dilation: StepList = steps(default=1)
    groups: Integer = integer(default=1)
    result = result_def(AnyTensorConstr)

    @property
    def windows(self) -> Windows:
        """Steps, padding and groups as integers."""
        stride, padding, dilation = map(_numbers, (self.stride, self.padding, self.dilation))
        return Windows(stride, padding, dilation, self.groups.value.data)


class ImageAndWeightOp(MirOp, abc.ABC):
    """An op on images and a weight."""

    x: Tensor = tensor()
    w: Tensor = tensor()


class ConvOp(ConvLike, ImageAndWeightOp, name="mir.conv"):
    """
    `result[n, o, i] = sum over c, k of x[n, g C/G + c, i stride + k dilation - padding] w[o, c, k]`, 0 outside of `x`.

    Cross-correlation in one or two dimensions: `x` is `[N, C, (H,) W]`, `w` is `[O, C/G, (kH,) kW]` with `G = groups`,
    `g = o div (O/G)` the group of the output channel; `i` and `k` have an entry per dimension. The result has
    `floor((W + 2 padding - dilation (kW - 1) - 1) / stride) + 1` windows along a dimension, at least one.

    Convolutions of f32 may be computed from sums of neighbouring elements of `x`. An infinite element or NaN then makes
    neighbours of its windows NaN.
    """

    traits = traits_def(HasKernel())

    @property
    def extents(self) -> ConvExtents:
        """The loops."""
        x, w, y, at = shape_of(self.x), shape_of(self.w), shape_of(self.result), self.windows
        return ConvExtents(x[0], at.groups, w[1], w[0] // at.groups, x[2:], w[2:], y[2:], *at[:3])

    def infer_types(self) -> tuple[Attribute]:
        x, w, windows = self.x, self.w, self.windows
        element = same_element_type(x, w)
        check_element(element, FLOATS)
        image, weight = shape_of(x), shape_of(w)
        if len(image) not in (3, 4) or len(weight) != len(image):
            raise VerifyException(
                f"expected [N, C, W] with [O, C, kW] or [N, C, H, W] with [O, C, kH, kW], "
                f"got {dims(image)} with {dims(weight)}"
            )
        _channels(image[1], weight[0], weight[1], windows.groups)
        return (TensorType(element, (image[0], weight[0], *windows.counts(image[2:], weight[2:]))),)


class ConvTranspose2dOp(ConvLike, ImageAndWeightOp, name="mir.conv_transpose2d"):
    """
    `result[n, g O/G + o, i] = sum of x[n, c, j] w[c, o, k]` over the `c` of group `g`, `j`, `k` with
    `j stride + k dilation - padding = i`: the transpose of `mir.conv` by the same `w`.

    `x` is `[N, C, H, W]`, `w` is `[C, O/G, kH, kW]`. The result has
    `(H - 1) stride - 2 padding + dilation (kH - 1) + output_padding + 1` rows, at least one; `output_padding` is
    smaller than `stride` or than `dilation`.
    """

    output_padding: StepList = steps(default=0)

    assembly_format = (
        "$x `,` $w `output_padding` custom<IntList>($output_padding) `stride` custom<IntList>($stride) "
        "`padding` custom<IntList>($padding) `dilation` custom<IntList>($dilation) `groups` $groups attr-dict "
        "`:` functional-type(operands, results)"
    )

    def infer_types(self) -> tuple[Attribute]:
        x, w, windows = self.x, self.w, self.windows
        output_padding = _numbers(self.output_padding)
        element = same_element_type(x, w)
        check_element(element, FLOATS)
        image, weight = shape_of(x), shape_of(w)
        _images(image, "x")
        _images(weight, "w")
        if image[1] != weight[0]:
            raise VerifyException(f"an input of {image[1]} channels does not fit a weight for {weight[0]}")
        check_windows(2, weight[2:], *windows[:3])
        bounds = [max(steps) for steps in zip(windows.stride, windows.dilation, strict=True)]
        if len(output_padding) != 2 or any(
            not 0 <= extra < bound for extra, bound in zip(output_padding, bounds, strict=True)
        ):
            raise VerifyException(
                f"expected an output_padding of 0 to below the larger of stride and dilation, {bounds}, "
                f"got {list(output_padding)}"
            )
        lies = zip(image[2:], weight[2:], *windows[:3], output_padding, strict=True)
        size = [(n - 1) * s - 2 * p + d * (k - 1) + extra + 1 for n, k, s, p, d, extra in lies]
        if min(size) < 1:
            raise VerifyException(
                f"a padding of {list(windows.padding)} leaves nothing: the result has extents {dims(size)}"
            )
        outputs = weight[1] * windows.groups
        _channels(outputs, weight[0], weight[1], windows.groups)
        return (TensorType(element, (image[0], outputs, *size)),)


class CotangentAndWeightOp(MirOp, abc.ABC):
    """An op on the cotangent of a convolution and its weight."""

    dy: Tensor = tensor()
    w: Tensor = tensor()
    input_size: IntegerList = integer_list()


class Conv2dBackwardInputOp(ConvLike, CotangentAndWeightOp, name="mir.conv2d_backward_input"):
    """
    `result[n, g C/G + c, i stride + k dilation - padding] = sum of dy[n, o, i] w[o, c, k]`: the cotangent of the image
    of a `mir.conv` of two dimensions.

    `dy` is `[N, O, H', W']`, `w` is `[O, C/G, kH, kW]`, the result `[N, C, *input_size]`. Linear in each operand.
    """

    traits = traits_def(HasKernel())

    @property
    def extents(self) -> ConvExtents:
        """The loops."""
        dy, w, x, at = shape_of(self.dy), shape_of(self.w), shape_of(self.result), self.windows
        return ConvExtents(x[0], at.groups, w[1], w[0] // at.groups, x[2:], w[2:], dy[2:], *at[:3])

    def infer_types(self) -> tuple[Attribute]:
        dy, w, input_size, windows = self.dy, self.w, _numbers(self.input_size), self.windows
        element = same_element_type(dy, w)
        check_element(element, FLOATS)
        upper, weight = shape_of(dy), shape_of(w)
        _images(upper, "dy")
        _images(weight, "w")
        inputs = weight[1] * windows.groups
        _channels(inputs, weight[0], weight[1], windows.groups)
        expected = (upper[0], weight[0], *windows.counts(input_size, weight[2:]))
        if upper != expected:
            raise VerifyException(f"expected dy of shape {dims(expected)}, got {dims(upper)}")
        return (TensorType(element, (upper[0], inputs, *input_size)),)


class ImageAndCotangentOp(MirOp, abc.ABC):
    """An op on the images of a convolution and its cotangent."""

    x: Tensor = tensor()
    dy: Tensor = tensor()
    kernel_size: IntegerList = integer_list()


class Conv2dBackwardWeightOp(ConvLike, ImageAndCotangentOp, name="mir.conv2d_backward_weight"):
    """
    `result[o, c, k] = sum over n, i of x[n, g C/G + c, i stride + k dilation - padding] dy[n, o, i]`: the cotangent of
    the weight of a `mir.conv` of two dimensions.

    `x` is `[N, C, H, W]`, `dy` is `[N, O, H', W']`, the result `[O, C/G, *kernel_size]`. Linear in each operand.
    """

    traits = traits_def(HasKernel())

    @property
    def extents(self) -> ConvExtents:
        """The loops."""
        x, dy, w, at = shape_of(self.x), shape_of(self.dy), shape_of(self.result), self.windows
        return ConvExtents(x[0], at.groups, w[1], w[0] // at.groups, x[2:], w[2:], dy[2:], *at[:3])

    def infer_types(self) -> tuple[Attribute]:
        x, dy, kernel_size, windows = self.x, self.dy, _numbers(self.kernel_size), self.windows
        element = same_element_type(x, dy)
        check_element(element, FLOATS)
        image, upper = shape_of(x), shape_of(dy)
        _images(image, "x")
        _images(upper, "dy")
        per_group = image[1] // max(windows.groups, 1)
        _channels(image[1], upper[1], per_group, windows.groups)
        expected = (image[0], upper[1], *windows.counts(image[2:], kernel_size))
        if upper != expected:
            raise VerifyException(f"expected dy of shape {dims(expected)}, got {dims(upper)}")
        return (TensorType(element, (upper[1], per_group, *kernel_size)),)


class Im2colOp(MirOp, name="mir.im2col"):
    """
    `result[(n, i), (c, k)] = x[n, c, i stride + k dilation - padding]`, 0 outside of `x`: the windows as rows.

    `x` is `[N, C, H, W]`; the result is `[N H' W', C kH kW]`, so that `mir.conv` is a matmul with it.
    """

    x: Tensor = tensor()
    kernel_size: StepList = steps()
    stride: StepList = steps(default=1)
    padding: StepList = steps(default=0)
    dilation: StepList = steps(default=1)
    result = result_def(AnyTensorConstr)

    @property
    def windows(self) -> Windows:
        """Steps and padding; each channel is a group."""
        stride, padding, dilation = map(_numbers, (self.stride, self.padding, self.dilation))
        return Windows(stride, padding, dilation, shape_of(self.x)[1])

    @property
    def kernel(self) -> tuple[int, ...]:
        """The extents of a window."""
        return _numbers(self.kernel_size)

    def infer_types(self) -> tuple[Attribute]:
        x, kernel = self.x, self.kernel
        element = same_element_type(x)
        check_element(element, FLOATS)
        image = shape_of(x)
        _images(image, "x")
        _channels(image[1], image[1], 1, image[1])
        rows, columns = self.windows.counts(image[2:], kernel)
        return (TensorType(element, (image[0] * rows * columns, image[1] * kernel[0] * kernel[1])),)


class ConvBuilder(BuilderCore):
    """Builder methods of this family; a step may be one number for all dimensions."""

    def conv(
        self,
        x: Operand,
        w: Operand,
        stride: Steps = 1,
        padding: Padding = 0,
        dilation: Steps = 1,
        groups: int = 1,
        bias: Operand | None = None,
    ) -> Value:
        """
        `mir.conv`: cross-correlation of images [N, C, (H,) W] with weights [O, C/groups, (kH,) kW].

        The result is [N, O, (H',) W'] with `W' = floor((W + 2 padding - dilation (kW - 1) - 1) / stride) + 1`. `bias`
        [O] is added to each channel of it. `padding` may be a pair (before, after) for an axis, whose sum then is in
        the place of `2 padding`. "valid" is 0, and "same" gives `W' = ceil(W / stride)`, with the odd element after.
        """
        image, weight = self.operands(x, w)
        size, kernel = shape_of(image)[2:], shape_of(weight)[2:]
        if len(size) == len(kernel) and (given := sides("conv", padding, size, kernel, stride, dilation)) is not None:
            padding, rest = common(given)
            image = pad(self._this, image, ((0, 0), (0, 0), *rest)).ssa
        return self._biased(self.op(ConvOp, image, weight, stride, cast(Steps, padding), dilation, groups), bias)

    def _biased(self, images: Value, bias: Operand | None) -> Value:
        if bias is None:
            return images
        offset = self.value(self.operand(bias, images))
        if offset.shape != images.shape[1:2]:
            raise GraphError(f"expected a bias of shape [{images.shape[1]}], got {dims(offset.shape)}")
        return images + self._this.reshape(offset, (*offset.shape, *[1] * (images.rank - 2)))

    def conv_transpose2d(
        self,
        x: Operand,
        w: Operand,
        stride: Steps = 1,
        padding: Steps = 0,
        dilation: Steps = 1,
        groups: int = 1,
        output_padding: Steps = 0,
        bias: Operand | None = None,
    ) -> Value:
        """
        `mir.conv_transpose2d`: the transpose of `mir.conv`, of images [N, C, H, W] by weights [C, O/groups, kH, kW].

        The result is [N, O, H', W'] with `H' = (H - 1) stride - 2 padding + dilation (kH - 1) + output_padding + 1`.
        `bias` [O] is added to each channel of it.
        """
        image, weight = self.operands(x, w)
        made = self.op(ConvTranspose2dOp, image, weight, stride, padding, dilation, groups, output_padding)
        return self._biased(made, bias)

    conv2d_backward_input = method(Conv2dBackwardInputOp)
    conv2d_backward_weight = method(Conv2dBackwardWeightOp)
    im2col = method(Im2colOp)
