"""
Control flow of a program: counted loops, the buffer elements of their iterations, branches and while loops.

Their structure is verified here, the use of buffers in `schedule.py`.
"""

import abc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Self

from xdsl.dialects.builtin import IndexType, UnitAttr, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.buffers import AnyMemRefConstr, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.launch import HoldsLaunches, LaunchOp
from xdsl_rlx.dialects.lir.memory import (
    AnyMemRef,
    is_contiguous,
    memref_of,
    strided_memref,
    strides_of,
    verify_buffer_type,
)
from xdsl_rlx.dialects.mir.fields import I64, i64_attr

if TYPE_CHECKING:
    from xdsl_rlx.dialects.lir.program import ProgramOp

PREDICATE = strided_memref(i1, (), ())
"""What branches and loops ask: a buffer of one truth value, which is a byte that is 0 or 1."""


@irdl_op_definition
class LoopOp(IRDLOperation):
    """
    Run the body `extent` times: `index` counts from 0 up, or down to 0 with `reverse`.

    The body sees the values of the enclosing program. A slot declared in the body lives for one iteration; all others
    live for the whole loop. Iterations run one after the other, with a barrier before and after the loop.
    """

    name = "lir.loop"

    extent = prop_def(I64)
    reverse = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(HoldsLaunches(), NoTerminator(), RecursiveMemoryEffect())

    def __init__(self, extent: int, body: Region | None = None, *, reverse: bool = False):
        super().__init__(
            properties={"extent": i64_attr(extent), "reverse": UnitAttr() if reverse else None},
            regions=[body if body is not None else Region(Block(arg_types=[IndexType()]))],
        )

    @property
    def index(self) -> BlockArgument:
        """The number of the iteration."""
        return self.body.block.args[0]

    @property
    def count(self) -> int:
        """How often the body runs."""
        return self.extent.value.data

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        index = parser.parse_argument(expect_type=False)
        parser.parse_characters("=")
        start = parser.pos
        if parser.parse_integer(allow_negative=False, allow_boolean=False) != 0:
            parser.raise_error("a lir.loop counts from 0", start, parser.pos)
        parser.parse_keyword("to")
        extent = parser.parse_integer(allow_boolean=False)
        reverse = parser.parse_optional_keyword("reverse") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region((index.resolve(IndexType()),))
        op = cls(extent, body, reverse=reverse)
        given: Mapping[str, Attribute] = {} if attributes is None else attributes.data
        op.attributes |= given
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.index)
        printer.print_string(f" = 0 to {self.count}{' reverse' if self.reverse is not None else ''}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        if self.count < 0:
            raise VerifyException(f"expected at least 0 iterations, got {self.count}")
        if tuple(self.body.block.arg_types) != (IndexType(),):
            found = ", ".join(map(str, self.body.block.arg_types))
            raise VerifyException(f"expected a body of one index, got ({found})")
        _verify_parts(self)


@irdl_op_definition
class StepOp(IRDLOperation):
    """
    `source[(index + shift) mod modulo]`, an alias of that element of the leading axis; `index` is the index of a loop.

    Without `modulo` indices do not wrap around, and all iterations must stay inside of the source. A carry is
    double-buffered in a source of two elements: `modulo 2` is the element that an iteration reads, and `shift 1 modulo
    2` the one that it writes for the next iteration.
    """

    name = "lir.step"

    source = operand_def(AnyMemRefConstr)
    index = operand_def(IndexType())
    shift = opt_prop_def(I64)
    modulo = opt_prop_def(I64)
    result = result_def(AnyMemRefConstr)

    traits = traits_def(Pure())
    assembly_format = (
        "$source `at` $index (`shift` $shift^)? (`modulo` $modulo^)? attr-dict `:` type($source) `to` type($result)"
    )

    def __init__(self, source: SSAValue, index: SSAValue, *, shift: int = 0, modulo: int | None = None):
        super().__init__(
            operands=[source, index],
            properties={
                "shift": i64_attr(shift) if shift else None,
                "modulo": None if modulo is None else i64_attr(modulo),
            },
            result_types=[step_type(memref_of(source))],
        )

    @property
    def moved(self) -> int:
        """What is added to the index."""
        return 0 if self.shift is None else self.shift.value.data

    @property
    def period(self) -> int | None:
        """After how many iterations it is at the same element again, if it wraps around."""
        return None if self.modulo is None else self.modulo.value.data

    @property
    def loop(self) -> LoopOp:
        """The loop whose iterations it follows."""
        owner = self.index.owner
        loop = owner.parent_op() if isinstance(owner, Block) else None
        assert isinstance(loop, LoopOp)
        return loop

    def verify_(self) -> None:
        source, result = memref_of(self.source), memref_of(self.result)
        verify_buffer_type(source)
        if not source.get_shape():
            raise VerifyException(f"expected a source with a leading axis, got {source}")
        if not _same_layout(result, step_type(source)):
            raise VerifyException(f"an element of {source} is {step_type(source)}, got {result}")
        owner = self.index.owner
        if not isinstance(owner, Block) or not isinstance(owner.parent_op(), LoopOp):
            raise VerifyException("expected the index of a lir.loop")
        self._verify_elements(source.get_shape()[0])

    def _verify_elements(self, extent: int) -> None:
        count, period = self.loop.count, self.period
        if period is None:
            if self.moved < 0 or (count and count + self.moved > extent):
                last = count + self.moved - 1
                raise VerifyException(f"elements {self.moved} to {last} leave the {extent} of the source")
        elif not 0 <= self.moved < period or (count and period > extent):
            raise VerifyException(f"expected 0 <= shift < modulo <= {extent}, got {self.moved} and {period}")


class _Asking(IRDLOperation, abc.ABC):
    """Two parts of a program, and a byte that is asked which of them is run."""

    predicate = operand_def(AnyMemRefConstr)

    traits = traits_def(HoldsLaunches(), NoTerminator(), RecursiveMemoryEffect())

    def __init__(self, predicate: SSAValue, first: Region | None = None, second: Region | None = None):
        parts = [region if region is not None else Region(Block()) for region in (first, second)]
        super().__init__(operands=[predicate], regions=parts)

    def verify_(self) -> None:
        if self.predicate.type != PREDICATE:
            raise VerifyException(f"expected a predicate of type {PREDICATE}, got {self.predicate.type}")
        _verify_parts(self)


@irdl_op_definition
class IfOp(_Asking):
    """
    Run `then` if the element of `predicate` is true at that point of the program, else `otherwise`.

    Both see the values of the enclosing program. A slot declared in a branch lives in that branch; slots of different
    branches may share memory. Later launches may read buffers that both branches have written, or that were written
    before.
    """

    name = "lir.if"

    then = region_def("single_block")
    otherwise = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        predicate = parser.resolve_operand(parser.parse_unresolved_operand(), PREDICATE)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        then = _parse_part(parser)
        op = cls(predicate, then, _parse_part(parser) if parser.parse_optional_keyword("else") else None)
        given: Mapping[str, Attribute] = {} if attributes is None else attributes.data
        op.attributes |= given
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.predicate)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.then, print_empty_block=False)
        if self.otherwise.block.first_op is not None:
            printer.print_string(" else ")
            printer.print_region(self.otherwise, print_empty_block=False)


