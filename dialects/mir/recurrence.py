"""Recurrences with specialised ops: selective scans (Mamba) and gated delta nets. Others are a `mir.scan`."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    OptionalResult,
    OptionalTensor,
    Tensor,
    inherited,
    optional_result,
    optional_tensor,
    tensor,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, same_element_type, shape_of


def state_element(element: Attribute) -> Attribute:
    """The element type of a state: f32 for half floats, so that it is not rounded from time to time."""
    return f32 if isinstance(element, Float16Type | BFloat16Type) else element


class RecurrenceOp(MirOp, abc.ABC):
    """
    A state that is changed at each of the S times, and read.

    Batch is the first axis of the operands that have a time, time the second. `states`, if there, are the states
    before each time, `[S, ..]`: what the gradient starts from.
    """

    if TYPE_CHECKING:
        state: OptionalTensor = inherited()
        states: OptionalResult = inherited()
        result: OpResult = inherited()
        final: OpResult = inherited()

    @property
    @abc.abstractmethod
    def over_time(self) -> tuple[SSAValue, ...]:
        """The operands that have an element for each time."""

    @property
    @abc.abstractmethod
    def shared(self) -> tuple[SSAValue, ...]:
        """The operands that are the same at all times and for the whole batch."""

    def remade(self, operands: Sequence[SSAValue], states: bool) -> RecurrenceOp:
        """The recurrence of other operands, with or without its states."""
        make = cast("Callable[..., RecurrenceOp]", type(self))
        return make(*operands, *([None] if self.state is None else []), states)

    @property
    def batch(self) -> int:
        """How many sequences there are."""
        return shape_of(self.over_time[0])[0]

    @property
    def times(self) -> int:
        """How long they are."""
        return shape_of(self.over_time[0])[1]

    @classmethod
    @abc.abstractmethod
    def shapes(cls, *operands: SSAValue) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Those of the result and of the state; VerifyException for operands that do not fit."""

    def infer_types(self) -> list[Attribute]:
        operands = list(self.operands)[: len(self.operands) - (self.state is not None)]
        element = same_element_type(*operands)
        check_element(element, FLOATS)
        shape, of_state = self.shapes(*operands)
        wide = TensorType(state_element(element), of_state)
        if self.state is not None and self.state.type != wide:
            raise VerifyException(f"expected a state of type {wide}, got {self.state.type}")
        stacked = TensorType(state_element(element), (self.times, *of_state))
        return [TensorType(element, shape), wide, *([] if self.states is None else [stacked])]


def _check(name: str, value: SSAValue, expected: Sequence[int]) -> None:
    if shape_of(value) != tuple(expected):
        raise VerifyException(f"expected {name} of shape {dims(expected)}, got {dims(shape_of(value))}")


def _check_rank(name: str, value: SSAValue, axes: str) -> tuple[int, ...]:
    shape = shape_of(value)
    if len(shape) != axes.count(",") + 1:
        raise VerifyException(f"expected {name} of shape {axes}, got {dims(shape)}")
    return shape


class SelectiveScanOp(RecurrenceOp, name="mir.selective_scan"):
    """
    The state-space recurrence of Mamba (Gu and Dao 2023). For each sequence of the batch, at each time t, with the
    state `h[c, i]` of the previous time: `h[c, i] = exp(delta[t, c] a[c, i]) h[c, i] + delta[t, c] b[t, i] x[t, c]`,
    `result[t, c] = sum over i of c[t, i] h[c, i]`.

    `x`, `delta` and the result are `[B, S, H]`, `a` is `[H, n]`, `b` and `c` `[B, S, n]`. `state`, zeros by default,
    and `final`, the state after the last time, are `[B, H, n]`, f32 for half floats. The optional `states` are the
    states before each time, `[S, B, H, n]`.
    """

    x: Tensor = tensor()
    delta: Tensor = tensor()
    a: Tensor = tensor()
    b: Tensor = tensor()
    c: Tensor = tensor()
    state: OptionalTensor = optional_tensor(default=None, keyword="from")
    states: OptionalResult = optional_result(default=False)
    result = result_def(AnyTensorConstr)
    final = result_def(AnyTensorConstr)

    @property
    def over_time(self) -> tuple[SSAValue, ...]:
        return self.x, self.delta, self.b, self.c

    @property
    def shared(self) -> tuple[SSAValue, ...]:
        return (self.a,)

    @classmethod
    def shapes(cls, *operands: SSAValue) -> tuple[tuple[int, ...], tuple[int, ...]]:
        x, delta, a, b, c = operands
        batch, times, channels = _check_rank("x", x, "[B, S, H]")
        _check("delta", delta, (batch, times, channels))
        rows, n = _check_rank("a", a, "[H, n]")
        if rows != channels:
            raise VerifyException(f"expected a of {channels} rows, one for each channel of x, got {dims(shape_of(a))}")
        _check("b", b, (batch, times, n))
        _check("c", c, (batch, times, n))
        return shape_of(x), (batch, channels, n)


