"""Layers of transformers with learnt positions."""

from typing import Any

import numpy as np
from numerics.blocks import activations, layer_norm, sample
from numerics.blocks.self_attention import attend, heads, packed

from xdsl_rlx.dialects.hir.transformer_layers import TransformerBlockOp, TransformerLayerOp


def _attended(np_: Any, x: Any, count: int, w: dict[str, Any], **options: Any) -> Any:
    q, k, v = (heads(y, count) for y in np_.split(x @ w["qkv_w"] + w.get("qkv_b", 0.0), 3, axis=-1))
    return packed(attend(np_, q, k, v, **options)) @ w["out_w"] + w.get("out_b", 0.0)


def _inner(np_: Any, x: Any, w: dict[str, Any], activation: str) -> Any:
    h = activations(np_)[activation](x @ w["fc1_w"] + w.get("fc1_b", 0.0))
    return h @ w["fc2_w"] + w.get("fc2_b", 0.0)


def _layer(count: int, activation: str, eps1: float, eps2: float) -> Any:
    def reference(np_: Any, hidden: Any, mask: Any = None, **w: Any) -> Any:
        seen = _attended(np_, hidden, count, w, mask=mask, kind="none" if mask is None else "custom")
        h = layer_norm(np_, hidden + seen, w["ln1_g"], w.get("ln1_b", 0.0), eps1)
        return layer_norm(np_, h + _inner(np_, h, w, activation), w["ln2_g"], w.get("ln2_b", 0.0), eps2)

    return reference


def _block(count: int, activation: str, **options: Any) -> Any:
    def reference(np_: Any, x: Any, mask: Any = None, **w: Any) -> Any:
        n = layer_norm(np_, x, w["ln1_g"], w.get("ln1_b", 0.0))
        h = x + _attended(np_, n, count, w, mask=mask, **options)
        return h + _inner(np_, layer_norm(np_, h, w["ln2_g"], w.get("ln2_b", 0.0)), w, activation)

    return reference


def _shapes(width: int, inner: int) -> dict[str, Any]:
    return {
        "qkv_w": (width, 3 * width),
        "out_w": (width, width),
        "ln1_g": (width,),
        "fc1_w": (width, inner),
        "fc2_w": (inner, width),
        "ln2_g": (width,),
    }


def _biases(width: int, inner: int) -> dict[str, Any]:
    rest = dict.fromkeys(("out_b", "ln1_b", "fc2_b", "ln2_b"), (width,))
    return {"qkv_b": (3 * width,), "fc1_b": (inner,), **rest}


_MASK = np.array([[1, 0, 1], [0, 0, 0]], bool)

SAMPLES = (
    sample(
        "transformer_layer",
        TransformerLayerOp,
        _layer(2, "gelu", 1e-5, 1e-5),
        {"hidden": (2, 3, 6), **_shapes(6, 5), **_biases(6, 5), "mask": _MASK},
        num_heads=2,
    ),
    sample(
        "transformer_layer-bare",
        TransformerLayerOp,
        _layer(1, "silu", 0.02, 0.03),
        {"hidden": (1, 3, 4), **_shapes(4, 3), "fc1_b": (3,)},
        head_dim=4,
        activation="silu",
        eps1=0.02,
        eps2=0.03,
    ),
    sample(
        "transformer_block",
        TransformerBlockOp,
        _block(3, "gelu", kind="causal"),
        {"x": (2, 3, 6), **_shapes(6, 5), **_biases(6, 5)},
        num_heads=3,
    ),
    sample(
        "transformer_block-bare",
        TransformerBlockOp,
        _block(1, "tanh", kind="sliding_window", window=1, softcap=2.0),
        {"x": (1, 4, 3), **_shapes(3, 2)},
        num_heads=1,
        activation="tanh",
        mask_kind="sliding_window",
        window=1,
        attn_logit_softcap=2.0,
    ),
    sample(
        "transformer_block-hidden",
        TransformerBlockOp,
        _block(2, "gelu", kind="custom"),
        {"x": (2, 3, 4), **_shapes(4, 3), "out_b": (4,), "mask": _MASK},
        num_heads=2,
    ),
)
