"""Functions whose results have as many elements as the data asks for in NumPy, with a size that is given instead.

Names and arguments are those of `jax.numpy`. Elements beyond the size are dropped; missing ones are filled.
"""

# What NumPy is called with is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import argsort
from xdsl_rlx.dialects.mir.segments import segment_total
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import INTS, dims, element_of, i1
from xdsl_rlx.graph_methods import sorting
from xdsl_rlx.tracing import builder_of

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder

__all__ = [
    "argwhere",
    "bincount",
    "flatnonzero",
    "histogram",
    "intersect1d",
    "nonzero",
    "setdiff1d",
    "union1d",
    "unique",
]


@composite
def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """
    Return the indices of the elements that are not 0: an i64 vector of `size` elements for each axis; as `jax.numpy`.

    They are in row-major order. Further elements are dropped; indices without an element are `fill_value`, a number or
    a tuple with one for each axis, by default 0. Raises GraphError for a scalar, and for a negative size.
    """
    b, x = _value("nonzero", "a", a)
    if not x.rank:
        raise GraphError("nonzero: a: expected at least one axis, got a scalar; reshape it to (1,)")
    count = _size("nonzero", size)
    fills = fill_value if isinstance(fill_value, tuple | list) else [0 if fill_value is None else fill_value] * x.rank
    if len(fills) != x.rank:
        raise GraphError(f"nonzero: fill_value: expected one for each of {x.rank} axes, got {len(fills)}")
    flat = x.ravel()
    at, found = _places(b, flat if element_of(x.ssa) == i1 else flat != 0, count)
    indices = np.unravel_index(np.arange(0), x.shape) if not x.size else _unravelled(at, x.shape)
    return tuple(np.where(found, index, fill) for index, fill in zip(indices, fills, strict=True))


@composite
def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the i64 indices, in the flattened `a`, of the elements that are not 0; see `nonzero`."""
    return nonzero(_value("flatnonzero", "a", a)[1].ravel(), size=size, fill_value=fill_value)[0]


@composite
def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the indices of the elements that are not 0 as i64 rows `[size, axes]`; see `nonzero`."""
    return np.stack(nonzero(a, size=size, fill_value=fill_value), axis=-1)


@composite
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """
    Return the `size` smallest distinct elements of the flattened `ar`, in ascending order; as `jax.numpy.unique`.

    Elements that are left over are `fill_value`, by default the smallest element. With the flags, returns a tuple with
    these behind it: the index in the flattened `ar` of the first element of each value, the number of the value of each
    element of `ar`, in its shape, and how many elements have the value, 0 for one that is left over. NaN is one value,
    the last. Raises GraphError for an empty array unless `size` is 0.
    """
    b, x = _value("unique", "ar", ar)
    count = _size("unique", size)
    flat = x.ravel()
    if not x.size and count:
        raise GraphError("unique: ar: expected at least one element, got an empty array")
    order = argsort(b, flat)
    line = b.gather(flat, order)
    first = _starts(b, line)
    at, found = _places(b, first, count)
    values = b.gather(line, at) if x.size else line
    results: list[Any] = [values if fill_value is None else np.where(found, values, _typed(b, fill_value, x))]
    number = b.cumsum(first) - 1
    if return_index:
        results.append(b.gather(order, at) if x.size else order)
    if return_inverse:
        results.append(b.scatter_add(number, order, flat.shape[0]).reshape(x.shape) if x.size else order)
    if return_counts:
        ids = b.where(number < count, number, count)
        results.append(segment_total(b, b.full(ids.shape, 1, "i64"), ids, count))
    return tuple(results) if len(results) > 1 else results[0]


