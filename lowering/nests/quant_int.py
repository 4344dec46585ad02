"""Nests of integer products: i8 times i8 into i32."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, f64, i8, i32
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.quant_int import PaddedAxis, QConv2dOp, QMatmulOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

Bounds = tuple[SSAValue, SSAValue]

WRITTEN_OUT = 8
"""Columns, and rows of w, up to which loops over columns may be written out: over more, SLP takes seconds."""

COLUMNS = 512
"""Columns of a product that one iteration goes through: their sums stay in the first-level cache."""

TOGETHER = 4
"""Rows of w that are multiplied and added up before the sums are stored again."""

TAPS = 8
"""Columns of a kernel up to which each has a loop of its own, over results that are known."""


def _wide(nest: Nest, buffer: SSAValue, at: Sequence[SSAValue], zero_point: int) -> Scalar:
    """An i8 less its zero point, as an i32."""
    wide = nest.scalars.cast(nest.load(buffer, at), i32)
    return wide - zero_point if zero_point else wide


def _requantised(nest: Nest, total: Scalar, multiplier: float, zero_point: int) -> Scalar:
    """`clamp(round(total multiplier) + zero_point, -128, 127)`, where f64 holds the sum exactly."""
    s = nest.scalars
    scaled = s.round_even(s.cast(total, f64) * multiplier) + float(zero_point)
    return s.cast(s.minimum(s.maximum(scaled, -128.0), 127.0), i8)


@NEST.rule(QMatmulOp)
def q_matmul_nest(op: QMatmulOp, work: Work) -> None:
    """An iteration computes some columns of a row, their sums side by side."""
    (m, k), (_, n) = shape_of(op.x), shape_of(op.w)
    x_zero, w_zero, out_zero = op.zero_points
    width = min(n, COLUMNS)
    blocks = -(-n // COLUMNS)
    rolled = max(n, k) > WRITTEN_OUT

    def body(it: Iteration, x: SSAValue, w: SSAValue, bias: SSAValue, result: SSAValue) -> None:
        nest = it.nest
        s, index = nest.scalars, nest.kernel.index
        sums = nest.kernel.scratch(MemRefType(i32, [width]), "sums")
        row, block = nest.quotient(it.index, blocks), nest.remainder(it.index, blocks)
        first = s.of(block) * COLUMNS
        count = index(n) if blocks == 1 else (s.minimum(first + COLUMNS, n) - first).value
        columns = (index(0), count)

        def column(inside: Nest, j: SSAValue) -> SSAValue:
            return (inside.scalars.of(j) + inside.scalars.of(first.value)).value

        def start(inside: Nest, j: SSAValue) -> None:
            inside.store(inside.load(bias, (column(inside, j),)), sums, (j,))

        def add(inside: Nest, p: SSAValue, count: int) -> None:
            rows = [(inside.scalars.of(p) + u).value if u else p for u in range(count)]
            factors = [_wide(inside, x, (row, q), x_zero) for q in rows]

            def one(deepest: Nest, j: SSAValue) -> None:
                total = deepest.load(sums, (j,))
                for q, factor in zip(rows, factors, strict=True):
                    total = total + deepest.scalars.of(factor.value) * _wide(
                        deepest, w, (q, column(deepest, j)), w_zero
                    )
                deepest.store(total, sums, (j,))

            inside.each(columns, "j", one, rolled)

        def several(inside: Nest, p: SSAValue) -> None:
            add(inside, (inside.scalars.of(p) * TOGETHER).value, TOGETHER)

        def finish(inside: Nest, j: SSAValue) -> None:
            value = _requantised(inside, inside.load(sums, (j,)), op.multiplier.value.data, out_zero)
            inside.store(value, result, (row, column(inside, j)))

        nest.each(columns, "j", start)
        nest.each((index(0), index(k // TOGETHER)), "p", several)
        nest.each((index(k - k % TOGETHER), index(k)), "p", lambda inside, p: add(inside, p, 1))
        nest.each(columns, "j", finish, rolled)

    work.launch(
        m * blocks,
        (k + 4) * width,
        [work.read(op.x), work.read(op.w), work.read(op.bias)],
        [work.write(op.result)],
        body,
    )


def _inside(nest: Nest, window: PaddedAxis, tap: Scalar) -> tuple[Scalar, Scalar]:
    """
    The results whose window reads a place inside of the input at a kernel position: `[lo, hi)`.

    `0 <= i stride - before + tap dilation < extent`, rounded inwards.
    """
    s = nest.scalars
    shift = tap * window.dilation
    low = s.maximum(s.of(nest.kernel.index(window.before)) - shift, 0) + (window.stride - 1)
    room = s.maximum(s.of(nest.kernel.index(window.extent + window.before)) - shift, 0) + (window.stride - 1)
    high = s.minimum(s.div(room, window.stride), window.result)
    return s.div(low, window.stride), high


def _columns(nest: Nest, window: PaddedAxis, tap: SSAValue) -> Bounds:
    """`_inside` at a position in a row of the kernel: constants if the position is one."""
    known = constant_index(tap)
    if known is None:
        low, high = _inside(nest, window, nest.scalars.of(tap))
        return low.value, high.value
    shift = known * window.dilation
    low = -(-max(window.before - shift, 0) // window.stride)
    high = min(-(-max(window.extent + window.before - shift, 0) // window.stride), window.result)
    return nest.kernel.index(low), nest.kernel.index(high)


@NEST.rule(QConv2dOp)
def q_conv2d_nest(op: QConv2dOp, work: Work) -> None:
    """An iteration computes a line of the result, its sums side by side."""
    (batch, _, _, _), (outputs, depth, _, _) = shape_of(op.x), shape_of(op.w)
    vertical, horizontal = op.windows
    lines = vertical.result
    per_group = outputs // op.groups.value.data
    x_zero, w_zero, out_zero = op.zero_points

    def body(it: Iteration, x: SSAValue, w: SSAValue, bias: SSAValue, result: SSAValue) -> None:
        nest = it.nest
        index = nest.kernel.index
        sums = nest.kernel.scratch(MemRefType(i32, [horizontal.result]), "sums")
        line, rest = nest.remainder(it.index, lines), nest.quotient(it.index, lines)
        o, image = nest.remainder(rest, outputs), nest.quotient(rest, outputs)
        first_channel = nest.scalars.of(nest.quotient(o, per_group)) * depth
        everything = (index(0), index(horizontal.result))

        def start(inside: Nest, j: SSAValue) -> None:
            inside.store(inside.load(bias, (o,)), sums, (j,))

        def tap(inside: Nest, c: SSAValue, p: SSAValue, q: SSAValue, row: SSAValue) -> None:
            s = inside.scalars
            channel = (s.of(first_channel.value) + s.of(c)).value
            factor = _wide(inside, w, (o, c, p, q), w_zero)
            low, high = _columns(inside, horizontal, q)
            shift = s.of(q) * horizontal.dilation - horizontal.before

            def one(deepest: Nest, j: SSAValue) -> None:
                b = deepest.scalars
                at = (b.of(j) * horizontal.stride + b.of(shift.value)).value
                product = b.of(factor.value) * _wide(deepest, x, (image, channel, row, at), x_zero)
                deepest.store(deepest.load(sums, (j,)) + product, sums, (j,))

            inside.each((low, high), "j", one)

        def kernel_row(inside: Nest, c: SSAValue, p: SSAValue) -> None:
            s = inside.scalars
            row = s.of(line) * vertical.stride + s.of(p) * vertical.dilation - vertical.before
            valid = (row >= 0) & (row < vertical.extent)

            def taps(n: Nest) -> None:
                if horizontal.kernel <= TAPS:
                    for q in range(horizontal.kernel):
                        tap(n, c, p, index(q), row.value)
                else:
                    n.each((index(0), index(horizontal.kernel)), "q", lambda d, q: tap(d, c, p, q, row.value))

            inside.guard(valid.value, taps)

        def channel(inside: Nest, c: SSAValue) -> None:
            inside.each((index(0), index(vertical.kernel)), "p", lambda n, p: kernel_row(n, c, p))

        def finish(inside: Nest, j: SSAValue) -> None:
            value = _requantised(inside, inside.load(sums, (j,)), op.multiplier.value.data, out_zero)
            inside.store(value, result, (image, o, line, j))

        nest.each(everything, "j", start)
        nest.each((index(0), index(depth)), "c", channel)
        nest.each(everything, "j", finish)

    cost = (depth * vertical.kernel * horizontal.kernel + 4) * horizontal.result
    reads = [work.read(op.x), work.read(op.w), work.read(op.bias)]
    work.launch(batch * outputs * lines, cost, reads, [work.write(op.result)], body)
