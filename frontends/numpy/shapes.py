"""NumPy's functions of shapes, and those that join, move and take elements, on values of a graph.

Most are builder methods, which have NumPy's names; here is what NumPy does differently.
"""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir import compositions
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.promotion import values_of
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, broadcast_shapes, element_of, integers, normalize_axis
from xdsl_rlx.frontends.numpy.rows import FUNCTIONS, Axis, as_value, check_rank, composed, of_one_type, row
from xdsl_rlx.graph_methods import moves, sorting


def _same(function: Callable[..., Value], first: str) -> None:
    """Have a function of NumPy's, whose first parameter has a name of its own, be that of a builder of its name."""

    def call(x: Value, *args: Any, **kwargs: Any) -> Any:
        return composed(function, x.b, x, *args, **kwargs)

    _, given, *rest = inspect.signature(function).parameters.values()
    vars(call)["__signature__"] = inspect.Signature([given.replace(name=first, annotation=Value), *rest])
    call.__doc__ = function.__doc__
    row(function.__name__)(call)


for _first, _functions in {
    "a": (
        *(MirBuilder.expand_dims, MirBuilder.moveaxis, MirBuilder.squeeze, MirBuilder.swapaxes),
        *(compositions.diagonal, compositions.repeat, moves.roll),
    ),
    "m": (MirBuilder.flip,),
    "array": (moves.broadcast_to,),
    "A": (moves.tile,),
}.items():
    for _function in _functions:
        _same(_function, _first)


@row("reshape")
def reshape(a: Value, shape: int | Sequence[int], order: str = "C", *, copy: bool | None = None) -> Value:
    """The elements in another shape, one of whose dimensions may be -1; by columns with the order "F"."""
    if order == "F":
        wanted = reshape(a, shape).shape
        return _transposed(reshape(_transposed(a), wanted[::-1]))
    return a.b.reshape(a, integers("reshape", shape))


def _transposed(x: Value) -> Value:
    return x.b.transpose(x, tuple(range(x.rank)[::-1]))


@row("ravel")
def _ravel(a: Value, order: str = "C") -> Value:
    """All elements in one dimension; by columns with the order "F"."""
    return reshape(a, -1, order) if a.shape != (0,) and prod(a.shape) else a.b.ravel(a)


@row("transpose", "permute_dims")
def _transpose(a: Value, axes: Sequence[int] | None = None) -> Value:
    """The axes in another order, by default reversed."""
    order = range(a.rank)[::-1] if axes is None else [normalize_axis(axis, a.rank) for axis in axes]
    return a.b.transpose(a, tuple(order))


@row("matrix_transpose", "linalg.matrix_transpose")
def _matrix_transpose(x: Value) -> Value:
    """The last two axes in each other's place."""
    return x.b.swapaxes(x, -1, -2)


def _triangle(function: Callable[..., Value]) -> None:
    """A row for one triangle of matrices, where a vector is each row of a matrix."""

    @row(function.__name__)
    def found(m: Value, k: int = 0) -> Value:
        check_rank(function.__name__, m, least=1)
        return composed(function, m.b, m if m.rank > 1 else m.b.expand(m, m.shape * 2), k)

    found.__doc__ = f"`{function.__name__}` of a graph."


for _function in (compositions.tril, compositions.triu):
    _triangle(_function)


@row("rollaxis")
def _rollaxis(a: Value, axis: int, start: int = 0) -> Value:
    """One axis in front of another."""
    axis = normalize_axis(axis, a.rank)
    start = start + a.rank if start < 0 else start
    return a.b.moveaxis(a, axis, start - 1 if axis < start else start)


def of_rank(x: Value, rank: int) -> Value:
    """With axes of extent 1 as `np.atleast_1d` and its like put them: of three, one is behind."""
    if x.rank >= rank:
        return x
    shape = {0: (1,) * rank, 1: (*(1,) * (rank > 1), *x.shape, *(1,) * (rank > 2)), 2: (*x.shape, 1)}
    return x.reshape(shape[x.rank])


