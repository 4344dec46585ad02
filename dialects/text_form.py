"""Ops whose declarative text forms are read at their first use instead of at import."""

from functools import cache

from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError


def define_op(kind: type[IRDLOperation]) -> None:
    """
    Define an op as `irdl_op_definition` does, but read its text form when an op of it is first parsed or printed.

    xDSL's reader takes a fifth of the time to import the dialects, and most processes use few of the forms.
    """
    form = kind.assembly_format
    kind.assembly_format = None
    irdl_op_definition(kind)
    if form is None:
        return
    kind.assembly_format = form
    definition = kind.get_irdl_definition()
    definition.assembly_format = form

    @cache
    def program() -> FormatProgram:
        try:
            return FormatProgram.from_str(form, definition)
        except ParseError as error:
            raise PyRDLOpDefinitionError(f"the text form of {kind.name}: {error}") from error

    def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
        return program().parse(parser, cls)

    def print_op(self: IRDLOperation, printer: Printer) -> None:
        program().print(printer, self)

    setattr(kind, "parse", classmethod(parse))  # noqa: B010
    setattr(kind, "print", print_op)  # noqa: B010
