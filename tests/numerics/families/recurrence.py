"""Selective scans and gated delta nets: without and with an initial state, and with the states of each time."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Build, Operand, Sample, method, normal, uniform
from oracle import widen

from xdsl_rlx.dialects.mir import recurrence as mir
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value


def _with_states(kind: type[mir.RecurrenceOp]) -> Build:
    """The op that gives the states before each time too; its last operand is the initial state."""

    def build(m: MirBuilder, *xs: Value) -> tuple[Value, ...]:
        op = m.builder.insert(kind(*(x.ssa for x in xs), True))
        return tuple(m.value(y) for y in op.results)

    return build


def _selective(batch: int, times: int, channels: int, n: int) -> tuple[Operand, ...]:
    x, row = Operand((batch, times, channels)), Operand((batch, times, n))
    delta = Operand((batch, times, channels), uniform(0.1, 1.0))
    return x, delta, Operand((channels, n), uniform(-1.5, -0.1)), row, row


def _delta(batch: int, times: int, heads: int, n: int, m: int) -> tuple[Operand, ...]:
    row = Operand((batch, times, heads, n), normal(0.6))
    g, beta = (Operand((batch, times, heads), uniform(*ends)) for ends in ((-1.0, -0.1), (0.1, 0.9)))
    return row, row, Operand((batch, times, heads, m)), g, beta


def _of(kind: Any, name: str, given: tuple[Operand, ...], state: tuple[int, ...], suffix: str) -> list[Sample]:
    """One size: from nothing, from a state, and from a state with all states."""
    every, start = tuple(range(5)), Operand(state)
    return [
        Sample(f"{name}{suffix}", kind, method(name), given, differentiable=every, tol=64),
        Sample(f"{name}-from{suffix}", kind, method(name), (*given, start), differentiable=(*every, 5), tol=64),
        Sample(f"{name}-states{suffix}", kind, _with_states(kind), (*given, start), differentiable=(*every, 5), tol=64),
    ]


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, batch, times, channels, n in (
        ("", 2, 5, 3, 4),
        ("-seven", 3, 7, 5, 1),
        ("-two", 1, 2, 1, 3),
        ("-one", 2, 1, 3, 2),
        ("-none", 2, 0, 3, 4),
        ("-no-sequences", 0, 3, 2, 2),
        ("-no-places", 2, 3, 2, 0),
    ):
        given, state = _selective(batch, times, channels, n), (batch, channels, n)
        rows += _of(mir.SelectiveScanOp, "selective_scan", given, state, suffix)
    for suffix, batch, times, heads, n, m in (
        ("", 2, 5, 2, 3, 3),
        ("-seven", 1, 7, 3, 5, 2),
        ("-two", 3, 2, 1, 1, 4),
        ("-one", 2, 1, 2, 3, 3),
        ("-none", 2, 0, 2, 3, 3),
        ("-no-heads", 2, 3, 0, 2, 2),
        ("-no-keys", 1, 3, 2, 0, 2),
    ):
        given, state = _delta(batch, times, heads, n, m), (batch, heads, n, m)
        rows += _of(mir.GatedDeltaNetOp, "gated_delta_net", given, state, suffix)
    for kind, name, given, shape in (
        (mir.SelectiveScanOp, "selective_scan", _selective(2, 5, 3, 4), (2, 3, 4)),
        (mir.GatedDeltaNetOp, "gated_delta_net", _delta(2, 5, 2, 3, 3), (2, 2, 3, 3)),
    ):
        both = (*given, Operand(shape, dtype="f32"))
        rows.append(Sample(f"{name}-narrow", kind, method(name), both, NARROW, differentiable=tuple(range(6)), tol=16))
    return rows


def _stacked(np_: Any, ys: list[Any], like: tuple[int, ...], axis: int, dtype: Any) -> Any:
    return np_.stack(ys, axis=axis) if ys else np_.zeros(like, dtype)


def _selective_scan(np_: Any, op: Any, x: Any, delta: Any, a: Any, b: Any, c: Any, *start: Any) -> Any:
    (batch, times, channels), n = x.shape, a.shape[1]
    h = start[0] if start else np_.zeros((batch, channels, n), x.dtype)
    ys: list[Any] = []
    before: list[Any] = []
    for t in range(times):
        before.append(h)
        taken = np_.einsum("bc,bi->bci", delta[:, t] * x[:, t], b[:, t])
        h = np_.exp(np_.einsum("bc,ci->bci", delta[:, t], a)) * h + taken
        ys.append(np_.einsum("bi,bci->bc", c[:, t], h))
    found = _stacked(np_, ys, x.shape, 1, x.dtype), h
    return found if op.states is None else (*found, _stacked(np_, before, (0, *h.shape), 0, h.dtype))


def _gated_delta_net(np_: Any, op: Any, q: Any, k: Any, v: Any, g: Any, beta: Any, *start: Any) -> Any:
    batch, times, heads, n = q.shape
    s = start[0] if start else np_.zeros((batch, heads, n, v.shape[3]), q.dtype)
    ys: list[Any] = []
    before: list[Any] = []
    for t in range(times):
        before.append(s)
        s = np_.exp(g[:, t])[..., None, None] * s
        d = (v[:, t] - np_.einsum("bhi,bhij->bhj", k[:, t], s)) * beta[:, t][..., None]
        s = s + np_.einsum("bhi,bhj->bhij", k[:, t], d)
        ys.append(np_.einsum("bhi,bhij->bhj", q[:, t], s) / max(n, 1) ** 0.5)
    found = _stacked(np_, ys, v.shape, 1, v.dtype), s
    return found if op.states is None else (*found, _stacked(np_, before, (0, *s.shape), 0, s.dtype))


def _wide(row: Any) -> Any:
    return lambda op, *xs: row(np, op, *(widen(x) for x in xs))


def _jax(row: Any) -> Any:
    return lambda op, *xs: row(jnp, op, *xs)


_ROWS = {mir.SelectiveScanOp: _selective_scan, mir.GatedDeltaNetOp: _gated_delta_net}

SAMPLES = tuple(_samples())
ORACLE = {op: _wide(row) for op, row in _ROWS.items()}
JAX = {op: _jax(row) for op, row in _ROWS.items()}
