"""NumPy's rules for operands of different element types: what operators and NumPy's functions do before they build.

Methods of builders that are named after ops do not convert: there two element types are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import holds_numbers, is_number, plain_array
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.constants import NUMPY_NAMES, Array
from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.dialects.mir import compositions, numpy_complex
from xdsl_rlx.dialects.mir.compositions import stack
from xdsl_rlx.dialects.mir.tensor_value import is_value
from xdsl_rlx.dialects.shapes import COMPLEXES, DTYPE_NAMES, FLOATS, INTS, element_of, i1, i64

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
    from xdsl_rlx.dialects.mir.value import Operand, Value


class Kind(Enum):
    """What a function computes in."""

    AS_IS = auto()
    """In the common element type."""
    FLOATS = auto()
    """In floats: integers become f64."""
    FITTING = auto()
    """In floats: integers become the narrowest that holds them, f16 of 8 bits, f32 of 16, else f64."""
    TRUTH = auto()
    """In truth values: a number is true if it is not 0."""


_WEAK: dict[type, object] = {bool: True, int: 1, float: 1.0, complex: 1j}
_OF_KIND = {"b": True, "i": 1, "u": 1, "f": 1.0, "V": 1.0, "c": 1j}
_WHOLE = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_FITTING = {"bool": "float16", "int8": "float16", "uint8": "float16", "int16": "float32"}

_INSTEAD: dict[tuple[str, str], str] = {
    ("add", "b"): "or_",
    ("mul", "b"): "and_",
    ("max", "b"): "or_",
    ("min", "b"): "and_",
}
"""The builder method that is another of booleans."""

_COMPOSED: dict[tuple[str, str], str] = {
    ("pow", "i"): "integer_power",
    ("pow", "c"): "complex_power",
    ("abs", "c"): "complex_abs",
}
"""The function of `compositions.py` in its place of integers (`"i"`) and complex numbers."""

_SAME = ("abs", "floor", "ceil", "trunc")
"""What changes no truth value."""

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")

_AS_INTEGERS = ("floordiv", "mod", "rem", "pow", "shift_left", "shift_right")
"""What takes truth values as integers of 8 bits."""


def innermost(operands: Sequence[object]) -> MirBuilder:
    """The builder of the values among some operands; of graphs in graphs, that of the innermost."""
    builders = [x.b for x in operands if is_value(x)]
    return max(builders, key=lambda b: b.depth)


def in_one_graph(operands: Sequence[Any]) -> list[Any]:
    """Operands, and lists of them, where values of graphs around the innermost one are values of that."""
    values = values_of(operands)
    if len({id(x.b) for x in values}) < 2:
        return list(operands)
    builder = innermost(values)

    def inside(x: Any) -> Any:
        if is_value(x):
            return x if x.b is builder else builder.value(builder.operand(x), x.weak)
        if type(x) in (list, tuple):
            return type(x)(map(inside, x))
        return x

    return [inside(x) for x in operands]


def values_of(operands: Sequence[Any]) -> list[Value]:
    """The values among operands and lists of them."""
    found: list[Value] = []
    for x in operands:
        if is_value(x):
            found.append(x)
        elif type(x) in (list, tuple):
            found += values_of(x)
    return found


def together(
    operands: Sequence[Operand], kind: Kind = Kind.AS_IS, compared: bool = False
) -> tuple[MirBuilder, list[Operand], bool]:
    """
    Operands converted to their common element type, the builder that they are for, and whether all give way.

    The types are NumPy's (`np.result_type`). Numbers give way, and so do arrays, which are constants, to a value of the
    same or a higher kind: truth values, integers, floats, complex numbers. Beside values of lower kinds only, an array
    has its own type. A list is the array that NumPy makes of it.
    Integers that are `compared` with one of Python's are so in i64, where it fits. GraphTypeError where there is no
    common type, and for what is no operand.
    """
    operands = [_listed(x) for x in operands]
    builder = innermost(operands)
    if kind is Kind.TRUTH:
        return builder, [_truth(builder, x) for x in operands], False
    weak = all(x.weak for x in operands if is_value(x))
    highest = max((KIND_RANKS[x.dtype.kind] for x in operands if is_value(x)), default=0) if weak else None
    rank = max((KIND_RANKS[x.dtype.kind] for x in operands if is_value(x) and not x.weak), default=None)
    found = _common(tuple([_described(x, highest, rank) for x in operands]), kind)
    if compared and found in INTS and not all(_fits(x, found) for x in operands):
        found = i64
    converted = [_converted(builder, x, found) for x in operands]
    arrays = (x for x in operands if isinstance(x, Array) and not is_value(x))
    return builder, converted, weak and not any(x.shape for x in arrays)


def _fits(x: Operand, type_: Attribute) -> bool:
    """Whether an operand is known to be in the range of an integer type, as all but Python's integers are."""
    if is_value(x):
        return not x.weak or x.dtype != "i64" or type_ == i64
    if type(x) is not int or not constants.is_integer(type_):
        return True
    low, high = constants.integer_range(type_)
    return low <= x <= high


