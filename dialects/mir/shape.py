"""Ops that move or alias elements: reshape, transpose, narrow, concat, expand. Indexing by data is in `index.py`."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import I64, AnyTensorConstr, I64List, IntList, MirOp, View, i64_attr, i64_list
from xdsl_rlx.dialects.shapes import (
    broadcasts_to,
    dims,
    element_of,
    normalize_axis,
    same_element_type,
    shape_of,
    tensor_of,
)


@irdl_op_definition
class ReshapeOp(MirOp):
    """`result` has the elements of `operand` in row-major order under another shape of as many elements."""

    name = "mir.reshape"

    operand = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[tensor_of(element_of(operand), shape)])

    def infer_types(self) -> tuple[Attribute]:
        before, after = shape_of(self.operand), shape_of(self.result)
        if prod(before) != prod(after):
            raise VerifyException(f"cannot reshape {dims(before)} to {dims(after)}: the element counts differ")
        return (tensor_of(element_of(self.operand), after),)


@irdl_op_definition
class TransposeOp(MirOp):
    """`result.shape[d] = operand.shape[perm[d]]`: dimension `d` of the result is dimension `perm[d]` of the operand."""

    name = "mir.transpose"

    operand = operand_def(AnyTensorConstr)
    perm = prop_def(I64List)
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())
    custom_directives = (IntList,)
    assembly_format = "$operand `perm` custom<IntList>($perm) attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue, perm: Sequence[int]):
        super().__init__(
            operands=[operand],
            properties={"perm": i64_list(perm)},
            result_types=[self._infer(operand, perm)],
        )

    @property
    def perm_list(self) -> tuple[int, ...]:
        """The permutation as integers."""
        return tuple(int(p) for p in self.perm.get_values())

    @staticmethod
    def _infer(operand: SSAValue, perm: Sequence[int]) -> Attribute:
        shape = shape_of(operand)
        if sorted(perm) != list(range(len(shape))):
            raise VerifyException(f"{list(perm)} is not a permutation of the {len(shape)} dimensions")
        return tensor_of(element_of(operand), [shape[p] for p in perm])

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.operand, self.perm_list),)


@irdl_op_definition
class NarrowOp(MirOp):
    """`result` is `operand[start : start+len]` along `axis`."""

    name = "mir.narrow"

    operand = operand_def(AnyTensorConstr)
    axis = prop_def(I64)
    start = prop_def(I64)
    length = prop_def(I64, prop_name="len")
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())
    assembly_format = "$operand `axis` $axis `start` $start `len` $len attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue, axis: int, start: int, length: int):
        super().__init__(
            operands=[operand],
            properties={"axis": i64_attr(axis), "start": i64_attr(start), "len": i64_attr(length)},
            result_types=[self._infer(operand, axis, start, length)],
        )

    @property
    def bounds(self) -> tuple[int, int, int]:
        """Axis counted from the front, start, length."""
        rank = len(shape_of(self.operand))
        return normalize_axis(self.axis.value.data, rank), self.start.value.data, self.length.value.data

    @staticmethod
    def _infer(operand: SSAValue, axis: int, start: int, length: int) -> Attribute:
        shape = list(shape_of(operand))
        axis = normalize_axis(axis, len(shape))
        if start < 0 or length < 0 or start + length > shape[axis]:
            raise VerifyException(f"elements {start} to {start + length} leave axis {axis} of {dims(shape)}")
        shape[axis] = length
        return tensor_of(element_of(operand), shape)

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.operand, *self.bounds),)


@irdl_op_definition
class ConcatOp(MirOp):
    """`result` is the operands one after the other along `axis`; the other dimensions agree."""

    name = "mir.concat"

    parts = var_operand_def(AnyTensorConstr)
    axis = prop_def(I64)
    result = result_def(AnyTensorConstr)

    assembly_format = "$parts `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, parts: Sequence[SSAValue], axis: int):
        super().__init__(
            operands=[parts],
            properties={"axis": i64_attr(axis)},
            result_types=[self._infer(parts, axis)],
        )

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.result)))

    @staticmethod
    def _infer(parts: Sequence[SSAValue], axis: int) -> Attribute:
        if not parts:
            raise VerifyException("expected at least one operand")
        first = list(shape_of(parts[0]))
        axis = normalize_axis(axis, len(first))
        total = 0
        for part in parts:
            shape = list(shape_of(part))
            if len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
                raise VerifyException(f"shapes {dims(first)} and {dims(shape)} differ outside axis {axis}")
            total += shape[axis]
        first[axis] = total
        return tensor_of(same_element_type(*parts), first)

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.parts, self.axis.value.data),)


@irdl_op_definition
class ExpandOp(MirOp):
    """`result` is `operand` broadcast, as in NumPy's `broadcast_to`, to the shape of the result."""

    name = "mir.expand"

    operand = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[tensor_of(element_of(operand), shape)])

    def infer_types(self) -> tuple[Attribute]:
        before, after = shape_of(self.operand), shape_of(self.result)
        if not broadcasts_to(before, after):
            raise VerifyException(f"cannot expand {dims(before)} to {dims(after)}")
        return (tensor_of(element_of(self.operand), after),)
