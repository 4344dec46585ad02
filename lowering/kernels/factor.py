"""Nests of factorisations: loops of our own for small matrices, LAPACK for others; an iteration is a matrix.
LU is in `solve.py`."""

from math import prod

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.lapack import LARGEST_INTEGER, GesddOp, SyevdOp
from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.dialects.mir.factor import CholeskyOp, EighOp, QrOp, SvdOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate,
    accumulate_max,
    cast,
    copysign,
    geqrf,
    gesdd,
    orgqr,
    rolled,
    scratch,
    sqrt,
    syevd,
)
from xdsl_rlx.lowering.kernels import cholesky_blocks, eigenvalues, singular_values
from xdsl_rlx.lowering.kernels.magnitudes import WINDOW, largest_of, scale_of
from xdsl_rlx.lowering.kernels.work import NEST, Work

SWEEPS = 24
"""Times that all elements are rotated away at most: half as many do for any matrix that has been seen."""

SMALL_CHOLESKY, SMALL_EIGH, SMALL_QR, SMALL_SVD = 48, 8, 48, 24
"""Columns up to which loops of our own beat the call of LAPACK."""

SMALL_EIGH_VALUES, SMALL_SVD_VALUES = 3, 4
"""The same where only values are needed, which other kernels compute beyond. Benchmark: `eigvalsh` and `singular
values` of breadth.py, for batches of small matrices."""

SHARED_EIGH, SHARED_QR = 400, 800
SHARED_SVD: dict[Attribute, int] = {f32: 1000, f64: 400}
"""Columns from which LAPACK is faster with threads of its own, for a single matrix. Benchmark: `eigvalsh 500` and `qr`
of breadth.py on two threads."""

THREAD_COLUMNS = 128
"""Columns for each of these threads: with more of them, they wait for each other."""

BLOCK = 64
"""Columns that LAPACK takes together where it has the workspace; no blocks that it chooses are larger."""

NAN = float("nan")


