"""Element types of jaxprs, and those that mir keeps them in; operands of rows are traced values or NumPy arrays."""

# Objects of jax, which is not installed everywhere, and arrays of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import numpy_dtype

STORED = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "i16",
    "uint32": "u32",
    "uint64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
    "float0": "i1",
}
"""
The element type in mir by the name of JAX's.

mir has no u16 and u64: the bits of these are kept in the signed types of the same width. JAX computes with them where
it draws random numbers, by operations on bits, which do not see a difference.
"""

AS_SIGNED = ("uint16", "uint64")
"""Types of JAX that are kept as signed ones."""

SEES_SIGN = frozenset(
    (
        "abs", "argmax", "argmin", "clamp", "cummax", "cummin", "dot_general", "integer_pow", "max", "min",
        "pow", "reduce_max", "reduce_min", "reduce_window_max", "reduce_window_min", "rng_uniform",
        "scatter-max", "scatter-min", "shift_right_arithmetic", "sign", "sort", "top_k",
    )
)  # fmt: skip
"""Primitives whose results on the bits of an unsigned integer are wrong if these are read as a signed one."""

FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEXES = ("c64", "c128")

KEY_SHAPES = {"fry": (2,)}
"""The shape of the u32 array that a random key of an implementation is."""

MOST_FOLDED = 1 << 20
"""Bytes of a result up to which an operation on constants is computed while tracing."""


def is_key(aval: Any) -> bool:
    """Whether an abstract value is of random keys of JAX's own type."""
    return str(aval.dtype).startswith("key<")


def implementation(aval: Any) -> str:
    """The name of the generator of an abstract value of random keys."""
    return str(aval.dtype).removeprefix("key<").removesuffix(">")


def stored_dtype(aval: Any) -> str:
    """The name of the element type that mir keeps an abstract value in."""
    return "u32" if is_key(aval) else STORED[str(aval.dtype)]


def stored_shape(aval: Any) -> tuple[int, ...]:
    """The shape that mir keeps an abstract value in: keys have a last axis of their words."""
    shape = tuple(int(n) for n in aval.shape)
    return (*shape, *KEY_SHAPES[implementation(aval)]) if is_key(aval) else shape


def unsupported(aval: Any) -> str | None:
    """Why mir has nothing for an abstract value, if it has not."""
    if not hasattr(aval, "dtype") or not hasattr(aval, "shape"):
        return f"values of type {aval} are not arrays"
    if is_key(aval):
        return None if implementation(aval) in KEY_SHAPES else f"random keys of type {aval.dtype} are not supported"
    if str(aval.dtype) not in STORED:
        return f"the element type {aval.dtype} is not supported"
    if not all(isinstance(n, int | np.integer) for n in aval.shape):
        return f"the shape {aval.shape} is not known"
    return None


def stored(array: Any) -> np.ndarray[Any, Any]:
    """An array of JAX or NumPy as the NumPy array that is kept for it; unsigned types without a counterpart as bits."""
    if str(array.dtype).startswith("key<"):
        from jax import random

        array = random.key_data(array)
    found = np.asarray(array)
    name = str(found.dtype)
    return found.view(numpy_dtype(STORED[name])) if name in AS_SIGNED else found


def like(x: Any, dtype: str) -> Any:
    """A Python number as a constant without axes, of an element type of mir."""
    return np.asarray(x, numpy_dtype(dtype))


def wider(given: Sequence[str], dtype: str) -> str:
    """The widest element type of operands, by JAX's names, and of a result: products are summed in it."""
    return max((dtype, *(STORED[name] for name in given)), key=lambda one: numpy_dtype(one).itemsize)
