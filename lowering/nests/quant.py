"""Nests of ops on quantised weights: loops over the weights, a panel at a time. What bytes mean is in
`quant_decode.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import GemmOp
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.quant import (
    DequantGroupedMatmulBackwardInputOp,
    DequantGroupedMatmulOp,
    DequantizeWeightsOp,
    DequantMatmulBackwardInputOp,
    DequantMatmulOp,
)
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.fuse.loop_tables import StridedLayout
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests.index import clamped_index
from xdsl_rlx.lowering.nests.quant_decode import GGUF, Block, fp4, fp8, load_byte, scale_code
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

Put: TypeAlias = Callable[[Nest, SSAValue, Scalar, Scalar], None]
"""`(nest, row, column, value)`: what becomes of one weight, at its place in the panel."""

PANEL = 1 << 16
"""Weights of a panel: dequantised, they stay in a second-level cache."""

MANY_ROWS = 32
"""Rows of the other operand from which on BLAS wants square panels; below, the weights are read in long runs."""

SQUARE = 256
LONG = 512


@dataclass(frozen=True)
class Weights:
    """Stored matrices of `rows` by `columns` quantised weights, `count` of them, and the buffers that hold them."""

    attr: SchemeAttr
    count: int
    rows: int
    columns: int
    reads: tuple[Argument, ...]

    @staticmethod
    def of(
        work: Work, attr: SchemeAttr, stored: tuple[int, int], w: SSAValue, scales: Sequence[SSAValue], count: int = 1
    ) -> Weights:
        """The weights as the operands of an op hold them."""
        kind, (rows, columns) = attr.scheme, stored
        if kind.is_gguf:
            shape = (count, rows, columns // kind.block, kind.block_bytes)
        else:
            shape = (prod(shape_of(w)),) if kind.is_nibbles else stored
        reads = [work.read(w, shape), *(work.read(scale) for scale in scales)]
        return Weights(attr, count, rows, columns, tuple(reads))

    @property
    def grain(self) -> int:
        """Columns are decoded this many at a time."""
        kind = self.attr.scheme
        if kind.is_gguf:
            return kind.block
        return 2 if kind.is_nibbles and self.columns % 2 == 0 else 1

    def fill(
        self,
        nest: Nest,
        buffers: Sequence[SSAValue],
        which: SSAValue,
        first: tuple[SSAValue, SSAValue],
        extents: tuple[int, int],
        element: Attribute,
        put: Put,
    ) -> None:
        """Decode the `extents` rows and columns from `first` on of matrix `which`, as numbers of type `element`.

        `buffers` begins with what holds the weights.
        """
        held = buffers[: len(self.reads)]

        def row(inside: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            at = s.of(i[0]) + s.of(first[0])
            here: Callable[[Nest, Scalar, Scalar], None] = lambda n, c, v: put(  # noqa: E731
                n, i[0], c, n.scalars.cast(v, element)
            )
            if self.attr.scheme.is_gguf:
                self._blocks(inside, held[0], (which, at.value), first[1], extents[1], here)
            else:
                self._row(inside, held, at, s.of(first[1]), extents[1], element, here)
            return ()

        nest.loops([extents[0]], (), row, "r")

    def _blocks(
        self,
        nest: Nest,
        packed: SSAValue,
        at: tuple[SSAValue, ...],
        first: SSAValue,
        count: int,
        put: Callable[[Nest, Scalar, Scalar], None],
    ) -> None:
        kind = self.attr.scheme
        first_block = nest.quotient(first, kind.block)

        def block(inside: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            start = s.of(i[0]) * kind.block
            place = (*at, (s.of(first_block) + s.of(i[0])).value)
            GGUF[kind](Block(inside, packed, place, lambda n, c, v: put(n, c + start, v)))
            return ()

        nest.loops([count // kind.block], (), block, "b")

    def _row(
        self,
        nest: Nest,
        buffers: Sequence[SSAValue],
        at: Scalar,
        first: Scalar,
        count: int,
        element: Attribute,
        put: Callable[[Nest, Scalar, Scalar], None],
    ) -> None:
        """A row of codes that are not in gguf blocks, one or two at a time."""
        step = self.grain
        block = nest.scalars.of(nest.quotient(at.value, max(self.attr.block_size, 1)))
        constants = self._constants(nest, buffers, element)

        def codes(inside: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            local = s.of(i[0]) * step if step > 1 else s.of(i[0])
            column = local + first
            found = self._codes(inside, buffers[0], at, column)
            for n, code in enumerate(found):
                c = column + n if n else column
                value = self._value(inside, buffers[1:], constants, code, block, c, element)
                put(inside, local + n if n else local, value)
            return ()

        nest.loops([count // step], (), codes, "c")

    def _codes(self, nest: Nest, w: SSAValue, row: Scalar, column: Scalar) -> list[Scalar]:
        """The code at a place as an i32, or those of the pair that shares a byte."""
        kind = self.attr.scheme
        if not kind.is_nibbles:
            signed = kind in (Scheme.INT8_BLOCK, Scheme.INT8_BLOCK_ASYM)
            return [load_byte(nest, w, (row.value, column.value), signed)]
        place = column + row * self.columns
        byte = load_byte(nest, w, ((place >> 1).value,))
        if self.grain == 2:
            return [byte & 15, byte >> 4]
        return [(byte >> (nest.scalars.cast(place & 1, i32) << 2)) & 15]

    def _constants(self, nest: Nest, buffers: Sequence[SSAValue], element: Attribute) -> list[Scalar]:
        if self.attr.scheme != Scheme.NVFP4_BLOCK:
            return []
        return [nest.load(buffers[2], (nest.kernel.index(0),))]

    def _value(
        self,
        nest: Nest,
        scales: Sequence[SSAValue],
        constants: Sequence[Scalar],
        code: Scalar,
        block: Scalar,
        column: Scalar,
        element: Attribute,
    ) -> Scalar:
        """The number that a code stands for."""
        s, kind = nest.scalars, self.attr.scheme
        at = (block.value, column.value)
        if kind == Scheme.NVFP4_BLOCK:
            value = fp4(s, code) * scale_code(s, load_byte(nest, scales[0], at))
            return s.cast(value, element) * constants[0]
        if kind in (Scheme.FP8_E4M3, Scheme.FP8_E5M2):
            value = s.cast(fp8(s, kind, code), element)
            return value * nest.load(scales[0], (column.value,)) if scales else value
        value = s.cast(code, element)
        if len(scales) > 1:
            value = value - nest.load(scales[1], at)
        elif kind == Scheme.INT4_BLOCK:
            value = value - 8.0
        return value * nest.load(scales[0], at)


@NEST.rule(DequantizeWeightsOp)
def dequantize_weights_nest(op: DequantizeWeightsOp, work: Work) -> None:
    """An iteration decodes a row, or a block of gguf."""
    rows, columns = op.stored
    weights = Weights.of(work, op.scheme, (rows, columns), op.w, op.scales)
    result = work.write(op.result, (rows, columns))

    def body(it: Iteration, *buffers: SSAValue) -> None:
        zero = it.nest.kernel.index(0)

        def put(nest: Nest, r: SSAValue, c: Scalar, value: Scalar) -> None:
            nest.store(value, buffers[-1], (it.index, c.value))

        element = element_of(op.result)
        weights.fill(it.nest, buffers, zero, (it.index, zero), (1, columns), element, put)

    work.launch(rows if columns else 0, 4 * columns, weights.reads, [result], body)


@dataclass(frozen=True)
class Segment:
    """`count` runs of `size` of the contracted extent from `first` on: what is in a panel at a time."""

    first: int
    count: int
    size: int


@dataclass(frozen=True)
class Panels:
    """
    `result = rows @ S` or `rows @ transpose(S)` (`by_rows`) with stored weights S.

    An iteration computes some columns of the result, adding up products with one panel of weights after the other.
    With `indices`, a row is multiplied by the weights that its index chooses.
    """

    work: Work
    weights: Weights
    rows: SSAValue
    result: SSAValue
    by_rows: bool
    indices: SSAValue | None = None

    @property
    def features(self) -> int:
        """Columns of the result."""
        return self.weights.rows if self.by_rows else self.weights.columns

    @property
    def depth(self) -> int:
        """The contracted extent."""
        return self.weights.columns if self.by_rows else self.weights.rows

    @property
    def many(self) -> int:
        """Rows of the result."""
        return prod(shape_of(self.rows)[:-1])

    def launches(self) -> None:
        """Whole panels, then the narrower rest."""
        if not self.many or not self.features:
            self.work.write(self.result)
            return
        width, size = self._extents()
        whole, rest = divmod(self.features, width)
        runs, end = divmod(self.depth, size) if self.depth else (1, 0)
        segments = [Segment(0, runs, min(size, self.depth))]
        if end:
            segments.append(Segment(runs * size, 1, end))
        reads = list(self.weights.reads)
        if self.indices is not None:
            reads.append(self.work.read(self.indices, (self.many,)))
        rows = self.work.read(self.rows)
        for s in segments:
            runs_of_rows = replace(rows, shape=(s.count, self.many, s.size), strides=(s.size, self.depth, 1))
            reads.append(_moved(runs_of_rows, s.first))
        self._launch(reads, segments, 0, whole, width)
        if rest:
            self._launch(reads, segments, whole * width, 1, rest)

    def _extents(self) -> tuple[int, int]:
        """Columns of the result and of the contracted extent that are in a panel."""
        few, grain = self.many < MANY_ROWS, self.weights.grain
        if self.by_rows:
            width = max(16, PANEL // max(self.depth, 1)) if few else SQUARE
            size = self.depth if few else -(-SQUARE // grain) * grain
        else:
            width = LONG if few else SQUARE
            size = PANEL // width
        return min(width, self.features), max(min(size, self.depth), 1)

    def _launch(
        self, reads: Sequence[Argument], segments: Sequence[Segment], start: int, count: int, width: int
    ) -> None:
        element, work = element_of(self.result), self.work
        extent, cost = self.weights.count * count, self.depth * width * (self.many + 4)
        panels: list[Argument] = []
        for s in segments:
            panel = work.scratch_per_piece(extent, cost, (s.size, width), element, "panel")
            panels.append(replace(panel, strides=(s.size * width, 1, s.size)) if self.by_rows else panel)
        result = work.write(self.result, (count, self.many, width), (width, self.features, 1))

        def body(it: Iteration, *buffers: SSAValue) -> None:
            _PanelNest(self, it, buffers, segments, start, count, width).emit()

        work.launch(extent, cost, reads, [*panels, _moved(result, start)], body)


def _moved(argument: Argument, by: int) -> Argument:
    """A buffer seen from an element further on."""
    buffer = argument.buffer
    layout = StridedLayout(buffer.layout.offset + by, buffer.layout.shape, buffer.layout.strides)
    return replace(argument, buffer=Buffer(buffer.root, layout, buffer.element))


@dataclass(frozen=True)
class _PanelNest:
    """The body of an iteration of a launch of `panels`."""

    panels: Panels
    it: Iteration
    buffers: Sequence[SSAValue]
    segments: Sequence[Segment]
    start: int
    count: int
    width: int

    def emit(self) -> None:
        nest = self.it.nest
        if self.panels.indices is None:
            self._products(nest)
            return
        everything = (nest.kernel.index(0), nest.kernel.index(self.panels.many))

        def tally(inside: Nest, m: SSAValue, seen: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            return [(s.of(seen[0]) + s.cast(self._is_mine(inside, m), i64)).value]

        (seen,) = nest.loop(everything, [nest.scalars.const(0, i64).value], tally, "m")
        nest.guard((nest.scalars.of(seen) > 0).value, self._products)

    @property
    def _first_rows(self) -> int:
        return len(self.panels.weights.reads) + (self.panels.indices is not None)

    def _which(self, nest: Nest) -> SSAValue:
        return nest.quotient(self.it.index, self.count)

    def _number(self, nest: Nest) -> SSAValue:
        return nest.remainder(self.it.index, self.count)

    def _is_mine(self, nest: Nest, m: SSAValue) -> Scalar:
        """Whether a row is to be multiplied by the weights of this iteration."""
        s = nest.scalars
        chosen = clamped_index(nest, self.buffers[self._first_rows - 1], (m,), self.panels.weights.count)
        return s.eq(s.of(chosen), s.of(self._which(nest)))

    def _products(self, nest: Nest) -> None:
        at_once = len(self.segments) == 1 and self.segments[0].count == 1
        if not at_once:
            self._each_row(nest, self._clear)
        for number, segment in enumerate(self.segments):
            step = partial(self._segment, number, segment, not at_once)
            nest.loops([segment.count], (), step, "s")

    def _segment(
        self, number: int, segment: Segment, accumulate: bool, nest: Nest, at: tuple[SSAValue, ...], _: object
    ) -> Sequence[SSAValue]:
        panel = self.buffers[self._first_rows + len(self.segments) + number]
        rows = self.buffers[self._first_rows + number]
        self._fill(nest, panel, segment, at[0])

        def product(inside: Nest, lines: tuple[SSAValue, SSAValue]) -> None:
            columns = (inside.kernel.index(0), inside.kernel.index(self.width))
            inside.builder.insert(
                GemmOp(
                    rows,
                    panel,
                    self.buffers[-1],
                    lines,
                    columns,
                    a_indices=[at[0]],
                    b_indices=[self.it.piece],
                    c_indices=[self._number(inside)],
                    accumulate=accumulate,
                )
            )

        self._each_row(nest, product)
        return ()

    def _each_row(self, nest: Nest, body: Callable[[Nest, tuple[SSAValue, SSAValue]], None]) -> None:
        """`body` on the rows of this iteration: all at once, or those that its weights are chosen for, one by one."""
        everything = (nest.kernel.index(0), nest.kernel.index(self.panels.many))
        if self.panels.indices is None:
            body(nest, everything)
            return

        def row(inside: Nest, m: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            following = (inside.scalars.of(m) + 1).value
            inside.guard(self._is_mine(inside, m).value, lambda n: body(n, (m, following)))
            return ()

        nest.loop(everything, (), row, "m")

    def _clear(self, nest: Nest, lines: tuple[SSAValue, SSAValue]) -> None:
        def line(inside: Nest, m: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            number = self._number(inside)
            zero = inside.scalars.const(0.0, element_of(self.panels.result))

            def one(deepest: Nest, j: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                deepest.store(zero, self.buffers[-1], (number, m, j[0]))
                return ()

            inside.loops([self.width], (), one, "j")
            return ()

        nest.loop(lines, (), line, "m")

    def _fill(self, nest: Nest, panel: SSAValue, segment: Segment, run: SSAValue) -> None:
        s, by_rows = nest.scalars, self.panels.by_rows

        def put(inside: Nest, r: SSAValue, c: Scalar, value: Scalar) -> None:
            inside.store(value, panel, (self.it.piece, c.value, r) if by_rows else (self.it.piece, r, c.value))

        column = (s.of(self._number(nest)) * self.width + self.start).value
        inner = (s.of(run) * segment.size + segment.first).value
        first, extents = (inner, column), (segment.size, self.width)
        if by_rows:
            first, extents = (column, inner), (self.width, segment.size)
        element = element_of(self.panels.result)
        self.panels.weights.fill(nest, self.buffers, self._which(nest), first, extents, element, put)


@NEST.rule(DequantMatmulOp)
def dequant_matmul_nest(op: DequantMatmulOp, work: Work) -> None:
    """An iteration dequantises some columns of W and multiplies all rows of x by them."""
    weights = Weights.of(work, op.scheme, op.stored, op.w, op.scales)
    Panels(work, weights, op.x, op.result, by_rows=op.scheme.scheme.is_gguf).launches()


@NEST.rule(DequantMatmulBackwardInputOp)
def dequant_matmul_backward_input_nest(op: DequantMatmulBackwardInputOp, work: Work) -> None:
    """An iteration dequantises some rows of W and multiplies all rows of dy by their transpose."""
    weights = Weights.of(work, op.scheme, op.stored, op.w, op.scales)
    Panels(work, weights, op.dy, op.result, by_rows=not op.scheme.scheme.is_gguf).launches()


@NEST.rule(DequantGroupedMatmulOp)
def dequant_grouped_matmul_nest(op: DequantGroupedMatmulOp, work: Work) -> None:
    """An iteration dequantises some columns of the weights of one expert, if a row wants it."""
    (k, n), experts = op.matrix, op.experts.value.data
    weights = Weights.of(work, op.scheme, (n, k), op.packed, (), experts)
    Panels(work, weights, op.x, op.result, True, op.indices).launches()


@NEST.rule(DequantGroupedMatmulBackwardInputOp)
def dequant_grouped_matmul_backward_input_nest(op: DequantGroupedMatmulBackwardInputOp, work: Work) -> None:
    """An iteration dequantises some rows of the weights of one expert, if a row wants it."""
    (k, n), experts = op.matrix, op.experts.value.data
    weights = Weights.of(work, op.scheme, (n, k), op.packed, (), experts)
    Panels(work, weights, op.dy, op.result, False, op.indices).launches()
