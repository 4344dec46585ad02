"""Element types of StableHLO, and those that mir keeps them in."""

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import numpy_dtype
from xdsl_rlx.frontends.stablehlo.tree import Type

AS_SIGNED = {"u64": "i64", "u16": "i16"}
"""Unsigned types that mir has not: their bits are kept in the signed type of the same width."""

ELEMENTS = (
    "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128",
)  # fmt: skip
"""The element types that are read."""

FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEXES = ("c64", "c128")


def stored(dtype: str) -> str:
    """The name of the element type that mir keeps an element type in."""
    return AS_SIGNED.get(dtype, dtype)


def unsupported(type_: Type) -> str | None:
    """Why there is nothing for a type, if there is not."""
    if type_.dtype.startswith(("!", "tuple<")):
        return None
    if type_.dtype not in ELEMENTS:
        return f"the element type {type_.dtype} is not supported"
    if not type_.is_static:
        return f"the shape of {type_} is not static; lower the program for concrete shapes"
    return None


def kept(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A constant as the array that is kept for it: bits of unsigned types that mir has not in signed ones."""
    if array.dtype.name in ("uint16", "uint64"):
        return (
            array.view(np.int16 if array.dtype.itemsize == 2 else np.int64)
            if array.flags.c_contiguous
            else _view(array)
        )
    return array


def _view(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of one element that is repeated, with its bits as a signed number."""
    signed = np.int16 if array.dtype.itemsize == 2 else np.int64
    if array.size and not any(array.strides):
        return np.broadcast_to(np.array(array.flat[0]).view(signed), array.shape)
    return array.astype(signed)


def like(x: Any, dtype: str) -> Any:
    """A Python number as a constant without axes, of an element type that mir has."""
    return np.asarray(x, numpy_dtype(dtype))


def least(dtype: str) -> Any:
    """The least number of a signed integer type, whose bits turn unsigned order into signed order."""
    return like(-(1 << (int(dtype[1:]) - 1)), dtype)
