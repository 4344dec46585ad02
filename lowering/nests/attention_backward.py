"""The nest of attention's backward op: one walk over blocks of scores gives the cotangents of q, k, v and the bias."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionExtents
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, Nested, Number, accumulate, exp, ndrange, nest, rolled, select
from xdsl_rlx.lowering.nests.attention import (
    ELEMENT_COST,
    Scores,
    blocks_of,
    by_heads,
    clipped,
    mask_argument,
    of_heads,
    tensors_of,
)
from xdsl_rlx.lowering.nests.work import NEST, Work

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


@dataclass(frozen=True)
class Backward:
    """The buffers of an iteration, and what is done with one block of scores."""

    scores: Scores
    q: Array
    k: Array
    v: Array
    dy: Array
    lse: Array
    delta: Array
    mask: Array | None
    dbias: Array | None
    dq: Array
    dk: Array
    dv: Array
    p: Array
    """A block of scores that become probabilities."""
    ds: Array
    """A block of their cotangents."""

    def clear(self, b: Number, kv: Number, h: Number, key: Number, keys: Number) -> None:
        """Zeros in what a head adds to for a block of keys."""
        self.dk[b, kv, key : key + keys] = 0.0
        self.dv[b, kv, key : key + keys] = 0.0
        if self.dbias is not None:
            self.dbias[b, h, :, key : key + keys] = 0.0

    def add(self, b: Number, kv: Number, h: Number, row: Number, rows: Number, key: Number, keys: Number) -> None:
        """Add what queries `[row, row + rows)` of a head against keys `[key, key + keys)` give to every cotangent."""
        q, dy = self.q[b, h, row : row + rows], self.dy[b, h, row : row + rows]
        k, v = self.k[b, kv, key : key + keys], self.v[b, kv, key : key + keys]
        p, ds = self.p[:rows, :keys], self.ds[:rows, :keys]
        p[...] = q @ k.T
        ds[...] = dy @ v.T
        for i in rolled(range(rows)):
            mask, dbias = (None if x is None else x[b, h, row + i, key : key + keys] for x in (self.mask, self.dbias))
            low, high = self.scores.within(row + i, key, keys)
            lse, delta = self.lse[b, h, row + i], self.delta[b, h, row + i]
            # A row without keys has lse = -inf; +inf makes all its probabilities 0.
            lse = select(lse == -inf, inf, lse)
            for j in range(low, high):
                z, slope = self.scores.score(p[i, j], mask, j)
                probability = exp(z - lse)
                dz = probability * (ds[i, j] - delta)
                if mask is not None:
                    # Nothing of a key that is not seen: its value may be infinite or not a number.
                    dz = select(z == -inf, 0.0, dz)
                p[i, j], ds[i, j] = probability, dz * slope
                if dbias is not None:
                    dbias[j] += dz
            self.scores.hide(p[i], low, high)
            self.scores.hide(ds[i], low, high)
        self.dv[b, kv, key : key + keys] += p.T @ dy
        self.dk[b, kv, key : key + keys] += ds.T @ q
        self.dq[b, h, row : row + rows] += ds @ k


@NEST.rule(AttentionBackwardOp)
def attention_backward_nest(op: AttentionBackwardOp, work: Work) -> None:
    """An iteration is a key head, or a share of its keys; for each block of keys it walks over the queries."""
    e, layout, element = op.extents, op.layout.data, element_of(op.lse)
    *heads, result = tensors_of(e)
    q, k, v = (of_heads(work, x, layout, h) for x, h in zip((op.q, op.k, op.v), heads, strict=True))
    out, dy = (of_heads(work, x, layout, result) for x in (op.out, op.dy))
    delta = _delta(op, work, out, dy)
    cut = Cut.of(op, work)
    dq, dk, dv = (by_heads(work.write(x), layout, h) for x, h in zip((op.dq, op.dk, op.dv), heads, strict=True))
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
    reads = [q, k, v, dy, work.read(op.lse), delta, *masks]
    work.launch(extent, cost, reads, [*biases, sums, dk, dv, *rooms], _walk(op, cut, *size))
    if cut.splits > 1:
        _add_up(work, e, sums, dq)


def _delta(op: AttentionBackwardOp, work: Work, out: Argument, dy: Argument) -> Argument:
    """`<dy_i, out_i> - d_lse_i` of every row: what the probabilities' cotangents are relative to."""
    e = op.extents
    delta = work.scratch((e.batch, e.heads, e.queries), element_of(op.lse), "delta")
    seeds = [] if op.d_lse is None else [work.read(op.d_lse)]

    @nest
    def offsets(it: Iteration, out: Array, dy: Array, *others: Array) -> None:
        *seeds, delta = others
        b, h = it.unravel(e.batch, e.heads)
        for i in range(e.queries):
            total = 0.0
            for j in range(e.value_width):
                total = accumulate(total, out[b, h, i, j] * dy[b, h, i, j])
            for seed in seeds:
                total = total - seed[b, h, i]
            delta[b, h, i] = total

    work.launch(e.batch * e.heads, e.queries * (2 * e.value_width + 4), [out, dy, *seeds], [delta], offsets)
    return delta


def _walk(op: AttentionBackwardOp, cut: Cut, size: int, block: int) -> Nested:
    """The heads of an iteration, and blocks of `block` keys of each against blocks of `size` queries."""
    e, scores = op.extents, Scores(op)

    @nest
    def walk(it: Iteration, q: Array, k: Array, v: Array, dy: Array, lse: Array, delta: Array, *others: Array) -> None:
        *given, dq, dk, dv, p, ds = others
        mask, dbias = (*given, None, None)[:2]
        batch, group, split = it.unravel(e.batch // cut.batches, e.kv_heads // cut.kv_heads, cut.splits)
        rooms = p[it.piece], ds[it.piece]
        this = Backward(scores, q, k, v, dy, lse, delta, mask, dbias, dq[split], dk, dv, *rooms)

        def head(i: Number, n: Number, g: Number) -> tuple[Number, Number, Number]:
            kv = group * cut.kv_heads + n
            return batch * cut.batches + i, kv, kv * e.group + g

        # Where heads add to one place it is cleared more than once, but before any of them adds.
        for place in ndrange(cut.batches, cut.kv_heads, e.group):
            b, kv, h = head(*place)
            this.dq[b, h] = 0.0
            for n in range(split, cut.parts, cut.splits):
                this.clear(b, kv, h, *clipped(n, block, 0, e.keys))
        for place in ndrange(cut.batches, cut.kv_heads, e.group):
            b, kv, h = head(*place)
            for n in range(split, cut.parts, cut.splits):
                key, keys = clipped(n, block, 0, e.keys)
                for m in blocks_of(*scores.seeing_block(key, keys), size):
                    row, rows = clipped(m, size, 0, e.queries)
                    seen = min(scores.seen_by_block(row, rows)[1] - key, keys) if scores.is_banded else keys
                    this.add(b, kv, h, row, rows, key, seen)

    return walk


def _add_up(work: Work, e: AttentionExtents, parts: Argument, dq: Argument) -> None:
    """dq is the sum of its copies, in their order."""
    copies = parts.shape[0]

    @nest
    def add_up(it: Iteration, parts: Array, dq: Array) -> None:
        b, h, i = it.unravel(e.batch, e.heads, e.queries)
        for j in range(e.width):
            dq[b, h, i, j] = sum(parts[n, b, h, i, j] for n in range(copies))

    work.launch(e.batch * e.heads * e.queries, copies * e.width, [parts], [dq], add_up)
