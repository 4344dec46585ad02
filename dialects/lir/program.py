"""Programs: what holds buffers, launches and control flow. Kernels are in `kernel.py`."""

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.buffers import ConstantOp, InputOp, OutputOp, ParamOp, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.control_flow import IfOp, LoopOp, WhileOp
from xdsl_rlx.dialects.lir.launch import HoldsLaunches, LaunchOp
from xdsl_rlx.dialects.lir.schedule import verify_schedule
from xdsl_rlx.dialects.mir.fields import I64
from xdsl_rlx.dialects.names import hold_text


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """
    A compiled graph: buffers and the launches that fill them, in order.

    `lir-plan-memory` sets `arena_bytes` and the offset of every slot. `optional` names the inputs that default to ones.
    """

    name = "lir.program"

    sym_name = prop_def(SymbolNameConstraint())
    arena_bytes = opt_prop_def(I64)
    alignment = opt_prop_def(I64)
    optional = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")

    traits = traits_def(HoldsLaunches(), IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, *, optional: Sequence[str] = ()):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "optional": ArrayAttr(StringAttr(n) for n in optional) if optional else None,
            },
            regions=[Region(Block())],
        )

    def __post_init__(self) -> None:
        hold_text(self.properties, "sym_name", "optional")
        super().__post_init__()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        op = cls(name.data)
        op.detach_region(op.body)
        if not body.blocks:
            body.add_block(Block())
        op.add_region(body)
        given: Mapping[str, Attribute] = {} if attributes is None else attributes.data
        for key, value in given.items():
            (op.properties if key in ("arena_bytes", "alignment", "optional") else op.attributes)[key] = value
        hold_text(op.properties, "optional")
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        extra: dict[str, Attribute] = {k: v for k, v in self.properties.items() if k != "sym_name"} | self.attributes
        printer.print_op_attributes(extra, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    def verify_(self) -> None:
        allowed = (InputOp, ParamOp, ConstantOp, SlotOp, OutputOp, ViewOp, LaunchOp, LoopOp, IfOp, WhileOp)
        names: set[str] = set()
        numbers: list[int] = []
        for op in self.body.block.ops:
            if not isinstance(op, allowed):
                raise VerifyException(f"lir.program cannot hold {op.name}")
            if isinstance(op, InputOp | ParamOp):
                if op.buffer_name.data in names:
                    raise VerifyException(f"two inputs or params are named '{op.buffer_name.data}'")
                names.add(op.buffer_name.data)
            elif isinstance(op, OutputOp):
                numbers.append(op.number.value.data)
        if sorted(numbers) != list(range(len(numbers))):
            raise VerifyException(f"outputs must be numbered 0, 1, ... once each, got {numbers}")
        verify_schedule(self)