def _listed(x: Any) -> Operand:
    """An operand, where a list of numbers is an array and one of values a value."""
    if is_value(x) or isinstance(x, SSAValue) or is_number(x):
        return cast("Operand", x)
    if isinstance(x, list | tuple):
        return joined(cast("Sequence[Any]", x))
    array = plain_array(x)
    if array is None:
        raise GraphTypeError(f"expected a value, a number, an array or a list of these, got {shown(x)}")
    if not holds_numbers(array.dtype):
        raise GraphTypeError(f"expected an array of numbers, got one of {array.dtype.name}")
    return cast("Array", array)


def joined(parts: Sequence[Any]) -> Operand:
    """What NumPy would make of a list, some of whose elements may be values; GraphTypeError if it is ragged."""
    import numpy as np

    inner = [joined(cast("Sequence[Any]", x)) if isinstance(x, list | tuple) else x for x in parts]
    if any(is_value(x) for x in inner):
        builder, converted, weak = together(inner)
        stacked = stack(builder, converted)
        return builder.value(stacked.ssa, weak)
    try:
        return _listed(np.asarray(inner))
    except ValueError as error:
        raise GraphTypeError(f"cannot convert a list to an array: {error}") from None


KIND_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
"""Kinds of element types, as NumPy names them, in order; bf16 is V."""


def _described(x: Operand, highest: int | None, rank: int | None) -> str | type:
    """
    An element type by its name, or the class of the Python numbers that it is like.

    Where all values give way, those of the `highest` kind among them keep the type that they have so far. Of those that
    do not, `rank` is the highest kind.
    """
    if is_value(x):
        return _class_of(x.dtype.name) if x.weak and KIND_RANKS[x.dtype.kind] != highest else x.dtype.name
    if is_number(x):
        return next(kind for kind in _WEAK if isinstance(x, kind))
    if isinstance(x, Array):
        # bf16 has no common type with most integers
        higher = rank is not None and KIND_RANKS[x.dtype.kind] > rank and x.dtype.kind != "V"
        return x.dtype.name if higher or (highest is not None and x.shape) else type(_OF_KIND[x.dtype.kind])
    return NUMPY_NAMES[DTYPE_NAMES[element_of(x)]]


def _class_of(name: str) -> type:
    return bool if name == "bool" else int if "int" in name else complex if "complex" in name else float


