"""The nest of attention's backward op: one walk over blocks of scores gives the cotangents of q, k, v and the bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionExtents
from xdsl_rlx.dialects.mir.heads import Heads
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.attention import (
    ELEMENT_COST,
    Block,
    Scores,
    blocks_of,
    by_heads,
    clipped,
    fill,
    mask_argument,
    of_heads,
    operands_of,
    product,
)
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

QUERIES = 64
"""Queries of a block."""

KEYS = 256
"""Keys of a block."""


@dataclass(frozen=True)
class Cut:
    """
    How the work is shared out: an iteration has `batches x kv_heads` key heads, and every `splits`-th block of keys.

    Iterations do not share what they write: the bias's cotangent is one for all batches or heads where the bias is, and
    dq, a sum over all keys, has a copy per split.
    """

    batches: int
    kv_heads: int
    splits: int
    parts: int
    """Blocks of keys."""
    outer: int
    """Iterations per split."""

    @staticmethod
    def of(op: AttentionBackwardOp, work: Work) -> Cut:
        """One iteration per key head, and as many splits as it takes to occupy all threads."""
        e, batches, kv_heads = op.extents, 1, 1
        if op.dbias is not None:
            shape = op.mask_shape
            batches, kv_heads = (e.batch if shape[0] == 1 else 1), (e.kv_heads if shape[1] == 1 else 1)
        outer = (e.batch // max(batches, 1)) * (e.kv_heads // kv_heads)
        parts = max(-(-e.keys // KEYS), 1)
        part = e.queries * min(KEYS, e.keys) * e.group * batches * kv_heads * (4 * e.width + ELEMENT_COST)
        worthwhile = work.pieces(max(outer * parts, 1), part) > 1
        splits = min(-(-work.buffers.threads // max(outer, 1)), parts) if worthwhile else 1
        return Cut(batches, kv_heads, splits, parts, outer)


@dataclass
class Backward:
    """The buffers of the kernel, and what is done with one block of scores."""

    scores: Scores
    q: SSAValue
    k: SSAValue
    v: SSAValue
    dy: SSAValue
    lse: SSAValue
    delta: SSAValue
    dq: SSAValue
    dk: SSAValue
    dv: SSAValue
    room_p: SSAValue
    """Per piece, a block of scores that become probabilities."""
    room_s: SSAValue
    """Per piece, a block of their cotangents."""
    dbias: SSAValue | None
    split: SSAValue
    """The copy of dq that this iteration adds to."""

    def add(self, nest: Nest, block: Block, piece: SSAValue, kv: SSAValue) -> None:
        """Add what a block contributes to every cotangent."""
        kernel, e = nest.kernel, self.scores.extents
        c0, width, value_width = kernel.index(0), kernel.index(e.width), kernel.index(e.value_width)
        b, h = block.head
        queries, keys, at = (b, h, block.row, c0), (b, kv, block.key, c0), (piece, c0, c0)
        p, s = (self.room_p, at), (self.room_s, at)
        product(nest, (self.q, queries), (self.k, keys), p, (block.rows, block.keys, width), "b")
        product(nest, (self.dy, queries), (self.v, keys), s, (block.rows, block.keys, value_width), "b")

        def row(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            self._row(inner, block, piece, i)
            return ()

        nest.loop((c0, block.rows), (), row, "i")
        product(
            nest, p, (self.dy, queries), (self.dv, keys), (block.keys, value_width, block.rows), "a", accumulate=True
        )
        product(nest, s, (self.q, queries), (self.dk, keys), (block.keys, width, block.rows), "a", accumulate=True)
        target = (self.dq, (self.split, *queries))
        product(nest, s, (self.k, keys), target, (block.rows, width, block.keys), accumulate=True)

    def _row(self, nest: Nest, block: Block, piece: SSAValue, i: SSAValue) -> None:
        """Of a row: scores to probabilities, their cotangents to those of the products of q and k."""
        scores, s = self.scores, nest.scalars
        low, high = scores.within(nest, block, i)
        at = (*block.head, (s.of(block.row) + s.of(i)).value)
        lse, delta = nest.load(self.lse, at), nest.load(self.delta, at)
        # A row without keys has lse = -inf; +inf makes all its probabilities 0.
        lse = s.select(s.eq(lse, -inf), inf, lse)

        def one(inner: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b, place = inner.scalars, (piece, i, j)
            z, slope = scores.score(inner, block, i, j, inner.load(self.room_p, place))
            p = b.exp(z - b.of(lse.value))
            dz = p * (inner.load(self.room_s, place) - b.of(delta.value))
            if scores.mask is not None:
                # Nothing of a key that is not seen: its value may be infinite or not a number.
                dz = b.select(b.eq(z, -inf), 0.0, dz)
            inner.store(p, self.room_p, place)
            inner.store(dz * slope, self.room_s, place)
            if self.dbias is not None:
                target = (*at, (b.of(block.key) + b.of(j)).value)
                inner.store(inner.load(self.dbias, target) + dz, self.dbias, target)
            return ()

        nest.loop((low, high), (), one, "j")
        if scores.is_banded:
            zero = s.const(0, lse.type)
            for room in (self.room_p, self.room_s):
                fill(nest, (nest.kernel.index(0), low), zero, room, (piece, i))
                fill(nest, (high, block.keys), zero, room, (piece, i))


def _delta(op: AttentionBackwardOp, work: Work, out: Argument, dy: Argument) -> Argument:
    """`<dy_i, out_i> - d_lse_i` of every row: what the probabilities' cotangents are relative to."""
    e = op.extents
    delta = work.scratch((e.batch, e.heads, e.queries), element_of(op.lse), "delta")
    seeds = [] if op.d_lse is None else [work.read(op.d_lse)]

    def body(it: Iteration, out: SSAValue, dy: SSAValue, *rest: SSAValue) -> None:
        nest = it.nest
        h, b = nest.remainder(it.index, e.heads), nest.quotient(it.index, e.heads)
        *seed, delta = rest

        def row(inner: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            def term(deepest: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                one = deepest.load(out, (b, h, *i, j)) * deepest.load(dy, (b, h, *i, j))
                return (deepest.scalars.accumulate_add(deepest.scalars.of(carried[0]), one).value,)

            s, bounds = inner.scalars, (inner.kernel.index(0), inner.kernel.index(e.value_width))
            (total,) = inner.loop(bounds, (s.const(0, element_of(op.lse)).value,), term, "j")
            found = s.of(total)
            if seed:
                found = found - inner.load(seed[0], (b, h, *i))
            inner.store(found, delta, (b, h, *i))
            return ()

        nest.loops([e.queries], (), row, "i")

    work.launch(e.batch * e.heads, e.queries * (2 * e.value_width + 4), [out, dy, *seeds], [delta], body)
    return delta


@NEST.rule(AttentionBackwardOp)
def attention_backward_nest(op: AttentionBackwardOp, work: Work) -> None:
    """An iteration is a key head, or a share of its keys; for each block of keys it walks over the queries."""
    e, layout, element = op.extents, op.layout.data, element_of(op.lse)
    q, k, v = operands_of(work, op)
    out_heads = Heads(e.batch, e.queries, e.heads, e.value_width)
    out, dy = (of_heads(work, x, layout, out_heads) for x in (op.out, op.dy))
    delta = _delta(op, work, out, dy)
    cut = Cut.of(op, work)
    dq = by_heads(work.write(op.dq), layout, Heads(e.batch, e.queries, e.heads, e.width))
    dk = by_heads(work.write(op.dk), layout, Heads(e.batch, e.keys, e.kv_heads, e.width))
    dv = by_heads(work.write(op.dv), layout, Heads(e.batch, e.keys, e.kv_heads, e.value_width))
    if cut.splits == 1:
        sums = Argument(dq.buffer, (1, *dq.shape), (0, *dq.strides), dq.name)
    else:
        sums = work.scratch((cut.splits, *dq.shape), element, "dq")
    masks = [] if op.mask is None else [mask_argument(work, op, op.mask)]
    biases = [] if op.dbias is None else [mask_argument(work, op, op.dbias, write=True)]
    extent = cut.outer * cut.splits
    each = e.queries * e.keys * e.group * cut.batches * cut.kv_heads // max(cut.splits, 1)
    cost = each * (6 * e.width + 4 * e.value_width + ELEMENT_COST)
    size = max(min(QUERIES, e.queries), 1), max(min(KEYS, e.keys), 1)
    rooms = [work.scratch_per_piece(extent, cost, size, element, name) for name in ("p", "ds")]

    def body(it: Iteration, q: SSAValue, k: SSAValue, v: SSAValue, dy: SSAValue, *rest: SSAValue) -> None:
        lse, delta, *others = rest
        mask = others[0] if masks else None
        dq, dk, dv, p, s, *dbias = others[len(masks) :]
        nest, per_batch = it.nest, e.kv_heads // cut.kv_heads
        split, outer = nest.remainder(it.index, cut.splits), nest.quotient(it.index, cut.splits)
        bias = dbias[0] if dbias else None
        backward = Backward(Scores(op, mask), q, k, v, dy, lse, delta, dq, dk, dv, p, s, bias, split)
        walk = Walk(backward, cut, size, split, nest.remainder(outer, per_batch), nest.quotient(outer, per_batch))
        walk.heads(it.nest, walk.clear)
        walk.heads(it.nest, lambda nest, b, kv, h: walk.blocks(nest, (b, kv, h), it.piece))

    reads = [q, k, v, dy, work.read(op.lse), delta, *masks]
    work.launch(extent, cost, reads, [sums, dk, dv, *rooms, *biases], body)
    if cut.splits > 1:
        _add_up(work, e, sums, dq)


@dataclass
class Walk:
    """The heads and blocks of one iteration."""

    this: Backward
    cut: Cut
    size: tuple[int, int]
    split: SSAValue
    kv: SSAValue
    """The number of the iteration's key heads within a batch."""
    batch: SSAValue
    """The number of the iteration's batches."""

    def heads(self, nest: Nest, visit: Callable[[Nest, SSAValue, SSAValue, SSAValue], None]) -> None:
        """Every batch, key head and query head of the iteration."""
        cut, e = self.cut, self.this.scores.extents

        def head(inner: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inner.scalars
            b = s.of(self.batch) * cut.batches + s.of(i[0])
            kv = s.of(self.kv) * cut.kv_heads + s.of(i[1])
            visit(inner, b.value, kv.value, (kv * e.group + s.of(i[2])).value)
            return ()

        nest.loops([cut.batches, cut.kv_heads, e.group], (), head, "h")

    def keys(self, nest: Nest, visit: Callable[[Nest, SSAValue, SSAValue], None]) -> None:
        """Every block of keys of the iteration: where it begins, and how many it holds."""
        cut, s = self.cut, nest.scalars
        count = s.div(s.const(cut.parts + cut.splits - 1, INDEX) - s.of(self.split), cut.splits)

        def one(inner: Nest, n: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            t = inner.scalars
            number = t.of(n) * cut.splits + t.of(self.split)
            end = t.const(self.this.scores.extents.keys, INDEX)
            visit(inner, *clipped(inner, number.value, self.size[1], t.const(0, INDEX), end))
            return ()

        nest.loop((nest.kernel.index(0), count.value), (), one, "n")

    def clear(self, nest: Nest, b: SSAValue, kv: SSAValue, h: SSAValue) -> None:
        """Zeros in what a head adds to; where heads add to one place, more than once, but before any of them adds."""
        this, e = self.this, self.this.scores.extents
        zero, c0 = nest.scalars.const(0, memref_of(this.room_p).element_type), nest.kernel.index(0)

        def rows(bounds: tuple[SSAValue, SSAValue], buffer: SSAValue, at: Sequence[SSAValue], inside: Nest) -> None:
            width = inside.kernel.index(memref_of(buffer).get_shape()[-1])

            def row(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                fill(inner, (c0, width), zero, buffer, (*at, i))
                return ()

            inside.loop(bounds, (), row, "i")

        def block(inner: Nest, key: SSAValue, keys: SSAValue) -> None:
            end = (inner.scalars.of(key) + inner.scalars.of(keys)).value
            rows((key, end), this.dk, (b, kv), inner)
            rows((key, end), this.dv, (b, kv), inner)
            if (dbias := this.dbias) is None:
                return

            def row(deeper: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                fill(deeper, (key, end), zero, dbias, (b, h, *i))
                return ()

            inner.loops([e.queries], (), row, "i")

        rows((c0, nest.kernel.index(e.queries)), this.dq, (self.split, b, h), nest)
        self.keys(nest, block)

    def blocks(self, nest: Nest, head: tuple[SSAValue, SSAValue, SSAValue], piece: SSAValue) -> None:
        """Every block of keys of a head against every block of queries that sees some of them."""
        this, (b, kv, h) = self.this, head
        scores, size = this.scores, self.size[0]
        queries = scores.extents.queries

        def block(inner: Nest, key: SSAValue, keys: SSAValue) -> None:
            low, high = scores.seeing_block(inner, key, keys)

            def one(deeper: Nest, n: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                s = deeper.scalars
                row, rows = clipped(deeper, n, size, s.const(0, INDEX), s.const(queries, INDEX))
                seen = keys
                if scores.is_banded:
                    last = scores.seen_by_block(deeper, row, rows)[1]
                    seen = s.minimum(last - s.of(key), s.of(keys)).value
                this.add(deeper, Block((b, h), row, rows, key, seen), piece, kv)
                return ()

            inner.loop(blocks_of(inner, low, high, size), (), one, "m")

        self.keys(nest, block)


def _add_up(work: Work, e: AttentionExtents, parts: Argument, dq: Argument) -> None:
    """dq is the sum of its copies, in their order."""

    def body(it: Iteration, parts: SSAValue, dq: SSAValue) -> None:
        nest = it.nest
        i, head = nest.remainder(it.index, e.queries), nest.quotient(it.index, e.queries)
        at = (nest.quotient(head, e.heads), nest.remainder(head, e.heads), i)

        def one(inner: Nest, j: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            places = [inner.kernel.index(n) for n in range(copies)]
            total = inner.load(parts, (places[0], *at, *j))
            for place in places[1:]:
                total = total + inner.load(parts, (place, *at, *j))
            inner.store(total, dq, (*at, *j))
            return ()

        nest.loops([e.width], (), one, "j")

    copies = parts.shape[0]
    work.launch(e.batch * e.heads * e.queries, copies * e.width, [parts], [dq], body)
