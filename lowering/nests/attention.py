"""Nests of attention: blocks of queries against blocks of keys, so that the scores are never there as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, is_float
from xdsl_rlx.dialects.mir.attention import AttentionLike, AttentionOp, MaskKind
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

QUERIES = 64
"""Queries of a block."""

KEYS = 512
"""Keys of a block."""

ELEMENT_COST = 24
"""What the softmax of one score costs, in scalar operations."""


def of_heads(work: Work, value: SSAValue, layout: HeadLayout, x: Heads, write: bool = False) -> Argument:
    """A tensor of heads seen as `[B, H, S, D]`, as it lies where its rows have unit stride, else copied."""
    found = work.write(value) if write else work.read_strided(value)
    argument = by_heads(found, layout, x)
    row, unit = argument.strides[2:]
    if (unit != 1 and x.width != 1) or (row < x.width and x.length != 1):
        argument = by_heads(work.read(value), layout, x)
    return argument


def by_heads(found: Argument, layout: HeadLayout, x: Heads) -> Argument:
    """A tensor of heads in its own layout seen as `[B, H, S, D]`."""
    if layout == HeadLayout.PACKED:
        batch, length, unit = found.strides
        strides = (batch, x.width * unit, length, unit)
    elif layout == HeadLayout.BSHD:
        batch, length, head, unit = found.strides
        strides = (batch, head, length, unit)
    else:
        batch, head, length, unit = found.strides
        strides = (batch, head, length, unit)
    return Argument(found.buffer, (x.batch, x.heads, x.length, x.width), strides, found.name)


def mask_argument(work: Work, op: AttentionLike, value: SSAValue | None, write: bool = False) -> Argument:
    """A mask or bias seen as `[B, H, Sq, Sk]`; with stride 0 where it is repeated."""
    assert value is not None
    e, shape = op.extents, op.mask_shape
    found = work.write(value, shape) if write else work.read(value, shape)
    full = (e.batch, e.heads, e.queries, e.keys)
    strides = tuple(0 if n == 1 else s for n, s in zip(shape, found.strides, strict=True))
    return Argument(found.buffer, full, strides, found.name)


@dataclass(frozen=True)
class Block:
    """A block of scores: of queries `[row, row + rows)` of a head against keys `[key, key + keys)`."""

    head: tuple[SSAValue, SSAValue]
    row: SSAValue
    rows: SSAValue
    key: SSAValue
    keys: SSAValue


class Scores:
    """The arithmetic of one op: which keys a row sees, and from the product of a query and a key to a score."""

    def __init__(self, op: AttentionLike, mask: SSAValue | None):
        self.op = op
        self.mask = mask
        self.extents = op.extents
        self.window = None if op.window is None else op.window.value.data
        self.is_banded = op.kind in (MaskKind.CAUSAL, MaskKind.SLIDING_WINDOW)
        self.changes = op.softcap is not None or mask is not None

    def seen(self, nest: Nest, row: SSAValue) -> tuple[Scalar, Scalar]:
        """The range of keys that a query sees, of all keys."""
        s, keys = nest.scalars, self.extents.keys
        if not self.is_banded:
            return s.const(0, INDEX), s.const(keys, INDEX)
        at = s.of(row) + self.extents.shift
        high = s.minimum(s.maximum(at + 1, 0), keys)
        low = s.const(0, INDEX) if self.window is None else s.minimum(s.maximum(at - self.window, 0), high)
        return low, high

    def seen_by_block(self, nest: Nest, row: SSAValue, rows: SSAValue) -> tuple[Scalar, Scalar]:
        """A range of keys outside of which no query of a block sees one."""
        last = nest.scalars.of(row) + nest.scalars.of(rows) - 1
        return self.seen(nest, row)[0], self.seen(nest, last.value)[1]

    def seeing_block(self, nest: Nest, key: SSAValue, keys: SSAValue) -> tuple[Scalar, Scalar]:
        """A range of queries outside of which none sees a key of a block."""
        s, queries = nest.scalars, self.extents.queries
        if not self.is_banded:
            return s.const(0, INDEX), s.const(queries, INDEX)
        low = s.minimum(s.maximum(s.of(key) - self.extents.shift, 0), queries)
        if self.window is None:
            return low, s.const(queries, INDEX)
        last = s.of(key) + s.of(keys) - (self.extents.shift - self.window)
        return low, s.maximum(s.minimum(last, queries), low)

    def within(self, nest: Nest, block: Block, i: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The range of the block's keys that its row `i` sees."""
        if not self.is_banded:
            return nest.kernel.index(0), block.keys
        s = nest.scalars
        low, high = self.seen(nest, (s.of(block.row) + s.of(i)).value)
        key, keys = s.of(block.key), s.of(block.keys)
        first = s.minimum(s.maximum(low - key, 0), keys)
        return first.value, s.minimum(s.maximum(high - key, first), keys).value

    def score(self, nest: Nest, block: Block, i: SSAValue, j: SSAValue, product: Scalar) -> tuple[Scalar, Scalar]:
        """The score of a product, and its derivative by the product."""
        s = nest.scalars
        z = product * self.op.scale
        slope = s.const(self.op.scale, product.type)
        if (c := self.op.softcap) is not None:
            bent = s.tanh(z / c)
            z = bent * c
            slope = slope * (1.0 - bent * bent)
        if self.mask is None:
            return z, slope
        at = (*block.head, (s.of(block.row) + s.of(i)).value, (s.of(block.key) + s.of(j)).value)
        given = nest.load(self.mask, at)
        if self.op.kind == MaskKind.BIAS:
            return z + given, slope
        hidden = given < 0.5 if is_float(given.type) else s.not_(given)
        return s.select(hidden, -inf, z), slope


