"""Products, factorisations, solutions and transforms as StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ComplexType, DenseArrayBase, TensorType, f32, i64
from xdsl.ir import OpResult, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir import elementwise, factor, linalg, moe, solve, spectral
from xdsl_rlx.dialects.mir.compositions import clip, diagonal, eye, triu
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.frontends.stablehlo.tidy import is_operation
from xdsl_rlx.frontends.stablehlo.writer import Writer, defined, enum, number, numbers, row, struct, truth
from xdsl_rlx.graph_methods import creation
from xdsl_rlx.transforms.canonicalize.mir import splat


@row(linalg.MatmulOp)
def _matmul(op: linalg.MatmulOp, w: Writer) -> Sequence[SSAValue]:
    lhs, rhs = w[op.lhs], w[op.rhs]
    if len(shape_of(rhs)) == 2:
        return [_product(w, lhs, rhs, op.result, [], [len(shape_of(lhs)) - 1], [0])]
    batch = shape_of(op.result)[:-2]
    lhs, rhs = (w.expand(x, (*batch, *shape_of(x)[-2:])) for x in (lhs, rhs))
    axes, rank = range(len(batch)), len(batch)
    return [_product(w, lhs, rhs, op.result, axes, [rank + 1], [rank])]


def _product(
    w: Writer, lhs: SSAValue, rhs: SSAValue, result: SSAValue, batch: Sequence[int], a: Sequence[int], b: Sequence[int]
) -> SSAValue:
    """A product over axes `a` of one operand and `b` of the other; both have the axes of the batch in front."""
    names = struct(
        "dot",
        lhs_batching_dimensions=batch,
        rhs_batching_dimensions=batch,
        lhs_contracting_dimensions=a,
        rhs_contracting_dimensions=b,
    )
    return w.op("dot_general", [lhs, rhs], result.type, dot_dimension_numbers=names)


@row(linalg.DotGeneralOp)
def _dot_general(op: linalg.DotGeneralOp, w: Writer) -> Sequence[SSAValue]:
    lhs, rhs = op.sides
    names = struct(
        "dot",
        lhs_batching_dimensions=lhs.batch,
        rhs_batching_dimensions=rhs.batch,
        lhs_contracting_dimensions=lhs.contracting,
        rhs_contracting_dimensions=rhs.contracting,
    )
    return [w.op("dot_general", [w[op.lhs], w[op.rhs]], op.result.type, dot_dimension_numbers=names)]


@defined(moe.GroupedMatmulOp)
def _grouped(op: Any, b: MirBuilder) -> Sequence[Value]:
    """The matrix of each row's expert, gathered."""
    x, w = b.value(op.x), b.value(op.w)
    matrices = b.gather(w, op.expert_idx, 0, 0)
    if op.transpose_rhs is not None:
        matrices = b.transpose(matrices, (0, 2, 1))
    rows = b.matmul(b.reshape(x, (x.shape[0], 1, x.shape[1])), matrices)
    return [b.reshape(rows, shape_of(op.result))]


@defined(moe.GroupedMatmulBackwardWeightOp)
def _grouped_weight(op: Any, b: MirBuilder) -> Sequence[Value]:
    """Products of rows, which are zeros but for those of an expert."""
    x, g = b.value(op.x), b.value(op.g)
    experts = op.experts.value.data
    ids = clip(b, b.cast(b.value(op.expert_idx), "i64"), 0, experts - 1)
    chosen = creation.one_hot(b, ids, experts, dtype=x.dtype)
    rows = b.reshape(b.transpose(chosen, (1, 0)), (experts, 1, x.shape[0])) * b.transpose(x, (1, 0))
    return [b.matmul(rows, g)]


@row(factor.CholeskyOp)
def _cholesky(op: factor.CholeskyOp, w: Writer) -> Sequence[SSAValue]:
    x = w[op.operand]
    shape, element = shape_of(x), element_of(x)
    rank = len(shape)
    turned = w.transpose(x, (*range(rank - 2), rank - 1, rank - 2))
    half = w.op("multiply", [w.op("add", [x, turned], x.type), w.like(0.5, x)], x.type)
    factor = w.op("cholesky", [half], x.type, lower=truth(True))
    row_, column = (w.iota(shape, axis, i64) for axis in (rank - 2, rank - 1))
    lower = w.compare("GE", row_, column, "SIGNED")
    return [w.op("select", [lower, factor, w.full(0.0, shape, element)], x.type)]


