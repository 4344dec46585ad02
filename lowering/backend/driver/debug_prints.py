"""Printing from machine code: kernels call `address()` with the text of `describe` and the addresses of arrays.

The address is a word of the table of library functions, so that machine code, which the disk cache keeps, has none.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of

Array = NDArray[Any]

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
"""It takes the interpreter lock, and reports an exception by `sys.unraisablehook`."""


def describe(text: str, batch: int, when: bool, types: Sequence[tuple[str, Sequence[int]]]) -> str:
    """
    Return what a call says of its arrays: dtypes and shapes, with that of the predicate last.

    It is ASCII, as JSON has it.
    """
    return json.dumps([text, batch, when, [[name, list(shape)] for name, shape in types]])


@cache
def _described(words: bytes) -> tuple[str, int, bool, Sequence[tuple[str, Sequence[int]]]]:
    text, batch, when, types = json.loads(words)
    return text, batch, when, [(name, tuple(shape)) for name, shape in types]


def address() -> int:
    """Return the address of `void print(const char *description, void **arrays)` in this process."""
    return ctypes.cast(_callback(), ctypes.c_void_p).value or 0


@cache
def _callback() -> Any:
    return _Callback(_print)


def _print(description: int, arrays: int) -> None:
    text, batch, when, types = _described(ctypes.string_at(description))
    places = (ctypes.c_size_t * len(types)).from_address(arrays)
    values = [_array(place, *type_) for place, type_ in zip(places, types, strict=True)]
    lines(text, batch, values[:-1] if when else values, values[-1] if when else None)


def _array(place: int, name: str, shape: Sequence[int]) -> Array:
    """A copy: the memory is used again when the call has returned."""
    dtype = dtype_of(name)
    size = prod(shape) * dtype.itemsize
    found = np.empty(shape, dtype)
    ctypes.memmove(found.ctypes.data, place, size)
    return found


def lines(text: str, batch: int, values: Sequence[Array], when: Array | None) -> None:
    """Print a line, or one for each example of a batch, in their order, for which `when` is true."""
    if not batch:
        print(formatted(text, values))
        return
    first = values[0] if values else when
    assert first is not None
    for index in np.ndindex(first.shape[:batch]):
        if when is None or when[index]:
            print(formatted(text, [value[index] for value in values]))


def formatted(text: str, values: Sequence[Array]) -> str:
    """`text.format` of arrays; those of rank 0 are numbers of NumPy."""
    return text.format(*(value if np.ndim(value) else _Number.of(value) for value in values))


class _Number:
    """A number of NumPy that takes the formats of Python's."""

    def __init__(self, value: Any):
        self._value = value

    @staticmethod
    def of(value: Any) -> _Number:
        return _Number(np.asarray(value)[()])

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self._value)
        value = self._value
        plain = bool(value) if value.dtype.kind == "b" else value.item()
        return format(plain if type(plain) in (bool, int, float, complex) else float(plain), spec)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)