def product(
    nest: Nest,
    a: tuple[SSAValue, Sequence[SSAValue]],
    b: tuple[SSAValue, Sequence[SSAValue]],
    c: tuple[SSAValue, Sequence[SSAValue]],
    sizes: tuple[SSAValue, SSAValue, SSAValue],
    transposed: str = "",
    accumulate: bool = False,
) -> None:
    """A product of blocks; `transposed` names the factors that are read so."""
    flags = {"transpose_a": "a" in transposed, "transpose_b": "b" in transposed, "accumulate": accumulate}
    nest.builder.insert(BlockGemmOp(a, b, c, sizes, **flags))


def fill(nest: Nest, bounds: tuple[SSAValue, SSAValue], x: Scalar, buffer: SSAValue, at: Sequence[SSAValue]) -> None:
    """Store `x` at all last indices in `bounds`."""

    def one(inner: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        inner.store(inner.scalars.of(x.value), buffer, (*at, j))
        return ()

    nest.loop(bounds, (), one, "j")


def blocks_of(nest: Nest, low: Scalar, high: Scalar, size: int) -> tuple[SSAValue, SSAValue]:
    """The numbers of the blocks of `size` that `[low, high)` touches."""
    s = nest.scalars
    return s.div(low, size).value, s.div(high + (size - 1), size).value


@dataclass
class Forward:
    """One block of queries: for each block of keys the scores, their softmax so far, and its product with v."""

    scores: Scores
    k: SSAValue
    v: SSAValue
    room: SSAValue
    """Per piece, a block of scores."""
    top: SSAValue
    """The largest score of each row so far."""
    total: SSAValue
    """The sum of the exponentials of each row so far, relative to the largest score."""

    def clear(self, nest: Nest, block: tuple[SSAValue, ...], rows: SSAValue, result: SSAValue) -> None:
        """Nothing seen so far."""
        element = memref_of(result).element_type
        width = nest.kernel.index(self.scores.extents.value_width)
        zero, lowest = nest.scalars.const(0, element), nest.scalars.const(-inf, element)
        c0 = nest.kernel.index(0)

        def row(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner.store(lowest, self.top, (i,))
            inner.store(zero, self.total, (i,))
            at = inner.scalars.of(block[2]) + inner.scalars.of(i)
            fill(inner, (c0, width), zero, result, (*block[:2], at.value))
            return ()

        nest.loop((c0, rows), (), row, "i")

    def add(self, nest: Nest, block: Block, piece: SSAValue, kv: SSAValue, q: SSAValue, result: SSAValue) -> None:
        """Take one block of keys into account."""
        kernel, e = nest.kernel, self.scores.extents
        c0, width = kernel.index(0), kernel.index(e.width)
        b, h = block.head
        scores, keys = (self.room, (piece, c0, c0)), (b, kv, block.key, c0)
        queries = (b, h, block.row, c0)
        product(nest, (q, queries), (self.k, keys), scores, (block.rows, block.keys, width), "b")

        def row(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            self._row(inner, block, piece, i, result)
            return ()

        nest.loop((c0, block.rows), (), row, "i")
        sizes = (block.rows, kernel.index(e.value_width), block.keys)
        product(nest, scores, (self.v, keys), (result, queries), sizes, accumulate=True)

    def _row(self, nest: Nest, block: Block, piece: SSAValue, i: SSAValue, result: SSAValue) -> None:
        """Scores of a row to exponentials relative to the largest so far; what there was before is scaled to that."""
        s, scores = nest.scalars, self.scores
        low, high = scores.within(nest, block, i)
        before = nest.load(self.top, (i,))
        zero = s.const(0, before.type)

        def largest(inner: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            z, _ = scores.score(inner, block, i, j, inner.load(self.room, (piece, i, j)))
            if scores.changes:
                inner.store(z, self.room, (piece, i, j))
            return (inner.scalars.maximum(inner.scalars.of(carried[0]), z).value,)

        (found,) = nest.loop((low, high), (before.value,), largest, "j")
        top = s.of(found)
        # A row that has seen nothing keeps -inf; its exponentials are those of -inf, not of -inf + inf.
        base = s.select(s.eq(top, -inf), 0.0, top)

        def exponential(inner: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            z = inner.load(self.room, (piece, i, j))
            if not scores.changes:
                z = z * scores.op.scale
            e = inner.scalars.exp(z - inner.scalars.of(base.value))
            inner.store(e, self.room, (piece, i, j))
            return (inner.scalars.accumulate_add(inner.scalars.of(carried[0]), e).value,)

        (total,) = nest.loop((low, high), (zero.value,), exponential, "j")
        if scores.is_banded:
            fill(nest, (nest.kernel.index(0), low), zero, self.room, (piece, i))
            fill(nest, (high, block.keys), zero, self.room, (piece, i))
        shrunk = s.exp(before - base)
        nest.store(top, self.top, (i,))
        nest.store(nest.load(self.total, (i,)) * shrunk + s.of(total), self.total, (i,))
        if scores.extents.keys > KEYS:
            self._scale(nest, block, i, shrunk, result)

    def _scale(self, nest: Nest, block: Block, i: SSAValue, factor: Scalar, result: SSAValue) -> None:
        at = (*block.head, (nest.scalars.of(block.row) + nest.scalars.of(i)).value)

        def one(inner: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner.store(inner.load(result, (*at, j)) * inner.scalars.of(factor.value), result, (*at, j))
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(self.scores.extents.value_width)), (), one, "j")

    def finish(self, nest: Nest, block: Block, result: SSAValue, lse: SSAValue) -> None:
        """Divide by the sums, and store their logarithms."""

        def row(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inner.scalars
            total = inner.load(self.total, (i,))
            self._scale(inner, block, i, s.select(s.eq(total, 0.0), 0.0, 1.0 / total), result)
            at = (*block.head, (s.of(block.row) + s.of(i)).value)
            inner.store(inner.load(self.top, (i,)) + s.log(total), lse, at)
            return ()

        nest.loop((nest.kernel.index(0), block.rows), (), row, "i")


def operands_of(work: Work, op: AttentionLike) -> tuple[Argument, Argument, Argument]:
    """q, k and v by heads."""
    e, layout = op.extents, op.layout.data
    q, k, v, _ = op.inputs
    return (
        of_heads(work, q, layout, Heads(e.batch, e.queries, e.heads, e.width)),
        of_heads(work, k, layout, Heads(e.batch, e.keys, e.kv_heads, e.width)),
        of_heads(work, v, layout, Heads(e.batch, e.keys, e.kv_heads, e.value_width)),
    )


@NEST.rule(AttentionOp)
def attention_nest(op: AttentionOp, work: Work) -> None:
    """An iteration computes a block of queries of one head, from the first or the last block on in turn."""
    e = op.extents
    q, k, v = operands_of(work, op)
    out = Heads(e.batch, e.queries, e.heads, e.value_width)
    result = of_heads(work, op.result, op.layout.data, out, write=True)
    lse, element = work.write(op.lse), element_of(op.lse)
    masks = [] if op.mask is None else [mask_argument(work, op, op.mask)]
    size, keys = max(min(QUERIES, e.queries), 1), max(min(KEYS, e.keys), 1)
    blocks = -(-e.queries // size)
    extent, cost = e.batch * e.heads * blocks, size * e.keys * (2 * (e.width + e.value_width) + ELEMENT_COST)
    room = work.scratch_per_piece(extent, cost, (size, keys), element, "scores")

    def body(it: Iteration, q: SSAValue, k: SSAValue, v: SSAValue, *rest: SSAValue) -> None:
        nest, s = it.nest, it.nest.scalars
        *mask, result, lse, room = rest
        number, head = nest.remainder(it.index, blocks), nest.quotient(it.index, blocks)
        half = s.div(s.of(number), 2)
        # Of a causal mask later blocks see more: neighbours are one from either end, so that pieces are alike.
        number = s.select(s.eq(s.rem(s.of(number), 2), 0), half, s.const(blocks - 1, INDEX) - half)
        h, b = nest.remainder(head, e.heads), nest.quotient(head, e.heads)
        row = number * size
        rows = s.minimum(s.const(e.queries, INDEX) - row, size)
        scores = Scores(op, mask[0] if mask else None)
        statistics = MemRefType(element, (size,))
        forward = Forward(
            scores,
            k,
            v,
            room,
            nest.kernel.scratch(statistics, "top"),
            nest.kernel.scratch(statistics, "total"),
        )
        forward.clear(nest, (b, h, row.value), rows.value, result)
        low, high = scores.seen_by_block(nest, row.value, rows.value)
        kv = nest.quotient(h, e.group)

        def step(inner: Nest, n: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            key, count = clipped(inner, n, keys, low, high)
            block = Block((b, h), row.value, rows.value, key, count)
            forward.add(inner, block, it.piece, kv, q, result)
            return ()

        nest.loop(blocks_of(nest, low, high, keys), (), step, "n")
        c0 = nest.kernel.index(0)
        forward.finish(nest, Block((b, h), row.value, rows.value, c0, c0), result, lse)

    work.launch(extent, cost, [q, k, v, *masks], [result, lse, room], body)


def clipped(nest: Nest, number: SSAValue, size: int, low: Scalar, high: Scalar) -> tuple[SSAValue, SSAValue]:
    """Where a block begins and how many it holds, without what is outside of `[low, high)`."""
    if constant_index(low.value) == 0 and (count := constant_index(high.value)) is not None and count <= size:
        return nest.kernel.index(0), nest.kernel.index(count)
    s = nest.scalars
    low, high = s.of(low.value), s.of(high.value)
    first = s.maximum(s.of(number) * size, low)
    last = s.minimum(s.of(number) * size + size, high)
    return first.value, (last - first).value