def _atleast(name: str, rank: int) -> None:
    @row(name)
    def found(*arys: Any) -> Any:
        parts = tuple(of_rank(as_value(x, *arys), rank) for x in arys)
        return parts[0] if len(parts) == 1 else parts

    found.__doc__ = f"With at least {rank} axes."


for _rank in (1, 2, 3):
    _atleast(f"atleast_{_rank}d", _rank)


@row("broadcast_arrays")
def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Value, ...]:
    """Arrays in the shape that they have together."""
    parts = [as_value(x, *args) for x in args]
    shape = broadcast_shapes(*(x.shape for x in parts))
    return tuple(x.b.expand(x, shape) for x in parts)


@row("fliplr")
def _fliplr(m: Value) -> Value:
    """The last column first."""
    return m.b.flip(m, 1)


@row("flipud")
def _flipud(m: Value) -> Value:
    """The last row first."""
    return m.b.flip(m, 0)


@row("rot90")
def _rot90(m: Value, k: int = 1, axes: Sequence[int] = (0, 1)) -> Value:
    """A quarter turn from the first of two axes towards the second, `k` times."""
    first, second = axes
    turned = m if k % 4 in (0, 1) else m.b.flip(m, axes if k % 4 == 2 else first)
    if k % 2 == 0:
        return turned
    turned = m.b.flip(m, second) if k % 4 == 1 else turned
    return m.b.swapaxes(turned, first, second)


_MOST_RUNS = 8
"""Slices up to which a concatenation of them is made in place of a gather."""


def _taken(x: Value, places: Sequence[int], axis: int) -> Value:
    """The slices along an axis with these numbers: where they are few runs, a concatenation, which is faster."""
    runs: list[list[int]] = []
    for place in places:
        run = runs[-1] if runs else []
        if run and (abs(place - run[-1]) <= 1 if len(run) == 1 else place - run[-1] == run[1] - run[0]):
            run.append(place)
        else:
            runs.append([place])
    if len(runs) > _MOST_RUNS:
        return take(x, list(places), axis)

    def piece(run: Sequence[int]) -> Value:
        if run[0] == run[-1]:
            shape = (*x.shape[:axis], len(run), *x.shape[axis + 1 :])
            return x.b.expand(x.b.narrow(x, axis, run[0], 1), shape)
        found = x.b.narrow(x, axis, min(run), len(run))
        return x.b.flip(found, axis) if run[0] > run[-1] else found

    pieces = [piece(run) for run in runs]
    return x.b.concat(pieces, axis) if len(pieces) > 1 else pieces[0] if pieces else x.b.narrow(x, axis, 0, 0)


_BY_INDEX = ("edge", "wrap", "reflect", "symmetric")


@row("pad")
def _pad(array: Value, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Value:
    """With numbers around, or with elements: the modes "constant", "edge", "wrap", "reflect" and "symmetric"."""
    import numpy as np

    x = array
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(axis, pad_width.get(axis - x.rank, 0)) for axis in range(x.rank)]
        pad_width = [(width, width) if isinstance(width, int) else width for width in pad_width]
    widths = np.broadcast_to(pad_width, (x.rank, 2)).tolist()
    if mode in _BY_INDEX:
        for axis, width in enumerate(widths):
            places = np.pad(np.arange(x.shape[axis]), width, mode)  # pyright: ignore[reportArgumentType, reportCallIssue]
            x = x if width == [0, 0] else _taken(x, places.tolist(), axis)
        return x
    if mode != "constant":
        raise GraphTypeError(
            f"np.pad with mode {mode!r} does not support traced values; it does with 'constant', 'edge', 'wrap', "
            "'reflect' and 'symmetric'"
        )
    numbers = np.broadcast_to(constant_values, (x.rank, 2)).astype(x.dtype.dtype).tolist()
    if len({number for pair in numbers for number in pair}) < 2:
        return composed(compositions.pad, x.b, x, widths, constant_values=numbers[0][0] if numbers else 0)
    for axis in range(x.rank):
        for side in (0, 1):
            only = [
                [width if (at, end) == (axis, side) else 0 for end, width in enumerate(pair)]
                for at, pair in enumerate(widths)
            ]
            x = composed(compositions.pad, x.b, x, only, constant_values=numbers[axis][side])
    return x


