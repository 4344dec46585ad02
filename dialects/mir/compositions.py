"""Functions of tensors that build several ops, where derivative rules, decompositions and operators need them.

Each takes the builder first. The others, which only programs need, are in `graph_methods/` of the Python API; there
`GraphBuilder` has all of them as methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import Number, is_integer, splat_value
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.tensor_value import is_value
from xdsl_rlx.dialects.shapes import (
    broadcast_shapes,
    check_square,
    dims,
    element_of,
    i1,
    integers,
    normalize_axis,
    u8,
    u32,
)

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
    from xdsl_rlx.dialects.mir.value import Operand, Value

PadWidth: TypeAlias = "int | Sequence[int] | Sequence[Sequence[int]]"
"""Elements in front and behind, for all axes or for each, as NumPy's `pad_width`."""

_LARGEST: dict[Attribute, int] = {u8: 2**8 - 1, u32: 2**32 - 1}
"""Of unsigned integers; the order of signed ones is turned around by `-1 - x`."""


def clip(m: MirBuilder, x: Operand, low: Operand | None = None, high: Operand | None = None) -> Value:
    """
    Return `min(max(x, low), high)`; a bound may be None. NaN stays NaN. All operands broadcast.

    The derivative is that of `mir.max` and `mir.min`: 1 inside, 0 outside, one half at a bound.
    """
    value = m.value(m.operand(x))
    bounded = value if low is None else m.max(value, low)
    return bounded if high is None else m.min(bounded, high)


def complex_abs(m: MirBuilder, z: Operand) -> Value:
    """Return `|z|`, a real tensor; its derivative at 0 is 0."""
    value = m.operand(z)
    return m.hypot(m.real(value), m.imag(value))


def complex_power(m: MirBuilder, z: Operand, exponent: Operand) -> Value:
    """
    Return `z^exponent` of complex numbers.

    A constant integer up to 64 uses repeated squaring, other exponents `e^(exponent ln z)`. 0 to a power with a
    positive real part is 0, to the power 0 it is 1, to others NaN.
    """
    base, power = (m.value(x) for x in m.operands(z, exponent))
    owner = power.ssa.owner
    fixed = splat_value(owner.value) if isinstance(owner, ConstantOp) else None
    if isinstance(fixed, complex) and not fixed.imag and fixed.real.is_integer() and abs(fixed.real) <= 64:
        found = power_by_squarings(m, base, int(abs(fixed.real)))
        return m.expand(found if fixed.real >= 0 else 1 / found, broadcast_shapes(base.shape, power.shape))
    nothing = m.eq(base, 0)
    found = m.exp(power * m.log(m.where(nothing, 1, base)))
    of_nothing = m.where(m.eq(power, 0), m.ones_like(found), m.where(m.real(power) > 0, m.zeros_like(found), nan))
    return m.where(nothing, of_nothing, found)


def integer_power(m: MirBuilder, x: Operand, exponent: Operand) -> Value:
    """
    Return `x^exponent` of integers, wrapping, by repeated squaring; unrolled for a constant exponent.

    GraphError for a negative constant exponent. The result of a negative exponent that is not constant is unspecified.
    """
    base, power = (m.value(x) for x in m.operands(x, exponent))
    owner = power.ssa.owner
    fixed = splat_value(owner.value) if isinstance(owner, ConstantOp) else None
    if isinstance(fixed, int):
        if fixed < 0:
            raise GraphError(f"integers to the power {fixed} are not integers; convert them with astype(float)")
        return m.expand(power_by_squarings(m, base, fixed), broadcast_shapes(base.shape, power.shape))
    element, shape = element_of(base.ssa), broadcast_shapes(base.shape, power.shape)

    def body(carry: Any, _: object) -> tuple[Any, None]:
        total, square, rest = carry
        return (m.where(rest & 1, total * square, total), square * square, m.shift_right_logical(rest, 1)), None

    base, power = m.expand(base, shape), m.expand(power, shape)
    bits = element.width.data if is_integer(element) else 0
    (total, _, _), _ = m.scan(body, (m.ones_like(base), base, power), length=bits)
    return total


