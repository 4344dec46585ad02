"""Fields of mir and hir ops: operands, properties and regions, declared once as annotated fields of a class.

Its constructor, segment sizes, the text form of an op that has no other, and the arguments of its builder method
(`value.py`) follow from them. A result that is always there is xDSL's `result_def`. A class may write its constructor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar, cast, overload

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    AttrSizedOperandSegments,
    AttrSizedRegionSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OperandDef,
    OptResultDef,
    RegionDef,
    ResultDef,
    VariadicDef,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    opt_result_def,
    prop_def,
    region_def,
    var_operand_def,
    var_region_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.shapes import dims, integers, normalize_axes, normalize_axis, shape_of

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Operand

AnyTensorConstr = TensorType.constr()
I64 = IntegerAttr.constr(i64)
I1 = IntegerAttr.constr(i1)
F64 = FloatAttr.constr(f64)
I64List = DenseArrayBase.constr(i64)

Held = TypeVar("Held")
Given = TypeVar("Given")
AttributeT = TypeVar("AttributeT", bound=Attribute)
EnumT = TypeVar("EnumT", bound=StrEnum)


class _Missing(Enum):
    REQUIRED = auto()


REQUIRED = _Missing.REQUIRED
"""The default of a field that has none."""

_Required: TypeAlias = Literal[_Missing.REQUIRED]


class Field(Generic[Held, Given]):
    """What a type checker sees of a field: an op has a `Held` where its constructor was given a `Given`."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, op: None, owner: object) -> Self: ...
        @overload
        def __get__(self, op: Operation, owner: object) -> Held: ...
        def __get__(self, op: Operation | None, owner: object) -> Held | Self: ...
        def __set__(self, op: Operation, given: Given) -> None: ...


Tensor: TypeAlias = Field[SSAValue, "Operand"]
OptionalTensor: TypeAlias = Field[SSAValue | None, "Operand | None"]
Tensors: TypeAlias = Field[Sequence[SSAValue], "Sequence[Operand]"]
Integer: TypeAlias = Field[IntegerAttr[IntegerType], int]
OptionalInteger: TypeAlias = Field[IntegerAttr[IntegerType] | None, int | None]
Real: TypeAlias = Field[FloatAttr, float]
OptionalReal: TypeAlias = Field[FloatAttr | None, float | None]
Flag: TypeAlias = Field[UnitAttr | None, bool]
IntegerList: TypeAlias = Field[DenseArrayBase[IntegerType], Sequence[int]]
StepList: TypeAlias = Field[DenseArrayBase[IntegerType], int | Sequence[int]]
OptionalStepList: TypeAlias = Field[DenseArrayBase[IntegerType], int | Sequence[int] | None]
Truth: TypeAlias = Field[IntegerAttr[IntegerType], bool]
Text: TypeAlias = Field[StringAttr, str]
AxisList: TypeAlias = Field[DenseArrayBase[IntegerType], int | Sequence[int] | None]
Word: TypeAlias = Field[EnumAttribute[EnumT], EnumT | str]
OptionalWord: TypeAlias = Field[EnumAttribute[EnumT] | None, EnumT | str | None]
EitherInteger: TypeAlias = Field[IntegerAttr[IntegerType], int | None]
Stated: TypeAlias = Field[None, int | None]
Body: TypeAlias = Field[Region, Block]
OptionalBody: TypeAlias = Field[Region | None, Block | None]
Bodies: TypeAlias = Field[Sequence[Region], Sequence[Block]]
OptionalResult: TypeAlias = Field[OpResult | None, bool]


class Part(Enum):
    """The part of an op that a field declares."""

    OPERAND = auto()
    PROPERTY = auto()
    REGION = auto()
    RESULT = auto()
    ARGUMENT = auto()
    """None: it is an argument of the constructor, from which another field follows."""


Resolve: TypeAlias = Callable[[Any, Mapping[str, Any], SSAValue], Held]


