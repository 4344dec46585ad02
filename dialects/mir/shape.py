"""
Ops that move or alias elements: reshape, transpose, narrow, flip, concat, expand.

Indexing by data is in `index.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VarConstraint, base, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import AlongAxis, MirOp, View
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    IntegerList,
    Tensor,
    Tensors,
    integer,
    integer_list,
    tensor,
    tensors,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import (
    broadcasts_to,
    dims,
    element_of,
    integers,
    normalize_axes,
    normalize_axis,
    same_element_type,
    shape_of,
    tensor_of,
)


class ReshapeOp(MirOp, name="mir.reshape"):
    """`result` has the elements of `operand` in row-major order under another shape of as many elements."""

    operand: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        self.assemble(operands=[operand], result_types=[tensor_of(element_of(operand), shape)])

    def infer_types(self) -> tuple[Attribute]:
        before, after = shape_of(self.operand), shape_of(self.result)
        if prod(before) != prod(after):
            raise VerifyException(f"cannot reshape {dims(before)} to {dims(after)}: the element counts differ")
        return (tensor_of(element_of(self.operand), after),)


class TransposeOp(MirOp, name="mir.transpose"):
    """`result.shape[d] = operand.shape[perm[d]]`: dimension `d` of the result is dimension `perm[d]` of the operand."""

    operand: Tensor = tensor(alias="x")
    perm: IntegerList = integer_list()
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())

    @property
    def perm_list(self) -> tuple[int, ...]:
        """The permutation as integers."""
        return tuple(int(p) for p in self.perm.get_values())

    def infer_types(self) -> tuple[Attribute]:
        perm = self.perm_list
        shape = shape_of(self.operand)
        if sorted(perm) != list(range(len(shape))):
            raise VerifyException(f"{list(perm)} is not a permutation of the {len(shape)} dimensions")
        return (tensor_of(element_of(self.operand), [shape[p] for p in perm]),)


class NarrowOp(MirOp, name="mir.narrow"):
    """`result` is `operand[start : start+len]` along `axis`."""

    operand: Tensor = tensor(alias="x")
    axis: Integer = integer()
    start: Integer = integer()
    length: Integer = integer(alias="len")
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())

    @property
    def bounds(self) -> tuple[int, int, int]:
        """Axis counted from the front, start, length."""
        rank = len(shape_of(self.operand))
        return normalize_axis(self.axis.value.data, rank), self.start.value.data, self.length.value.data

    def infer_types(self) -> tuple[Attribute]:
        shape, (axis, start, length) = list(shape_of(self.operand)), self.bounds
        if start < 0 or length < 0 or start + length > shape[axis]:
            raise VerifyException(
                f"the slice {start}:{start + length} is out of range for axis {axis} of shape {dims(shape)}"
            )
        shape[axis] = length
        return (tensor_of(element_of(self.operand), shape),)


class FlipOp(AlongAxis, MirOp, name="mir.flip"):
    """`result[.., i, ..] = operand[.., n - 1 - i, ..]`: the elements along `axis`, the last one first."""

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T, alias="x")
    axis: Integer = integer()
    result = result_def(T)

    traits = traits_def(View())
    assembly_format = "$operand `axis` $axis attr-dict `:` type($result)"

    def infer_types(self) -> tuple[Attribute]:
        normalize_axis(self.axis.value.data, len(shape_of(self.operand)))
        return (self.operand.type,)


class ConcatOp(MirOp, name="mir.concat"):
    """`result` is the operands one after the other along `axis`; the other dimensions agree."""

    parts: Tensors = tensors()
    axis: Integer = integer()
    result = result_def(AnyTensorConstr)

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.result)))

    def infer_types(self) -> tuple[Attribute]:
        parts, axis = self.parts, self.axis.value.data
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
        return (tensor_of(same_element_type(*parts), first),)


class ExpandOp(MirOp, name="mir.expand"):
    """`result` is `operand` broadcast, as in NumPy's `broadcast_to`, to the shape of the result."""

    operand: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(View())
    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, shape: Sequence[int]):
        self.assemble(operands=[operand], result_types=[tensor_of(element_of(operand), shape)])

    def infer_types(self) -> tuple[Attribute]:
        before, after = shape_of(self.operand), shape_of(self.result)
        if not broadcasts_to(before, after):
            raise VerifyException(f"cannot expand {dims(before)} to {dims(after)}")
        return (tensor_of(element_of(self.operand), after),)


class ShapeBuilder(BuilderCore):
    """Builder methods of this family. Those named after no op count axes, and build one reshape or transpose."""

    def flip(self, x: Operand, axis: int | Sequence[int] | None = None) -> Value:
        """`mir.flip`: reverse one or several axes, by default all."""
        value = self.value(self.operand(x))
        axes = range(value.rank) if axis is None else normalize_axes(integers("flip", axis), value.rank)
        for one in axes:
            if value.shape[one] > 1:
                value = self.op(FlipOp, value.ssa, one)
        return value

    def moveaxis(self, x: Operand, source: int | Sequence[int], destination: int | Sequence[int]) -> Value:
        """Move the axes `source` to the positions `destination`; the others keep their order."""
        value = self.value(self.operand(x))
        ends: list[list[int]] = []
        for given in (source, destination):
            ends.append([normalize_axis(axis, value.rank) for axis in integers("moveaxis", given)])
        old, new = ends
        if len(old) != len(new) or len({*old}) != len(old) or len({*new}) != len(new):
            raise GraphError(f"moveaxis: expected as many distinct axes twice, got {source} and {destination}")
        perm = [axis for axis in range(value.rank) if axis not in old]
        for to, axis in sorted(zip(new, old, strict=True)):
            perm.insert(to, axis)
        return self._this.transpose(value, perm)

    def swapaxes(self, x: Operand, axis1: int, axis2: int) -> Value:
        """Interchange two axes."""
        value = self.value(self.operand(x))
        perm = list(range(value.rank))
        first, second = normalize_axis(axis1, value.rank), normalize_axis(axis2, value.rank)
        perm[first], perm[second] = second, first
        return self._this.transpose(value, perm)

    def squeeze(self, x: Operand, axis: int | Sequence[int] | None = None) -> Value:
        """Remove axes of extent 1, by default all of them; GraphError for an axis of another extent."""
        value = self.value(self.operand(x))
        if axis is None:
            return self._this.reshape(value, [n for n in value.shape if n != 1])
        gone = normalize_axes(integers("squeeze", axis), value.rank)
        if longer := [one for one in gone if value.shape[one] != 1]:
            raise GraphError(f"squeeze: expected extent 1 at axis {longer[0]}, got shape {dims(value.shape)}")
        return self._this.reshape(value, [n for one, n in enumerate(value.shape) if one not in gone])

    def expand_dims(self, x: Operand, axis: int | Sequence[int]) -> Value:
        """Insert axes of extent 1 at these positions of the result."""
        value, new = self.value(self.operand(x)), integers("expand_dims", axis)
        places = normalize_axes(new, value.rank + len(new))
        rest = iter(value.shape)
        return self._this.reshape(value, [1 if n in places else next(rest) for n in range(value.rank + len(new))])

    def ravel(self, x: Operand) -> Value:
        """Flatten to one dimension."""
        value = self.value(self.operand(x))
        return self._this.reshape(value, (prod(value.shape),))
