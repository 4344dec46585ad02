"""NumPy's functions of shapes, indices and products on values of a graph; the others are in `numpy_elements.py`.

Most are builder methods, which have NumPy's names and arguments; here is what NumPy does differently.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.dialects.mir.numpy_elements import FUNCTIONS, Function, as_floats, as_value, row
from xdsl_rlx.dialects.mir.promotion import Kind, innermost, together
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import normalize_axis


def of_builder(name: str, method: str | None = None) -> None:
    """Have a function of NumPy's be a builder method with its arguments, of the same name unless another is given."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(innermost([x, *args]), call.__name__)(x, *args, **kwargs)

    call.__name__ = method or name.rpartition(".")[-1]
    row(name)(call)


def of_operands(name: str, kind: Kind = Kind.AS_IS) -> None:
    """The same of a function of two arrays, which are brought to one element type."""

    def call(a: Operand, b: Operand, *args: Any, **kwargs: Any) -> Any:
        builder, (left, right), _ = together([a, b], kind)
        left, right = as_value(left, a, b), as_value(right, a, b)
        return getattr(builder, call.__name__)(left, right, *args, **kwargs)

    call.__name__ = name.rpartition(".")[-1]
    row(name)(call)


for _name in (
    *("argmax", "argmin", "argsort", "broadcast_to", "diagonal", "expand_dims", "flip", "linalg.cholesky"),
    *("linalg.det", "linalg.eigh", "linalg.inv", "linalg.slogdet", "moveaxis", "ravel", "repeat", "roll", "sort"),
    *("split", "squeeze", "swapaxes", "take_along_axis", "tile", "trace", "tril", "triu"),
):
    of_builder(_name)
for _name in ("dot", "inner", "kron", "outer", "searchsorted", "tensordot", "vdot"):
    of_operands(_name)
of_builder("array_split", "split")


@row("reshape")
def _reshape(x: Value, shape: int | Sequence[int]) -> Value:
    """The elements in another shape, one of whose dimensions may be -1."""
    return x.b.reshape(x, (shape,) if isinstance(shape, int) else shape)


@row("transpose", "permute_dims")
def _transpose(x: Value, axes: Sequence[int] | None = None) -> Value:
    """The axes in another order, by default reversed."""
    axes = range(x.rank)[::-1] if axes is None else [normalize_axis(axis, x.rank) for axis in axes]
    return x.b.transpose(x, tuple(axes))


@row("concatenate", "concat")
def _concatenate(arrays: Sequence[Operand], axis: int | None = 0) -> Value:
    """Arrays one behind the other along an axis; with None, all elements."""
    builder, parts = _of_one_type(arrays)
    if axis is None:
        return builder.concat([builder.ravel(x) for x in parts], 0)
    return builder.concat(parts, axis)


@row("stack")
def _stack(arrays: Sequence[Operand], axis: int = 0) -> Value:
    """Arrays of one shape along a new axis."""
    builder, parts = _of_one_type(arrays)
    return builder.stack(parts, axis)


@row("vstack")
def _vstack(arrays: Sequence[Operand]) -> Value:
    """Rows one below the other."""
    _, parts = _of_one_type(arrays)
    return _concatenate([x.reshape(1, -1) if x.rank < 2 else x for x in parts], 0)


@row("hstack")
def _hstack(arrays: Sequence[Operand]) -> Value:
    """Columns one beside the other."""
    _, parts = _of_one_type(arrays)
    parts = [x.reshape(1) if x.rank == 0 else x for x in parts]
    return _concatenate(parts, 0 if parts[0].rank == 1 else 1)


def _of_one_type(arrays: Sequence[Operand]) -> tuple[Any, list[Value]]:
    builder, converted, _ = together(list(arrays))
    return builder, [as_value(x, *arrays) for x in converted]


@row("pad")
def _pad(x: Value, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Value:
    """With numbers around; of NumPy's modes there is "constant"."""
    if mode != "constant":
        raise GraphTypeError(f"np.pad with mode {mode!r} does not take a value of a graph; with 'constant' it does")
    return x.b.pad(x, pad_width, constant_values=constant_values)


@row("take")
def _take(x: Value, indices: Any, axis: int | None = None) -> Value:
    """Slices along an axis by their numbers; with None, of all elements."""
    if axis is None:
        return x.b.ravel(x)[indices]
    return x[(slice(None),) * normalize_axis(axis, x.rank) + (indices,)]


@row("cumsum")
def _cumsum(x: Value, axis: int | None = None) -> Value:
    """Sums of all elements so far along an axis; with None, of all elements."""
    x = x.b.accumulated(x)
    return x.b.cumsum(x.b.ravel(x), 0) if axis is None else x.b.cumsum(x, axis)


@row("cumprod")
def _cumprod(x: Value, axis: int | None = None) -> Value:
    """Products of all elements so far along an axis; with None, of all elements."""
    return x.b.cumprod(x.b.ravel(x), 0) if axis is None else x.b.cumprod(x, axis)


@row("diff")
def _diff(x: Value, n: int = 1, axis: int = -1) -> Value:
    """Differences of neighbours along an axis, so often."""
    for _ in range(n):
        extent = x.shape[normalize_axis(axis, x.rank)]
        x = x.b.narrow(x, axis, 1, extent - 1) - x.b.narrow(x, axis, 0, extent - 1)
    return x


@row("linalg.norm")
def _norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """The norm of vectors or matrices, in floats; its slope at 0 is 0."""
    x = as_floats(x)
    return x.b.norm(x, ord, axis, keepdims)


@row("linalg.solve")
def _solve(a: Operand, b: Operand) -> Value:
    """`x` with `a @ x = b`: a vector, or a matrix whose columns are solved for one by one."""
    builder, (left, right), _ = together([a, b], Kind.FLOATS)
    left, right = as_value(left, a, b), as_value(right, a, b)
    if right.rank == left.rank - 1:
        return builder.dense_solve(left, right)
    columns = builder.swapaxes(right, -1, -2)
    each = [builder.dense_solve(left, columns[(Ellipsis, n, slice(None))]) for n in range(columns.shape[-2])]
    return builder.stack(each, -1)


@row("linalg.qr")
def _qr(a: Value, mode: str = "reduced") -> Any:
    """Orthonormal columns and a triangle; of NumPy's modes there is "reduced"."""
    if mode != "reduced":
        raise GraphTypeError(
            f"np.linalg.qr with mode {mode!r} does not take a value of a graph; with 'reduced' it does"
        )
    return a.b.qr(a)


@row("linalg.svd")
def _svd(a: Value, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular vectors and values; vectors that no value belongs to there are not."""
    if compute_uv and full_matrices and a.shape[-1] != a.shape[-2]:
        raise GraphTypeError("np.linalg.svd of a value that is not square is reduced: pass full_matrices=False")
    u, s, v = a.b.svd(a)
    return (u, s, v) if compute_uv else s


@row("einsum")
def _einsum(subscripts: str, *operands: Operand) -> Value:
    """Sums of products, said by letters for axes."""
    builder, converted, _ = together(operands)
    return builder.einsum(subscripts, *converted)


_PROPERTIES: dict[str, Function] = {
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.rank,
    "size": lambda x: prod(x.shape),
    "copy": lambda x: x,
    "atleast_1d": lambda x: x.reshape(1) if x.rank == 0 else x,
    "atleast_2d": lambda x: x.reshape(1, -1) if x.rank < 2 else x,
}
FUNCTIONS.update(_PROPERTIES)