def power_by_squarings(m: MirBuilder, x: Operand, exponent: int) -> Value:
    """Return `x^exponent` for a Python integer by repeated squaring; GraphError if it is negative."""
    base = m.value(m.operand(x))
    if exponent < 0:
        raise GraphError(f"power_by_squarings: expected an exponent of at least 0, got {exponent}")
    if exponent < 2:
        return base if exponent else m.ones_like(base)
    half = power_by_squarings(m, base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def eye(m: MirBuilder, N: int, M: int | None = None, k: int = 0, dtype: object = "f32") -> Value:
    """Return an `N` by `M` matrix with ones on diagonal `k` and zeros elsewhere, as `np.eye`."""
    row, column = _rows_and_columns(m, N, N if M is None else M)
    return m.cast(m.eq(column - k if k else column, row), dtype)


def tril(m: MirBuilder, x: Operand, k: int = 0) -> Value:
    """`x` with zeros above diagonal `k` of its last two axes, as `np.tril`."""
    return _triangle(m, x, k, lower=True)


def triu(m: MirBuilder, x: Operand, k: int = 0) -> Value:
    """`x` with zeros below diagonal `k` of its last two axes, as `np.triu`."""
    return _triangle(m, x, k, lower=False)


def _triangle(m: MirBuilder, x: Operand, k: int, lower: bool) -> Value:
    value = m.value(m.operand(x))
    if value.rank < 2:
        raise VerifyException(f"expected matrices, got a tensor of rank {value.rank}")
    row, column = _rows_and_columns(m, *value.shape[-2:])
    shifted = column - k if k else column
    return m.where(m.ge(row, shifted) if lower else m.le(row, shifted), value, 0)


def _rows_and_columns(m: MirBuilder, rows: int, columns: int) -> tuple[Value, Value]:
    """The number of its row and that of its column for each element of a matrix, which broadcast."""
    return m.reshape(m.iota(rows), (rows, 1)), m.iota(columns)


def every(value: Value, axis: int, positions: range) -> Value:
    """
    The elements at positions that rise evenly: one element of each of several neighbouring blocks, which are a view.

    Where the blocks would not fit into the axis, the last element comes from behind them.
    """
    b, count, step, extent = value.b, len(positions), positions.step, value.shape[axis]
    if step == 1 or count < 2:
        whole = count == extent
        return value if whole else b.narrow(value, axis, positions.start if count else 0, count)
    at = max(positions.start + count * step - extent, 0)
    if at > min(positions.start, step - 1):
        return b.concat([every(value, axis, positions[:-1]), b.narrow(value, axis, positions[-1], 1)], axis)
    front, behind = value.shape[:axis], value.shape[axis + 1 :]
    blocks = b.narrow(value, axis, positions.start - at, count * step)
    apart = b.reshape(blocks, (*front, count, step, *behind))
    return b.reshape(b.narrow(apart, axis + 1, at, 1), (*front, count, *behind))


def diagonal(m: MirBuilder, x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """Return diagonal `offset` of two axes, along a new last axis, as `np.diagonal`."""
    value = m.value(m.operand(x))
    first, second = normalize_axis(axis1, value.rank), normalize_axis(axis2, value.rank)
    if first == second:
        raise GraphError(f"diagonal: expected two different axes, got {axis1} and {axis2}")
    # every so many elements of the matrix in one row
    matrices = m.moveaxis(value, (first, second), (-2, -1))
    rows, columns = matrices.shape[-2:]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    start = max(offset, 0) + max(-offset, 0) * columns if count else 0
    line = m.reshape(matrices, (*matrices.shape[:-2], rows * columns))
    return every(line, line.rank - 1, range(start, start + count * (columns + 1), columns + 1))


def inv(m: MirBuilder, a: Operand) -> Value:
    """
    Return `a^-1` for each matrix of [..., n, n], by a solve. Where `a` is singular, elements are infinite or NaN.
    """
    matrices = m.value(m.operand(a))
    check_square(matrices.shape)
    identity = m.expand(eye(m, matrices.shape[-1], dtype=matrices.dtype), matrices.shape)
    return (m.dense_solve if matrices.rank == 2 else m.batched_dense_solve)(matrices, identity)


def stack(m: MirBuilder, arrays: Sequence[Operand], axis: int = 0) -> Value:
    """Join tensors of one shape along a new axis; GraphError for an empty list."""
    values = [m.value(x) for x in m.operands(*arrays)]
    if not values:
        raise GraphError("stack: expected at least one value")
    if len(shapes := list(dict.fromkeys(value.shape for value in values))) > 1:
        raise VerifyException(f"stack: shapes {' and '.join(map(dims, shapes))} differ")
    axis = normalize_axis(axis, values[0].rank + 1)
    return m.concat([m.expand_dims(value, axis) for value in values], axis)


def repeat(m: MirBuilder, x: Operand, repeats: int | Sequence[int], axis: int | None = None) -> Value:
    """Repeat each element `repeats` times, or as often as a list says; without `axis`, repeat the flattened `x`."""
    value = m.value(m.operand(x))
    if axis is None:
        value, axis = m.ravel(value), 0
    axis, counts = normalize_axis(axis, value.rank), integers("repeat", repeats)
    extent = value.shape[axis]
    if len(counts) not in (1, extent) or min(counts) < 0:
        raise GraphError(f"repeat: expected one count of at least 0 or {extent} of them, got {repeats}")
    if len(counts) != 1:
        places = [place for place, count in enumerate(counts) for _ in range(count)]
        return m.gather(value, m.constant(places, "i64"), axis)
    behind = value.shape[axis + 1 :]
    lines = m.expand(m.expand_dims(value, axis + 1), (*value.shape[: axis + 1], counts[0], *behind))
    return m.reshape(lines, (*value.shape[:axis], extent * counts[0], *behind))


def pad(
    m: MirBuilder,
    x: Operand,
    pad_width: PadWidth,
    *,
    constant_values: Number = 0,
    interior: int | Sequence[int] = 0,
) -> Value:
    """
    Pad with constants, as `np.pad`: `pad_width` is one number, `(before, after)`, or a pair for each axis.

    A negative width crops. `interior`, one number or one for each axis, is the number of constants between
    neighbours. GraphError for a width that crops more than the extent.
    """
    value = m.value(m.operand(x))
    inner = integers("pad", interior)
    inner = inner * value.rank if len(inner) == 1 else inner
    pairs = _pairs(pad_width, value.rank)
    if len(inner) != value.rank or min(inner, default=0) < 0:
        raise GraphError(f"pad: expected an interior of at least 0 for each of {value.rank} axes, got {interior}")
    for axis, ((before, after), between) in enumerate(zip(pairs, inner, strict=True)):
        value = _spread(value, axis, between, constant_values)
        left = value.shape[axis] + min(before, 0) + min(after, 0)
        if left < 0:
            raise GraphError(
                f"pad: {(before, after)} removes more than the {value.shape[axis]} elements of axis {axis}"
            )
        if left != value.shape[axis]:
            value = m.narrow(value, axis, max(-before, 0), left)
        value = _between(value, axis, before, after, constant_values)
    return value


def _between(value: Value, axis: int, before: int, after: int, number: Number) -> Value:
    def filled(extent: int) -> list[Value]:
        shape = (*value.shape[:axis], extent, *value.shape[axis + 1 :])
        return [value.b.full(shape, number, value.dtype)] if extent > 0 else []

    parts = [*filled(before), value, *filled(after)]
    return value.b.concat(parts, axis) if len(parts) > 1 else value


def _spread(value: Value, axis: int, between: int, number: Number) -> Value:
    """Constants between the elements along an axis: behind each, without those behind the last."""
    extent, m = value.shape[axis], value.b
    if not between or extent < 2:
        return value
    lines = _between(m.expand_dims(value, axis + 1), axis + 1, 0, between, number)
    spread = m.reshape(lines, (*value.shape[:axis], extent * (between + 1), *value.shape[axis + 1 :]))
    return m.narrow(spread, axis, 0, extent * (between + 1) - between)


def _pairs(pad_width: PadWidth, rank: int) -> list[tuple[int, int]]:
    """Elements in front and behind for each axis; GraphError for what does not say so."""
    given: list[tuple[int, ...]] = []
    whole = isinstance(pad_width, Sequence) and all(isinstance(one, Sequence) for one in pad_width)
    for one in pad_width if isinstance(pad_width, Sequence) and whole else [pad_width]:
        width = integers("pad", one)  # pyright: ignore[reportArgumentType]
        given.append(width * 2 if len(width) == 1 else width)
    given = given * rank if len(given) == 1 else given
    if len(given) != rank or any(len(pair) != 2 for pair in given):
        raise GraphError(f"pad: expected a number, a pair or {rank} pairs, got {pad_width}")
    return [(before, after) for before, after in given]


def signal(m: MirBuilder, x: Operand) -> Value:
    """Return an operand that has an axis to transform; GraphError for a scalar."""
    value = m.value(m.operand(x))
    if not value.rank:
        raise GraphError("expected an array to transform, got a scalar")
    return value


def resized(m: MirBuilder, x: Operand, n: int) -> Value:
    """Return the first `n` points along the last axis, zero-padded if there are fewer."""
    value = signal(m, x)
    have = value.shape[-1]
    if n < 1:
        raise GraphError(f"expected at least one point, got {n}")
    if have >= n:
        return value if have == n else m.narrow(value, -1, 0, n)
    return m.concat([value, m.full((*value.shape[:-1], n - have), 0, value.dtype)], -1)


def frames(m: MirBuilder, x: Operand, length: int, hop: int) -> Value:
    """Return all windows of `length` elements with stride `hop`: `result[.., f, j] = x[.., f hop + j]`."""
    value = signal(m, x)
    if length < 1 or hop < 1 or value.shape[-1] < length:
        raise GraphError(f"frames: expected 1 <= length <= {value.shape[-1]} and hop >= 1, got {length} and {hop}")
    count = 1 + (value.shape[-1] - length) // hop
    blocks = -(-length // hop)
    value = resized(m, value, (count - 1 + blocks) * hop)
    rows = value.reshape(*value.shape[:-1], count - 1 + blocks, hop)
    if blocks == 1:
        return m.narrow(rows, -1, 0, length)
    parts: list[Operand] = []
    for block in range(blocks):
        shifted = m.narrow(rows, -2, block, count)
        rest = length - block * hop
        parts.append(shifted if rest >= hop else m.narrow(shifted, -1, 0, rest))
    return m.concat(parts, -1)


def argsort(m: MirBuilder, x: Operand, axis: int | None = -1) -> Value:
    """
    Return the i64 indices that sort along `axis`, or the flattened `x` if `axis` is None.

    The sort is stable, and NaN is last, as in NumPy's stable sort.
    """
    value, axis = row_or_axis(m, x, axis)
    rows = m.moveaxis(comparable(value), axis, -1)
    return m.moveaxis(m.topk(rows, rows.shape[-1], smallest=True), -1, axis)


def argmax(m: MirBuilder, x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
    """
    Return the i64 index of the largest element along `axis`, the first of equal ones; None means the flattened `x`.

    NaN counts as the largest. GraphError for an axis of extent 0.
    """
    return _position(m, x, axis, keepdims, lambda value: value)


def argmin(m: MirBuilder, x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
    """Return the i64 index of the smallest element, as `argmax`; NaN counts as the smallest."""
    return _position(m, x, axis, keepdims, _turned)


def _position(m: MirBuilder, x: Operand, axis: int | None, keepdims: bool, order: Callable[[Value], Value]) -> Value:
    given = m.value(m.operand(x))
    value, place = row_or_axis(m, given, axis)
    if not value.shape[place]:
        raise GraphError(f"expected at least one element along the axis to reduce, got shape {dims(given.shape)}")
    rows = m.moveaxis(order(comparable(value)), place, -1)
    best = m.moveaxis(m.topk(rows, 1), -1, place)
    if keepdims:
        return m.reshape(best, (1,) * given.rank) if axis is None else best
    return m.squeeze(best, place)


def row_or_axis(m: MirBuilder, x: Operand, axis: int | None) -> tuple[Value, int]:
    """Return a value and its axis counted from the front; for None, its elements in one row, and 0."""
    value = m.value(m.operand(x))
    return (m.ravel(value), 0) if axis is None else (value, normalize_axis(axis, value.rank))


def comparable(value: Value) -> Value:
    """Return booleans as integers, which `mir.topk` and `mir.bisect` take; other values as they are."""
    return value.cast("i8") if element_of(value.ssa) == i1 else value


def _turned(value: Value) -> Value:
    """Numbers in the opposite order, without one that overflows; NaN stays NaN."""
    element = element_of(value.ssa)
    return -value if isinstance(element, AnyFloat) else _LARGEST.get(element, -1) - value


def running_scan(m: MirBuilder, value: Value, axis: int, step: Callable[[Value, Value], Value]) -> Value:
    """Return what `step` makes of the elements along an axis up to each position, by a `mir.scan`."""
    rows = m.moveaxis(value, axis, 0)
    if not rows.shape[0]:
        return value
    first = m.narrow(rows, 0, 0, 1)

    def body(carry: Value, row: Value) -> tuple[Value, Value]:
        total = step(carry, row)
        return total, total

    _, rest = m.scan(body, m.squeeze(first, 0), m.narrow(rows, 0, 1, rows.shape[0] - 1))
    assert is_value(rest)
    return m.moveaxis(m.concat([first, rest], 0), 0, axis)
