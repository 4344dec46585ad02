"""Gather, scatter, top-k, binary search and cumulative sums, with their builder methods."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import prod
from typing import ClassVar, NamedTuple

from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.compositions import running_scan
from xdsl_rlx.dialects.mir.core import AlongAxis, HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Flag,
    Integer,
    OptionalInteger,
    Tensor,
    flag,
    integer,
    tensor,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    FLOATS,
    INTS,
    check_element,
    dims,
    element_of,
    normalize_axis,
    same_element_type,
    shape_of,
)


class Taken(NamedTuple):
    """The extents of a gather: batches, slices in front of the axis, the axis, indices per batch, elements behind."""

    batches: int
    outer: int
    extent: int
    indices: int
    inner: int


def taken_shape(table: Sequence[int], indices: Sequence[int], axis: int, batch_dims: int) -> tuple[int, ...]:
    """`table[:axis] ++ indices[batch_dims:] ++ table[axis+1:]`; VerifyException if the shapes do not fit."""
    if not 0 <= batch_dims <= axis:
        raise VerifyException(f"expected batch_dims from 0 to the axis {axis}, got {batch_dims}")
    if tuple(indices[:batch_dims]) != tuple(table[:batch_dims]):
        raise VerifyException(
            f"expected indices to begin with the batch dimensions {dims(table[:batch_dims])}, got shape {dims(indices)}"
        )
    return (*table[:axis], *indices[batch_dims:], *table[axis + 1 :])


def added_extents(shape: Sequence[int], indices: Sequence[int], axis: int, batch_dims: int) -> Taken:
    """The extents of the loops that add to a tensor of this shape."""
    count = prod(indices[batch_dims:])
    return Taken(prod(shape[:batch_dims]), prod(shape[batch_dims:axis]), shape[axis], count, prod(shape[axis + 1 :]))


def scatter_type(
    updates: SSAValue, indices: SSAValue, extent: int, axis: int, batch_dims: int
) -> TensorType[Attribute]:
    """The type of `updates` added into an axis of `extent`; VerifyException if the shapes do not fit."""
    check_element(element_of(indices), (*INTS, f32), "indices")
    if extent < 0:
        raise VerifyException(f"expected an extent of at least 0, got {extent}")
    given, at = shape_of(updates), shape_of(indices)
    taken = len(at) - batch_dims
    rank = len(given) - taken + 1
    axis = normalize_axis(axis, max(rank, 1))
    result = (*given[:axis], extent, *given[axis + taken :])
    if taken < 0 or taken_shape(result, at, axis, batch_dims) != given:
        raise VerifyException(f"updates of shape {dims(given)} do not fit indices of shape {dims(at)}")
    if not extent and prod(given):
        raise VerifyException("cannot add to an axis of extent 0")
    return TensorType(element_of(updates), result)


class GatherOp(AlongAxis, MirOp, name="mir.gather"):
    """
    `result[b, o, k, i] = table[b, o, indices[b, k], i]`: slices of `table` along `axis`.

    `table` is `[batch.., outer.., n, inner..]` with `axis` the position of `n`, `indices` is `[batch.., k..]`, where
    `batch_dims` dimensions are batch. The result is `[batch.., outer.., k.., inner..]`. Indices are integers; f32 ones
    are converted as by `mir.cast`. An index outside of `[0, n)` is clamped to it.
    """

    table: Tensor = tensor()
    indices: Tensor = tensor(alone=True)
    axis: Integer = integer(default=0)
    batch_dims: Integer = integer(default=0)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @property
    def extents(self) -> Taken:
        """The extents of the loops."""
        table, axis, batch = shape_of(self.table), self.axis_index, self.batch_dims.value.data
        count = prod(shape_of(self.indices)[batch:])
        return Taken(prod(table[:batch]), prod(table[batch:axis]), table[axis], count, prod(table[axis + 1 :]))

    def infer_types(self) -> tuple[Attribute]:
        axis = self.axis.value.data
        check_element(element_of(self.indices), (*INTS, f32), "indices")
        shape = shape_of(self.table)
        axis = normalize_axis(axis, len(shape))
        result = taken_shape(shape, shape_of(self.indices), axis, self.batch_dims.value.data)
        if not shape[axis] and prod(result):
            raise VerifyException("cannot take slices of an axis of extent 0")
        return (TensorType(element_of(self.table), result),)


class ScatterOp(MirOp, abc.ABC):
    """Slices `updates` combined into those of a new tensor, along `axis`."""

    updates: Tensor = tensor()
    indices: Tensor = tensor(alone=True)
    extent: Integer = integer()
    axis: Integer = integer(default=0)
    batch_dims: Integer = integer(default=0)
    result = result_def(AnyTensorConstr)

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.result)))

    @property
    def extents(self) -> Taken:
        """The extents of the loops."""
        return added_extents(shape_of(self.result), shape_of(self.indices), self.axis_index, self.batch_dims.value.data)

    def infer_types(self) -> tuple[Attribute]:
        axis, batch_dims = self.axis.value.data, self.batch_dims.value.data
        return (scatter_type(self.updates, self.indices, self.extent.value.data, axis, batch_dims),)


class ScatterAddOp(ScatterOp, name="mir.scatter_add"):
    """
    `result[b, o, v, i] = sum of updates[b, o, k, i] over the k with indices[b, k] = v`: the transpose of `mir.gather`.

    `updates` is `[batch.., outer.., k.., inner..]`, `indices` `[batch.., k..]` where `batch_dims` dimensions are batch,
    the result `[batch.., outer.., extent, inner..]` with `axis` the position of `extent`. Indices are integers; f32
    ones are converted as by `mir.cast`. An index outside of `[0, extent)` is clamped to it. Equal indices add up.
    """

    traits = traits_def(HasKernel())
    assembly_format = (
        "$updates `,` $indices `axis` $axis `batch_dims` $batch_dims `extent` $extent attr-dict "
        "`:` functional-type(operands, results)"
    )


class IndexAddOp(AlongAxis, MirOp, name="mir.index_add"):
    """
    `result[b, o, v, i] = input[b, o, v, i] + sum of updates[b, o, k, i] over the k with indices[b, k] = v`.

    `updates`, `indices` and axes are those of a `mir.scatter_add` whose result has the shape of `input`, but for the
    `extent` of its axis: an index outside of `[0, extent)` is clamped to it, and what is added behind the last slice of
    `input` is dropped.
    """

    input: Tensor = tensor()
    updates: Tensor = tensor()
    indices: Tensor = tensor(alone=True)
    extent: Integer = integer()
    axis: Integer = integer(default=0)
    batch_dims: Integer = integer(default=0)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = (
        "$input `,` $updates `,` $indices `axis` $axis `batch_dims` $batch_dims `extent` $extent attr-dict "
        "`:` functional-type(operands, results)"
    )

    @property
    def extents(self) -> Taken:
        """The extents of the loops; that of the axis is the one of `input`."""
        return added_extents(shape_of(self.input), shape_of(self.indices), self.axis_index, self.batch_dims.value.data)

    def infer_types(self) -> tuple[Attribute]:
        extent, axis, batch_dims = self.extent.value.data, self.axis.value.data, self.batch_dims.value.data
        added = scatter_type(self.updates, self.indices, extent, axis, batch_dims)
        element, shape, given = same_element_type(self.input, self.updates), [*added.get_shape()], shape_of(self.input)
        check_element(element, (*FLOATS, *INTS))
        axis = normalize_axis(axis, len(shape))
        if len(given) == len(shape) and given[axis] <= extent:
            shape[axis] = given[axis]
        if tuple(shape) != tuple(given):
            raise VerifyException(f"cannot add updates of shape {dims(shape_of(self.updates))} to shape {dims(given)}")
        return (TensorType(element, given),)


class ScatterMaxOp(ScatterOp, name="mir.scatter_max"):
    """
    `result[b, o, v, i] = the largest of updates[b, o, k, i] over the k with indices[b, k] = v`, or with `smallest` the
    smallest; the least number of the element type where there is none, or the largest.

    Operands and axes are those of `mir.scatter_add`. NaN if one of the elements is. Floats and integers. Equal elements
    share the derivative.
    """

    smallest: Flag = flag(default=False)

    traits = traits_def(HasKernel())
    assembly_format = (
        "$updates `,` $indices `axis` $axis `batch_dims` $batch_dims `extent` $extent (`smallest` $smallest^)? "
        "attr-dict `:` functional-type(operands, results)"
    )

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.updates), (*FLOATS, *INTS))
        return super().infer_types()


class GatherBackwardOp(MirOp, name="mir.gather_backward"):
    """
    The cotangent of the `table` of a `mir.gather` from the cotangent of its result: `mir.scatter_add` of `dy`.

    `axis`, `batch_dims` and the meaning of an index are as in the gather; `extent` is the extent of its axis.
    """

    dy: Tensor = tensor()
    indices: Tensor = tensor(alone=True)
    extent: Integer = integer()
    axis: Integer = integer(default=0)
    batch_dims: Integer = integer(default=0)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$dy `,` $indices `axis` $axis `batch_dims` $batch_dims `extent` $extent attr-dict "
        "`:` functional-type(operands, results)"
    )

    def infer_types(self) -> tuple[Attribute]:
        axis, batch_dims = self.axis.value.data, self.batch_dims.value.data
        return (scatter_type(self.dy, self.indices, self.extent.value.data, axis, batch_dims),)


class TopkOp(MirOp, name="mir.topk"):
    """
    `result[.., i] = the position of the i-th largest of operand[.., :]`, i64 `[.., k]`, for `i < k`.

    Sorted in descending order, or ascending with `smallest`; equal values are ordered by position. NaN is larger than
    every number. All NaN are equal, and so are zeros of either sign. Floats and integers. The values are a `mir.gather`
    (`topk_values`).
    """

    operand: Tensor = tensor(alias="x")
    k: Integer = integer()
    smallest: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        k = self.k.value.data
        check_element(element_of(self.operand), (*FLOATS, *INTS))
        shape = shape_of(self.operand)
        if not shape or not 0 <= k <= shape[-1]:
            raise VerifyException(f"expected k from 0 to the last extent, got {k} of {dims(shape)}")
        return (TensorType(i64, (*shape[:-1], k)),)


class SortOp(MirOp, name="mir.sort"):
    """
    Each row `operand[.., :]` in ascending order, or descending: its values at `mir.topk` of its length.

    With `first` and `count`, the result is `[.., count]`: the elements `[first, first + count)` of each row in order.
    They are selected in a time proportional to the length of the row, as a rule.

    NaN is larger than every number. -0.0 and 0.0 are equal; of equal numbers, which one is where is not specified.
    Floats and integers.
    """

    operand: Tensor = tensor(alias="x")
    descending: Flag = flag(default=False)
    first: OptionalInteger = integer(default=None)
    count: OptionalInteger = integer(default=None)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @property
    def part(self) -> tuple[int, int]:
        """The elements of a row in order that the result has: the first one, and how many."""
        if self.first is None or self.count is None:
            return 0, shape_of(self.operand)[-1]
        return self.first.value.data, self.count.value.data

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), (*FLOATS, *INTS))
        *outer, extent = shape_of(self.operand) or (None,)
        if extent is None:
            raise VerifyException("expected rows to sort, got a tensor of rank 0")
        if (self.first is None) != (self.count is None):
            raise VerifyException("expected both first and count, or neither")
        first, count = self.part
        if not 0 <= first <= first + count <= extent:
            raise VerifyException(f"expected elements of rows of {extent}, got {count} from {first} on")
        return (TensorType(element_of(self.operand), (*outer, count)),)


class BisectOp(MirOp, name="mir.bisect"):
    """
    `result[.., k]`: how many numbers of the ascending row `table[.., :]` are at most `x[.., k]`, or less with `left`.

    The result is i64. NaN counts as larger than every number, as `mir.topk` sorts it. By binary search, so a table that
    does not ascend gives a number between 0 and the length of the row. Floats and integers.
    """

    table: Tensor = tensor()
    x: Tensor = tensor()
    left: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        element, table, x = element_of(self.table), shape_of(self.table), shape_of(self.x)
        check_element(element, (*FLOATS, *INTS))
        if element_of(self.x) != element:
            raise VerifyException(f"expected x of element type {element}, got {element_of(self.x)}")
        if not table or x[: len(table) - 1] != table[:-1]:
            raise VerifyException(f"expected x that begins with the rows of a table, got {dims(x)} for {dims(table)}")
        return (TensorType(i64, x),)


class RunningOp(AlongAxis, MirOp, abc.ABC):
    """What the elements along an axis come to up to each position."""

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T, alias="x")
    axis: Integer = integer(default=-1)
    result = result_def(T)

    assembly_format = "$operand `axis` $axis attr-dict `:` type($result)"

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), (*FLOATS, *INTS))
        normalize_axis(self.axis.value.data, len(shape_of(self.operand)))
        return (self.operand.type,)


class RunningSumOp(RunningOp, abc.ABC):
    """A sum along an axis up to each position."""

    exclusive: Flag = flag(default=False)
    reverse: Flag = flag(default=False)

    assembly_format = (
        "$operand `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($result)"
    )

    @property
    def is_exclusive(self) -> bool:
        """Whether the element at a position is left out of its sum."""
        return self.exclusive is not None

    @property
    def is_reverse(self) -> bool:
        """Whether sums begin at the end of the axis."""
        return self.reverse is not None


class CumsumOp(RunningSumOp, name="mir.cumsum"):
    """
    `result[.., i, ..] = sum of operand[.., j, ..] over j <= i` along `axis`; integers wrap.

    The sum is over `j < i` if `exclusive`, so that the first result is 0; with `reverse`, it is over `j >= i` or `j >
    i`.
    """

    traits = traits_def(HasKernel())


class CumsumBackwardOp(RunningSumOp, name="mir.cumsum_backward"):
    """
    The cotangent of the operand of a `mir.cumsum` with these properties: the sum in the opposite direction.

    `result[.., j, ..] = sum of operand[.., i, ..] over i >= j` along `axis`, `i > j` if `exclusive`; with `reverse`, `i
    <= j` and `i < j`.
    """


class CumprodOp(RunningOp, name="mir.cumprod"):
    """`result[.., i, ..] = product of operand[.., j, ..] over j <= i` along `axis`; integers wrap."""

    traits = traits_def(HasKernel())


class IndexBuilder(BuilderCore):
    """Builder methods of this family."""

    gather = method(GatherOp)
    scatter_add = method(ScatterAddOp)
    index_add = method(IndexAddOp)
    scatter_max = method(ScatterMaxOp)
    gather_backward = method(GatherBackwardOp)
    topk = method(TopkOp)
    bisect = method(BisectOp)

    def cumprod(self, x: Operand, axis: int = -1, dtype: object = None) -> Value:
        """`mir.cumprod`: the cumulative product along `axis`; integers and `dtype` behave as in `cumsum`."""
        value = self.accumulated(x, dtype)
        if element_of(value.ssa) in (*FLOATS, *INTS):
            return self.op(CumprodOp, value.ssa, axis)
        return running_scan(self._this, value, axis, self._this.mul)

    def cumsum(
        self, x: Operand, axis: int = -1, exclusive: bool = False, reverse: bool = False, dtype: object = None
    ) -> Value:
        """
        `mir.cumsum`: the cumulative sum along `axis`. Integers and booleans are summed in i64.

        `dtype` selects another element type for the sum; integers wrap in the element type of `x`.
        """
        return self.op(CumsumOp, self.accumulated(x, dtype).ssa, axis, exclusive, reverse)

    cumsum_backward = method(CumsumBackwardOp)
