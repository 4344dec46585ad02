"""NumPy's ways to move elements. Those that are one op are methods of the builder: `moveaxis`, `squeeze`, `ravel`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.subscripts import wrapped
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import broadcast_shapes, dims, integers, normalize_axis


def split(m: MirBuilder, x: Operand, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Value, ...]:
    """
    Split along `axis`, as `np.split`: into a number of equal sections, or at the given positions.

    GraphError if the number of sections does not divide the extent.
    """
    value = m.value(m.operand(x))
    axis = normalize_axis(axis, value.rank)
    extent = value.shape[axis]
    if isinstance(indices_or_sections, Sequence):
        ends = [min(max(n + extent if n < 0 else n, 0), extent) for n in integers("split", indices_or_sections)]
    else:
        (count,) = integers("split", indices_or_sections)
        if count < 1 or extent % count:
            raise GraphError(f"split: {count} equal parts do not make up an axis of extent {extent}")
        ends = [extent // count * n for n in range(1, count)]
    starts = [0, *ends]
    return tuple(
        m.narrow(value, axis, start, max(end - start, 0)) for start, end in zip(starts, [*ends, extent], strict=True)
    )


def roll(m: MirBuilder, x: Operand, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Value:
    """Shift elements along `axis`, as `np.roll`, with wrap-around; without `axis`, shift the flattened `x`."""
    value = m.value(m.operand(x))
    if axis is None:
        return m.reshape(roll(m, m.ravel(value), sum(integers("roll", shift)), 0), value.shape)
    axes, shifts = integers("roll", axis), integers("roll", shift)
    if 1 in (len(axes), len(shifts)):
        axes, shifts = axes * len(shifts), shifts * len(axes)
    if len(axes) != len(shifts):
        raise GraphError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    for one, by in zip(axes, shifts, strict=True):
        at = normalize_axis(one, value.rank)
        extent = value.shape[at]
        if extent and (end := by % extent):
            parts = [m.narrow(value, at, extent - end, end), m.narrow(value, at, 0, extent - end)]
            value = m.concat(parts, at)
    return value


def tile(m: MirBuilder, x: Operand, reps: int | Sequence[int]) -> Value:
    """Repeat `x` along each axis, as `np.tile`; `reps` is aligned with the last axis."""
    value, counts = m.value(m.operand(x)), integers("tile", reps)
    if min(counts, default=0) < 0:
        raise GraphError(f"tile: expected repetitions of at least 0, got {reps}")
    rank = max(value.rank, len(counts))
    shape = (*([1] * (rank - value.rank)), *value.shape)
    counts = (*([1] * (rank - len(counts))), *counts)
    apart = m.reshape(value, [n for extent in shape for n in (1, extent)])
    whole = [n for pair in zip(counts, shape, strict=True) for n in pair]
    together = [count * extent for count, extent in zip(counts, shape, strict=True)]
    return m.reshape(m.expand(apart, whole), together)


def broadcast_to(m: MirBuilder, x: Operand, shape: int | Sequence[int]) -> Value:
    """`mir.expand` with NumPy's name and arguments."""
    return m.expand(x, integers("broadcast_to", shape))


def flatten(m: MirBuilder, x: Operand) -> Value:
    """Flatten to one dimension; same as `ravel`, since values are immutable."""
    return m.ravel(x)


def take_along_axis(m: MirBuilder, x: Operand, indices: Operand, axis: int = -1) -> Value:
    """
    Return `result[.., i, ..] = x[.., indices[.., i, ..], ..]` along `axis`; other axes broadcast, as in NumPy.

    Negative indices count from the end; out-of-range indices are clamped.
    """
    value = m.value(m.operand(x))
    axis = normalize_axis(axis, value.rank)
    at = wrapped(value, m.value(m.operand(indices)), value.shape[axis])
    if at.rank != value.rank:
        raise VerifyException(f"expected indices of rank {value.rank}, got {dims(at.shape)}")
    table, at = m.moveaxis(value, axis, -1), m.moveaxis(at, axis, -1)
    outer = broadcast_shapes(table.shape[:-1], at.shape[:-1])
    table, at = (m.expand(part, (*outer, part.shape[-1])) for part in (table, at))
    return m.moveaxis(m.gather(table, at, table.rank - 1, table.rank - 1), -1, axis)
