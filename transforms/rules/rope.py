"""Rows of rotary embeddings: a rotation is linear in x, and linear in the two tables together."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.fields import settings_of
from xdsl_rlx.dialects.mir.heads import HeadLayout
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.rope import AxialRope2dOp, Pairing, RopeBackwardOp, RopeOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of
from xdsl_rlx.transforms.rules.rows import decompose
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent


class _Pairs:
    """A rotation by primitives, on `[B, S, H, ...]`."""

    def __init__(self, op: RopeOp, b: MirBuilder):
        self.op, self.b, self.heads = op, b, op.heads
        self.count = op.n_rot.value.data // 2

    def split(self, x: Value | SSAValue) -> tuple[Value, Value, Value | None]:
        """The first and the second features of all pairs, and the features that are left."""
        b, h, n = self.b, self.heads, self.count
        value = b.value(b.operand(x))
        if self.op.layout.data == HeadLayout.BHSD:
            value = b.transpose(value, (0, 2, 1, 3))
        value = b.reshape(value, tuple(h))
        rest = b.narrow(value, 3, 2 * n, h.width - 2 * n) if 2 * n < h.width else None
        if self.op.pairing.data == Pairing.HALVES:
            return b.narrow(value, 3, 0, n), b.narrow(value, 3, n, n), rest
        both = b.reshape(b.narrow(value, 3, 0, 2 * n), (*h[:3], n, 2))
        first, second = (b.reshape(b.narrow(both, 4, i, 1), (*h[:3], n)) for i in range(2))
        return first, second, rest

    def join(self, first: Value, second: Value, rest: Value | None) -> Value:
        """The inverse of `split`."""
        b, h, n = self.b, self.heads, self.count
        if self.op.pairing.data == Pairing.HALVES:
            parts = [first, second]
        else:
            both = b.concat([b.reshape(x, (*h[:3], n, 1)) for x in (first, second)], 4)
            parts = [b.reshape(both, (*h[:3], 2 * n))]
        value = b.concat([*parts, *([] if rest is None else [rest])], 3)
        if self.op.layout.data == HeadLayout.BHSD:
            return b.transpose(value, (0, 2, 1, 3))
        return b.reshape(value, shape_of(self.op.x))

    def column(self, table: Value | SSAValue) -> Value:
        """The columns of a table that are read, against `[B, S, H, pairs]`."""
        b, shape = self.b, shape_of(table if isinstance(table, SSAValue) else table.ssa)
        narrow = b.narrow(table, len(shape) - 1, 0, self.count)
        return b.reshape(narrow, (*([1] if len(shape) == 2 else []), *shape[:-1], 1, self.count)[-4:])

    def table(self, column: Value) -> Value:
        """The cotangent of a table from that of its columns, of shape `[B, S, H, pairs]`."""
        b, shape = self.b, shape_of(self.op.cos)
        total = b.reduce_sum(column, [2] if len(shape) == 3 else [0, 2])
        if shape[-1] == self.count:
            return total
        missing = b.full((*shape[:-1], shape[-1] - self.count), 0, element_of(self.op.cos))
        return b.concat([total, missing], len(shape) - 1)


@decompose(RopeOp)
def rope_decompose(op: RopeOp, b: MirBuilder) -> Sequence[Value]:
    pairs = _Pairs(op, b)
    first, second, rest = pairs.split(op.x)
    c, s = pairs.column(op.cos), pairs.column(op.sin)
    return [pairs.join(first * c - second * s, second * c + first * s, rest)]


@VJP.rule(RopeOp)
def rope_vjp(op: RopeOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The transpose of a rotation by an angle is that by its opposite; `dcos = a da + b db`, `dsin = a db - b da`."""

    def of_x() -> Value:
        return b.op(RopeBackwardOp, g.ssa, op.cos, op.sin, **settings_of(op))

    def parts() -> tuple[_Pairs, Value, Value, Value, Value]:
        pairs = _Pairs(op, b)
        return pairs, *pairs.split(op.x)[:2], *pairs.split(g)[:2]

    def of_cos() -> Value:
        pairs, first, second, d_first, d_second = parts()
        return pairs.table(first * d_first + second * d_second)

    def of_sin() -> Value:
        pairs, first, second, d_first, d_second = parts()
        return pairs.table(first * d_second - second * d_first)

    return [of_x, of_cos, of_sin]


@JVP.rule(RopeOp)
def rope_jvp(op: RopeOp, b: MirBuilder, x: Value | None, cos: Value | None, sin: Value | None) -> Sequence[Value]:
    turned = None if x is None else b.op(RopeOp, x.ssa, op.cos, op.sin, **settings_of(op))
    if cos is None and sin is None:
        assert turned is not None
        return [turned]
    pairs = _Pairs(op, b)
    first, second, rest = pairs.split(op.x)
    c, s = (b.zeros_like(op.cos) if table is None else table for table in (cos, sin))
    c, s = pairs.column(c), pairs.column(s)
    still = None if rest is None else b.zeros_like(rest)
    by_tables = pairs.join(first * c - second * s, second * c + first * s, still)
    return [by_tables if turned is None else turned + by_tables]


@decompose(RopeBackwardOp)
def rope_backward_decompose(op: RopeBackwardOp, b: MirBuilder) -> Sequence[Value]:
    return [b.op(RopeOp, op.x, op.cos, b.neg(op.sin).ssa, **settings_of(op))]


@decompose(AxialRope2dOp)
def axial_rope_2d_decompose(op: AxialRope2dOp, b: MirBuilder) -> Sequence[Value]:
    """A rotation of neighbours with the angles as constants."""
    heads = op.heads
    columns, name = op.end_x.value.data, DTYPE_NAMES[element_of(op.x)]
    frequencies = [op.theta.value.data ** (-4.0 * c / heads.width) for c in range(heads.width // 4)]
    places = [token // op.repeats for token in range(heads.length)]
    angles = [at * f for place in places for at in (place % columns, place // columns) for f in frequencies]
    shape = (heads.length, heads.width // 2)
    tables = [b.reshape(b.constant([f(angle) for angle in angles], name), shape) for f in (cos, sin)]
    return [b.rope(op.x, tables[0], tables[1], num_heads=heads.heads, pairing=Pairing.NEIGHBOURS)]
