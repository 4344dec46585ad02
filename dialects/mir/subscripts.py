"""`x[...]` of values: NumPy's indexing. Indexing ops are in `index.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.constants import Array
from xdsl_rlx.dialects.errors import GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.mir.compositions import clip, every
from xdsl_rlx.dialects.mir.promotion import in_one_graph, joined
from xdsl_rlx.dialects.mir.tensor_value import is_value
from xdsl_rlx.dialects.shapes import INTS, broadcast_shapes, dims, element_of, i64

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Value

Index: TypeAlias = "int | slice | EllipsisType | Value | Array | list[int] | None"
"""What may stand in `x[...]`, alone or in a tuple."""


@dataclass(frozen=True)
class _Places:
    """Where a mask holds along one of its axes, which has this extent."""

    numbers: Any
    extent: int


@dataclass(frozen=True)
class _Taken:
    """Slices to take by indices, at the dimension `axis` of what the other parts of a subscript leave."""

    axis: int
    indices: Value


def subscript(value: Value, index: Index | tuple[Index, ...]) -> Value:
    """
    `value[index]` as in NumPy: integers drop an axis, slices take some of it, None adds one, arrays of integers that
    broadcast take elements, and a mask that is no value is the array of the places where it holds.

    GraphIndexError for what is out of range, GraphTypeError for what is no index. Of indices that are known only when
    the graph runs, negative ones count from the end and those outside are clamped.
    """
    value, *given = in_one_graph([value, *(index if isinstance(index, tuple) else (index,))])
    parts: list[Any] = [one for part in given for one in without_masks(part)]
    used = sum(1 for part in parts if part is not None and part is not ...)
    if used > value.rank:
        raise GraphIndexError(f"too many indices: {used} for a tensor of shape {dims(value.shape)}")
    if sum(1 for part in parts if part is ...) > 1:
        raise GraphIndexError("an index can have one ellipsis")
    if not any(part is ... for part in parts):
        parts.append(...)
    dots = next(number for number, part in enumerate(parts) if part is ...)
    parts[dots : dots + 1] = [slice(None)] * (value.rank - used)
    shape: list[int] = []
    taken: list[_Taken] = []
    axis = 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        extent = value.shape[axis]
        if isinstance(part, slice):
            value = _sliced(value, axis, cast(slice, part))
            shape.append(value.shape[axis])
        elif isinstance(part, _Places) or is_array(part):
            if isinstance(part, _Places) and part.extent != extent:
                raise GraphIndexError(f"a mask of extent {part.extent} cannot index an axis of extent {extent}")
            part = part.numbers if isinstance(part, _Places) else part
            taken.append(_Taken(len(shape), wrapped(value, part, extent)))
            shape.append(extent)
        else:
            at = position(part, extent)
            value = value if extent == 1 else value.b.narrow(value, axis, at, 1)
        axis += 1
    value = value.b.reshape(value, shape)
    return _gathered(value, taken, are_neighbours(parts)) if taken else value


def without_masks(part: Any) -> list[Any]:
    """A part of an index, or for a mask the arrays of the places where it holds; an iterable of numbers is a list."""
    if isinstance(part, tuple | range):
        part = list(cast("Sequence[Any]", part))
    if isinstance(part, list):
        import numpy as np

        plain = cast("list[Any]", part)
        if _holds_values(plain):
            return [joined(plain)]
        try:
            array = np.asarray(plain)
        except ValueError as error:
            raise GraphTypeError(f"cannot convert an index to an array: {error}") from None
        part = array if array.size else array.astype(np.int64)
    if not is_value(part) and isinstance(part, Array) and part.dtype.kind == "b" and part.shape:
        import numpy as np

        where = np.nonzero(cast("np.ndarray[Any, Any]", part))
        return [_Places(numbers, extent) for numbers, extent in zip(where, part.shape, strict=True)]
    return [part]


def _holds_values(parts: list[Any]) -> bool:
    return any(is_value(x) or (isinstance(x, list) and _holds_values(cast("list[Any]", x))) for x in parts)


def is_array(part: object) -> bool:
    """NumPy's integers are no arrays here."""
    return is_value(part) or (isinstance(part, Array) and not (part.shape == () and hasattr(part, "__index__")))


def are_neighbours(parts: Sequence[Any]) -> bool:
    """Whether arrays and integers, which NumPy counts among them, stand side by side: then so do the axes they give."""
    places = [number for number, part in enumerate(parts) if part is not None and not isinstance(part, slice)]
    return places[-1] - places[0] < len(places)


def _gathered(value: Value, taken: Sequence[_Taken], in_place: bool) -> Value:
    """The elements that indices take together along their axes: in the place of these, or else in front."""
    b, target = value.b, taken[0].axis if in_place else 0
    axes = tuple(range(target, target + len(taken)))
    value = b.moveaxis(value, tuple(one.axis for one in taken), axes)
    extents = [value.shape[axis] for axis in axes]
    if len(taken) == 1:
        return b.gather(value, taken[0].indices, target)
    try:
        broadcast = broadcast_shapes(*(one.indices.shape for one in taken))
    except VerifyException as error:
        raise GraphIndexError(f"index arrays: {error}") from None
    at = b.expand(b.constant(0, "i64"), broadcast)
    for extent, one in zip(extents, taken, strict=True):
        at = at * extent + clip(b, one.indices.cast("i64"), 0, max(extent - 1, 0))
    flat = b.reshape(value, (*value.shape[:target], prod(extents), *value.shape[target + len(taken) :]))
    return b.gather(flat, at, target)


def position(part: object, extent: int) -> int:
    if isinstance(part, bool) or not hasattr(part, "__index__"):
        raise GraphTypeError(
            f"expected an integer, a slice, an array of integers, None or ... as index, got {shown(part)}"
        )
    at = cast(int, part).__index__()
    if not -extent <= at < extent:
        raise GraphIndexError(f"index {at} is out of range for an axis of extent {extent}")
    return at % extent


def _sliced(value: Value, axis: int, part: slice) -> Value:
    extent = value.shape[axis]
    try:
        start, stop, step = part.indices(extent)
    except (TypeError, ValueError) as error:
        if any(hasattr(one, "ssa") for one in (part.start, part.stop, part.step)):
            raise GraphTypeError(
                "a slice has bounds that are Python's integers: x[i : i + n] by a value i is x[i + np.arange(n)]"
            ) from None
        raise GraphTypeError(f"slice {part}: {error}") from None
    positions = range(start, stop, step)
    if step > 0:
        return every(value, axis, positions)
    return value.b.flip(every(value, axis, positions[::-1]), axis)


def wrapped(value: Value, part: Any, extent: int) -> Value:
    """Indices counted from the front; those of an array are checked, those of a value wrapped."""
    if is_value(part):
        if element_of(part.ssa) not in INTS:
            raise GraphTypeError(_wrong(part.dtype.short))
        # what counts from the end has to hold the extent
        part = part.cast("i64") if part.dtype in ("i8", "i16") else part
        return value.b.where(part < 0, part + extent, part) if part.dtype in ("i32", "i64") else part
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
    if dtype in ("i1", "bool"):
        reason = "the shape of its result depends on concrete values; np.where(mask, x, 0) keeps the shape"
        return f"indexing with a boolean mask is not supported: {reason}"
    return f"expected integers as indices, got an array of {dtype}"
