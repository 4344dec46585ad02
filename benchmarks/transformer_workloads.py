"""Workloads of transformers: their data, what is differentiated, and the loss in the words of ops.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from ops import Ops
from workload import Data, Step, Workload


@dataclass(frozen=True)
class _Size:
    """Extents of a layer."""

    batch: int
    length: int
    width: int
    heads: int
    kv_heads: int
    inner: int

    @property
    def head(self) -> int:
        return self.width // self.heads


_LAYER = _Size(4, 128, 256, 4, 4, 1024)
_LLAMA = _Size(1, 128, 256, 8, 4, 688)


def _weights(seed: int, size: _Size, **shapes: tuple[int, ...]) -> Data:
    """Tokens of a batch, one below the other, and weights that keep their scale."""
    rng = np.random.default_rng(seed)
    drawn = {"x": rng.standard_normal((size.batch * size.length, size.width), dtype=np.float32)}
    for name, shape in shapes.items():
        scale = np.float32(0.1 if len(shape) == 1 else 1 / np.sqrt(shape[0]))
        drawn[name] = scale * rng.standard_normal(shape, dtype=np.float32) + np.float32(name.startswith("gain"))
    return drawn


def _layer_data() -> Data:
    d, f = _LAYER.width, _LAYER.inner
    shapes = {f"w{name}": (d, d) for name in "qkvo"} | {f"b{name}": (d,) for name in "qvo"}
    norms = {f"{kind}{i}": (d,) for i in (1, 2) for kind in ("gain", "shift")}
    return _weights(8, _LAYER, **shapes, **norms, up=(d, f), b_up=(f,), down=(f, d), b_down=(d,))


def _layer(o: Ops, v: dict[str, Any]) -> Any:
    """Norms in front, attention to all positions, exact GELU. A bias of keys would have no gradient."""
    x = v["x"]
    h = o.layer_norm(x, v["gain1"], v["shift1"])
    q, values = (o.linear(h, v[f"w{name}"], v[f"b{name}"]) for name in "qv")
    k = o.matmul(h, v["wk"])
    a = o.heads_attention(q, k, values, _LAYER.batch, _LAYER.heads, _LAYER.kv_heads, causal=False)
    x = x + o.linear(a, v["wo"], v["bo"])
    h = o.layer_norm(x, v["gain2"], v["shift2"])
    y = x + o.linear(o.gelu(o.linear(h, v["up"], v["b_up"])), v["down"], v["b_down"])
    return o.mean(y * y)


def _llama_data() -> Data:
    d, f, kv = _LLAMA.width, _LLAMA.inner, _LLAMA.kv_heads * _LLAMA.head
    shapes = {"wq": (d, d), "wk": (d, kv), "wv": (d, kv), "wo": (d, d), "gain1": (d,), "gain2": (d,)}
    return _weights(9, _LLAMA, **shapes, gate=(d, f), up=(d, f), down=(f, d)) | _rotations(_LLAMA)


def _rotations(size: _Size) -> Data:
    pairs = size.head // 2
    turn = np.arange(size.length)[:, None] * 10000.0 ** (-np.arange(pairs) / pairs)
    return {"cos": np.cos(turn).astype(np.float32), "sin": np.sin(turn).astype(np.float32)}


def _llama(o: Ops, v: dict[str, Any]) -> Any:
    y = _llama_block(o, v["x"], v, _LLAMA)
    return o.mean(y * y)


def _llama_block(o: Ops, x: Any, v: dict[str, Any], size: _Size) -> Any:
    h = o.rms_norm(x, v["gain1"])
    q = o.rope(o.matmul(h, v["wq"]), v["cos"], v["sin"], size.batch, size.heads)
    k = o.rope(o.matmul(h, v["wk"]), v["cos"], v["sin"], size.batch, size.kv_heads)
    a = o.heads_attention(q, k, o.matmul(h, v["wv"]), size.batch, size.heads, size.kv_heads, causal=True)
    x = x + o.matmul(a, v["wo"])
    h = o.rms_norm(x, v["gain2"])
    return x + o.matmul(o.silu(o.matmul(h, v["gate"])) * o.matmul(h, v["up"]), v["down"])


_TINY, _DEPTH, _ALPHABET = _Size(16, 96, 128, 4, 2, 344), 3, 94


def _tiny_data() -> Data:
    """The model of examples/tiny_llama.py."""
    d, f, kv = _TINY.width, _TINY.inner, _TINY.kv_heads * _TINY.head
    block = {"wq": (d, d), "wk": (d, kv), "wv": (d, kv), "wo": (d, d), "gain1": (d,), "gain2": (d,)}
    block |= {"gate": (d, f), "up": (d, f), "down": (f, d)}
    shapes = {f"{name}_{n}": shape for n in range(_DEPTH) for name, shape in block.items()}
    data = _weights(10, _TINY, **shapes, gain=(d,), table=(_ALPHABET, d))
    data["table"] *= 0.2
    rng = np.random.default_rng(11)
    count = _TINY.batch * _TINY.length
    data |= {name: rng.integers(0, _ALPHABET, count, dtype=np.int32) for name in ("ids", "labels")}
    del data["x"]
    return data | _rotations(_TINY)


def _tiny(o: Ops, v: dict[str, Any]) -> Any:
    """Blocks between an embedding and a head of one table."""
    h = o.embed(v["table"], v["ids"])
    for n in range(_DEPTH):
        h = _llama_block(
            o, h, {**v, **{name.removesuffix(f"_{n}"): x for name, x in v.items() if name.endswith(f"_{n}")}}, _TINY
        )
    return o.cross_entropy(o.matmul(o.rms_norm(h, v["gain"]), o.transpose(v["table"])), v["labels"])


_GPT_SIZES = {"gpt": (_Size(4, 64, 128, 4, 4, 512), 96), "gpt-2": (_Size(1, 256, 768, 12, 12, 3072), 50257)}
"""Extents and alphabets of models of 12 layers; the second is GPT-2 of 124 million parameters."""

_GPT_DEPTH = 12
_GPT_SHAPES = {
    **{f"w{name}": "dd" for name in "qkvo"},
    **{f"b{name}": "d" for name in "qkvo"},
    **{f"{kind}{i}": "d" for i in (1, 2) for kind in ("gain", "shift")},
    "up": "df",
    "b_up": "f",
    "down": "fd",
    "b_down": "d",
}


def _gpt_shapes(size: _Size, alphabet: int) -> dict[str, tuple[int, ...]]:
    extents = {"d": size.width, "f": size.inner}
    shapes = {
        f"{name}_{n}": tuple(extents[x] for x in axes) for n in range(_GPT_DEPTH) for name, axes in _GPT_SHAPES.items()
    }
    shapes |= {"gain": (size.width,), "shift": (size.width,)}
    return shapes | {"table": (alphabet, size.width), "places": (size.length, size.width)}


def _gpt_data(size: _Size, alphabet: int) -> Data:
    data = _weights(12, size, **_gpt_shapes(size, alphabet))
    data["table"] *= np.float32(0.02 * np.sqrt(alphabet))
    rng = np.random.default_rng(13)
    data |= {name: rng.integers(0, alphabet, size.batch * size.length, dtype=np.int32) for name in ("ids", "labels")}
    data["at"] = np.tile(np.arange(size.length, dtype=np.int32), size.batch)
    del data["x"]
    return data


def _gpt(o: Ops, v: dict[str, Any], size: _Size) -> Any:
    """Norms in front, causal attention, exact GELU, and a head that is the embedding's table."""
    h = o.embed(v["table"], v["ids"]) + o.embed(v["places"], v["at"])
    for n in range(_GPT_DEPTH):
        w = {name: v[f"{name}_{n}"] for name in _GPT_SHAPES}
        x = o.layer_norm(h, w["gain1"], w["shift1"])
        q, k, values = (o.linear(x, w[f"w{name}"], w[f"b{name}"]) for name in "qkv")
        a = o.heads_attention(q, k, values, size.batch, size.heads, size.kv_heads, causal=True)
        h = h + o.linear(a, w["wo"], w["bo"])
        x = o.layer_norm(h, w["gain2"], w["shift2"])
        h = h + o.linear(o.gelu(o.linear(x, w["up"], w["b_up"])), w["down"], w["b_down"])
    return o.cross_entropy(o.matmul(o.layer_norm(h, v["gain"], v["shift"]), o.transpose(v["table"])), v["labels"])