class GatedDeltaNetOp(RecurrenceOp, name="mir.gated_delta_net"):
    """
    The gated delta rule (Yang, Kautz and Hatamizadeh 2024). For each sequence of the batch and each head, at each time
    t, with the state `s[i, j]` of the previous time: `s[i, j] = exp(g[t]) s[i, j]`, `d[j] = beta[t] (v[t, j] - sum over
    i of k[t, i] s[i, j])`, `s[i, j] = s[i, j] + k[t, i] d[j]`, `result[t, j] = sum over i of q[t, i] s[i, j] /
    sqrt(n)`.

    `q` and `k` are `[B, S, H, n]`, `v` and the result `[B, S, H, m]`, `g` and `beta` `[B, S, H]`. `state`, zeros by
    default, and `final`, the state after the last time, are `[B, H, n, m]`, f32 for half floats. The optional `states`
    are the states before each time, `[S, B, H, n, m]`. Queries and keys are not normalised; the caller does that.
    """

    q: Tensor = tensor()
    k: Tensor = tensor()
    v: Tensor = tensor()
    g: Tensor = tensor()
    beta: Tensor = tensor()
    state: OptionalTensor = optional_tensor(default=None, keyword="from")
    states: OptionalResult = optional_result(default=False)
    result = result_def(AnyTensorConstr)
    final = result_def(AnyTensorConstr)

    @property
    def over_time(self) -> tuple[SSAValue, ...]:
        return self.q, self.k, self.v, self.g, self.beta

    @property
    def shared(self) -> tuple[SSAValue, ...]:
        return ()

    @classmethod
    def shapes(cls, *operands: SSAValue) -> tuple[tuple[int, ...], tuple[int, ...]]:
        q, k, v, g, beta = operands
        batch, times, heads, n = _check_rank("q", q, "[B, S, H, n]")
        _check("k", k, (batch, times, heads, n))
        *leading, m = _check_rank("v", v, "[B, S, H, m]")
        if tuple(leading) != (batch, times, heads):
            raise VerifyException(f"expected v of shape [{batch}, {times}, {heads}, m], got {dims(shape_of(v))}")
        _check("g", g, (batch, times, heads))
        _check("beta", beta, (batch, times, heads))
        return shape_of(v), (batch, heads, n, m)


class RecurrenceBuilder(BuilderCore):
    """Recurrences with a name."""

    def selective_scan(
        self, x: Operand, delta: Operand, a: Operand, b: Operand, c: Operand, state: Operand | None = None
    ) -> tuple[Value, Value]:
        """`mir.selective_scan` of x, delta [B, S, H], a [H, n], b, c [B, S, n]: result and final state [B, H, n]."""
        return self._recurrence(SelectiveScanOp, self.operands(x, delta, a, b, c), state)

    def gated_delta_net(
        self, q: Operand, k: Operand, v: Operand, g: Operand, beta: Operand, state: Operand | None = None
    ) -> tuple[Value, Value]:
        """`mir.gated_delta_net` of q, k [B, S, H, n], v [B, S, H, m], g, beta [B, S, H]: result and final state."""
        return self._recurrence(GatedDeltaNetOp, self.operands(q, k, v, g, beta), state)

    def _recurrence(
        self, kind: Callable[..., RecurrenceOp], operands: Sequence[SSAValue], state: Operand | None
    ) -> tuple[Value, Value]:
        op = self.emit(kind, *operands, None if state is None else self.operand(state, operands[0]))
        return self.value(op.result), self.value(op.final)
