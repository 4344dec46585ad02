"""Matmuls and contractions, and their builder methods. Fused forms are in `fused.py`, solves in `solve.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    IntegerList,
    Real,
    Tensor,
    integer_list,
    real,
    tensor,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    INTS,
    check_element,
    dims,
    matmul_shape,
    normalize_axis,
    same_element_type,
    shape_of,
    tensor_of,
)


class MatmulOp(MirOp, name="mir.matmul"):
    """`result[..., i, j] = sum_k lhs[..., i, k] rhs[..., k, j]`; the leading dimensions broadcast."""

    lhs: Tensor = tensor()
    rhs: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        type_ = same_element_type(self.lhs, self.rhs)
        check_element(type_, (*FLOATS, *INTS, *COMPLEXES))
        return (tensor_of(type_, matmul_shape(shape_of(self.lhs), shape_of(self.rhs))),)


class Side(NamedTuple):
    """The dimensions of an operand of a contraction, counted from the front: paired in order with the other's."""

    contracting: tuple[int, ...]
    batch: tuple[int, ...]
    free: tuple[int, ...]
    """The rest, ascending."""


def _side(name: str, shape: Sequence[int], contracting: Sequence[int], batch: Sequence[int]) -> Side:
    first = tuple(normalize_axis(axis, len(shape)) for axis in contracting)
    second = tuple(normalize_axis(axis, len(shape)) for axis in batch)
    if len({*first, *second}) != len(first) + len(second):
        raise VerifyException(
            f"expected distinct {name} dimensions, got contracting {list(contracting)} and batch {list(batch)}"
        )
    return Side(first, second, tuple(axis for axis in range(len(shape)) if axis not in (*first, *second)))


class DotGeneralOp(MirOp, name="mir.dot_general"):
    """
    `result[b.., i.., j..] = sum over k.. of lhs(b.., i.., k..) rhs(b.., j.., k..)`: a contraction, as in XLA.

    `batch` pairs dimensions `b` of the operands that the result keeps, and `contracting` pairs dimensions that are
    summed over. The first number of a pair is a dimension of `lhs`, the second of `rhs`; both have one extent. The
    result has the batch dimensions in the order of their list, then the other dimensions of `lhs`, then the other
    dimensions of `rhs`. Without contracting dimensions it is an outer product; a sum over an extent of 0 is 0.
    """

    lhs: Tensor = tensor()
    rhs: Tensor = tensor()
    lhs_contracting: IntegerList = integer_list(default=())
    rhs_contracting: IntegerList = integer_list(default=())
    lhs_batch: IntegerList = integer_list(default=())
    rhs_batch: IntegerList = integer_list(default=())
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$lhs `,` $rhs `contracting` custom<IntList>($lhs_contracting) `x` custom<IntList>($rhs_contracting) "
        "`batch` custom<IntList>($lhs_batch) `x` custom<IntList>($rhs_batch) attr-dict "
        "`:` functional-type(operands, results)"
    )

    @property
    def sides(self) -> tuple[Side, Side]:
        """What the dimensions of `lhs` and of `rhs` are."""
        return (
            _side("lhs", shape_of(self.lhs), _numbers(self.lhs_contracting), _numbers(self.lhs_batch)),
            _side("rhs", shape_of(self.rhs), _numbers(self.rhs_contracting), _numbers(self.rhs_batch)),
        )

    def infer_types(self) -> tuple[Attribute]:
        type_ = same_element_type(self.lhs, self.rhs)
        check_element(type_, (*FLOATS, *INTS, *COMPLEXES))
        a, b = shape_of(self.lhs), shape_of(self.rhs)
        left, right = self.sides
        for what, mine, yours in (
            ("contracting", left.contracting, right.contracting),
            ("batch", left.batch, right.batch),
        ):
            if len(mine) != len(yours):
                raise VerifyException(f"{len(mine)} {what} dimensions of lhs cannot be paired with {len(yours)} of rhs")
            for i, j in zip(mine, yours, strict=True):
                if a[i] != b[j]:
                    raise VerifyException(
                        f"{what} dimensions differ: axis {i} of {dims(a)} has extent {a[i]}, "
                        f"axis {j} of {dims(b)} has {b[j]}"
                    )
        shape = (*(a[i] for i in (*left.batch, *left.free)), *(b[j] for j in right.free))
        return (tensor_of(type_, shape),)


def _numbers(values: Attribute) -> tuple[int, ...]:
    assert isinstance(values, DenseArrayBase)
    return tuple(int(n) for n in values.get_values())


class LoraMatmulOp(MirOp, name="mir.lora_matmul"):
    """
    `result = x @ w + scale (x @ a) @ b`: a matmul whose weight has a low-rank correction.

    `x` is [..., m, k], `w` [k, n], `a` [k, r] and `b` [r, n]; `scale` is a number of the operands' element type.
    """

    x: Tensor = tensor()
    w: Tensor = tensor()
    a: Tensor = tensor()
    b: Tensor = tensor()
    scale: Real = real(default=1.0)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        x, w, a, b = self.x, self.w, self.a, self.b
        type_ = same_element_type(x, w, a, b)
        check_element(type_, FLOATS)
        for name, value in (("w", w), ("a", a), ("b", b)):
            if len(shape_of(value)) != 2:
                raise VerifyException(f"expected {name} to be a matrix, got shape {dims(shape_of(value))}")
        result = matmul_shape(shape_of(x), shape_of(w))
        low = matmul_shape(matmul_shape(shape_of(x), shape_of(a)), shape_of(b))
        if low != result:
            raise VerifyException(f"expected x @ a @ b of the shape {dims(result)} of x @ w, got {dims(low)}")
        return (tensor_of(type_, result),)


class LinalgBuilder(BuilderCore):
    """Builder methods of this family."""

    def matmul(self, lhs: Operand, rhs: Operand) -> Value:
        """`mir.matmul` of [..., m, k] and [..., k, n]; a vector is a row or a column, as in NumPy."""
        left, right = (self.value(x) for x in self.operands(lhs, rhs))
        if not left.rank or not right.rank:
            raise GraphError("matmul: expected no scalar operand; use * for scalars")
        row, column = left.rank == 1, right.rank == 1
        left = self._this.reshape(left, (1, *left.shape)) if row else left
        right = self._this.reshape(right, (*right.shape, 1)) if column else right
        product = self.op(MatmulOp, left.ssa, right.ssa)
        if not row and not column:
            return product
        shape = product.shape
        return self._this.reshape(product, (*shape[:-2], *shape[-2 + row : len(shape) - column]))

    dot_general = method(DotGeneralOp)
    lora_matmul = method(LoraMatmulOp)
