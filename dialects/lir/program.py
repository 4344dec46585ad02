"""Programs: the I/O manifest, slots of the arena, views, and the ordered launches.
Kernels are in `kernel.py`, loops and branches in `control.py`."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Self, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.dense_text import DenseText, ExactDense, hold_exactly
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, is_contiguous, span_elements, verify_buffer_type
from xdsl_rlx.dialects.names import hold_text

AnyMemRefConstr = MemRefType.constr()
I64 = IntegerAttr.constr(i64)


# launches and views are many, of few different numbers
@lru_cache(maxsize=1024)
def i64_attr(value: int) -> IntegerAttr:
    """The i64 attribute of a number."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=1024)
def _segments(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def memref_of(value: SSAValue) -> AnyMemRef:
    """The memref type of a buffer value."""
    type_: Attribute = value.type
    assert isinstance(type_, MemRefType)
    return cast(AnyMemRef, type_)


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

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

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
        from xdsl_rlx.dialects.lir.control_flow import IfOp, LoopOp, WhileOp

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
        from xdsl_rlx.dialects.lir.schedule import verify_schedule

        verify_schedule(self)


class NamedBufferOp(IRDLOperation):
    """
    A buffer the caller gives by name: contiguous, and only read unless it is `donated` or `scratch`.

    `copied_back` means that the new contents are computed elsewhere and copied there at the end. Slots may lie in a
    buffer that is `scratch` once it has been read for the last time.
    """

    buffer_name = prop_def(StringAttr)
    donated = opt_prop_def(UnitAttr)
    copied_back = opt_prop_def(UnitAttr)
    scratch = opt_prop_def(UnitAttr)
    result = result_def(AnyMemRefConstr)

    assembly_format = (
        "$buffer_name (`donated` $donated^)? (`copied_back` $copied_back^)? (`scratch` $scratch^)? attr-dict `:` "
        "type($result)"
    )

    def __init__(self, name: str, type_: AnyMemRef, *, donated: bool = False, scratch: bool = False):
        properties: dict[str, Attribute] = {"buffer_name": StringAttr(name)}
        if donated:
            properties["donated"] = UnitAttr()
        if scratch:
            properties["scratch"] = UnitAttr()
        super().__init__(properties=properties, result_types=[type_])

    def __post_init__(self) -> None:
        hold_text(self.properties, "buffer_name")
        super().__post_init__()

    @property
    def is_written(self) -> bool:
        """Whether launches may write to it."""
        return self.donated is not None or self.scratch is not None

    def verify_(self) -> None:
        if self.copied_back is not None and self.donated is None:
            raise VerifyException(f"{self.buffer_name} is marked copied_back, but not donated")
        if self.scratch is not None and (self.donated is not None or isinstance(self, ParamOp)):
            kept = "a param" if isinstance(self, ParamOp) else "marked donated"
            raise VerifyException(f"{self.buffer_name} is marked scratch, but {kept}: it holds a value in the end")
        _verify_contiguous(self.result)


@irdl_op_definition
class InputOp(NamedBufferOp):
    """A buffer passed at every call; a `donated` one holds a result at the end, a `scratch` one nothing of use."""

    name = "lir.input"


@irdl_op_definition
class ParamOp(NamedBufferOp):
    """A buffer that persists between calls; a `donated` one holds a result at the end."""

    name = "lir.param"


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A contiguous, read-only buffer of constant contents."""

    name = "lir.constant"

    exact_value = prop_def(ExactDense, prop_name="value")
    result = result_def(AnyMemRefConstr)

    traits = traits_def(Pure())
    custom_directives = (DenseText,)
    assembly_format = "custom<DenseText>($value) attr-dict `:` type($result)"

    def __init__(self, value: AnyDense, type_: AnyMemRef):
        super().__init__(properties={"value": ExactDense(value)}, result_types=[type_])

    def __post_init__(self) -> None:
        hold_exactly(self)
        super().__post_init__()

    @property
    def value(self) -> AnyDense:
        """The elements."""
        return self.exact_value.elements

    def verify_(self) -> None:
        _verify_contiguous(self.result)
        type_ = memref_of(self.result)
        if self.value.get_shape() != type_.get_shape() or self.value.get_element_type() != type_.element_type:
            raise VerifyException(f"the value has type {self.value.type}, the buffer {type_}")


@irdl_op_definition
class SlotOp(IRDLOperation):
    """A contiguous buffer in the arena; `at` is its byte offset, given by `lir-plan-memory`."""

    name = "lir.slot"

    at = opt_prop_def(I64)
    result = result_def(AnyMemRefConstr)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "(`at` $at^)? attr-dict `:` type($result)"

    def __init__(self, type_: AnyMemRef):
        # as in the other ops of which a program has many: their definition need not be looked up
        Operation.__init__(self, result_types=[type_])

    def verify_(self) -> None:
        _verify_contiguous(self.result)
        if self.at is not None and self.at.value.data < 0:
            raise VerifyException(f"expected a byte offset of at least 0, got {self.at.value.data}")


@irdl_op_definition
class OutputOp(IRDLOperation):
    """The contiguous buffer of result `number`, which the program writes and returns, with an optional name."""

    name = "lir.output"

    number = prop_def(I64)
    label = opt_prop_def(StringAttr)
    result = result_def(AnyMemRefConstr)

    assembly_format = "$number ($label^)? attr-dict `:` type($result)"

    def __init__(self, number: int, type_: AnyMemRef, label: str | None = None):
        properties: dict[str, Attribute | None] = {
            "number": i64_attr(number),
            "label": None if label is None else StringAttr(label),
        }
        super().__init__(properties=properties, result_types=[type_])

    def __post_init__(self) -> None:
        hold_text(self.properties, "label")
        super().__post_init__()

    def verify_(self) -> None:
        _verify_contiguous(self.result)


def _complex_of(part: Attribute) -> Attribute | None:
    """The complex type with these parts, if there is one."""
    return ComplexType(part) if isinstance(part, Float32Type | Float64Type) else None


@irdl_op_definition
class ViewOp(IRDLOperation):
    """
    An alias of `source` that starts `offset` elements in and has the result's shape and strides.

    A complex buffer may be viewed as a real one of twice as many elements, with real and imaginary parts interleaved.
    """

    name = "lir.view"

    source = operand_def(AnyMemRefConstr)
    offset = prop_def(I64)
    result = result_def(AnyMemRefConstr)

    traits = traits_def(Pure())
    assembly_format = "$source `at` $offset attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, offset: int, type_: AnyMemRef):
        Operation.__init__(self, operands=[source], properties={"offset": i64_attr(offset)}, result_types=[type_])

    def verify_(self) -> None:
        source, result, offset = memref_of(self.source), memref_of(self.result), self.offset.value.data
        verify_buffer_type(result)
        as_parts = source.element_type == _complex_of(result.element_type)
        if source.element_type != result.element_type and not as_parts:
            raise VerifyException(f"a view keeps the element type, got {source} to {result}")
        available = span_elements(source) * (2 if as_parts else 1)
        if offset < 0 or offset + span_elements(result) > available:
            raise VerifyException(
                f"elements {offset} to {offset + span_elements(result)} leave the {available} of the source"
            )


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    Run `kernel` for the iterations [0, extent), in independent chunks of `chunk` iterations, or sequentially with
    `in_order`.

    The kernel's buffers are `reads` then `writes`. A written buffer is not read before the kernel has written it,
    unless it was complete before this launch.

    A launch of one chunk may say how many threads the library of BLAS and LAPACK has at most in its calls, where the
    program and the process have as many; else it has one.
    """

    name = "lir.launch"

    kernel = prop_def(SymbolRefAttr)
    extent = prop_def(I64)
    chunk = prop_def(I64)
    in_order = opt_prop_def(UnitAttr)
    blas_threads = opt_prop_def(I64)
    reads = var_operand_def(AnyMemRefConstr)
    writes = var_operand_def(AnyMemRefConstr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$kernel `over` $extent `by` $chunk (`in_order` $in_order^)? (`blas_threads` $blas_threads^)? "
        "(`reads` `(` $reads^ `:` type($reads) `)`)? "
        "`writes` `(` $writes `:` type($writes) `)` attr-dict"
    )

    def __init__(
        self,
        kernel: str | SymbolRefAttr,
        extent: int,
        chunk: int,
        reads: Sequence[SSAValue],
        writes: Sequence[SSAValue],
        *,
        in_order: bool = False,
        blas_threads: int = 1,
    ):
        options: dict[str, Attribute] = {"in_order": UnitAttr()} if in_order else {}
        if blas_threads > 1:
            options["blas_threads"] = i64_attr(blas_threads)
        Operation.__init__(
            self,
            operands=[*reads, *writes],
            properties=options
            | {
                "kernel": SymbolRefAttr(kernel) if isinstance(kernel, str) else kernel,
                "extent": i64_attr(extent),
                "chunk": i64_attr(chunk),
                AttrSizedOperandSegments.attribute_name: _segments(len(reads), len(writes)),
            },
        )

    @property
    def chunk_count(self) -> int:
        """Pieces of this launch."""
        return -(-self.extent.value.data // self.chunk.value.data)

    @property
    def most_blas_threads(self) -> int:
        """How many threads BLAS and LAPACK have at most."""
        return 1 if self.blas_threads is None else self.blas_threads.value.data

    def verify_(self) -> None:
        if self.extent.value.data < 0 or self.chunk.value.data < 1:
            raise VerifyException(
                f"expected extent >= 0 and chunk >= 1, got {self.extent.value.data} by {self.chunk.value.data}"
            )
        if self.blas_threads is not None and (self.most_blas_threads < 2 or self.chunk_count > 1):
            got = f"{self.chunk_count} chunks with {self.most_blas_threads}"
            raise VerifyException(f"expected one chunk where BLAS has threads, and at least 2 of them, got {got}")
        # what holds nothing is not written, and views of it may be one value
        written = [x for x in self.writes if prod(memref_of(x).get_shape())]
        if len({*written}) != len(written) or {*written} & {*self.reads}:
            raise VerifyException("a written buffer may be passed only once")


def _verify_contiguous(value: SSAValue) -> None:
    type_ = memref_of(value)
    verify_buffer_type(type_)
    if not is_contiguous(type_):
        raise VerifyException(f"expected a contiguous buffer, got {type_}")
    element_bytes(type_.element_type)
