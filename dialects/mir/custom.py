"""
`mir.custom` and the registry of ops of users and plugins. The decorator is `xdsl_rlx.custom_op`.

Each registered op has its own class, so that its rules are rows of the same tables as those of other ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Field,
    Tensors,
    Text,
    attribute,
    f64_attr,
    i64_attr,
    i64_list,
    string,
    tensors,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand
from xdsl_rlx.dialects.names import text_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of
from xdsl_rlx.forks import process_name
from xdsl_rlx.plugins import modules

Option: TypeAlias = "bool | int | float | str | Sequence[int]"
"""What an op may be given besides its operands."""


class Shaped(NamedTuple):
    """Shape and dtype of an operand or result, such as `Shaped((4, 3), "f32")`."""

    shape: tuple[int, ...]
    dtype: str


def shaped(value: SSAValue) -> Shaped:
    """Shape and dtype of a value."""
    return Shaped(shape_of(value), DTYPE_NAMES[element_of(value)])


ShapeRule: TypeAlias = Callable[..., "Shaped | Sequence[Shaped]"]
"""`(*operands: Shaped, **options) -> Shaped`, or a list of them for several results."""


@dataclass(frozen=True)
class Registration:
    """What an op of that name means: its result types, and how to tell in a cache that it has changed."""

    name: str
    shape: ShapeRule
    key: str
    lasts: bool = True
    """Whether the key says it in every process, or in this one only: a function may read what a child changes."""


class CustomBase(MirOp):
    """The base of the registered ops, each of which is a class of its own."""

    REGISTRATION: ClassVar[Registration | None] = None

    callee: Text = string()
    inputs: Tensors = tensors()
    options: Field[DictionaryAttr | None, DictionaryAttr | None] = attribute(DictionaryAttr, default=None)
    outputs = var_result_def(AnyTensorConstr)

    assembly_format = "$callee `(` $inputs `)` (`options` $options^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, callee: str, inputs: Sequence[SSAValue], options: Mapping[str, Option] | None = None):
        found = find(callee)
        if found is None or found.REGISTRATION is None:
            raise VerifyException(_unknown(callee))
        attributes = {name: attribute_of(name, value) for name, value in (options or {}).items()}
        self.assemble(
            operands=[inputs],
            properties={
                "callee": StringAttr(callee),
                "options": DictionaryAttr(attributes) if attributes else None,
            },
            result_types=[_infer(found.REGISTRATION, inputs, options or {})],
        )

    @property
    def cache_key(self) -> str:
        """What a compiled program depends on besides the text of the op."""
        found = self.REGISTRATION
        if found is None:
            return ""
        return found.key if found.lasts else f"{found.key} in {process_name()}"

    @property
    def option_values(self) -> dict[str, Option]:
        """The options as Python values."""
        return {} if self.options is None else {name: value_of(a) for name, a in self.options.data.items()}

    def infer_types(self) -> Sequence[Attribute]:
        if self.REGISTRATION is None:
            raise VerifyException(_unknown(self.callee.data))
        return _infer(self.REGISTRATION, self.inputs, self.option_values)


class CustomOp(CustomBase, name="mir.custom"):
    """
    `outputs = callee(inputs)`: an op registered by `xdsl_rlx.custom_op` under the name `callee`, with its `options`.

    An op with a registered name is an instance of the class made for that name. An instance of this class itself has a
    name that is not registered, which is an error.
    """

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        location: Any = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        make = cast(Callable[..., Self], super().create if (kind := _kind(properties)) is None else kind.create)
        return make(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            location=location,
            successors=successors,
            regions=regions,
        )

    @classmethod
    def build(cls, *, properties: Mapping[str, Attribute | None] | None = None, **parts: Any) -> Self:
        kind = _kind(properties or {})
        make = cast(Callable[..., Self], super().build if kind is None else kind.build)
        return make(properties=properties, **parts)


def _kind(properties: Mapping[str, Attribute | None]) -> type[CustomBase] | None:
    callee = text_of(properties.get("callee"))
    return None if callee is None else find(callee)


_REGISTER: dict[str, type[CustomBase]] = {}


def register(registration: Registration, own_nest: bool) -> type[CustomBase]:
    """The class of a new op, or of one that replaces that of its name."""
    fields: dict[str, object] = {"name": CustomOp.name, "REGISTRATION": registration, "__module__": __name__}
    fields["__annotations__"] = {"REGISTRATION": ClassVar[Registration | None]}
    if own_nest:
        fields["traits"] = traits_def(HasKernel())
    kind = irdl_op_definition(cast(type[CustomBase], type("CustomOp", (CustomBase,), fields)))
    _REGISTER[registration.name] = kind
    return kind


def find(name: str) -> type[CustomBase] | None:
    """The class registered under the name, by a plugin if by nobody yet; None if there is none."""
    if name not in _REGISTER:
        _import_plugins()
    return _REGISTER.get(name)


@cache
def _import_plugins() -> None:
    modules("custom")


def _unknown(name: str) -> str:
    known = ", ".join(f'"{other}"' for other in sorted(_REGISTER)) or "none"
    return f'no op is registered as "{name}" (registered: {known}); see xdsl_rlx.custom_op'


def _infer(registration: Registration, inputs: Sequence[SSAValue], options: Mapping[str, Option]) -> list[Attribute]:
    what = f'the shape rule of mir.custom "{registration.name}"'
    given = [shaped(x) for x in inputs]
    try:
        found = registration.shape(*given, **options)
    except (VerifyException, GraphError) as error:
        raise VerifyException(f'mir.custom "{registration.name}": {error}') from error
    except (TypeError, ValueError, IndexError, AssertionError) as error:
        raise VerifyException(f"{what} does not take these operands and options: {error}") from error
    single = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], str | constants.DTypeName)
    results = cast(Sequence[Shaped], [found] if single else found)
    try:
        types: list[Attribute] = [TensorType(constants.element_type(dtype), tuple(shape)) for shape, dtype in results]
    except (TypeError, ValueError) as error:
        raise VerifyException(f"{what} gave {found!r}, not a Shaped or a list of them") from error
    return types


def attribute_of(name: str, value: Option) -> Attribute:
    """An option as an attribute; GraphError for what cannot be one."""
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return i64_attr(value)
    if isinstance(value, float):
        return f64_attr(value)
    if isinstance(value, str):
        return StringAttr(value)
    # a caller's argument: it may be anything
    if isinstance(value, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        items = cast(Sequence[object], value)
        if all(isinstance(n, int) and not isinstance(n, bool) for n in items):
            return i64_list(value)
    raise GraphError(f"option {name}: expected a bool, a number, a string or a list of integers, got {value!r}")


def value_of(attribute: Attribute) -> Option:
    """An option as a Python value; VerifyException for an attribute that is none."""
    if (text := text_of(attribute)) is not None:
        return text
    if isinstance(attribute, IntegerAttr):
        number = cast("IntegerAttr[Any]", attribute)
        return bool(number.value.data) if number.type == i1 else number.value.data
    if isinstance(attribute, FloatAttr):
        return cast("FloatAttr[Any]", attribute).value.data
    if isinstance(attribute, DenseArrayBase):
        return [int(n) for n in cast("DenseArrayBase[Any]", attribute).get_values()]
    raise VerifyException(f"expected a bool, a number, a string or a list of integers as option, got {attribute}")


class CustomBuilder(BuilderCore):
    """Builder methods of this family."""

    def custom(self, callee: str, *inputs: Operand, **options: Option) -> Any:
        """`mir.custom`, the op registered as `callee`: a value, or a tuple of values if it has several results."""
        found = find(callee)
        if found is None:
            raise GraphError(_unknown(callee))
        op: Operation = self.emit(found, callee, self.operands(*inputs), options)
        results = tuple(self.value(x) for x in op.results)
        return results[0] if len(results) == 1 else results
