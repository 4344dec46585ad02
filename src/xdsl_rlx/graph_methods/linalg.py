"""Norms, and solves by a factor that is known."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.fields import word_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, integers, normalize_axis
from xdsl_rlx.graph_methods.elements import safe_sqrt


class MatrixNorm(StrEnum):
    """A norm of matrices that has a name."""

    FROBENIUS = "fro"
    NUCLEAR = "nuc"


def norm(
    m: MirBuilder,
    x: Operand,
    ord: float | MatrixNorm | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Value:
    """
    Return the norm of all elements, of vectors along `axis`, or of matrices in two axes, as `np.linalg.norm`.

    `ord` is 2 by default, and `"fro"` for matrices. For vectors it is any number, including `inf`, `-inf` and 0. For
    matrices it is 1 or `inf` (the largest column or row sum of magnitudes), 2 (the largest singular value), their
    negatives (the smallest), or `"nuc"` (the sum of the singular values). The gradient of a vector norm or of `"fro"`
    is 0 where all elements are 0.
    """
    value = m.value(m.operand(x))
    axes = tuple(range(value.rank)) if axis is None else integers("norm", axis)
    axes = tuple(normalize_axis(one, value.rank) for one in axes)
    if isinstance(ord, str):
        ord = word_of(MatrixNorm, "ord", ord)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord is MatrixNorm.FROBENIUS and len(axes) == 2):
        return safe_sqrt(m, m.reduce_sum(_squares(value), axes, keepdims))
    if len(axes) == 2:
        return _of_matrices(value, ord, (axes[0], axes[1]), keepdims)
    if isinstance(ord, MatrixNorm) or len(axes) != 1:
        raise GraphError(
            f"norm: ord {ord} is only defined for {'matrices' if isinstance(ord, str) else 'vectors or matrices'}"
        )
    return _of_vectors(_sizes(value), float(ord), axes[0], keepdims)


def _of_vectors(size: Value, ord: float, axis: int, keepdims: bool) -> Value:
    m = size.b
    if abs(ord) == inf:
        return (m.reduce_max if ord > 0 else m.reduce_min)(size, axis, keepdims)
    if ord in (0, 1):
        return m.reduce_sum(size if ord else m.ne(size, 0).cast(size.dtype), axis, keepdims)
    total = m.reduce_sum(m.pow(size, ord), axis, keepdims)
    if ord < 0:
        return m.pow(total, 1 / ord)
    nothing = m.eq(total, 0)
    return m.where(nothing, 0, m.pow(m.where(nothing, 1, total), 1 / ord))


def _of_matrices(value: Value, ord: float | MatrixNorm, axes: tuple[int, int], keepdims: bool) -> Value:
    m, (rows, columns) = value.b, axes
    if ord in (MatrixNorm.NUCLEAR, 2, -2):
        _, values, _ = m.svd(m.moveaxis(value, axes, (-2, -1)))
        reduce = m.reduce_sum if ord is MatrixNorm.NUCLEAR else m.reduce_max if ord == 2 else m.reduce_min
        found = reduce(values, -1)
        return m.expand_dims(found, axes) if keepdims else found
    if isinstance(ord, MatrixNorm) or abs(ord) not in (1, inf):
        raise GraphError(f"norm: a matrix has the orders 1, 2, inf, their negatives, 'fro' and 'nuc', got {ord}")
    summed, along = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = m.reduce_sum(_sizes(value), summed, True)
    found = (m.reduce_max if ord > 0 else m.reduce_min)(sums, along, True)
    return found if keepdims else m.squeeze(found, axes)


def _squares(value: Value) -> Value:
    """The squares of absolute values."""
    if element_of(value.ssa) not in COMPLEXES:
        return value * value
    re, im = value.b.real(value), value.b.imag(value)
    return re * re + im * im


def _sizes(value: Value) -> Value:
    """Absolute values."""
    return safe_sqrt(value.b, _squares(value)) if element_of(value.ssa) in COMPLEXES else abs(value)


def cho_solve(m: MirBuilder, factor: Operand, b: Operand, lower: bool = True) -> Value:
    """
    Return `a^-1 b` for a positive definite `a` from its Cholesky factor `L L^T = a`, or `U^T U = a` if not `lower`.

    `factor` is [..., n, n], as `rlx.cholesky` returns it, `b` and the result [..., n] or [..., n, k]. Elements of the
    other triangle are ignored.
    """
    y = m.triangular_solve(factor, b, lower=lower, transpose=not lower)
    return m.triangular_solve(factor, y, lower=lower, transpose=lower)
