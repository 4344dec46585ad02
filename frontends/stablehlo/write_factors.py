"""Factorisations that StableHLO lacks, as calls of LAPACK, which XLA's runtime on CPUs has."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.mir import factor
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.stablehlo.writer import Writer, row

_LETTER = IntegerType(8, Signedness.UNSIGNED)


def _call(w: Writer, name: str, operand: SSAValue, types: Sequence[Attribute], **options: str) -> list[SSAValue]:
    """A call of a LAPACK function of matrices in column-major order; the last result is its `info` of each matrix."""
    letter = "s" if element_of(operand) == f32 else "d"
    config = {key: IntegerAttr(ord(value), _LETTER) for key, value in options.items()}
    attributes: dict[str, Any] = {
        "call_target_name": StringAttr(f"lapack_{letter}{name}_ffi"),
        "api_version": IntegerAttr(4, i32),
        "backend_config": DictionaryAttr(config),
        "operand_layouts": ArrayAttr([_layout(operand.type, is_matrix=True)]),
        "result_layouts": ArrayAttr([_layout(x, n in _MATRICES[name]) for n, x in enumerate(types)]),
    }
    return w.ops("custom_call", [operand], types, **attributes)


_MATRICES = {"syevd": (0,), "gesdd": (0, 2, 3)}
"""The results that are matrices."""


def _layout(type_: Attribute, is_matrix: bool) -> DenseIntOrFPElementsAttr:
    """Axes from the fastest to the slowest."""
    assert isinstance(type_, TensorType)
    order = list(reversed(range(len(type_.get_shape()))))
    if is_matrix:
        order[:2] = reversed(order[:2])
    return DenseIntOrFPElementsAttr.from_list(TensorType(IndexType(), (len(order),)), order)


def _checked(w: Writer, x: SSAValue, info: SSAValue) -> SSAValue:
    """NaN where LAPACK has failed."""
    done = w.compare("EQ", info, w.like(0, info), "SIGNED")
    which = w.placed(done, shape_of(x), range(len(shape_of(info))))
    return w.op("select", [which, x, w.like(nan, x)], x.type)


def _turned(w: Writer, x: SSAValue) -> SSAValue:
    rank = len(shape_of(x))
    return w.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def _negated(w: Writer, x: SSAValue, where: SSAValue) -> SSAValue:
    """The rows or columns of a matrix negated that are chosen, as `where` broadcasts."""
    which = w.placed(where, shape_of(x), range(len(shape_of(x))))
    return w.op("select", [which, w.op("negate", [x], x.type), x], x.type)


def _is_negative(w: Writer, x: SSAValue, axis: int) -> SSAValue:
    """Whether the first elements along an axis are negative, which is kept."""
    first = w.narrow(x, axis, 0, 1)
    return w.compare("LT", first, w.like(0.0, first), "FLOAT")


@row(factor.EighOp)
def _eigh(op: factor.EighOp, w: Writer) -> Sequence[SSAValue]:
    x = w[op.operand]
    shape = shape_of(x)
    half = w.op("multiply", [w.op("add", [x, _turned(w, x)], x.type), w.like(0.5, x)], x.type)
    types = [x.type, op.values.type, TensorType(i32, shape[:-2])]
    vectors, values, info = _call(w, "syevd", half, types, mode="V", uplo="L")
    vectors, values = (_checked(w, one, info) for one in (vectors, values))
    return [values, _negated(w, vectors, _is_negative(w, vectors, len(shape) - 2))]


@row(factor.SvdOp)
def _svd(op: factor.SvdOp, w: Writer) -> Sequence[SSAValue]:
    x = w[op.operand]
    rank = len(shape_of(x))
    types = [x.type, op.values.type, op.u.type, op.vt.type, TensorType(i32, shape_of(x)[:-2])]
    _, values, u, vt, info = _call(w, "gesdd", x, types, mode="S")
    values, u, vt = (_checked(w, one, info) for one in (values, u, vt))
    negative = _is_negative(w, vt, rank - 1)
    columns = w.reshape(negative, (*shape_of(x)[:-2], 1, shape_of(x)[-1]))
    return [_negated(w, u, columns), values, _negated(w, vt, negative)]
