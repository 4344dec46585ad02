"""The nest of attention's backward op: one walk over blocks of scores gives the cotangents of q, k, v and the bias."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, accumulate, exp, ndrange, rolled
from xdsl_rlx.lowering.kernels.attention import ELEMENT_COST, Scores, blocks_of, by_heads, clipped, of_heads, operands
from xdsl_rlx.lowering.kernels.work import NEST, Work, add_up

QUERIES = 64
"""Queries of a block."""

KEYS = 256
"""Keys of a block."""


def shares(op: AttentionBackwardOp, work: Work) -> tuple[int, int, int]:
    """
    How the work is shared out: an iteration has `batches x kv_heads` key heads, and every `splits`-th block of keys.

    Iterations do not share what they write: the bias's cotangent is one for all batches or heads where the bias is, and
    dq, a sum over all keys, has a copy per split. There are as many splits as it takes to occupy all threads.
    """
    e, batches, kv_heads = op.extents, 1, 1
    if op.dbias is not None:
        shape = op.mask_shape
        batches, kv_heads = (e.batch if shape[0] == 1 else 1), (e.kv_heads if shape[1] == 1 else 1)
    outer = (e.batch // max(batches, 1)) * (e.kv_heads // kv_heads)
    parts = max(-(-e.keys // KEYS), 1)
    part = e.queries * min(KEYS, e.keys) * e.group * batches * kv_heads * (4 * e.width + ELEMENT_COST)
    worthwhile = work.pieces(max(outer * parts, 1), part) > 1
    splits = min(-(-work.buffers.threads // max(outer, 1)), parts) if worthwhile else 1
    return batches, kv_heads, splits


def add_block(
    scores: Scores, row: Number, queries: Sequence[Array], key: Number, keys: Sequence[Array], masks: Sequence[Array]
) -> None:
    """
    Add what a block of queries, from `row` on, against a block of keys, from `key` on, gives to every cotangent.

    `queries` are those rows of q, dy, lse, delta and dq, and room for a block of probabilities and of their cotangents;
    `keys` are rows of k, v, dk and dv. `masks` are those of the head: none, the mask, or the mask and its cotangent.
    """
    (q, dy, lse, delta, dq, p, ds), (k, v, dk, dv) = queries, keys
    count = k.shape[0]
    p[...] = q @ k.T
    ds[...] = dy @ v.T
    for i in rolled(range(q.shape[0])):
        mask, dbias, *_ = (*(x[row + i, key : key + count] for x in masks), None, None)
        low, high = scores.within(row + i, key, count)
        sums, offset = lse[i], delta[i]
        # A row without keys has lse = -inf; +inf makes all its probabilities 0.
        sums = inf if sums == -inf else sums
        for j in range(low, high):
            z, slope = scores.score(p[i, j], mask, j)
            probability = exp(z - sums)
            dz = probability * (ds[i, j] - offset)
            if mask is not None:
                # Nothing of a key that is not seen: its value may be infinite or not a number.
                dz = 0.0 if z == -inf else dz
            p[i, j], ds[i, j] = probability, dz * slope
            if dbias is not None:
                dbias[j] += dz
        scores.hide(p[i], low, high)
        scores.hide(ds[i], low, high)
    dv[...] += p.T @ dy
    dk[...] += ds.T @ q
    dq[...] += ds @ k


@NEST.rule(AttentionBackwardOp)
def attention_backward_nest(op: AttentionBackwardOp, work: Work) -> None:
    """An iteration is a key head, or a share of its keys; for each block of keys it walks over the queries."""
    e, layout = op.extents, op.layout.data
    tensors, masks = operands(op, work)
    out, dy = (of_heads(work, x, layout, e.heads) for x in (op.out, op.dy))
    delta = _delta(op, work, out, dy)
    heads = zip((op.dq, op.dk, op.dv), (e.heads, e.kv_heads, e.kv_heads), strict=True)
    dq, dk, dv = (by_heads(work.write(x), layout, n) for x, n in heads)
    scores = e.batch, e.heads, e.queries, e.keys
    biases = [] if op.dbias is None else [work.write(op.dbias, op.mask_shape).repeated(scores)]
    _, _, splits = shares(op, work)
    sums = dq.seen((1, *dq.shape), (0, *dq.strides))
    if splits > 1:
        sums = work.scratch((splits, *dq.shape), element_of(op.lse), "dq")
    _walk(op, work, [*tensors, dy, work.read(op.lse), delta, *masks], [*biases, sums, dk, dv])
    if splits > 1:
        add_up(work, sums, dq)


def _delta(op: AttentionBackwardOp, work: Work, out: Argument, dy: Argument) -> Argument:
    """`<dy_i, out_i> - d_lse_i` of every row: what the probabilities' cotangents are relative to."""
    e = op.extents
    delta = work.scratch((e.batch, e.heads, e.queries), element_of(op.lse), "delta")
    seeds = [] if op.d_lse is None else [work.read(op.d_lse)]

    @work.over(e.batch * e.heads, e.queries * (2 * e.value_width + 4), [out, dy, *seeds], [delta])
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

    return delta


