"""What scalars of kernels are in LLVM and in Python."""

from __future__ import annotations

import struct
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    ComplexType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    i1,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from xdsl_rlx.dialects.shapes import u8, u32

_LLVM_FLOATS: dict[type[Attribute], str] = {
    Float64Type: "double",
    Float32Type: "float",
    Float16Type: "half",
    BFloat16Type: "i16",
}
_PYTHON_FLOATS: dict[type[Attribute], str] = {
    Float64Type: "np.float64",
    Float32Type: "np.float32",
    Float16Type: "np.uint16",
    BFloat16Type: "np.uint16",
}


def int_bits(type: Attribute) -> int:
    """The width of an integer."""
    if isinstance(type, IndexType):
        return 64
    if isinstance(type, IntegerType):
        return cast("IntegerType", type).width.data
    raise PassFailedException(f"kernels do not compute with {type}")


def llvm_type(type: Attribute) -> str:
    """The LLVM type of a value; bf16 is its bits."""
    found = _LLVM_FLOATS.get(type.__class__)
    return found if found is not None else f"i{int_bits(type)}"


def python_type(type: Attribute) -> str:
    """The NumPy scalar type of a value; f16 and bf16 are their bits, index is a plain int."""
    found = _PYTHON_FLOATS.get(type.__class__)
    if found is not None:
        return found
    bits = int_bits(type)
    return "np.bool_" if bits == 1 else f"np.int{bits}"


def buffer_type(type: Attribute) -> str:
    """The NumPy scalar type of a buffer's elements; kernels see complex numbers as their parts."""
    if isa(type, ComplexType[AnyFloat]):
        return "np.complex64" if type.element_type == f32 else "np.complex128"
    return python_type(type)


def outside_type(type: Attribute) -> str:
    """The NumPy type of arguments and results of a program, whose bits kernels may see as another type."""
    if isinstance(type, Float16Type):
        return "np.float16"
    return python_type(type).replace("int", "uint") if type in (u8, u32) else buffer_type(type)


def function_suffix(type: Attribute) -> str:
    """The suffix of a mathlib function on `type`."""
    return "f64" if isinstance(type, Float64Type) else "f32"


def bits_of(type: Attribute) -> int:
    """The width of a number."""
    return 64 if isinstance(type, Float64Type) else 32 if isinstance(type, Float32Type) else int_bits(type)


def double(x: float) -> str:
    """A number as LLVM writes it, bit by bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def literal(value: Attribute) -> str:
    """An arith.constant as an LLVM operand. LLVM writes an f32 as the double of the same value."""
    if isinstance(value, FloatAttr):
        number = cast("FloatAttr[Any]", value)
        x, type = number.value.data, number.type
        if isinstance(type, Float16Type):
            return f"0xH{struct.unpack('<H', struct.pack('<e', x))[0]:04X}"
        if isinstance(type, BFloat16Type):
            return str(int.from_bytes(type.pack((x,)), "little"))
        return double(x)
    if isinstance(value, IntegerAttr):
        number = cast("IntegerAttr[Any]", value)
        if number.type == i1:
            return "true" if number.value.data else "false"
        return str(number.value.data)
    raise PassFailedException(f"a kernel cannot hold the constant {value}")
