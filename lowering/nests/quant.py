"""Nests of ops on quantised weights: loops over the weights, a panel at a time. What bytes mean is in
`quant_decode.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import GemmOp
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
from xdsl_rlx.lowering.nest import Nest
from xdsl_rlx.lowering.nests.index import clamped_index
from xdsl_rlx.lowering.nests.quant_decode import GGUF, Block, fp4, fp8, load_byte, scale_code
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.transforms.rules.lowering import Layout
from xdsl_rlx.transforms.scalar import Scalar

Put: TypeAlias = Callable[[Nest, SSAValue, Scalar, Scalar], None]
"""`(nest, row, column, value)`: what becomes of one weight, at its place in the panel."""

PANEL = 1 << 16
"""Weights of a panel: dequantised, they stay in a second-level cache."""

MANY_ROWS = 32
"""Rows of the other operand from which on a panel is at least `WIDE`, so that BLAS has enough to do with each row."""

WIDE = 256


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
class Panels:
    """`result = rows @ S` or `rows @ transpose(S)` (`by_rows`) with stored weights S, panel by panel of the result."""

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

    def launches(self) -> None:
        """Whole panels, then the narrower rest."""
        many = prod(shape_of(self.rows)[:-1])
        if not many or not self.features:
            return
        grain = 1 if self.by_rows else self.weights.grain
        least = WIDE if many >= MANY_ROWS else 16
        width = min(self.features, -(-max(PANEL // max(self.depth, 1), least) // grain) * grain)
        whole, rest = divmod(self.features, width)
        rows = self.work.read(self.rows, (many, self.depth))
        reads = [*self.weights.reads, rows]
        if self.indices is not None:
            reads.append(self.work.read(self.indices, (many,)))
        self._launch(reads, many, 0, whole, width)
        if rest:
            self._launch(reads, many, whole * width, 1, rest)

    def _launch(self, reads: Sequence[Argument], many: int, start: int, count: int, width: int) -> None:
        element, depth, work = element_of(self.result), self.depth, self.work
        extent, cost = self.weights.count * count, depth * width * (many + 4)
        panel = work.scratch_per_piece(extent, cost, (depth, width), element, "panel")
        if self.by_rows:
            panel = replace(panel, strides=(depth * width, 1, depth))
        result = work.write(self.result, (count, many, width), (width, self.features, 1))
        layout = result.buffer.layout
        moved = Layout(layout.offset + start, layout.shape, layout.strides)
        result = replace(result, buffer=Buffer(result.buffer.root, moved, result.buffer.element))

        def body(it: Iteration, *buffers: SSAValue) -> None:
            self._iteration(it, buffers, start, count, width)

        work.launch(extent, cost, reads, [panel, result], body)

    def _iteration(self, it: Iteration, buffers: Sequence[SSAValue], start: int, count: int, width: int) -> None:
        nest = it.nest
        panel, result = buffers[-2:]
        number = nest.remainder(it.index, count)
        which = nest.quotient(it.index, count)
        if self.indices is None:
            self._fill(nest, it.piece, buffers, which, number, start, width)
            everything = (nest.kernel.index(0), nest.kernel.index(prod(shape_of(self.rows)[:-1])))
            _gemm(nest, buffers[-3], panel, result, it.piece, number, everything, width)
            return
        indices, many = buffers[-3], shape_of(self.rows)[0]
        last = self.weights.count - 1

        def mine(inside: Nest, m: SSAValue) -> Scalar:
            chosen = inside.scalars.of(clamped_index(inside, indices, (m,), last + 1))
            return inside.scalars.eq(chosen, inside.scalars.of(which))

        def tally(inside: Nest, m: SSAValue, seen: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            return [(s.of(seen[0]) + s.cast(mine(inside, m), i64)).value]

        def product(inside: Nest, m: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            line = (m, (inside.scalars.of(m) + 1).value)
            inside.guard(
                mine(inside, m).value, lambda n: _gemm(n, buffers[-4], panel, result, it.piece, number, line, width)
            )
            return ()

        def used(inside: Nest) -> None:
            self._fill(inside, it.piece, buffers, which, number, start, width)
            inside.loop((inside.kernel.index(0), inside.kernel.index(many)), (), product, "m")

        bounds = (nest.kernel.index(0), nest.kernel.index(many))
        (seen,) = nest.loop(bounds, [nest.scalars.const(0, i64).value], tally, "m")
        nest.guard((nest.scalars.of(seen) > 0).value, used)

    def _fill(
        self,
        nest: Nest,
        piece: SSAValue,
        buffers: Sequence[SSAValue],
        which: SSAValue,
        number: SSAValue,
        start: int,
        width: int,
    ) -> None:
        panel, zero = buffers[-2], nest.kernel.index(0)
        first = (nest.scalars.of(number) * width + start).value

        def put(inside: Nest, r: SSAValue, c: Scalar, value: Scalar) -> None:
            at = (piece, c.value, r) if self.by_rows else (piece, r, c.value)
            inside.store(value, panel, at)

        element = element_of(self.result)
        if self.by_rows:
            self.weights.fill(nest, buffers, which, (first, zero), (width, self.depth), element, put)
        else:
            self.weights.fill(nest, buffers, which, (zero, first), (self.depth, width), element, put)


def _gemm(
    nest: Nest,
    a: SSAValue,
    panel: SSAValue,
    result: SSAValue,
    piece: SSAValue,
    number: SSAValue,
    rows: tuple[SSAValue, SSAValue],
    width: int,
) -> None:
    columns = (nest.kernel.index(0), nest.kernel.index(width))
    nest.builder.insert(GemmOp(a, panel, result, rows, columns, b_indices=[piece], c_indices=[number]))


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
