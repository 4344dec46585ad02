"""Numbers among the properties of ops as text that reads back bit for bit. Dense constants are in `dense_text.py`.

xDSL 0.74 prints infinities, NaN and whole numbers of more than six digits as hexadecimal literals. It does not read
those in custom forms, where the type of a number is not written, nor in `array<f64: ..>`.
"""

from xdsl.dialects.builtin import DenseArrayBase, Float64Type, FloatAttr, IntegerType, f64, i64
from xdsl.ir import BuiltinAttribute, Operation, ParametrizedAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.hints import isa


@irdl_custom_directive
class Number(CustomDirective):
    """An f64 property without its type: `1.000000e-05`, or the bits of one, `0x7ff0000000000000`."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        start = parser.pos
        number = parser.parse_number()
        text = (parser.lexer.input.slice(start, parser.pos) or "").strip()
        if "0x" in text:
            bits = int(text.removeprefix("-"), 16)
            if bits >> 64 or text.startswith("-"):
                parser.raise_error(f"{text} is not the bits of an f64", start, parser.pos)
            number = f64.unpack(bits.to_bytes(8, "little"), 1)[0]
        elif isinstance(number, int):
            parser.raise_error(f"expected a number with a point, such as {number}.0", start, parser.pos)
        self.value.set(state, FloatAttr(number, f64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.value.print(printer, state, op)

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.is_present(op)

    def is_anchorable(self) -> bool:
        return self.value.is_anchorable()

    def is_optional_like(self) -> bool:
        return self.value.is_optional_like()


@irdl_attr_definition
class ExactNumbers(BuiltinAttribute, ParametrizedAttribute):
    """Finite numbers whose text is exact, and is that of xDSL's `array<f64: ..>`, so that any MLIR parser reads it."""

    name = "rlx.numbers"

    numbers: DenseArrayBase[Float64Type]

    def get_values(self) -> tuple[float, ...]:
        """The numbers."""
        return tuple(self.numbers.get_values())

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(numbers_text(self.numbers))


def numbers_text(numbers: DenseArrayBase[Float64Type]) -> str:
    """`array<f64: ..>` of finite numbers, none of them in hexadecimal."""
    return f"array<f64: {', '.join(map(_literal, numbers.get_values()))}>" if numbers.get_values() else "array<f64>"


def _literal(number: float) -> str:
    short = f"{number:.6e}"
    return short if float(short) == number else f"{number:.16e}"


def hold_numbers_exactly(op: Operation, name: str) -> None:
    """Replace a property by its `ExactNumbers`: the generic form is parsed to xDSL's attribute."""
    found = op.properties.get(name)
    if isa(found, DenseArrayBase[Float64Type]):
        op.properties[name] = ExactNumbers(found)


@irdl_custom_directive
class NumberList(CustomDirective):
    """Numbers as `[0.5, 0.25]`."""

    values: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        numbers = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_float)
        self.values.set(state, ExactNumbers(DenseArrayBase.from_list(f64, numbers)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        values = self.values.get(op)
        assert isinstance(values, ExactNumbers)
        state.print_whitespace(printer)
        printer.print_string("[" + ", ".join(map(_literal, values.get_values())) + "]")


@irdl_custom_directive
class IntList(CustomDirective):
    """A list of integers as `[0, 2]`."""

    values: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        numbers = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_integer)
        self.values.set(state, DenseArrayBase.from_list(i64, numbers))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        values = self.values.get(op)
        assert isa(values, DenseArrayBase[IntegerType])
        state.print_whitespace(printer)
        printer.print_string("[" + ", ".join(map(str, values.get_values())) + "]")
