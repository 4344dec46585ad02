"""Nests of integer products: i8 times i8 into i32."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f64, i8, i32

from xdsl_rlx.dialects.mir.quant_int import PaddedAxis, QConv2dOp, QMatmulOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, clamp, rint, rolled, scratch
from xdsl_rlx.lowering.kernels.quant import Runs
from xdsl_rlx.lowering.kernels.work import NEST, Work

ROWS = 128
"""Rows of a product that one iteration computes: as many share a panel of the weights that is copied."""

COLUMNS = 256
"""Columns of a product that one iteration computes: the sums of `ROWS` rows stay in the second-level cache."""

VECTOR = 16
"""Columns that are a vector at most."""

TOGETHER = 4
"""Rows of w that are added up before the sums are stored again."""

TAPS = 8
"""Columns of a kernel up to which each has a loop of its own, over results that are known."""


def _wide(byte: Number, zero_point: int) -> Number:
    """An i8 less its zero point, as an i32."""
    return cast(byte, i32) - zero_point if zero_point else cast(byte, i32)


def _requantised(total: Number, multiplier: float, zero_point: int) -> Number:
    """`clamp(round(total multiplier) + zero_point, -128, 127)`, where f64 holds the sum exactly."""
    return cast(clamp(rint(cast(total, f64) * multiplier) + float(zero_point), -128.0, 127.0), i8)


@NEST.rule(QMatmulOp)
def q_matmul_nest(op: QMatmulOp, work: Work) -> None:
    """
    An iteration computes some rows of some columns.

    `sum (x - x0) (w - w0) = sum x w - x0 sum w - w0 sum x + depth x0 w0`: what depends on columns alone is computed
    once.
    """
    (m, k), (_, n) = shape_of(op.x), shape_of(op.w)
    x, w, result, offsets = work.read(op.x), work.read(op.w), work.write(op.result), _offsets(op, work)
    for rows in Runs.of(m, _block(m, ROWS, 1)) if m else ():
        for columns in Runs.of(n, _block(n, COLUMNS, VECTOR)) if n else ():
            factors = [
                x.seen((rows.count, rows.size, k), (rows.size * k, k, 1), rows.first * k),
                w.seen((columns.count, k, columns.size), (columns.size, n, 1), columns.first),
                offsets.seen((columns.count, columns.size), (columns.size, 1), columns.first),
            ]
            shape = (rows.count, columns.count, rows.size, columns.size)
            part = result.seen(shape, (rows.size * n, columns.size, n, 1), rows.first * n + columns.first)
            _products(op, work, factors, part)


def _block(extent: int, most: int, step: int) -> int:
    """The length of blocks of at most `most`, nearly alike, and of whole steps."""
    length = -(-extent // -(-extent // most))
    return min(-(-length // step) * step, extent)


def _offsets(op: QMatmulOp, work: Work) -> Argument:
    """The bias, and what the zero points add to all sums of a column."""
    (depth, n), (x_zero, w_zero, _) = shape_of(op.w), op.zero_points
    bias = work.read(op.bias)
    if not x_zero:
        return bias
    found = work.scratch((n,), i32, "offsets")
    blocks, whole = -(-n // COLUMNS), depth - depth % TOGETHER

    @work.over(blocks, (depth + 2) * COLUMNS, [work.read(op.w), bias], [found])
    def sum_up(it: Iteration, w: Array, bias: Array, offsets: Array) -> None:
        first = it.index * COLUMNS
        columns = range(min(first + COLUMNS, n) - first)

        def add(p: Number, count: int) -> None:
            for j in rolled(columns):
                total = cast(w[p, first + j], i32)
                for u in range(1, count):
                    total += cast(w[p + u, first + j], i32)
                offsets[first + j] -= x_zero * total

        for j in rolled(columns):
            offsets[first + j] = bias[first + j] + depth * x_zero * w_zero
        for p in range(0, whole, TOGETHER):
            add(p, TOGETHER)
        for p in range(whole, depth):
            add(p, 1)

    return found


def _products(op: QMatmulOp, work: Work, factors: Sequence[Argument], result: Argument) -> None:
    """A launch for blocks of rows and columns of one size; `result` has a dimension for the number of each."""
    down, across, height, width = result.shape
    (_, _, depth), (_, w_zero, out_zero), multiplier = factors[0].shape, op.zero_points, op.multiplier.value.data

    @work.over(down * across, (depth + 4) * height * width, factors, [result])
    def q_matmul(it: Iteration, x: Array, w: Array, offsets: Array, result: Array) -> None:
        row, column = it.unravel(down, across)
        sums = scratch((height, width), i32)
        sums[...] = cast(x[row], i32) @ cast(w[column], i32)
        for i in range(height):
            more = cast(0, i32)
            if w_zero:
                for p in range(depth):
                    more -= w_zero * cast(x[row, i, p], i32)
            for j in rolled(range(width)):
                total = sums[i, j] + offsets[column, j] + more
                result[row, column, i, j] = _requantised(total, multiplier, out_zero)


def _inside(window: PaddedAxis, tap: Number) -> tuple[Number, Number]:
    """
    The results whose window reads a place inside of the input at a kernel position: `[lo, hi)`.

    `0 <= i stride - before + tap dilation < extent`, rounded inwards.
    """
    shift, up = tap * window.dilation, window.stride - 1
    low = max(window.before - shift, 0)
    room = max(window.extent + window.before - shift, 0)
    return (low + up) // window.stride, min((room + up) // window.stride, window.result)


@NEST.rule(QConv2dOp)
def q_conv2d_nest(op: QConv2dOp, work: Work) -> None:
    """An iteration computes a line of the result, its sums side by side."""
    (batch, _, _, _), (outputs, depth, _, _) = shape_of(op.x), shape_of(op.w)
    vertical, horizontal = op.windows
    per_group, multiplier = outputs // op.groups.value.data, op.multiplier.value.data
    x_zero, w_zero, out_zero = op.zero_points
    taps = range(horizontal.kernel)
    written_out = tuple(taps) if len(taps) <= TAPS else taps

    cost = (depth * vertical.kernel * horizontal.kernel + 4) * horizontal.result
    reads = [work.read(op.x), work.read(op.w), work.read(op.bias)]

    @work.over(batch * outputs * vertical.result, cost, reads, [work.write(op.result)])
    def q_conv2d(it: Iteration, x: Array, w: Array, bias: Array, result: Array) -> None:
        image, o, line = it.unravel(batch, outputs, vertical.result)
        channels = o // per_group * depth
        sums = scratch(horizontal.result, i32)
        sums[...] = bias[o]
        for c in range(depth):
            for p in range(vertical.kernel):
                row = line * vertical.stride + p * vertical.dilation - vertical.before
                if 0 <= row < vertical.extent:
                    for q in written_out:
                        channel, shift = channels + c, q * horizontal.dilation - horizontal.before
                        factor = _wide(w[o, c, p, q], w_zero)
                        low, high = _inside(horizontal, q)
                        for j in range(low, high):
                            byte = x[image, channel, row, j * horizontal.stride + shift]
                            sums[j] += factor * _wide(byte, x_zero)
        for j in range(horizontal.result):
            result[image, o, line, j] = _requantised(sums[j], multiplier, out_zero)
