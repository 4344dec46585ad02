"""Random numbers and drawing: what they mean, in words of 64 bits and by sorting."""

from math import prod
from typing import Any

import numpy as np
from numerics.sample import Operand, Sample, apart, integers, uniform, values
from oracle import Array, numpy_dtype, widen

from xdsl_rlx.dialects.mir import random
from xdsl_rlx.dialects.mir.random import DrawOp, RngBitsOp, RngNormalOp, RngUniformOp, SampleOp
from xdsl_rlx.dialects.shapes import element_of, shape_of

KEY = Operand((2,), values(12345678901234567, -3), "i64")
KEYS = Operand((3, 2), integers(-(2**62), 2**62), "i64")
NARROW = Operand((2,), values(7, -1), "i32")


def _number_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, key, shape in (
        ("", KEY, (4, 3)),
        ("-i32", NARROW, (5,)),
        ("-keys", KEYS, (2, 3)),
        ("-scalar", KEY, ()),
        ("-empty", KEY, (0, 2)),
        ("-long", KEY, (1030,)),
    ):
        bits = lambda m, key, s=shape: m.rng_bits(key, s, 3)  # noqa: E731
        rows.append(Sample(f"rng_bits{suffix}", RngBitsOp, bits, (key,), ("i32",), exact=True))
        for dtype in ("f32", "f64", "bf16"):
            name = f"{dtype}{suffix}"
            draw = lambda m, key, s=shape, d=dtype: m.rng_uniform(key, s, dtype=d)  # noqa: E731
            rows.append(Sample(f"rng_uniform-{name}", RngUniformOp, draw, (key,), (dtype,), tol=1))
            draw = lambda m, key, s=shape, d=dtype: m.rng_uniform(key, s, -3.0, 5.0, d)  # noqa: E731
            rows.append(Sample(f"rng_uniform-wide-{name}", RngUniformOp, draw, (key,), (dtype,), tol=1))
            draw = lambda m, key, s=shape, d=dtype: m.rng_normal(key, s, 1.5, 0.5, d)  # noqa: E731
            rows.append(Sample(f"rng_normal-{name}", RngNormalOp, draw, (key,), (dtype,)))
    return rows