@composite
def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the `size` smallest distinct elements of both arrays, in ascending order; see `unique`."""
    _, one = _value("union1d", "ar1", ar1)
    _, two = _value("union1d", "ar2", ar2)
    return unique(np.concatenate([one.ravel(), two.ravel()]), size=size, fill_value=fill_value)


@composite
def intersect1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """
    Return the `size` smallest distinct elements that are in both arrays, in ascending order; as `jax.numpy`.

    Elements that are left over are `fill_value`, by default the smallest element of the result; if that is empty, they
    are the smallest element of `ar1`.
    """
    return _of_first("intersect1d", ar1, ar2, size, fill_value, True)


@composite
def setdiff1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """
    Return the `size` smallest distinct elements of `ar1` that are not in `ar2`, in ascending order; as `jax.numpy`.

    Elements that are left over are `fill_value`, by default 0.
    """
    return _of_first("setdiff1d", ar1, ar2, size, 0 if fill_value is None else fill_value, False)


def _of_first(name: str, ar1: Any, ar2: Any, size: int | None, fill_value: Any, both: bool) -> Any:
    """Distinct elements of the first array that are in the second one too, or that are not."""
    b, x = _value(name, "ar1", ar1)
    _, other = _value(name, "ar2", ar2)
    count = _size(name, size)
    if not x.size and count:
        raise GraphError(f"{name}: ar1: expected at least one element, got an empty array")
    line = sorting.sort(b, x.ravel())
    kept = _starts(b, line) & (np.isin(line, other) == both)
    at, found = _places(b, kept, count)
    values = b.gather(line, at) if x.size else line
    fill = values[:1] if fill_value is None else _typed(b, fill_value, x)
    return np.where(found, values, fill)


@composite
def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """
    Return `result[i] = number of elements of x that are i`, for `i` below `length`; as `jax.numpy.bincount`.

    With `weights`, an array like `x`, it is the sum of the weights of these elements. `x` is a vector of integers;
    negative ones count as 0, and those of at least `length` are dropped. `length` is needed, since a result has a
    shape that does not depend on data; `minlength` is a lower bound of it. Raises GraphError for another `x` or
    `weights`.
    """
    b, ids = _value("bincount", "x", x)
    if length is None:
        raise GraphError("bincount: length: expected an integer, the number of bins, got None; pass the largest x + 1")
    count = max(_size("bincount", length, "length"), _size("bincount", minlength, "minlength"))
    if ids.rank != 1 or element_of(ids.ssa) not in INTS:
        raise GraphError(f"bincount: x: expected a vector of integers, got {ids.type}")
    each = b.full(ids.shape, 1, "i64") if weights is None else _value("bincount", "weights", weights)[1]
    if each.shape != ids.shape:
        raise GraphError(f"bincount: weights: expected shape {dims(ids.shape)}, as x, got {dims(each.shape)}")
    at = ids if ids.dtype == "i32" and count < 1 << 31 else ids.astype(np.int64)
    return segment_total(b, each, b.where(at < 0, 0, b.where(at < count, at, count)), count)


@composite
def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> Any:
    """Return the counts of the elements of `a` between edges, and the edges, as `np.histogram`, which is the same."""
    return np.histogram(_value("histogram", "a", a)[1], bins, range, density, weights)


def _value(function: str, name: str, x: Any) -> tuple[MirBuilder, Value]:
    b = builder_of(x)
    assert b is not None
    try:
        return b, b.value(b.operand(x))
    except GraphError as error:
        raise GraphError(f"{function}: {name}: {error}") from None


def _size(function: str, size: Any, name: str = "size") -> int:
    if size is None:
        raise GraphError(f"{function}: {name}: expected an integer, the number of elements of the result, got None")
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise GraphError(f"{function}: {name}: expected an integer of at least 0, got {shown(size)}")
    return int(size)


def _places(b: MirBuilder, mask: Value, count: int) -> tuple[Value, Value]:
    """The indices of the first `count` elements that are true, 0 where there are no more, and whether there are."""
    total = b.cumsum(mask)
    ids = b.where(mask & (total <= count), total - 1, count)
    at = segment_total(b, b.iota(mask.shape[0]), ids, count)
    return at, b.iota(count) < mask.sum()


def _unravelled(at: Value, shape: tuple[int, ...]) -> list[Value]:
    found: list[Value] = []
    for extent in reversed(shape[1:]):
        found.append(at % extent)
        at = at // extent
    return [at, *reversed(found)]


def _starts(b: MirBuilder, line: Value) -> Value:
    """Which elements of a sorted vector differ from the one before; NaN does not differ from NaN."""
    if not line.shape[0]:
        return b.full((0,), False, "i1")
    before, after = line[:-1], line[1:]
    differ = (before != after) & ~((before != before) & (after != after))
    return np.concatenate([np.ones(1, np.bool_), differ])  # pyright: ignore[reportReturnType]


def _typed(b: MirBuilder, fill: Any, x: Value) -> Value:
    return fill.astype(x.dtype) if isinstance(fill, Value) else b.constant(fill, x.dtype)
