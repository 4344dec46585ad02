"""Layers of decoders."""

from typing import Any

import numpy as np
from numerics.blocks import rms_norm, sample
from numerics.blocks.feed_forward import swiglu
from numerics.blocks.self_attention import attend, heads, packed, rope

from xdsl_rlx.dialects.hir.decoder import LlamaDecoderBlockOp, Qwen35MtpHeadOp


def _llama(count: int, kv: int, eps: float = 1e-5, **options: Any) -> Any:
    def reference(np_: Any, x: Any, mask: Any = None, **w: Any) -> Any:
        n = rms_norm(np_, x, w["ln1_g"], w.get("ln1_b", 0.0), eps)
        q, k, v = (heads(n @ w[name], number) for name, number in (("q_w", count), ("k_w", kv), ("v_w", kv)))
        q, k = (rope(np_, y, w["cos"], w["sin"]) for y in (q, k))
        r = x + packed(attend(np_, q, k, v, mask=mask, **options)) @ w["o_w"]
        m = rms_norm(np_, r, w["ln2_g"], w.get("ln2_b", 0.0), eps)
        return r + swiglu(np_, m, w["up_w"], w["gate_w"], w["down_w"])

    return reference


def _llama_block(**options: Any) -> Any:
    def build(m: Any, **given: Any) -> Any:
        return m.llama_decoder_block(**{"ln1_b": None, "ln2_b": None, **given}, **options)

    return build


def _llama_shapes(b: int, s: int, w: int, count: int, kv: int, d: int, f: int, **more: Any) -> dict[str, Any]:
    weights = {"q_w": (w, count * d), "k_w": (w, kv * d), "v_w": (w, kv * d), "o_w": (count * d, w)}
    inner = {"gate_w": (w, f), "up_w": (w, f), "down_w": (f, w)}
    return {
        "x": (b, s, w),
        "ln1_g": (w,),
        **weights,
        "ln2_g": (w,),
        **inner,
        "cos": (s, d // 2),
        "sin": (s, d // 2),
        **more,
    }


_HIDDEN = np.array([[1, 1, 0], [0, 0, 0]], bool)


def _qwen(count: int, kv: int, n_rot: int | None, eps: float) -> Any:
    def reference(np_: Any, h_pre_norm: Any, input_ids: Any, cos: Any, sin: Any, last_token_idx: Any, **w: Any) -> Any:
        def norm(x: Any, name: str) -> Any:
            return rms_norm(np_, x, w[f"{name}_w"], w[f"{name}_b"], eps)

        words = norm(w["embed_w"][input_ids], "enorm")
        cur = np_.concatenate([words, norm(h_pre_norm, "hnorm")], axis=2) @ w["eh_w"]
        n = norm(cur, "attn_norm")
        both = heads(n @ w["q_gate_w"], count)
        q, gate = np_.split(both, 2, axis=-1)
        q = rope(np_, norm(q, "q_norm"), cos, sin, n_rot)
        k = rope(np_, norm(heads(n @ w["k_w"], kv), "k_norm"), cos, sin, n_rot)
        seen = attend(np_, q, k, heads(n @ w["v_w"], kv), kind="causal")
        h = cur + packed(seen / (1 + np_.exp(-gate))) @ w["o_w"]
        f = h + swiglu(np_, norm(h, "post_norm"), w["up_w"], w["gate_w"], w["down_w"])
        last = f[np.arange(f.shape[0]), last_token_idx][:, None]
        return norm(last, "head_norm") @ w["lm_head_w"]

    return reference


def _qwen_shapes(b: int, s: int, e: int, count: int, kv: int, d: int, f: int, words: int) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    wide = {name: (e,) for norm in ("hnorm", "enorm", "attn_norm", "post_norm", "head_norm") for name in _pair(norm)}
    narrow = {name: (d,) for norm in ("q_norm", "k_norm") for name in _pair(norm)}
    return {
        "h_pre_norm": (b, s, e),
        "input_ids": rng.integers(0, words, (b, s)).astype(np.int32),
        "cos": (s, d // 2),
        "sin": (s, d // 2),
        "last_token_idx": rng.integers(0, s, b).astype(np.int32),
        "embed_w": (words, e),
        **wide,
        **narrow,
        "eh_w": (2 * e, e),
        "q_gate_w": (e, count * 2 * d),
        "k_w": (e, kv * d),
        "v_w": (e, kv * d),
        "o_w": (count * d, e),
        "gate_w": (e, f),
        "up_w": (e, f),
        "down_w": (f, e),
        "lm_head_w": (e, words + 1),
    }


def _pair(norm: str) -> tuple[str, str]:
    return f"{norm}_w", f"{norm}_b"


SAMPLES = (
    sample(
        "llama_decoder_block",
        LlamaDecoderBlockOp,
        _llama(4, 2, kind="causal"),
        _llama_shapes(2, 3, 6, 4, 2, 4, 5),
        build=_llama_block(num_heads=4),
    ),
    sample(
        "llama_decoder_block-window",
        LlamaDecoderBlockOp,
        _llama(2, 2, 0.02, kind="sliding_window", window=1, softcap=4.0, scale=0.4),
        _llama_shapes(1, 4, 5, 2, 2, 2, 3, ln1_b=(5,), ln2_b=(5,)),
        build=_llama_block(
            num_heads=2,
            head_dim=2,
            eps=0.02,
            mask_kind="sliding_window",
            window=1,
            score_scale=0.4,
            attn_logit_softcap=4.0,
        ),
    ),
    sample(
        "llama_decoder_block-hidden",
        LlamaDecoderBlockOp,
        _llama(3, 1, kind="custom"),
        _llama_shapes(2, 3, 4, 3, 1, 2, 3, ln2_b=(4,), mask=_HIDDEN),
        build=_llama_block(num_heads=3, num_kv_heads=1),
    ),
    sample(
        "llama_decoder_block-bias",
        LlamaDecoderBlockOp,
        _llama(2, 1, kind="bias"),
        _llama_shapes(2, 3, 4, 2, 1, 2, 3, mask=(1, 2, 3, 3)),
        build=_llama_block(num_heads=2, mask_kind="bias"),
    ),
    sample(
        "qwen35_mtp_head",
        Qwen35MtpHeadOp,
        _qwen(4, 2, 2, 1e-5),
        _qwen_shapes(2, 3, 6, 4, 2, 4, 5, 7),
        num_heads=4,
        n_rot=2,
    ),
    sample(
        "qwen35_mtp_head-one",
        Qwen35MtpHeadOp,
        _qwen(1, 1, None, 0.01),
        _qwen_shapes(1, 1, 3, 1, 1, 2, 3, 2),
        num_heads=1,
        num_kv_heads=1,
        head_dim=2,
        eps=0.01,
    ),
)
