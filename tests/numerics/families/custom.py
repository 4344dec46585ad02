"""Registered ops: by a definition, by derivatives of their own, and by loops of their own."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import Operand, Sample, apart, integers
from oracle import Array, widen

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.custom import find
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value


@rlx.custom_op("test.huber", replace=True)
def huber(b: MirBuilder, x: Value, delta: float = 1.0) -> Value:
    """`x^2 / 2` up to `delta`, linear beyond."""
    size = b.abs(x)
    return b.where(size <= delta, x * x * 0.5, (size - delta * 0.5) * delta)


@rlx.custom_op("test.polar", replace=True)
def polar(b: MirBuilder, r: Value, phi: Value) -> tuple[Value, Value]:
    """`r cos phi, r sin phi`."""
    return r * b.cos(phi), r * b.sin(phi)


def _scaled_vjp(b: MirBuilder, inputs: Sequence[Value], outputs: Any, gs: Sequence[Value], power: int) -> list[Any]:
    x, _ = inputs
    g = gs[0] * x * 1.0
    for _ in range(power - 2):
        g = g * x
    return [g * float(power), None]


def _scaled_jvp(b: MirBuilder, inputs: Sequence[Value], outputs: Any, ts: Sequence[Value], power: int) -> Value:
    return _scaled_vjp(b, inputs, outputs, ts, power)[0]


@rlx.custom_op(
    "test.power", vjp=_scaled_vjp, jvp=_scaled_jvp, inert={1: "a label that does not matter"}, version="1", replace=True
)
def power(b: MirBuilder, x: Value, label: Value, power: int) -> Value:
    """`x^power`, with derivatives of its own."""
    y = x
    for _ in range(power - 1):
        y = y * x
    return y


def _running_vmap(b: MirBuilder, size: int, batched: Sequence[bool], inputs: Sequence[Value], backwards: bool) -> Value:
    (x,) = inputs
    flat = b.reshape(x, (size * x.shape[1], x.shape[2]))
    return b.reshape(running(flat, backwards=backwards), x.shape)


@rlx.custom_op(
    "test.running_sum",
    kernel="nest",
    shape=lambda x, backwards: x,
    iterations=lambda x, backwards: x.shape[0],
    vjp=lambda b, inputs, outputs, gs, backwards: [running(gs[0], backwards=not backwards)],
    jvp=lambda b, inputs, outputs, ts, backwards: running(ts[0], backwards=backwards),
    vmap=_running_vmap,
    replace=True,
)
def running(it: Any, x: Any, y: Any, backwards: bool) -> None:
    """The sums of the first (or last) elements of each row of a matrix."""
    columns = range(x.shape[1])
    total = 0.0
    for j in reversed(columns) if backwards else columns:
        total += x[it.index, j]
        y[it.index, j] = total


def _samples() -> list[Sample]:
    by_definition, several, own, nest = (find(f"test.{name}") for name in ("huber", "polar", "power", "running_sum"))
    assert by_definition and several and own and nest
    rows = [
        Sample(
            "custom-definition",
            by_definition,
            lambda m, x: m.custom("test.huber", x, delta=0.55),
            (Operand((3, 4), apart()),),
            differentiable=(0,),
        ),
        Sample(
            "custom-several",
            several,
            lambda m, r, phi: m.custom("test.polar", r, phi),
            (Operand((3, 4)), Operand((3, 4))),
            differentiable=(0, 1),
            tol=32,
        ),
        Sample(
            "custom-rules",
            own,
            lambda m, x, i: m.custom("test.power", x, i, power=3),
            (Operand((5,)), Operand((5,), integers(0, 5), "i32")),
            differentiable=(0,),
            tol=32,
        ),
    ]
    for suffix, shape, backwards in (("", (3, 5), False), ("-backwards", (4, 7), True), ("-none", (2, 0), False)):
        build = lambda m, x, flag=backwards: m.custom("test.running_sum", x, backwards=flag)  # noqa: E731
        rows.append(Sample(f"custom-nest{suffix}", nest, build, (Operand(shape),), differentiable=(0,), tol=32))
    return rows


def _huber(np_: Any, op: Any, x: Any) -> Any:
    delta = op.option_values["delta"]
    size = np_.abs(x)
    return np_.where(size <= delta, x * x * 0.5, (size - delta * 0.5) * delta)


def _running(np_: Any, op: Any, x: Any) -> Any:
    if op.option_values["backwards"]:
        return np_.cumsum(x[:, ::-1], axis=1)[:, ::-1]
    return np_.cumsum(x, axis=1)


def _oracle_polar(op: Any, r: Array, phi: Array) -> tuple[Array, Array]:
    return widen(r) * np.cos(widen(phi)), widen(r) * np.sin(widen(phi))


SAMPLES = tuple(_samples())
_HUBER, _POLAR, _POWER, *_, _RUNNING = (sample.op for sample in SAMPLES)
ORACLE = {
    _HUBER: lambda op, x: _huber(np, op, widen(x)),
    _POLAR: _oracle_polar,
    _POWER: lambda op, x, i: widen(x) ** op.option_values["power"],
    _RUNNING: lambda op, x: _running(np, op, widen(x)),
}
JAX = {
    _HUBER: lambda op, x: _huber(jnp, op, x),
    _POLAR: lambda op, r, phi: (r * jnp.cos(phi), r * jnp.sin(phi)),
    _POWER: lambda op, x, i: x ** op.option_values["power"],
    _RUNNING: lambda op, x: _running(jnp, op, x),
}
