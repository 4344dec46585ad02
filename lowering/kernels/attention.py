"""Nests of attention: blocks of queries against blocks of keys, so that the scores are never there as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.attention import AttentionLike, AttentionOp, MaskKind
from xdsl_rlx.dialects.mir.heads import HeadLayout, heads_of
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate,
    accumulate_max,
    exp,
    log,
    rolled,
    scratch,
    tanh,
)
from xdsl_rlx.lowering.kernels.work import NEST, Work

QUERIES = 64
"""Queries of a block."""

KEYS = 384
"""Keys of a block: as many as `lir-tile-matmuls` makes loops of, which take half the time of the library's product."""

ELEMENT_COST = 24
"""What the softmax of one score costs, in scalar operations."""


def of_heads(work: Work, value: SSAValue, layout: HeadLayout, heads: int) -> Argument:
    """An operand of `heads` heads seen as `[B, H, S, D]`, as it lies where its rows have unit stride, else copied."""
    lying = by_heads(work.read_strided(value), layout, heads)
    (length, width), (row, unit) = lying.shape[2:], lying.strides[2:]
    is_dense = (unit == 1 or width == 1) and (row >= width or length == 1)
    return lying if is_dense else by_heads(work.read(value), layout, heads)


def by_heads(found: Argument, layout: HeadLayout, heads: int) -> Argument:
    """A tensor of `heads` heads in its own layout seen as `[B, H, S, D]`."""
    x = heads_of(found.shape, layout, heads, "a tensor")
    *outer, unit = found.strides
    if layout == HeadLayout.PACKED:
        outer.append(x.width * unit)
    if layout != HeadLayout.BHSD:
        outer[1:] = reversed(outer[1:])
    return found.seen((x.batch, x.heads, x.length, x.width), (*outer, unit))


def operands(op: AttentionLike, work: Work) -> tuple[list[Argument], list[Argument]]:
    """q, k and v by heads, and the mask if there is one."""
    e, (*tensors, mask) = op.extents, op.inputs
    heads = zip(tensors, (e.heads, e.kv_heads, e.kv_heads), strict=True)
    scores = e.batch, e.heads, e.queries, e.keys
    masks = [] if mask is None else [work.read(mask, op.mask_shape).repeated(scores)]
    return [of_heads(work, x, op.layout.data, n) for x, n in heads], masks


