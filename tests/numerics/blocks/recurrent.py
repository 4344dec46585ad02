"""Recurrent layers, one time after the other. Lengths, half floats, second derivatives and batches of those that are
scans are in tests/transforms/test_hir_recurrent.py."""

from typing import Any

import numpy as np
from numerics.blocks import Array, sample

from xdsl_rlx.dialects.hir.recurrent import GatedDeltaNetOp, GruOp, LstmOp, Mamba2Op, RnnOp

B, F, H, P, N = 3, 5, 4, 3, 2
GATES = {"rnn": 1, "lstm": 4, "gru": 3}


def sigmoid(np_: Any, x: Any) -> Any:
    return 1 / (1 + np_.exp(-x))


def rnn(np_: Any, x: Any, h: Any, p: dict[str, Any]) -> tuple[Any, Any]:
    h = np_.tanh(x @ p["w_ih"] + p["b_ih"] + h[0] @ p["w_hh"] + p["b_hh"])
    return h, (h,)


def lstm(np_: Any, x: Any, h: Any, p: dict[str, Any]) -> tuple[Any, Any]:
    i, f, g, o = np_.split(x @ p["w_ih"] + p["b_ih"] + h[0] @ p["w_hh"] + p["b_hh"], 4, axis=-1)
    c = sigmoid(np_, f) * h[1] + sigmoid(np_, i) * np_.tanh(g)
    y = sigmoid(np_, o) * np_.tanh(c)
    return y, (y, c)


def gru(np_: Any, x: Any, h: Any, p: dict[str, Any]) -> tuple[Any, Any]:
    i_r, i_z, i_n = np_.split(x @ p["w_ih"] + p["b_ih"], 3, axis=-1)
    h_r, h_z, h_n = np_.split(h[0] @ p["w_hh"] + p["b_hh"], 3, axis=-1)
    r, z = sigmoid(np_, i_r + h_r), sigmoid(np_, i_z + h_z)
    y = (1 - z) * np_.tanh(i_n + r * h_n) + z * h[0]
    return y, (y,)


STEPS = {"rnn": rnn, "lstm": lstm, "gru": gru}


def run_layer(np_: Any, name: str, x: Any, p: dict[str, Any]) -> list[Any]:
    """Outputs and final states, one time after the other; a bias or state that is left out is zeros."""
    width = GATES[name] * H
    p = {"b_ih": np.zeros(width), "b_hh": np.zeros(width), **p}
    h = tuple(p.get(state, np.zeros((x.shape[0], H))) for state in (("h0", "c0") if name == "lstm" else ("h0",)))
    ys = []
    for t in range(x.shape[1]):
        y, h = STEPS[name](np_, x[:, t], h, p)
        ys.append(y)
    return [np_.stack(ys, 1) if ys else np.zeros((x.shape[0], 0, H)), *h]


def run_mamba2(np_: Any, x: Any, p: dict[str, Any]) -> list[Any]:
    h = p.get("h0", np.zeros((x.shape[0], H, P, N)))
    ys = []
    for t in range(x.shape[1]):
        decay = np_.exp(p["dt"][:, t] * p["a"])[:, :, None, None]
        h = decay * h + np_.einsum("bh,bhp,bn->bhpn", p["dt"][:, t], x[:, t], p["b"][:, t])
        y = np_.einsum("bn,bhpn->bhp", p["c"][:, t], h)
        ys.append(y + p["d"][:, None] * x[:, t] if "d" in p else y)
    return [np_.stack(ys, 1) if ys else np.zeros(x.shape), h]


def reference(np_: Any, name: str, x: Any, p: dict[str, Any]) -> list[Any]:
    return run_mamba2(np_, x, p) if name == "mamba2" else run_layer(np_, name, x, p)


def operands(name: str, times: int, optional: bool) -> dict[str, Array]:
    """The arrays of a layer, x first."""
    rng = np.random.default_rng(times)
    if name == "mamba2":
        shapes = {"x": (B, times, H, P), "dt": (B, times, H), "a": (H,), "b": (B, times, N), "c": (B, times, N)}
        more = {"d": (H,), "h0": (B, H, P, N)}
    else:
        width = GATES[name] * H
        shapes = {"x": (B, times, F), "w_ih": (F, width), "w_hh": (H, width)}
        more = {"b_ih": (width,), "b_hh": (width,), "h0": (B, H), **({"c0": (B, H)} if name == "lstm" else {})}
    found = {key: rng.standard_normal(shape) for key, shape in {**shapes, **(more if optional else {})}.items()}
    if name == "mamba2":
        found["dt"], found["a"] = np.abs(found["dt"]), -np.abs(found["a"])
    return found


def _gated_delta_net(np_: Any, q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any = None) -> Any:
    s = np.zeros((q.shape[0], *q.shape[2:], v.shape[3])) if state is None else state
    ys = []
    for t in range(q.shape[1]):
        s = np_.exp(g[:, t])[..., None, None] * s
        d = beta[:, t, :, None] * (v[:, t] - np_.einsum("bhi,bhij->bhj", k[:, t], s))
        s = s + np_.einsum("bhi,bhj->bhij", k[:, t], d)
        ys.append(np_.einsum("bhi,bhij->bhj", q[:, t], s) / np.sqrt(q.shape[3]))
    return np_.stack(ys, 1), s


def _of(name: str) -> Any:
    def layer(np_: Any, x: Any, **p: Any) -> Any:
        return tuple(reference(np_, name, x, p))

    return layer


_DELTA = {"q": (2, 3, 2, 3), "k": (2, 3, 2, 3), "v": (2, 3, 2, 4), "g": (2, 3, 2), "beta": (2, 3, 2)}

SAMPLES = (
    *(
        sample(name, op, _of(name), operands(name, 3, True))
        for name, op in (("rnn", RnnOp), ("lstm", LstmOp), ("gru", GruOp), ("mamba2", Mamba2Op))
    ),
    sample("gated_delta_net", GatedDeltaNetOp, _gated_delta_net, _DELTA),
    sample("gated_delta_net-state", GatedDeltaNetOp, _gated_delta_net, {**_DELTA, "state": (2, 2, 3, 4)}),
)
