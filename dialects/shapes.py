"""Element types, broadcasting and shape functions shared by `hir` and `mir`; no IR building."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any, SupportsIndex, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.calls import traced_note
from xdsl_rlx.dialects.errors import GraphError

AnyTensor: TypeAlias = TensorType[Any]

u8 = IntegerType(8, Signedness.UNSIGNED)
u32 = IntegerType(32, Signedness.UNSIGNED)
c64 = ComplexType(f32)
c128 = ComplexType(f64)

FLOATS: tuple[AnyFloat, ...] = (f32, f64, f16, bf16)
INTS: tuple[IntegerType, ...] = (i32, i64, i8, u8, i16, u32)
COMPLEXES: tuple[Attribute, ...] = (c64, c128)

DTYPES: dict[str, Attribute] = {
    "f32": f32,
    "f64": f64,
    "f16": f16,
    "bf16": bf16,
    "i1": i1,
    "i8": i8,
    "u8": u8,
    "i16": i16,
    "i32": i32,
    "u32": u32,
    "i64": i64,
    "c64": c64,
    "c128": c128,
}
"""The element types of tensors by the name that users write."""

DTYPE_NAMES: dict[Attribute, str] = {type_: name for name, type_ in DTYPES.items()}


def tensor_type(value: SSAValue | Attribute) -> AnyTensor:
    """The ranked tensor type with static shape of a value; VerifyException if it has another type."""
    # Asked of all values, again and again: SSAValue is an abstract class, of which `isinstance` takes its time.
    kind = type(value)
    if kind is OpResult or kind is BlockArgument or isinstance(value, SSAValue):
        type_ = cast(SSAValue, value).type
    else:
        type_ = value
    if not isinstance(type_, TensorType):
        raise VerifyException(f"expected a ranked tensor, got {type_}")
    return cast(AnyTensor, type_)


def tensor_of(element: Attribute, shape: Sequence[int]) -> AnyTensor:
    """The type of tensors of a shape, made once: rules ask for the same few again and again."""
    return _tensor_of(element, *shape)


@lru_cache(maxsize=1 << 14, typed=True)
def _tensor_of(element: Attribute, *shape: int) -> AnyTensor:
    return TensorType(element, shape)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The static shape of a tensor value or type."""
    shape = tensor_type(value).get_shape()
    if shape and min(shape) < 0:
        raise VerifyException(f"expected a static shape, got {tensor_type(value)}")
    return shape


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor value or type."""
    return tensor_type(value).element_type


def compute_type(element: Attribute) -> Attribute:
    """The type that values of this element type are computed in: half floats are only stored narrow, and unsigned
    integers are computed with as signless ones of their width."""
    if element in (f16, bf16):
        return f32
    if element in (u8, u32):
        return i8 if element == u8 else i32
    return element


ADDRESSES = 1 << 47
"""Bytes that a process can address."""


def check_size(type_: Attribute) -> None:
    """Require a tensor type to be one whose elements a process could hold, an extent of 0 counting as 1."""
    if isinstance(type_, TensorType):
        shape = shape_of(cast(AnyTensor, type_))
        if sum(n.bit_length() for n in shape) > 40 and prod(max(n, 1) for n in shape) * 16 > ADDRESSES:
            raise VerifyException(f"a tensor of shape {dims(shape)} has more elements than a process can address")


def dims(shape: Sequence[int]) -> str:
    """Return a shape as messages print it: `[4, 3]`, or `[]` for a scalar."""
    return f"[{', '.join(map(str, shape))}]"


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """NumPy broadcasting of shapes, right-aligned; VerifyException names the shapes that do not fit."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, n in enumerate(shape, rank - len(shape)):
            if n != result[axis] and n != 1:
                if result[axis] != 1:
                    raise VerifyException(f"shapes {' and '.join(dims(s) for s in shapes)} do not broadcast")
                result[axis] = n
    return tuple(result)


def broadcasts_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether NumPy's `broadcast_to` takes `shape` to `target`."""
    if len(shape) > len(target):
        return False
    return all(n in (1, t) for n, t in zip(shape, target[len(target) - len(shape) :], strict=True))


