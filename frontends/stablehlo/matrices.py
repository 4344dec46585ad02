"""Rows of factorisations of matrices, of StableHLO's own and of calls of LAPACK."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.elementwise import AddOp, MulOp
from xdsl_rlx.dialects.mir.shape import ConcatOp, NarrowOp, TransposeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.frontends.shared.factors import (
    lu_factors,
    orthogonal_factors,
    packed_reflections,
    product_of_reflections,
    singular_factors,
    symmetric,
    transposed,
)
from xdsl_rlx.frontends.shared.values import cast, dtype_of, full, traced
from xdsl_rlx.frontends.stablehlo.custom_calls import TARGETS
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.op_functions import function
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.tree_control import scan


def _option(c: Call, name: str, otherwise: str) -> str:
    """A letter of LAPACK's among the options of a call."""
    options = c.get("mhlo.backend_config") or c.get("backend_config") or {}
    return chr(int(options[name])).upper() if name in options else otherwise


def _info(of: Any) -> Any:
    """LAPACK's `info` of each matrix: 0 where all numbers of a result are finite, else 1."""
    finite = np.all(np.isfinite(of), axis=(-2, -1))
    return cast(np.invert(finite), "i32")


def _done(a: Any) -> Any:
    """`info` of factors that are NaN themselves where there are none."""
    return np.zeros(a.shape[:-2], np.int32)


def _cholesky_factor(a: Any, lower: bool) -> Any:
    """The factor of the symmetric matrix that has this triangle; its gradient is of the whole matrix, as in JAX."""
    a = traced(a)
    if (halves := _mean_of_triangles(a.ssa)) is not None:
        # mir.cholesky takes this mean itself
        return np.linalg.cholesky(a.b.value(halves)) if lower else transposed(np.linalg.cholesky(a.b.value(halves)))
    found = np.linalg.cholesky(function("straight_through")(symmetric(a, not lower), a))
    return found if lower else transposed(found)


def _mean_of_triangles(x: SSAValue) -> SSAValue | None:
    """The matrix `a`, if a value is `0.5 (a + a^T)`."""
    if not isinstance(x.owner, MulOp):
        return None
    for total, factor in (x.owner.operands, x.owner.operands[::-1]):
        if splat(factor) == 0.5 and isinstance(total.owner, AddOp):
            a, other = total.owner.operands
            rank = len(shape_of(a))
            turn = (*range(rank - 2), rank - 1, rank - 2)
            if isinstance(other.owner, TransposeOp) and other.owner.operand is a and other.owner.perm_list == turn:
                return a
    return None


@ROWS.add("cholesky")
def _cholesky(c: Call, a: Any) -> Any:
    return _cholesky_factor(a, bool(c.get("lower", False)))


def solved(a: Any, b: Any, left: bool, lower: bool, transpose: bool, unit: bool) -> Any:
    """`x` with `a x = b`, or with `x a = b` where `a` is not on the left; `transpose` is of `a`."""
    a, b = traced(a), traced(b)
    # x a = b is a^T x^T = b^T
    found = function("triangular_solve")(a, b if left else transposed(b), lower, transpose is left, unit)
    return found if left else transposed(found)


@ROWS.add("triangular_solve")
def _triangular_solve(c: Call, a: Any, b: Any) -> Any:
    transpose = str(c.get("transpose_a", "NO_TRANSPOSE")) != "NO_TRANSPOSE"
    left, lower, unit = (bool(c.get(name, False)) for name in ("left_side", "lower", "unit_diagonal"))
    return solved(a, b, left, lower, transpose, unit)


@TARGETS.add("trsm")
def _trsm(c: Call, a: Any, b: Any) -> Any:
    left, lower = _option(c, "side", "L") == "L", _option(c, "uplo", "L") == "L"
    return solved(a, b, left, lower, _option(c, "trans_x", "N") != "N", _option(c, "diag", "N") == "U")