@row("resize")
def _resize(a: Value, new_shape: int | Sequence[int]) -> Value:
    """The elements in another shape, from the front again where there are not enough."""
    shape = integers("resize", new_shape)
    have, wanted = prod(a.shape), prod(shape)
    if not have:
        return a.b.full(shape, 0, a.dtype)
    line = composed(moves.tile, a.b, a.b.ravel(a), -(-wanted // have))
    return a.b.narrow(line, 0, 0, wanted).reshape(shape)


@row("take")
def take(a: Operand, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Value:
    """
    Slices along an axis by their numbers; with None, of all elements.

    With the mode "wrap" numbers are taken modulo the extent, with "clip" the nearest that there is. With "raise",
    those of a value that are outside are clamped, as in `x[indices]`.
    """
    import numpy as np

    x = as_value(a, indices)
    x, axis = (x.b.ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.rank))
    extent = x.shape[axis]
    if mode in ("wrap", "clip"):
        indices = indices if isinstance(indices, Value) else np.asarray(indices)
        indices = indices % extent if mode == "wrap" else np.clip(indices, 0, extent - 1)
    elif mode != "raise":
        raise GraphTypeError(f"np.take: expected the mode 'raise', 'wrap' or 'clip', got {mode!r}")
    return x[(slice(None),) * axis + (indices,)]


@row("take_along_axis")
def _take_along_axis(arr: Operand, indices: Any, axis: int | None = -1) -> Value:
    """One element of a line for each index that there is in this line; with axis None, of all elements in one row."""
    x, at = as_value(arr, indices), as_value(indices, arr)
    if axis is None:
        return composed(moves.take_along_axis, x.b, x.b.ravel(x), at, 0)
    return composed(moves.take_along_axis, x.b, x, at, axis)


@row("compress")
def _compress(condition: Any, a: Value, axis: int | None = None, out: None = None) -> Value:
    """Slices where a mask that is no value holds."""
    import numpy as np

    if isinstance(condition, Value):
        raise GraphTypeError(
            "np.compress: expected a static mask, got a traced value; the shape of the result depends on it"
        )
    return take(a, np.flatnonzero(condition), axis)


@row("diag")
def diag(v: Value, k: int = 0) -> Value:
    """A matrix with a vector on one diagonal, or the diagonal of a matrix."""
    if v.rank == 2:
        return composed(compositions.diagonal, v.b, v, k)
    check_rank("diag", v, 1, 2)
    line = composed(compositions.pad, v.b, v, (max(k, 0), max(-k, 0)))
    size = line.shape[0]
    b = v.b
    on = b.eq(b.reshape(b.iota(size), (size, 1)) + k, b.iota(size))
    return b.where(on, line, 0)


@row("diagflat")
def _diagflat(v: Value, k: int = 0) -> Value:
    """A matrix with all elements on one diagonal."""
    return diag(v.b.ravel(v), k)


@row("meshgrid")
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Value, ...]:
    """A grid of vectors: the coordinates of its points, one array for each axis."""
    lines = [as_value(x, *xi) for x in xi]
    count = len(lines)
    lines = [x.b.ravel(x).reshape([-1 if at == axis else 1 for at in range(count)]) for axis, x in enumerate(lines)]
    if indexing == "xy" and count > 1:
        lines = [x.b.swapaxes(x, 0, 1) for x in lines]
    return tuple(lines) if sparse else _broadcast_arrays(*lines)


@row("ix_")
def _ix(*args: Any) -> tuple[Any, ...]:
    """Indices that make up a grid."""
    return _meshgrid(*args, sparse=True, indexing="ij")


def _line_of(function: Callable[..., Value]) -> None:
    """A sort, and its like, whose algorithm NumPy may be told."""

    @row(function.__name__)
    def found(
        a: Value, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
    ) -> Value:
        if not a.rank and axis is not None:
            raise GraphError(f"np.{function.__name__}: expected an array to sort, got a scalar")
        return composed(function, a.b, a, axis)

    found.__doc__ = f"`{function.__name__}` of a graph, which is stable."


for _function in (sorting.sort, compositions.argsort):
    _line_of(_function)


@row("partition")
def _partition(a: Value, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> Value:
    """Sorted, which is one of the orders that a partition may have."""
    return composed(sorting.sort, a.b, a, axis)


@row("argpartition")
def _argpartition(a: Value, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> Value:
    """The positions of `partition`."""
    return composed(compositions.argsort, a.b, a, axis)


@row("searchsorted")
def _searchsorted(a: Operand, v: Operand, side: str = "left", sorter: None = None) -> Value:
    """Where elements would be put into an ascending vector."""
    if sorter is not None:
        raise GraphTypeError("np.searchsorted of a traced value does not support sorter=; pass a[sorter]")
    line, numbers = of_one_type([a, v])
    return composed(sorting.searchsorted, line.b, line, numbers, side)


@row("digitize")
def _digitize(x: Operand, bins: Operand, right: bool = False) -> Value:
    """The number of the bin, of those that ascending or descending bounds make, that an element is in."""
    import numpy as np

    side = "left" if right else "right"
    if not isinstance(bins, Value) and not values_of([bins]):
        known = np.asarray(bins)
        if known.ndim == 1 and known.size > 1 and known[0] > known[-1]:
            return known.size - _searchsorted(known[::-1], x, side)
        return _searchsorted(known, x, side)
    line, numbers = of_one_type([bins, x])
    check_rank("digitize", line, 1)
    if line.shape[0] < 2:
        return _searchsorted(line, numbers, side)
    b, falls = line.b, line[0] > line[-1]
    found = _searchsorted(b.where(falls, b.flip(line, 0), line), numbers, side)
    return b.where(falls, line.shape[0] - found, found)


def _like(name: str, number: int) -> None:
    @row(name)
    def found(
        a: Value,
        dtype: object = None,
        order: str = "K",
        subok: bool = True,
        shape: int | Sequence[int] | None = None,
        *,
        device: str | None = None,
    ) -> Value:
        return a.b.full(
            a.shape if shape is None else integers(name, shape), number, a.dtype if dtype is None else dtype
        )

    found.__doc__ = f"{number} everywhere, of the shape and by default of the element type of `a`."


_like("zeros_like", 0)
_like("ones_like", 1)


@row("empty_like")
def _empty_like(prototype: Value, *args: Any, **options: Any) -> Value:
    """As `np.zeros_like`, whose arguments it has."""
    return FUNCTIONS["zeros_like"](prototype, *args, **options)


@row("full_like")
def _full_like(
    a: Operand,
    fill_value: Any,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: str | None = None,
) -> Value:
    """One number throughout."""
    x = as_value(a, fill_value)
    number = as_value(fill_value, x).astype(x.dtype if dtype is None else dtype)
    return x.b.expand(number, x.shape if shape is None else integers("full_like", shape))


@row("copy")
def _copy(a: Value, order: str = "K", subok: bool = False) -> Value:
    """The same: values do not change."""
    return a


@row("astype")
def _astype(x: Value, dtype: object, /, *, copy: bool = True, device: None = None) -> Value:
    """In another element type."""
    return x.astype(dtype)


@row("shape")
def _shape(a: Value) -> tuple[int, ...]:
    """The extents of the axes."""
    return a.shape


@row("ndim")
def _ndim(a: Value) -> int:
    """The number of axes."""
    return a.rank


@row("size")
def _size(a: Value, axis: Axis = None) -> int:
    """The number of elements, or of those along some axes."""
    axes = range(a.rank) if axis is None else integers("size", axis)
    return prod(a.shape[normalize_axis(one, a.rank)] for one in axes)


@row("iscomplexobj")
def _iscomplexobj(x: Value) -> bool:
    """Whether elements are complex numbers."""
    return element_of(x.ssa) in COMPLEXES


@row("isrealobj")
def _isrealobj(x: Value) -> bool:
    """Whether elements are no complex numbers."""
    return element_of(x.ssa) not in COMPLEXES


@row("result_type")
def _result_type(*arrays_and_dtypes: Any) -> Any:
    """The element type that arrays have together."""
    import numpy as np

    return np.result_type(*(x.dtype.dtype if isinstance(x, Value) else x for x in arrays_and_dtypes))
