"""Nests of integer products: i8 times i8 into i32."""

from __future__ import annotations

from xdsl.dialects.builtin import f64, i8, i32

from xdsl_rlx.dialects.mir.quant_int import PaddedAxis, QConv2dOp, QMatmulOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.nest import Array, Iteration, Number, cast, clamp, rint, rolled, scratch
from xdsl_rlx.lowering.nests.work import NEST, Work

WRITTEN_OUT = 8
"""Columns, and rows of w, up to which loops over columns may be written out: over more, SLP takes seconds."""

COLUMNS = 512
"""Columns of a product that one iteration goes through: their sums stay in the first-level cache."""

TOGETHER = 4
"""Rows of w that are multiplied and added up before the sums are stored again."""

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
    """An iteration computes some columns of a row, their sums side by side."""
    (m, k), (_, n) = shape_of(op.x), shape_of(op.w)
    (x_zero, w_zero, out_zero), multiplier = op.zero_points, op.multiplier.value.data
    width, blocks, whole = min(n, COLUMNS), -(-n // COLUMNS), k - k % TOGETHER
    is_rolled = max(n, k) > WRITTEN_OUT

    reads = [work.read(op.x), work.read(op.w), work.read(op.bias)]

    @work.over(m * blocks, (k + 4) * width, reads, [work.write(op.result)])
    def q_matmul(it: Iteration, x: Array, w: Array, bias: Array, result: Array) -> None:
        row, block = it.unravel(m, blocks)
        first = block * COLUMNS
        columns = range(min(first + COLUMNS, n) - first)
        sums = scratch(width, i32)

        def add(p: Number, count: int) -> None:
            terms = [(p + u, _wide(x[row, p + u], x_zero)) for u in range(count)]
            for j in rolled(columns) if is_rolled else columns:
                total = sums[j]
                for q, factor in terms:
                    total = total + factor * _wide(w[q, first + j], w_zero)
                sums[j] = total

        for j in columns:
            sums[j] = bias[first + j]
        for p in range(0, whole, TOGETHER):
            add(p, TOGETHER)
        for p in range(whole, k):
            add(p, 1)
        for j in rolled(columns) if is_rolled else columns:
            result[row, first + j] = _requantised(sums[j], multiplier, out_zero)


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
