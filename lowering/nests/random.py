"""Nests of random words (Philox 4x32-10) and of drawing an id by its quantile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.random import DrawOp, RngBitsOp, key_batch
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
"""The published constants of Philox 4x32."""

WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
LOW = 0xFFFFFFFF

BLOCKS = 256
"""Blocks of four words that one iteration makes."""

Words = tuple[Scalar, Scalar, Scalar, Scalar]


def philox(b: ScalarBuilder, counter: Words, key: tuple[Scalar, Scalar]) -> Words:
    """A block of Philox 4x32-10. Words are i64 below 2^32; a product is wanted as its low and its high word."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        high0, high1 = b.shift_right_logical(p0, 32), b.shift_right_logical(p1, 32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, p1 & LOW, high0 ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + WEYL[0]) & LOW, (k1 + WEYL[1]) & LOW
    return c0, c1, c2, c3


def _key_words(nest: Nest, key: SSAValue, batch: SSAValue, number: int) -> tuple[Scalar, Scalar]:
    """The low and the high word of seed (0) or stream (1)."""
    s = nest.scalars
    whole = s.cast(nest.load(key, (batch, nest.kernel.index(number))), i64, signed=False)
    return whole & LOW, s.shift_right_logical(whole, 32)


@NEST.rule(RngBitsOp)
def rng_bits_nest(op: RngBitsOp, work: Work) -> None:
    """An iteration makes a range of blocks; the words behind the last whole block are a launch of their own."""
    batch = key_batch(op.key)
    count, shape = prod(batch), shape_of(op.result)
    words = prod(shape[len(batch) :])
    key, result = work.read(op.key, (count, 2)), work.write(op.result, (count, words))
    whole, rest = divmod(words, 4)
    ranges = -(-whole // BLOCKS)

    def block(nest: Nest, key: SSAValue, result: SSAValue, at: SSAValue, number: SSAValue, words: int) -> None:
        s = nest.scalars
        (k0, c2), (k1, c3) = (_key_words(nest, key, at, i) for i in (0, 1))
        counter = s.cast(s.of(number), i64) + op.offset.value.data
        made = philox(s, (counter & LOW, s.shift_right_logical(counter, 32), c2, c3), (k0, k1))
        for lane, word in enumerate(made[:words]):
            nest.store(s.cast(word, i32), result, (at, (s.of(number) * 4 + lane).value))

    def many(it: Iteration, key: SSAValue, result: SSAValue) -> None:
        nest, s = it.nest, it.nest.scalars
        first = s.of(nest.remainder(it.index, ranges)) * BLOCKS
        at = nest.quotient(it.index, ranges)

        bounds = first.value, s.minimum(first + BLOCKS, whole).value
        nest.each(bounds, "n", lambda inside, number: block(inside, key, result, at, number, 4))

    def last(it: Iteration, key: SSAValue, result: SSAValue) -> None:
        block(it.nest, key, result, it.index, it.nest.kernel.index(whole), rest)

    work.launch(count * ranges, 32 * min(whole, BLOCKS), [key], [result], many)
    if rest:
        work.launch(count, 100, [key], [result], last)


class _Row:
    """One row of logits under way: its weights, whose softmax is meant, are `scratch[piece]`."""

    def __init__(self, op: DrawOp, it: Iteration, logits: SSAValue, scratch: SSAValue):
        self.op, self.nest, self.s = op, it.nest, it.nest.scalars
        self.logits, self.scratch, self.row, self.piece = logits, scratch, it.index, it.piece
        self.type = element_of(op.logits)
        self.bits: Attribute = i32 if self.type == f32 else i64
        self.width = 32 if self.type == f32 else 64
        self.extent = self.nest.kernel.index(shape_of(op.logits)[-1])

    def fold(self, init: Scalar, step: Callable[[Nest, SSAValue, Scalar], Scalar], nest: Nest | None = None) -> Scalar:
        """`step` over the ids, one number carried."""

        def each(inside: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            return [step(inside, j, inside.scalars.of(carried[0])).value]

        place = nest or self.nest
        (last,) = place.loop((place.kernel.index(0), self.extent), [init.value], each, "j")
        return place.scalars.of(last)

    def logit(self, nest: Nest, j: SSAValue) -> Scalar:
        return nest.load(self.logits, (self.row, j))

    def weight(self, nest: Nest, j: SSAValue) -> Scalar:
        return nest.load(self.scratch, (self.piece, j))

    def as_float(self, s: ScalarBuilder, order: Scalar) -> Scalar:
        """The number at a place in the order of all numbers, which the bits of negative ones run through backwards."""
        return s.bitcast(order ^ ((order >> (self.width - 1)) & ((1 << (self.width - 1)) - 1)), self.type)

    def order(self, x: Scalar) -> Scalar:
        """The inverse of `as_float`; both zeros are one number."""
        bits = self.s.bitcast(x + 0.0, self.bits)
        return bits ^ ((bits >> (self.width - 1)) & ((1 << (self.width - 1)) - 1))

    def largest(self, low: Scalar, high: Scalar, holds: Callable[[Nest, Scalar], Scalar]) -> Scalar:
        """The largest number between two places for which `holds`, which it does at `low`: by bisection."""

        def halve(inside: Nest, _: SSAValue, ends: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            least, most = s.of(ends[0]), s.of(ends[1])
            # The mean rounded up, without overflow.
            middle = (least | most) - ((least ^ most) >> 1)
            good = holds(inside, self.as_float(s, middle))
            return [s.select(good, middle, least).value, s.select(good, most, middle - 1).value]

        kernel = self.nest.kernel
        found, _ = self.nest.loop((kernel.index(0), kernel.index(self.width)), [low.value, high.value], halve, "bit")
        return self.as_float(self.s, self.s.of(found))

    def maximum(self) -> Scalar:
        least = self.s.const(-inf, self.type)
        return self.fold(least, lambda n, j, m: n.scalars.maximum(m, self.logit(n, j)))

    def nth_largest(self, count: int, top: Scalar) -> Scalar:
        """The largest number that at least `count` logits are not below."""

        def enough(nest: Nest, x: Scalar) -> Scalar:
            zero = nest.scalars.const(0, self.bits)
            reached = self.fold(zero, lambda n, j, c: c + n.scalars.cast(self.logit(n, j) >= x, self.bits), nest)
            return reached >= count

        return self.largest(self.order(self.s.const(-inf, self.type)), self.order(top), enough)

    def weigh(self, top: Scalar, least: Scalar | None) -> None:
        """Weights are 1 for the largest logit (also an infinite one), 0 below `least`."""
        temperature = max(self.op.temperature.value.data, 1e-6)

        def one(nest: Nest, j: SSAValue) -> None:
            s, x = nest.scalars, self.logit(nest, j)
            weight = s.select(s.eq(x, top), 1.0, s.exp((x - top) / temperature))
            nest.store(weight if least is None else s.select(x < least, 0.0, weight), self.scratch, (self.piece, j))

        self.nest.each((self.nest.kernel.index(0), self.extent), "j", one)

    def mass(self, nest: Nest, least: Scalar, strict: bool = False) -> Scalar:
        """The sum of the weights from `least` on, or above it."""

        def add(n: Nest, j: SSAValue, total: Scalar) -> Scalar:
            s, w = n.scalars, self.weight(n, j)
            kept = s.select(w > least if strict else w >= least, w, 0.0)
            return s.accumulate_add(total, s.cast(kept, f64))

        return self.fold(nest.scalars.const(0, f64), add, nest)

    def keep_mass(self, share: float) -> None:
        """Clear all weights but the largest ones that make up `share`; of those at the cut the first ones stay."""
        s = self.s
        zero, one = s.const(0, self.type), s.const(1, self.type)
        wanted = self.mass(self.nest, zero) * share
        cut = self.largest(self.order(zero), self.order(one), lambda n, x: self.mass(n, x) >= wanted)

        def keep(n: Nest, j: SSAValue, total: Scalar) -> Scalar:
            t, w = n.scalars, self.weight(n, j)
            at_cut = t.eq(w, cut)
            stays = (w > cut) | (at_cut & (total < wanted))
            n.store(t.select(stays, w, 0.0), self.scratch, (self.piece, j))
            return t.select(at_cut, total + t.cast(w, f64), total)

        self.fold(self.mass(self.nest, cut, strict=True), keep)

    def quantile(self, u: Scalar) -> Scalar:
        """The number of ids whose cumulative weight does not exceed that share: summed in order, so it never falls."""
        s = self.s
        total = self.fold(s.const(0, f64), lambda n, j, t: t + n.scalars.cast(self.weight(n, j), f64))
        target = u * total

        def each(inside: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            t = inside.scalars
            reached = t.of(carried[0]) + t.cast(self.weight(inside, j), f64)
            passed = t.of(carried[1]) + t.cast(reached <= target, i64)
            return [reached.value, passed.value]

        init = [s.const(0, f64).value, s.const(0, i64).value]
        _, passed = self.nest.loop((self.nest.kernel.index(0), self.extent), init, each, "j")
        return s.minimum(s.of(passed), shape_of(self.op.logits)[-1] - 1)


@NEST.rule(DrawOp)
def draw_nest(op: DrawOp, work: Work) -> None:
    """An iteration is a row. Cuts are found by bisection over the bits of a float, which needs no sorting."""
    *rows, ids = shape_of(op.logits)
    count, top_k, top_p = prod(rows), op.top_k.value.data, op.top_p.value.data
    element, result = element_of(op.logits), work.write(op.result, (count,))
    bisections = (0 < top_k < ids) + (top_p < 1)
    each = ids * (30 + 2 * bisections * (32 if element == f32 else 64))
    scratch = work.scratch_per_piece(count, each, (ids,), element, "weights")

    def body(it: Iteration, logits: SSAValue, u: SSAValue, result: SSAValue, scratch: SSAValue) -> None:
        row = _Row(op, it, logits, scratch)
        top = row.maximum()
        row.weigh(top, row.nth_largest(top_k, top) if 0 < top_k < ids else None)
        if top_p < 1:
            row.keep_mass(top_p)
        s = it.nest.scalars
        found = row.quantile(it.nest.load(u, [it.index]))
        it.nest.store(s.select(s.is_nan(top), 0, found), result, [it.index])

    reads = [work.read(op.logits, (count, ids)), work.read(op.u, (count,))]
    work.launch(count, each, reads, [result, scratch], body)
