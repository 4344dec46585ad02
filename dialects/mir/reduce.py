"""Reductions along axes. Softmax is in `norm.py`, losses in `loss.py`."""

import abc
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, AxisList, Flag, Tensor, axes, flag, tensor
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    INTS,
    check_element,
    element_of,
    normalize_axes,
    reduced_shape,
    shape_of,
    tensor_of,
)


class ReduceOp(MirOp, abc.ABC):
    """`result` is `operand` reduced over `axes`; `keep_dim` keeps them with extent 1. No axes: the identity."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS)

    operand: Tensor = tensor(alias="x")
    axes: AxisList = axes(default=None)
    keep_dim: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    @property
    def axis_list(self) -> tuple[int, ...]:
        """The reduced axes, counted from the front, ascending."""
        axes: DenseArrayBase = self.axes
        return normalize_axes([int(a) for a in axes.get_values()], len(shape_of(self.operand)))

    def infer_types(self) -> tuple[Attribute]:
        if self.axes.elt_type != i64:
            raise VerifyException("expected i64 axes")
        type_ = element_of(self.operand)
        check_element(type_, self.ELEMENTS)
        shape = reduced_shape(shape_of(self.operand), self.axis_list, self.keep_dim is not None)
        return (tensor_of(type_, shape),)


class ReduceSumOp(ReduceOp, name="mir.reduce_sum"):
    """`result = sum over axes`; 0 over an empty extent. Integers wrap: the builder casts them to i64 first."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *INTS, *COMPLEXES)


class ReduceMeanOp(ReduceOp, name="mir.reduce_mean"):
    """`result = sum over axes / count`; NaN over an empty extent."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (*FLOATS, *COMPLEXES)


class ReduceMaxOp(ReduceOp, name="mir.reduce_max"):
    """
    `result = max over axes`; -inf over an empty extent, NaN if one is. Zeros of either sign are equal.

    Ties share the cotangent evenly.
    """


class ReduceMinOp(ReduceOp, name="mir.reduce_min"):
    """
    `result = min over axes`; +inf over an empty extent, NaN if one is. Zeros of either sign are equal.

    Ties share the cotangent evenly.
    """


class ReduceProdOp(ReduceOp, name="mir.reduce_prod"):
    """
    `result = product over axes`; 1 over an empty extent. The gradient is exact with any number of zeros.

    Integers wrap: the builder casts them to i64 first.
    """
