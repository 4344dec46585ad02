"""Dense constants as text that reads back bit for bit, in our forms and in the generic one. Making them is in
`constants.py`.

xDSL 0.74 prints infinities, NaN and whole numbers of more than six digits as hexadecimal elements (`0x7f800000`), and
reads those as integers; it prints a mix of 0.0 and -0.0 as one of them. It reads the bytes of all elements
(`dense<"0x0000807F">`) exactly. `ExactDense` is printed as these bytes wherever xDSL would lose a bit; `parse_dense`,
by which our forms are read, takes hexadecimal elements for bits, as MLIR does.
"""

import re
from io import StringIO

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    TensorType,
)
from xdsl.ir import Attribute, BuiltinAttribute, Operation, ParametrizedAttribute
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

from xdsl_rlx.dialects.constants import AnyDense, is_dense, splat_value

_MOST_IN_FIGURES = 100
"""Elements of the largest constant that is printed element by element, as in MLIR; a larger one is printed as bytes."""


@irdl_attr_definition
class ExactDense(BuiltinAttribute, ParametrizedAttribute):
    """A dense constant whose text is exact. It is written as xDSL's own, so that any MLIR parser reads it."""

    name = "rlx.dense"

    elements: DenseIntOrFPElementsAttr

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(f"{_literal(self.elements, with_bits=False)} : ")
        printer.print_attribute(self.elements.type)


def hold_exactly(op: Operation, name: str = "value") -> None:
    """Replace a dense property by its `ExactDense`: the generic form is parsed to xDSL's attribute."""
    if is_dense(value := op.properties.get(name)):
        op.properties[name] = ExactDense(value)


def elements_of(attribute: Attribute | None) -> AnyDense | None:
    """The dense constant that an attribute is or holds, or None."""
    if type(attribute) is ExactDense:
        return attribute.elements
    return attribute if is_dense(attribute) else None


def _literal(value: AnyDense, with_bits: bool) -> str:
    """`dense<..>` without the type. `with_bits` says whether an element may be written as its bits, `0x7f800000`."""
    data, size = value.data.data, value.get_element_type().compile_time_size
    one = len(data) > 0 and data == data[:size] * (len(data) // size)
    if not one and len(value) > _MOST_IN_FIGURES:
        return _in_bytes(data)
    if one:
        # xDSL would unpack every element to find out that they are equal
        value = DenseIntOrFPElementsAttr(TensorType(value.get_element_type(), []), BytesAttr(data[:size]))
    stream = StringIO()
    value.print_without_type(Printer(stream))
    text = stream.getvalue()
    # of a mix of 0.0 and -0.0 one is left, without the brackets of a list
    lost = (not one and data and "[" not in text) or ("0x" in text and not (with_bits and _unpacks(value)))
    return _in_bytes(value.data.data) if lost else text


def _unpacks(value: AnyDense) -> bool:
    """Whether the bits of each element are those of the number that xDSL makes of it: not so a NaN with a payload."""
    return value.get_element_type().pack(value.get_values()) == value.data.data


def _in_bytes(data: bytes) -> str:
    return f'dense<"0x{data.hex().upper()}">'


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
    """The constant with its type, for `parse_dense`."""
    printer.print_string(f"{_literal(value, isinstance(value.get_element_type(), AnyFloat))} : ")
    printer.print_attribute(value.type)


@irdl_custom_directive
class DenseText(CustomDirective):
    """A dense constant with its type."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, ExactDense(parse_dense(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        value: Attribute | None = self.value.get(op)
        assert isinstance(value, ExactDense)
        state.print_whitespace(printer)
        print_dense(printer, value.elements)


def dense_of(op: Operation) -> AnyDense | None:
    """The elements of a constant; None for another op."""
    return elements_of(op.properties.get("value"))


def is_splat(op: Operation) -> bool:
    """Whether a constant has one value throughout."""
    value = dense_of(op)
    return value is not None and splat_value(value) is not None
