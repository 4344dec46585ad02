"""Read the header of a GGUF file: which tensors it holds, of which type, and where.

Every length is checked against the bytes that are left before it is used. A damaged file is a CheckpointError in time
linear in its size.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import CheckpointError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32
"""Bytes that tensors are aligned to where the file does not say."""
_MOST_AXES = 4
"""As in GGML (`GGML_MAX_DIMS`)."""
_MOST_NESTED = 8
"""Arrays within arrays; files in use have one level."""
_UINT32, _STRING, _ARRAY = 4, 8, 9
_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""By `GGUFValueType`: all but strings and arrays."""


@dataclass(frozen=True)
class GGUFTensor:
    """A tensor of a file."""

    name: str
    shape: tuple[int, ...]
    """In NumPy's order of axes."""
    kind: int
    """A `GGMLQuantizationType`."""
    start: int
    """Its first byte in the file."""
    nbytes: int


@dataclass(frozen=True)
class GGUFHeader:
    """The tensors of a file, and whether its numbers are big-endian."""

    tensors: tuple[GGUFTensor, ...]
    swapped: bool


def read_header(data: np.ndarray[Any, Any], block_sizes: dict[int, tuple[int, int]]) -> GGUFHeader:
    """
    Read the header of a file, given as its bytes.

    `block_sizes` are elements and bytes of a block, by type. CheckpointError, without the name of the file, for one
    that is damaged.
    """
    reader = _Reader(data)
    if reader.take(4) != _MAGIC:
        raise CheckpointError("it does not begin with GGUF")
    # a version of the other byte order has zeros in its low half
    if not reader.number("I") & 0xFFFF:
        reader.order = ">"
    reader.at = 4
    if (version := reader.number("I")) not in _VERSIONS:
        raise CheckpointError(f"expected version 2 or 3, got {version}")
    tensor_count, key_count = reader.number("Q"), reader.number("Q")
    alignment = _read_keys(reader, key_count)
    found = [_read_tensor(reader, block_sizes) for _ in range(_within(reader, tensor_count))]
    start = -(-reader.at // alignment) * alignment
    tensors = [GGUFTensor(t.name, t.shape, t.kind, start + t.start, t.nbytes) for t in found]
    _check_tensors(tensors, len(data))
    return GGUFHeader(tuple(tensors), reader.order == ">")


class _Reader:
    """The bytes of a file, from a position on."""

    def __init__(self, data: np.ndarray[Any, Any]):
        self.data = data
        self.at = 0
        self.order = "<"

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def skip(self, count: int) -> None:
        if count > self.left:
            raise CheckpointError(f"byte {self.at} says that {count} bytes follow, the file has {self.left}")
        self.at += count

    def take(self, count: int) -> bytes:
        self.skip(count)
        return self.data[self.at - count : self.at].tobytes()

    def number(self, code: str) -> int:
        kind = struct.Struct(self.order + code)
        return kind.unpack(self.take(kind.size))[0]

    def text(self) -> str:
        at, raw = self.at, self.take(self.number("Q"))
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise CheckpointError(f"the name at byte {at} is not UTF-8") from None


def _within(reader: _Reader, count: int) -> int:
    """A number of entries, each of which takes a byte and more."""
    if count > reader.left:
        raise CheckpointError(f"byte {reader.at} says that {count} entries follow, the file has {reader.left} bytes")
    return count


def _read_keys(reader: _Reader, count: int) -> int:
    """Skip what the file says by key, but for the alignment, which this returns."""
    seen, alignment = set[str](), _ALIGNMENT
    for _ in range(_within(reader, count)):
        name, kind = reader.text(), reader.number("I")
        if name in seen:
            raise CheckpointError(f"it has the key {name!r} twice")
        seen.add(name)
        if name != "general.alignment":
            _skip_value(reader, kind)
            continue
        alignment = reader.number("I") if kind == _UINT32 else 0
        if not alignment or alignment & (alignment - 1):
            raise CheckpointError("its general.alignment is not a power of two as a u32")
    return alignment


def _skip_value(reader: _Reader, kind: int, depth: int = 0) -> None:
    if kind in _SCALAR_BYTES:
        reader.skip(_SCALAR_BYTES[kind])
    elif kind == _STRING:
        reader.skip(reader.number("Q"))
    elif kind == _ARRAY and depth < _MOST_NESTED:
        inner, count = reader.number("I"), reader.number("Q")
        if inner in _SCALAR_BYTES:
            reader.skip(count * _SCALAR_BYTES[inner])
        else:
            for _ in range(_within(reader, count)):
                _skip_value(reader, inner, depth + 1)
    else:
        raise CheckpointError(
            f"byte {reader.at} has a value of type {kind}, which is unknown to GGUF or nested too deeply"
        )


def _read_tensor(reader: _Reader, block_sizes: dict[int, tuple[int, int]]) -> GGUFTensor:
    """A tensor, with `start` counted from the first byte of the data."""
    name, axes = reader.text(), reader.number("I")
    if axes > _MOST_AXES:
        raise CheckpointError(f"{name!r} has {axes} axes, more than {_MOST_AXES}")
    shape = tuple(reversed([reader.number("Q") for _ in range(axes)]))
    kind, start = reader.number("I"), reader.number("Q")
    if kind not in block_sizes:
        raise CheckpointError(f"{name!r} is of the type {kind}, which the installed gguf package does not know")
    elements, size = block_sizes[kind]
    if elements > 1 and (not shape or shape[-1] % elements):
        raise CheckpointError(f"{name!r} of shape {list(shape)} does not consist of blocks of {elements}")
    # NumPy multiplies the extents that are not zero, and dequantised elements take four bytes
    if prod(max(extent, 1) for extent in shape) >= 1 << 59:
        raise CheckpointError(f"{name!r} of shape {list(shape)} is larger than an array may be")
    return GGUFTensor(name, shape, kind, start, prod(shape) // elements * size)


def _check_tensors(tensors: list[GGUFTensor], size: int) -> None:
    """CheckpointError unless tensors have names of their own and bytes of their own within the file."""
    seen = set[str]()
    for tensor in tensors:
        if tensor.name in seen:
            raise CheckpointError(f"it has the tensor {tensor.name!r} twice")
        seen.add(tensor.name)
        if tensor.start + tensor.nbytes > size:
            raise CheckpointError(
                f"{tensor.name!r} ends at byte {tensor.start + tensor.nbytes}, the file has {size} bytes"
            )
    end = 0
    for tensor in sorted((one for one in tensors if one.nbytes), key=lambda one: one.start):
        if tensor.start < end:
            raise CheckpointError(f"{tensor.name!r} shares bytes with another tensor")
        end = tensor.start + tensor.nbytes
