"""Rows of recurrent layers: each layer and direction is a scan, after one product by the inputs of all times."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import numpy_dtype
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import scan
from xdsl_rlx.tree_functions import vjp

Layer = Callable[[Any, Sequence[Any], Sequence[Any]], tuple[Any, Sequence[Any]]]
"""Of inputs `[B, T, F]`, states before the first time and weights: outputs `[B, T, H]` and the last states."""


def _gru(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    outputs, h = function("gru")(x, weights[0].T, weights[1].T, **_biases(weights), h0=states[0])
    return outputs, [h]


def _biases(weights: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(("b_ih", "b_hh"), weights[2:4], strict=False))


def _lstm(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    w_ih, w_hh, *rest = weights
    h, c = states
    if len(rest) % 2 == 0:
        outputs, h, c = function("lstm")(x, w_ih.T, w_hh.T, **_biases(weights), h0=h, c0=c)
        return outputs, [h, c]
    projection = rest[-1].T

    def body(carry: tuple[Any, Any], taken: Any) -> tuple[Any, Any]:
        h, c = carry
        i, f, g, o = np.split(taken + h @ w_hh.T, 4, axis=-1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * np.tanh(g)
        h = (nn.sigmoid(o) * np.tanh(c)) @ projection
        return (h, c), h

    (h, c), outputs = scan(body, (h, c), _taken(x, w_ih, rest[:-1]))
    return np.swapaxes(outputs, 0, 1), [h, c]


def _taken(x: Any, w_ih: Any, biases: Sequence[Any]) -> Any:
    """The contribution of the inputs of all times, `[T, B, H]`."""
    y = np.swapaxes(x, 0, 1) @ w_ih.T
    return y + (biases[0] + biases[1]) if biases else y


def _tanh(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    outputs, h = function("rnn")(x, weights[0].T, weights[1].T, **_biases(weights), h0=states[0])
    return outputs, [h]


def _relu(x: Any, states: Sequence[Any], weights: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    def body(h: Any, taken: Any) -> tuple[Any, Any]:
        h = nn.relu(taken + h @ weights[1].T)
        return h, h

    h, outputs = scan(body, states[0], _taken(x, weights[0], weights[2:4]))
    return np.swapaxes(outputs, 0, 1), [h]


def _layers(
    c: Call,
    layer: Layer,
    x: Any,
    states: Sequence[Any],
    params: Sequence[Any],
    layers: int,
    dropout: float,
    bidirectional: bool,
    batch_first: bool,
) -> list[Any]:
    """All layers and directions; each state is `[layers * directions, B, H]`."""
    single = np.ndim(x) == 2
    if single:
        x, states = x[None], [one[:, None] for one in states]
    elif not batch_first:
        x = np.swapaxes(x, 0, 1)
    directions = 2 if bidirectional else 1
    each = len(params) // (layers * directions)
    found: list[Sequence[Any]] = []
    for number in range(layers):
        if number and dropout:
            x = nn.dropout(x, dropout, c.next_key())
        outputs: list[Any] = []
        for direction in range(directions):
            at = number * directions + direction
            given = x if direction == 0 else np.flip(x, 1)
            y, last = layer(given, [one[at] for one in states], params[at * each : (at + 1) * each])
            outputs.append(y if direction == 0 else np.flip(y, 1))
            found.append(last)
        x = outputs[0] if directions == 1 else np.concatenate(outputs, axis=-1)
    lasts = [np.stack(one) for one in zip(*found, strict=True)]
    if single:
        return [x[0], *(one[:, 0] for one in lasts)]
    return [x if batch_first else np.swapaxes(x, 0, 1), *lasts]


def _row(layer: Layer) -> Callable[..., Any]:
    def build(
        c: Call,
        input: Any,
        hx: Any,
        params: Sequence[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        states = list(hx) if isinstance(hx, list | tuple) else [hx]
        rate = dropout if train else 0.0
        return _layers(c, layer, input, states, params, num_layers, rate, bidirectional, batch_first)

    return build


_LAYERS: dict[str, Layer] = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _tanh, "rnn_relu": _relu}


Cell = Callable[[Any, Any, Sequence[Any]], tuple[Any, ...]]
"""Of contributions `[B, G H]` of the inputs and of the state to the gates, and states: the next states."""


def _lstm_cell(taken: Any, own: Any, states: Sequence[Any]) -> tuple[Any, ...]:
    i, f, g, o = np.split(taken + own, 4, axis=-1)
    c = nn.sigmoid(f) * states[1] + nn.sigmoid(i) * np.tanh(g)
    return nn.sigmoid(o) * np.tanh(c), c


def _gru_cell(taken: Any, own: Any, states: Sequence[Any]) -> tuple[Any, ...]:
    (p_r, p_z, p_n), (u_r, u_z, u_n) = (np.split(x, 3, axis=-1) for x in (taken, own))
    n = np.tanh(p_n + nn.sigmoid(p_r + u_r) * u_n)
    return (n + nn.sigmoid(p_z + u_z) * (states[0] - n),)


_CELLS: dict[str, Cell] = {
    "lstm": _lstm_cell,
    "gru": _gru_cell,
    "rnn_tanh": lambda taken, own, states: (np.tanh(taken + own),),
    "rnn_relu": lambda taken, own, states: (nn.relu(taken + own),),
}

_APART = ("gru",)
"""The kinds whose cells read more than the sum of both contributions."""


@ROWS.add("recurrent_layer.default", composite=True, namespace="xdsl_rlx")
def _one_layer(c: Call, x: Any, h: Any, state: Any, *rest: Any) -> Any:
    """
    One layer in one direction, as graphs of `torch.compile` have it; see `hosts/torch_recurrent.py`.

    With contributions to the gates and cell states of all times, which the gradient reads.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr, kind, reverse = rest
    starts = [h] if state is None else [h, state]
    nothing = np.zeros(0, numpy_dtype(c.dtype))
    if w_hr is not None:
        y, last = _projected(x, starts, rest[:5], reverse)
        return [y, *last, nothing, nothing]
    cell, apart = _CELLS[kind], kind in _APART
    biases = () if b_ih is None else (b_ih, 0 if apart else b_hh)

    def body(states: Any, taken: Any) -> Any:
        own = states[0] @ w_hh.T
        if apart and b_hh is not None:
            own = own + b_hh
        states = cell(taken, own, states)
        return states, (states, np.concatenate([taken, own], axis=-1) if apart else taken + own)

    last, (states, gates) = scan(body, tuple(starts), _taken(x, w_ih, biases), reverse=reverse)
    return [np.swapaxes(states[0], 0, 1), *last, *[nothing] * (2 - len(last)), gates, *states[1:], nothing][:5]


