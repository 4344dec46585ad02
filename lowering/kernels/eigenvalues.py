"""Eigenvalues of symmetric matrices of a few dozen rows, without vectors: LAPACK takes several times as long.

Reflections make a matrix tridiagonal (Golub and Van Loan, Matrix Computations, 8.3.1). Its eigenvalues follow from the
QL iteration without square roots of Pal, Walker and Kahan, with the shifts and the tests of `sterf` of LAPACK."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32

from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate,
    cast,
    copysign,
    fma,
    lanes,
    rolled,
    scratch,
    sqrt,
)
from xdsl_rlx.lowering.kernels.magnitudes import WINDOW, largest_of, scale_of
from xdsl_rlx.lowering.kernels.substitution import padded
from xdsl_rlx.lowering.kernels.work import Work

MOST_ROWS = 128
"""Rows up to which these loops beat LAPACK, which works by blocks; benchmark: `eigvalsh 64` of breadth.py."""

STEPS = 30
"""Iterations for each row at most, as in LAPACK; about two are needed."""

TOGETHER = 4
"""Lines that are reflected together, so that vectors are loaded once for all of them; benchmark: `eigvalsh 64`."""

NAN = float("nan")


def diagonalise(work: Work, operand: Argument, result: Argument) -> None:
    """An iteration has one matrix."""
    batch, n = result.shape
    element = result.buffer.element
    size = 16 if element == f32 else 8
    width, cost, window = padded(n, size), 4 * n * n * n, WINDOW[element]
    precision = 2.0**-48 if element == f32 else 2.0**-106
    shapes = {"lines": (padded(n, TOGETHER), width), "vectors": (2, width), "beside": (n,)}
    room = [work.scratch_per_piece(batch, cost, shape, element, name) for name, shape in shapes.items()]

    @work.over(batch, cost, [operand], [result, *room])
    def diagonalise(it: Iteration, operand: Array, values: Array, lines: Array, vectors: Array, beside: Array) -> None:
        a, d, s, e = operand[it.index], values[it.index], lines[it.piece], beside[it.piece]
        scale, steps = scale_of(largest_of(a), window), scratch(1, i32)
        s[...] = 0.0
        for i in rolled(range(n)):
            for j in rolled(range(n)):
                s[i, j] = (a[i, j] * scale + a[j, i] * scale) * 0.5
        _make_tridiagonal(s, vectors[it.piece], d, e, size)
        for i in rolled(range(n - 1)):
            e[i] = e[i] * e[i]
        e[n - 1] = 0.0
        steps[0], first = 0, 0
        while True:
            if first >= n:
                break
            last = _last_of_block(d, e, first, n - 1, precision)
            e[last] = 0.0
            if abs(d[last]) < abs(d[first]):
                _reverse(d, e, first, last)
            _iterate(d, e, first, last, precision, steps)
            first = last + 1
        failed = cast(NAN, element) if steps[0] >= STEPS * n else cast(1.0, element)
        for i in rolled(range(n)):
            d[i] = d[i] / scale * failed
        _sort(d)


def _make_tridiagonal(s: Array, vectors: Array, d: Array, e: Array, size: int) -> None:
    """The diagonal of a tridiagonal matrix with the eigenvalues of `s`, and what is beside it."""
    (n,), (_, width), (v, w) = d.shape, s.shape, (vectors[0], vectors[1])
    for j in rolled(range(width)):
        v[j] = 0.0
    for k in rolled(range(n - 2)):
        head, total = s[k, k + 1], 0.0
        for j in rolled(range(k + 2, n)):
            total = accumulate(total, s[k, j] * s[k, j])
        d[k], e[k] = s[k, k], head
        if total != 0.0:
            beta = -copysign(sqrt(fma(head, head, total)), head)
            tau, inverse = (beta - head) / beta, 1.0 / (head - beta)
            v[k], v[k + 1], e[k] = 0.0, 1.0, beta
            for j in rolled(range(k + 2, n)):
                v[j] = s[k, j] * inverse
            _reflect(s, v, w, tau, k + 1, size)
    d[n - 2], d[n - 1], e[n - 2] = s[n - 2, n - 2], s[n - 1, n - 1], s[n - 2, n - 1]


def _reflect(s: Array, v: Array, w: Array, tau: Number, first: Number, size: int) -> None:
    """
    Reflect lines and columns from `first` on.

    Some in front of these, which are not read again, change too: lines are taken together, and numbers as vectors.
    """
    lines, width = s.shape
    start, blocks, groups = first // size, width // size, lines // TOGETHER
    for c in rolled(range(start, blocks)):
        for j in lanes(range(size)):
            w[c * size + j] = 0.0
    for group in rolled(range(first // TOGETHER, groups)):
        factors = tuple(v[group * TOGETHER + r] for r in tuple(range(TOGETHER)))
        for c in rolled(range(start, blocks)):
            for j in lanes(range(size)):
                total = w[c * size + j]
                for r in tuple(range(TOGETHER)):
                    total = fma(factors[r], s[group * TOGETHER + r, c * size + j], total)
                w[c * size + j] = total
    dot = 0.0
    for j in rolled(range(start * size, width)):
        dot = accumulate(dot, v[j] * w[j])
    half = tau * tau * dot * 0.5
    for c in rolled(range(start, blocks)):
        for j in lanes(range(size)):
            w[c * size + j] = tau * w[c * size + j] - half * v[c * size + j]
    for group in rolled(range(first // TOGETHER, groups)):
        row = group * TOGETHER
        ones = tuple(-v[row + r] for r in tuple(range(TOGETHER)))
        others = tuple(-w[row + r] for r in tuple(range(TOGETHER)))
        for c in rolled(range(start, blocks)):
            for j in lanes(range(size)):
                at = c * size + j
                one, other = w[at], v[at]
                for r in tuple(range(TOGETHER)):
                    s[row + r, at] = fma(others[r], other, fma(ones[r], one, s[row + r, at]))


def _last_of_block(d: Array, e: Array, first: Number, last: Number, precision: float) -> Number:
    """The first place from `first` on, before `last`, behind which what is beside the diagonal does not matter."""
    at = first
    while True:
        if at >= last or e[at] <= precision * abs(d[at]) * abs(d[min(at + 1, last)]):
            break
        at = at + 1
    return at


def _reverse(d: Array, e: Array, first: Number, last: Number) -> None:
    """The same block from its end: the iteration goes from small numbers to large ones."""
    for k in rolled(range((last - first + 1) // 2)):
        d[first + k], d[last - k] = d[last - k], d[first + k]
    for k in rolled(range((last - first) // 2)):
        e[first + k], e[last - 1 - k] = e[last - 1 - k], e[first + k]


def _iterate(d: Array, e: Array, first: Number, last: Number, precision: float, steps: Array) -> None:
    """The eigenvalues of a block in its diagonal; `e` has squares."""
    (n,) = d.shape
    at = first
    while True:
        if at > last or steps[0] >= STEPS * n:
            break
        end = _last_of_block(d, e, at, last, precision)
        e[end] = 0.0
        if end == at + 1:
            _solve_two(d, e, at)
        elif end > at:
            _step(d, e, at, end)
            steps[0] = steps[0] + 1
        # what is behind one or two rows is next, and more rows are again
        at = end + 1 if end <= at + 1 else at


def _solve_two(d: Array, e: Array, at: Number) -> None:
    """The eigenvalues of two rows, as `lae2` of LAPACK."""
    a, c, square = d[at], d[at + 1], e[at]
    total, difference = a + c, a - c
    root = sqrt(fma(difference, difference, 4.0 * square))
    one = 0.5 * (total - root if total < 0.0 else total + root)
    is_larger = abs(a) > abs(c)
    large, small = a if is_larger else c, c if is_larger else a
    other = -0.5 * root if total == 0.0 else large / one * small - square / one
    d[at], d[at + 1], e[at] = one, other, 0.0


def _step(d: Array, e: Array, at: Number, end: Number) -> None:
    """One iteration over the rows `at` to `end`."""
    beside = sqrt(e[at])
    ratio = (d[at + 1] - d[at]) / (2.0 * beside)
    shift = d[at] - beside / (ratio + copysign(sqrt(fma(ratio, ratio, 1.0)), ratio))
    c, s, gamma = 1.0 + 0.0 * shift, 0.0 * shift, d[end] - shift
    p = gamma * gamma
    for k in rolled(range(end - at)):
        i = end - 1 - k
        square = e[i]
        r = p + square
        e[i + 1] = s * r
        before, c_before = gamma, c
        c, s = p / r, square / r
        alpha = d[i]
        gamma = c * (alpha - shift) - s * before
        d[i + 1] = before + (alpha - gamma)
        p = c_before * square if c == 0.0 else gamma * gamma / c
    e[at], d[at] = s * p, shift + gamma


def _sort(d: Array) -> None:
    """Insert each number among those before it, which ascend."""
    (n,) = d.shape
    for i in rolled(range(1, n)):
        x, at = d[i], i
        while True:
            if at <= 0 or d[max(at - 1, 0)] <= x:
                break
            d[at] = d[at - 1]
            at = at - 1
        d[at] = x
