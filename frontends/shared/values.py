"""Tensors of the readers: traced values, and NumPy arrays that are constants until an operation needs a value."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.op_functions import function

_CATEGORIES = (
    ("i1",),
    ("u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64"),
    ("f16", "bf16", "f32", "f64"),
    ("c64", "c128"),
)


def is_tensor(x: Any) -> bool:
    """Whether an argument is a tensor."""
    return isinstance(x, Value | np.ndarray | np.generic)


def is_constant(*xs: Any) -> bool:
    """Whether all tensors are constants, which NumPy computes with."""
    return not any(isinstance(x, Value) for x in xs)


def dtype_of(x: Any) -> str:
    """The name of the element type of a tensor, whether traced or constant."""
    if isinstance(x, Value):
        return str(x.dtype)
    return str(constants.NAMED[constants.element_type(np.asarray(x).dtype)])


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a tensor, whether traced or constant."""
    return tuple(np.shape(x))


def category(dtype: str) -> int:
    """0 for booleans, 1 for integers, 2 for floating-point and 3 for complex types."""
    return next(number for number, names in enumerate(_CATEGORIES) if dtype in names)


def is_floating(x: Any) -> bool:
    """Whether the elements are floating-point numbers."""
    return category(dtype_of(x)) == 2


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's type of an element type."""
    return constants.NAMED[DTYPES[dtype]].dtype


def traced(x: Any, dtype: str | None = None) -> Any:
    """The tensor as a value of the graph that is traced; a constant becomes one, of this element type."""
    if isinstance(x, Value):
        return x
    array = np.asarray(x) if dtype is None else np.asarray(x).astype(numpy_dtype(dtype))
    repeated = tuple(axis for axis, n in enumerate(array.shape) if n > 1 and not array.strides[axis])
    if repeated and array.size:
        # what is repeated in memory is not copied into the constant
        first = array[tuple(slice(0, 1) if axis in repeated else slice(None) for axis in range(array.ndim))]
        if first.size == 1:
            return full(array.shape, first.item(), dtype_of(array))
        return np.broadcast_to(function("constant")(first.copy()), array.shape)
    return function("constant")(array)


def full(shape: tuple[int, ...], number: Any, dtype: str) -> Value:
    """A value of the graph that is traced, all of whose elements are one number."""
    return function("full")(tuple(shape), number, dtype)


def cast(x: Any, dtype: str) -> Any:
    """
    The tensor with another element type: float to integer truncates and saturates, NaN is 0, to i1 is `!= 0`.

    The imaginary part of a complex number is dropped.
    """
    if isinstance(x, Value):
        if x.dtype == dtype:
            return x
        if dtype == "i1":
            return x != 0
        if category(dtype_of(x)) == 3 and category(dtype) < 3:
            x = x.real
        return x.astype(numpy_dtype(dtype))
    array, target = np.asarray(x), numpy_dtype(dtype)
    if np.iscomplexobj(array) and category(dtype) < 3:
        array = array != 0 if dtype == "i1" else np.real(array)
    if category(dtype) == 1 and array.dtype.kind not in "biu":
        return _saturated(array, target)
    return array.astype(target)


def _saturated(array: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Floats as the nearest integers towards zero that the type has."""
    info, wide = np.iinfo(target), np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    # the largest 64-bit integer is no float: those of at least 2^63 are set apart
    above, below = wide >= float(info.max), wide <= float(info.min)
    inside = np.where(above | below, 0.0, np.trunc(wide)).astype(target)
    return np.where(above, info.max, np.where(below, info.min, inside)).astype(target)