def _projected(x: Any, starts: Sequence[Any], weights: Sequence[Any], reverse: bool) -> tuple[Any, Sequence[Any]]:
    """A layer whose output is projected."""
    given = np.flip(x, 1) if reverse else x
    y, last = _lstm(given, starts, [one for one in weights if one is not None])
    return np.flip(y, 1) if reverse else y, last


@ROWS.add("recurrent_layer_backward.default", composite=True, namespace="xdsl_rlx")
def _one_layer_backward(c: Call, d_out: Any, d_h: Any, d_state: Any, *args: Any) -> Any:
    """The gradients of the inputs, the states and the weights, from what the layer has kept."""
    (x, h, state, w_ih, w_hh, b_ih, _, w_hr), (kind, reverse, out, gates, cells) = args[:8], args[8:]
    nothing = np.zeros(0, numpy_dtype(c.dtype))
    if w_hr is not None:
        given = [one for one in args[:8] if one is not None]

        def of(*xs: Any) -> Any:
            left = iter(xs)
            found = [None if one is None else next(left) for one in args[:8]]
            y, last = _projected(found[0], found[1:3], found[3:], reverse)
            return y, *last

        found = iter(vjp(of)(tuple(given), (d_out, d_h, d_state))[1])
        return [nothing if one is None else next(found) for one in args[:8]]
    cell, apart = _CELLS[kind], kind in _APART
    before = [_before(np.swapaxes(out, 0, 1), h, reverse)]
    if state is not None:
        before.append(_before(cells, state, reverse))

    def body(carry: Any, given: Any) -> Any:
        d_out, gates, states = given
        parts = np.split(gates, 2, axis=-1) if apart else [gates]

        def step(parts: Any, states: Any) -> Any:
            return cell(parts[0], parts[1] if apart else 0, states)

        _, (d_parts, d_states) = vjp(step)((tuple(parts), states), (carry[0] + d_out, *carry[1:]))
        return (d_states[0] + d_parts[-1] @ w_hh, *d_states[1:]), tuple(d_parts)

    carry = (d_h,) if state is None else (d_h, d_state)
    xs = np.swapaxes(d_out, 0, 1), gates, tuple(before)
    first, parts = scan(body, carry, xs, reverse=not reverse)
    taken, own = parts[0], parts[-1]
    d_w_ih = _rows(taken).T @ _rows(np.swapaxes(x, 0, 1))
    d_w_hh = _rows(own).T @ _rows(before[0])
    biases = [nothing] * 2 if b_ih is None else [np.sum(one, axis=(0, 1)) for one in (taken, own)]
    states = [*first, nothing][:2]
    return [np.swapaxes(taken @ w_ih, 0, 1), *states, d_w_ih, d_w_hh, *biases, nothing]


def _before(states: Any, start: Any, reverse: bool) -> Any:
    """The states `[T, B, H]` before each time."""
    return np.concatenate([states[1:], start[None]] if reverse else [start[None], states[:-1]])


def _rows(x: Any) -> Any:
    return np.reshape(x, (x.shape[0] * x.shape[1], x.shape[2]))


for _name, _layer in _LAYERS.items():
    ROWS.add(f"{_name}.input", composite=True)(_row(_layer))
    ROWS.refuse(
        "packed sequences have lengths that depend on values; pass padded sequences and a mask", f"{_name}.data"
    )
