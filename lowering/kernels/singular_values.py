"""Singular values without vectors: reflections make a matrix bidiagonal, and dqds computes the values of that.

The reflections are those of Golub and Kahan, Calculating the singular values and pseudo-inverse of a matrix (1965). Two
passes over the matrix make a row and a column, as in Howell, Demmel, Fulton, Hammarling and Marmol, Cache efficient
bidiagonalization using BLAS 2.5 operators (2008). Tall matrices are reduced to triangles first, as in Chan, An improved
algorithm for computing the singular value decomposition (1982).

dqds are differential quotient differences with shifts: Fernando and Parlett, Accurate singular values and differential
qd algorithms (1994). Shifts and tests follow Parlett and Marques, An implementation of the dqds algorithm (2000)."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate,
    accumulate_max,
    cast,
    copysign,
    fma,
    lanes,
    maximum,
    minimum,
    rolled,
    scratch,
    sqrt,
)
from xdsl_rlx.lowering.kernels.magnitudes import WINDOW, largest_of, scale_of
from xdsl_rlx.lowering.kernels.substitution import padded
from xdsl_rlx.lowering.kernels.work import Work

MOST_COLUMNS = 512
"""Columns up to which this kernel replaces LAPACK. On one thread it takes half of LAPACK's time for 1024, too, but the
threads of LAPACK share a large matrix. Benchmark: `singular values 500` of breadth.py."""

TALL = 2.5
"""Rows per column from which a matrix is reduced to a triangle first: passes over all rows become cheaper, and others
over the triangle are added. Benchmark: singular values of 20, 64 and 200 columns, and 1.4 to 5 times as many rows."""

ROWS = 64
"""Rows of a panel that is reduced with the triangle, twice as many for more than 128 columns. Panels stay in L1 or L2;
larger ones load the triangle less often. Benchmark: singular values of 300x100 and 1000x200."""

TOGETHER = 4
"""Rows that are updated together, so that vectors are loaded once for all of them. Benchmark: `singular values 64`."""

APART = 16
"""Elements between the ends of rows: distances of powers of two share sets of caches."""

STEPS = 30
"""Transforms per value at most, as in LAPACK; about 4.5 are needed."""

SEGMENT = 8
"""Rows whose quotients stay numerators and denominators, so that no row waits for a division. Longer segments underflow
for larger numbers. Benchmark: `singular values 64` of breadth.py."""

SHORT = 12
"""Rows from which segments are faster than a division per row. Benchmark: `singular values 20x32` of breadth.py."""

SMALL = 2.0**-100
"""Numbers of `d` below this may underflow in a segment: `SMALL ** SEGMENT` is a normal number."""

FLOOR = 2.0**-900
"""Squares beside the diagonal up to this become 0, where the largest square is at most 2^80: no quotient overflows."""

HUGE = 2.0**1000
"""More than any square."""

NAN = float("nan")


def values_of(work: Work, operand: Argument, result: Argument) -> None:
    """Compute the singular values of matrices of at least as many rows as columns; an iteration has one matrix."""
    batch, m, n = operand.shape
    element = result.buffer.element
    size, window = 16 if element == f32 else 8, WINDOW[element]
    # reflections, and transforms: about 4.5 for each value
    cost = 4 * m * n * n + 16 * n * n + 500 * n
    is_tall = m >= TALL * n
    rows, width = padded(n if is_tall else m, TOGETHER), padded(n, size) + (APART if n >= 64 else 0)
    count = (ROWS if n <= 128 else 2 * ROWS) if is_tall else 1
    shapes = {"lines": (rows, width), "panel": (count, width), "across": (3, width), "down": (3, max(rows, count))}
    room = [work.scratch_per_piece(batch, cost, shape, element, name) for name, shape in shapes.items()]
    # segments read and write behind the last row
    room.append(work.scratch_per_piece(batch, cost, (6, n + 2 * SEGMENT), f64, "quotients"))

    @work.over(batch, cost, [operand], [result, *room])
    def compute(
        it: Iteration,
        operand: Array,
        values: Array,
        lines: Array,
        panel: Array,
        across: Array,
        down: Array,
        quotients: Array,
    ) -> None:
        a, w, s, qd = operand[it.index], values[it.index], lines[it.piece], quotients[it.piece]
        panel, across, down = panel[it.piece], across[it.piece], down[it.piece]
        largest = largest_of(a)
        scale = scale_of(largest, window)
        if largest - largest == 0.0:
            for i in rolled(range(rows)):
                for j in rolled(range(width)):
                    s[i, j] = 0.0
            if is_tall:
                _make_triangle(a, s, panel, across, down, scale, window, size)
            else:
                for i in rolled(range(m)):
                    for j in rolled(range(n)):
                        s[i, j] = a[i, j] * scale * window
            _make_bidiagonal(s, across, down, qd[0], qd[1], n, size, window)
            lift = _square(qd[0], qd[1], n)
            converged = _solve(qd, n, element)
            for k in rolled(range(n)):
                w[k] = cast(sqrt(qd[5, k]) / lift / window / cast(scale, f64) * converged, element)
            _sort(w)
        else:
            for k in rolled(range(n)):
                w[k] = cast(NAN, element)


def _reflection(head: Number, total: Number, window: float) -> tuple[Number, Number, Number]:
    """
    Return the element that replaces `head`, the scale of the reflection and the factor of the other elements.

    `total` is the sum of squares of the others. They count as 0 where squares have lost precision; the largest element
    of the matrix is at least 1.
    """
    none = head * 0.0
    moves = total > 1.0 / window**5
    beta = -copysign(sqrt(fma(head, head, total)), head) if moves else head
    divisor, gap = beta if moves else none + 1.0, head - beta if moves else none + 1.0
    return beta, (beta - head) / divisor, 1.0 / gap if moves else none


def _make_triangle(
    a: Array, triangle: Array, panel: Array, across: Array, down: Array, scale: Number, window: float, size: int
) -> None:
    """Reduce the scaled rows of `a`, a panel at a time, to a triangle, which is 0 at first."""
    (m, n), (count, width) = a.shape, panel.shape
    (z, y), (u, x) = (across[0], across[2]), (down[0], down[2])
    for part in rolled(range(-(-m // count))):
        first = part * count
        for i in rolled(range(count)):
            u[i] = 0.0
            for j in rolled(range(width)):
                panel[i, j] = 0.0
        for i in rolled(range(min(count, m - first))):
            for j in rolled(range(n)):
                panel[i, j] = a[first + i, j] * scale * window
        for j in rolled(range(width)):
            z[j] = 0.0
        for k in rolled(range(n)):
            total = 0.0
            for i in rolled(range(count)):
                x[i] = fma(-u[i], z[k], panel[i, k])
                total = accumulate(total, x[i] * x[i])
            beta, tau, factor = _reflection(triangle[k, k], total, window)
            triangle[k, k] = beta
            for i in rolled(range(count)):
                x[i] = x[i] * factor
            _update(panel, ((u, z),), x, y, 0, (k + 1) // size, size)
            for j in rolled(range(k + 1, n)):
                z[j] = tau * (triangle[k, j] + y[j])
                triangle[k, j] = triangle[k, j] - z[j]
            for i in rolled(range(count)):
                u[i] = x[i]


def _update(
    s: Array, pairs: tuple[tuple[Array, Array], ...], x: Array, y: Array, first: Number, start: Number, size: int
) -> None:
    """
    Subtract products of rank 1 from the rows of `s` from `first` on, and set `y` to `s^T x` in the same pass.

    Columns count from the vector `start` on. Some rows before `first` change too, where `x` is 0.
    """
    count, width = s.shape
    blocks = width // size
    for c in rolled(range(start, blocks)):
        for j in lanes(range(size)):
            y[c * size + j] = 0.0
    for group in rolled(range(first // TOGETHER, count // TOGETHER)):
        row = group * TOGETHER
        factors = tuple(x[row + r] for r in tuple(range(TOGETHER)))
        downs = tuple(tuple(-u[row + r] for u, _ in pairs) for r in tuple(range(TOGETHER)))
        for c in rolled(range(start, blocks)):
            for j in lanes(range(size)):
                at = c * size + j
                total, acrosses = 0.0, tuple(z[at] for _, z in pairs)
                for r in tuple(range(TOGETHER)):
                    new = s[row + r, at]
                    for p in tuple(range(len(pairs))):
                        new = fma(downs[r][p], acrosses[p], new)
                    s[row + r, at] = new
                    total = fma(factors[r], new, total) if r else factors[r] * new
                y[at] = y[at] + total


def _make_bidiagonal(
    s: Array, across: Array, down: Array, d: Array, e: Array, n: int, size: int, window: float
) -> None:
    """
    Set `d` and `e` to the diagonals of a bidiagonal matrix with the singular values of `s`.

    The matrix is `s - u z^T - w v^T`: a pass over it subtracts these products and makes the next sums of rows.
    """
    rows, width = s.shape
    (z, v, y), (u, w, x) = (across[0], across[1], across[2]), (down[0], down[1], down[2])
    for j in rolled(range(width)):
        z[j], v[j] = 0.0, 0.0
    for i in rolled(range(rows)):
        u[i], w[i], x[i] = 0.0, 0.0, 0.0
    for k in rolled(range(n)):
        head, total = fma(-w[k], v[k], fma(-u[k], z[k], s[k, k])), 0.0
        for i in rolled(range(k + 1, rows)):
            x[i] = fma(-w[i], v[k], fma(-u[i], z[k], s[i, k]))
            total = accumulate(total, x[i] * x[i])
        beta, tau, factor = _reflection(head, total, window)
        d[k], e[k] = cast(beta, f64), 0.0
        if k < n - 1:
            x[max(k - 1, 0)] = 0.0
            x[k] = 1.0
            for i in rolled(range(k + 1, rows)):
                x[i] = x[i] * factor
            start = (k + 1) // size
            _update(s, ((u, z), (w, v)), x, y, k, start, size)
            for i in rolled(range(k, rows)):
                u[i] = x[i]
            for j in rolled(range(start * size, width)):
                z[j] = tau * y[j]
            total = 0.0
            for j in rolled(range(k + 2, n)):
                v[j] = s[k, j] - z[j]
                total = accumulate(total, v[j] * v[j])
            beta, tau, factor = _reflection(s[k, k + 1] - z[k + 1], total, window)
            e[k] = cast(beta, f64)
            v[k], v[k + 1], dot = 0.0, 1.0, z[k + 1]
            for j in rolled(range(k + 2, n)):
                v[j] = v[j] * factor
                dot = accumulate(dot, z[j] * v[j])
            _multiply(s, v, w, k + 1, start, size)
            for i in rolled(range(k + 1, rows)):
                w[i] = tau * (w[i] - u[i] * dot)


def _multiply(s: Array, v: Array, w: Array, first: Number, start: Number, size: int) -> None:
    """Set `w` to `s v`, in the rows from `first` on; columns count from the vector `start` on."""
    rows, width = s.shape
    for group in rolled(range(first // TOGETHER, rows // TOGETHER)):
        row = group * TOGETHER
        totals = tuple(0.0 for _ in tuple(range(TOGETHER)))
        for j in rolled(range(start * size, width)):
            totals = tuple(accumulate(totals[r], s[row + r, j] * v[j]) for r in tuple(range(TOGETHER)))
        for r in tuple(range(TOGETHER)):
            w[row + r] = totals[r]


def _square(q: Array, e: Array, n: int) -> Number:
    """Replace both diagonals by their squares. Return the power of 2 that they are multiplied by first."""
    largest, lift = cast(0.0, f64), cast(1.0, f64)
    for k in rolled(range(n)):
        largest = accumulate_max(accumulate_max(largest, abs(q[k])), abs(e[k]))
    while True:
        if largest * lift <= 2.0**40:
            break
        lift = lift * 2.0**-20
    for k in rolled(range(n)):
        q[k], square = q[k] * lift * (q[k] * lift), e[k] * lift * (e[k] * lift)
        e[k] = 0.0 if square <= FLOOR else square
    return lift


def _solve(qd: Array, n: int, element: Attribute) -> Number:
    """
    Set `qd[5]` to the squares of the singular values, in any order. Return 1, or NaN without convergence.

    The rows of `qd` are `q` and `e`, the squares of both diagonals; these after a transform; and `d`, the difference of
    both in a row after a transform.
    """
    steps, last = scratch(1, i32), cast(n - 1, INDEX)
    steps[0] = 0
    while True:
        if last < 0:
            break
        first = last
        while True:
            if first <= 0 or qd[1, max(first - 1, 0)] <= 0.0:
                break
            first = first - 1
        last = _solve_block(qd, first, last, steps, STEPS * n, 2.0**-23 if element == f32 else 2.0**-50)
    return cast(1.0, f64) if steps[0] < STEPS * n else cast(NAN, f64)


def _solve_block(qd: Array, first: Number, last: Number, steps: Array, most: int, tolerance: float) -> Number:
    """
    Compute values of the rows `first` to `last`, from the last row on. Return the row before those that are done.

    `sigma + low` is the sum of shifts so far. A block that splits keeps it, negated, in `e` of the split.
    """
    q, e, done, square = qd[0], qd[1], qd[5], tolerance * tolerance
    sigma, low, share, before = -e[last], cast(0.0, f64), cast(0.25, f64), cast(0.0, f64)
    deflated = cast(3, INDEX)
    while True:
        if last < first:
            break
        if last == first or e[max(last - 1, 0)] <= square * (sigma + q[last]) or steps[0] >= most:
            done[last] = q[last] + (sigma + low)
            last, deflated = last - 1, deflated + 1
        elif last == first + 1 or e[last - 2] <= square * sigma:
            large, small = _solve_two(q[last - 1], q[last], e[last - 1])
            done[last - 1], done[last] = large + (sigma + low), small + (sigma + low)
            last, deflated = last - 2, deflated + 2
        else:
            if deflated > 0 and q[last] > 1.5 * q[first]:
                _reverse(q, e, first, last)
                deflated = 3
            tau, share = _shift(qd, first, last, before, deflated, share)
            tau, before, beside = _transform(qd, first, last, tau, sigma, tolerance, steps)
            total, deflated = sigma + tau, 0
            low = low + (tau - (total - sigma) if sigma >= tau else sigma - (total - tau))
            sigma = total
            limit = maximum(square * sigma, FLOOR)
            if beside <= limit:
                for k in rolled(range(first, last)):
                    if e[k] <= limit:
                        e[k], first, deflated = -sigma, k + 1, 3
    return last


def _shift(
    qd: Array, first: Number, last: Number, before: Number, deflated: Number, share: Number
) -> tuple[Number, Number]:
    """
    Return a shift that is probably not larger than the smallest value, and the share of an upper bound to try next.

    `before` is the least number of `d` before the last two rows of the last transform; `deflated` values were found
    since then. The least number of `d` is an upper bound. If it is in the last row, a Rayleigh quotient and its
    residual give a lower bound, which the gap to the next value improves.
    """
    q, e, dn = qd[0], qd[1], qd[4, last]
    second = minimum(before, qd[4, last - 1]) if deflated == 0 else before
    tau, next_share = share * minimum(second, dn), share * (2.0 / 3.0) + 1.0 / 3.0
    if dn <= second:
        tau, next_share = 0.25 * dn, cast(0.25, f64)
        norm, factor, at = cast(0.0, f64), cast(1.0, f64), last - 1
        while True:
            if at < first or norm > 0.5 or factor * 100.0 < norm:
                break
            factor = factor * (e[max(at, 0)] / q[max(at, 0)])
            norm = norm + factor
            at = at - 1
        # the sum ends early
        norm = norm * 1.05
        if norm < 0.5:
            mean, root = dn / (1.0 + norm), sqrt(norm)
            gap = second - mean
            bound = mean * (1.0 - 1.01 * mean * norm / gap) if gap > root * mean else mean * (1.0 - root)
            tau = maximum(bound, dn * (1.0 / 3.0))
    is_known = deflated < 2
    return tau if is_known else 0.0, next_share if is_known else 0.25


def _transform(
    qd: Array, first: Number, last: Number, tau: Number, sigma: Number, tolerance: float, steps: Array
) -> tuple[Number, Number, Number]:
    """
    Transform rows with a shift of `tau`, or a smaller one if that is larger than the smallest value.

    Returns the shift, the least number of `d` before the last two rows, and the least square beside the diagonal.
    """
    q, e, after, beside, d = qd[0], qd[1], qd[2], qd[3], qd[4]
    before, least, tries, is_short = cast(0.0, f64), cast(0.0, f64), cast(0, INDEX), last - first < SHORT
    while True:
        steps[0] = steps[0] + 1
        if is_short:
            before, least = _transform_rows(qd, first, last, tau)
        else:
            before, least = _transform_segments(qd, first, last, tau)
        after[last], dn, second = d[last], d[last], minimum(before, d[last - 1])
        if not is_short and not second > SMALL:
            is_short = True
        elif (second >= 0.0 and dn >= 0.0) or tries > 3:
            break
        elif second > 0.0 and beside[last - 1] < tolerance * (sigma + d[last - 1]) and abs(dn) < tolerance * sigma:
            # the value is `sigma`, but for rounding
            after[last], d[last] = 0.0, 0.0
            break
        else:
            tries = tries + 1
            # a failure in the last row alone gives an excellent shift (Rutishauser)
            better = (tau + dn) * (1.0 - 2.0**-50) if second > 0.0 else 0.25 * tau
            tau = maximum(better, 0.0) if tries < 3 else 0.0
    for k in rolled(range(first, last)):
        q[k], e[k] = after[k], beside[k]
    q[last] = after[last]
    return tau, before, least


def _transform_rows(qd: Array, first: Number, last: Number, tau: Number) -> tuple[Number, Number]:
    """
    Transform row by row, with a division for each.

    Returns the least number of `d` before the last two rows, and the least square beside the diagonal. Behind a
    negative number of `d`, numbers may be NaN.
    """
    q, e, after, beside, d = qd[0], qd[1], qd[2], qd[3], qd[4]
    one, before, least = q[first] - tau, cast(HUGE, f64), cast(HUGE, f64)
    d[first] = one
    for k in rolled(range(first, last)):
        before = one if (one < before) & (k + 1 < last) else before
        total = one + e[k]
        ratio = q[k + 1] / total
        new = e[k] * ratio
        after[k], beside[k] = total, new
        least = new if new < least else least
        one = fma(one, ratio, -tau)
        d[k + 1] = one
    return before, least


def _transform_segments(qd: Array, first: Number, last: Number, tau: Number) -> tuple[Number, Number]:
    """
    Transform segments of rows, where `d = x / y` is divided at the end of each.

    With `q' = d + e` and `d' = d q / q' - tau`, `y' = x + e y` and `x' = q x - tau y'`. Rows behind the last one are
    transformed too, and not used. Returns the same as `_transform_rows`.
    """
    q, e, after, beside, d = qd[0], qd[1], qd[2], qd[3], qd[4]
    parts, lows, one = scratch((3, SEGMENT), f64), scratch((2, SEGMENT), f64), q[first] - tau
    d[first] = one
    for r in lanes(range(SEGMENT)):
        lows[0, r], lows[1, r] = one, HUGE
    for segment in rolled(range((last - first + (SEGMENT - 1)) // SEGMENT)):
        at = first + segment * SEGMENT
        x, y = one, cast(1.0, f64)
        for r in tuple(range(SEGMENT)):
            parts[0, r] = y
            # the same as above, in the order that has the shortest chain of operations
            x, y = fma(q[at + (r + 1)] - tau, x, -(e[at + r] * tau * y)), fma(e[at + r], y, x)
            parts[1, r], parts[2, r] = y, x
        one = x / y
        for r in lanes(range(SEGMENT)):
            inverse = 1.0 / parts[1, r]
            new, new_d = e[at + r] * q[at + r + 1] * (parts[0, r] * inverse), parts[2, r] * inverse
            after[at + r], beside[at + r], d[at + r + 1] = parts[1, r] / parts[0, r], new, new_d
            lows[0, r] = new_d if (new_d < lows[0, r]) & (at + r + 2 < last) else lows[0, r]
            lows[1, r] = new if (new < lows[1, r]) & (at + r < last) else lows[1, r]
    before, least = cast(-HUGE, f64), cast(-HUGE, f64)
    for r in range(SEGMENT):
        before, least = accumulate_max(before, -lows[0, r]), accumulate_max(least, -lows[1, r])
    return -before, -least


def _reverse(q: Array, e: Array, first: Number, last: Number) -> None:
    """Reverse the rows of a block, so that small numbers come last."""
    for k in rolled(range((last - first + 1) // 2)):
        q[first + k], q[last - k] = q[last - k], q[first + k]
        e[first + k], e[last - 1 - k] = e[last - 1 - k], e[first + k]


def _solve_two(a: Number, c: Number, beside: Number) -> tuple[Number, Number]:
    """Return the values of two rows, the larger one first."""
    large, small = maximum(a, c), minimum(a, c)
    half = 0.5 * ((large - small) + beside)
    s = small * (beside / half) if half != 0.0 else 0.0
    root = half * (1.0 + sqrt(1.0 + s / half)) if s <= half else half + sqrt(half) * sqrt(half + s)
    total = large + (small * (beside / root) + beside) if half != 0.0 else large
    return total, small * (large / total) if half != 0.0 else small


def _sort(w: Array) -> None:
    """Insert each number among those before it, which descend."""
    (n,) = w.shape
    for i in rolled(range(1, n)):
        x, at = w[i], i
        while True:
            if at <= 0 or w[max(at - 1, 0)] >= x:
                break
            w[at] = w[at - 1]
            at = at - 1
        w[at] = x
