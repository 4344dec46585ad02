"""Nests of random words (Philox 4x32-10) and of drawing an id by its quantile."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod

from xdsl.dialects.builtin import f32, f64, i32, i64

from xdsl_rlx.dialects.mir.random import DrawOp, RngBitsOp, key_batch
from xdsl_rlx.dialects.shapes import element_of, shape_of, u32
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate,
    cast,
    exp,
    isnan,
    maximum,
    shift_right_logical,
)
from xdsl_rlx.lowering.kernel_dsl.number_order import FloatOrder
from xdsl_rlx.lowering.kernels.work import NEST, Work

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
"""The published constants of Philox 4x32."""

WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
LOW = 0xFFFFFFFF

BLOCKS = 256
"""Blocks of four words that one iteration makes."""

Words = tuple[Number, Number, Number, Number]


def philox(counter: Words, key: tuple[Number, Number]) -> Words:
    """A block of Philox 4x32-10. Words are i64 below 2^32; a product is wanted as its low and its high word."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in tuple(range(ROUNDS)):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        high0, high1 = shift_right_logical(p0, 32), shift_right_logical(p1, 32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, p1 & LOW, high0 ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + WEYL[0]) & LOW, (k1 + WEYL[1]) & LOW
    return c0, c1, c2, c3


def two_words(x: Number) -> tuple[Number, Number]:
    """The low and the high word of an i64."""
    return x & LOW, shift_right_logical(x, 32)


@NEST.rule(RngBitsOp)
def rng_bits_nest(op: RngBitsOp, work: Work) -> None:
    """An iteration makes a range of blocks; the words behind the last whole block are a launch of their own."""
    batch = key_batch(op.key)
    count, shape, offset = prod(batch), shape_of(op.result), op.offset.value.data
    words = prod(shape[len(batch) :])
    key, result = work.read(op.key, (count, 2)), work.write(op.result, (count, words))
    bits = u32 if element_of(op.key) == i32 else i64
    whole, rest = divmod(words, 4)
    ranges = -(-whole // BLOCKS)

    def write_block(key: Array, result: Array, number: Number, words: int) -> None:
        (k0, c2), (k1, c3) = (two_words(cast(cast(key[i], bits), i64)) for i in (0, 1))
        block = philox((*two_words(cast(number, i64) + offset), c2, c3), (k0, k1))
        for lane, word in enumerate(block[:words]):
            result[number * 4 + lane] = cast(word, i32)

    @work.over(count * ranges, 32 * min(whole, BLOCKS), [key], [result])
    def rng_bits(it: Iteration, key: Array, result: Array) -> None:
        at, part = it.unravel(count, ranges)
        for number in range(part * BLOCKS, min((part + 1) * BLOCKS, whole)):
            write_block(key[at], result[at], number, 4)

    @work.over(count if rest else 0, 100, [key], [result])
    def last_bits(it: Iteration, key: Array, result: Array) -> None:
        write_block(key[it.index], result[it.index], whole, rest)


def largest(order: FloatOrder, low: Number, high: Number, holds: Callable[[Number], Number]) -> Number:
    """The largest number between two for which `holds`, which it does at `low`: by bisection."""
    least, most = order.place(low), order.place(high)
    for _bit in range(order.most.bit_length() + 1):
        # The mean rounded up, without overflow.
        middle = (least | most) - ((least ^ most) >> 1)
        good = holds(order.number(middle))
        least, most = middle if good else least, most if good else middle - 1
    return order.number(least)


def nth_largest(logits: Array, count: int, top: Number, order: FloatOrder) -> Number:
    """The largest number that at least `count` logits are not below."""

    def is_reached(x: Number) -> Number:
        reached = cast(0, order.bits)
        for j in range(logits.shape[0]):
            reached = reached + cast(logits[j] >= x, order.bits)
        return reached >= count

    return largest(order, cast(-inf, order.element), top, is_reached)


def mass(weights: Array, is_meant: Callable[[Number], Number]) -> Number:
    """The sum of the weights that are meant."""
    total = cast(0, f64)
    for j in range(weights.shape[0]):
        weight = weights[j]
        total = accumulate(total, cast(weight if is_meant(weight) else 0.0, f64))
    return total


def keep_mass(weights: Array, share: float, order: FloatOrder) -> None:
    """Clear all weights but the largest ones that make up `share`; of those at the cut the first ones stay."""
    zero, one = cast(0, order.element), cast(1, order.element)
    wanted = mass(weights, lambda weight: weight >= zero) * share
    cut = largest(order, zero, one, lambda x: mass(weights, lambda weight: weight >= x) >= wanted)
    total = mass(weights, lambda weight: weight > cut)
    for j in range(weights.shape[0]):
        weight = weights[j]
        at_cut = weight == cut
        weights[j] = weight if weight > cut or (at_cut and total < wanted) else 0.0
        total = total + cast(weight, f64) if at_cut else total


def quantile(weights: Array, u: Number) -> Number:
    """The number of ids whose cumulative weight does not exceed that share: summed in order, so it never falls."""
    total, reached, passed = cast(0, f64), cast(0, f64), cast(0, i64)
    for j in range(weights.shape[0]):
        total = total + cast(weights[j], f64)
    target = u * total
    for j in range(weights.shape[0]):
        reached = reached + cast(weights[j], f64)
        passed = passed + cast(reached <= target, i64)
    return min(passed, weights.shape[0] - 1)


@NEST.rule(DrawOp)
def draw_nest(op: DrawOp, work: Work) -> None:
    """An iteration is a row. Cuts are found by bisection over the bits of a float, which needs no sorting."""
    *rows, ids = shape_of(op.logits)
    count, top_k, top_p = prod(rows), op.top_k.value.data, op.top_p.value.data
    temperature = max(op.temperature.value.data, 1e-6)
    element, result = element_of(op.logits), work.write(op.result, (count,))
    bisections = (0 < top_k < ids) + (top_p < 1)
    each = ids * (30 + 2 * bisections * (32 if element == f32 else 64))
    order = FloatOrder.of(element)
    scratch = work.scratch_per_piece(count, each, (ids,), element, "weights")
    reads = [work.read(op.logits, (count, ids)), work.read(op.u, (count,))]

    @work.over(count, each, reads, [result, scratch])
    def draw(it: Iteration, logits: Array, u: Array, result: Array, scratch: Array) -> None:
        x, weights = logits[it.index], scratch[it.piece]
        top = cast(-inf, element)
        for j in range(ids):
            top = maximum(top, x[j])
        least = nth_largest(x, top_k, top, order) if 0 < top_k < ids else -inf
        # Weights, whose softmax is meant, are 1 for the largest logit (also an infinite one), 0 below `least`.
        for j in range(ids):
            logit = x[j]
            weight = 1.0 if logit == top else exp((logit - top) / temperature)
            weights[j] = 0.0 if logit < least else weight
        if top_p < 1:
            keep_mass(weights, top_p, order)
        drawn = quantile(weights, u[it.index])
        result[it.index] = 0 if isnan(top) else drawn
