"""Attention and what belongs to it."""

from typing import Any

import numpy as np
from numerics.blocks import sample

from xdsl_rlx.dialects.hir.self_attention import AttentionOp, RopeOp, SelfAttentionOp


def rope(np_: Any, x: Any, cos: Any, sin: Any, n_rot: int | None = None, neighbours: bool = False) -> Any:
    """Of x `[B, S, H, D]`."""
    n_rot = x.shape[-1] if n_rot is None else n_rot
    cos, sin = (table[..., None, : n_rot // 2] for table in (cos, sin))
    turned, rest = x[..., :n_rot], x[..., n_rot:]
    if neighbours:
        a, b = turned[..., ::2], turned[..., 1::2]
        turned = np_.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(turned.shape)
    else:
        a, b = np_.split(turned, 2, axis=-1)
        turned = np_.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
    return np_.concatenate([turned, rest], axis=-1)


def attend(
    np_: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    kind: str = "none",
    mask: Any = None,
    window: int = 0,
    scale: float | None = None,
    softcap: float | None = None,
) -> Any:
    """Of q `[B, Sq, H, D]`, k and v `[B, Sk, KV, D]`; a row that sees nothing is 0."""
    group = q.shape[2] // k.shape[2]
    k, v = (np_.repeat(x, group, axis=2) for x in (k, v))
    z = np_.einsum("bihd,bjhd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        z = softcap * np_.tanh(z / softcap)
    i, j = np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1], np.arange(k.shape[1])
    seen: Any = np.ones((1, 1, q.shape[1], k.shape[1]), bool)
    if kind == "bias":
        z = z + mask
    elif kind == "custom":
        seen = (mask if mask.ndim == 4 else mask[:, None, None, :]) >= 0.5
    elif kind != "none":
        seen = (j <= i) & ((kind == "causal") | (j >= i - window))
    e = np_.where(seen, np_.exp(np_.where(seen, z, 0.0)), 0.0)
    total = np_.sum(e, axis=-1, keepdims=True)
    return np_.einsum("bhij,bjhd->bihd", e / np_.where(total == 0, 1.0, total), v)


def heads(x: Any, count: int) -> Any:
    """`[B, S, H*D]` as `[B, S, H, D]`."""
    return x.reshape(*x.shape[:2], count, x.shape[2] // count)


def packed(x: Any) -> Any:
    """And back."""
    return x.reshape(*x.shape[:2], -1)


def _attention(count: int, kv: int, **options: Any) -> Any:
    def reference(np_: Any, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return packed(attend(np_, heads(q, count), heads(k, kv), heads(v, kv), mask=mask, **options))

    return reference


_QKV = {"q": (2, 3, 8), "k": (2, 5, 4), "v": (2, 5, 4)}
_SEEN = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0]], bool)
"""The second example sees nothing."""
_PER_HEAD = np.random.default_rng(0).integers(0, 2, (2, 4, 3, 5)).astype(bool)
_PER_HEAD[0, 1, 2] = False
_SHAPES = {**_QKV, "mask": _SEEN}

MASKS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "none": ({}, {}, {}),
    "causal": ({}, {"mask_kind": "causal"}, {"kind": "causal"}),
    "causal-wide": (
        {},
        {"mask_kind": "causal", "score_scale": 0.3, "attn_logit_softcap": 1.5},
        {
            "kind": "causal",
            "scale": 0.3,
            "softcap": 1.5,
        },
    ),
    "window": ({}, {"mask_kind": "sliding_window", "window": 1}, {"kind": "sliding_window", "window": 1}),
    "custom": ({"mask": _SEEN}, {}, {"kind": "custom"}),
    "custom-heads": ({"mask": _PER_HEAD}, {"mask_kind": "custom"}, {"kind": "custom"}),
    "bias": (
        {"mask": (1, 4, 3, 5)},
        {"mask_kind": "bias", "attn_logit_softcap": 2.0},
        {"kind": "bias", "softcap": 2.0},
    ),
}
"""Operands, options and what the reference is told, by the name of a sample."""


def _self_attention(count: int, kv: int, **options: Any) -> Any:
    def reference(np_: Any, x: Any, q_w: Any, k_w: Any, v_w: Any, o_w: Any, mask: Any = None, **more: Any) -> Any:
        q, k, v = (
            heads(x @ w + more.get(bias, 0.0), n)
            for w, bias, n in ((q_w, "q_b", count), (k_w, "k_b", kv), (v_w, "v_b", kv))
        )
        if "cos" in more:
            q, k = (rope(np_, y, more["cos"], more["sin"]) for y in (q, k))
        return packed(attend(np_, q, k, v, mask=mask, **options)) @ o_w + more.get("o_b", 0.0)

    return reference


_WEIGHTS = {"x": (2, 3, 6), "q_w": (6, 8), "k_w": (6, 4), "v_w": (6, 4), "o_w": (8, 5)}
_MORE = {"q_b": (8,), "k_b": (4,), "v_b": (4,), "o_b": (5,), "cos": (2, 3, 1), "sin": (2, 3, 1)}
_TABLES = {"cos": (3, 3), "sin": (3, 3)}

SAMPLES = (
    sample(
        "rope",
        RopeOp,
        lambda np_, x, cos, sin: packed(rope(np_, heads(x, 2), cos, sin)),
        {"x": (2, 3, 12), **_TABLES},
        num_heads=2,
    ),
    sample(
        "rope-neighbours",
        RopeOp,
        lambda np_, x, cos, sin: rope(np_, x, cos, sin, 4, True),
        {"x": (2, 3, 2, 7), **_TABLES},
        n_rot=4,
        layout="bshd",
        pairing="neighbours",
    ),
    *(
        sample(f"attention-{name}", AttentionOp, _attention(4, 2, **told), {**_QKV, **more}, num_heads=4, **options)
        for name, (more, options, told) in MASKS.items()
    ),
    sample(
        "attention-bhsd",
        AttentionOp,
        lambda np_, q, k, v: np_.moveaxis(
            attend(np_, *(np_.moveaxis(x, 1, 2) for x in (q, k, v)), kind="causal"), 1, 2
        ),
        {"q": (2, 3, 2, 3), "k": (2, 1, 2, 3), "v": (2, 1, 2, 5)},
        mask_kind="causal",
        layout="bhsd",
    ),
    sample(
        "attention-matrices",
        AttentionOp,
        lambda np_, q, k, v: packed(attend(np_, *(heads(x[None], 3) for x in (q, k, v))))[0],
        {"q": (1, 9), "k": (4, 9), "v": (4, 9)},
        head_dim=3,
    ),
    sample("self_attention", SelfAttentionOp, _self_attention(4, 2), _WEIGHTS, num_heads=4),
    sample(
        "self_attention-everything",
        SelfAttentionOp,
        _self_attention(4, 2, kind="custom"),
        {**_WEIGHTS, **_MORE, "mask": np.array([[True, False, True], [False, False, False]])},
        num_heads=4,
        num_kv_heads=2,
    ),
    sample(
        "self_attention-bias",
        SelfAttentionOp,
        _self_attention(2, 2, kind="bias", scale=0.2, softcap=3.0),
        {**_WEIGHTS, "q_w": (6, 4), "o_w": (4, 5), "mask": (2, 1, 3, 3)},
        num_heads=2,
        mask_kind="bias",
        score_scale=0.2,
        attn_logit_softcap=3.0,
    ),
)
