"""Rows of attention, and of its gradient, which uses the result and the logarithms that the forward pass saves."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast
from xdsl_rlx.nn.attention import attention_gradients, attention_with_logarithms


@ROWS.add("scaled_dot_product_attention.default")
def _attention(
    c: Call,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention; a causal mask is aligned at the top left."""
    dropout = c.next_key() if dropout_p else None
    return nn.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, dropout
    )


@ROWS.add("_scaled_dot_product_flash_attention_for_cpu.default")
def _flash_attention(
    c: Call,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """With the logarithm of the sum of each query; PyTorch has dropout elsewhere."""
    out, logarithms = attention_with_logarithms(query, key, value, attn_mask, is_causal, scale)
    return [out, cast(logarithms, c.dtypes[1])]


@ROWS.add("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def _flash_attention_backward(
    c: Call,
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    return list(attention_gradients(query, key, value, out, logsumexp, grad_out, attn_mask, is_causal, scale))


def _seen(mask: Any, mask_type: int | None, query: Any) -> Any:
    """The mask of PyTorch's fast paths, where true hides a key, as one where true shows it, with four axes."""
    if mask is None:
        return None
    seen = cast(mask, "i1") == np.bool_(False)
    if mask_type == 1:
        return seen.reshape(query.shape[0], 1, 1, -1)
    return seen.reshape((*(1,) * (4 - np.ndim(mask)), *mask.shape))


def _projected(
    num_heads: int,
    query: Any,
    key: Any,
    value: Any,
    weights: tuple[Any, Any, Any, Any],
    seen: Any,
    need_weights: bool,
    average: bool,
) -> Any:
    """Multi-head attention with the weights of three projections in one array, and its probabilities if asked."""
    qkv_weight, qkv_bias, proj_weight, proj_bias = weights

    def heads(x: Any, number: int) -> Any:
        width = qkv_weight.shape[0] // 3
        rows = slice(number * width, (number + 1) * width)
        y = nn.linear(x, qkv_weight[rows], qkv_bias[rows])
        return np.swapaxes(y.reshape(*y.shape[:2], num_heads, width // num_heads), 1, 2)

    q, k, v = (heads(x, number) for number, x in enumerate((query, key, value)))
    if need_weights:
        scores = q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
        share = nn.softmax(scores if seen is None else np.where(seen, scores, -np.inf))
        y, found = share @ v, np.mean(share, axis=1) if average else share
    else:
        y, found = nn.scaled_dot_product_attention(q, k, v, seen), None
    y = np.swapaxes(y, 1, 2)
    return nn.linear(y.reshape(*y.shape[:2], -1), proj_weight, proj_bias), found


@ROWS.add("_native_multi_head_attention.default", composite=True)
def _native_multi_head_attention(
    c: Call,
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """The fast path of nn.MultiheadAttention, which PyTorch takes where no gradient is wanted."""
    weights = qkv_weight, qkv_bias, proj_weight, proj_bias
    seen = _seen(mask, mask_type, query)
    return list(_projected(num_head, query, key, value, weights, seen, need_weights, average_attn_weights))


@ROWS.add("_transformer_encoder_layer_fwd.default", composite=True)
def _encoder_layer(
    c: Call,
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """The fast path of nn.TransformerEncoderLayer, which PyTorch takes where no gradient is wanted."""
    weights = qkv_weight, qkv_bias, proj_weight, proj_bias
    seen = _seen(mask, mask_type, src)

    def attended(x: Any) -> Any:
        return _projected(num_heads, x, x, x, weights, seen, False, False)[0]

    def fed(x: Any) -> Any:
        h = nn.linear(x, ffn_weight_1, ffn_bias_1)
        return nn.linear(nn.gelu(h, False) if use_gelu else nn.relu(h), ffn_weight_2, ffn_bias_2)

    def first(x: Any) -> Any:
        return nn.layer_norm(x, norm_weight_1, norm_bias_1, -1, eps)

    def second(x: Any) -> Any:
        return nn.layer_norm(x, norm_weight_2, norm_bias_2, -1, eps)

    if norm_first:
        x = src + attended(first(src))
        return x + fed(second(x))
    x = first(src + attended(src))
    return second(x + fed(x))