def _draw_samples() -> list[Sample]:
    rows: list[Sample] = []
    ties = values(1, 3, 3, -np.inf, 3, 1, 0, 1, np.inf, 2, 0)
    for suffix, shape, sampler, filters in (
        ("", (5, 7), apart(0.3), (1.0, 0, 1.0)),
        ("-vector", (9,), apart(0.2), (0.7, 0, 1.0)),
        ("-k", (6, 9), apart(0.05), (1.0, 3, 1.0)),
        ("-k-ties", (4, 5), ties, (1.0, 2, 1.0)),
        ("-k-all", (4, 5), apart(), (2.0, 9, 1.0)),
        ("-p", (6, 9), apart(0.2), (1.0, 0, 0.6)),
        ("-p-ties", (4, 5), ties, (1.0, 0, 0.55)),
        ("-both", (8, 9), apart(0.1), (0.5, 6, 0.8)),
        ("-greedy", (3, 9), apart(0.05), (0.0, 0, 1.0)),
        ("-nan", (2, 3), values(1, np.nan, 2, 0, -np.inf, 4), (1.0, 2, 0.9)),
        ("-masked", (2, 3), values(-np.inf), (1.0, 0, 1.0)),
        ("-one", (2, 2, 1), apart(), (1.0, 1, 0.5)),
        ("-empty", (0, 3), apart(), (1.0, 0, 1.0)),
    ):
        logits = Operand(shape, sampler)
        draw = lambda m, x, u, f=filters: m.draw(x, u, *f)  # noqa: E731
        u = Operand(shape[:-1], uniform(0, 1), "f64")
        rows.append(Sample(f"draw{suffix}", DrawOp, draw, (logits, u)))
        sample = lambda m, x, key, f=filters: m.sample(x, key, *f)  # noqa: E731
        rows.append(Sample(f"sample{suffix}", SampleOp, sample, (logits, KEY)))
    ends = Operand((4,), values(0, 0.9999999999999999, 0.5, 1), "f64")
    draw = lambda m, x, u: m.draw(x, u)  # noqa: E731
    none = values(-np.inf, 0, 0, -np.inf)
    rows.append(Sample("draw-ends", DrawOp, draw, (Operand((4, 4), none), ends)))
    narrow = (Operand((6, 5), apart()), Operand((6,), uniform(0, 1), "f64"))
    rows.append(Sample("draw-narrow", DrawOp, draw, narrow, ("f16", "bf16")))
    return rows


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> list[int]:
    """A block of Philox 4x32-10 by its definition."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(key: Array, count: int, offset: int = 0) -> Array:
    """The first words of the stream of a key."""
    bits = 64 if key.dtype == np.int64 else 32
    seed, stream = (int(part) % 2**bits for part in key)
    made: list[int] = []
    for block in range(-(-count // 4)):
        at = (offset + block) % 2**64
        counter = (at % 2**32, at >> 32, seed >> 32, stream >> 32)
        made += philox(counter, (seed % 2**32, stream % 2**32))
    return np.array(made[:count], np.uint64)


def _per_key(op: random.RngBitsOp | RngUniformOp | RngNormalOp, key: Array, sets: int, offset: int = 0) -> Array:
    """The words of each key, as `[keys.., sets, rest]`."""
    batch = key.shape[:-1]
    rest = shape_of(op.result)[len(batch) :]
    rows = [words(k, sets * prod(rest), offset) for k in key.reshape(-1, 2)]
    return np.array(rows, np.uint64).reshape(*batch, sets, prod(rest))


def _rng_bits(op: RngBitsOp, key: Array) -> Array:
    made = _per_key(op, key, 1, op.offset.value.data)
    return made.astype(np.uint32).view(np.int32).reshape(shape_of(op.result))


def _numerators(op: RngUniformOp | RngNormalOp, key: Array, sets: int) -> tuple[list[Array], float]:
    """Fractions before they are divided, and what they are divided by."""
    shape = shape_of(op.result)
    if numpy_dtype(element_of(op.result)) == np.float64:
        made = _per_key(op, key, 2 * sets)
        whole = [(made[..., 2 * i, :] >> 5) * 2**26 + (made[..., 2 * i + 1, :] >> 6) for i in range(sets)]
        return [w.astype(np.float64).reshape(shape) for w in whole], 2.0**53
    made = _per_key(op, key, sets)
    return [(made[..., i, :] >> 8).astype(np.float64).reshape(shape) for i in range(sets)], 2.0**24


def _rng_uniform(op: RngUniformOp, key: Array) -> Array:
    (k,), size = _numerators(op, key, 1)
    low, high = op.bounds
    numbers = (low + k / size * (high - low)).astype(numpy_dtype(element_of(op.result)))
    below = np.nextafter(np.array(high, numbers.dtype), np.array(low, numbers.dtype))
    return np.minimum(numbers, below)


def _rng_normal(op: RngNormalOp, key: Array) -> Array:
    (k, m), size = _numerators(op, key, 2)
    z = np.sqrt(-2 * np.log((k + 1) / size)) * np.cos(2 * np.pi * (m / size))
    return op.mean.value.data + op.scale.value.data * z


def drawn(row: Array, u: float, temperature: float, top_k: int, top_p: float) -> int:
    """The id of a row at a quantile, by sorting."""
    if np.isnan(row).any():
        return 0
    top = row.max()
    weights = np.where(row == top, 1.0, np.exp((row - top) / max(temperature, 1e-6)))
    if 0 < top_k < row.size:
        weights[row < np.sort(row)[-top_k]] = 0
    if top_p < 1:
        order = np.lexsort((np.arange(row.size), -weights))
        before = np.cumsum(weights[order]) - weights[order]
        weights[order[before >= top_p * weights.sum()]] = 0
    passed = np.cumsum(weights) <= u * weights.sum()
    return min(int(passed.sum()), row.size - 1)


def _draw(op: DrawOp | SampleOp, logits: Array, u: Array) -> Array:
    filters = (op.temperature.value.data, op.top_k.value.data, op.top_p.value.data)
    rows = widen(logits).reshape(-1, logits.shape[-1])
    ids = [drawn(row, x, *filters) for row, x in zip(rows, u.reshape(-1), strict=True)]
    return np.array(ids, np.int64).reshape(shape_of(op.result))


def _sample(op: SampleOp, logits: Array, key: Array) -> Array:
    rows = prod(shape_of(op.result))
    made = words(key, 2 * rows)
    u = ((made[:rows] >> 5) * 2**26 + (made[rows:] >> 6)).astype(np.float64) / 2.0**53
    return _draw(op, logits, u)


SAMPLES = (*_number_samples(), *_draw_samples())
ORACLE = {
    RngBitsOp: _rng_bits,
    RngUniformOp: _rng_uniform,
    RngNormalOp: _rng_normal,
    DrawOp: _draw,
    SampleOp: _sample,
}
JAX: dict[Any, Any] = {}
