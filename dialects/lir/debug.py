"""A call of Python from a kernel, for its effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType, StringAttr, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.memory import AnyMemRef, is_contiguous
from xdsl_rlx.dialects.mir.debug import verify_template
from xdsl_rlx.dialects.mir.fields import I64, i64_attr
from xdsl_rlx.dialects.names import hold_text


@irdl_op_definition
class DebugPrintOp(IRDLOperation):
    """
    Print `text`, as `mir.debug_print` does, with the elements of contiguous buffers.

    `console` is a buffer that all prints of a program write to, so that their order is one of memory. Nothing is stored
    there.
    """

    name = "lir.debug_print"

    text = prop_def(StringAttr)
    batch = prop_def(I64)
    console = operand_def(MemRefType.constr())
    buffers = var_operand_def(MemRefType.constr())
    when = opt_operand_def(MemRefType.constr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$text `batch` $batch `to` $console `:` type($console) (`buffers` `(` $buffers^ `:` type($buffers) `)`)? "
        "(`when` $when^ `:` type($when))? attr-dict"
    )

    def __init__(
        self, text: str, batch: int, console: SSAValue, buffers: Sequence[SSAValue], when: SSAValue | None = None
    ):
        super().__init__(
            operands=[console, buffers, when], properties={"text": StringAttr(text), "batch": i64_attr(batch)}
        )

    def __post_init__(self) -> None:
        hold_text(self.properties, "text")
        super().__post_init__()

    @property
    def shown(self) -> list[AnyMemRef]:
        """The types of the buffers, and of the predicate."""
        return [cast(AnyMemRef, x.type) for x in (*self.buffers, *([] if self.when is None else [self.when]))]

    def verify_(self) -> None:
        verify_template(self.text.data, len(self.buffers))
        rank, types = self.batch.value.data, self.shown
        shapes = [type_.get_shape() for type_ in types]
        if rank < 0 or any(len(shape) < rank or shape[:rank] != shapes[0][:rank] for shape in shapes):
            raise VerifyException(f"expected buffers with the same {rank} batch axes, got {', '.join(map(str, types))}")
        for type_ in types:
            if not is_contiguous(type_):
                raise VerifyException(f"expected a contiguous buffer, got {type_}")
        if self.when is not None and (types[-1].element_type != i1 or len(shapes[-1]) != rank):
            raise VerifyException(f"expected an i1 for each example, got {types[-1]}")
