"""The buffers of a program: what the caller gives and gets, slots of the arena, constants, and views of them."""

from xdsl.dialects.builtin import ComplexType, Float32Type, Float64Type, MemRefType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.dense_text import DenseText, ExactDense, hold_exactly
from xdsl_rlx.dialects.lir.memory import (
    AnyMemRef,
    element_bytes,
    is_contiguous,
    memref_of,
    span_elements,
    verify_buffer_type,
)
from xdsl_rlx.dialects.mir.fields import I64, i64_attr
from xdsl_rlx.dialects.names import hold_text

AnyMemRefConstr = MemRefType.constr()


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


def _verify_contiguous(value: SSAValue) -> None:
    type_ = memref_of(value)
    verify_buffer_type(type_)
    if not is_contiguous(type_):
        raise VerifyException(f"expected a contiguous buffer, got {type_}")
    element_bytes(type_.element_type)
