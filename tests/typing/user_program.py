"""A program of a user who has a type checker: `make lint` checks it, and `test_user_program.py` runs it."""

from typing import Any, NamedTuple

import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.optim import AdamW

Array = np.ndarray


class Params(NamedTuple):
    """Weights `[3, 4]` and `[4]`, offset of the result."""

    w: Array
    v: Array
    offset: Array


@rlx.custom_vjp
def clipped(x: Array, limit: float) -> Array:
    """The identity; the gradient stays within `limit`."""
    return x


def _forward(x: Array, limit: float) -> tuple[Array, float]:
    return x, limit


def _backward(limit: float, g: Array) -> tuple[Array, None]:
    return np.clip(g, -limit, limit), None


clipped.defvjp(_forward, _backward)


@rlx.custom_op("typed.softsign")
def softsign(b: rlx.Graph, x: rlx.Value, width: float = 1.0) -> rlx.Value:
    """`x / (|x| + width)`."""
    return x / (b.abs(x) + width)


def loss(params: Params, x: Array, y: Array) -> Array:
    """The mean square error of two layers."""
    hidden: Array = rlx.layer_norm(rlx.relu(x @ params.w), np.ones(4, np.float32), np.zeros(4, np.float32))
    noise = rlx.dropout(hidden, 0.25, rlx.key(0))
    total: Array = rlx.softmax(noise, axis=-1).std() + softsign(clipped(hidden, 2.0), width=2.0).sum()
    return np.mean((hidden @ params.v + params.offset - y) ** 2) + 1e-3 * total


@rlx.compile
def step(params: Params, state: Any, x: Array, y: Array) -> tuple[Array, Params, Any]:
    """One step of AdamW."""
    value, grads = rlx.value_and_grad(loss)(params, x, y)
    params, state = AdamW(0.1).update(grads, state, params)
    return value, params, state


def graph() -> rlx.Graph:
    """A graph by hand, with functions of NumPy, and with ops that plugins of the package register."""
    g = rlx.Graph("typed")
    x = g.input("x", (2, 3))
    scores, means = g.input("scores", (2, 4)), g.input("w", (3, 3))
    y = g.attention(g.reshape(x @ means, (1, 2, 3)), *[g.reshape(x, (1, 2, 3))] * 2, num_heads=1, mask_kind="causal")
    decoded = g.dequant_moe_weights(g.constant(np.zeros((1, 32, 1, 18), np.uint8)), (1, 32, 32), "gguf_q4_0")
    g.set_outputs({"y": y, "p": np.exp(scores), "decoded": g.reduce_sum(decoded), "one": 1.0})
    return g
