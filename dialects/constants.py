"""Dense constants from Python numbers, nested lists and arrays. NumPy is not imported before an array comes."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import copysign, inf, isfinite, isinf
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute

from xdsl_rlx.dialects.arrays import holds_numbers, is_number, plain_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.shapes import COMPLEXES, DTYPE_NAMES, DTYPES, AnyTensor, c64

if TYPE_CHECKING:
    import numpy as np

AnyDense: TypeAlias = DenseIntOrFPElementsAttr[Any]
AnyInteger: TypeAlias = IntegerType[Any, Any]
Number: TypeAlias = bool | int | float | complex
Nested: TypeAlias = "Number | Sequence[Nested]"

_LONG_NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "bool": "i1",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "complex64": "c64",
    "complex128": "c128",
}
NUMPY_NAMES = {short: long for long, short in _LONG_NAMES.items()}
"""How NumPy (with ml_dtypes) calls our element types."""

_TRUTH = bytes([0, *[255] * 255])


@runtime_checkable
class DType(Protocol):
    """What we need of a NumPy dtype."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...


@runtime_checkable
class Array(Protocol):
    """What we need of an array."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    def astype(self, dtype: str, /) -> "Array": ...
    def tobytes(self) -> bytes: ...
    def item(self) -> Number: ...


@dataclass(frozen=True, eq=False, slots=True)
class DTypeName:
    """The `dtype` of a value: equal to its name, such as `"f32"`, and accepted by NumPy as a dtype."""

    short: str

    @property
    def name(self) -> str:
        """NumPy's name, `"float32"`."""
        return NUMPY_NAMES[self.short]

    @property
    def dtype(self) -> Any:
        """NumPy's dtype; NumPy uses it to convert this object to a dtype."""
        import numpy as np

        if self.short == "bf16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(self.name)

    @property
    def kind(self) -> str:
        """NumPy's kind: `"f"` for floats, `"i"` for integers, `"b"` for booleans."""
        return self.dtype.kind

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str | DTypeName):
            return str(other) in (self.short, self.name)
        try:
            return DTYPE_NAMES[element_type(other)] == self.short
        except GraphError:
            return False

    def __hash__(self) -> int:
        return hash(self.short)

    def __str__(self) -> str:
        return self.short

    def __repr__(self) -> str:
        return repr(self.short)

    def __format__(self, spec: str) -> str:
        return format(self.short, spec)


NAMED: dict[Attribute, DTypeName] = {type_: DTypeName(name) for name, type_ in DTYPES.items()}
"""The names of element types, as values have them."""


def is_dense(attribute: Attribute | None) -> TypeGuard[AnyDense]:
    """Whether an attribute is a dense constant."""
    return isinstance(attribute, DenseIntOrFPElementsAttr)


def is_integer(type_: Attribute) -> TypeGuard[AnyInteger]:
    """Whether an element type is of integers, i1 among them."""
    return isinstance(type_, IntegerType)


def element_type(dtype: object) -> Attribute:
    """
    The element type named by `"f32"`, `"float32"`, a NumPy dtype or scalar class, or itself; GraphError.

    What is no name of ours means what it means to NumPy: `float` is f64, `"i4"` i32.
    """
    # texts first: whether one is an attribute, an abstract class of hundreds, takes a while to find out
    if not isinstance(dtype, str) and isinstance(dtype, Attribute):
        if dtype in DTYPE_NAMES:
            return dtype
        raise GraphError(f"element type {dtype} is not supported; expected one of {', '.join(DTYPES)}")
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    found = DTYPES.get(_LONG_NAMES.get(str(name), str(name))) or DTYPES.get(_LONG_NAMES.get(_in_numpy(dtype), ""))
    if found is None:
        raise GraphError(f"dtype {dtype!r} is not supported; expected one of {', '.join(DTYPES)}")
    return found


def numpy_type(dtype: object) -> DTypeName:
    """
    The element type that NumPy takes `dtype` for: `"i8"` is int64, as where NumPy's functions are called; GraphError.

    A text that is none of NumPy's names is one of ours: `"f32"`, `"bf16"`.
    """
    name = _in_numpy(dtype) if isinstance(dtype, str) else ""
    if not name:
        return NAMED[element_type(dtype)]
    if name not in _LONG_NAMES:
        ours = f"; {dtype} of the IR is {NUMPY_NAMES[str(dtype)]!r}" if dtype in DTYPES else ""
        raise GraphError(f"dtype {dtype!r} is NumPy's {name}, which is not supported{ours}")
    return NAMED[DTYPES[_LONG_NAMES[name]]]


