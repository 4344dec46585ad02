"""Convolutions and pooling as StableHLO."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, Block, SSAValue

from xdsl_rlx.dialects.mir import conv
from xdsl_rlx.dialects.mir import pool as pooling
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.stablehlo.writer import (
    Writer,
    number,
    numbers,
    pairs,
    row,
    text,
    truths,
)

Pairs = Sequence[tuple[int, int]]


def _convolved(
    w: Writer,
    operands: Sequence[SSAValue],
    type_: Attribute,
    layout: str,
    stride: Sequence[int],
    padding: Pairs,
    image_steps: Sequence[int],
    kernel_steps: Sequence[int],
    reverse: bool = False,
    groups: int = 1,
    batch_groups: int = 1,
) -> SSAValue:
    """A convolution; `layout` has the axes of operands and result, such as `[b, f, #]x[o, i, #]->[b, f, #]`."""
    axes = ", ".join(map(str, range(len(stride))))
    if reverse and all(step == 1 for step in image_steps):
        x, kernel = operands
        for axis in range(2, 2 + len(stride)):
            kernel = w.op("reverse", [kernel], kernel.type, dimensions=numbers([axis]))
        operands, reverse = [x, kernel], False
    return w.op(
        "convolution",
        operands,
        type_,
        window_strides=numbers(stride),
        padding=pairs(padding),
        lhs_dilation=numbers(image_steps),
        rhs_dilation=numbers(kernel_steps),
        window_reversal=truths([reverse] * len(stride)),
        dimension_numbers=text("conv", layout.replace("#", axes)),
        feature_group_count=number(groups),
        batch_group_count=number(batch_groups),
    )


_PLAIN = "[b, f, #]x[o, i, #]->[b, f, #]"


@row(conv.ConvOp)
def _conv(op: conv.ConvOp, w: Writer) -> Sequence[SSAValue]:
    at = op.windows
    ones = [1] * len(at.stride)
    sides = [(p, p) for p in at.padding]
    operands = [w[op.x], w[op.w]]
    return [_convolved(w, operands, op.result.type, _PLAIN, at.stride, sides, ones, at.dilation, groups=at.groups)]


@row(conv.Conv2dBackwardInputOp)
def _conv_backward_input(op: conv.Conv2dBackwardInputOp, w: Writer) -> Sequence[SSAValue]:
    """The cotangent, with zeros between its elements, by the reversed kernel."""
    at, dy, weight = op.windows, w[op.dy], w[op.w]
    (outputs, inputs, *kernel), groups = shape_of(weight), at.groups
    apart = w.reshape(weight, (groups, outputs // groups, inputs, *kernel))
    turned = w.transpose(apart, (0, 2, 1, 3, 4))
    turned = w.reshape(turned, (groups * inputs, outputs // groups, *kernel))
    sides = _transposed(shape_of(op.result)[2:], kernel, shape_of(dy)[2:], at.stride, at.padding, at.dilation)
    ones = [1] * len(kernel)
    operands = [dy, turned]
    found = _convolved(
        w, operands, op.result.type, _PLAIN, ones, sides, at.stride, at.dilation, reverse=True, groups=groups
    )
    return [found]


def _transposed(
    image: Sequence[int],
    kernel: Sequence[int],
    windows: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[tuple[int, int]]:
    """The padding of windows on the results of windows, of which the results are the image again."""
    sides: list[tuple[int, int]] = []
    for n, k, count, s, p, d in zip(image, kernel, windows, stride, padding, dilation, strict=True):
        before = d * (k - 1) - p
        sides.append((before, n - ((count - 1) * s + 1) - before + d * (k - 1)))
    return sides


@row(conv.Conv2dBackwardWeightOp)
def _conv_backward_weight(op: conv.Conv2dBackwardWeightOp, w: Writer) -> Sequence[SSAValue]:
    """The cotangent is the kernel, channels are the batch, and images the features."""
    at, x, dy = op.windows, w[op.x], w[op.dy]
    sides: list[tuple[int, int]] = []
    extents = zip(shape_of(x)[2:], shape_of(op.result)[2:], shape_of(dy)[2:], strict=True)
    for (n, k, count), s, p, d in zip(extents, at.stride, at.padding, at.dilation, strict=True):
        sides.append((p, d * (k - 1) + (count - 1) * s + 1 - n - p))
    layout = "[f, b, #]x[i, o, #]->[f, b, #]"
    ones = [1] * len(at.stride)
    found = _convolved(w, [x, dy], op.result.type, layout, at.dilation, sides, ones, at.stride, batch_groups=at.groups)
    return [found]


def _windows(frames: Any, rank: int = 4) -> dict[str, Attribute]:
    """The attributes of windows over the last axes."""
    front = [1] * (rank - len(frames.kernel))
    ones = numbers([1] * rank)
    return {
        "window_dimensions": numbers([*front, *frames.kernel]),
        "window_strides": numbers([*front, *frames.stride]),
        "base_dilations": ones,
        "window_dilations": ones,
        "padding": pairs([*((0, 0) for _ in front), *((p, p) for p in frames.padding)]),
    }


@row(pooling.PoolOp)
def _pool(op: pooling.PoolOp, w: Writer) -> Sequence[SSAValue]:
    x, kind, frames = w[op.x], op.kind.data.value, op.frames
    element = element_of(x)
    name, initial = {"max": ("maximum", -inf), "min": ("minimum", inf)}.get(kind, ("add", 0.0))

    def reduced(image: SSAValue) -> SSAValue:
        body = w.combining(name, element)
        type_ = TensorType(element, (*shape_of(image)[:2], *shape_of(op.result)[2:]))
        return w.op("reduce_window", [image, w.scalar(initial, element)], type_, body, **_windows(frames))

    found = reduced(x)
    if kind != "mean":
        return [found]
    if op.includes_padding or not any(frames.padding):
        size = frames.kernel[0] * frames.kernel[1]
        if not size & (size - 1):
            # as the importer has it
            return [w.op("multiply", [found, w.like(1 / size, found)], found.type)]
        count = w.like(float(size), found)
    else:
        ones = reduced(w.full(1.0, (1, 1, *shape_of(x)[2:]), element))
        count = w.expand(ones, shape_of(found))
    return [w.op("divide", [found, count], found.type)]


@row(pooling.Maxpool2dTakeOp)
def _maxpool_take(op: Any, w: Writer) -> Sequence[SSAValue]:
    """Windows of elements, their positions and what is taken: of equal elements the first one counts."""
    x, t = w[op.x], w[op.t]
    shape, element = shape_of(x), element_of(x)
    lines = w.iota((shape[2] * shape[3],), 0, i64)
    positions = w.placed(w.reshape(lines, shape[2:]), shape, (2, 3))
    one, position, truth_ = (TensorType(kind, ()) for kind in (element, i64, i1))
    block = Block(arg_types=[one, position, one, one, position, one])
    inner = w.inside(block)
    a, i, s, b, j, u = block.args
    earlier = inner.compare("LT", i, j, "SIGNED")
    equal = inner.compare("EQ", a, b, "FLOAT")
    nan, other = (inner.compare("NE", n, n, "FLOAT") for n in (a, b))
    same = inner.op("or", [equal, inner.op("and", [nan, other], truth_)], truth_)
    first = inner.op("and", [same, earlier], truth_)
    larger = inner.op("or", [inner.compare("GT", a, b, "FLOAT"), nan], truth_)
    larger = inner.op("and", [larger, inner.op("not", [same], truth_)], truth_)
    takes = inner.op("or", [larger, first], truth_)
    inner.end([inner.op("select", [takes, m, n], m.type) for m, n in ((a, b), (i, j), (s, u))])
    starts = [w.scalar(-inf, element), w.scalar((1 << 63) - 1, i64), w.scalar(0.0, element)]
    types = [TensorType(kind, shape_of(op.result)) for kind in (element, i64, element)]
    return [w.ops("reduce_window", [x, positions, t, *starts], types, [block], **_windows(op.frames))[2]]


@row(pooling.Maxpool2dBackwardOp)
def _maxpool_backward(op: Any, w: Writer) -> Sequence[SSAValue]:
    x, dy, frames = w[op.x], w[op.dy], op.frames
    element = element_of(x)
    one = TensorType(element, ())
    select = Block(arg_types=[one, one])
    inner = w.inside(select)
    a, b = select.args
    inner.end([inner.compare("GE", a, b, "FLOAT")])
    given = _windows(frames)
    given = {name: given[name] for name in ("window_dimensions", "window_strides", "padding")}
    operands = [x, dy, w.scalar(0.0, element)]
    return [w.op("select_and_scatter", operands, op.result.type, select, w.combining("add", element), **given)]


@row(pooling.Sumpool2dBackwardOp)
def _sumpool_backward(op: Any, w: Writer) -> Sequence[SSAValue]:
    """Windows over the cotangent, with zeros between its elements."""
    dy, frames = w[op.dy], op.frames
    element = element_of(dy)
    size = shape_of(op.result)[2:]
    sides = _transposed(size, frames.kernel, shape_of(dy)[2:], frames.stride, frames.padding, (1, 1))
    ones = numbers([1] * 4)
    found = w.op(
        "reduce_window",
        [dy, w.scalar(0.0, element)],
        op.result.type,
        w.combining("add", element),
        window_dimensions=numbers([1, 1, *frames.kernel]),
        window_strides=ones,
        base_dilations=numbers([1, 1, *frames.stride]),
        window_dilations=ones,
        padding=pairs([(0, 0), (0, 0), *sides]),
    )
    return [found]
