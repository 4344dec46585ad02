"""NumPy's functions that join arrays and part them, on values of a graph: `np.concatenate`, `np.block`, `np.split`."""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from math import prod
from typing import Any

from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir import compositions
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import integers, normalize_axis
from xdsl_rlx.frontends.numpy.rows import as_value, composed, of_one_type, row
from xdsl_rlx.frontends.numpy.shapes import of_rank, take
from xdsl_rlx.graph_methods import moves


@row("concatenate", "concat")
def concatenate(
    arrays: Any, axis: int | None = 0, out: None = None, *, dtype: object = None, casting: str = "same_kind"
) -> Value:
    """Arrays one behind the other along an axis; with None, all elements."""
    parts = of_one_type(list(arrays))
    parts = parts if dtype is None else [x.astype(dtype) for x in parts]
    if axis is None:
        return parts[0].b.concat([x.b.ravel(x) for x in parts], 0)
    return parts[0].b.concat(parts, axis)


@row("stack")
def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: object = None, casting: str = "same_kind") -> Value:
    """Arrays of one shape along a new axis."""
    parts = of_one_type(list(arrays))
    return composed(compositions.stack, parts[0].b, parts if dtype is None else [x.astype(dtype) for x in parts], axis)


@row("vstack")
def _vstack(tup: Any, *, dtype: object = None, casting: str = "same_kind") -> Value:
    """Rows one below the other."""
    return concatenate([of_rank(x, 2) for x in of_one_type(list(tup))], 0, dtype=dtype)


@row("hstack")
def _hstack(tup: Any, *, dtype: object = None, casting: str = "same_kind") -> Value:
    """Columns one beside the other."""
    parts = [of_rank(x, 1) for x in of_one_type(list(tup))]
    return concatenate(parts, 0 if parts[0].rank == 1 else 1, dtype=dtype)


@row("dstack")
def _dstack(tup: Any) -> Value:
    """Matrices one behind the other."""
    return concatenate([of_rank(x, 3) for x in of_one_type(list(tup))], 2)


@row("column_stack")
def _column_stack(tup: Any) -> Value:
    """Columns, where a vector is one."""
    return concatenate([of_rank(x, 1)[:, None] if x.rank < 2 else x for x in of_one_type(list(tup))], 1)


@row("append")
def _append(arr: Operand, values: Operand, axis: int | None = None) -> Value:
    """One array behind another; without an axis, all elements."""
    return concatenate([arr, values], axis)


@row("block")
def _block(arrays: Any) -> Value:
    """Nested lists of blocks, the innermost along the last axis."""

    def depth(part: Any) -> int:
        return 1 + max(depth(one) for one in part) if isinstance(part, list) else 0

    def flat(part: Any) -> list[Any]:
        return [leaf for one in part for leaf in flat(one)] if isinstance(part, list) else [part]

    leaves = of_one_type(flat(arrays))
    rank = max(depth(arrays), *(x.rank for x in leaves))
    rest = iter([x.reshape((1,) * (rank - x.rank) + x.shape) for x in leaves])

    def put(part: Any, axis: int) -> Value:
        return concatenate([put(one, axis + 1) for one in part], axis) if isinstance(part, list) else next(rest)

    return put(arrays, rank - depth(arrays))


@row("unstack")
def _unstack(x: Value, *, axis: int = 0) -> tuple[Value, ...]:
    """What lies along an axis, one by one."""
    return tuple(x.b.moveaxis(x, axis, 0))


@row("split")
def split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Equal parts along an axis, or those that end at some positions."""
    return list(composed(moves.split, ary.b, ary, indices_or_sections, axis))


@row("array_split")
def _array_split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """As `np.split`, of which the first parts may be longer by one."""
    if not hasattr(indices_or_sections, "__index__"):
        return split(ary, indices_or_sections, axis)
    (count,) = integers("array_split", indices_or_sections)
    extent = ary.shape[normalize_axis(axis, ary.rank)]
    if count < 1:
        raise GraphError(f"np.array_split: expected at least one section, got {count}")
    sizes = [extent // count + (part < extent % count) for part in range(count)]
    return split(ary, [sum(sizes[:part]) for part in range(1, count)], axis)


def _split_along(name: str, axis: int) -> None:
    @row(name)
    def found(ary: Value, indices_or_sections: Any) -> list[Value]:
        return split(ary, indices_or_sections, 0 if ary.rank == 1 and name == "hsplit" else axis)

    found.__doc__ = f"`np.split` along axis {axis}."


for _axis, _name in enumerate(("vsplit", "hsplit", "dsplit")):
    _split_along(_name, _axis)


@row("delete")
def _delete(arr: Value, obj: Any, axis: int | None = None) -> Value:
    """Without some slices along an axis."""
    import numpy as np

    if isinstance(obj, Value):
        raise GraphTypeError(
            "np.delete: expected static positions, got a traced value; the shape of the result depends on them"
        )
    extent = prod(arr.shape) if axis is None else arr.shape[normalize_axis(axis, arr.rank)]
    return take(arr, np.delete(np.arange(extent), obj), axis)


@row("insert")
def _insert(arr: Operand, obj: int, values: Any, axis: int | None = None) -> Value:
    """With slices in front of one position along an axis."""
    x = as_value(arr, values)
    new = as_value(values, x).astype(x.dtype)
    (at,) = integers("insert", obj)
    x, axis = (x.b.ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.rank))
    extent = x.shape[axis]
    if not -extent <= at <= extent:
        raise GraphError(f"np.insert: position {at} is out of range for an axis of extent {extent}")
    new = x.b.moveaxis(new.reshape((1,) * max(x.rank - new.rank, 0) + new.shape), 0, axis)
    new = x.b.expand(new, (*x.shape[:axis], new.shape[axis], *x.shape[axis + 1 :]))
    at = at + extent if at < 0 else at
    return x.b.concat([x.b.narrow(x, axis, 0, at), new, x.b.narrow(x, axis, at, extent - at)], axis)
