"""Rows of selective scans and gated delta nets: their definitions as scans, and their reverse recurrences."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TypeAlias

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.recurrence import GatedDeltaNetOp, RecurrenceOp, SelectiveScanOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rows import decompose, fold, lift, unfold
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, VJP, VMAP, Cotangent

Elements: TypeAlias = tuple[Value, ...]


def _time_first(b: MirBuilder, x: SSAValue | Value, *extents: int) -> Value:
    """`[B, S, ..]` as `[S, B, *extents]`: what an element of the leading axis is needs no reshape in a body."""
    value = x if isinstance(x, Value) else b.value(x)
    turned = b.transpose(value, (1, 0, *range(2, value.rank)))
    return b.reshape(turned, (*turned.shape[:2], *extents))


def _batch_first(b: MirBuilder, y: Value, like: SSAValue) -> Value:
    """The inverse of `_time_first`."""
    batch, times, *rest = shape_of(like)
    return b.transpose(b.reshape(y, (times, batch, *rest)), (1, 0, *range(2, len(rest) + 2)))


def _start(op: RecurrenceOp, b: MirBuilder) -> Value:
    return b.zeros_like(op.final) if op.state is None else b.value(op.state)


def _results(op: RecurrenceOp, b: MirBuilder, final: Value, ys: Elements) -> list[Value]:
    """The results of `op`, of which the scan stacked the first, and the states if there are to be some."""
    return [_batch_first(b, ys[0], op.result), final, *ys[1:]]


def with_states(op: RecurrenceOp, b: MirBuilder) -> RecurrenceOp:
    """The same op that gives its states too."""
    return b.builder.insert(op.remade(op.operands, True))


def _states(op: RecurrenceOp, b: MirBuilder) -> Value:
    """The states before each time, computed again where the program does not have them."""
    states = op.states if op.states is not None else with_states(op, b).states
    assert states is not None
    return b.value(states)


def _arrived(op: RecurrenceOp, b: MirBuilder, dy: Value | None, dfinal: Value | None) -> tuple[Value, Value]:
    """The cotangents of result and final state, zeros where none arrives."""
    result = b.zeros_like(op.result) if dy is None else dy
    return result, b.zeros_like(op.final) if dfinal is None else dfinal


def _selective_elements(op: SelectiveScanOp, b: MirBuilder) -> list[Value]:
    """x, delta `[S, B, H, 1]`, b and c `[S, B, 1, n]`."""
    channels, n = shape_of(op.a)
    columns = [_time_first(b, x, channels, 1) for x in (op.x, op.delta)]
    return [*columns, *(_time_first(b, x, 1, n) for x in (op.b, op.c))]


@decompose(SelectiveScanOp)
def selective_scan_decompose(op: SelectiveScanOp, b: MirBuilder) -> Sequence[Value]:
    """One scan; channels and places of the state are broadcast over in its body."""
    a = b.value(op.a)

    def body(h: Value, element: Elements) -> tuple[Value, Elements]:
        x, delta, bt, ct = element
        after = b.exp(delta * a) * h + delta * x * bt
        y = b.reduce_sum(after * ct, axes=[-1])
        return after, (y, h) if op.states is not None else (y,)

    final, ys = b.scan(body, _start(op, b), tuple(_selective_elements(op, b)))
    return _results(op, b, final, ys)


@VJP.rule(SelectiveScanOp)
def selective_scan_vjp(
    op: SelectiveScanOp, b: MirBuilder, dy: Value | None, dfinal: Value | None, dstates: Value | None = None
) -> Sequence[Cotangent]:
    """
    The recurrence of `lam`, the cotangent of the state behind a time, from the last time to the first.

    `lam += c dy`, `dc = sum over channels of dy h`, `db = sum over channels of lam delta x`, `dx = delta sum lam b`,
    `ddelta = sum over i of lam (a kept + b x)` and `da += lam delta kept`, where `kept = exp(delta a) h` is what is
    left of the state before; the cotangent of that state is `exp(delta a) lam`. The exponentials are computed again: to
    write and read them would take longer. `da` is added up for each sequence, so that no time mixes sequences.
    """
    a, (dy, dfinal) = b.value(op.a), _arrived(op, b, dy, dfinal)
    xs = [*_selective_elements(op, b), _time_first(b, dy, *shape_of(op.x)[2:], 1), _states(op, b)]

    def body(carry: Elements, element: Elements) -> tuple[Elements, Elements]:
        (lam, da), (x, delta, bt, ct, g, before, *more) = carry, element
        decay = b.exp(delta * a)
        kept, taken = decay * before, delta * x
        lam = lam + ct * g
        through = lam * kept
        summed = b.reduce_sum(lam * bt, axes=[-1], keep_dim=True)
        ddelta = b.reduce_sum(through * a, axes=[-1], keep_dim=True) + summed * x
        db = b.reduce_sum(lam * taken, axes=[1], keep_dim=True)
        dc = b.reduce_sum((kept + taken * bt) * g, axes=[1], keep_dim=True)
        left = decay * lam
        return (more[0] + left if more else left, da + delta * through), (delta * summed, ddelta, db, dc)

    init = dfinal, b.zeros_like(op.final)
    (dstate, da), ys = b.scan(body, init, tuple(xs if dstates is None else [*xs, dstates]), reverse=True)
    dx, ddelta, db, dc = (_batch_first(b, y, x) for y, x in zip(ys, op.over_time, strict=True))
    return [dx, ddelta, b.reduce_sum(da, axes=[0]), db, dc, *([] if op.state is None else [dstate])]


def _delta_elements(op: GatedDeltaNetOp, b: MirBuilder) -> list[Value]:
    """q, k `[S, B, H, n, 1]`, v `[S, B, H, 1, m]`, g and beta `[S, B, H, 1, 1]`."""
    *_, heads, n, m = shape_of(op.final)
    rows = [_time_first(b, x, heads, n, 1) for x in (op.q, op.k)]
    return [*rows, _time_first(b, op.v, heads, 1, m), *(_time_first(b, x, heads, 1, 1) for x in (op.g, op.beta))]


def _read(b: MirBuilder, column: Value, s: Value, products: bool) -> Value:
    """The sums over i of `column[i] s[i, j]`, `[B, H, 1, m]`."""
    if not products:
        return b.reduce_sum(column * s, axes=[2], keep_dim=True)
    *leading, n, one = column.shape
    return b.matmul(b.reshape(column, (*leading, one, n)), s)


def _delta_scan(op: GatedDeltaNetOp, b: MirBuilder, products: bool = False) -> list[Value]:
    """One scan; the state is read by sums, which go along with what else its elements need, or by matrix products."""
    *_, n, _m = shape_of(op.final)

    def body(s: Value, element: Elements) -> tuple[Value, Elements]:
        q, k, v, g, beta = element
        kept = b.exp(g) * s
        d = (v - _read(b, k, kept, products)) * beta
        after = kept + k * d
        y = _read(b, q, after, products)
        return after, (y, s) if op.states is not None else (y,)

    final, ys = b.scan(body, _start(op, b), tuple(_delta_elements(op, b)))
    return _results(op, b, final, (ys[0] * _scale(n), *ys[1:]))


def _scale(n: int) -> float:
    return 1 / sqrt(n) if n else 1.0


@decompose(GatedDeltaNetOp)
def gated_delta_net_decompose(op: GatedDeltaNetOp, b: MirBuilder) -> Sequence[Value]:
    return _delta_scan(op, b)


@VJP.rule(GatedDeltaNetOp)
def gated_delta_net_vjp(
    op: GatedDeltaNetOp, b: MirBuilder, dy: Value | None, dfinal: Value | None, dstates: Value | None = None
) -> Sequence[Cotangent]:
    """
    The recurrence of `lam`, the cotangent of the state behind a time, from the last time to the first.

    With `kept = exp(g) s`, `e = v - k kept`, `d = beta e` and `dy` over `sqrt(n)`: `lam += q dy`,
    `dq = (kept + k d) dy`, `dd = k lam`, `dv = beta dd`, `dbeta = dd e`, `dk = lam d - kept dv`; the cotangent of
    `kept` is `lam - k dv`, that of g the sum of its product with `kept`.
    """
    dy, dfinal = _arrived(op, b, dy, dfinal)
    *_, heads, n, m = shape_of(op.final)
    scaled = _time_first(b, dy * _scale(n), heads, 1, m)
    xs = [*_delta_elements(op, b), scaled, _states(op, b)]

    def body(lam: Value, element: Elements) -> tuple[Value, Elements]:
        q, k, v, g, beta, dy, before, *more = element
        decay = b.exp(g)
        kept = decay * before
        e = v - _read(b, k, kept, False)
        d = e * beta
        lam = lam + q * dy
        dq = b.reduce_sum((kept + k * d) * dy, axes=[3], keep_dim=True)
        dd = _read(b, k, lam, False)
        dv = beta * dd
        dk = b.reduce_sum(lam * d - kept * dv, axes=[3], keep_dim=True)
        through = lam - k * dv
        dg = b.reduce_sum(through * kept, axes=[2, 3], keep_dim=True)
        dbeta = b.reduce_sum(dd * e, axes=[3], keep_dim=True)
        left = decay * through
        return more[0] + left if more else left, (dq, dk, dv, dg, dbeta)

    dstate, ys = b.scan(body, dfinal, tuple(xs if dstates is None else [*xs, dstates]), reverse=True)
    found = [_batch_first(b, y, x) for y, x in zip(ys, op.over_time, strict=True)]
    return found if op.state is None else [*found, dstate]


def by_products(op: RecurrenceOp, b: MirBuilder) -> Sequence[Value]:
    """The definition whose body has matrix products where there are some: what is written out time by time."""
    return _delta_scan(op, b, products=True) if isinstance(op, GatedDeltaNetOp) else DECOMPOSE.lookup(op)(op, b)


def _recurrence_vmap(
    op: RecurrenceOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value] | None:
    """A batch of batches is a batch; where what all sequences share is batched, the definition is."""
    if any(has and old in op.shared for old, has in zip(op.operands, batched, strict=True)):
        return None
    folded = [
        x.ssa if old in op.shared else fold(b, x if has else lift(b, x, size)).ssa
        for old, x, has in zip(op.operands, operands, batched, strict=True)
    ]
    made = b.builder.insert(op.remade(folded, op.states is not None))
    result, final, *states = (b.value(y) for y in made.results)
    found = [unfold(b, y, size, op.batch) for y in (result, final)]
    return [*found, *(unfold(b, y, size, op.batch, 1) for y in states)]


VMAP.add(SelectiveScanOp, _recurrence_vmap)
VMAP.add(GatedDeltaNetOp, _recurrence_vmap)