@irdl_op_definition
class WhileOp(_Asking):
    """
    Run `test`; if the element of `predicate` is then true, run `body`, and repeat.

    Both see the values of the enclosing program. A slot declared in one of them lives until its end. All others live
    for the whole loop, including buffers that the next iteration reads.
    """

    name = "lir.while"

    test = region_def("single_block")
    body = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        predicate = parser.resolve_operand(parser.parse_unresolved_operand(), PREDICATE)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_keyword("after")
        test = _parse_part(parser)
        parser.parse_keyword("do")
        op = cls(predicate, test, _parse_part(parser))
        given: Mapping[str, Attribute] = {} if attributes is None else attributes.data
        op.attributes |= given
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.predicate)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" after ")
        printer.print_region(self.test, print_empty_block=False)
        printer.print_string(" do ")
        printer.print_region(self.body, print_empty_block=False)


def _parse_part(parser: Parser) -> Region:
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    return region


def _verify_parts(op: LoopOp | _Asking) -> None:
    """Where control flow may stand, and what it may hold."""
    if (parent := op.parent_op()) is None or not parent.has_trait(HoldsLaunches):
        raise VerifyException("expected inside of a lir.program")
    for region in op.regions:
        if region.block.args and not isinstance(op, LoopOp):
            found = ", ".join(map(str, region.block.arg_types))
            raise VerifyException(f"expected regions without arguments, got ({found})")
        for inner in region.block.ops:
            if not isinstance(inner, SlotOp | ViewOp | StepOp | LaunchOp | LoopOp | IfOp | WhileOp):
                raise VerifyException(f"{op.name} cannot hold {inner.name}")


def step_type(source: AnyMemRef) -> AnyMemRef:
    """The type of an element of the leading axis."""
    return strided_memref(source.element_type, tuple(source.get_shape()[1:]), strides_of(source)[1:])


def _same_layout(found: AnyMemRef, expected: AnyMemRef) -> bool:
    verify_buffer_type(found)
    same = found.element_type == expected.element_type and found.get_shape() == expected.get_shape()
    return same and (strides_of(found) == strides_of(expected) or (is_contiguous(found) and is_contiguous(expected)))


def program_ops(program: "ProgramOp") -> Iterator[Operation]:
    """All ops of a program in order, those of a loop or branch behind it."""
    return _all_ops(program.body.block)


def _all_ops(block: Block) -> Iterator[Operation]:
    for op in block.ops:
        yield op
        for region in op.regions:
            yield from _all_ops(region.block)
