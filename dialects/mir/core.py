"""What all `mir` ops share: the base class that infers types, also that of `hir` blocks, and traits. No op is here."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, dataclass_transform

from xdsl.dialects.builtin import LocationAttr, NoneAttr, TensorType
from xdsl.dialects.utils import EnumAttribute
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    OpResult,
    Region,
    SpacedOpaqueSyntaxAttribute,
    SSAValues,
    Use,
)
from xdsl.irdl import IRDLOperation, VariadicDef, irdl_attr_definition, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import OpTrait, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.fields import (
    Integer,
    OptionalInteger,
    arguments_of,
    attribute,
    axes,
    axis,
    declare,
    flag,
    inherited,
    integer,
    integer_list,
    operands_by_name,
    optional_region,
    optional_result,
    optional_tensor,
    optional_word,
    real,
    region,
    regions,
    resolved_integer,
    stated,
    steps,
    string,
    tensor,
    tensors,
    truth,
    word,
)
from xdsl_rlx.dialects.number_text import IntList, Number, NumberList
from xdsl_rlx.dialects.shapes import MixedElementTypes, check_size, normalize_axis, shape_of
from xdsl_rlx.dialects.text_form import define_op


class Activation(StrEnum):
    """Elementwise functions of one operand, named as their ops."""

    GELU = "gelu"
    GELU_APPROX = "gelu_approx"
    SILU = "silu"
    RELU = "relu"
    SIGMOID = "sigmoid"
    TANH = "tanh"
    EXP = "exp"
    LOG = "log"
    ERF = "erf"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    RECIP = "recip"
    NEG = "neg"
    ABS = "abs"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ATAN = "atan"
    ROUND = "round"


@irdl_attr_definition
class ActivationAttr(EnumAttribute[Activation], SpacedOpaqueSyntaxAttribute):
    """An elementwise function as a property."""

    name = "mir.activation"


@dataclass(frozen=True)
class Elementwise(OpTrait):
    """The result at an index depends on the operands at that index only (operands broadcast as in NumPy)."""

    def verify(self, op: Operation) -> None:
        if len(op.results) != 1:
            raise VerifyException("an elementwise op has one result")


@dataclass(frozen=True)
class HasKernel(OpTrait):
    """Lowered whole, by loops of its own: not taken apart before, not fused with other ops."""


@dataclass(frozen=True)
class PositionDependent(OpTrait):
    """An element depends on its position along the one axis of the result, which the scalar row takes as an index."""


@dataclass(frozen=True)
class View(OpTrait):
    """The elements of the result are elements of the operand, which it may lie on: it computes nothing."""


@dataclass_transform(
    eq_default=False,
    field_specifiers=(
        tensor,
        optional_tensor,
        tensors,
        integer,
        resolved_integer,
        stated,
        optional_word,
        real,
        steps,
        word,
        flag,
        integer_list,
        axis,
        axes,
        steps,
        truth,
        attribute,
        string,
        region,
        optional_region,
        regions,
        optional_result,
        inherited,
    ),
)
class _Declared(IRDLOperation):
    """To type checkers, subclasses have a constructor that takes their fields."""


class DeclaredOp(_Declared):
    """An op whose constructor takes its fields, and infers the types of its results."""

    if TYPE_CHECKING:
        _operands: SSAValues = inherited()
        _operand_uses: tuple[Use, ...] = inherited()
        results: SSAValues[OpResult] = inherited()
        _successors: tuple[Block, ...] = inherited()
        _successor_uses: tuple[Use, ...] = inherited()
        properties: dict[str, Attribute] = inherited()
        attributes: dict[str, Attribute] = inherited()
        location: LocationAttr = inherited()
        regions: tuple[Region, ...] = inherited()
        parent: Block | None = inherited()
        _next_op: Operation | None = inherited()
        _prev_op: Operation | None = inherited()

    custom_directives = (IntList, Number, NumberList)

    def __init_subclass__(cls, *, name: str | None = None, init: bool = True, kw_only: bool = False) -> None:
        """
        A class with a name is an op, others are bases. With `kw_only`, its own fields are keyword arguments.

        `init=False` tells type checkers that the constructor of a base that is written out serves the class.
        """
        super().__init_subclass__()
        if name is not None:
            cls.name = name
        declare(cls, kw_only)
        if name is not None:
            define_op(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """An op of the values of its fields, in order or by name; VerifyException if they do not fit."""
        arguments = arguments_of(type(self))
        values = arguments.bind(args, kwargs)
        operands, properties = arguments.parts(values)
        regions = arguments.regions(values, properties) if arguments.region_places else ()
        Operation.__init__(self, operands=operands, properties=properties, regions=regions)
        if arguments.optional_results:
            # only their number counts until their types are known
            wanted = arguments.wanted_results(values)
            self.results = SSAValues(OpResult(NoneAttr(), self, index) for index in range(wanted))
        try:
            types = self._inferred()
            if arguments.has_result_segments:
                types = arguments.result_types(types, self.properties)
        except (VerifyException, GraphError):
            # its operands may be what the caller takes back now
            self.drop_all_references()
            raise
        self.results = SSAValues(OpResult(type_, self, index) for index, type_ in enumerate(types))

    def assemble(
        self,
        *,
        operands: Sequence[Any] | None = None,
        result_types: Sequence[Any] | None = None,
        properties: Mapping[str, Attribute | None] | None = None,
        **others: Any,
    ) -> None:
        """
        What a constructor that is written out does in the end: that of xDSL, which sorts operands into segments.

        Passes make most ops of one value for each operand, for which there is a short way.
        """
        values, types = operands or (), result_types or ()
        if (
            _plain(type(self)) == (len(values), len(types))
            and not others
            and all(type(value) is OpResult or type(value) is BlockArgument for value in values)
            and all(type(type_) is TensorType for type_ in types)
        ):
            given = {name: value for name, value in (properties or {}).items() if value is not None}
            Operation.__init__(self, operands=values, result_types=types, properties=given)
        else:
            IRDLOperation.__init__(self, operands=operands, result_types=result_types, properties=properties, **others)

    def infer_types(self) -> Sequence[Attribute] | Sequence[Sequence[Attribute]]:
        """The result types, in their segments if there are several; VerifyException for what does not fit."""
        return ()

    def _inferred(self) -> Sequence[Any]:
        try:
            return self.infer_types()
        except MixedElementTypes as error:
            raise error.named(operands_by_name(self)) from None


class TensorOp(DeclaredOp, abc.ABC):
    """An op on tensors without side effects whose result types follow from its operands and properties."""

    traits = traits_def(Pure())

    @property
    def checked_types(self) -> Sequence[Attribute]:
        """What `infer_types` says, which is what an op has that the constructor has just made."""
        return self.result_types if type(self).__init__ is DeclaredOp.__init__ else self._inferred()

    @abc.abstractmethod
    def infer_types(self) -> Sequence[Attribute]:
        """The result types; VerifyException says which operand or property is wrong."""

    def verify_(self) -> None:
        for index, (expected, result) in enumerate(zip(self._inferred(), self.results, strict=True)):
            if expected != result.type:
                which = f"result {index}" if len(self.results) > 1 else "result"
                raise VerifyException(f"expected {which} of type {expected}, got {result.type}")
            check_size(expected)


class MirOp(TensorOp, HasCanonicalizationPatternsInterface, abc.ABC):
    """A tensor op of `mir`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xdsl_rlx.transforms.canonicalize.mir import patterns_of

        return patterns_of(cls)


class AlongAxis(Operation):
    """An op along an `axis` of its first operand."""

    if TYPE_CHECKING:
        axis: Integer

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.operands[0])))


class PerChannel(Operation):
    """An op with one parameter for all elements of its first operand, or one per index of an `axis` of it."""

    if TYPE_CHECKING:
        axis: OptionalInteger

    @property
    def axis_index(self) -> int | None:
        """The axis of the channels, counted from the front; None where the parameter is one for all."""
        return None if self.axis is None else normalize_axis(self.axis.value.data, len(shape_of(self.operands[0])))


@cache
def _plain(kind: type[IRDLOperation]) -> tuple[int, int] | None:
    """The numbers of operands and results of a class of ops; None if they vary or it has anything beside them."""
    definition = kind.get_irdl_definition()
    parts = [part for _, part in (*definition.operands, *definition.results)]
    if any(isinstance(part, VariadicDef) for part in parts) or definition.regions or definition.successors:
        return None
    return len(definition.operands), len(definition.results)