def _in_numpy(dtype: object) -> str:
    """NumPy's name of what it takes for a dtype; "" for what it does not."""
    import numpy as np

    # of texts there are none here, and NumPy warns of some of their names
    if dtype is None or isinstance(dtype, bytes) or (isinstance(dtype, str) and dtype.lstrip("<>=|")[:1] in "aSUV"):
        return ""
    try:
        return np.dtype(cast(Any, dtype)).name
    except (TypeError, ValueError):
        return ""


def number(value: Number, type_: Attribute) -> AnyDense:
    """A rank-0 constant; GraphError for a number that the type cannot hold (see `_pack`)."""
    return _scalar(_pack(value, type_), type_)


@lru_cache(maxsize=4096)
def _scalar(data: bytes, type_: Attribute) -> AnyDense:
    return DenseIntOrFPElementsAttr(_tensor(type_, ()), BytesAttr(data))


def from_array(array: Array, dtype: Attribute | None = None) -> AnyDense:
    """
    A constant of an array's shape and contents, converted to `dtype` if that is another type than its own.

    The array may be of any library (see `plain_array`). GraphError where that type cannot hold an element, as for
    numbers, and for a masked array.
    """
    plain = plain_array(array)
    if plain is None:
        raise GraphError(f"expected numbers for a constant, got {shown(array)}")
    type_ = dtype if dtype is not None else element_type(plain.dtype)
    data = elements_of_array(plain, type_).tobytes()
    if type_ == i1:
        # xDSL's parser writes true as -1; constants built and constants parsed must be equal.
        data = data.translate(_TRUTH)
    return DenseIntOrFPElementsAttr(_tensor(type_, plain.shape), BytesAttr(data))


def elements_of_array(array: "np.ndarray[Any, Any]", type_: Attribute) -> "np.ndarray[Any, Any]":
    """An array in an element type; GraphError where that cannot hold an element, as for numbers."""
    long_name = NUMPY_NAMES[DTYPE_NAMES[type_]]
    return array if array.dtype.name == long_name else _converted(array, long_name, type_)


def from_bytes(data: bytes, type_: Attribute, shape: Sequence[int]) -> AnyDense:
    """A constant of that element type and shape from the bytes of its elements, in row-major order."""
    return DenseIntOrFPElementsAttr(_tensor(type_, shape), BytesAttr(data))


def from_nested(values: Nested, dtype: Attribute | None = None) -> AnyDense:
    """A constant from a number or nested sequences of numbers, f32 (i1 if all are bools) unless `dtype` says else."""
    shape: list[int] = []
    level = values
    while isinstance(level, Sequence) and not isinstance(level, str | bytes):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    flat = list(_flatten(values, shape))
    type_ = dtype if dtype is not None else i1 if flat and all(isinstance(v, bool) for v in flat) else f32
    return DenseIntOrFPElementsAttr(_tensor(type_, shape), BytesAttr(_packed(flat, type_)))


def _packed(numbers: Sequence[Number], type_: Attribute) -> bytes:
    """The bytes of numbers, as `_pack`; floats of one of C's types all at once."""
    letter = "f" if type_ == f32 else "d" if type_ == f64 else None
    if letter is not None and all(type(x) is float for x in numbers):
        with suppress(OverflowError):
            return struct.pack(f"<{len(numbers)}{letter}", *numbers)
    return b"".join(_pack(x, type_) for x in numbers)


