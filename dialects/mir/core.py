"""What all `mir` ops share: the base class that infers types, traits, and list syntax. No op is defined here."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, TensorType, f64, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import IRDLOperation, VariadicDef, irdl_attr_definition, traits_def
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import OpTrait, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.shapes import check_size

AnyTensorConstr = TensorType.constr()
I64 = IntegerAttr.constr(i64)
F64 = FloatAttr.constr(f64)
I64List = DenseArrayBase.constr(i64)


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
class OwnNest(OpTrait):
    """Lowered whole, by loops of its own: not taken apart before, not fused with other ops."""


@dataclass(frozen=True)
class View(OpTrait):
    """The elements of the result are elements of the operand, which it may lie on: it computes nothing."""


class MirOp(IRDLOperation, HasCanonicalizationPatternsInterface, abc.ABC):
    """A tensor op without side effects whose result types follow from its operands and properties."""

    traits = traits_def(Pure())

    def __init__(
        self,
        *,
        operands: Sequence[Any] | None = None,
        result_types: Sequence[Any] | None = None,
        properties: Mapping[str, Attribute | None] | None = None,
        **others: Any,
    ) -> None:
        """As upstream's, which sorts arguments into segments; passes make most ops of a value an operand."""
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
            super().__init__(operands=operands, result_types=result_types, properties=properties, **others)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from xdsl_rlx.transforms.canonicalize.mir import patterns_of

        return patterns_of(cls)

    @abc.abstractmethod
    def infer_types(self) -> Sequence[Attribute]:
        """The result types; VerifyException says which operand or property is wrong."""

    def verify_(self) -> None:
        for index, (expected, result) in enumerate(zip(self.infer_types(), self.results, strict=True)):
            if expected != result.type:
                which = f"result {index}" if len(self.results) > 1 else "result"
                raise VerifyException(f"expected {which} of type {expected}, got {result.type}")
            check_size(expected)


@cache
def _plain(kind: type[IRDLOperation]) -> tuple[int, int] | None:
    """The numbers of operands and results of a class of ops; None if they vary or it has anything beside them."""
    definition = kind.get_irdl_definition()
    parts = [part for _, part in (*definition.operands, *definition.results)]
    if any(isinstance(part, VariadicDef) for part in parts) or definition.regions or definition.successors:
        return None
    return len(definition.operands), len(definition.results)


def i64_list(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """A list property."""
    return _i64_list(tuple(values))


@cache
def _i64_list(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def i64_attr(value: int) -> IntegerAttr:
    """An integer property."""
    return IntegerAttr(value, i64)


def f64_attr(value: float) -> FloatAttr:
    """A number property."""
    return FloatAttr(value, f64)


@irdl_custom_directive
class IntList(CustomDirective):
    """A list of integers as `[0, 2]`."""

    values: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        numbers = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_integer)
        self.values.set(state, i64_list(numbers))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        values = self.values.get(op)
        assert isa(values, DenseArrayBase[IntegerType])
        state.print_whitespace(printer)
        printer.print_string("[" + ", ".join(map(str, values.get_values())) + "]")