@defined(solve.LuOp)
def _lu(op: Any, b: MirBuilder) -> Sequence[Value]:
    """Column by column of the transpose, with the rows of the largest elements."""
    a = b.value(op.operand)
    if not a.shape[-1]:
        return [a, b.zeros_like(op.pivots)]
    rank, n = a.rank, a.shape[-1]
    batch, last = a.shape[:-2], rank - 2
    turn = (*range(rank - 2), rank - 1, rank - 2)
    lines = b.iota(n)
    row_, column = b.reshape(lines, (n, 1)), lines

    def step(work: Value, i: Value) -> tuple[Value, Value]:
        at = b.expand(b.reshape(i, (*[1] * len(batch), 1)), (*batch, 1))
        first = b.reshape(b.gather(work, at, rank - 1, last), (*batch, n))
        size = b.where(b.ge(lines, i), b.abs(first), -1.0)
        best = b.topk(size, 1)
        one, other = b.gather(work, at, last, last), b.gather(work, best, last, last)
        chosen = b.reshape(best, (*batch, 1, 1))
        swapped = b.where(b.eq(row_, i), other, b.where(b.eq(row_, chosen), one, work))
        pivot = b.gather(other, at, rank - 1, last)
        found = b.ne(pivot, 0.0)
        left = b.gather(swapped, at, rank - 1, last)
        below = b.gt(row_, i) & found
        factors = b.where(below, left / b.where(found, pivot, 1.0), 0.0)
        rest = swapped - factors * b.where(b.gt(column, i), other, 0.0)
        done = b.where(b.eq(column, i) & below, b.expand(factors, rest.shape), rest)
        return done, b.reshape(best, batch)

    packed, pivots = b.scan(step, b.transpose(a, turn), lines)
    order = (*range(1, len(batch) + 1), 0)
    counted = b.cast(b.transpose(pivots, order) + 1, element_of(op.pivots))
    return [b.transpose(packed, turn), counted]


def _order(pivots: Value, b: MirBuilder, inverse: bool) -> Value:
    """The rows by which a system is interchanged."""
    batch, n = pivots.shape[:-1], pivots.shape[-1]
    lines = b.iota(n)
    others = b.transpose(b.cast(pivots, "i64") - 1, (len(batch), *range(len(batch))))

    def step(order: Value, at: tuple[Value, Value]) -> tuple[Value, None]:
        i, other = at
        own = b.expand(b.reshape(i, (*[1] * len(batch), 1)), (*batch, 1))
        with_ = b.reshape(other, (*batch, 1))
        one, two = (b.gather(order, x, len(batch), len(batch)) for x in (own, with_))
        return b.where(b.eq(lines, own), two, b.where(b.eq(lines, with_), one, order)), None

    order, _ = b.scan(step, b.expand(lines, (*batch, n)), (lines, others), reverse=inverse)
    return order


def _solved(w: Writer, a: SSAValue, b: SSAValue, lower: bool, unit: bool, transpose: bool) -> SSAValue:
    """The solution of a triangular system; one of a transpose is the transposed one of its operand."""
    if isinstance(a, OpResult) and is_operation(a.op, "stablehlo.transpose"):
        rank = len(shape_of(a))
        turn = cast("DenseArrayBase[Any]", a.op.attributes["permutation"]).get_values()
        if list(turn) == [*range(rank - 2), rank - 1, rank - 2]:
            a, lower, transpose = a.op.operands[0], not lower, not transpose
    return w.op(
        "triangular_solve",
        [a, b],
        b.type,
        left_side=truth(True),
        lower=truth(lower),
        unit_diagonal=truth(unit),
        transpose_a=enum("transpose", "TRANSPOSE" if transpose else "NO_TRANSPOSE"),
    )