def _walk(op: AttentionBackwardOp, work: Work, reads: list[Argument], writes: list[Argument]) -> None:
    """The heads of an iteration, and blocks of keys of each against blocks of queries."""
    e, scores = op.extents, Scores(op)
    batches, kv_heads, splits = shares(op, work)
    size, block = max(min(QUERIES, e.queries), 1), max(min(KEYS, e.keys), 1)
    grid = e.batch // max(batches, 1), e.kv_heads // kv_heads, splits
    each = e.queries * e.keys * e.group * batches * kv_heads // splits
    launch = prod(grid), each * (6 * e.width + 4 * e.value_width + ELEMENT_COST)
    rooms = [work.scratch_per_piece(*launch, (size, block), element_of(op.lse), name) for name in ("p", "ds")]

    @work.over(*launch, reads, [*writes, *rooms])
    def walk(it: Iteration, q: Array, k: Array, v: Array, dy: Array, lse: Array, delta: Array, *others: Array) -> None:
        *masks, dq, dk, dv, p, ds = others
        batch, group, split = it.unravel(*grid)

        def head(i: Number, n: Number, g: Number) -> tuple[list[Array], list[Array], list[Array]]:
            b, kv = batch * batches + i, group * kv_heads + n
            h = kv * e.group + g
            queries, keys = (q, dy, lse, delta, dq[split]), (k, v, dk, dv)
            return [x[b, h] for x in queries], [x[b, kv] for x in keys], [x[b, h] for x in masks]

        # Where heads add to one place it is cleared more than once, but before any of them adds.
        for place in ndrange(batches, kv_heads, e.group):
            (*_, its_dq), (_, _, its_dk, its_dv), its_masks = head(*place)
            its_dq[...] = 0.0
            for n in range(split, -(-e.keys // block), splits):
                key, keys = clipped(n, block, 0, e.keys)
                its_dk[key : key + keys] = 0.0
                its_dv[key : key + keys] = 0.0
                for its_dbias in its_masks[1:]:
                    its_dbias[:, key : key + keys] = 0.0
        for place in ndrange(batches, kv_heads, e.group):
            of_queries, of_keys, of_masks = head(*place)
            for n in range(split, -(-e.keys // block), splits):
                key, keys = clipped(n, block, 0, e.keys)
                for m in blocks_of(*scores.seeing_block(key, keys), size):
                    row, rows = clipped(m, size, 0, e.queries)
                    seen = min(scores.seen_by_block(row, rows)[1] - key, keys) if scores.is_banded else keys
                    of_rows = [x[row : row + rows] for x in of_queries] + [x[it.piece, :rows, :seen] for x in (p, ds)]
                    add_block(scores, row, of_rows, key, [x[key : key + seen] for x in of_keys], of_masks)