@lru_cache(maxsize=4096)
def _common(described: tuple[str | type, ...], kind: Kind) -> Attribute:
    import ml_dtypes
    import numpy as np

    def known(one: str | type) -> Any:
        if isinstance(one, type):
            return _WEAK[one]
        one = _FITTING.get(one, "float64" if "int" in one else one) if kind is Kind.FITTING else one
        return ml_dtypes.bfloat16 if one == "bfloat16" else np.dtype(one)

    half = np.dtype(ml_dtypes.bfloat16)
    if kind is Kind.FITTING and float in described and all(one is float or one in _WHOLE for one in described):
        # NumPy computes integers beside a float of Python's in f64
        kind = Kind.FLOATS
    if kind is Kind.FITTING and int in described and all(one in (bool, int, "bool") for one in described):
        # beside truth values an integer of Python's has 64 bits
        kind = Kind.FLOATS
    try:
        strong = [known(one) for one in described if isinstance(one, str)]
        if strong and np.result_type(*strong) == half and complex not in described:
            # NumPy makes f64 of bf16 and a number of Python's
            described = tuple(one for one in described if isinstance(one, str))
        found = np.result_type(*map(known, described))
        if kind is not Kind.AS_IS and found.kind in "biu":
            found = np.dtype(np.float64)
        return constants.element_type(found)
    except (TypeError, ValueError) as error:
        names = " and ".join(one if isinstance(one, str) else one.__name__ for one in described)
        raise GraphTypeError(f"{names} have no common element type here; convert one with astype ({error})") from None


def _converted(builder: MirBuilder, x: Operand, to: Attribute) -> Operand:
    if is_value(x):
        if constants.is_integer(to) and not _fits(x, to):
            builder.require_fit(x, to)
        return builder.cast(x, to)
    if is_number(x):
        return builder.scalar(x, to)
    return builder.constant(x, to) if isinstance(x, Array) else x


def _truth(builder: MirBuilder, x: Operand) -> Operand:
    if is_value(x):
        return x if x.dtype == "i1" else builder.ne(x, 0)
    return builder.constant(x, "i1") if isinstance(x, bool) else builder.ne(x, 0)


def applied(make: str | Callable[..., Any], operands: Sequence[Operand], kind: Kind = Kind.AS_IS) -> Any:
    """A builder method, by its name, or a function of a builder, of operands brought together."""
    builder, converted, weak = together(operands, kind, make in _COMPARISONS)
    if isinstance(make, str):
        make, converted = _of_elements(builder, make, converted)
    result = getattr(builder, make)(*converted) if isinstance(make, str) else make(builder, *converted)
    return result.b.value(result.ssa, True) if weak and is_value(result) and result.dtype != "i1" else result


def _of_elements(builder: MirBuilder, make: str, operands: list[Operand]) -> tuple[str | Callable[..., Any], list[Any]]:
    """What a builder method is of operands of these elements, and the operands that it takes."""
    element = next((element_of(x.ssa) for x in operands if is_value(x)), None)
    if element is None or element in FLOATS:
        return make, operands
    kind = "b" if element == i1 else "c" if element in COMPLEXES else "i"
    if kind == "b" and make in _AS_INTEGERS:
        return _of_elements(builder, make, [builder.cast(x, "i8") for x in operands])
    if kind == "b" and make in _SAME:
        return _unchanged, operands
    if kind == "b" and make == "matmul":
        return _product_of_truth, operands
    if kind == "b" and make in ("sub", "neg"):
        raise GraphTypeError("booleans support neither subtraction nor negation, as in NumPy; write x ^ y and ~x")
    if kind == "c" and make in numpy_complex.TABLE:
        return partial(_of_parts, make), operands
    if (make, kind) in _COMPOSED:
        return getattr(compositions, _COMPOSED[make, kind]), operands
    return _INSTEAD.get((make, kind), make), operands


def _unchanged(_: MirBuilder, x: Operand) -> Operand:
    return x


def _of_parts(make: str, b: MirBuilder, *operands: Operand) -> Value:
    return numpy_complex.TABLE[make](*(b.value(b.operand(x)) for x in operands))


def _product_of_truth(b: MirBuilder, x: Operand, y: Operand) -> Value:
    """Whether both have a 1 in some place of what is summed over."""
    return b.ne(b.matmul(b.cast(x, "i64"), b.cast(y, "i64")), 0)
