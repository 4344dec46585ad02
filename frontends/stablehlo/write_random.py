"""Random numbers as StableHLO: the same words as those of compiled programs, by the definition of the generator."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

from xdsl.dialects.builtin import i32

from xdsl_rlx.dialects.mir import index as indexing
from xdsl_rlx.dialects.mir import random as random_numbers
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.stablehlo.writer import defined

_FACTORS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = 0xFFFFFFFF


@defined(random_numbers.RngBitsOp)
def _bits(op: Any, b: MirBuilder) -> Sequence[Value]:
    """Philox 4x32-10, on words of 32 bits in integers of 64."""
    key, shape = b.value(op.key), shape_of(op.result)
    batch = key.shape[:-1]
    count = prod(shape[len(batch) :])
    blocks = -(-count // 4)
    if element_of(op.key) == i32:
        key = b.cast(key, "i64") & _LOW

    def word(number: int, shift: int) -> Value:
        half = b.narrow(key, len(batch), number, 1)
        return b.shift_right_logical(half, 32) & _LOW if shift else half & _LOW

    counter = b.iota(blocks) + op.offset.value.data
    every = (*batch, blocks)
    words = [b.expand(x, every) for x in (counter & _LOW, b.shift_right_logical(counter, 32), word(0, 32), word(1, 32))]
    keys = [word(0, 0), word(1, 0)]
    for _ in range(_ROUNDS):
        products = [x * factor for x, factor in zip((words[0], words[2]), _FACTORS, strict=True)]
        high, low = [b.shift_right_logical(x, 32) for x in products], [x & _LOW for x in products]
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
        keys = [(x + step) & _LOW for x, step in zip(keys, _STEPS, strict=True)]
    four = b.concat([b.reshape(x, (*every, 1)) for x in words], len(every))
    flat = b.narrow(b.reshape(four, (*batch, 4 * blocks)), len(batch), 0, count)
    return [b.reshape(b.cast(flat, "i32"), shape)]


@defined(random_numbers.DrawOp)
def _draw(op: Any, b: MirBuilder) -> Sequence[Value]:
    """The first id whose cumulative probability exceeds the quantile, in double precision."""
    logits = b.value(op.logits)
    last, count = logits.rank - 1, logits.shape[-1]
    scaled = b.cast(logits, "f64") / max(op.temperature.value.data, 1e-6)
    k, top_p = op.top_k.value.data, op.top_p.value.data
    if 0 < k < count:
        least = b.gather(logits, b.narrow(b.topk(logits, k), last, k - 1, 1), last, last)
        scaled = b.where(b.ge(logits, least), scaled, -inf)
    largest = b.reduce_max(scaled, -1, True)
    # of infinite logits, the difference is NaN
    weights = b.where(b.eq(scaled, largest), 1.0, b.exp(scaled - largest))
    if top_p < 1:
        order = b.topk(weights, count)
        sums = b.cumsum(b.gather(weights, order, last, last))
        most = b.concat([b.zeros_like(b.narrow(sums, last, 0, 1)), b.narrow(sums, last, 0, count - 1)], last)
        enough = b.lt(most, top_p * b.narrow(sums, last, count - 1, 1))
        back = b.op(indexing.TopkOp, order.ssa, count, True)
        weights = weights * b.gather(b.cast(enough, "f64"), back, last, last)
    sums = b.cumsum(weights)
    bound = b.reshape(b.value(op.u), (*logits.shape[:-1], 1)) * b.narrow(sums, last, count - 1, 1)
    there = b.gt(weights, 0.0)
    # where rounding leaves none above the quantile, the last id that has a probability
    score = b.where(b.gt(sums, bound), b.cast(2 * count - b.iota(count), "i64"), b.iota(count))
    found = b.topk(b.where(there, score, -1), 1)
    wrong = b.reduce_max(b.cast(b.ne(logits, logits), "i64"), -1, True)
    return [b.reshape(b.where(b.gt(wrong, 0), 0, found), logits.shape[:-1])]
