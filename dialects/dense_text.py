"""Dense constants as text that reads back bit for bit. Making them is in `constants.py`.

xDSL 0.74 reads a hexadecimal float in a dense literal, as it prints infinities and NaN, as an integer, and prints a mix
of 0.0 and -0.0 as one of them. The generic form of an op goes through xDSL and keeps both faults.
"""

import re

from xdsl.dialects.builtin import AnyFloat, BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from xdsl_rlx.dialects.constants import AnyDense, is_dense, splat_value


def parse_dense(parser: Parser) -> AnyDense:
    """A dense attribute with its type; `0x7f800000` in one of floats is the bits of an element, as in MLIR."""
    start = parser.pos
    try:
        value = parser.parse_attribute()
    except (OverflowError, AssertionError):
        # upstream's: a number too large for a half float, a real number in a constant of complex ones
        parser.raise_error("a dense constant has a number that its element type cannot hold", start, parser.pos)
    if not is_dense(value):
        parser.raise_error("expected a dense constant", start, parser.pos)
    literal = (parser.lexer.input.slice(start, parser.pos) or "").partition("<")[2].partition(">")[0]
    type_ = value.get_element_type()
    if not isinstance(type_, AnyFloat) or '"' in literal or "0x" not in literal:
        return value
    size, data = type_.compile_time_size, bytearray(value.data.data)
    elements = re.findall(r"[^\s,\[\]]+", literal)
    for number, element in enumerate(elements):
        if element.startswith("0x"):
            bits = int(element, 16)
            if bits >> 8 * size:
                parser.raise_error(f"{element} has more bits than {type_}", start, parser.pos)
            repeat = 1 if "[" in literal else len(data) // size
            data[number * size : (number + repeat) * size] = bits.to_bytes(size, "little") * repeat
    return DenseIntOrFPElementsAttr(value.type, BytesAttr(bytes(data)))


def print_dense(printer: Printer, value: AnyDense) -> None:
    """As xDSL prints it, or as its bytes where xDSL would print one value for several."""
    if len(value) > 1 and value.is_splat() and splat_value(value) is None:
        printer.print_string(f'dense<"0x{value.data.data.hex().upper()}"> : ')
        printer.print_attribute(value.type)
    else:
        printer.print_attribute(value)


@irdl_custom_directive
class DenseText(CustomDirective):
    """A dense constant with its type."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, parse_dense(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        value: Attribute | None = self.value.get(op)
        assert is_dense(value)
        state.print_whitespace(printer)
        print_dense(printer, value)
