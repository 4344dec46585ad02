"""`x.at[i].set(y)` of values: copies of a tensor that differ where NumPy's index says, as in JAX."""

# What NumPy is called with is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.mir.compositions import argsort
from xdsl_rlx.dialects.mir.promotion import in_one_graph
from xdsl_rlx.dialects.mir.segments import segment_extreme, segment_product
from xdsl_rlx.dialects.mir.subscripts import Index, are_neighbours, is_array, position, without_masks
from xdsl_rlx.dialects.mir.tensor_value import is_value
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, INTS, broadcast_shapes, dims, element_of, i1

if TYPE_CHECKING:
    import numpy as np

    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
    from xdsl_rlx.dialects.mir.value import Operand, Value

UPDATE_MODES = ("drop", "fill", "clip", "promise_in_bounds")
GET_MODES = ("fill", "drop", "clip", "promise_in_bounds")


@dataclass(frozen=True)
class Updates:
    """`x.at`: `x.at[i].set(y)` is a copy of `x` in which `x[i]` is `y`."""

    value: Value

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Update:
        return Update(self.value, index)


@dataclass(frozen=True)
class Update:
    """
    `x.at[i]`: methods that return a copy of `x` with other elements at `x[i]`, where `i` is any index of NumPy's.

    An index can be a traced value. `y` broadcasts to `x[i]`. If an element is indexed several times, `add`, `multiply`,
    `min` and `max` apply all updates, and the last one wins in `set`. Indices that are out of range are dropped, or
    clamped with `mode="clip"`; a negative index counts from the end. Without a `mode`, one known while tracing that is
    out of range raises GraphIndexError, as `x[i]` does. A boolean mask that is a traced value is a whole index, for `y`
    that broadcast to the axes behind it.
    """

    value: Value
    index: Any

    def get(self, mode: str | None = None, fill_value: Any = None) -> Value:
        """
        Return `x[i]`. Out-of-range indices are clamped, or yield `fill_value` with `mode="fill"`.

        The default of `fill_value` is NaN for floats, the least of signed and the largest of unsigned integers, True.
        """
        _check_mode(mode, GET_MODES)
        if mode in (None, "clip", "promise_in_bounds"):
            return _Place.of(self.value, self.index, mode, reads=True).read()
        place = _Place.of(self.value, self.index, mode, reads=True)
        found, valid = place.read(), place.valid
        if valid is None:
            return found
        fill = _missing(self.value) if fill_value is None else fill_value
        return found.b.where(place.of_result(valid, found), found, found.b.constant(fill, element_of(found.ssa)))

    def set(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] = values`."""
        mask = self._mask()
        if mask is not None:
            return self.value.b.where(mask, _behind(self.value, mask, _like(self.value, values)), self.value)
        return self._updated("set", values, mode)

    def add(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] += values`."""
        return self._updated("add", values, mode)

    def subtract(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] -= values`."""
        return self._updated("add", -_like(self.value, values), mode)

    def multiply(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] *= values`."""
        return self._updated("multiply", values, mode)

    mul = multiply

    def divide(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] /= values`."""
        return self._updated("divide", values, mode)

    def power(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] **= values`; of several updates of one element the last wins."""
        return self.set(self.get() ** _like(self.value, values), mode)

    def min(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] = minimum(x[i], values)`."""
        return self._updated("min", values, mode)

    def max(self, values: Operand, mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] = maximum(x[i], values)`."""
        return self._updated("max", values, mode)

    def apply(self, function: Callable[[Value], Value], mode: str | None = None) -> Value:
        """Return a copy of `x` with `x[i] = function(x[i])`."""
        return self.set(function(self.get()), mode)

    def _mask(self) -> Value | None:
        """The index, if it is one traced mask."""
        x, index = in_one_graph([self.value, self.index]) if is_value(self.index) else (self.value, None)
        if index is None or element_of(index.ssa) != i1:
            return None
        if index.shape != x.shape[: index.rank]:
            raise GraphIndexError(f"a mask of shape {dims(index.shape)} cannot index a value of shape {dims(x.shape)}")
        return x.b.reshape(index, (*index.shape, *(1,) * (x.rank - index.rank)))

    def _updated(self, kind: str, values: Operand, mode: str | None) -> Value:
        _check_mode(mode, UPDATE_MODES)
        given = _like(self.value, values)
        if (mask := self._mask()) is not None:
            after = _combined(kind, self.value, _behind(self.value, mask, given))
            return self.value.b.where(mask, after, self.value)
        return _Place.of(self.value, self.index, mode).updated(kind, given)


def _check_mode(mode: str | None, known: Sequence[str]) -> None:
    if mode is not None and mode not in known:
        raise GraphError(f"mode: expected None or one of {', '.join(sorted(known))}, got {shown(mode)}")


def _like(x: Value, values: Any) -> Value:
    """Updates in the element type of what is updated; GraphTypeError for those that it cannot hold."""
    import numpy as np

    b, element = x.b, element_of(x.ssa)
    x, values = in_one_graph([x, values]) if is_value(values) else (x, values)
    b = x.b
    value = b.value(b.operand(values, x))
    other = element_of(value.ssa)
    if other == element:
        return value
    weak = is_value(values) and values.weak
    wide, narrow = np.dtype(value.dtype), np.dtype(x.dtype)
    kinds = "biufc"
    same = np.can_cast(wide, narrow, "same_kind") or (wide.kind == "V" or narrow.kind == "V")
    if not same and not (weak and kinds.find(wide.kind) <= kinds.find(narrow.kind)):
        raise GraphTypeError(f"x.at[i]: expected updates for a value of {narrow}, got {wide}; convert them with astype")
    return b.cast(value, element)


def _behind(x: Value, mask: Value, values: Value) -> Value:
    """Updates of the elements that a mask picks: the same ones for all."""
    rank = next((n for n, extent in enumerate(reversed(mask.shape)) if extent != 1), mask.rank)
    if values.rank > rank and prod(values.shape[: values.rank - rank]) != 1:
        raise GraphIndexError(
            f"x.at[mask]: expected updates for one element of the mask, got shape {dims(values.shape)}; how many "
            "elements a traced mask picks is not known while tracing; np.where(mask, values, x) takes updates of the "
            "shape of x"
        )
    return values


def _missing(x: Value) -> Any:
    """What stands for an element that there is not."""
    import numpy as np

    element = element_of(x.ssa)
    if element in (*FLOATS, *COMPLEXES):
        return float("nan")
    if element == i1:
        return True
    info = np.iinfo(np.dtype(x.dtype))
    return int(info.min if info.min < 0 else info.max)


def _combined(kind: str, x: Value, y: Value) -> Value:
    """An update of each element by one."""
    b = x.b
    match kind:
        case "set":
            return b.expand(y, x.shape) if y.shape != x.shape else y
        case "add":
            return x + y
        case "multiply":
            return x * y
        case "divide":
            return _like(x, x / y)
        case "min":
            return b.min(x, y)
        case _:
            return b.max(x, y)


@dataclass(frozen=True)
class _Place:
    """Where an index is in a value: slices of its axes, then elements of some of these that arrays pick together."""

    value: Value
    slices: tuple[range, ...]
    """The positions that are taken along each axis."""
    shape: tuple[int, ...]
    """Of what slices, integers and None leave, with all of the axes of arrays."""
    axes: tuple[int, ...]
    """The dimensions of `shape` that arrays index."""
    target: int
    """Where these are moved, one behind the other."""
    at: Value | None = None
    """Positions in these axes together; their product stands for an index that is dropped."""
    static: np.ndarray[Any, Any] | None = None
    """The positions, if they are known."""
    valid: Value | None = None
    """Which indices are in range; None if all are."""

    @staticmethod
    def of(value: Value, index: Any, mode: str | None, reads: bool = False) -> _Place:
        """That of `value[index]`; indices that are out of range are clamped to read, or in mode clip, else dropped."""
        import numpy as np

        value, *given = in_one_graph(
            [value, *(cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,))]
        )
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
        slices: list[range] = []
        shape: list[int] = []
        taken: list[tuple[int, Any, int]] = []
        for part in parts:
            if part is None:
                shape.append(1)
                continue
            extent = value.shape[len(slices)]
            whole = range(extent)
            if isinstance(part, slice):
                slices.append(whole[_bounds(part)])
                shape.append(len(slices[-1]))
            elif is_array(part) or hasattr(part, "numbers"):
                if getattr(part, "extent", extent) != extent:
                    raise GraphIndexError(f"a mask of extent {part.extent} cannot index an axis of extent {extent}")
                taken.append((len(shape), getattr(part, "numbers", part), extent))
                slices.append(whole)
                shape.append(extent)
            elif mode is None or not hasattr(part, "__index__") or -extent <= int(part) < extent:
                at = position(part, extent)
                slices.append(range(at, at + 1))
            else:
                taken.append((len(shape), np.asarray(int(part)), extent))
                slices.append(whole)
                shape.append(extent)
        if not taken:
            return _Place(value, tuple(slices), tuple(shape), (), 0)
        target = taken[0][0] if are_neighbours(parts) else 0
        clamped = reads or mode in ("clip", "promise_in_bounds")
        place = _Place(value, tuple(slices), tuple(shape), tuple(axis for axis, _, _ in taken), target)
        return place._indexed([(indices, extent) for _, indices, extent in taken], mode, clamped)

    def _indexed(self, taken: Sequence[tuple[Any, int]], mode: str | None, clamped: bool) -> _Place:
        """With the indices of the axes in one number."""
        import numpy as np

        static = not any(is_value(indices) for indices, _ in taken)
        b = self.value.b
        found: Any = np.int64(0) if static else b.constant(0, "i64")
        valid: Any = np.True_ if static else b.constant(True)
        try:
            shape = broadcast_shapes(*(tuple(indices.shape) for indices, _ in taken))
        except VerifyException as error:
            raise GraphIndexError(f"index arrays: {error}") from None
        for indices, extent in taken:
            kind = element_of(indices.ssa) if is_value(indices) else constants.element_type(indices.dtype)
            if kind not in INTS:
                raise GraphTypeError(f"expected an array of integers as index, got one of {indices.dtype}")
            if isinstance(indices, np.ndarray):
                wide = indices.astype(np.int64)
                outside = wide[(wide < -extent) | (wide >= extent)]
                if outside.size and mode is None:
                    raise GraphIndexError(f"index {outside[0]} is out of range for an axis of extent {extent}")
                one: Any = wide if static else b.constant(wide)
            else:
                one = indices.cast("i64")
            one = np.where(one < 0, one + extent, one)
            inside = (one >= 0) & (one < extent)
            found = found * extent + np.clip(one, 0, max(extent - 1, 0))
            valid = valid & inside
        whole = prod(extent for _, extent in taken)
        if not clamped:
            found = np.where(valid, found, whole)
        if static:
            numbers = np.broadcast_to(np.asarray(found), shape)
            everywhere = bool(np.all(valid))
            mask = None if everywhere else b.constant(np.broadcast_to(np.asarray(valid), shape))
            return _Place(
                *(self.value, self.slices, self.shape, self.axes, self.target), b.constant(numbers), numbers, mask
            )
        at, mask = b.expand(found, shape), b.expand(valid, shape)
        return _Place(self.value, self.slices, self.shape, self.axes, self.target, at, None, mask)

    @property
    def _extent(self) -> int:
        return prod(self.shape[axis] for axis in self.axes)

    @property
    def _moved_shape(self) -> tuple[int, ...]:
        rest = [n for axis, n in enumerate(self.shape) if axis not in self.axes]
        return (*rest[: self.target], *(self.shape[axis] for axis in self.axes), *rest[self.target :])

    @property
    def _flat_shape(self) -> tuple[int, ...]:
        """With one axis for all that arrays index."""
        moved, end = self._moved_shape, self.target + len(self.axes)
        return (*moved[: self.target], self._extent, *moved[end:])

    def _flat(self) -> Value:
        b, value = self.value.b, self.value
        for axis, positions in enumerate(self.slices):
            value = value[(*(slice(None),) * axis, _as_slice(positions))]
        value = b.reshape(value, self.shape)
        if not self.axes:
            return value
        moved = b.moveaxis(value, self.axes, tuple(range(self.target, self.target + len(self.axes))))
        return b.reshape(moved, self._flat_shape)

    def read(self) -> Value:
        """The elements at the index."""
        flat = self._flat()
        return flat if self.at is None else flat.b.gather(flat, self.at, self.target)

    def of_result(self, x: Value, found: Value) -> Value:
        """Something of each index, for the shape of what is found there."""
        return x.b.reshape(x, (*x.shape, *(1,) * (found.rank - self.target - x.rank)))

    def updated(self, kind: str, values: Value) -> Value:
        """The value with other elements at the index."""
        b, flat = self.value.b, self._flat()
        indices = () if self.at is None else self.at.shape
        target, rest = self.target, self._flat_shape[self.target + 1 :] if self.axes else ()
        shape = (*flat.shape[:target], *indices, *rest) if self.axes else flat.shape
        try:
            values = b.expand(values, shape)
        except (VerifyException, GraphError):
            raise GraphError(
                f"x.at[i]: updates of shape {dims(values.shape)} do not broadcast to x[i] of shape {dims(shape)}"
            ) from None
        if self.at is None:
            after = _combined(kind, flat, values)
        else:
            count = prod(indices)
            values = b.reshape(values, (*flat.shape[:target], count, *rest))
            static = None if self.static is None else self.static.reshape(-1)
            after = scattered(b, kind, flat, values, b.reshape(self.at, (count,)), static, target)
        if self.axes:
            after = b.reshape(after, self._moved_shape)
            after = b.moveaxis(after, tuple(range(target, target + len(self.axes))), self.axes)
        return self._put_back(after)

    def _put_back(self, after: Value) -> Value:
        """The value with other slices."""
        b = self.value.b
        after = b.reshape(after, tuple(map(len, self.slices)))
        before = [self.value]
        for axis, positions in enumerate(self.slices[:-1]):
            before.append(before[-1][(*(slice(None),) * axis, _as_slice(positions))])
        for axis in reversed(range(len(self.slices))):
            after = _placed(before[axis], after, axis, self.slices[axis])
        return after


def _bounds(part: slice) -> slice:
    if any(hasattr(one, "ssa") for one in (part.start, part.stop, part.step)):
        raise GraphTypeError(
            "a slice has bounds that are Python's integers: rlx.dynamic_update_slice takes a start that is a value"
        )
    return part


def _as_slice(positions: range) -> slice:
    if not positions:
        return slice(0, 0)
    stop = positions[-1] + (1 if positions.step > 0 else -1)
    return slice(positions.start, None if stop < 0 else stop, positions.step)


def _placed(before: Value, after: Value, axis: int, positions: range) -> Value:
    """Slices of an axis put in the place of those at some positions."""
    import numpy as np

    b, extent = before.b, before.shape[axis]
    if not positions:
        return before
    if positions == range(extent):
        return after
    if positions.step < 0:
        after, positions = b.flip(after, axis), positions[::-1]
    if positions.step == 1 or len(positions) == 1:
        end = positions.start + len(positions)
        parts = [b.narrow(before, axis, 0, positions.start), after, b.narrow(before, axis, end, extent - end)]
        return b.concat([part for part in parts if part.shape[axis]], axis)
    numbers, mask = np.zeros(extent, np.int64), np.zeros(extent, bool)
    numbers[positions], mask[positions] = np.arange(len(positions)), True
    spread = b.gather(after, b.constant(numbers), axis)
    return b.where(b.reshape(b.constant(mask), (extent, *(1,) * (before.rank - axis - 1))), spread, before)


def scattered(
    b: MirBuilder,
    kind: str,
    flat: Value,
    values: Value,
    at: Value,
    static: np.ndarray[Any, Any] | None,
    axis: int,
    unique: bool = False,
) -> Value:
    """
    Updates along an axis at positions from 0 to its extent, where those at the extent are dropped.

    With `unique`, no two positions are equal, except for those that are dropped.
    """
    extent, count = flat.shape[axis], at.shape[0]
    if not extent or not count:
        return flat
    match kind:
        case "add":
            return flat + b.narrow(b.scatter_add(values, at, extent + 1, axis), axis, 0, extent)
        case "multiply" | "divide":
            product = segment_product(b, b.moveaxis(values, axis, 0), at, extent)
            return _combined(kind, flat, b.moveaxis(product, 0, axis))
        case "min" | "max":
            found = segment_extreme(b, b.moveaxis(values, axis, 0), at, extent, smallest=kind == "min")
            return _combined(kind, flat, b.moveaxis(found, 0, axis))
        case _:
            return _last_set(b, flat, values, at, static, axis, unique)


def _last_set(
    b: MirBuilder,
    flat: Value,
    values: Value,
    at: Value,
    static: np.ndarray[Any, Any] | None,
    axis: int,
    unique: bool = False,
) -> Value:
    """Each element of the axis, or the last update of it; with `unique`, there is at most one."""
    import numpy as np

    extent, count = flat.shape[axis], at.shape[0]
    if static is not None:
        numbers, mask = np.zeros(extent + 1, np.int64), np.zeros(extent + 1, bool)
        for number, position in enumerate(static):
            numbers[position], mask[position] = number, True
        winner, touched = b.constant(numbers[:extent]), b.constant(mask[:extent])
    elif count == 1:
        winner, touched = b.constant(np.zeros(extent, np.int64)), b.constant(np.arange(extent)) == at
    elif unique:
        numbers = b.constant(np.arange(1, count + 1))
        found = b.narrow(b.scatter_add(numbers, at, extent + 1), 0, 0, extent)
        winner, touched = b.max(found - 1, 0), found > 0
    else:
        order = argsort(b, at)
        ordered = b.gather(at, order)
        last = b.narrow(ordered, 0, 1, count - 1) != b.narrow(ordered, 0, 0, count - 1)
        ends = b.concat([last, b.constant(np.ones(1, bool))], 0)
        places = b.where(ends, ordered, extent)
        winner = b.narrow(b.scatter_add(order, places, extent + 1), 0, 0, extent)
        touched = b.narrow(b.scatter_add(b.cast(ends, "i32"), places, extent + 1), 0, 0, extent) > 0
    picked = b.gather(values, winner, axis)
    return b.where(b.reshape(touched, (extent, *(1,) * (flat.rank - axis - 1))), picked, flat)