@dataclass(frozen=True)
class Declaration:
    """A field as declared. Once its class is made, xDSL's definition is in its place, and this in `declared_by`."""

    definition: Any
    given: Any
    """The annotation of the argument."""
    default: Any
    form: str = ""
    """What the text form has for it, where `{}` is its name."""
    convert: Callable[[Any, Any], Attribute | None] | None = None
    """From the given value, and the op's first operand, to the property."""
    reads_operand: bool = False
    """Whether `convert` reads the first operand."""
    kw_only: bool = False
    """Whether it is a keyword argument, behind all others."""
    part: Part = Part.PROPERTY
    alias: str | None = None
    """The name of the argument, and of a property, if it is not that of the field."""
    alone: bool = False
    """Whether a number given for this operand is no number of the other operands' element type."""
    several: bool = False
    """Whether it is any number of operands."""
    shape: str | None = None
    """The extents of an operand by name, as in `W, 3W`, for `check_operands`."""
    resolve: Resolve[Any] | None = None
    """From what is given for it, and for all arguments by name, and the first operand, to the value; field by field."""

    @property
    def is_segment(self) -> bool:
        """Whether it is an operand that may be left out, or several."""
        return self.part == Part.OPERAND and self.given != "Operand"


def tensor(
    constraint: AttrConstraint = AnyTensorConstr,
    *,
    alias: str | None = None,
    alone: bool = False,
    keyword: str | None = None,
    shape: str | None = None,
) -> Tensor:
    """
    An operand; `alone` if its element type has nothing to do with that of the others.

    Its text follows `keyword`. `check_operands` requires its `shape`.
    """
    definition, form = operand_def(constraint), "${}" if keyword is None else f"`{keyword}` ${{}}"
    part = Part.OPERAND
    found = Declaration(definition, "Operand", REQUIRED, form, part=part, alias=alias, alone=alone, shape=shape)
    return cast(Tensor, found)


def optional_tensor(
    *,
    default: _Required | None = REQUIRED,
    alone: bool = False,
    keyword: str = ",",
    shape: str | None = None,
) -> OptionalTensor:
    """An operand, as `tensor`, that may be left out; without `default`, by giving None in its place."""
    definition, form, part = opt_operand_def(AnyTensorConstr), f"(`{keyword}` ${{}}^)?", Part.OPERAND
    found = Declaration(definition, "Operand | None", default, form, part=part, alone=alone, shape=shape)
    return cast(OptionalTensor, found)


def tensors(*, default: tuple[()] | _Required = REQUIRED) -> Tensors:
    """Any number of operands."""
    definition = var_operand_def(AnyTensorConstr)
    found = Declaration(definition, "Sequence[Operand]", default, "${}", part=Part.OPERAND, several=True)
    return cast(Tensors, found)


def region() -> Body:
    """A region of one block."""
    return cast(Body, Declaration(region_def("single_block"), Block, REQUIRED, part=Part.REGION))


def optional_region(*, default: None) -> OptionalBody:
    """A region of one block that may be absent."""
    return cast(OptionalBody, Declaration(opt_region_def("single_block"), Block | None, default, part=Part.REGION))


def regions(*, alias: str) -> Bodies:
    """Any number of regions of one block each."""
    found = Declaration(var_region_def("single_block"), Sequence[Block], REQUIRED, part=Part.REGION, alias=alias)
    return cast(Bodies, found)


def optional_result(*, default: bool) -> OptionalResult:
    """A result that the caller of the constructor asks for: `infer_types` reads whether it is there."""
    found = Declaration(opt_result_def(AnyTensorConstr), bool, default, part=Part.RESULT)
    return cast(OptionalResult, found)


@overload
def integer(*, default: int | _Required = REQUIRED, alias: str | None = None) -> Integer: ...
@overload
def integer(*, default: None) -> OptionalInteger: ...
def integer(*, default: int | _Required | None = REQUIRED, alias: str | None = None) -> Any:
    """An i64, optional if None is the default."""
    return _property(I64, int, default, lambda x, _: i64_attr(x), alias)


