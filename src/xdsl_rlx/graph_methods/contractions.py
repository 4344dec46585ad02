"""NumPy's products of vectors, matrices and tensors, on contractions. `einsum` is in `einsum.py`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import diagonal
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import dims, integers


def tensordot(m: MirBuilder, a: Operand, b: Operand, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Value:
    """Contract the last `axes` of `a` with the first of `b`, or two lists of axes, as `np.tensordot`."""
    left, right = (m.value(x) for x in m.operands(a, b))
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
    return m.dot_general(left, right, mine, yours)


def dot(m: MirBuilder, a: Operand, b: Operand) -> Value:
    """
    Contract the last axis of `a` with the second to last (or only) axis of `b`, or multiply by a scalar, as `np.dot`.
    """
    left, right = (m.value(x) for x in m.operands(a, b))
    if not left.rank or not right.rank:
        return left * right
    return m.dot_general(left, right, [-1], [max(right.rank - 2, 0)])


def inner(m: MirBuilder, a: Operand, b: Operand) -> Value:
    """Sum over the last axes of both operands, as `np.inner`; with a scalar, multiply."""
    left, right = (m.value(x) for x in m.operands(a, b))
    if not left.rank or not right.rank:
        return left * right
    return m.dot_general(left, right, [-1], [-1])


def vdot(m: MirBuilder, a: Operand, b: Operand) -> Value:
    """Sum `conj(a) b` over all elements of the flattened operands."""
    left, right = (m.ravel(x) for x in m.operands(a, b))
    return inner(m, m.conjugate(left), right)


def outer(m: MirBuilder, a: Operand, b: Operand) -> Value:
    """Return `result[i, j] = a[i] b[j]` for the flattened operands."""
    left, right = (m.ravel(x) for x in m.operands(a, b))
    return m.expand_dims(left, 1) * right


def kron(m: MirBuilder, a: Operand, b: Operand) -> Value:
    """Return the Kronecker product, with one block `a[i] b` for each element of `a`; tensors have any rank."""
    left, right = (m.value(x) for x in m.operands(a, b))
    rank = max(left.rank, right.rank)
    first, second = ((*([1] * (rank - x.rank)), *x.shape) for x in (left, right))
    left = m.reshape(left, [n for extent in first for n in (extent, 1)])
    right = m.reshape(right, [n for extent in second for n in (1, extent)])
    return m.reshape(left * right, [i * j for i, j in zip(first, second, strict=True)])


def trace(m: MirBuilder, x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Value:
    """Sum a diagonal; integers and `dtype` behave as in `reduce_sum`."""
    return m.reduce_sum(diagonal(m, x, offset, axis1, axis2), -1, dtype=dtype)
