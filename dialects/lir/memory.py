"""Sizes, strides and extents of memref types; no IR building."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    FixedBitwidthType,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

AnyMemRef = MemRefType[Any]

LARGEST_BUFFER = 1 << 46
"""Bytes from the first to the last element of a buffer: half of what a process can address."""


def memref_of(value: SSAValue) -> AnyMemRef:
    """The memref type of a buffer value."""
    type_: Attribute = value.type
    assert isinstance(type_, MemRefType)
    return cast(AnyMemRef, type_)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a contiguous row-major buffer: `(4, 3, 2)` has `(6, 2, 1)`."""
    return tuple(reversed(list(accumulate(reversed(shape[1:]), mul, initial=1)))) if shape else ()


def element_bytes(element_type: Attribute) -> int:
    """Bytes one element takes in memory; an `i1` takes a byte."""
    if isinstance(element_type, IntegerType):
        return max(1, element_type.bitwidth // 8)
    if isinstance(element_type, FixedBitwidthType):
        return element_type.size
    # `isa` with parameters takes xDSL a millisecond
    if isinstance(element_type, ComplexType):
        return 2 * element_bytes(cast("ComplexType[AnyFloat]", element_type).element_type)
    raise VerifyException(f"a buffer cannot hold {element_type}")


def strides_of(type_: AnyMemRef) -> tuple[int, ...]:
    """Strides in elements, from the layout or row-major."""
    layout = type_.layout
    if isinstance(layout, NoneAttr):
        return row_major_strides(type_.get_shape())
    if not isinstance(layout, StridedLayoutAttr):
        raise VerifyException(f"expected an identity or strided layout, got {layout}")
    strides: list[int] = []
    for stride in layout.strides:
        if not isinstance(stride, IntAttr):
            raise VerifyException(f"expected static strides, got {layout}")
        strides.append(stride.data)
    return tuple(strides)


def is_contiguous(type_: AnyMemRef) -> bool:
    """Whether the elements lie in row-major order without gaps; strides of extents 1 do not matter."""
    shape = type_.get_shape()
    expected = row_major_strides(shape)
    return 0 in shape or all(n == 1 or s == e for n, s, e in zip(shape, strides_of(type_), expected, strict=True))


# the same few types are asked for at every launch, and xDSL takes 0.1 ms to make one
@lru_cache(maxsize=1024)
def strided_memref(element_type: Attribute, shape: tuple[int, ...], strides: tuple[int, ...]) -> AnyMemRef:
    """The memref type of that shape and those strides, with the identity layout where they are row-major."""
    if strides == row_major_strides(shape):
        return MemRefType(element_type, shape)
    return MemRefType(element_type, shape, StridedLayoutAttr(strides))


def span_elements(type_: AnyMemRef) -> int:
    """Elements from the first to the last one reached, inclusive; 0 for an empty buffer."""
    shape = type_.get_shape()
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides_of(type_), strict=True))


def byte_size(type_: AnyMemRef) -> int:
    """Bytes a slot of this (contiguous) type takes."""
    return prod(type_.get_shape()) * element_bytes(type_.element_type)


def is_any_length(type_: AnyMemRef) -> bool:
    """Whether it is a line of as many elements as a launch has iterations, whose number the kernel does not know."""
    return type_.get_shape() == (DYNAMIC_INDEX,) and isinstance(type_.layout, NoneAttr)


def verify_buffer_type(type_: AnyMemRef) -> None:
    """Static shape, static non-negative strides, no offset (a launch passes a moved pointer instead)."""
    if not type_.has_static_shape():
        raise VerifyException(f"expected a static shape, got {type_}")
    if any(s < 0 for s in strides_of(type_)):
        raise VerifyException(f"expected non-negative strides, got {type_}")
    layout = type_.layout
    if isinstance(layout, StridedLayoutAttr) and layout.offset != IntAttr(0):
        raise VerifyException(f"expected a layout without offset, got {type_}")
    if span_elements(type_) * element_bytes(type_.element_type) > LARGEST_BUFFER:
        raise VerifyException(f"expected a buffer of at most {LARGEST_BUFFER} bytes, got {type_}")