@overload
def real(*, default: float | _Required = REQUIRED) -> Real: ...
@overload
def real(*, default: None) -> OptionalReal: ...
def real(*, default: float | _Required | None = REQUIRED) -> Any:
    """An f64, optional if None is the default."""
    return _property(F64, float, default, lambda x, _: f64_attr(x))


@overload
def word(kind: type[EnumAttribute[EnumT]], what: str, *, default: EnumT | _Required = REQUIRED) -> Word[EnumT]: ...
@overload
def word(kind: type[EnumAttribute[EnumT]], what: str, *, default: EnumT, kw_only: Literal[True]) -> Word[EnumT]: ...
@overload
def word(kind: type[EnumAttribute[EnumT]], what: str, *, default: None) -> OptionalWord[EnumT]: ...
def word(
    kind: type[EnumAttribute[EnumT]],
    what: str,
    *,
    default: EnumT | _Required | None = REQUIRED,
    kw_only: bool = False,
) -> Any:
    """One of a few words, optional if None is the default; `what` they are says the message about any other."""
    enum = cast("type[EnumT]", kind.enum_type)
    found = _property(kind, enum | str, default, lambda x, _: kind(word_of(enum, what, x)))
    return replace(found, kw_only=kw_only)


def optional_word(kind: type[EnumAttribute[EnumT]], what: str, *, default: EnumT | None) -> OptionalWord[EnumT]:
    """One of a few words, as `word`, or None; the default is the one that is most often wanted."""
    return cast("OptionalWord[EnumT]", replace(cast(Declaration, word(kind, what, default=None)), default=default))


@overload
def attribute(
    kind: type[AttributeT], *, default: _Required = REQUIRED, alias: str | None = None
) -> Field[AttributeT, AttributeT]: ...
@overload
def attribute(kind: type[AttributeT], *, default: None) -> Field[AttributeT | None, AttributeT | None]: ...
def attribute(kind: type[AttributeT], *, default: _Required | None = REQUIRED, alias: str | None = None) -> Any:
    """An attribute that is given as such, optional if None is the default."""
    return _property(kind, kind, default, lambda x, _: x, alias)


def string() -> Text:
    """A text."""
    return cast(Text, _property(StringAttr, str, REQUIRED, lambda x, _: StringAttr(x)))


def flag(*, default: bool) -> Flag:
    """A unit attribute that is there or not."""
    return cast(
        Flag, Declaration(opt_prop_def(UnitAttr), bool, default, _OPTIONAL, lambda x, _: UnitAttr() if x else None)
    )


def integer_list(*, default: Sequence[int] | _Required = REQUIRED) -> IntegerList:
    """A list of i64."""
    found = Declaration(prop_def(I64List), Sequence[int], default, _LIST, lambda x, _: i64_list(integers("list", x)))
    return cast(IntegerList, found)


@overload
def steps(*, default: int | _Required = REQUIRED) -> StepList: ...
@overload
def steps(*, default: None, like: str) -> OptionalStepList: ...
def steps(*, default: int | _Required | None = REQUIRED, like: str | None = None) -> Any:
    """
    A list of i64, one for each dimension behind the first two of the first operand; one number stands for all.

    With `like`, None stands for what is given for the field of that name.
    """

    def convert(given: int | Sequence[int], first: SSAValue) -> Attribute:
        found = integers("steps", given)
        return i64_list(found if isinstance(given, Iterable) else found * (len(shape_of(first)) - 2))

    if like is None:
        return Declaration(prop_def(I64List), int | Sequence[int], default, _LIST, convert, True)
    found = Declaration(prop_def(I64List), int | Sequence[int] | None, default, _LIST, convert, True)

    def resolve(own: int | Sequence[int] | None, given: Mapping[str, Any], _: SSAValue) -> Any:
        return given[like] if own is None else own

    return replace(found, resolve=resolve)


