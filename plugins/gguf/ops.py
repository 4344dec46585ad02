"""Ops on gguf weights of several experts, and their builder methods. Those on one matrix of any scheme are in
`dialects/mir/quant.py`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Field,
    Integer,
    IntegerList,
    Tensor,
    attribute,
    integer,
    integer_list,
    tensor,
)
from xdsl_rlx.dialects.mir.quant import columns_of, features_of, scheme_attribute
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr, check_weights
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, INTS, check_element, dims, element_of, shape_of


class _Grouped(Operation):
    """An op that takes the weights of several experts, and the rows that they are multiplied by in front of them."""

    if TYPE_CHECKING:
        packed: Tensor
        indices: Tensor
        scheme: Field[SchemeAttr, SchemeAttr]
        experts: Integer


class _GroupedOp(_Grouped, MirOp, abc.ABC):
    """What products with the weights of one of several experts per row share; the weights are gguf."""

    @property
    @abc.abstractmethod
    def matrix(self) -> tuple[int, int]:
        """The extents (K, N) of the weights of an expert."""

    def check(self, rows: SSAValue) -> Attribute:
        """Require the operands to fit each other; the element type of the product."""
        element = element_of(rows)
        check_element(element, FLOATS)
        check_element(element_of(self.indices), (*INTS, f32), "indices")
        shape, at = shape_of(rows), shape_of(self.indices)
        if len(shape) != 2 or at != shape[:1]:
            raise VerifyException(f"expected rows of rank 2 and an index for each, got {dims(shape)} and {dims(at)}")
        k, n = self.matrix
        check_experts(self.scheme, self.packed, (self.experts.value.data, k, n))
        return element


def check_experts(attr: SchemeAttr, packed: SSAValue, extents: tuple[int, int, int]) -> None:
    """Require `packed` to hold gguf weights of those extents (E, K, N), those of each expert in whole blocks."""
    kind = attr.scheme
    experts, k, n = extents
    if not kind.embeds_scales:
        raise VerifyException(f"expected a gguf scheme, got {kind}")
    if experts < 1 or k < 0 or n < 0:
        raise VerifyException(f"expected at least one expert and extents of at least 0, got {experts}, {k}, {n}")
    if k * n % kind.block:
        raise VerifyException(f"{k} times {n} weights of an expert are not whole blocks of {kind.block}")
    check_weights(attr, (experts * n, k), packed, ())


class DequantMoeWeightsOp(MirOp, name="mir.dequant_moe_weights"):
    """
    The gguf weights of all experts, `[E, K, N]`: `result[e, p, j]` is element `(e N + j) K + p` of the packed list.

    `shape` is `[E, K, N]`. Every expert has whole blocks.
    """

    packed: Tensor = tensor()
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    shape: IntegerList = integer_list()
    result = result_def(AnyTensorConstr)

    @property
    def extents(self) -> tuple[int, int, int]:
        """(E, K, N)."""
        values: DenseArrayBase = self.shape
        extents = tuple(int(n) for n in values.get_values())
        if len(extents) != 3:
            raise VerifyException(f"expected a shape of rank 3, got {dims(extents)}")
        return extents[0], extents[1], extents[2]

    def infer_types(self) -> tuple[Attribute]:
        check_experts(self.scheme, self.packed, self.extents)
        return (TensorType(f32, self.extents),)


class DequantGroupedMatmulOp(_GroupedOp, name="mir.dequant_grouped_matmul"):
    """
    `result[m] = x[m] @ W[indices[m]]` with gguf weights `W` `[E, K, N]` as in `mir.dequant_moe_weights`.

    `x` is `[M, K]`. Indices are integers, or f32 that hold integers; one outside of `[0, experts)` is clamped to it.
    """

    x: Tensor = tensor()
    packed: Tensor = tensor(alone=True)
    indices: Tensor = tensor(alone=True)
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    experts: Integer = integer()
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @staticmethod
    def _columns(x: SSAValue, packed: SSAValue, scheme: SchemeAttr, experts: int) -> int:
        if not scheme.scheme.embeds_scales:
            raise VerifyException(f"expected a gguf scheme, got {scheme.scheme}")
        rows = columns_of(scheme, packed, (), features_of(x, "x"))
        if experts < 1 or rows % experts:
            raise VerifyException(f"{rows} rows of weights are not the same number for each of {experts} experts")
        return rows // experts

    @property
    def matrix(self) -> tuple[int, int]:
        return features_of(self.x, "x"), self._columns(self.x, self.packed, self.scheme, self.experts.value.data)

    def infer_types(self) -> tuple[Attribute]:
        _, n = self.matrix
        return (TensorType(self.check(self.x), (*shape_of(self.x)[:-1], n)),)


class DequantGroupedMatmulBackwardInputOp(_GroupedOp, name="mir.dequant_grouped_matmul_backward_input"):
    """`result[m] = dy[m] @ transpose(W[indices[m]])` with `dy` `[M, N]`: the cotangent of x."""

    dy: Tensor = tensor()
    packed: Tensor = tensor(alone=True)
    indices: Tensor = tensor(alone=True)
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    experts: Integer = integer()
    k: Integer = integer()
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @property
    def matrix(self) -> tuple[int, int]:
        return self.k.value.data, features_of(self.dy, "dy")

    def infer_types(self) -> tuple[Attribute]:
        return (TensorType(self.check(self.dy), (*shape_of(self.dy)[:-1], self.k.value.data)),)


class ExpertsBuilder(BuilderCore):
    """Builder methods of this family."""

    def dequant_moe_weights(self, packed: Operand, shape: Sequence[int], scheme: Scheme | str | SchemeAttr) -> Value:
        """`mir.dequant_moe_weights`: decode the GGUF weights of experts to `[E, K, N]`."""
        return self.op(DequantMoeWeightsOp, self.operand(packed), scheme_attribute(scheme), shape)

    def dequant_grouped_matmul(
        self, x: Operand, packed: Operand, indices: Operand, experts: int, scheme: Scheme | str | SchemeAttr
    ) -> Value:
        """`mir.dequant_grouped_matmul`: multiply each row of `x` by the GGUF weights of its expert, `indices`."""
        operands = self.operand(x), self.operand(packed), self.operand(indices)
        return self.op(DequantGroupedMatmulOp, *operands, scheme_attribute(scheme), experts)

    def dequant_grouped_matmul_backward_input(
        self, dy: Operand, packed: Operand, indices: Operand, experts: int, k: int, scheme: Scheme | str | SchemeAttr
    ) -> Value:
        """`mir.dequant_grouped_matmul_backward_input`: the cotangent of x."""
        operands = self.operand(dy), self.operand(packed), self.operand(indices)
        return self.op(DequantGroupedMatmulBackwardInputOp, *operands, scheme_attribute(scheme), experts, k)
