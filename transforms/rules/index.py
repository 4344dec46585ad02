"""Rows of ops that read and write by indices held in tensors: gather and scatter_add are each other's transposes."""

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.index import GatherOp, ScatterAddOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of
from xdsl_rlx.transforms.rules.lowering import NORMALIZE
from xdsl_rlx.transforms.rules.table import INERT, JVP, VJP, Cotangent

_ENCODED = "indices are integers, whatever type encodes them"

INERT.add(GatherOp, "indices", _ENCODED)
INERT.add(ScatterAddOp, "indices", _ENCODED)


@VJP.rule(GatherOp)
def gather_vjp(op: GatherOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [lambda: b.scatter_add(g, op.indices, op.extents.extent, op.axis_index, op.batch_dims.value.data), None]


@JVP.rule(GatherOp)
def gather_jvp(op: GatherOp, b: MirBuilder, table: Value | None, indices: None) -> Sequence[Value | None]:
    assert table is not None
    return [b.gather(table, op.indices, op.axis_index, op.batch_dims.value.data)]


@VJP.rule(ScatterAddOp)
def scatter_add_vjp(op: ScatterAddOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [lambda: b.gather(g, op.indices, op.axis_index, op.batch_dims.value.data), None]


@JVP.rule(ScatterAddOp)
def scatter_add_jvp(op: ScatterAddOp, b: MirBuilder, updates: Value | None, indices: None) -> Sequence[Value | None]:
    assert updates is not None
    return [b.scatter_add(updates, op.indices, op.extents.extent, op.axis_index, op.batch_dims.value.data)]


def _wide_sums(op: Operation, b: MirBuilder) -> Sequence[Value] | None:
    """Half floats are summed in f32."""
    assert isinstance(op, ScatterAddOp)
    element = element_of(op.result)
    if not isinstance(element, Float16Type | BFloat16Type):
        return None
    updates = b.cast(op.updates, "f32")
    total = b.scatter_add(updates, op.indices, op.extents.extent, op.axis_index, op.batch_dims.value.data)
    return [b.cast(total, DTYPE_NAMES[element])]


NORMALIZE.add(ScatterAddOp, _wide_sums)