def truth(*, default: bool) -> Truth:
    """An i1."""
    return cast(Truth, Declaration(prop_def(I1), bool, default, _REQUIRED, lambda x, _: IntegerAttr.from_bool(x)))


@overload
def axis(*, default: int | _Required = REQUIRED) -> Integer: ...
@overload
def axis(*, default: None) -> OptionalInteger: ...
def axis(*, default: int | _Required | None = REQUIRED) -> Any:
    """An axis of the first operand, which the constructor counts from the front; optional if None is the default."""
    found = _property(I64, int, default, lambda x, first: i64_attr(normalize_axis(x, len(shape_of(first)))))
    return replace(found, reads_operand=True)


def resolved_integer(resolve: Resolve[int], *, default: None) -> EitherInteger:
    """An i64 that `resolve` finds; nothing, or None, may be given for it."""
    found = replace(_property(I64, int, REQUIRED, lambda x, _: i64_attr(x)), given=int | None, default=default)
    return cast(EitherInteger, replace(found, reads_operand=True, resolve=resolve))


def stated(*, default: None) -> Stated:
    """An integer that others follow from (see `resolved_integer`); the op does not keep it."""
    return cast(Stated, Declaration(None, int | None, default, part=Part.ARGUMENT))


def axes(*, default: None) -> AxisList:
    """AxisList of the first operand, by default all, which the constructor counts from the front and sorts."""

    def convert(given: int | Sequence[int] | None, first: SSAValue) -> Attribute:
        rank = len(shape_of(first))
        return i64_list(range(rank) if given is None else normalize_axes(integers("axes", given), rank))

    return cast(AxisList, Declaration(prop_def(I64List), int | Sequence[int] | None, default, _LIST, convert, True))


def inherited(*, init: Literal[False] = False) -> Any:
    """A field of xDSL's base class, which is no argument of a constructor. For type checkers."""


_REQUIRED = "`{0}` ${0}"
_OPTIONAL = "(`{0}` ${0}^)?"
_LIST = "`{0}` custom<IntList>(${0})"


def _property(
    constraint: Any,
    given: Any,
    default: object,
    convert: Callable[[Any, SSAValue], Attribute],
    alias: str | None = None,
) -> Declaration:
    if default is None:
        definition = opt_prop_def(constraint, prop_name=alias)
        return Declaration(
            definition,
            given | None,
            None,
            _OPTIONAL,
            lambda x, first: None if x is None else convert(x, first),
            alias=alias,
        )
    return Declaration(prop_def(constraint, prop_name=alias), given, default, _REQUIRED, convert, alias=alias)


def word_of(kind: type[EnumT], what: str, given: EnumT | str) -> EnumT:
    """The member of that name; GraphError lists what there is."""
    try:
        return member_of(kind, what, given)
    except VerifyException as error:
        raise GraphError(str(error)) from None


def member_of(kind: type[EnumT], what: str, given: EnumT | str) -> EnumT:
    """The member of that name; VerifyException lists what there is."""
    try:
        return kind(given)
    except ValueError:
        raise VerifyException(f"{what} '{given}' is not one of {', '.join(kind)}") from None


_SEGMENTS = (
    (OperandDef, AttrSizedOperandSegments),
    (ResultDef, AttrSizedResultSegments),
    (RegionDef, AttrSizedRegionSegments),
)
_OPTIONS = "irdl_options"
_BASES_OF_ALL = frozenset(IRDLOperation.__mro__)
_DECLARED = "__declared__"
"""Where a class keeps its own declarations: under a name that xDSL takes for Python's, not for a definition."""


