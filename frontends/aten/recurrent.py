"""Rows of recurrent layers: each layer and direction is a scan, after one product by the inputs of all times."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.derivatives import vjp
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import numpy_dtype
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import scan

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


@ROWS.add("recurrent_layer.default", composite=True, namespace="xdsl_rlx")
def _one_layer(c: Call, x: Any, h: Any, state: Any, *rest: Any) -> Any:
    """One layer in one direction, as graphs of `torch.compile` have it; see `hosts/torch_recurrent.py`."""
    *weights, kind, reverse = rest
    given = np.flip(x, 1) if reverse else x
    starts = [h] if state is None else [h, state]
    y, last = _LAYERS[kind](given, starts, [one for one in weights if one is not None])
    nothing = np.zeros(0, numpy_dtype(c.dtype))
    return [np.flip(y, 1) if reverse else y, *last, *([] if len(last) > 1 else [nothing])]


@ROWS.add("recurrent_layer_backward.default", composite=True, namespace="xdsl_rlx")
def _one_layer_backward(c: Call, d_out: Any, d_h: Any, d_state: Any, *args: Any) -> Any:
    given = [one for one in args[:8] if one is not None]

    def of(*xs: Any) -> Any:
        left = iter(xs)
        found = _one_layer(c, *(None if one is None else next(left) for one in args[:8]), *args[8:])
        return tuple(found[: 2 if args[2] is None else 3])

    cotangents = (d_out, d_h) if args[2] is None else (d_out, d_h, d_state)
    found = iter(vjp(of)(tuple(given), cotangents)[1])
    nothing = np.zeros(0, numpy_dtype(c.dtype))
    return [nothing if one is None else next(found) for one in args[:8]]


for _name, _layer in _LAYERS.items():
    ROWS.add(f"{_name}.input", composite=True)(_row(_layer))
    ROWS.refuse(
        "packed sequences have lengths that depend on values; pass padded sequences and a mask", f"{_name}.data"
    )
