"""The workloads: their data, what is differentiated, and the loss in the words of ops.py.

Those with loops are in recurrent_workloads.py, transformers in transformer_workloads.py. Not here: any framework.
Arrays are NumPy, f32 and (labels) i32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ops import Ops
from recurrent_workloads import RECURRENT
from transformer_workloads import TRANSFORMERS
from workload import Data, Workload


def _mlp(batch: int, sizes: Sequence[int]) -> Workload:
    layers = range(1, len(sizes))

    def data() -> Data:
        rng = np.random.default_rng(1)
        arrays: Data = {"x": rng.standard_normal((batch, sizes[0]), dtype=np.float32)}
        for i in layers:
            scale = np.float32(np.sqrt(2 / sizes[i - 1]))
            arrays[f"w{i}"] = scale * rng.standard_normal((sizes[i - 1], sizes[i]), dtype=np.float32)
            arrays[f"b{i}"] = np.float32(0.1) * rng.standard_normal((sizes[i],), dtype=np.float32)
        arrays["labels"] = rng.integers(0, sizes[-1], batch, dtype=np.int32)
        return arrays

    def loss(o: Ops, v: dict[str, Any]) -> Any:
        h = v["x"]
        for i in layers:
            h = o.linear(h, v[f"w{i}"], v[f"b{i}"])
            if i != layers[-1]:
                h = o.relu(h)
        return o.cross_entropy(h, v["labels"])

    wrt = tuple(f"{kind}{i}" for i in layers for kind in "wb")
    return Workload(f"MLP batch {batch}, {'-'.join(map(str, sizes))}", data, wrt, loss)


def _chain_data() -> Data:
    return {"x": np.random.default_rng(2).standard_normal((2_000_000,), dtype=np.float32)}


def _chain(o: Ops, v: dict[str, Any]) -> Any:
    x = v["x"]
    a = o.gelu(x)
    b = o.tanh(a * 0.7 + x)
    c = o.exp(b * 0.5)
    return o.mean(o.where_positive(x, c * a, b - c))


def _norm_data() -> Data:
    rng = np.random.default_rng(3)
    draw = rng.standard_normal
    return {
        "x": draw((4096, 768), dtype=np.float32),
        "residual": draw((4096, 768), dtype=np.float32),
        "gamma": 1 + np.float32(0.1) * draw((768,), dtype=np.float32),
        "beta": np.float32(0.1) * draw((768,), dtype=np.float32),
    }


def _norm(o: Ops, v: dict[str, Any]) -> Any:
    h = o.layer_norm(v["x"] + v["residual"], v["gamma"], v["beta"])
    return o.mean(o.gelu(h) * v["x"])


def _small_data() -> Data:
    rng = np.random.default_rng(4)
    return {name: rng.standard_normal((64, 128), dtype=np.float32) for name in ("x", "y", "z")}


SMALL_OPS = 200


def _small(o: Ops, v: dict[str, Any]) -> Any:
    """200 operations, no two alike: each has its own constant, and reads what earlier ones left.

    The values live in three registers; every range-growing operation is followed in the cycle by one that bounds it.
    """
    a, b, c = v["x"], v["y"], v["z"]
    for i in range(SMALL_OPS // 20):
        k = 0.5 + 0.03 * i
        a = o.tanh(a)
        b = b / (1 + k)
        c = c + a
        a = o.sin(b)
        b = o.sigmoid(c)
        c = o.maximum(c, -k)
        d = a * b
        a = o.softmax(d)
        e = o.exp(b)
        c = o.minimum(c, e)
        f = o.max(c, -1)
        c = c - f
        d = o.transpose(d)
        g = o.sum(d, 0)
        g = g * (k / 128)
        b = b + o.reshape(g, (64, 1))
        b = o.cos(b)
        c = o.where_positive(a, b, c)
    return o.mean(a * b + c)


def _embedding_data() -> Data:
    rng = np.random.default_rng(5)
    return {
        "table": np.float32(0.1) * rng.standard_normal((8192, 128), dtype=np.float32),
        "tokens": rng.integers(0, 8192, 512, dtype=np.int32),
        "labels": rng.integers(0, 8192, 512, dtype=np.int32),
    }


def _embedding(o: Ops, v: dict[str, Any]) -> Any:
    """The table is both the embedding and, transposed, the head: its gradient has a sparse and a dense part."""
    return o.cross_entropy(o.matmul(o.embed(v["table"], v["tokens"]), o.transpose(v["table"])), v["labels"])


def _experts_data() -> Data:
    rng = np.random.default_rng(6)
    draw = rng.standard_normal
    return {
        "x": draw((512, 256), dtype=np.float32),
        "up": np.float32(0.06) * draw((8, 256, 512), dtype=np.float32),
        "down": np.float32(0.04) * draw((8, 512, 256), dtype=np.float32),
        "experts": rng.integers(0, 8, 512, dtype=np.int32),
    }


def _experts(o: Ops, v: dict[str, Any]) -> Any:
    """Each token through the two layers of its expert, with a residual."""
    h = o.relu(o.grouped_matmul(v["x"], v["up"], v["experts"]))
    y = o.grouped_matmul(h, v["down"], v["experts"]) + v["x"]
    return o.mean(y * y)


def _convnet_data() -> Data:
    rng = np.random.default_rng(5)

    def weight(*shape: int) -> np.ndarray:
        scale = np.float32(np.sqrt(2 / (np.prod(shape[1:]) if len(shape) == 4 else shape[0])))
        return scale * rng.standard_normal(shape, dtype=np.float32)

    arrays: Data = {"x": rng.standard_normal((32, 1, 28, 28), dtype=np.float32)}
    for i, shape in enumerate(((16, 1, 3, 3), (32, 16, 3, 3), (32 * 7 * 7, 128), (128, 10)), 1):
        arrays[f"w{i}"] = weight(*shape)
        extent = shape[0] if len(shape) == 4 else shape[1]
        arrays[f"b{i}"] = np.float32(0.1) * rng.standard_normal((extent,), dtype=np.float32)
    arrays["labels"] = rng.integers(0, 10, 32, dtype=np.int32)
    return arrays


def _convnet(o: Ops, v: dict[str, Any]) -> Any:
    h = v["x"]
    for i in (1, 2):
        h = o.max_pool(o.relu(o.conv(h, v[f"w{i}"], padding=1) + o.reshape(v[f"b{i}"], (-1, 1, 1))))
    h = o.relu(o.linear(o.reshape(h, (32, -1)), v["w3"], v["b3"]))
    return o.cross_entropy(o.linear(h, v["w4"], v["b4"]), v["labels"])


def _depthwise_data() -> Data:
    rng = np.random.default_rng(6)
    return {
        "x": rng.standard_normal((8, 64, 56, 56), dtype=np.float32),
        "depthwise": np.float32(0.3) * rng.standard_normal((64, 1, 3, 3), dtype=np.float32),
        "pointwise": np.float32(0.1) * rng.standard_normal((64, 64, 1, 1), dtype=np.float32),
    }


def _depthwise(o: Ops, v: dict[str, Any]) -> Any:
    h = o.conv(v["x"], v["depthwise"], padding=1, groups=64)
    return o.mean(o.relu(o.conv(o.relu(h), v["pointwise"])))


def _attention_data() -> Data:
    rng = np.random.default_rng(6)
    return {name: rng.standard_normal((1, 4, 1024, 64), dtype=np.float32) for name in ("q", "k", "v", "weight")}


def _attention(o: Ops, v: dict[str, Any]) -> Any:
    return o.mean(o.causal_attention(v["q"], v["k"], v["v"]) * v["weight"])


FRAME, HOP, BANDS = 400, 160, 80


def _mel_filters() -> np.ndarray:
    """Triangles, evenly spaced on the mel scale from 0 to 8 kHz, over the bins of a frame at 16 kHz."""
    mels = np.linspace(0, 2595 * np.log10(1 + 8000 / 700), BANDS + 2)
    edges = 700 * (10 ** (mels / 2595) - 1)
    bins = np.linspace(0, 8000, FRAME // 2 + 1)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle))
    return np.maximum(0, triangles).astype(np.float32)


def _mel_data() -> Data:
    rng = np.random.default_rng(6)
    return {
        "audio": np.float32(0.1) * rng.standard_normal((2999 * HOP + FRAME,), dtype=np.float32),
        "window": np.hanning(FRAME + 1)[:-1].astype(np.float32),
        "filters": _mel_filters().T.copy() + np.float32(1e-3),
        "weights": rng.standard_normal((3000, BANDS), dtype=np.float32),
    }


def _mel(o: Ops, v: dict[str, Any]) -> Any:
    energy = o.matmul(o.power_spectrum(v["audio"], v["window"], HOP), v["filters"])
    level = o.log(o.maximum(energy, 1e-10)) * (1 / np.log(10))
    floor = o.max(o.max(level, 1), 0) - 8.0
    return o.mean((o.maximum(level, floor) + 4.0) * 0.25 * v["weights"])


def _solve_data() -> Data:
    draw = np.random.default_rng(7).standard_normal
    # well-conditioned, so that results can be compared, and with pivots off the diagonal
    a = np.linalg.qr(draw((64, 32, 32)))[0] + 0.05 * draw((64, 32, 32))
    return {"a": a.astype(np.float32), "b": draw((64, 32), dtype=np.float32)}


def _solve(o: Ops, v: dict[str, Any]) -> Any:
    x = o.solve(v["a"], v["b"])
    return o.mean(x * x)


WORKLOADS: dict[str, Workload] = {
    "a": _mlp(128, (784, 512, 512, 10)),
    "b": _mlp(16, (64, 32, 10)),
    "c": Workload("2M-element chain of gelu, tanh, exp, where, mean", _chain_data, ("x",), _chain),
    "d": Workload("layer norm + residual + gelu, 4096x768", _norm_data, ("x", "residual", "gamma", "beta"), _norm),
    "e": Workload("200 distinct small ops on 64x128", _small_data, ("x", "y", "z"), _small),
    "embedding": Workload(
        "embedding + tied head + cross-entropy, 512 tokens, d 128, vocabulary 8192",
        _embedding_data,
        ("table",),
        _embedding,
    ),
    "experts": Workload(
        "mixture of experts: 512 tokens, 8 experts, 256-512-256", _experts_data, ("x", "up", "down"), _experts
    ),
    "convnet": Workload(
        "convnet batch 32 of 28x28: two 3x3 convolutions, two dense layers",
        _convnet_data,
        tuple(f"{kind}{i}" for i in range(1, 5) for kind in "wb"),
        _convnet,
    ),
    "depthwise": Workload(
        "depthwise 3x3 and pointwise convolution, 8x64x56x56",
        _depthwise_data,
        ("x", "depthwise", "pointwise"),
        _depthwise,
    ),
    "attention": Workload(
        "causal attention, 4 heads, 1024 positions, 64 features", _attention_data, ("q", "k", "v"), _attention
    ),
    "log-mel": Workload(
        "log-mel features of 30 s at 16 kHz: 3000 frames of 400 samples, 80 bands; gradients of audio and filters",
        _mel_data,
        ("audio", "filters"),
        _mel,
    ),
    "solve": Workload("64 solves of 32x32 systems", _solve_data, ("a", "b"), _solve),
    **TRANSFORMERS,
    **RECURRENT,
}
