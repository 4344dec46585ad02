"""NumPy's products and norms of vectors, matrices and tensors, as builder methods on contractions and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.einsum import diagonal_of, einsum
from xdsl_rlx.dialects.mir.fields import word_of
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, dims, element_of, integers, normalize_axis


class MatrixNorm(StrEnum):
    """A norm of matrices that has a name."""

    FROBENIUS = "fro"
    NUCLEAR = "nuc"


class ContractionsBuilder(BuilderCore):
    """Builder methods of this family."""

    def einsum(self, subscripts: str, *operands: Operand) -> Value:
        """
        Contract operands as `np.einsum`: `"ij,jk->ik"`, with `...` and diagonals such as `"ii->i"`.

        Operands are contracted pairwise, the cheapest pair first. GraphError for invalid labels.
        """
        return einsum(subscripts, [self.value(x) for x in self.operands(*operands)])

    def tensordot(self, a: Operand, b: Operand, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Value:
        """Contract the last `axes` of `a` with the first of `b`, or two lists of axes, as `np.tensordot`."""
        left, right = (self.value(x) for x in self.operands(a, b))
        if isinstance(axes, Sequence):
            if len(axes) != 2:
                raise GraphError(f"tensordot: expected a number of axes or two lists of them, got {axes}")
            mine, yours = (integers("tensordot", one) for one in axes)
        else:
            (count,) = integers("tensordot", axes)
            if not 0 <= count <= min(left.rank, right.rank):
                raise GraphError(
                    f"tensordot: expected at least {count} axes, got {dims(left.shape)} and {dims(right.shape)}"
                )
            mine, yours = tuple(range(left.rank - count, left.rank)), tuple(range(count))
        return self._this.dot_general(left, right, mine, yours)

    def dot(self, a: Operand, b: Operand) -> Value:
        """
        Contract the last axis of `a` with the second to last (or only) axis of `b`, or multiply by a scalar, as
        `np.dot`.
        """
        left, right = (self.value(x) for x in self.operands(a, b))
        if not left.rank or not right.rank:
            return left * right
        return self._this.dot_general(left, right, [-1], [max(right.rank - 2, 0)])

    def inner(self, a: Operand, b: Operand) -> Value:
        """Sum over the last axes of both operands, as `np.inner`; with a scalar, multiply."""
        left, right = (self.value(x) for x in self.operands(a, b))
        if not left.rank or not right.rank:
            return left * right
        return self._this.dot_general(left, right, [-1], [-1])

    def vdot(self, a: Operand, b: Operand) -> Value:
        """Sum `conj(a) b` over all elements of the flattened operands."""
        left, right = (self._this.ravel(x) for x in self.operands(a, b))
        return self.inner(self._this.conjugate(left), right)

    def outer(self, a: Operand, b: Operand) -> Value:
        """Return `result[i, j] = a[i] b[j]` for the flattened operands."""
        left, right = (self._this.ravel(x) for x in self.operands(a, b))
        return self._this.expand_dims(left, 1) * right

    def kron(self, a: Operand, b: Operand) -> Value:
        """Return the Kronecker product, with one block `a[i] b` for each element of `a`; tensors have any rank."""
        left, right = (self.value(x) for x in self.operands(a, b))
        rank = max(left.rank, right.rank)
        first, second = ((*([1] * (rank - x.rank)), *x.shape) for x in (left, right))
        left = self._this.reshape(left, [n for extent in first for n in (extent, 1)])
        right = self._this.reshape(right, [n for extent in second for n in (1, extent)])
        return self._this.reshape(left * right, [m * n for m, n in zip(first, second, strict=True)])

    def diagonal(self, x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
        """Return diagonal `offset` of two axes, along a new last axis, as `np.diagonal`."""
        return diagonal_of(*self._matrix_axes(x, offset, axis1, axis2))

    def trace(self, x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Value:
        """Sum a diagonal; integers and `dtype` behave as in `reduce_sum`."""
        return self._this.reduce_sum(self.diagonal(x, offset, axis1, axis2), -1, dtype=dtype)

    def _matrix_axes(self, x: Operand, offset: int, axis1: int, axis2: int) -> tuple[Value, int, int, int]:
        value = self.value(self.operand(x))
        first, second = normalize_axis(axis1, value.rank), normalize_axis(axis2, value.rank)
        if first == second:
            raise GraphError(f"diagonal: expected two different axes, got {axis1} and {axis2}")
        return value, offset, first, second

    def norm(
        self,
        x: Operand,
        ord: float | MatrixNorm | str | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
    ) -> Value:
        """
        Return the norm of all elements, of vectors along `axis`, or of matrices in two axes, as `np.linalg.norm`.

        `ord` is 2 by default, and `"fro"` for matrices. For vectors it is any number, including `inf`, `-inf` and 0.
        For matrices it is 1 or `inf` (the largest column or row sum of magnitudes), 2 (the largest singular value),
        their negatives (the smallest), or `"nuc"` (the sum of the singular values). The gradient of a vector norm or of
        `"fro"` is 0 where all elements are 0.
        """
        value = self.value(self.operand(x))
        axes = tuple(range(value.rank)) if axis is None else integers("norm", axis)
        axes = tuple(normalize_axis(one, value.rank) for one in axes)
        if isinstance(ord, str):
            ord = word_of(MatrixNorm, "ord", ord)
        if ord is None or (ord == 2 and len(axes) == 1) or (ord is MatrixNorm.FROBENIUS and len(axes) == 2):
            return self._this.safe_sqrt(self._this.reduce_sum(self._squares(value), axes, keepdims))
        if len(axes) == 2:
            return self._of_matrices(value, ord, (axes[0], axes[1]), keepdims)
        if isinstance(ord, MatrixNorm) or len(axes) != 1:
            raise GraphError(
                f"norm: ord {ord} is only defined for {'matrices' if isinstance(ord, str) else 'vectors or matrices'}"
            )
        return self._of_vectors(self._sizes(value), float(ord), axes[0], keepdims)

    def _of_vectors(self, size: Value, ord: float, axis: int, keepdims: bool) -> Value:
        b = self._this
        if abs(ord) == inf:
            return (b.reduce_max if ord > 0 else b.reduce_min)(size, axis, keepdims)
        if ord in (0, 1):
            return b.reduce_sum(size if ord else b.ne(size, 0).cast(size.dtype), axis, keepdims)
        total = b.reduce_sum(b.pow(size, ord), axis, keepdims)
        if ord < 0:
            return b.pow(total, 1 / ord)
        nothing = b.eq(total, 0)
        return b.where(nothing, 0, b.pow(b.where(nothing, 1, total), 1 / ord))

    def _of_matrices(self, value: Value, ord: float | MatrixNorm, axes: tuple[int, int], keepdims: bool) -> Value:
        b, (rows, columns) = self._this, axes
        if ord in (MatrixNorm.NUCLEAR, 2, -2):
            _, values, _ = b.svd(b.moveaxis(value, axes, (-2, -1)))
            reduce = b.reduce_sum if ord is MatrixNorm.NUCLEAR else b.reduce_max if ord == 2 else b.reduce_min
            found = reduce(values, -1)
            return b.expand_dims(found, axes) if keepdims else found
        if isinstance(ord, MatrixNorm) or abs(ord) not in (1, inf):
            raise GraphError(f"norm: a matrix has the orders 1, 2, inf, their negatives, 'fro' and 'nuc', got {ord}")
        summed, along = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = b.reduce_sum(self._sizes(value), summed, True)
        found = (b.reduce_max if ord > 0 else b.reduce_min)(sums, along, True)
        return found if keepdims else b.squeeze(found, axes)

    def _squares(self, value: Value) -> Value:
        """The squares of absolute values."""
        if element_of(value.ssa) not in COMPLEXES:
            return value * value
        re, im = self._this.real(value), self._this.imag(value)
        return re * re + im * im

    def _sizes(self, value: Value) -> Value:
        """Absolute values."""
        return self._this.safe_sqrt(self._squares(value)) if element_of(value.ssa) in COMPLEXES else abs(value)
