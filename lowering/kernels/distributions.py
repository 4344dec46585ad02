"""Draws by rejection, each element from blocks of random words of its own, and shuffles of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import log as ln
from math import pi, prod

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.mir.distributions import RngBinomialOp, RngGammaOp, RngPermutationOp, RngPoissonOp
from xdsl_rlx.dialects.mir.random import key_batch
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of, u32
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    cast,
    cos,
    exp,
    floor,
    log,
    log1p,
    scratch,
    shift_right_logical,
    sqrt,
)
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernels.random import Words, philox, two_words
from xdsl_rlx.lowering.kernels.work import NEST, Work


@dataclass(frozen=True)
class Stream:
    """The blocks of a key."""

    k0: Number
    k1: Number
    c2: Number
    c3: Number

    def block(self, number: Number) -> Words:
        """Four words, i64 below 2^32."""
        return philox((*two_words(number), self.c2, self.c3), (self.k0, self.k1))


def stream_of(key: Array, bits: Attribute) -> Stream:
    """The blocks of a key of two integers, whose bits are read as those of the type."""
    (k0, c2), (k1, c3) = (two_words(cast(cast(key[i], bits), i64)) for i in (0, 1))
    return Stream(k0, k1, c2, c3)


def bits_of(key: SSAValue) -> Attribute:
    """As what type the integers of a key are read."""
    return u32 if element_of(key) == i32 else i64


def open_fraction(word: Number, wide: Attribute) -> Number:
    """A word as a number in (0, 1], evenly spaced by 2^-32 near 0."""
    return (cast(word, wide) + 0.5) * 2.0**-32


def fraction(high: Number, low: Number) -> Number:
    """Two words as an f64 in (0, 1), the middles of intervals of 2^-52."""
    return (cast(shift_right_logical((high << 32) | low, 12), f64) + 0.5) * 2.0**-52


ATTEMPT = 160
"""Scalar operations of a block and what is made of it."""


GAMMA_BLOCK = 256
"""Elements of `rng_gamma` whose first attempts are made side by side."""

GAMMA_ROW = 8
"""Elements of a key from which on blocks are those of one key: a vector of a processor with AVX-512."""


def normal_and_fractions(stream: Stream, number: Number, wide: Attribute) -> tuple[Number, Number, Number]:
    """A normal number, and two numbers in (0, 1]."""
    if wide == f32:
        w0, w1, w2, w3 = stream.block(number)
        u, v = open_fraction(w0, wide), cast(w1, wide) * 2.0**-32
        accept, boost = open_fraction(w2, wide), open_fraction(w3, wide)
    else:
        w0, w1, w2, w3 = stream.block(number * 2)
        w4, w5, w6, w7 = stream.block(number * 2 + 1)
        u, v, accept, boost = fraction(w0, w1), fraction(w2, w3), fraction(w4, w5), fraction(w6, w7)
    return sqrt(log(u) * -2.0) * cos(v * (2 * pi)), accept, boost


def attempt_gamma(stream: Stream, number: Number, a: Number, wide: Attribute, is_log: bool) -> tuple[Number, Number]:
    """
    Whether the attempt of this number is accepted, and its draw (Marsaglia and Tsang, 2000).

    `log d v = log d + 3 log(1 + c z)`. No branches: a loop over this is vectors.
    """
    d = (a + 1.0 if a < 1.0 else a) - 1 / 3
    c = 1.0 / sqrt(9.0 * d)
    z, u, boost = normal_and_fractions(stream, number, wide)
    x = 1.0 + c * z
    v = x * x * x
    log_v = 3.0 * log(x)
    inside = u < 1.0 - 0.0331 * (z * z) * (z * z) or log(u) < 0.5 * z * z + d * (1.0 - v + log_v)
    less = log(boost) / a if a < 1.0 else a * 0.0
    return x > 0.0 and inside, log(d) + log_v + less if is_log else d * v * exp(less)


@NEST.rule(RngGammaOp)
def rng_gamma_nest(op: RngGammaOp, work: Work) -> None:
    """An iteration is a block of elements: all first attempts, then the others of elements that have none accepted."""
    batch, shape, wide = key_batch(op.key), shape_of(op.result), compute_type(element_of(op.result))
    keys, each, bits, is_log = prod(batch), prod(shape[len(batch) :]), bits_of(op.key), op.log is not None
    reads = [work.read(op.key, (keys, 2)), work.read(op.alpha, (keys, each))]
    by_key = each >= GAMMA_ROW
    rows, width = (keys, each) if by_key else (1, keys * each)
    blocks = -(-width // GAMMA_BLOCK)

    def key_and_element(row: Number, n: Number) -> tuple[Number, Number]:
        return (row, n) if by_key else (n // each, n % each)

    @work.over(rows * blocks, 2 * ATTEMPT * min(width, GAMMA_BLOCK), reads, [work.write(op.result, (keys, each))])
    def rng_gamma(it: Iteration, key: Array, alpha: Array, result: Array) -> None:
        row, part = it.unravel(rows, blocks)
        first = part * GAMMA_BLOCK
        count = min(GAMMA_BLOCK, width - first)
        rejected = scratch((GAMMA_BLOCK,), i32)
        for j in range(count):
            at, i = key_and_element(row, first + j)
            a = cast(alpha[at, i], wide)
            accepted, drawn = attempt_gamma(stream_of(key[at], bits), cast(i, i64), a, wide, is_log)
            # No draw exists for other shape parameters: a itself, its logarithm, or NaN below 0.
            is_shape = a > 0.0 and a - a == 0.0
            limit = log(a) if is_log else a * 0.0 / 0.0 if a < 0.0 else a
            result[at, i] = drawn if is_shape else limit
            rejected[j] = cast(is_shape and not accepted, i32)
        for j in range(count):
            if rejected[j] != 0:
                at, i = key_and_element(row, first + j)
                stream, number, a = stream_of(key[at], bits), cast(i, i64), cast(alpha[at, i], wide)
                accepted, drawn = False, a
                while not accepted:
                    number = number + each
                    accepted, drawn = attempt_gamma(stream, number, a, wide, is_log)
                result[at, i] = drawn


HALF_LOG_2PI = 0.5 * ln(2 * pi)


def stirling_error(k: Number) -> Number:
    """`ln k! - (k + 1/2) ln k + k - ln(2 pi) / 2` of a positive integer in f64: a product, or DLMF 5.11.1."""
    found = cast(0.0, f64)
    if k < 10.0:
        product, j = cast(1.0, f64), cast(2.0, f64)
        while j <= k:
            product = product * j
            j = j + 1.0
        found = log(product) - (k + 0.5) * log(k) + k - HALF_LOG_2PI
    else:
        r = 1.0 / (k * k)
        found = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188))))) / k
    return found


def deviance(x: Number, mean: Number) -> Number:
    """`x ln(x / mean) + mean - x` of positive numbers (Loader, 2000)."""
    e = (mean - x) / x
    return x * (e - log1p(e))


def poisson_log_mass(k: Number, rate: Number) -> Number:
    """The logarithm of the probability of `k`."""
    return -rate if k == 0.0 else -stirling_error(k) - deviance(k, rate) - 0.5 * log(k) - HALF_LOG_2PI


def binomial_log_mass(k: Number, n: Number, q: Number) -> Number:
    """The logarithm of the probability of `k` successes in `n` trials of probability `q` (Loader, 2000)."""
    found = n * log1p(-q)
    if k >= n:
        found = n * log(q)
    elif k > 0.0:
        rest = n - k
        errors = stirling_error(n) - stirling_error(k) - stirling_error(rest)
        found = errors - deviance(k, n * q) - deviance(rest, n * (1.0 - q)) + 0.5 * log(n / k / rest) - HALF_LOG_2PI
    return found


SMALL = 10.0
"""Means below this are drawn by summing up probabilities, as in JAX and NumPy."""

MOST = 200.0
"""No smaller mean gives a number beyond this one with a probability above 1e-150."""


@NEST.rule(RngPoissonOp)
def rng_poisson_nest(op: RngPoissonOp, work: Work) -> None:
    """An iteration is an element."""
    batch, shape = key_batch(op.key), shape_of(op.result)
    keys, each, bits = prod(batch), prod(shape[len(batch) :]), bits_of(op.key)
    reads = [work.read(op.key, (keys, 2)), work.read(op.rate, (keys, each))]
    result = work.write(op.result, (keys, each))

    def summed(stream: Stream, number: Number, rate: Number) -> Number:
        """The first `k` up to which the sum of probabilities exceeds `u`."""
        w0, w1, _, _ = stream.block(number)
        u, mass, k = fraction(w0, w1), exp(-rate), cast(0.0, f64)
        total = mass
        while u > total and k < MOST:
            k = k + 1.0
            mass = mass * rate / k
            total = total + mass
        return k

    def rejected(stream: Stream, first: Number, rate: Number) -> Number:
        """PTRS."""
        b = 0.931 + 2.53 * sqrt(rate)
        a = -0.059 + 0.02483 * b
        log_hat, squeeze = log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2.0)
        k, number, going = cast(0.0, f64), first, True
        while going:
            w0, w1, w2, w3 = stream.block(number)
            number = number + each
            u, v = fraction(w0, w1) - 0.5, fraction(w2, w3)
            us = 0.5 - abs(u)
            k = floor((2.0 * a / us + b) * u + rate + 0.43)
            if us >= 0.07 and v <= squeeze:
                going = False
            elif k >= 0.0 and (us >= 0.013 or v <= us):
                going = log(v) + log_hat - log(a / (us * us) + b) > poisson_log_mass(k, rate)
        return k

    @work.over(keys * each, 2 * ATTEMPT, reads, [result])
    def rng_poisson(it: Iteration, key: Array, rate: Array, result: Array) -> None:
        at, i = it.unravel(keys, each)
        stream, number = stream_of(key[at], bits), cast(i, i64)
        mean, drawn = cast(rate[at, i], f64), cast(-1.0, f64)
        if mean >= SMALL:
            # beyond the integers all draws are the largest one
            drawn = mean if mean > 1e19 else rejected(stream, number, mean)
        elif mean >= 0.0:
            drawn = summed(stream, number, mean)
        result[at, i] = cast(drawn, i64)


@NEST.rule(RngBinomialOp)
def rng_binomial_nest(op: RngBinomialOp, work: Work) -> None:
    """An iteration is an element: successes or failures are drawn, whichever are less probable."""
    batch, shape, wide = key_batch(op.key), shape_of(op.result), compute_type(element_of(op.result))
    keys, each, bits = prod(batch), prod(shape[len(batch) :]), bits_of(op.key)
    reads = [work.read(op.key, (keys, 2)), work.read(op.count, (keys, each)), work.read(op.p, (keys, each))]
    result = work.write(op.result, (keys, each))

    def summed(stream: Stream, number: Number, n: Number, q: Number) -> Number:
        """The first `k` up to which the sum of probabilities exceeds `u`."""
        w0, w1, _, _ = stream.block(number)
        u, mass, k = fraction(w0, w1), exp(n * log1p(-q)), cast(0.0, f64)
        total, odds = mass, q / (1.0 - q)
        while u > total and k < n and k < MOST:
            mass = mass * (n - k) / (k + 1.0) * odds
            k = k + 1.0
            total = total + mass
        return k

    def rejected(stream: Stream, first: Number, n: Number, q: Number) -> Number:
        """BTRS."""
        spread = sqrt(n * q * (1.0 - q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * q
        squeeze, log_hat = 0.92 - 4.2 / b, log((2.83 + 5.1 / b) * spread)
        at_mode = binomial_log_mass(floor((n + 1.0) * q), n, q)
        k, number, going = cast(0.0, f64), first, True
        while going:
            w0, w1, w2, w3 = stream.block(number)
            number = number + each
            u, v = fraction(w0, w1) - 0.5, fraction(w2, w3)
            us = 0.5 - abs(u)
            k = floor((2.0 * a / us + b) * u + n * q + 0.5)
            if us >= 0.07 and v <= squeeze:
                going = False
            elif k >= 0.0 and k <= n:
                going = log(v) + log_hat - log(a / (us * us) + b) > binomial_log_mass(k, n, q) - at_mode
        return k

    @work.over(keys * each, 2 * ATTEMPT, reads, [result])
    def rng_binomial(it: Iteration, key: Array, count: Array, p: Array, result: Array) -> None:
        at, i = it.unravel(keys, each)
        stream, number = stream_of(key[at], bits), cast(i, i64)
        n, share = floor(cast(count[at, i], f64)), cast(p[at, i], f64)
        drawn = n * 0.0 / 0.0
        if n >= 0.0 and n < 1e300 and share >= 0.0 and share <= 1.0:
            q = 1.0 - share if share > 0.5 else share
            drawn = summed(stream, number, n, q) if n * q < SMALL else rejected(stream, number, n, q)
            drawn = n - drawn if share > 0.5 else drawn
        result[at, i] = cast(drawn, wide)


@NEST.rule(RngPermutationOp)
def rng_permutation_nest(op: RngPermutationOp, work: Work) -> None:
    """An iteration is a row."""
    batch, (*rows, length) = key_batch(op.key), shape_of(op.result)
    keys, each, bits, element = prod(batch), prod(rows[len(batch) :]), bits_of(op.key), element_of(op.result)
    key, result = work.read(op.key, (keys, 2)), work.write(op.result, (keys, each, length))

    def put(row: Array, i: Number, high: Number, low: Number) -> None:
        """Insert number `i` at a random place, whose number moves to the end."""
        many = cast(i, i64) + 1
        place = cast((high * many + shift_right_logical(low * many, 32)) >> 32, INDEX)
        row[i] = row[place]
        row[place] = cast(i, element)

    @work.over(keys * each if length else 0, 30 * length, [key], [result])
    def rng_permutation(it: Iteration, key: Array, result: Array) -> None:
        at, i = it.unravel(keys, each)
        stream, row, first = stream_of(key[at], bits), result[at, i], cast(i, i64) << 32
        for pair in range(length // 2):
            w0, w1, w2, w3 = stream.block(first + cast(pair, i64))
            put(row, pair * 2, w0, w1)
            put(row, pair * 2 + 1, w2, w3)
        if length % 2:
            w0, w1, _, _ = stream.block(first + length // 2)
            put(row, length - 1, w0, w1)