def blocks_of(low: Number, high: Number, size: int) -> range:
    """The numbers of the blocks of `size` that `[low, high)` touches."""
    return range(low // size, (high + (size - 1)) // size)


def clipped(number: Number, size: int, low: Number, high: Number) -> tuple[Number, Number]:
    """Where a block begins and how many it holds, without what is outside of `[low, high)`."""
    if isinstance(low, int) and isinstance(high, int) and low == 0 and high % size == 0:
        return number * size, size
    first = max(number * size, low)
    return first, min(number * size + size, high) - first


class Scores:
    """The arithmetic of one op: which keys a row sees, and from the product of a query and a key to a score."""

    def __init__(self, op: AttentionLike):
        mask = op.inputs[3]
        self.extents, self.scale, self.softcap = op.extents, op.scale, op.softcap
        self.window = None if op.window is None else op.window.value.data
        self.is_banded = op.kind in (MaskKind.CAUSAL, MaskKind.SLIDING_WINDOW)
        self.is_added, self.is_truth = op.kind == MaskKind.BIAS, mask is not None and element_of(mask) == i1
        self.changes = self.softcap is not None or mask is not None
        self.is_one_block = self.extents.keys <= KEYS

    def seen(self, row: Number) -> tuple[Number, Number]:
        """The range of keys that a query sees, of all keys."""
        if not self.is_banded:
            return 0, self.extents.keys
        at = row + self.extents.shift
        high = min(max(at + 1, 0), self.extents.keys)
        return (0 if self.window is None else min(max(at - self.window, 0), high)), high

    def seen_by_block(self, row: Number, rows: Number) -> tuple[Number, Number]:
        """A range of keys outside of which no query of a block sees one."""
        return self.seen(row)[0], self.seen(row + rows - 1)[1]

    def seeing_block(self, key: Number, keys: Number) -> tuple[Number, Number]:
        """A range of queries outside of which none sees a key of a block."""
        queries = self.extents.queries
        if not self.is_banded:
            return 0, queries
        low = min(max(key - self.extents.shift, 0), queries)
        if self.window is None:
            return low, queries
        return low, max(min(key + keys - (self.extents.shift - self.window), queries), low)

    def within(self, row: Number, key: Number, keys: Number) -> tuple[Number, Number]:
        """The range that a query sees of a block of keys."""
        if not self.is_banded:
            return 0, keys
        low, high = self.seen(row)
        first = min(max(low - key, 0), keys)
        return first, min(max(high - key, first), keys)

    def score(self, product: Number, mask: Array | None, j: Number) -> tuple[Number, Number]:
        """The score of a product and element `j` of a row of the mask, and its derivative by the product."""
        z, slope = product * self.scale, self.scale
        if self.softcap is not None:
            bent = tanh(z / self.softcap)
            z = bent * self.softcap
            slope = slope * (1.0 - bent * bent)
        if mask is None:
            return z, slope
        if self.is_added:
            return z + mask[j], slope
        hidden = not mask[j] if self.is_truth else mask[j] < 0.5
        return -inf if hidden else z, slope

    def hide(self, scores: Array, low: Number, high: Number) -> None:
        """Zeros in a row of a block where keys are not in `[low, high)`."""
        if self.is_banded:
            for j in range(low):
                scores[j] = 0.0
            for j in range(high, scores.shape[0]):
                scores[j] = 0.0


@dataclass(frozen=True)
class Softmax:
    """What the keys so far add up to, of a block of queries: `out` is relative to `top`, not yet divided by `total`."""

    top: Array
    """The largest score of each row so far."""
    total: Array
    """The sum of the exponentials of each row so far, relative to the largest score."""
    out: Array

    def clear(self, rows: Number) -> None:
        """Nothing seen so far."""
        for i in rolled(range(rows)):
            self.top[i], self.total[i] = -inf, 0.0
            self.out[i] = 0.0

    def scale(self, i: Number, factor: Number) -> None:
        """Multiply a row of the output."""
        row = self.out[i]
        for j in range(row.shape[0]):
            row[j] *= factor

    def take(self, this: Scores, i: Number, scores: Array, mask: Array | None, seen: tuple[Number, Number]) -> None:
        """Scores of a row to exponentials relative to the largest so far; what there was before is scaled to that."""
        before = -inf if this.is_one_block else self.top[i]
        largest = before
        for j in range(*seen):
            z, _ = this.score(scores[j], mask, j)
            if this.changes:
                scores[j] = z
            largest = accumulate_max(largest, z)
        # A row that has seen nothing keeps -inf; its exponentials are those of -inf, not of -inf + inf.
        base = 0.0 if largest == -inf else largest
        total = 0.0
        for j in range(*seen):
            z = scores[j] if this.changes else scores[j] * this.scale
            p = exp(z - base)
            scores[j] = p
            total = accumulate(total, p)
        this.hide(scores, *seen)
        self.top[i] = largest
        if this.is_one_block:
            self.total[i] = total
        else:
            shrunk = exp(before - base)
            self.total[i] = self.total[i] * shrunk + total
            self.scale(i, shrunk)

    def finish(self, rows: Number, lse: Array) -> None:
        """Divide by the sums, and store their logarithms."""
        for i in rolled(range(rows)):
            total = self.total[i]
            self.scale(i, 0.0 if total == 0.0 else 1.0 / total)
            lse[i] = self.top[i] + log(total)


@NEST.rule(AttentionOp)
def attention_nest(op: AttentionOp, work: Work) -> None:
    """An iteration computes a block of queries of one head, from the first or the last block on in turn."""
    e, scores, element = op.extents, Scores(op), element_of(op.lse)
    tensors, masks = operands(op, work)
    result, lse = by_heads(work.write(op.result), op.layout.data, e.heads), work.write(op.lse)
    size, keys = max(min(QUERIES, e.queries), 1), max(min(KEYS, e.keys), 1)
    blocks = -(-e.queries // size)
    extent, cost = e.batch * e.heads * blocks, size * e.keys * (2 * (e.width + e.value_width) + ELEMENT_COST)
    # every query meets the one block of keys
    is_all = scores.is_one_block and not scores.is_banded and e.keys > 0
    room = work.scratch_per_piece(extent, cost, (size, keys), element, "scores")

    @work.over(extent, cost, [*tensors, *masks], [result, lse, room])
    def attention(it: Iteration, q: Array, k: Array, v: Array, *others: Array) -> None:
        *masks, result, lse, room = others
        b, h, number = it.unravel(e.batch, e.heads, blocks)
        # Of a causal mask later blocks see more: neighbours are one from either end, so that pieces are alike.
        number = number // 2 if number % 2 == 0 else blocks - 1 - number // 2
        row, kv = number * size, h // e.group
        rows = size if e.queries % size == 0 else min(e.queries - row, size)
        softmax = Softmax(scratch(size, element), scratch(size, element), result[b, h, row : row + rows])
        if not is_all:
            softmax.clear(rows)
        seen = scores.seen_by_block(row, rows)
        for n in blocks_of(*seen, keys):
            key, count = clipped(n, keys, *seen)
            block = room[it.piece, :rows, :count]
            block[...] = q[b, h, row : row + rows] @ k[b, kv, key : key + count].T
            for i in rolled(range(rows)):
                mask = masks[0][b, h, row + i, key : key + count] if masks else None
                softmax.take(scores, i, block[i], mask, scores.within(row + i, key, count))
            if is_all:
                softmax.out[...] = block @ v[b, kv, key : key + count]
            else:
                softmax.out[...] += block @ v[b, kv, key : key + count]
        softmax.finish(rows, lse[b, h, row : row + rows])
