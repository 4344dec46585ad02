"""Arguments of the functions of `rlx.random`: keys, shapes, element types and parameters, checked and converted.

A number becomes an array of its element type here, so that a function called with other numbers is not compiled anew.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from xdsl_rlx.builder import Value
from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import shown, traced_note
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.shapes import DTYPE_NAMES

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("u8", "i32", "u32", "i64")


def key_of(key: Any) -> Any:
    """The key, one of shape `[2]`; GraphError for anything else."""
    key = key if isinstance(key, Value) else np.asarray(read_array(key) if hasattr(key, "dtype") else key)
    if tuple(key.shape) != (2,) or str(key.dtype) not in ("i64", "i32", "int64", "int32"):
        raise GraphError(
            f"key: expected one key, an i64 array of shape [2], got {key.dtype} of shape {list(key.shape)}; make one "
            "with rlx.random.key(seed), and draw for several keys with rlx.vmap"
        )
    return key


def shape_of(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple: of a sequence of integers, or of one integer."""
    try:
        found = (index(shape),) if not isinstance(shape, Sequence) else tuple(map(index, shape))
    except TypeError:
        raise GraphTypeError(
            f"{name}: expected a sequence of integers, got {shown(shape)}{traced_note(shape)}"
        ) from None
    if any(extent < 0 for extent in found):
        raise GraphError(f"{name}: expected extents of at least 0, got {list(found)}")
    return found


def broadcast_shape(shape: Any, what: str, *extents: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a result: that of the parameters, or the given one, to which they broadcast."""
    try:
        least = np.broadcast_shapes(*extents)
    except ValueError:
        shapes = " and ".join(str(list(one)) for one in extents)
        raise GraphError(f"{what}: expected shapes that broadcast, got {shapes}") from None
    if shape is None:
        return least
    found = shape_of(shape)
    try:
        fits = np.broadcast_shapes(found, least) == found
    except ValueError:
        fits = False
    if not fits:
        raise GraphError(f"shape: expected one to which {what} of shape {list(least)} broadcasts, got {list(found)}")
    return found


def element_of(dtype: object, allowed: Sequence[str], *parameters: Any) -> str:
    """The name of an element type; for None that of the parameters that are arrays, together, else f32 or i64."""
    if dtype is not None:
        name = _named(dtype)
        if name not in allowed:
            raise GraphError(f"dtype: expected one of {', '.join(allowed)}, got {name}")
        return name
    names = {_named(x.dtype) for x in parameters if hasattr(x, "dtype") and not getattr(x, "weak", False)}
    names = {name for name in names if name in allowed}
    if not names:
        return "f32" if "f32" in allowed else "i64"
    if len(names) == 1:
        return names.pop()
    return "f64" if "f64" in names else "f32"


def _named(dtype: object) -> str:
    if dtype is float:
        return "f32"
    if dtype is int:
        return "i64"
    return DTYPE_NAMES[constants.element_type(dtype)]


def wide(element: str) -> str:
    """The element type in which numbers are drawn: half floats in f32."""
    return "f32" if element in ("f16", "bf16") else element


def parameter(x: Any, element: str, name: str) -> Any:
    """A parameter in an element type: a traced value as it is, else an array."""
    if isinstance(x, Value):
        if x.dtype in ("c64", "c128"):
            raise GraphError(f"{name}: expected real numbers, got {x.dtype}")
        return x if x.dtype == element and not x.weak else x.cast(element)
    try:
        found = np.asarray(read_array(x) if hasattr(x, "dtype") else x)
    except (TypeError, ValueError):
        found = np.asarray(x, object)
    # bfloat16 is of kind V
    if found.dtype.kind not in "biufV":
        raise GraphError(f"{name}: expected numbers or an array of them, got {shown(x)}")
    with np.errstate(over="ignore"):
        return found.astype(constants.DTypeName(element).dtype)
