"""Workloads with loops over time, and those that differentiate twice. Leading axes of sequences are time.

Not here: what a workload is (workload.py), the words that it is said in (ops.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ops import Ops
from workload import EAGER, Data, Step, Workload

f32 = np.float32


def _draw(seed: int, **shapes: tuple[int, ...]) -> Data:
    """Normal numbers by name."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape, dtype=f32) for name, shape in shapes.items()}


def _selective_data() -> Data:
    s, b, h, n = 512, 2, 256, 16
    found = _draw(11, x=(s, b, h), delta=(s, b, h), a=(h, n), b=(s, b, n), c=(s, b, n))
    found["delta"] = f32(0.1) * np.abs(found["delta"])
    found["a"] = -f32(0.5) - np.abs(found["a"])
    return found | {"state": np.zeros((b, h, n), f32)}


def _selective(o: Ops, v: dict[str, Any]) -> Any:
    """`h = exp(delta a) h + delta b x`, `y = c h`, for 16 states of each channel."""

    def body(h: Any, e: Any) -> Any:
        x, delta, b, c = e
        step = o.reshape(delta, (2, 256, 1))
        after = o.exp(step * v["a"]) * h + (step * o.reshape(x, (2, 256, 1))) * o.reshape(b, (2, 1, 16))
        return after, o.sum(after * o.reshape(c, (2, 1, 16)), -1)

    _, y = o.scan(body, v["state"], (v["x"], v["delta"], v["b"], v["c"]))
    return o.mean(y * y)


def _delta_net_data() -> Data:
    s, heads, n = 256, 4, 64
    found = _draw(12, q=(s, heads, n), k=(s, heads, n), v=(s, heads, n), g=(s, heads, 1, 1), beta=(s, heads, 1, 1))
    for name in "qk":
        found[name] /= np.linalg.norm(found[name], axis=-1, keepdims=True)
    found["g"] = -f32(0.1) * np.abs(found["g"])
    found["beta"] = 1 / (1 + np.exp(-found["beta"]))
    return found | {"state": np.zeros((heads, n, n), f32)}


def _delta_net(o: Ops, v: dict[str, Any]) -> Any:
    """A state of 64x64 for each head: decayed, corrected at `k` towards `v`, read at `q`."""

    def body(state: Any, e: Any) -> Any:
        q, k, target, g, beta = e
        key = o.reshape(k, (4, 1, 64))
        decayed = o.exp(g) * state
        correction = beta * (o.reshape(target, (4, 1, 64)) - o.matmul(key, decayed))
        after = decayed + o.reshape(k, (4, 64, 1)) * correction
        return after, o.matmul(o.reshape(q, (4, 1, 64)), after) * 0.125

    _, y = o.scan(body, v["state"], tuple(v[name] for name in ("q", "k", "v", "g", "beta")))
    return o.mean(y * y)


def _lstm_data() -> Data:
    found = _draw(13, x=(128, 32, 64), wx=(64, 512), wh=(128, 512), b=(512,))
    return found | {name: f32(0.08) * found[name] for name in ("wx", "wh", "b")} | {"zeros": np.zeros((32, 128), f32)}


def _lstm(o: Ops, v: dict[str, Any]) -> Any:
    y = o.lstm(v["x"], v["wx"], v["wh"], v["b"], v["zeros"])
    return o.mean(y * y)


def _rnn_data() -> Data:
    found = _draw(14, x=(1000, 1, 8), wx=(8, 8), wh=(8, 8), b=(8,))
    return found | {name: f32(0.3) * found[name] for name in ("wx", "wh", "b")} | {"zeros": np.zeros((1, 8), f32)}


def _rnn(o: Ops, v: dict[str, Any]) -> Any:
    y = o.rnn(v["x"], v["wx"], v["wh"], v["b"], v["zeros"])
    return o.mean(y * y)


def _oscillator_data() -> Data:
    found = _draw(15, stiffness=(64,), coupling=(64,), damping=(64,), position=(64,), velocity=(64,))
    for name in ("stiffness", "coupling", "damping"):
        found[name] = f32(0.2) + f32(0.1) * np.abs(found[name])
    return found


def _oscillator(o: Ops, v: dict[str, Any]) -> Any:
    """Two coupled masses on stiffening springs, for 64 sets of parameters, by Runge-Kutta of fourth order."""
    step = 0.05

    def slope(y: Any) -> Any:
        p, q, dp, dq = y
        pull = v["coupling"] * (p - q)
        return (
            dp,
            dq,
            -(v["stiffness"] * p * (p * p + 1.0)) - pull - v["damping"] * dp,
            -(v["stiffness"] * q * (q * q + 1.0)) + pull - v["damping"] * dq,
        )

    def along(y: Any, by: float, k: Any) -> Any:
        return tuple(a + by * b for a, b in zip(y, k, strict=True))

    def body(y: Any, _: Any) -> Any:
        k1 = slope(y)
        k2 = slope(along(y, step / 2, k1))
        k3 = slope(along(y, step / 2, k2))
        k4 = slope(along(y, step, k3))
        ks = zip(y, k1, k2, k3, k4, strict=True)
        after = tuple(a + (step / 6) * (b + 2.0 * c + 2.0 * d + e) for a, b, c, d, e in ks)
        return after, after[0]

    start = (v["position"], v["velocity"], v["velocity"] * 0.5, v["position"] * 0.5)
    _, y = o.scan(body, start, length=1000)
    return o.mean(y * y)