def declare(kind: type[IRDLOperation], kw_only: bool = False) -> None:
    """
    Put xDSL's definitions in the place of the declarations of a class, and a text form where an op has none.

    With `kw_only`, its own are keyword arguments.

    An op gets those of its bases once more, because xDSL numbers what a class has before what its bases have.
    """
    own = {name: found for name, found in vars(kind).items() if isinstance(found, Declaration)}
    setattr(kind, _DECLARED, {name: replace(found, kw_only=kw_only or found.kw_only) for name, found in own.items()})
    declared = declared_by(kind)
    for name, found in vars(kind)[_DECLARED].items():
        delattr(kind, name)
        if found.part == Part.ARGUMENT:
            # to xDSL an annotated name is a part of the op
            del kind.__annotations__[name]
    for name, found in declared.items():
        if found.part != Part.ARGUMENT:
            setattr(kind, name, found.definition)
    # xDSL adds those of bases
    known: list[type] = [type(option) for base in kind.__mro__ for option in vars(base).get(_OPTIONS, ())]
    variadics = _variadics(kind)
    several = [option for part, option in _SEGMENTS if sum(issubclass(one, part) for one in variadics) > 1]
    wanted = [option for option in several if option not in known]
    if wanted:
        setattr(kind, _OPTIONS, tuple(option(as_property=True) for option in wanted))
    has_text = kind.assembly_format is not None or kind.print is not IRDLOperation.print
    if "name" in vars(kind) and not has_text and declared:
        segmented = sum(found.is_segment for found in declared.values()) > 1
        kind.assembly_format = _segmented_form(declared) if segmented else _text_form(declared)
    if "name" in vars(kind) and kind.assembly_format is not None:
        kind.assembly_format = _with_exact_numbers(kind, kind.assembly_format)


def _variadics(kind: type[IRDLOperation]) -> list[type]:
    """The kinds of the operands, results and regions of a class that are optional, or several."""
    names = dict.fromkeys(name for base in _bases(kind) for name in vars(base))
    kinds = (getattr(getattr(kind, name, None), "cls", None) for name in names)
    return [one for one in kinds if isinstance(one, type) and issubclass(one, VariadicDef)]


def _bases(kind: type[IRDLOperation]) -> list[type]:
    """The class and its bases but those of all ops, which declare nothing."""
    return [base for base in kind.__mro__ if base not in _BASES_OF_ALL]


def _with_exact_numbers(kind: type[IRDLOperation], form: str) -> str:
    """A text form whose f64 properties are read and written by `Number`."""
    fields = {name: found for base in _bases(kind) for name, found in vars(base).items()}
    reals = {getattr(found, "ir_name", None) or name for name, found in fields.items() if _is_real(found)}
    return re.sub(
        r"(?<!\()\$(\w+)", lambda found: f"custom<Number>({found[0]})" if found[1] in reals else found[0], form
    )


def _is_real(definition: object) -> bool:
    return getattr(definition, "param", None) is F64


def declared_by(kind: type[IRDLOperation]) -> dict[str, Declaration]:
    """
    The declarations of a class by field, in the order of its constructor: those of its bases, its own, and those that
    are keywords only.
    """
    found: dict[str, Declaration] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base).get(_DECLARED, {})
    return dict(sorted(found.items(), key=lambda item: item[1].kw_only))


def operands_by_name(op: IRDLOperation) -> dict[str, SSAValue]:
    """The operands that are there, by the names of the arguments of the constructor; several of one are numbered."""
    declared = declared_by(type(op))
    found: dict[str, SSAValue] = {}
    for field, _ in op.get_irdl_definition().operands:
        name = (declared[field].alias if field in declared else None) or field
        given = getattr(op, field)
        if isinstance(given, SSAValue):
            found[name] = given
        else:
            found |= {f"{name}[{n}]": value for n, value in enumerate(given or ())}
    return found


@cache
def _shapes_of(kind: type[IRDLOperation]) -> list[tuple[str, list[tuple[int, str]]]]:
    """The operands that have a shape by their fields, with a factor and a name for each extent."""
    shapes = {name: found.shape for name, found in declared_by(kind).items() if found.shape is not None}
    return [
        (name, [(int(factor or 1), extent) for factor, extent in re.findall(r"(\d*)([A-Z]\w*)", shape)])
        for name, shape in shapes.items()
    ]