def splat_value(value: AnyDense) -> Number | None:
    """The one number a constant consists of, or None; bitwise, so 0.0 and -0.0 differ and NaN is one."""
    type_, data = value.get_element_type(), value.data.data
    size = type_.compile_time_size
    if not data or data != data[:size] * (len(data) // size):
        return None
    first: Number | tuple[float, float] = type_.unpack(data[:size], 1)[0]
    return complex(*first) if isinstance(first, tuple) else first


def round_to(value: float, type_: Attribute) -> float:
    """`value` rounded to a float type; infinite if it is too large."""
    assert isinstance(type_, AnyFloat)
    return float(type_.unpack(_pack_float(value, type_), 1)[0])


def next_below(value: float, type_: Attribute) -> float:
    """The largest number of a float type that is less than `value`, a finite number of that type."""
    assert isinstance(type_, AnyFloat)
    size = type_.compile_time_size
    bits = int.from_bytes(type_.pack([value]), "little")
    sign = 1 << (8 * size - 1)
    below = sign | 1 if not bits & (sign - 1) else bits + 1 if bits & sign else bits - 1
    return float(type_.unpack(below.to_bytes(size, "little"), 1)[0])


def _tensor(type_: Attribute, shape: Sequence[int]) -> AnyTensor:
    return TensorType(type_, shape)


def _flatten(values: Nested, shape: Sequence[int]) -> Iterator[Number]:
    if not shape:
        if isinstance(values, Sequence) and not isinstance(values, str | bytes):
            raise GraphError("a nested list is ragged")
        yield _plain(values)
        return
    if not isinstance(values, Sequence) or isinstance(values, str | bytes) or len(values) != shape[0]:
        raise GraphError("a nested list is ragged")
    for value in values:
        yield from _flatten(value, shape[1:])


def _plain(value: object) -> Number:
    """A number of Python's, from one of NumPy's too."""
    if is_number(value):
        return value
    array = plain_array(value)
    if array is not None and array.shape == () and holds_numbers(array.dtype):
        return array.item()
    raise GraphError(f"expected numbers for a constant, got {shown(value)}")


def _converted(before: "np.ndarray[Any, Any]", long_name: str, type_: Attribute) -> "np.ndarray[Any, Any]":
    """An array in another type; GraphError if an element changes more than by rounding."""
    import numpy as np

    if not holds_numbers(before.dtype):
        raise GraphError(f"expected numbers for a constant, got an array of {before.dtype.name}")
    if before.dtype.kind == "c" and type_ not in COMPLEXES:
        raise GraphError(
            f"an array of {before.dtype.name} cannot become a constant of {DTYPE_NAMES[type_]}; pass its real part"
        )
    with np.errstate(all="ignore"):
        after = before.astype(long_name)
        wrong = np.asarray(before != after) if is_integer(type_) else np.isfinite(before) & ~np.isfinite(after)
    if wrong.any():
        first = before[wrong].reshape(-1)[0].item()
        fraction = is_integer(type_) and first != first // 1
        raise GraphError(
            f"{first} in an array of {before.dtype.name} "
            + ("is not an integer; choose another dtype" if fraction else _out_of_range(type_))
        )
    return after


def _pack(value: Number, type_: Attribute) -> bytes:
    """
    The bytes of a number, rounded if the type is of floats.

    GraphError for what the type cannot hold: an integer out of range, a fraction or an infinity as an integer, an
    imaginary part, a finite number that would be infinite.
    """
    if type_ in COMPLEXES:
        part = f32 if type_ == c64 else f64
        z = value if isinstance(value, complex) else complex(_float(value, part))
        return _pack_finite(z.real, part) + _pack_finite(z.imag, part)
    if isinstance(value, complex):
        raise GraphError(f"{value} is not a number of type {DTYPE_NAMES[type_]}; cast the operand to a complex one")
    if is_integer(type_):
        if not isfinite(_float(value, f64)) or int(value) != value:
            raise GraphError(f"{value} is not an integer; cast the {DTYPE_NAMES[type_]} operand to a float first")
        low, high = integer_range(type_)
        normalized = type_.normalized_value(int(value)) if low <= value <= high else None
        if normalized is None:
            raise GraphError(f"{value} {_out_of_range(type_)}")
        return type_.pack([normalized])
    return _pack_finite(_float(value, type_), type_)


def integer_range(type_: AnyInteger) -> tuple[int, int]:
    """The least and the greatest integer of a type; those without a sign in their name are signed, i1 is 0 or 1."""
    bits = type_.width.data
    if bits == 1:
        return 0, 1
    if type_.signedness.data == Signedness.UNSIGNED:
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _out_of_range(type_: Attribute) -> str:
    name = DTYPE_NAMES[type_]
    if is_integer(type_):
        low, high = integer_range(type_)
        return f"is out of range for {name}, {low} to {high}; cast the other operand, or choose another dtype"
    return f"is out of range for {name}, where it is infinite; cast the other operand, or choose another dtype"


def _float(value: bool | int | float, type_: Attribute) -> float:
    try:
        return float(value)
    except OverflowError:
        digits = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else value
        raise GraphError(f"{digits} {_out_of_range(type_)}") from None


def _pack_finite(value: float, type_: Attribute) -> bytes:
    data = _pack_float(value, type_)
    assert isinstance(type_, AnyFloat)
    if isfinite(value) and isinf(type_.unpack(data, 1)[0]):
        raise GraphError(f"{value} {_out_of_range(type_)}")
    return data


def _pack_float(value: float, type_: Attribute) -> bytes:
    assert isinstance(type_, AnyFloat)
    try:
        return type_.pack([value])
    except OverflowError:
        return type_.pack([copysign(inf, value)])