@row(solve.LuSolveOp)
def _lu_solve(op: Any, w: Writer) -> Sequence[SSAValue]:
    """
    Two triangular systems: `packed` has the transpose of `U` in its lower triangle, and that of `L` above.

    The transposed system is that of `P a^T = L U`.
    """
    packed, b = w[op.packed], w[op.b]
    if not all(shape_of(b)):
        return [b]
    shape = shape_of(b)
    batch = len(shape_of(packed)) - 2
    columns = w.reshape(b, (*shape, 1)) if len(shape) == batch + 1 else b
    is_transposed = op.transpose is not None

    def solve(rhs: SSAValue, lower: bool) -> SSAValue:
        return _solved(w, packed, rhs, lower, not lower, is_transposed)

    if is_transposed:
        found = solve(solve(_interchanged(w, columns, w[op.pivots], inverse=False), lower=False), lower=True)
    else:
        found = _interchanged(w, solve(solve(columns, lower=True), lower=False), w[op.pivots], inverse=True)
    return [w.reshape(found, shape)]


def _interchanged(w: Writer, x: SSAValue, pivots: SSAValue, inverse: bool) -> SSAValue:
    """The rows of `x` in the order that the interchanges make."""
    batch = len(shape_of(pivots)) - 1

    def build(m: MirBuilder, x: Value, pivots: Value) -> Value:
        return m.gather(x, _order(pivots, m, inverse), batch, batch)

    return w.built(build, x, pivots)


@row(solve.InterchangeRowsOp)
def _interchange_rows(op: solve.InterchangeRowsOp, w: Writer) -> Sequence[SSAValue]:
    x = w[op.b]
    return [_interchanged(w, x, w[op.pivots], op.inverse is not None) if all(shape_of(x)) else x]


@row(solve.TriangularSolveOp)
def _triangular_solve(op: solve.TriangularSolveOp, w: Writer) -> Sequence[SSAValue]:
    a, b = w[op.a], w[op.b]
    shape = shape_of(b)
    if not all(shape):
        return [b]
    columns = w.reshape(b, (*shape, 1)) if len(shape) < len(shape_of(a)) else b
    flags = (op.lower is not None, op.unit_diagonal is not None, op.transpose is not None)
    return [w.reshape(_solved(w, a, columns, *flags), shape)]


@defined(factor.QrOp)
def _qr(op: Any, b: MirBuilder) -> Sequence[Value]:
    """Householder reflections, one for each column; at last the diagonal of `r` is made non-negative."""
    a = b.value(op.operand)
    rank, (m, n) = a.rank, a.shape[-2:]
    if not n:
        return [a, b.zeros_like(op.r)]
    batch, last = a.shape[:-2], rank - 2
    lines, one = b.iota(m), b.constant(1.0, a.dtype)

    def step(state: tuple[Value, Value], i: Value) -> tuple[tuple[Value, Value], None]:
        q, r = state
        at = b.expand(b.reshape(i, (*[1] * len(batch), 1)), (*batch, 1))
        column = b.reshape(b.gather(r, at, rank - 1, last), (*batch, m))
        tail = b.where(b.ge(lines, i), column, 0.0)
        largest = b.reduce_max(b.abs(tail), -1, True)
        scale = b.where(b.gt(largest, 0.0), largest, 1.0)
        tail = tail / scale
        norm = b.sqrt(b.reduce_sum(tail * tail, -1, True))
        head = b.gather(tail, at, last, last)
        signed = b.where(b.lt(head, 0.0), -norm, norm)
        v = b.where(b.eq(lines, i), tail + signed, tail)
        square = b.reduce_sum(v * v, -1, True)
        v = v * b.sqrt(b.where(b.gt(square, 0.0), 2.0 / b.where(b.gt(square, 0.0), square, one), 0.0))
        down, across = b.reshape(v, (*batch, m, 1)), b.reshape(v, (*batch, 1, m))
        return (q - b.matmul(b.matmul(q, down), across), r - down * b.matmul(across, r)), None

    unit = b.expand(eye(b, m, dtype=a.dtype), (*batch, m, m))
    (q, r), _ = b.scan(step, (unit, a), b.iota(n))
    q, r = b.narrow(q, rank - 1, 0, n), triu(b, b.narrow(r, rank - 2, 0, n))
    signs = b.where(b.lt(diagonal(b, r, 0, rank - 2, rank - 1), 0.0), -1.0, 1.0)
    signs = b.cast(signs, a.dtype)
    return [q * b.reshape(signs, (*batch, 1, n)), b.reshape(signs, (*batch, n, 1)) * r]


