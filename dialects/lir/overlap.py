"""Whether byte ranges that move with loops share a byte in some iteration, decided by arithmetic on their strides.
Where buffers lie is in `places.py`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import gcd, lcm, prod

STEPS = 4096
"""Pieces and trial values looked at before a question stays undecided; real programs need less than ten."""


@dataclass(frozen=True)
class Term:
    """`stride * ((i + shift) mod period)`, without `mod` where the period is None, for iteration `i` of a loop."""

    stride: int
    shift: int = 0
    period: int | None = None


Piece = tuple[int, tuple[tuple[int, int], ...]]
"""A constant and pairs `(c, n)`: the numbers `constant + sum(c * x)` with every `x` in `0 .. n - 1`."""


def meets_window(loops: Sequence[tuple[int, Sequence[Term]]], low: int, high: int) -> bool | None:
    """
    Return whether a sum of terms of loops lies in `low .. high` in some iteration; None where that stays undecided.

    A loop is its number of iterations and its terms. The answer is exact but for three or more loops whose strides
    interleave, or periods without a small common multiple: these stay undecided after `STEPS` steps. Time and memory
    do not depend on the number of iterations.
    """
    if low > high or any(count <= 0 for count, _ in loops):
        return False
    pieces: list[list[Piece]] = []
    for count, terms in loops:
        if (found := _pieces(count, terms)) is None:
            return None
        pieces.append(found)
    if prod(map(len, pieces)) > STEPS:
        return None
    budget = [STEPS]
    answers: list[bool | None] = []
    for chosen in product(*pieces):
        start = sum(constant for constant, _ in chosen)
        steps = [pair for _, pairs in chosen for pair in pairs]
        answers.append(_reaches(steps, low - start, high - start, budget))
        if answers[-1]:
            return True
    return None if None in answers else False


def _pieces(count: int, terms: Sequence[Term]) -> list[Piece] | None:
    """
    The values of a loop's terms as pieces that are linear; None if these are too many.

    Iteration `i = q * P + r`, with `P` the common multiple of the periods: each term is linear in `r` between the
    places where it wraps around, and only those without a period change with `q`.
    """
    periods = [term.period for term in terms if term.period is not None]
    slope = sum(term.stride for term in terms if term.period is None)
    shifted = sum(term.stride * term.shift for term in terms if term.period is None)
    if not periods:
        return [(shifted, ((slope, count),))]
    whole = lcm(*periods)
    if sum(min(whole, count) // period + 2 for period in periods) > STEPS:
        return None
    cuts = {0, min(whole, count), count % whole if count > whole else 0}
    for term in terms:
        if term.period is not None:
            cuts.update(range(-term.shift % term.period, min(whole, count), term.period))
    edges = sorted(cuts)
    found: list[Piece] = []
    for begin, end in pairwise(edges):
        constant = shifted + slope * begin
        constant += sum(t.stride * ((begin + t.shift) % t.period) for t in terms if t.period is not None)
        steep = sum(term.stride for term in terms)
        # whole repetitions, and one more where the last and shorter one still has these iterations
        times = count // whole + (begin < count % whole)
        found.append((constant, ((steep, end - begin), (slope * whole, times))))
    return found


def _reaches(pairs: Sequence[tuple[int, int]], low: int, high: int, budget: list[int]) -> bool | None:
    """Whether `sum(c * x)` with every `x` in `0 .. n - 1` lies in `low .. high`; None if the budget is used up."""
    positive: list[tuple[int, int]] = []
    for c, n in pairs:
        if c < 0:
            # x counts down instead
            low, high, c = low - c * (n - 1), high - c * (n - 1), -c
        if c and n > 1:
            positive.append((c, n))
    if not positive:
        return low <= 0 <= high
    unit = gcd(*(c for c, _ in positive))
    low, high = -(-low // unit), high // unit
    return _search(sorted((c // unit, n) for c, n in positive), low, high, budget)


def _search(pairs: list[tuple[int, int]], low: int, high: int, budget: list[int]) -> bool | None:
    """
    `_reaches` for strides above 0, in order.

    A stride of at most the width of the window leaves no gap: with `x` in `0 .. n - 1` some sum lies in
    `low .. high` just if the rest lies in `low - c * (n - 1) .. high`. So the smallest strides go, until one is wider.
    """
    while pairs and low <= high and pairs[0][0] <= high - low + 1:
        (c, n), pairs = pairs[0], pairs[1:]
        low -= c * (n - 1)
    most = sum(c * (n - 1) for c, n in pairs)
    if low > high or high < 0 or low > most:
        return False
    if not pairs:
        return True
    if len(pairs) == 2:
        return _two(pairs, low, high)
    (c, n), rest = pairs[-1], pairs[:-1]
    undecided = False
    for x in _values(c, n, low - (most - c * (n - 1)), high):
        if budget[0] <= 0:
            return None
        budget[0] -= 1
        answer = _search(rest, low - c * x, high - c * x, budget)
        if answer:
            return True
        undecided |= answer is None
    return None if undecided else False


def _values(c: int, n: int, low: int, high: int) -> Iterator[int]:
    """The `x` in `0 .. n - 1` with `c * x` in `low .. high`."""
    yield from range(max(-(-low // c), 0), min(high // c, n - 1) + 1)


def _two(pairs: Sequence[tuple[int, int]], low: int, high: int) -> bool:
    """
    `_search` for two strides wider than the window, exactly.

    `a * x + b * y` is in `low .. high` for some `y >= 0` just if `(high - a * x) mod b <= high - low` and
    `a * x <= high`; `y < m` holds if `a * x >= low - b * (m - 1)`, as the window is narrower than `b`.
    """
    (a, n), (b, m) = pairs
    first, last = max(-(-(low - b * (m - 1)) // a), 0), min(high // a, n - 1)
    if first > last:
        return False
    start, width = (high - a * first) % b, high - low
    # (start - a * t) mod b <= width means that (a * t) mod b is one of start - width .. start, around b
    if start - width <= 0:
        return True
    return (t := _first_in(a % b, b, start - width, start)) is not None and first + t <= last


def _first_in(a: int, modulus: int, low: int, high: int) -> int | None:
    """
    Return the least `t >= 0` with `(a * t) mod modulus` in `low .. high`, or None.

    For `0 <= a < modulus` and `0 < low <= high < modulus`, by Euclid's algorithm. If no multiple of `a` is in the
    window, the question is after how many wraps `w` one is in `low + modulus * w .. high + modulus * w`: that is where
    `(modulus * w) mod a` lies between `-high mod a` and `-low mod a`.
    """
    if a == 0:
        return None
    t = -(-low // a)
    if a * t <= high:
        return t
    wraps = _first_in(modulus % a, a, -high % a, -low % a)
    return None if wraps is None else -(-(low + modulus * wraps) // a)
