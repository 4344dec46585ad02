"""`x[...]` of values: NumPy's basic indexing, and one array of integers. Indexing ops are in `index.py`."""

from __future__ import annotations

from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.constants import Array
from xdsl_rlx.dialects.errors import GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.shapes import INTS, dims, element_of, i64

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Value

Index: TypeAlias = "int | slice | EllipsisType | Value | Array | list[int] | None"
"""What may stand in `x[...]`, alone or in a tuple."""


@dataclass(frozen=True)
class _Taken:
    """Slices to take by indices, at the dimension `axis` of what the other parts of a subscript leave."""

    axis: int
    indices: Value


def subscript(value: Value, index: Index | tuple[Index, ...]) -> Value:
    """
    `value[index]`: integers drop an axis, slices take some of it, None adds one, an array of integers takes slices.

    GraphIndexError for what is out of range, GraphTypeError for what is no index. Of indices that are known only when
    the graph runs, negative ones count from the end and those outside are clamped.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    used = sum(1 for part in parts if part is not None and part is not ...)
    if used > value.rank:
        raise GraphIndexError(f"{used} indices for a tensor of shape {dims(value.shape)}")
    if sum(1 for part in parts if part is ...) > 1:
        raise GraphIndexError("an index can have one ellipsis")
    if not any(part is ... for part in parts):
        parts.append(...)
    dots = next(number for number, part in enumerate(parts) if part is ...)
    parts[dots : dots + 1] = [slice(None)] * (value.rank - used)
    _check_arrays(parts)
    shape: list[int] = []
    taken: _Taken | None = None
    axis = 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        extent = value.shape[axis]
        if isinstance(part, slice):
            value = _sliced(value, axis, part)
            shape.append(value.shape[axis])
        elif _is_array(part):
            taken = _Taken(len(shape), wrapped(value, part, extent))
            shape.append(extent)
        else:
            at = _position(part, extent)
            value = value if extent == 1 else value.b.narrow(value, axis, at, 1)
        axis += 1
    value = value.b.reshape(value, shape)
    return value if taken is None else value.b.gather(value, taken.indices, taken.axis)


def _is_array(part: object) -> bool:
    """NumPy's integers are no arrays here."""
    from xdsl_rlx.dialects.mir.value import Value

    if isinstance(part, Value | list):
        return True
    return isinstance(part, Array) and not (part.shape == () and hasattr(part, "__index__"))


def _check_arrays(parts: list[Any]) -> None:
    arrays = [number for number, part in enumerate(parts) if _is_array(part)]
    if len(arrays) > 1:
        raise GraphTypeError("an index can have one array; take slices by one after the other, or gather")
    if arrays and any(part is not None and not isinstance(part, slice) for part in _others(parts, arrays[0])):
        raise GraphTypeError("an index can have an array or integers; index by one after the other")


def _others(parts: list[Any], number: int) -> list[Any]:
    return parts[:number] + parts[number + 1 :]


def _position(part: object, extent: int) -> int:
    if isinstance(part, bool) or not hasattr(part, "__index__"):
        raise GraphTypeError(f"an index is an integer, a slice, an array of integers, None or ..., got {shown(part)}")
    at = cast(int, part).__index__()
    if not -extent <= at < extent:
        raise GraphIndexError(f"index {at} is out of range for an axis of extent {extent}")
    return at % extent


def _sliced(value: Value, axis: int, part: slice) -> Value:
    extent = value.shape[axis]
    try:
        start, stop, step = part.indices(extent)
    except (TypeError, ValueError) as error:
        raise GraphTypeError(f"slice {part}: {error}") from None
    positions = range(start, stop, step)
    if step > 0:
        return every(value, axis, positions)
    return value.b.flip(every(value, axis, positions[::-1]), axis)


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


def wrapped(value: Value, part: Any, extent: int) -> Value:
    """Indices counted from the front; those of an array are checked, those of a value wrapped."""
    from xdsl_rlx.dialects.mir.value import Value

    if isinstance(part, Value):
        if element_of(part.ssa) not in INTS:
            raise GraphTypeError(_wrong(part.dtype.short))
        return value.b.where(part < 0, part + extent, part) if part.dtype in ("i8", "i16", "i32", "i64") else part
    if isinstance(part, list):
        if any(isinstance(one, bool) for one in cast("list[object]", part)):
            raise GraphTypeError(_wrong("i1"))
        dense = constants.from_nested(cast("list[int]", part), i64)
    else:
        if constants.element_type(part.dtype) not in INTS:
            raise GraphTypeError(_wrong(str(part.dtype)))
        dense = constants.from_array(part, i64)
    numbers: list[int] = list(dense.get_values())
    if outside := [n for n in numbers if not -extent <= n < extent]:
        raise GraphIndexError(f"index {outside[0]} is out of range for an axis of extent {extent}")
    if min(numbers, default=0) < 0:
        dense = constants.from_bytes(i64.pack([n % extent for n in numbers]), i64, dense.get_shape())
    return value.b.constant(dense)


def _wrong(dtype: str) -> str:
    cure = "; where(mask, x, 0) keeps the shape" if dtype in ("i1", "bool") else ""
    return f"expected an array of integers as index, got one of {dtype}{cure}"
