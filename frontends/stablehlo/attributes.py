"""Attributes of StableHLO from their text, which both readers use: dimension numbers, enums, dense constants, types."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import numpy_dtype
from xdsl_rlx.frontends.stablehlo.tree import Attribute, Type

NUMPY = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
"""Types of constants by name; that of bf16 is the package's own."""

_ELEMENTS = {"complex<f32>": "c64", "complex<f64>": "c128", "index": "i64"}


def numpy_type(dtype: str) -> np.dtype[Any] | None:
    """NumPy's type of the elements of constants; None if there is none."""
    return numpy_dtype("bf16") if dtype == "bf16" else NUMPY.get(dtype)


@lru_cache(maxsize=4096)
def type_of(text: str) -> Type:
    """The type that a text such as `tensor<2x?xf32>` stands for; that of tokens and tuples has their text as name."""
    match = re.fullmatch(r"tensor<((?:(?:\d+|\?)x)*)([^,]*?)(?:,.*)?>", text)
    if match is None:
        return Type(text)
    extents = tuple(None if n == "?" else int(n) for n in match[1].split("x")[:-1])
    element = match[2]
    # unsigned types are written `ui8`, signed ones are without a sign, or `si8`
    name = re.sub(r"^(ui|si|i)(\d+)$", lambda m: ("u" if m[1] == "ui" else "i") + m[2], element)
    return Type(_ELEMENTS.get(element, name), extents)


_PAIR = re.compile(r"(\w+)\s*=\s*(\[[^\]]*\]|[^,\]]+)")


def attribute_of(text: str) -> Attribute:
    """
    An attribute of the dialects `stablehlo` and `chlo`: the word of an enum, or a dict of numbers and tuples.

    A text of another kind is returned as it is.
    """
    match = re.fullmatch(r"#(\w+)(?:\.(\w+))?\s*(?:<(.*)>)?", text.strip(), re.DOTALL)
    if match is None or match[1] not in ("stablehlo", "chlo", "mhlo"):
        return text
    kind, inside = match[2], (match[3] or "").strip()
    if kind == "conv" or inside.startswith("[b") or "->[" in inside:
        return _layouts(inside)
    if kind is None:
        # `#stablehlo<comparison_direction GT>`, or `#stablehlo<dot lhs_contracting_dimensions = [1]>`
        words = inside.split(maxsplit=1)
        if "=" not in inside:
            return words[-1] if words else ""
        inside = words[1]
    if inside and "=" not in inside:
        return inside
    return {name: _numbers(value) for name, value in _PAIR.findall(inside)}


def _numbers(text: str) -> Attribute:
    text = text.strip()
    if text.startswith("["):
        return tuple(int(n) for n in re.findall(r"-?\d+", text))
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _layouts(text: str) -> Attribute:
    """The three layouts of a convolution: each axis of space by number, batch, features and channels by letter."""
    parts = re.findall(r"\[([^\]]*)\]", text)
    names = ("input", "kernel", "output")
    return {name: tuple(word.strip() for word in part.split(",")) for name, part in zip(names, parts, strict=True)}


_TOKEN = re.compile(r'"0x([0-9a-fA-F]*)"|0x[0-9a-fA-F]+|true|false|-?[\d.]+(?:[eE][-+]?\d+)?|[()\[\],]')
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def dense_of(text: str, type_: Type) -> np.ndarray[Any, Any]:
    """The array of the text inside of `dense<..>`; ValueError for one that does not fit the type."""
    dtype, shape = numpy_type(type_.dtype), type_.extents
    if dtype is None:
        raise ValueError(f"a constant of element type {type_.dtype} is not supported")
    text = text.strip()
    if text.startswith('"'):
        data = bytes.fromhex(text.strip('"').removeprefix("0x"))
        return of_bytes(data, dtype, shape)
    words = [word[0] for word in _TOKEN.finditer(text) if word[0] not in "()[],"]
    if dtype.kind == "c":
        parts = np.array([_number(word, np.dtype(f"f{dtype.itemsize // 2}")) for word in words])
        numbers = parts.reshape(-1, 2).astype(f"f{dtype.itemsize // 2}").reshape(-1).view(dtype)
    else:
        numbers = np.array([_number(word, dtype) for word in words]).astype(dtype)
    return filled(numbers, shape)


def of_bytes(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The array of little-endian bytes: of all elements, or of one that all are equal to."""
    return filled(np.frombuffer(data, dtype), shape)


def filled(numbers: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Elements in a shape: one that all are equal to is not copied."""
    if numbers.size == 1:
        return np.broadcast_to(numbers.reshape(()), shape)
    return numbers.reshape(shape)


def _number(word: str, dtype: np.dtype[Any]) -> Any:
    if word in ("true", "false"):
        return word == "true"
    if word.startswith("0x"):
        bits = int(word, 16)
        if dtype.kind in "iu":
            return bits
        return np.array(bits, _UNSIGNED[dtype.itemsize]).view(dtype)[()]
    return int(word) if dtype.kind in "iub" else float(word)
