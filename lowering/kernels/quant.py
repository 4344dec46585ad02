"""Nests of ops on quantised weights: loops over the weights, a panel at a time. What bytes mean is in
`quant_decode.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.mir.quant import (
    DequantizeWeightsOp,
    DequantMatmulBackwardInputOp,
    DequantMatmulOp,
)
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast
from xdsl_rlx.lowering.kernels.index import clamped
from xdsl_rlx.lowering.kernels.quant_decode import BLOCKS, FP8, fp4, scale_code
from xdsl_rlx.lowering.kernels.work import NEST, Runs, Work

PANEL = 1 << 16
"""Weights of a panel: dequantised, they stay in a second-level cache."""

MANY_ROWS = 32
"""Rows of the other operand from which on BLAS wants square panels; below, the weights are read in long runs."""

SQUARE = 256
LONG = 512


@dataclass(frozen=True)
class PackedWeights:
    """Stored matrices of `rows` by `columns` quantised weights, `count` of them; `element` is what they become."""

    attr: SchemeAttr
    rows: int
    columns: int
    element: Attribute
    count: int = 1

    def reads(self, work: Work, w: SSAValue, scales: Sequence[SSAValue] = ()) -> list[Argument]:
        """The operands of an op that hold them, as `decode` reads them."""
        kind = self.attr.scheme
        shape: tuple[int, ...] = (self.rows, self.columns)
        if kind.embeds_scales:
            shape = (self.count, self.rows, self.columns // kind.block, kind.block_bytes)
        elif kind.is_nibbles:
            shape = (prod(shape_of(w)),)
        return [work.read(w, shape), *map(work.read, scales)]

    @property
    def grain(self) -> int:
        """Columns are decoded this many at a time."""
        kind = self.attr.scheme
        if kind.embeds_scales:
            return kind.block
        return 2 if kind.is_nibbles and self.columns % 2 == 0 else 1

    def decode(self, held: Sequence[Array], which: Number, row: Number, first: Number, out: Array) -> None:
        """The weights of a row of matrix `which` from column `first` on, as many as there is room for in `out`."""
        kind = self.attr.scheme
        w, *scales = held
        if kind.embeds_scales:
            first_block = first // kind.block
            for b in range(out.shape[0] // kind.block):
                start = b * kind.block
                BLOCKS[kind](w[which, row, first_block + b], out[start : start + kind.block])
            return
        codes, number = self._codes(w, row), self._numbers(scales, row // max(self.attr.block_size, 1))
        for i in range(out.shape[0] // self.grain):
            place = i * self.grain
            column = place + first
            for n, code in enumerate(codes(column)):
                out[place + n] = number(code, column + n)

    def _codes(self, w: Array, row: Number) -> Callable[[Number], list[Number]]:
        """`(column)`: the code at that place of a row as an i32, or those of the pair that shares a byte."""
        if not self.attr.scheme.is_nibbles:
            return lambda j: [cast(w[row, j], i32)]
        before = row * self.columns

        def codes(j: Number) -> list[Number]:
            place = j + before
            byte = cast(w[place >> 1], i32)
            return [byte & 15, byte >> 4] if self.grain == 2 else [(byte >> (cast(place & 1, i32) << 2)) & 15]

        return codes

    def _numbers(self, scales: Sequence[Array], block: Number) -> Callable[[Number, Number], Number]:
        """`(code, column)`: the number that a code of a block of rows stands for."""
        kind, element = self.attr.scheme, self.element
        if kind == Scheme.NVFP4_BLOCK:
            codes, overall = scales[0], scales[1][0]
            return lambda q, j: cast(fp4(q) * scale_code(cast(codes[block, j], i32)), element) * overall
        if kind in FP8:
            if scales:
                return lambda q, j: cast(FP8[kind](q), element) * scales[0][j]

            def plain(q: Number, j: Number) -> Number:
                return cast(FP8[kind](q), element)

            return plain
        if len(scales) > 1:
            return lambda q, j: (cast(q, element) - scales[1][block, j]) * scales[0][block, j]
        if kind == Scheme.INT4_BLOCK:
            return lambda q, j: (cast(q, element) - 8.0) * scales[0][block, j]
        return lambda q, j: cast(q, element) * scales[0][block, j]


@NEST.rule(DequantizeWeightsOp)
def dequantize_weights_nest(op: DequantizeWeightsOp, work: Work) -> None:
    """An iteration decodes a row, or a block that holds its scales."""
    rows, columns = op.stored
    weights = PackedWeights(op.scheme, rows, columns, element_of(op.result))
    reads, result = weights.reads(work, op.w, op.scales), work.write(op.result, (rows, columns))

    @work.over(rows if columns else 0, 4 * columns, reads, [result])
    def dequantize(it: Iteration, *buffers: Array) -> None:
        weights.decode(buffers[:-1], 0, it.index, 0, buffers[-1][it.index])


@dataclass(frozen=True)
class Panels:
    """
    `result = rows @ S` or `rows @ transpose(S)` (`by_rows`) with stored weights S, of `many` rows.

    An iteration computes some columns of the result, a strip, adding up products with one panel of weights after the
    other. If the weights are `chosen`, a row is multiplied by the matrix of its index only.
    """

    weights: PackedWeights
    many: int
    by_rows: bool
    chosen: bool = False

    @property
    def sides(self) -> tuple[int, int]:
        """Columns of the result, and the contracted extent."""
        rows, columns = self.weights.rows, self.weights.columns
        return (rows, columns) if self.by_rows else (columns, rows)

    def extents(self) -> tuple[int, int]:
        """Columns of the result and of the contracted extent that are in a panel."""
        features, depth = self.sides
        few, grain = self.many < MANY_ROWS, self.weights.grain
        if self.by_rows:
            width = max(16, PANEL // max(depth, 1)) if few else SQUARE
            size = depth if few else -(-SQUARE // grain) * grain
        else:
            width = LONG if few else SQUARE
            size = PANEL // width
        return min(width, features), max(min(size, depth), 1)

    def multiply(self, it: Iteration, strips: Runs, segments: Sequence[Runs], buffers: Sequence[Array]) -> None:
        """One strip: `buffers` are the weights, the indices if chosen, rows and panels by segment, and the result."""
        which, number = it.unravel(self.weights.count, strips.count)
        *given, result = buffers
        n, out = len(segments), result[number]
        held, rows, panels = given[: -2 * n], given[-2 * n : -n], given[-n:]
        indices = held[-1] if self.chosen else None
        is_sum = n > 1 or segments[0].count > 1

        def clear(m: Number, many: int) -> None:
            out[m : m + many] = 0.0

        def add(m: Number, many: int, factor: Array, panel: Array) -> None:
            if is_sum:
                out[m : m + many] += factor[m : m + many] @ panel
            else:
                out[m : m + many] = factor[m : m + many] @ panel

        if indices is None or self._rows_of(which, indices) > 0:
            if is_sum:
                self._each(which, indices, clear)
            for segment, runs, room in zip(segments, rows, panels, strict=True):
                for s in range(segment.count):
                    # The column is computed here, since LLVM forgets that it does not overflow where it first sees it
                    # in front of the loops, and then pairs of nibbles are not vector code.
                    inner, column = s * segment.size + segment.first, number * strips.size + strips.first
                    self._fill(held, which, inner, column, room[it.piece])
                    self._each(which, indices, add, runs[s], room[it.piece])

    def _rows_of(self, which: Number, indices: Array) -> Number:
        """How many rows are to be multiplied by matrix `which`."""
        count = cast(0, i64)
        for m in range(self.many):
            count = count + cast(clamped(indices[m], self.weights.count) == which, i64)
        return count

    def _each(self, which: Number, indices: Array | None, body: Callable[..., None], *given: Array) -> None:
        """`body` on so many rows from m on: all at once, or those that the matrix is chosen for, one by one."""
        if indices is None:
            body(0, self.many, *given)
        else:
            for m in range(self.many):
                if clamped(indices[m], self.weights.count) == which:
                    body(m, 1, *given)

    def _fill(self, held: Sequence[Array], which: Number, inner: Number, column: Number, panel: Array) -> None:
        """Decode what is multiplied from `inner` of the contracted extent and `column` of the result on."""
        size, width = panel.shape
        if self.by_rows:
            for r in range(width):
                self.weights.decode(held, which, r + column, inner, panel[:, r])
        else:
            for r in range(size):
                self.weights.decode(held, which, r + inner, column, panel[r])

    def launches(self, work: Work, reads: Sequence[Argument], rows: SSAValue, result: SSAValue) -> None:
        """Whole panels, then the narrower rest. `reads` are the weights, and the indices if they are chosen."""
        features, depth = self.sides
        if not self.many or not features:
            work.write(result)
            return
        width, size = self.extents()
        segments, x = Runs.of(depth, size), work.read(rows)
        factors = [x.seen((s.count, self.many, s.size), (s.size, depth, 1), s.first) for s in segments]
        for strips in Runs.of(features, width):
            self._launch(work, [*reads, *factors], segments, strips, result)

    def _launch(
        self, work: Work, reads: Sequence[Argument], segments: Sequence[Runs], strips: Runs, result: SSAValue
    ) -> None:
        features, depth = self.sides
        width = strips.size
        extent, cost = self.weights.count * strips.count, depth * width * (self.many + 4)
        shapes = [(width, s.size) if self.by_rows else (s.size, width) for s in segments]
        panels = [work.scratch_per_piece(extent, cost, shape, element_of(result), "panel") for shape in shapes]
        if self.by_rows:
            panels = [panel.transposed for panel in panels]
        target = work.write(result).seen((strips.count, self.many, width), (width, features, 1), strips.first)

        @work.over(extent, cost, reads, [*panels, target])
        def products(it: Iteration, *buffers: Array) -> None:
            self.multiply(it, strips, segments, buffers)


@NEST.rule(DequantMatmulOp, DequantMatmulBackwardInputOp)
def dequant_matmul_nest(op: DequantMatmulOp | DequantMatmulBackwardInputOp, work: Work) -> None:
    """An iteration dequantises some columns of W, or of its transpose, and multiplies all rows by them."""
    is_backward = isinstance(op, DequantMatmulBackwardInputOp)
    rows, weights = op.dy if is_backward else op.x, PackedWeights(op.scheme, *op.stored, element_of(op.result))
    panels = Panels(weights, prod(shape_of(rows)[:-1]), by_rows=op.scheme.scheme.embeds_scales != is_backward)
    panels.launches(work, weights.reads(work, op.w, op.scales), rows, op.result)