class MixedElementTypes(VerifyException):
    """Operands of an op have different element types."""

    def __init__(self, *values: SSAValue | Attribute):
        self.values = values
        super().__init__(f"operands have different element types {' and '.join(self._types())}; cast one")

    def _types(self) -> list[str]:
        return [str(element_of(value)) for value in self.values]

    def named(self, operands: Mapping[str, SSAValue]) -> VerifyException:
        """The error with the names of the operands, if all have one."""
        names = [next((name for name, one in operands.items() if one is value), None) for value in self.values]
        if None in names:
            return self
        types = ", ".join(f"{name} is {type_}" for name, type_ in zip(names, self._types(), strict=True))
        return VerifyException(f"operands have different element types: {types}; cast one")


def same_element_type(*values: SSAValue | Attribute) -> Attribute:
    """The one element type of all tensors; there is no implicit promotion."""
    first = element_of(values[0])
    for value in values[1:]:
        if (element := element_of(value)) is not first and element != first:
            raise MixedElementTypes(values[0], value)
    return first


def check_square(shape: Sequence[int]) -> None:
    """VerifyException unless the last two extents are equal."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise VerifyException(f"expected square matrices, got {dims(shape)}")


def check_element(type_: Attribute, allowed: Sequence[Attribute], name: str = "") -> None:
    """Require an element type to be one of the allowed ones; `name` names the operand if the op has several kinds."""
    if type_ not in allowed:
        what = f"{name}: element type" if name else "element type"
        raise VerifyException(f"{what} {type_} is not supported; expected one of {', '.join(map(str, allowed))}")


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; VerifyException if it is out of range."""
    if not -rank <= axis < rank:
        raise VerifyException(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the front, ascending."""
    normalized = [normalize_axis(axis, rank) for axis in axes]
    if len(set(normalized)) != len(normalized):
        raise VerifyException(f"axes {list(axes)} repeat one")
    return tuple(sorted(normalized))


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keep_dim: bool) -> tuple[int, ...]:
    """`shape` with the axes made 1 (`keep_dim`) or left out."""
    gone = normalize_axes(axes, len(shape))
    if keep_dim:
        return tuple(1 if axis in gone else n for axis, n in enumerate(shape))
    return tuple(n for axis, n in enumerate(shape) if axis not in gone)


def matmul_shape(lhs: Sequence[int], rhs: Sequence[int]) -> tuple[int, ...]:
    """`[..., m, k] @ [..., k, n]`: the leading dimensions broadcast."""
    if len(lhs) < 2 or len(rhs) < 2:
        raise VerifyException(f"expected ranks of at least 2, got {dims(lhs)} and {dims(rhs)}")
    if lhs[-1] != rhs[-2]:
        hint = "; transpose the RHS" if rhs[-1] == lhs[-1] else ""
        raise VerifyException(
            f"the inner dimensions of {dims(lhs)} @ {dims(rhs)} differ: expected {lhs[-1]} rows in the RHS, "
            f"got {rhs[-2]}{hint}"
        )
    return (*broadcast_shapes(lhs[:-2], rhs[:-2]), lhs[-2], rhs[-1])


def check_windows(
    rank: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> None:
    """Require an entry per axis in each list, and positive ones (paddings may be 0)."""
    for name, values, least in (
        ("kernel extents", kernel, 1),
        ("strides", stride, 1),
        ("paddings", padding, 0),
        ("dilations", dilation, 1),
    ):
        if len(values) != rank:
            raise VerifyException(f"expected {rank} {name}, got {list(values)}")
        if any(n < least for n in values):
            raise VerifyException(f"expected {name} of at least {least}, got {list(values)}")


def window_counts(
    size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> tuple[int, ...]:
    """
    `floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1` windows along each axis.

    VerifyException if the lists are wrong (see `check_windows`) or no window fits.
    """
    check_windows(len(size), kernel, stride, padding, dilation)
    if any(n < 1 for n in size):
        raise VerifyException(f"expected an image of at least 1 element along each axis, got {dims(size)}")
    counts: list[int] = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        reach = d * (k - 1) + 1
        if reach > n + 2 * p:
            raise VerifyException(f"a kernel over {reach} elements exceeds the extent {n} + 2*{p} of the padded input")
        counts.append((n + 2 * p - reach) // s + 1)
    return tuple(counts)


def integers(what: str, values: SupportsIndex | Iterable[SupportsIndex]) -> tuple[int, ...]:
    """One integer or several, NumPy's included, as Python's; GraphError for what is none."""
    try:
        several = values if isinstance(values, Iterable) else (values,)
        if not any(isinstance(value, bool) for value in several):
            return tuple(index(value) for value in several)
    except TypeError:
        pass
    raise GraphError(f"{what}: expected integers, got {values!r}{traced_note(values)}")