@TARGETS.add("potrf")
def _potrf(c: Call, a: Any) -> Any:
    found = _cholesky_factor(a, _option(c, "uplo", "L") == "L")
    return [found, _info(found)]


@TARGETS.add("getrf")
def _getrf(c: Call, a: Any) -> Any:
    packed, pivots = lu_factors(traced(a))
    return [packed, pivots, np.where(_info(packed) > 0, np.int32(-1), np.int32(0))]


@TARGETS.add("geqrf")
def _geqrf(c: Call, a: Any) -> Any:
    a = traced(a)
    packed, taus = packed_reflections(a)
    c.walk.notes[packed.ssa] = a
    return [packed, taus]


@TARGETS.add("orgqr")
def _orgqr(c: Call, a: Any, taus: Any) -> Any:
    """The orthogonal factor, by that of the matrix whose reflections these are, if it is known: it has a gradient."""
    packed = traced(a)
    matrix = c.walk.notes.get(_whole(packed.ssa))
    if matrix is None:
        return product_of_reflections(packed, traced(taus))
    count = packed.shape[-1]
    return orthogonal_factors(matrix, count > min(matrix.shape[-2:]))[0][..., :count]


def _whole(x: SSAValue) -> SSAValue:
    """The matrix of which a value is the first columns, or which it has in front of zeros."""
    while isinstance(x.owner, NarrowOp | ConcatOp) and (
        not isinstance(x.owner, NarrowOp) or not x.owner.start.value.data
    ):
        x = x.owner.operands[0]
    return x


@TARGETS.add("gesdd", "gesvd")
def _gesdd(c: Call, a: Any) -> Any:
    a = traced(a)
    u, values, vt = singular_factors(a, _option(c, "mode", "S") == "A")
    return [a, values, u, vt, _done(a)]


@TARGETS.add("syevd")
def _syevd(c: Call, a: Any) -> Any:
    a = traced(a)
    halves = _mean_of_triangles(a.ssa)
    # mir.eigh takes this mean itself
    whole = symmetric(a, _option(c, "uplo", "L") == "U") if halves is None else a.b.value(halves)
    values, vectors = np.linalg.eigh(whole)
    return [vectors, values, _done(a)]


@TARGETS.add("gtsv")
def _gtsv(c: Call, below: Any, diagonal: Any, above: Any, b: Any) -> Any:
    """Elimination without interchanges, forwards, and substitution backwards (Thomas)."""
    lines: list[Any] = [traced(one) for one in (below, diagonal, above, b)]
    rows: Any = [np.moveaxis(one, -1, 0) for one in lines[:3]]
    right: Any = np.moveaxis(lines[3], -2, 0)
    dtype = dtype_of(right)
    info = full(right.shape[1:-1], 0, "i32")
    # the diagonals beside the main one have an element less than that
    missing = rows[1].shape[0] - rows[0].shape[0]
    none = full((missing, *rows[0].shape[1:]), 0, dtype)
    low = np.concatenate([none, rows[0]], 0) if missing else rows[0]
    high = np.concatenate([rows[2], none], 0) if missing else rows[2]
    start = full(right.shape[1:-1], 0, dtype)

    def forwards(carry: Any, row: Any) -> Any:
        ratio, before = carry
        lower, middle, upper, rest = row
        pivot = middle - lower * ratio
        ratio = upper / pivot
        found = (rest - np.expand_dims(lower, -1) * before) / np.expand_dims(pivot, -1)
        return (ratio, found), (ratio, found)

    zeros = full(right.shape[1:], 0, dtype)
    _, (ratios, reduced) = scan(forwards, (start, zeros), (low, rows[1], high, right))

    def backwards(after: Any, row: Any) -> Any:
        ratio, rest = row
        found = rest - np.expand_dims(ratio, -1) * after
        return found, found

    found = scan(backwards, zeros, (ratios, reduced), reverse=True)[1]
    return [below, diagonal, above, np.moveaxis(found, 0, -2), info]