# Transforms


def _fft(w: Writer, x: SSAValue, kind: str, points: int, type_: Any) -> SSAValue:
    return w.op("fft", [x], type_, fft_type=enum("fft_type", kind), fft_length=numbers([points]))


@row(spectral.FftOp)
def _complex_fft(op: spectral.FftOp, w: Writer) -> Sequence[SSAValue]:
    """A real operand has real and imaginary parts one after the other."""
    x, n = w[op.operand], op.points
    shape, element = shape_of(x), element_of(x)
    is_real = element not in COMPLEXES
    if is_real:
        axis = len(shape) - 1
        wide = w.convert(x, f32) if element.name in ("f16", "bf16") else x
        parts = [w.narrow(wide, axis, start, start + n) for start in (0, n)]
        element_ = ComplexType(element_of(wide))  # pyright: ignore
        x = w.op("complex", parts, TensorType(element_, shape_of(parts[0])))
    inverse = op.inverse is not None
    found = _fft(w, x, "IFFT" if inverse else "FFT", n, x.type)
    # StableHLO divides by n in the inverse
    if (factor := op.factor * (n if inverse else 1)) != 1.0:
        found = w.op("multiply", [found, w.like(complex(factor), found)], found.type)
    if is_real:
        own: Any = element_of(found)
        part: Any = TensorType(own.element_type, shape_of(found))
        halves = [w.op(name, [found], part) for name in ("real", "imag")]
        whole = w.op(
            "concatenate",
            halves,
            TensorType(part.element_type, shape),
            dimension=number(len(shape) - 1),
        )
        found = w.convert(whole, element)
    return [found]


@row(elementwise.MulOp)
def _mul(op: elementwise.MulOp, w: Writer) -> Sequence[SSAValue]:
    """An inverse transform over its length is StableHLO's, which divides by it."""
    for x, other in (op.operands, op.operands[::-1]):
        transform, factor = x.owner, splat(other)
        if factor is None or shape_of(x) != shape_of(op.result):
            continue
        if isinstance(transform, spectral.IrfftOp) and transform.full is None:
            n = transform.points.value.data
            if factor == _rounded(1 / n, element_of(other)):
                return [_fft(w, w[transform.operand], "IRFFT", n, op.result.type)]
        elif isinstance(transform, spectral.FftOp) and transform.inverse is not None and transform.factor == 1.0:
            n = transform.points
            if element_of(x) in COMPLEXES and factor == _rounded(1 / n, element_of(other)):
                return [_fft(w, w[transform.operand], "IFFT", n, op.result.type)]
    return [w.op("multiply", [w.expand(w[x], shape_of(op.result)) for x in op.operands], op.result.type)]


def _rounded(x: float, element: Any) -> float:
    return constants.round_to(x, getattr(element, "element_type", element))


@row(spectral.RfftOp)
def _rfft(op: spectral.RfftOp, w: Writer) -> Sequence[SSAValue]:
    x = w[op.operand]
    points = shape_of(x)[-1]
    if op.full is None:
        return [_fft(w, x, "RFFT", points, op.result.type)]
    return [_fft(w, w.op("complex", [x, w.like(0.0, x)], op.result.type), "FFT", points, op.result.type)]


@row(spectral.IrfftOp)
def _irfft(op: spectral.IrfftOp, w: Writer) -> Sequence[SSAValue]:
    """StableHLO divides by n."""
    n = op.points.value.data
    if op.full is None:
        found = _fft(w, w[op.operand], "IRFFT", n, op.result.type)
    else:
        bins = w[op.operand]
        found = w.op("real", [_fft(w, bins, "IFFT", n, bins.type)], op.result.type)
    return [w.op("multiply", [found, w.like(float(n), found)], found.type)]