@NEST.rule(CholeskyOp)
def cholesky_nest(op: CholeskyOp, work: Work) -> None:
    """Column by column: each element is what the products of two rows of the result leave of that of the matrix."""
    shape = shape_of(op.operand)
    batch, n = prod(shape[:-2]), shape[-1]
    matrices = (batch, n, n)
    reads, writes = [work.read(op.operand, matrices)], [work.write(op.result, matrices)]

    if n > SMALL_CHOLESKY:
        cholesky_blocks.factorise(work, *reads, *writes)
        return

    @work.over(batch if n else 0, n * n * n // 3 + n * n, reads, writes)
    def factorise(it: Iteration, operand: Array, result: Array) -> None:
        _by_columns(operand[it.index], result[it.index])


def _lower_half(a: Array, result: Array) -> Number:
    """The lower triangle of the symmetric part, and its largest magnitude: NaN if it has one."""
    n, _ = a.shape
    largest = 0.0
    for i in rolled(range(n)):
        for j in rolled(range(i + 1)):
            mean = a[i, j] * 0.5 + a[j, i] * 0.5
            result[i, j] = mean
            largest = accumulate_max(largest, abs(mean))
    return largest


def _by_columns(a: Array, factor: Array) -> None:
    n, _ = a.shape
    for j in rolled(range(n)):
        for i in rolled(range(j)):
            factor[i, j] = 0.0
        pivot = sqrt(a[j, j] - _product(factor[j], factor[j], j))
        factor[j, j] = pivot
        for i in rolled(range(j + 1, n)):
            mean = a[i, j] * 0.5 + a[j, i] * 0.5
            factor[i, j] = (mean - _product(factor[i], factor[j], j)) / pivot


def _product(x: Array, y: Array, count: Number) -> Number:
    """The sum of products of the first elements of two rows."""
    total = 0.0
    for k in range(count):
        total = accumulate(total, x[k] * y[k])
    return total


def _length(x: Array, start: Number, window: float) -> Number:
    """The Euclidean length of a row from one element on, whatever its scale."""
    (count,) = x.shape
    largest, total = 0.0, 0.0
    for k in range(start, count):
        largest = accumulate_max(largest, abs(x[k]))
    scale = scale_of(largest, window)
    for k in range(start, count):
        total = accumulate(total, x[k] * scale * (x[k] * scale))
    return sqrt(total) / scale


@NEST.rule(EighOp)
def eigh_nest(op: EighOp, work: Work) -> None:
    """Sweeps of rotations that each clear one element, until what is left beside the diagonal does not matter."""
    shape, element = shape_of(op.operand), element_of(op.operand)
    batch, n = prod(shape[:-2]), shape[-1]
    matrices, smallest, window = (batch, n, n), 2.0**-48 if element == f32 else 2.0**-106, WINDOW[element]
    reads = [work.read(op.operand, matrices)]
    writes = [work.write(op.values, (batch, n)), work.write(op.vectors, matrices)]
    vectors_too = op.vectors.first_use is not None
    if not vectors_too and SMALL_EIGH_VALUES < n <= eigenvalues.MOST_ROWS:
        eigenvalues.diagonalise(work, reads[0], writes[0])
        return
    if n > (SMALL_EIGH if vectors_too else SMALL_EIGH_VALUES) and sum(SyevdOp.room(n)) < LARGEST_INTEGER:
        _eigh_by_lapack(work, reads, writes, vectors_too)
        return
    writes += [work.scratch(matrices, element, name) for name in ("rotated", "lines")]

    @work.over(batch if n else 0, 48 * n * n * n, reads, writes)
    def diagonalise(it: Iteration, operand: Array, values: Array, vectors: Array, rotated: Array, lines: Array) -> None:
        a, s, lines = operand[it.index], rotated[it.index], lines[it.index]
        scale = scale_of(largest_of(a), window)
        for i in rolled(range(n)):
            for j in rolled(range(n)):
                s[i, j] = (a[i, j] * scale + a[j, i] * scale) * 0.5
                lines[i, j] = 0.0
            lines[i, i] = 1.0
        largest = _beside_diagonal(s)
        for i in rolled(range(n)):
            largest = largest + s[i, i] * s[i, i]
        sweep = 0
        while True:
            if sweep >= SWEEPS or not _beside_diagonal(s) > smallest * largest:
                break
            _sweep(s, lines, vectors_too)
            sweep = sweep + 1
        w, v, gone = values[it.index], vectors[it.index], largest - largest
        for i in rolled(range(n)):
            w[i] = s[i, i] / scale + gone
        _ascending(w, lines, s)
        if vectors_too:
            for k in rolled(range(n)):
                down = lines[k, 0] < 0.0
                for i in rolled(range(n)):
                    v[i, k] = (-lines[k, i] if down else lines[k, i]) + gone


def _threads_from(least: int, n: int) -> int:
    return n // THREAD_COLUMNS if n >= least else 1


def _eigh_by_lapack(work: Work, reads: list[Argument], writes: list[Argument], vectors_too: bool) -> None:
    """The vectors are lines to LAPACK, and turned into columns where they are."""
    batch, n, _ = writes[1].shape
    cost, element = 16 * n * n * n, writes[1].buffer.element
    room, steps = SyevdOp.room(n)
    writes.append(work.scratch_per_piece(batch, cost, (room + BLOCK * (n + BLOCK),), element, "room"))
    writes.append(work.scratch_per_piece(batch, cost, (steps,), i32, "steps"))

    @work.over(batch, cost, reads, writes, blas_threads=_threads_from(SHARED_EIGH, n))
    def diagonalise(it: Iteration, operand: Array, values: Array, vectors: Array, room: Array, steps: Array) -> None:
        w, v, info = values[it.index], vectors[it.index], scratch(1, i32)
        info[0] = 1
        largest = _lower_half(operand[it.index], v)
        if largest - largest == 0.0:
            syevd(v, w, room[it.piece], steps[it.piece], info, values_only=not vectors_too)
        factor = 1.0 if info[0] == 0 else cast(NAN, element)
        for k in rolled(range(n)):
            w[k] = w[k] * factor
        if vectors_too:
            for k in rolled(range(n)):
                sign = -factor if v[k, 0] < 0.0 else factor
                for i in rolled(range(n)):
                    v[k, i] = v[k, i] * sign
            for k in rolled(range(n)):
                for i in rolled(range(k)):
                    v[k, i], v[i, k] = v[i, k], v[k, i]


def _beside_diagonal(s: Array) -> Number:
    """The sum of squares of the elements that are not on the diagonal."""
    n, _ = s.shape
    total = 0.0
    for i in rolled(range(n)):
        for j in range(n):
            x = s[i, j]
            total = accumulate(total, 0.0 if i == j else x * x)
    return total


def _sweep(s: Array, lines: Array, vectors_too: bool) -> None:
    """Rotate away each element beside the diagonal once; the vectors are lines, and turn with the rows."""
    n, _ = s.shape
    for p in rolled(range(n - 1)):
        for q in rolled(range(p + 1, n)):
            beside = s[p, q]
            if beside != 0.0:
                slope = (s[q, q] - s[p, p]) / (beside * 2.0)
                size = 1.0 / (abs(slope) + sqrt(slope * slope + 1.0))
                t = -size if slope < 0.0 else size
                c = 1.0 / sqrt(t * t + 1.0)
                _rotate(s, p, q, c, t * c)
                if vectors_too:
                    _rotate(lines, p, q, c, t * c)
                for k in rolled(range(n)):
                    x, y = s[k, p], s[k, q]
                    s[k, p], s[k, q] = c * x - t * c * y, t * c * x + c * y
                s[p, q], s[q, p] = 0.0, 0.0


def _rotate(x: Array, p: Number, q: Number, c: Number, s: Number) -> None:
    """Two lines turned into each other."""
    _, n = x.shape
    for k in rolled(range(n)):
        one, other = x[p, k], x[q, k]
        x[p, k], x[q, k] = c * one - s * other, s * one + c * other


def _ascending(w: Array, lines: Array, others: Array) -> None:
    """The numbers in order, and the lines of two matrices with them."""
    (n,) = w.shape
    for i in rolled(range(n - 1)):
        least = i
        for j in rolled(range(i + 1, n)):
            if w[j] < w[least]:
                least = j
        if least != i:
            w[i], w[least] = w[least], w[i]
            _interchange(lines, i, least)
            _interchange(others, i, least)


def _interchange(lines: Array, i: Number, j: Number) -> None:
    _, width = lines.shape
    for k in rolled(range(width)):
        lines[i, k], lines[j, k] = lines[j, k], lines[i, k]


@NEST.rule(QrOp)
def qr_nest(op: QrOp, work: Work) -> None:
    """
    Column by column, each a line of a copy: a reflection clears what is below its diagonal, and is kept there.

    `q` is what the reflections, the last one first, make of the columns of the identity. It is made only if it is read.
    """
    shape, element = shape_of(op.operand), element_of(op.operand)
    batch, (m, n) = prod(shape[:-2]), shape[-2:]
    reads = [work.read(op.operand, (batch, m, n))]
    writes = [work.write(op.q, (batch, m, n)), work.write(op.r, (batch, n, n))]
    vectors_too = op.q.first_use is not None
    if n > SMALL_QR:
        _qr_by_lapack(work, reads, writes, vectors_too)
        return
    window = WINDOW[element]
    room = {"lines": (n, m), "scales": (n,), "signs": (n,), "column": (m,)}
    writes += [work.scratch((batch, *extents), element, name) for name, extents in room.items()]

    @work.over(batch if n else 0, (4 if vectors_too else 2) * m * n * n, reads, writes)
    def factorise(
        it: Iteration, operand: Array, q: Array, r: Array, lines: Array, scales: Array, signs: Array, column: Array
    ) -> None:
        a, q, r, lines = operand[it.index], q[it.index], r[it.index], lines[it.index]
        scales, signs, column = scales[it.index], signs[it.index], column[it.index]
        # columns are scaled one by one: here, only sums are kept from overflowing
        scale = 1.0 / window if largest_of(a) >= window * window * window * window * window else cast(1.0, element)
        for j in rolled(range(n)):
            for i in rolled(range(m)):
                lines[j, i] = a[i, j] * scale
        for j in rolled(range(n)):
            diagonal = _make_reflection(lines[j], scales, j, window)
            for k in rolled(range(j)):
                r[j, k] = 0.0
            r[j, j] = abs(diagonal) / scale
            signs[j] = copysign(1.0, diagonal)
            for k in rolled(range(j + 1, n)):
                _reflect(lines[j], scales[j], lines[k], j)
                r[j, k] = lines[k, j] * signs[j] / scale
        if vectors_too:
            for j in rolled(range(n)):
                for i in rolled(range(m)):
                    column[i] = 0.0
                column[j] = signs[j]
                for back in rolled(range(j + 1)):
                    _reflect(lines[j - back], scales[j - back], column, j - back)
                for i in rolled(range(m)):
                    q[i, j] = column[i]


def _qr_by_lapack(work: Work, reads: list[Argument], writes: list[Argument], vectors_too: bool) -> None:
    """The same by LAPACK, a block of columns at a time."""
    batch, m, n = writes[0].shape
    cost, element = (4 if vectors_too else 2) * m * n * n, writes[0].buffer.element
    room = {"lines": (n, m), "scales": (n,), "signs": (n,), "room": (BLOCK * n,)}
    writes += [work.scratch_per_piece(batch, cost, extents, element, name) for name, extents in room.items()]

    @work.over(batch, cost, reads, writes, blas_threads=_threads_from(SHARED_QR, n))
    def factorise(
        it: Iteration, operand: Array, q: Array, r: Array, lines: Array, scales: Array, signs: Array, room: Array
    ) -> None:
        a, q, r, lines, signs = operand[it.index], q[it.index], r[it.index], lines[it.piece], signs[it.piece]
        for i in rolled(range(m)):
            for j in rolled(range(n)):
                lines[j, i] = a[i, j]
        geqrf(lines, scales[it.piece], room[it.piece])
        for i in rolled(range(n)):
            signs[i] = copysign(1.0, lines[i, i])
            for j in rolled(range(i)):
                r[i, j] = 0.0
            for j in rolled(range(i, n)):
                r[i, j] = lines[j, i] * signs[i]
        if vectors_too:
            orgqr(lines, scales[it.piece], room[it.piece])
            for i in rolled(range(m)):
                for j in rolled(range(n)):
                    q[i, j] = lines[j, i] * signs[j]


def _make_reflection(line: Array, scales: Array, j: Number, window: float) -> Number:
    """What takes the place of element `j` where those behind it are cleared; the reflection is left in their place."""
    (m,) = line.shape
    total = 0.0
    for i in range(j + 1, m):
        total = accumulate(total, line[i] * line[i])
    none, most = line[j] * 0.0, window * window * window * window
    scale, squares = 1.0 + none, line[j] * line[j] + total
    if (squares < 1.0 / most) | (squares > most):
        # squares as small as this have lost digits, larger ones may have overflowed
        largest = abs(line[j])
        for i in range(j + 1, m):
            largest = accumulate_max(largest, abs(line[i]))
        scale = scale_of(largest, window)
        total = none
        for i in range(j + 1, m):
            line[i] = line[i] * scale
            total = accumulate(total, line[i] * line[i])
    x = line[j] * scale
    size = -copysign(sqrt(x * x + total), x)
    moves = total != 0.0
    divisor = size if moves else 1.0
    gap = x - size if moves else 1.0
    for i in range(j + 1, m):
        line[i] = line[i] / gap
    scales[j] = (size - x) / divisor if moves else 0.0
    return size / scale if moves else line[j]


def _reflect(line: Array, scale: Number, x: Array, j: Number) -> None:
    """`x` reflected by what is in `line` behind element `j`, which counts as 1."""
    (m,) = line.shape
    total = x[j] + 0.0
    for i in range(j + 1, m):
        total = accumulate(total, line[i] * x[i])
    factor = scale * total
    x[j] = x[j] - factor
    for i in range(j + 1, m):
        x[i] = x[i] - factor * line[i]


@NEST.rule(SvdOp)
def svd_nest(op: SvdOp, work: Work) -> None:
    """Sweeps of rotations that each make two columns orthogonal, which are lines of a copy, until all of them are."""
    shape, element = shape_of(op.operand), element_of(op.operand)
    batch, (m, n) = prod(shape[:-2]), shape[-2:]
    reads = [work.read(op.operand, (batch, m, n))]
    writes = [work.write(op.u, (batch, m, n)), work.write(op.values, (batch, n)), work.write(op.vt, (batch, n, n))]
    vectors_too = (op.u.first_use or op.vt.first_use) is not None
    if not vectors_too and SMALL_SVD_VALUES < n <= singular_values.MOST_COLUMNS:
        singular_values.values_of(work, reads[0], writes[1])
        return
    if n > (SMALL_SVD if vectors_too else SMALL_SVD_VALUES) and sum(GesddOp.room(m, n)) < LARGEST_INTEGER:
        _svd_by_lapack(work, reads, writes, vectors_too)
        return
    writes.append(work.scratch((batch, n, m), element, "lines"))
    smallest, window = 2.0**-22 if element == f32 else 2.0**-51, WINDOW[element]

    @work.over(batch if n else 0, 32 * m * n * n, reads, writes)
    def factorise(it: Iteration, operand: Array, u: Array, values: Array, vt: Array, lines: Array) -> None:
        a, u, w, vt, lines = operand[it.index], u[it.index], values[it.index], vt[it.index], lines[it.index]
        largest = largest_of(a)
        scale = scale_of(largest, window)
        for j in rolled(range(n)):
            for k in rolled(range(n)):
                vt[j, k] = 0.0
            vt[j, j] = 1.0
            for i in rolled(range(m)):
                lines[j, i] = a[i, j] * scale
        sweep = 0
        while True:
            if sweep >= SWEEPS or _make_orthogonal(lines, vt, smallest, vectors_too) == 0:
                break
            sweep = sweep + 1
        gone = largest - largest
        for k in rolled(range(n)):
            w[k] = -_length(lines[k], 0, window) + gone
        _ascending(w, lines, vt)
        for k in rolled(range(n)):
            w[k] = abs(w[k])
            if vectors_too:
                short = not w[k] > 1.0 / (window * window * window * window * window)
                for i in rolled(range(m)):
                    lines[k, i] = 0.0 if short else lines[k, i] / w[k]
                # products of short columns may have no digits, and no sweep makes such columns orthogonal
                if short | (_along(lines, k) > smallest * 8.0):
                    _complete(lines, k)
                down = vt[k, 0] < 0.0
                for i in rolled(range(m)):
                    u[i, k] = (-lines[k, i] if down else lines[k, i]) + gone
                for j in rolled(range(n)):
                    vt[k, j] = (-vt[k, j] if down else vt[k, j]) + gone
            w[k] = w[k] / scale


def _svd_by_lapack(work: Work, reads: list[Argument], writes: list[Argument], vectors_too: bool) -> None:
    """LAPACK sees the transpose, whose left vectors are the right ones here: nothing is turned in memory."""
    batch, m, n = writes[0].shape
    cost, element = 24 * m * n * n, writes[0].buffer.element
    room, steps = GesddOp.room(m, n)
    extents = {"rest": (m, n), "room": (room + BLOCK * (m + n),), "signs": (n,)}
    writes += [work.scratch_per_piece(batch, cost, shape, element, name) for name, shape in extents.items()]
    writes.append(work.scratch_per_piece(batch, cost, (steps,), i32, "steps"))

    @work.over(batch, cost, reads, writes, blas_threads=_threads_from(SHARED_SVD[element], n))
    def factorise(
        it: Iteration,
        operand: Array,
        u: Array,
        values: Array,
        vt: Array,
        rest: Array,
        room: Array,
        signs: Array,
        steps: Array,
    ) -> None:
        a, u, w, vt, rest = operand[it.index], u[it.index], values[it.index], vt[it.index], rest[it.piece]
        signs, info, largest = signs[it.piece], scratch(1, i32), 0.0
        for i in rolled(range(m)):
            for j in rolled(range(n)):
                rest[i, j] = a[i, j]
                largest = accumulate_max(largest, abs(a[i, j]))
        info[0] = 1
        if largest - largest == 0.0:
            gesdd(rest, w, u, vt, room[it.piece], steps[it.piece], info, values_only=not vectors_too)
        factor = 1.0 if info[0] == 0 else cast(NAN, element)
        for k in rolled(range(n)):
            w[k] = w[k] * factor
        if vectors_too:
            for k in rolled(range(n)):
                signs[k] = -factor if vt[k, 0] < 0.0 else factor
                for j in rolled(range(n)):
                    vt[k, j] = vt[k, j] * signs[k]
            for i in rolled(range(m)):
                for k in rolled(range(n)):
                    u[i, k] = u[i, k] * signs[k]


def _make_orthogonal(lines: Array, vt: Array, smallest: float, vectors_too: bool) -> Number:
    """Rotate each two lines that are not orthogonal, and those of `vt` with them; how many there were."""
    n, m = lines.shape
    count = 0
    for p in rolled(range(n - 1)):
        for q in rolled(range(p + 1, n)):
            one, other = _product(lines[p], lines[p], m), _product(lines[q], lines[q], m)
            both = _product(lines[p], lines[q], m)
            if abs(both) > smallest * sqrt(one) * sqrt(other):
                slope = (other - one) / (both * 2.0)
                size = 1.0 / (abs(slope) + sqrt(slope * slope + 1.0))
                t = -size if slope < 0.0 else size
                c = 1.0 / sqrt(t * t + 1.0)
                _rotate(lines, p, q, c, t * c)
                if vectors_too:
                    _rotate(vt, p, q, c, t * c)
                count = count + 1
    return count


def _along(lines: Array, k: Number) -> Number:
    """The largest product of line `k` with one in front of it."""
    _, m = lines.shape
    largest = 0.0
    for j in rolled(range(k)):
        largest = accumulate_max(largest, abs(_product(lines[j], lines[k], m)))
    return largest


def _complete(lines: Array, k: Number) -> None:
    """Make line `k` a unit vector that is orthogonal to those in front of it: of a unit vector, the rest."""
    _, m = lines.shape
    most, best = -1.0 - lines[k, 0] * 0.0, cast(0, INDEX)
    for c in rolled(range(m)):
        left = 1.0 + lines[k, 0] * 0.0
        for j in rolled(range(k)):
            left = left - lines[j, c] * lines[j, c]
        if left > most:
            most, best = left, c
    for i in rolled(range(m)):
        lines[k, i] = 0.0
    lines[k, best] = 1.0
    for _ in rolled(range(2)):
        for j in rolled(range(k)):
            along = _product(lines[j], lines[k], m)
            for i in rolled(range(m)):
                lines[k, i] = lines[k, i] - along * lines[j, i]
    size = sqrt(_product(lines[k], lines[k], m))
    for i in rolled(range(m)):
        lines[k, i] = lines[k, i] / size