def check_operands(op: IRDLOperation, **extents: int) -> None:
    """Require the operands that are there to have the shapes that their fields say, of these extents."""
    for name, shape in _shapes_of(type(op)):
        value: SSAValue | None = getattr(op, name)
        expected = [factor * extents[extent] for factor, extent in shape]
        if value is not None and shape_of(value) != tuple(expected):
            raise VerifyException(f"expected {name} of shape {dims(expected)}, got {dims(shape_of(value))}")


def _text_form(declared: dict[str, Declaration]) -> str:
    operands = " ".join(found.form.format(name) for name, found in _operands(declared).items())
    # a comma in front of an operand that follows no keyword
    operands = re.sub(r"(?<= )(?=\$)(?<!` )", "`,` ", operands)
    return " ".join([operands, *_properties(declared), "attr-dict `:` functional-type(operands, results)"])


def _segmented_form(declared: dict[str, Declaration]) -> str:
    """That of an op of which several operands may be left out, or are several: each of these has its name and type."""
    operands = _operands(declared)
    fixed = [name for name, found in operands.items() if not found.is_segment]
    one, several = "(`{0}` ${0}^ `:` type(${0}))?", "(`{0}` `(` ${0}^ `:` type(${0}) `)`)?"
    named = [(several if found.several else one).format(name) for name, found in operands.items() if found.is_segment]
    given = [" `,` ".join(f"${name}" for name in fixed), "`:`", " `,` ".join(f"type(${name})" for name in fixed)]
    return " ".join([*given, *named, *_properties(declared), "attr-dict `->` type(results)"])


def _operands(declared: dict[str, Declaration]) -> dict[str, Declaration]:
    return {name: found for name, found in declared.items() if found.part == Part.OPERAND}


def _properties(declared: dict[str, Declaration]) -> list[str]:
    names = [(found, found.alias or name) for name, found in declared.items() if found.part == Part.PROPERTY]
    return [found.form.format(name) for found, name in names]


