"""`mir.debug_print`, an op with an effect; `dialects/effects.py` keeps effects in order."""

from __future__ import annotations

from string import Formatter

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import DeclaredOp, HasKernel
from xdsl_rlx.dialects.mir.fields import (
    OptionalInteger,
    OptionalTensor,
    Tensors,
    Text,
    integer,
    optional_tensor,
    string,
    tensors,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand
from xdsl_rlx.dialects.names import hold_text
from xdsl_rlx.dialects.shapes import i1, shape_of


def verify_template(text: str, count: int) -> None:
    """VerifyException unless `text` formats exactly the values numbered 0 to `count - 1`: `"x = {0:.3f}"`."""
    try:
        fields = [(name, spec) for _, name, spec, _ in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise VerifyException(f"expected a format string of str.format, got {text!r}: {error}") from None
    for name, spec in fields:
        if not name.isdecimal() or int(name) >= count or "{" in (spec or ""):
            raise VerifyException(
                f"field {{{name}{':' + spec if spec else ''}}}: expected the number of one of {count} operands"
            )
    if missing := {*range(count)} - {int(name) for name, _ in fields}:
        raise VerifyException(f"no field of {text!r} has operand {min(missing)}")


class DebugPrintOp(DeclaredOp, name="mir.debug_print"):
    """
    Print `text`, a format string of `str.format` whose fields are the numbers of `inputs`: `"x = {0:.3f}"`.

    With `batch n`, the first n axes of all operands are batch axes, and each example is printed, in order. With `when`,
    only examples for which it is true are printed. It has no results; its effect keeps its place among other effects.
    """

    text: Text = string()
    inputs: Tensors = tensors()
    batch: OptionalInteger = integer(default=None)
    when: OptionalTensor = optional_tensor(default=None)

    traits = traits_def(HasKernel(), MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$text (`batch` $batch^)? (`inputs` `(` $inputs^ `:` type($inputs) `)`)? (`when` $when^ `:` type($when))? "
        "attr-dict"
    )

    def __post_init__(self) -> None:
        hold_text(self.properties, "text")
        super().__post_init__()

    @property
    def batch_rank(self) -> int:
        """How many leading axes of the operands are batch axes."""
        return 0 if self.batch is None else self.batch.value.data

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The extents of the batch axes."""
        return shape_of(self.operands[0])[: self.batch_rank] if self.operands else ()

    def verify_(self) -> None:
        verify_template(self.text.data, len(self.inputs))
        rank, shape = self.batch_rank, self.batch_shape
        if rank < 0 or (rank and not self.operands):
            raise VerifyException(f"batch {rank}: expected at most the rank of every operand")
        for number, x in enumerate(self.operands):
            if len(shape_of(x)) < rank or shape_of(x)[:rank] != shape:
                raise VerifyException(f"operand {number} of type {x.type}: expected {list(shape)} as its batch axes")
        if self.when is not None and self.when.type != (expected := TensorType(i1, shape)):
            raise VerifyException(f"expected a predicate of type {expected}, got {self.when.type}")


class DebugBuilder(BuilderCore):
    """Builder methods of this family."""

    def debug_print(self, text: str, *inputs: Operand) -> None:
        """
        `mir.debug_print`: print `text` when the graph runs; its fields are the numbers of `inputs`: `"x = {0:.3f}"`.

        `rlx.debug.print` is the same for functions, with names, trees and all fields of `str.format`.
        """
        op = self.emit(DebugPrintOp, text, [self.operand(x) for x in inputs])
        op.verify_()
