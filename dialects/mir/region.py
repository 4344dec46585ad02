"""Regions of elementwise ops and of resizes, written by fusion or by users."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import (
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.calls import called_as
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.bodies import (
    BodyOp,
    Function,
    captured_by,
    captured_types,
    cleared_on_error,
    end_of,
    filling,
    is_several,
    ops_of,
    verify_arguments,
    verify_end,
    yielded_types,
)
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.elementwise import BinaryOp, CompareOp, ConstantOp, UnaryOp, WhereOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Body, Tensor, Tensors, region, tensor, tensors
from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import check_size, dims, element_of, shape_of

ELEMENTWISE = (UnaryOp, BinaryOp, CompareOp, WhereOp, CastOp)


class ElementwiseRegionOp(BodyOp, name="mir.elementwise_region"):
    """
    `body(inputs)`, where `body` consists of elementwise ops (unary, binary, compare, where, cast) and rank-0 constants.

    The ops broadcast as outside of the region: shapes are aligned at the right, and an axis of extent 1 is repeated.
    An input may be resized first, by `mir.resize_nearest_2x` ops on the argument: the prologue of the region.
    """

    inputs: Tensors = tensors()
    body: Body = region()
    result = result_def(AnyTensorConstr)

    assembly_format = "(`(` $inputs^ `:` type($inputs) `)`)? attr-dict `->` type($result) $body"

    def infer_types(self) -> list[Attribute]:
        return yielded_types(self.body.block)

    def verify_(self) -> None:
        verify_arguments(self.body.block, "the body", [(f"input {n}", x.type) for n, x in enumerate(self.inputs)])
        _verify_result(self.result, verify_elementwise(self.body.block))


class TransformRegionOp(BodyOp, name="mir.transform_region"):
    """`body(operand)`, where `body` is a chain of `mir.resize_nearest_2x` ops."""

    operand: Tensor = tensor()
    body: Body = region()
    result = result_def(AnyTensorConstr)

    assembly_format = "$operand `:` type($operand) attr-dict `->` type($result) $body"

    def infer_types(self) -> list[Attribute]:
        return yielded_types(self.body.block)

    def verify_(self) -> None:
        verify_arguments(self.body.block, "the body", [("the operand", self.operand.type)])
        _verify_result(self.result, verify_chain(self.body.block))


class BatchElementwiseRegionOp(BodyOp, name="mir.batch_elementwise_region"):
    """
    `body(input, captured)` for each of several inputs of one type, concatenated along axis 0.

    `body` is as in `mir.elementwise_region`, with or without resized arguments; all inputs share `captured`.
    """

    inputs: Tensors = tensors()
    captured: Tensors = tensors()
    body: Body = region()
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "`(` $inputs `:` type($inputs) `)` (`captured` `(` $captured^ `:` type($captured) `)`)? attr-dict "
        "`->` type($result) $body"
    )

    def infer_types(self) -> list[Attribute]:
        return [_concatenated(end_of(self.body.block).values[0], len(self.inputs))]

    def verify_(self) -> None:
        if not self.inputs:
            raise VerifyException("expected at least one input")
        for number, x in enumerate(self.inputs):
            if x.type != self.inputs[0].type:
                raise VerifyException(f"input 0 is {self.inputs[0].type}, input {number} {x.type}: expected one type")
        given = [("input 0", self.inputs[0].type), *captured_types(self.captured)]
        verify_arguments(self.body.block, "the body", given)
        expected = _concatenated(verify_elementwise(self.body.block), len(self.inputs))
        if self.result.type != expected:
            raise VerifyException(f"expected a result of type {expected}, got {self.result.type}")
        check_size(expected)


def verify_elementwise(block: Block) -> SSAValue:
    """
    The one value that a body of elementwise ops and numbers, of arguments resized or not, yields.

    VerifyException for another body.
    """
    value, sources = _one_value(block), set[SSAValue](block.args)
    for op in ops_of(block):
        if isinstance(op, ConstantOp) and shape_of(op.result):
            raise VerifyException(f"expected rank-0 constants in the body, got shape {dims(shape_of(op.result))}")
        if isinstance(op, ResizeNearest2xOp):
            if op.x not in sources:
                raise VerifyException(f"expected {op.name} of arguments of the body only, before its other ops")
            sources.add(op.result)
        elif not isinstance(op, (ConstantOp, *ELEMENTWISE)):
            raise VerifyException(f"expected unary, binary, compare, where and cast ops in the body, got {op.name}")
    return value


def verify_chain(block: Block) -> SSAValue:
    """The one value that a chain of resizes yields; VerifyException for another body."""
    value, before = _one_value(block), block.args[0]
    for op in ops_of(block):
        if not isinstance(op, ResizeNearest2xOp):
            raise VerifyException(f"expected only {ResizeNearest2xOp.name} in the body, got {op.name}")
        if op.x != before:
            raise VerifyException(f"expected a chain: {op.name} does not use the result of the previous op")
        before = op.result
    if value != before:
        raise VerifyException("expected a body that yields the end of its chain")
    return value


def _one_value(block: Block) -> SSAValue:
    values = verify_end(block, "the body").values
    if len(values) != 1:
        raise VerifyException(f"expected a body that yields one value, got {len(values)}")
    return values[0]


def _verify_result(result: SSAValue, value: SSAValue) -> None:
    if value.type != result.type:
        raise VerifyException(f"the result is {result.type}, the body yields {value.type}")


def _concatenated(part: SSAValue, count: int) -> Attribute:
    """The type of so many values like this one after the other along axis 0."""
    shape = shape_of(part)
    if not shape:
        raise VerifyException(f"the body yields {part.type}: expected a result of rank at least 1")
    return TensorType(element_of(part), (shape[0] * count, *shape[1:]))


class RegionBuilder(BuilderCore):
    """Builder methods of this family."""

    def elementwise_region(self, fn: Function, *operands: Operand) -> Value:
        """
        `mir.elementwise_region`: `fn(*operands)`, which builds elementwise ops and returns a value.

        Captured values become operands. Only unary, binary, compare and where ops, casts and numbers are allowed, and
        `resize_nearest_2x` of operands; others are an error.
        """
        inputs = [self.operand(x) for x in operands]
        block = Block(arg_types=[x.type for x in inputs])
        with cleared_on_error(block):
            self._fill("elementwise_region", fn, block)
            verify_elementwise(block)
            inputs += captured_by("elementwise_region", [block], len(inputs))
        return self.op(ElementwiseRegionOp, inputs, block)

    def transform_region(self, fn: Function, x: Operand) -> Value:
        """`mir.transform_region`: `fn(x)`, a chain of `resize_nearest_2x`."""
        operand = self.operand(x)
        block = Block(arg_types=[operand.type])
        with cleared_on_error(block):
            self._fill("transform_region", fn, block)
            verify_chain(block)
        return self.op(TransformRegionOp, operand, block)

    def batch_elementwise_region(self, fn: Function, inputs: Sequence[Operand]) -> Value:
        """
        `mir.batch_elementwise_region`: apply `fn` to each of several values of one type, and concatenate along axis 0.

        `fn(input)` builds elementwise ops, as in `elementwise_region`, and may capture values.
        """
        values = self.operands(*inputs)
        if not values:
            raise GraphError("batch_elementwise_region: expected at least one input")
        for number, value in enumerate(values):
            if value.type != values[0].type:
                raise GraphError(
                    f"batch_elementwise_region: input 0 is {values[0].type}, input {number} {value.type}: expected one "
                    "type"
                )
        block = Block(arg_types=[values[0].type])
        with cleared_on_error(block):
            self._fill("batch_elementwise_region", fn, block)
            _concatenated(verify_elementwise(block), len(values))
            captured = captured_by("batch_elementwise_region", [block], 1)
        return self.op(BatchElementwiseRegionOp, values, captured, block)

    def _fill(self, name: str, function: Function, block: Block) -> None:
        """End a block with the one value that a function returns of its arguments."""
        with filling(self.builder, block):
            found = called_as(f"{name}: fn", function)(*map(self.value, block.args))
            if is_several(found):
                raise GraphError(f"{name}: the body returns a tuple of {len(found)}, expected one value")
            like = block.args[0] if block.args else None
            try:
                self.builder.insert(YieldOp(self.operand(found, like)))
            except GraphError as error:
                raise GraphError(f"{name}: the body: {error}") from None