class Arguments:
    """The arguments of the constructor of a class of ops, and what becomes of them."""

    def __init__(self, kind: type[IRDLOperation]):
        self.kind = kind
        declared = declared_by(kind)
        self.declared = list(declared.values())
        self.names = [found.alias or name for name, found in declared.items()]
        self._defaults = [found.default for found in self.declared]
        places = {name: place for place, name in enumerate(declared)}
        self._resolved = [
            (place, found.resolve) for place, found in enumerate(self.declared) if found.resolve is not None
        ]
        definition = kind.get_irdl_definition()
        segmented = {type(option) for option in definition.options}
        self._segmented = AttrSizedOperandSegments in segmented
        self._operands = [places[name] for name, _ in definition.operands]
        self._one_each = all(type(part) is OperandDef for _, part in definition.operands)
        self.region_places = [places[name] for name, _ in definition.regions]
        self._has_region_segments = AttrSizedRegionSegments in segmented
        self.has_result_segments = AttrSizedResultSegments in segmented
        self._result_count = len(definition.results)
        self.optional_results = [places[name] for name, part in definition.results if type(part) is OptResultDef]
        ir_names = definition.accessor_names
        self._properties = [
            (places[name], ir_names[name][0] if name in ir_names else name, found.convert)
            for name, found in declared.items()
            if found.convert is not None
        ]
        self._needs_operand = any(found.reads_operand for found in self.declared)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """A value for each argument; TypeError for one that is missing, unknown or given twice."""
        if len(args) == len(self.names) and not kwargs:
            return args
        if len(args) > len(self.names):
            raise TypeError(f"{self.kind.name} takes {len(self.names)} arguments, got {len(args)}")
        values = [*args, *self._defaults[len(args) :]]
        for name, value in kwargs.items():
            if name not in self.names[len(args) :]:
                raise TypeError(f"{self.kind.name} has no argument {name!r}, or it is given by position")
            values[self.names.index(name)] = value
        for name, value in zip(self.names, values, strict=True):
            if value is REQUIRED:
                raise TypeError(f"{self.kind.name}: {name} is missing")
        return values

    def parts(self, values: Sequence[Any]) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """The operands and properties that an op of these values has."""
        operands: list[SSAValue] = [values[place] for place in self._operands]
        if not self._one_each:
            operands = [x for place in self._operands for x in _group(values[place])]
        properties: dict[str, Attribute] = {}
        if self._needs_operand and not operands:
            raise GraphError(f"{self.kind.name} needs an operand")
        first = operands[0] if operands else None
        try:
            if self._resolved:
                given, values = dict(zip(self.names, values, strict=True)), list(values)
                for place, resolve in self._resolved:
                    given[self.names[place]] = values[place] = resolve(values[place], given, operands[0])
            for place, name, convert in self._properties:
                if (attribute := convert(values[place], first)) is not None:
                    properties[name] = attribute
        except GraphError as error:
            raise GraphError(f"{self.kind.name}: {error}") from None
        if self._segmented:
            sizes = [len(_group(values[place])) for place in self._operands]
            properties[AttrSizedOperandSegments.attribute_name] = DenseArrayBase.from_list(i32, sizes)
        return operands, properties

    def regions(self, values: Sequence[Any], properties: dict[str, Attribute]) -> list[Region]:
        """The regions of an op of these values; their segments become a property."""
        given = [values[place] for place in self.region_places]
        groups: list[list[Block]] = [[one] if isinstance(one, Block) else list(one or ()) for one in given]
        if self._has_region_segments:
            properties[AttrSizedRegionSegments.attribute_name] = DenseArrayBase.from_list(i32, [*map(len, groups)])
        return [Region(block) for group in groups for block in group]

    def wanted_results(self, values: Sequence[Any]) -> int:
        """The number of results of an op of these values."""
        return self._result_count - sum(not values[place] for place in self.optional_results)

    def result_types(self, groups: Sequence[Sequence[Attribute]], properties: dict[str, Attribute]) -> list[Attribute]:
        """The types of all results, which come in segments; these become a property."""
        properties[AttrSizedResultSegments.attribute_name] = DenseArrayBase.from_list(i32, [*map(len, groups)])
        return [type_ for group in groups for type_ in group]


def _group(given: SSAValue | Sequence[SSAValue] | None) -> Sequence[SSAValue]:
    return (given,) if isinstance(given, SSAValue) else given or ()


def operands_of(op: IRDLOperation) -> dict[str, Any]:
    """The operands of an op as keyword arguments of its constructor."""
    declared = _operands(declared_by(type(op)))
    return {found.alias or name: getattr(op, name) for name, found in declared.items()}


def settings_of(op: IRDLOperation) -> dict[str, Any]:
    """The properties of an op as keyword arguments of its constructor."""
    declared = declared_by(type(op))
    names = {name: found.alias or name for name, found in declared.items() if found.part == Part.PROPERTY}
    return {argument: _plain(getattr(op, name)) for name, argument in names.items()}


def _plain(attribute: Attribute | None) -> Any:
    """What is given to a field for it to hold this attribute."""
    found: Any = attribute
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return found.value.data
    if isinstance(attribute, EnumAttribute | StringAttr):
        return found.data
    if isinstance(attribute, DenseArrayBase):
        return found.get_values()
    return isinstance(attribute, UnitAttr) or attribute


@cache
def arguments_of(kind: type[IRDLOperation]) -> Arguments:
    """The arguments of the constructor of a class of ops."""
    return Arguments(kind)


def i64_list(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """A list property."""
    return _i64_list(tuple(values))


@cache
def _i64_list(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(1 << 12, typed=True)
def i64_attr(value: int) -> IntegerAttr:
    """An integer property."""
    return IntegerAttr(value, i64)


def f64_attr(value: float) -> FloatAttr:
    """A number property."""
    return FloatAttr(value, f64)