def _gpt_workload(name: str) -> Workload:
    size, alphabet = _GPT_SIZES[name]
    title = f"training step with AdamW: {_GPT_DEPTH} layers of width {size.width}, {size.batch} x {size.length} tokens"
    data, loss = partial(_gpt_data, size, alphabet), partial(_gpt, size=size)
    return Workload(f"{title} of {alphabet}", data, tuple(_gpt_shapes(size, alphabet)), loss, Step.TRAIN)


def _workload(title: str, data: Any, loss: Any, *fixed: str, step: Step = Step.GRADIENT) -> Workload:
    return Workload(title, data, tuple(name for name in data() if name not in fixed), loss, step)


TRANSFORMERS: dict[str, Workload] = {
    "transformer": _workload(
        "transformer layer: batch 4 of 128 positions, width 256, 4 heads, 1024 inside, exact GELU", _layer_data, _layer
    ),
    "llama": _workload(
        "Llama block: 128 positions, width 256, 8 heads on 4, SwiGLU of 688", _llama_data, _llama, "cos", "sin"
    ),
    "tiny-llama": _workload(
        "training step with AdamW: 3 Llama blocks of width 128, 16 sequences of 96 characters",
        _tiny_data,
        _tiny,
        *("cos", "sin", "ids", "labels"),
        step=Step.TRAIN,
    ),
    "gpt": _gpt_workload("gpt"),
}

LARGE: dict[str, Workload] = {"gpt-2": _gpt_workload("gpt-2")}
"""Those that are run by name only: a step takes a second, and a process 3 GB."""
