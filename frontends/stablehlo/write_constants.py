"""Elements of constants as the writer folds and shortens them: their bits, in NumPy's arrays."""

# Arrays of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

Elements: TypeAlias = "np.ndarray[Any, Any]"
"""Bits of the elements of a constant: unsigned integers of their width, or raw bytes of complex numbers."""

LARGEST_CONSTANT = 1 << 16
"""Elements of a range of numbers up to which the importer takes it for a constant."""

MOST_SHORTENED = 1 << 20
"""Bytes up to which a constant is shortened, and moved while it is written; the importer folds as many."""

_RANGES: dict[Attribute, str] = {f32: "f4", f64: "f8", i32: "i4", i64: "i8"}
"""Element types of ranges of numbers."""


def elements(value: DenseIntOrFPElementsAttr[Any]) -> Elements | None:
    """The elements of a constant; None for a large one."""
    data, shape = value.data.data, value.get_shape()
    if len(data) > MOST_SHORTENED:
        return None
    element = value.get_element_type()
    count = int(np.prod(shape, dtype=np.int64))
    size = 2 * element.element_type.size if isinstance(element, ComplexType) else element.size  # pyright: ignore
    dtype = np.dtype(f"V{size}" if isinstance(element, ComplexType) else f"u{size}")
    line = np.frombuffer(data, dtype)
    return np.broadcast_to(line, shape) if line.size == 1 and count != 1 else line.reshape(shape)


def unrepeated(array: Elements) -> tuple[Elements, list[int]]:
    """
    The elements without axes along which they repeat, and the axes that are left.

    If any repeats, axes of one element are left out too.
    """
    everything = list(range(array.ndim))
    if not array.size:
        return array, everything
    repeated = [axis for axis in everything if array.shape[axis] > 1 and _repeats(array, axis)]
    if not repeated:
        return array, everything
    axes = [axis for axis in everything if array.shape[axis] > 1 and axis not in repeated]
    return array[tuple(slice(None) if axis in axes else 0 for axis in everything)], axes


def _repeats(array: Elements, axis: int) -> bool:
    if not array.strides[axis]:
        return True
    first = array[(*(slice(None),) * axis, slice(0, 1))]
    return bool(np.all(array == first))


def is_range(line: Elements, element: Attribute) -> bool:
    """Whether elements of one axis are 0, 1, 2 and so on."""
    dtype = _RANGES.get(element)
    if dtype is None or line.ndim != 1 or line.size < 2:
        return False
    return np.array_equal(np.ascontiguousarray(line).view(dtype), np.arange(line.size))


def positions(shape: Sequence[int], axis: int, element: Attribute) -> Elements | None:
    """Positions along an axis, of as many elements as the importer takes for a constant; None for more."""
    dtype = _RANGES.get(element)
    if dtype is None or prod(shape) > LARGEST_CONSTANT:
        return None
    line = np.arange(shape[axis]).astype(dtype)
    return np.broadcast_to(line.view(f"u{dtype[1:]}").reshape(-1, *(1,) * (len(shape) - axis - 1)), tuple(shape))


def band_of(mask: Elements) -> tuple[str, int] | None:
    """How a row and an offset compare to the column where a mask of a matrix is true, if that says it."""
    if mask.ndim != 2 or min(mask.shape) < 2:
        return None
    truth = mask != 0
    if truth.shape[0] == truth.shape[1] and np.array_equal(truth, np.eye(len(truth), dtype=bool)):
        return "EQ", 0
    for direction, of in (("GE", truth), ("LT", ~truth)):
        offset = int(np.sum(of[0])) - 1
        if offset < 0:
            offset = -int(np.sum(~of[:, 0]))
        if np.array_equal(of, np.tri(of.shape[0], of.shape[1], offset, dtype=bool)):
            return direction, offset
    return None


_COMPUTED: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": np.add,
    "and": np.bitwise_and,
    "multiply": np.multiply,
    "negate": np.negative,
    "or": np.bitwise_or,
    "subtract": np.subtract,
    "xor": np.bitwise_xor,
    "EQ": np.equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
    "NE": np.not_equal,
}
"""Operations that are computed where their operands are constants, as the importer does."""


def computed(name: str, operands: Sequence[Elements | None], element: Attribute) -> Elements | None:
    """The result of an operation on constants of one element type; None if it is written."""
    of, dtype = _COMPUTED.get(name), _RANGES.get(element)
    arrays = [x for x in operands if x is not None]
    if of is None or dtype is None or len(arrays) < len(operands) or not all(x.size for x in arrays):
        return None
    small = [x[tuple(slice(None) if step else slice(0, 1) for step in x.strides)] for x in arrays]
    with np.errstate(all="ignore"):
        found = np.asarray(of(*(np.ascontiguousarray(x).view(dtype).reshape(x.shape) for x in small)))
    return np.broadcast_to(found.view(f"u{found.itemsize}"), arrays[0].shape)


def converted(array: Elements, source: Attribute, target: Attribute) -> Elements | None:
    """Elements in another element type; None where that may round, or where it is not known here."""
    before, after = "?" if source == i1 else _RANGES.get(source), _RANGES.get(target)
    if before is None or after is None or before[0] == "f" or not array.size:
        return None
    small = array[tuple(slice(None) if step else slice(0, 1) for step in array.strides)]
    # a byte of a truth value that is not 0 is true, whatever it is: that of a constant of one value is 255
    numbers = small != 0 if source == i1 else np.ascontiguousarray(small).view(before).reshape(small.shape)
    found = numbers.astype(after)
    return np.broadcast_to(found.view(f"u{found.itemsize}"), array.shape)