def _circuit_data() -> Data:
    found = _draw(16, conductance=(64, 8), capacity=(64, 8), source=(100, 64, 8))
    for name in ("conductance", "capacity"):
        found[name] = 1 + f32(0.2) * np.abs(found[name])
    ladder = np.zeros((8, 8, 8), f32)
    for branch in range(8):
        ends = np.eye(8, dtype=f32)[branch] - (np.eye(8, dtype=f32)[branch - 1] if branch else 0)
        ladder[branch] = np.outer(ends, ends)
    return found | {"ladder": ladder.reshape(8, 64), "eye": np.eye(8, dtype=f32), "start": np.zeros((64, 8), f32)}


def _circuit(o: Ops, v: dict[str, Any]) -> Any:
    """A ladder of eight nodes with a capacitor and a conductance that grows with the voltage at each, 64 times."""
    ladder = o.reshape(o.matmul(v["conductance"], v["ladder"]), (64, 8, 8))
    charge = v["capacity"] * 20.0

    def body(u: Any, source: Any) -> Any:
        diagonal = charge + 0.1 * u * u
        after = o.solve(ladder + v["eye"] * o.reshape(diagonal, (64, 1, 8)), charge * u + source)
        return after, after

    _, y = o.scan(body, v["start"], v["source"])
    return o.mean(y * y)


def _checkpointed_data() -> Data:
    found = _draw(17, x=(4096, 1, 256), w=(256, 256))
    return found | {"w": f32(0.05) * found["w"], "start": np.zeros((1, 256), f32)}


def _checkpointed(o: Ops, v: dict[str, Any]) -> Any:
    def body(h: Any, x: Any) -> Any:
        after = o.tanh(o.matmul(h, v["w"]) + x)
        return after, o.sum(after * after, -1)

    _, y = o.scan(body, v["start"], v["x"], checkpoints=64)
    return o.mean(y)


LAYERS = ("w1", "b1", "w2", "b2")


def _training_data() -> Data:
    rng = np.random.default_rng(18)
    found = _draw(18, x=(100, 16, 64), w1=(64, 32), b1=(32,), w2=(32, 10), b2=(10,))
    for name in LAYERS:
        found[name] *= f32(0.2)
    return found | {"labels": rng.integers(0, 10, (100, 16), dtype=np.int32)}


def _mlp(o: Ops, v: dict[str, Any]) -> Any:
    return o.cross_entropy(o.linear(o.relu(o.linear(v["x"], v["w1"], v["b1"])), v["w2"], v["b2"]), v["labels"])


def _training(o: Ops, v: dict[str, Any]) -> Any:
    """100 steps of gradient descent, a batch each: the losses, and the weights afterwards."""

    def body(weights: Any, e: Any) -> Any:
        x, labels = e
        loss, gradients = o.value_and_grad(_mlp, dict(zip(LAYERS, weights, strict=True)), {"x": x, "labels": labels})
        return tuple(w - 0.1 * g for w, g in zip(weights, gradients, strict=True)), loss

    weights, losses = o.scan(body, tuple(v[name] for name in LAYERS), (v["x"], v["labels"]))
    return [losses, *weights]


def _twice_data() -> Data:
    found = _training_data()
    found |= {"x": found["x"][0], "labels": found["labels"][0]}
    along = _draw(19, **{f"tangent_{name}": found[name].shape for name in LAYERS})
    return found | along


def _layer(o: Ops, v: dict[str, Any]) -> Any:
    return o.tanh(o.matmul(v["x"], v["w"]))


RECURRENT: dict[str, Workload] = {
    "selective-scan": Workload(
        "selective scan: batch 2, 512 times, 256 channels of 16 states",
        _selective_data,
        ("x", "delta", "a", "b", "c"),
        _selective,
        peers=EAGER,
    ),
    "delta-net": Workload(
        "gated delta net: 256 times, 4 heads of 64x64",
        _delta_net_data,
        ("q", "k", "v", "g", "beta"),
        _delta_net,
        peers=EAGER,
    ),
    "lstm": Workload("LSTM batch 32, 128 times, 64 to 128", _lstm_data, ("x", "wx", "wh", "b"), _lstm, peers=EAGER),
    "rnn": Workload("tanh RNN of 8, 1000 times", _rnn_data, ("x", "wx", "wh", "b"), _rnn, peers=EAGER),
    "rk4": Workload(
        "RK4 of a 4-state oscillator, 64 sets of parameters, 1000 steps",
        _oscillator_data,
        ("stiffness", "coupling", "damping", "position", "velocity"),
        _oscillator,
        peers=EAGER,
    ),
    "circuit": Workload(
        "implicit Euler of 64 circuits of 8 nodes, 100 steps",
        _circuit_data,
        ("conductance", "capacity", "source"),
        _circuit,
        peers=EAGER,
    ),
    "checkpointed": Workload(
        "checkpointed scan: 4096 times, state 256, 64 checkpoints",
        _checkpointed_data,
        ("x", "w", "start"),
        _checkpointed,
        peers=("jax",),  # a step of segments under torch.utils.checkpoint takes a minute
    ),
    "training": Workload(
        "100 SGD steps of an MLP batch 16, 64-32-10, in one scan",
        _training_data,
        LAYERS,
        _training,
        Step.VALUE,
        EAGER,
    ),
    "hvp": Workload(
        "gradient and Hessian times vector of an MLP batch 16, 64-32-10",
        _twice_data,
        LAYERS,
        _mlp,
        Step.HVP,
        EAGER,
    ),
    "jacfwd": Workload(
        "Jacobian of tanh(x w), 16 to 16, by forward mode",
        lambda: _draw(20, x=(1, 16), w=(16, 16)),
        ("x",),
        _layer,
        Step.JACFWD,
    ),
}
