"""Values with operators, and the core of the builder: inserting ops and turning numbers into operands.

The methods named after ops are in `mir_builder.py`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Concatenate, ForwardRef, NoReturn, ParamSpec, TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import is_number, plain_array
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.constants import NAMED, AnyDense, Array, DTypeName, Nested, Number
from xdsl_rlx.dialects.errors import GraphAttributeError, GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.core import TensorOp
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.fields import REQUIRED, Declaration, Part, arguments_of
from xdsl_rlx.dialects.mir.index_updates import Updates
from xdsl_rlx.dialects.mir.no_numbers import WithoutNumbers
from xdsl_rlx.dialects.mir.numpy_methods import NumpyFunctions, NumpyMethods
from xdsl_rlx.dialects.mir.promotion import Kind, applied
from xdsl_rlx.dialects.mir.subscripts import Index, subscript
from xdsl_rlx.dialects.mir.tensor_value import TensorValue
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    INTS,
    AnyTensor,
    dims,
    element_of,
    i1,
    integers,
    normalize_axis,
    shape_of,
    tensor_type,
)

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder

P = ParamSpec("P")
OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True, slots=True, eq=False)
class Value(TensorValue, NumpyMethods, WithoutNumbers):
    """A tensor in a graph under construction, with Python's operators; `==` and `!=` build `mir.eq` and `mir.ne`."""

    ssa: SSAValue
    b: MirBuilder
    weak: bool = False
    """Whether it is weakly typed: it stands for a Python number, and takes the element type of its operands."""

    @property
    def type(self) -> AnyTensor:
        """The tensor type."""
        return tensor_type(self.ssa)

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return shape_of(self.ssa)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return tensor_type(self.ssa).get_num_dims()

    @property
    def dtype(self) -> DTypeName:
        """The name of the element type: `"f32"`, `"i64"`, ...; NumPy takes it as a dtype."""
        return NAMED[element_of(self.ssa)]

    def __repr__(self) -> str:
        return f"Value({self.ssa.type})"

    def __hash__(self) -> int:
        return hash(self.ssa)

    def _with(self, name: str, a: Operand, b: Operand, kind: Kind = Kind.AS_IS) -> Value:
        """A builder method of two operands that are brought together."""
        if type(b) is Value and type(a) is Value:
            alike = a.b is b.b and not a.weak and not b.weak and element_of(a.ssa) == element_of(b.ssa)
        else:
            alike = not self.weak and type(b if a is self else a) in (int, float) and element_of(self.ssa) in FLOATS
        if alike and element_of(self.ssa) in FLOATS:
            return getattr(self.b, name)(a, b)
        return applied(name, (a, b), kind)

    def __add__(self, other: Operand) -> Value:
        return self._with("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self._with("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self._with("sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._with("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._with("mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self._with("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self._with("div", self, other, Kind.FLOATS)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._with("div", other, self, Kind.FLOATS)

    def __floordiv__(self, other: Operand) -> Value:
        return self._with("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Value:
        return self._with("floordiv", other, self)

    def __mod__(self, other: Operand) -> Value:
        return self._with("mod", self, other)

    def __rmod__(self, other: Operand) -> Value:
        return self._with("mod", other, self)

    def __divmod__(self, other: Operand) -> tuple[Value, Value]:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> tuple[Value, Value]:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def __pow__(self, other: Operand) -> Value:
        # x * x is x^2 rounded correctly, and has the cheaper derivative.
        if isinstance(other, int | float) and other == 2 and element_of(self.ssa) in (*FLOATS, *COMPLEXES):
            return self._with("mul", self, self)
        return self._with("pow", self, other)

    def __rpow__(self, other: Operand) -> Value:
        return self._with("pow", other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self._with("matmul", self, other)

    def __rmatmul__(self, other: Operand) -> Value:
        return self._with("matmul", other, self)

    def __neg__(self) -> Value:
        return self._alone("neg")

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return self._alone("abs")

    def __invert__(self) -> Value:
        return self._alone("not_")

    def _alone(self, name: str) -> Value:
        return (
            getattr(self.b, name)(self) if not self.weak and element_of(self.ssa) in FLOATS else applied(name, (self,))
        )

    def __lt__(self, other: Operand) -> Value:
        return self._with("lt", self, other)

    def __le__(self, other: Operand) -> Value:
        return self._with("le", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self._with("gt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self._with("ge", self, other)

    def __eq__(self, other: Operand | str | None) -> Value:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._no_number(False) if other is None or isinstance(other, str) else self._with("eq", self, other)

    def __ne__(self, other: Operand | str | None) -> Value:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._no_number(True) if other is None or isinstance(other, str) else self._with("ne", self, other)

    def _no_number(self, differs: bool) -> Value:
        """How all elements compare with None, or with a text, as in NumPy."""
        return self.b.full(self.shape, differs, "i1")

    def __and__(self, other: Operand) -> Value:
        return self._with("and_", self, other)

    def __rand__(self, other: Operand) -> Value:
        return self._with("and_", other, self)

    def __or__(self, other: Operand) -> Value:
        return self._with("or_", self, other)

    def __ror__(self, other: Operand) -> Value:
        return self._with("or_", other, self)

    def __xor__(self, other: Operand) -> Value:
        return self._with("xor", self, other)

    def __rxor__(self, other: Operand) -> Value:
        return self._with("xor", other, self)

    def __lshift__(self, other: Operand) -> Value:
        return self._with("shift_left", self, other)

    def __rlshift__(self, other: Operand) -> Value:
        return self._with("shift_left", other, self)

    def __rshift__(self, other: Operand) -> Value:
        return self._with("shift_right", self, other)

    def __rrshift__(self, other: Operand) -> Value:
        return self._with("shift_right", other, self)

    def __len__(self) -> int:
        if not self.rank:
            raise GraphTypeError("a scalar has no length and no elements to iterate over")
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Value:
        """NumPy's indexing (see `subscripts.py`)."""
        return subscript(self, index)

    @property
    def at(self) -> Updates:
        """`x.at[i].set(y)`: a copy with other elements at `x[i]`; also `add`, `multiply`, `min`, `max`, as in JAX."""
        return Updates(self)

    @property
    def T(self) -> Value:
        """The value with reversed axes."""
        return self.b.transpose(self, tuple(reversed(range(self.rank))))

    @checked
    def reshape(self, *shape: int | Sequence[int], order: str = "C", copy: bool | None = None) -> Value:
        """
        Build `mir.reshape`. Dimensions are passed one by one or as a sequence; one may be -1; order "F" is
        column-major.
        """
        dimensions: list[int] = []
        for part in shape:
            dimensions.extend(integers("reshape", part))
        return self.b.reshape(self, dimensions) if order == "C" else self._numpy("reshape", dimensions, order)

    @checked
    def cast(self, to: object) -> Value:
        """Build `mir.cast` to another element type."""
        return self.b.cast(self, to)

    def astype(self, dtype: object, order: str = "K", casting: str = "unsafe", **_: bool) -> Value:
        """Build `mir.cast` to a NumPy dtype (`"i8"` is int64), with the arguments of NumPy's method."""
        return self.b.cast(self, constants.numpy_type(dtype))


Operand: TypeAlias = Value | SSAValue | Number | Array
"""What an op method takes: a value, or a number or array that becomes a constant."""


class BuilderCore:
    """Inserting ops through a `Builder`, operands from numbers, constants, and the helpers that rules use."""

    depth: int = 0
    """The number of functions that are traced around its own."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            close = difflib.get_close_matches(name, (one for one in dir(type(self)) if one[0] != "_"), 1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise GraphAttributeError(f"a graph has no {name!r}{hint}")

    def __init__(self, builder: Builder):
        self.builder = builder

    def __init_subclass__(cls) -> None:
        for name, found in vars(cls).items():
            if inspect.isfunction(found) and OP in vars(found):
                found.__name__, found.__qualname__ = name, f"{cls.__qualname__}.{name}"

    @property
    def _this(self) -> MirBuilder:
        return cast("MirBuilder", self)

    def __numpy__(self) -> NumpyFunctions:
        """NumPy's functions on the values of this builder; GraphTypeError for one that has ops only, as rules have."""
        raise GraphTypeError("the builder of a rule has ops, and no functions of NumPy's: write b.exp(x) for np.exp(x)")

    def emit(self, make: Callable[P, OpT], *args: P.args, **kwargs: P.kwargs) -> OpT:
        """Create an op and insert it."""
        return self.builder.insert(make(*args, **kwargs))

    def op(self, make: Callable[P, Operation], *args: P.args, **kwargs: P.kwargs) -> Value:
        """Create an op with one result, insert it, and return the result."""
        return self.value(self.emit(make, *args, **kwargs).results[0])

    def value(self, ssa: SSAValue, weak: bool = False) -> Value:
        """Wrap an IR value; a `weak` one stands for a Python number, and takes the element type of its operands."""
        return Value(ssa, cast("MirBuilder", self), weak)

    def require_fit(self, x: Value, to: IntegerType) -> None:
        """Record that `x`, which stands for a Python integer, must fit into the type that it is cast to."""

    def operand(self, x: Operand, like: Operand | None = None) -> SSAValue:
        """
        Return the IR value of an operand; a number becomes a rank-0 constant of the element type of `like` (else f32).
        """
        if isinstance(x, Value):
            return x.ssa
        if isinstance(x, SSAValue):
            return x
        if is_number(x):
            if isinstance(like, Value | SSAValue):
                type_ = element_of(like.ssa if isinstance(like, Value) else like)
                # as `scalar`, whose arguments a graph would check again: a fifth of a training step's ops are these
                return self.emit(ConstantOp, constants.number(x, type_)).results[0]
            return self.constant(x).ssa
        return self._array_operand(x, like)

    def _array_operand(self, x: object, like: Operand | None) -> SSAValue:
        array = plain_array(x)
        if array is not None:
            if not array.shape and isinstance(like, Value | SSAValue):
                return self.operand(array.item(), like)
            return self.constant(array).ssa
        raise GraphError(f"expected a value, a number or an array, got {type(x).__name__}")

    def operands(self, *xs: Operand) -> list[SSAValue]:
        """Convert operands to one element type: that of the first value (else f32)."""
        like = next((x for x in xs if isinstance(x, Value | SSAValue)), None)
        return [self.operand(x, like) for x in xs]

    def scalar(self, value: Number, type_: Attribute) -> Value:
        """Return a rank-0 constant."""
        return self.op(ConstantOp, constants.number(value, type_))

    def constant(self, value: Array | Nested | AnyDense | Value, dtype: object = None) -> Value:
        """
        Create a `mir.constant` from a number, nested lists, an array or a dense attribute.

        An array keeps its dtype. Numbers and lists become f32, bools i1. `dtype` converts to another element type. A
        value is returned as it is, or in this type.
        """
        type_ = None if dtype is None else constants.element_type(dtype)
        if isinstance(value, Value):
            return value if type_ is None else self._this.cast(value, type_)
        # numbers first: to find that something is no attribute takes a while, with hundreds of classes of them
        if is_number(value):
            return self.op(ConstantOp, constants.from_nested(value, type_))
        if isinstance(value, Attribute):
            return self.op(ConstantOp, value)
        array = plain_array(value)
        if array is not None:
            return self.op(ConstantOp, constants.from_array(array, type_))
        return self.op(ConstantOp, constants.from_nested(cast("Nested", value), type_))

    def full(self, shape: Sequence[int], value: Number | Array | Value, dtype: object = "f32") -> Value:
        """
        Return a tensor filled with `value`, a number or a value of rank 0. GraphError if `dtype` cannot hold a number.
        """
        scalar = self.constant(value, dtype)
        if scalar.shape:
            raise GraphError(f"expected one number to fill a tensor with, got shape {dims(scalar.shape)}")
        return self._this.expand(scalar, shape)

    def accumulated(self, x: Operand, dtype: object = None) -> Value:
        """Cast `x` to the element type of its sums: `dtype`, else i64 for integers and i1, else its own."""
        value = self.value(self.operand(x))
        if dtype is None and element_of(value.ssa) in (i1, *INTS):
            dtype = "i64"
        return value if dtype is None else self._this.cast(value, dtype)

    def zeros_like(self, x: Operand) -> Value:
        """Return zeros of the shape and element type of `x`."""
        ssa = self.operand(x)
        return self.full(shape_of(ssa), 0, element_of(ssa))

    def ones_like(self, x: Operand) -> Value:
        """Return ones of the shape and element type of `x`."""
        ssa = self.operand(x)
        return self.full(shape_of(ssa), 1, element_of(ssa))

    def unbroadcast(self, g: Operand, shape: Sequence[int]) -> Value:
        """
        Sum `g` over the axes that broadcasting from `shape` repeated: the transpose of `mir.expand`.

        Emits one `mir.reduce_sum`, then one `mir.reshape` if axes of extent 1 remain; nothing if the shapes are equal.
        """
        value = self.value(self.operand(g))
        shape = tuple(shape)
        extra = value.rank - len(shape)
        axes = [axis for axis, n in enumerate(value.shape) if axis < extra or (shape[axis - extra] == 1 and n != 1)]
        if axes:
            value = self._this.reduce_sum(value, axes)
        return self._this.reshape(value, shape)

    def expand_to(self, v: Operand, shape: Sequence[int], axes: Sequence[int], keep_dim: bool) -> Value:
        """Expand the result `v` of a reduction to the operand's `shape`: the transpose of `mir.reduce_sum`."""
        value = self.value(self.operand(v))
        if not keep_dim:
            gone = {normalize_axis(axis, len(shape)) for axis in axes}
            value = self._this.reshape(value, [1 if axis in gone else n for axis, n in enumerate(shape)])
        return self._this.expand(value, shape)


OP = "__op__"
"""Where a method keeps the op that it was derived from."""


def method(make: Callable[P, TensorOp]) -> Callable[Concatenate[BuilderCore, P], Value]:
    """
    The builder method of an op: it takes what the op's constructor takes, and gives the first result.

    Numbers and arrays among the operands become constants, of the element type of the other operands.
    """
    emit = _emitter(make)

    def build(self: BuilderCore, *args: P.args, **kwargs: P.kwargs) -> Value:
        return self.value(emit(self, *args, **kwargs).results[0])

    return _described(build, cast("type[TensorOp]", make), 1, "Value")


def pair(make: Callable[P, TensorOp]) -> Callable[Concatenate[BuilderCore, P], tuple[Value, Value]]:
    """The builder method of an op, as `method`, that gives the first two results."""
    emit = _emitter(make)

    def build(self: BuilderCore, *args: P.args, **kwargs: P.kwargs) -> tuple[Value, Value]:
        first, second, *_ = emit(self, *args, **kwargs).results
        return self.value(first), self.value(second)

    return _described(build, cast("type[TensorOp]", make), 2, "tuple[Value, Value]")


def results_of(make: Callable[P, TensorOp]) -> Callable[Concatenate[BuilderCore, P], tuple[Value, ...]]:
    """The builder method of an op, as `method`, that gives all results."""
    emit = _emitter(make)

    def build(self: BuilderCore, *args: P.args, **kwargs: P.kwargs) -> tuple[Value, ...]:
        return tuple(self.value(result) for result in emit(self, *args, **kwargs).results)

    return _described(build, cast("type[TensorOp]", make), None, "tuple[Value, ...]")


def _emitter(make: Callable[P, TensorOp]) -> Callable[..., TensorOp]:
    kind = cast("type[TensorOp]", make)
    arguments = arguments_of(kind)
    tensors = [
        (place, found.alone, found.several)
        for place, found in enumerate(arguments.declared)
        if found.part == Part.OPERAND
    ]
    shared = [place for place, alone, _ in tensors if not alone]

    def emit(self: BuilderCore, *args: Any, **kwargs: Any) -> TensorOp:
        values = list(arguments.bind(args, kwargs))
        for place, alone, several in tensors:
            given = values[place]
            if type(given) is Value:
                values[place] = self.operand(given)
            elif several and isinstance(given, tuple | list):
                values[place] = self.operands(*cast("Sequence[Operand]", given))
            elif given is not None:
                known = (values[p] for p in shared if isinstance(values[p], Value | SSAValue))
                values[place] = self.operand(given, None if alone else next(known, None))
        return self.emit(kind, *values)

    return emit


FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


def _described(build: FunctionT, kind: type[TensorOp], count: int | None, annotation: str) -> FunctionT:
    """With the docstring and the signature that the class of the op says; it gives `count` results, or all."""
    vars(build)[OP] = kind
    results = [name for name, _ in kind.get_irdl_definition().results]
    which = "" if len(results) == 1 else f", {' and '.join(f'`{name}`' for name in results[:count])}"
    build.__doc__ = f"`{kind.name}`{which}: {inspect.cleandoc(kind.__doc__ or '')}"
    arguments = arguments_of(kind)
    named = zip(arguments.names, arguments.declared, strict=True)
    parameters = [inspect.Parameter("self", _KIND), *(_parameter(name, found) for name, found in named)]
    vars(build)["__signature__"] = inspect.Signature(parameters, return_annotation=annotation)
    return build


def with_options(options: type[Any], **defaults: object) -> Callable[[FunctionT], FunctionT]:
    """Show the fields of a typed dictionary, which a method takes as `**options`, in its signature; None by default."""

    def decorate(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)
        *parameters, _ = signature.parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        for name, field in options.__annotations__.items():
            # its text, by which arguments are checked as those of other methods
            annotation = field.__forward_arg__ if isinstance(field, ForwardRef) else field
            parameters.append(inspect.Parameter(name, kind, default=defaults.get(name), annotation=annotation))
        vars(function)["__signature__"] = signature.replace(parameters=parameters)
        return function

    return decorate


_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _parameter(name: str, declared: Declaration) -> inspect.Parameter:
    default = inspect.Parameter.empty if declared.default is REQUIRED else declared.default
    kind = inspect.Parameter.KEYWORD_ONLY if declared.kw_only else _KIND
    return inspect.Parameter(name, kind, default=default, annotation=declared.given)


def resolve_shape(shape: Sequence[int], new_shape: Sequence[int]) -> tuple[int, ...]:
    """`new_shape` with one -1 replaced by what is left of the elements of `shape`."""
    unknown = [axis for axis, n in enumerate(new_shape) if n == -1]
    if not unknown:
        return tuple(new_shape)
    known = prod(n for n in new_shape if n != -1)
    total = prod(shape)
    if len(unknown) > 1 or known == 0 or total % known:
        raise GraphError(f"cannot reshape {dims(shape)} to {list(new_shape)}: -1 cannot be inferred")
    return tuple(total // known if n == -1 else n for n in new_shape)
