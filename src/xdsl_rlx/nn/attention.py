"""Attention, with the names of `jax.nn` and of `torch.nn.functional`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionOp, AttentionOptions, configure
from xdsl_rlx.nn.arguments import check_integer, floating, kind_of
from xdsl_rlx.nn.dropout import dropout
from xdsl_rlx.nn.linear import linear
from xdsl_rlx.op_functions import function
from xdsl_rlx.tracing import builder_of


def _both(mask: Any, other: Any) -> Any:
    return other if mask is None else mask & other


def _attended(
    q: Any,
    k: Any,
    v: Any,
    layout: str,
    mask: Any,
    bias: Any,
    is_causal: bool,
    scale: float | None,
    dropout_p: float,
    dropout_key: Any,
) -> Any:
    """Attention of heads in one of two layouts; a mask and a bias broadcast with `[B, H, Sq, Sk]`."""
    at = 1 if layout == "bshd" else 2
    drops = dropout_key is not None and dropout_p
    if drops and is_causal:
        mask = _both(mask, np.tril(np.ones((1, 1, q.shape[at], k.shape[at]), bool)))
    if drops:
        if layout == "bshd":
            q, k, v = (np.swapaxes(x, 1, 2) for x in (q, k, v))
        y = _with_dropout(q, k, v, mask, bias, scale, dropout_p, dropout_key)
        return np.swapaxes(y, 1, 2) if layout == "bshd" else y
    mask, causal = _causal(q.shape[at], k.shape[at], mask, bias, is_causal)
    operand, chosen = _configuration(q, k, layout, mask, bias, causal, scale)
    return function("attention")(q, k, v, operand, **chosen)


def _configuration(
    q: Any, k: Any, layout: str, mask: Any, bias: Any, causal: bool, scale: float | None
) -> tuple[Any, AttentionOptions]:
    """The operand of `mir.attention` that is its mask, and its other arguments."""
    of = 2 if layout == "bshd" else 1
    operand, kind = None, "causal" if causal else None
    if bias is not None:
        operand, kind = (bias if mask is None else np.where(mask, bias, -inf)).astype(q.dtype), "bias"
    elif mask is not None:
        operand, kind = mask, "custom"
    if operand is not None:
        operand = np.broadcast_to(operand, (*operand.shape[:3], k.shape[2 if of == 1 else 1]))
    return operand, {
        "num_heads": q.shape[of],
        "num_kv_heads": k.shape[of],
        "mask_kind": kind,
        "score_scale": q.shape[-1] ** -0.5 if scale is None else scale,
        "layout": layout,
    }


def attention_with_logarithms(
    q: Any, k: Any, v: Any, attn_mask: Any, is_causal: bool, scale: float | None
) -> tuple[Any, Any]:
    """
    Return attention of heads `[B, H, S, D]` as of `scaled_dot_product_attention`, and `log sum exp` of all scores.

    The logarithms `[B, H, S]` and the result are for `attention_gradients`. Keys may have fewer heads than queries.
    """
    operands, mask, chosen = _of_heads((q, k, v), attn_mask, is_causal, scale)
    b = builder_of(q, k, v)
    assert b is not None
    made = b.emit(AttentionOp, *operands, mask, **chosen)
    return b.value(made.result), b.value(made.lse)


def attention_gradients(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    logarithms: Any,
    cotangent: Any,
    attn_mask: Any,
    is_causal: bool,
    scale: float | None,
) -> tuple[Any, ...]:
    """Return the gradients of q, k and v, from both results of `attention_with_logarithms` on the same arguments."""
    operands, mask, chosen = _of_heads((q, k, v), attn_mask, is_causal, scale)
    b = builder_of(q, k, v, out, cotangent)
    assert b is not None
    saved = b.operand(out), b.operand(logarithms), b.operand(cotangent)
    made = b.emit(AttentionBackwardOp, *operands, *saved, mask, **chosen)
    return tuple(b.value(one) for one in made.results[:3])


def _of_heads(
    qkv: tuple[Any, Any, Any], attn_mask: Any, is_causal: bool, scale: float | None
) -> tuple[tuple[SSAValue, SSAValue, SSAValue], SSAValue | None, dict[str, Any]]:
    """Operands, mask and configuration of `mir.attention` for heads in layout "bhsd"."""
    q, k, v = qkv
    b = builder_of(*qkv, attn_mask)
    assert b is not None
    if attn_mask is not None:
        attn_mask = np.reshape(attn_mask, (*(1,) * (4 - np.ndim(attn_mask)), *attn_mask.shape))
    mask, bias = (attn_mask, None) if attn_mask is None or kind_of(attn_mask) == "b" else (None, attn_mask)
    mask, causal = _causal(q.shape[2], k.shape[2], mask, bias, is_causal)
    operand, given = _configuration(q, k, "bhsd", mask, bias, causal, scale)
    fourth = None if operand is None else b.operand(operand)
    operands = b.operand(q), b.operand(k), b.operand(v)
    return operands, fourth, configure(operands, fourth, given)


def _causal(queries: int, keys: int, mask: Any, bias: Any, is_causal: bool) -> tuple[Any, bool]:
    """The mask, and whether the attention is causal beside it: as many keys as queries and no other mask."""
    causal = is_causal and mask is None and bias is None and queries == keys
    if is_causal and not causal:
        mask = _both(mask, np.tril(np.ones((1, 1, queries, keys), bool)))
    return mask, causal


def _with_dropout(q: Any, k: Any, v: Any, mask: Any, bias: Any, scale: float | None, p: float, key: Any) -> Any:
    """Attention of heads `[B, H, S, D]` whose probabilities are stored, since some of them are dropped."""
    group = q.shape[1] // k.shape[1]
    if group > 1:
        k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias.astype(scores.dtype)
    scores = scores if mask is None else np.where(mask, scores, -inf)
    nothing = np.max(scores, axis=-1, keepdims=True) == -inf
    weights = np.where(nothing, 0, function("softmax")(np.where(nothing, 0, scores), -1))
    return dropout(weights, p, key) @ v


def _axes_of_mask(name: str, what: str, mask: Any) -> None:
    if mask is not None and np.ndim(mask) != 4:
        raise GraphError(
            f"{name}: {what}: expected 4 axes that broadcast to [B, N, T, S], got {list(np.shape(mask))}; add axes of "
            f"length 1"
        )


def _is_bool(name: str, mask: Any) -> None:
    if mask is not None and kind_of(mask) != "b":
        raise GraphError(f"{name}: mask: expected booleans, got {np.dtype(mask.dtype)}; pass numbers to add as bias")


@composite
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
) -> Any:
    """
    Return `softmax(scale q k^T + bias) v` of each head, as `jax.nn.dot_product_attention`.

    `query` is `[B, T, N, H]`, `key` and `value` are `[B, S, K, H]`, the result is `[B, T, N, H]`; each key head serves
    `N / K` query heads. Without the batch axis all are of rank 3. `scale` is by default `1 / sqrt(H)`. `bias` and the
    boolean `mask`, true where a query sees a key, broadcast to `[B, N, T, S]`.

    With `is_causal` query `i` sees keys up to `i`. The lengths `[B]` hide keys, and set queries to 0. A window
    `(left, right)` or one number for both hides keys further away. A query that sees no key gives 0 and has no
    gradient; in JAX it gives the mean of the values (Vaswani et al., 2017).
    """
    name = "dot_product_attention"
    single = np.ndim(query) == 3
    if single:
        query, key, value = query[None], key[None], value[None]
    if {np.ndim(query), np.ndim(key), np.ndim(value)} != {4}:
        raise GraphError(
            f"{name}: expected query [B, T, N, H], key and value [B, S, K, H], got {list(np.shape(query))}, "
            f"{list(np.shape(key))} and {list(np.shape(value))}"
        )
    if key.shape[2] < 1 or query.shape[2] % key.shape[2]:
        raise GraphError(f"{name}: query: expected a multiple of {key.shape[2]} key heads, got {query.shape[2]}")
    _is_bool(name, mask)
    _axes_of_mask(name, "mask", mask)
    _axes_of_mask(name, "bias", bias)
    query = floating(query)
    rows, columns = np.arange(query.shape[1])[:, None], np.arange(key.shape[1])
    if local_window_size is not None:
        window = local_window_size if isinstance(local_window_size, tuple) else (local_window_size,) * 2
        near = (columns >= rows - window[0]) & (columns <= rows + window[1])
        mask = _both(mask, near[None, None])
    if key_value_seq_lengths is not None:
        mask = _both(mask, (columns < key_value_seq_lengths[:, None])[:, None, None])
    y = _attended(query, key, value, "bshd", mask, bias, is_causal, scale, 0.0, None)
    if query_seq_lengths is not None:
        inside = rows[:, 0] < query_seq_lengths[:, None]
        y = np.where(inside[:, :, None, None], y, 0)
    return y[0] if single else y


@composite
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    dropout_key: Any = None,
) -> Any:
    """
    Return `softmax(scale q k^T + mask) v`, as in PyTorch.

    `query` is `[..., H, L, E]`, `key` and `value` are `[..., H, S, E]`, the result is `[..., H, L, E]`; with
    `enable_gqa` keys may have fewer heads, which divide those of queries. `attn_mask` broadcasts to `[..., H, L, S]`:
    booleans, true where a query sees a key, or numbers to add. With `is_causal` query `i` sees keys up to `i`. With a
    `dropout_key`, probabilities are dropped as by `dropout`. A query that sees no key gives 0 and has no gradient.
    """
    name, rank = "scaled_dot_product_attention", np.ndim(query)
    if rank < 2 or not rank == np.ndim(key) == np.ndim(value):
        raise GraphError(
            f"{name}: expected query [..., H, L, E], key and value [..., H, S, E] of one rank, got "
            f"{list(np.shape(query))}, {list(np.shape(key))} and {list(np.shape(value))}"
        )
    if rank > 2 and query.shape[-3] != key.shape[-3] and not enable_gqa:
        raise GraphError(f"{name}: key: expected {query.shape[-3]} heads, got {key.shape[-3]}; pass enable_gqa=True")
    query = floating(query)
    mask, bias = (attn_mask, None) if attn_mask is None or kind_of(attn_mask) == "b" else (None, attn_mask)
    lead = query.shape[:-3]

    def four(x: Any) -> Any:
        heads = x.shape[-3] if np.ndim(x) > 2 else 1
        return x.reshape(prod(x.shape[:-3]), heads, *x.shape[-2:])

    def broadcast(x: Any) -> Any:
        if x is None:
            return None
        if np.ndim(x) > 4 or (np.ndim(x) == 4 and len(lead) > 1):
            x = np.broadcast_to(x, (*lead, *x.shape[-3:]))
        return four(np.reshape(x, (*(1,) * (2 - np.ndim(x)), *x.shape)))

    y = _attended(
        four(query),
        four(key),
        four(value),
        "bhsd",
        broadcast(mask),
        broadcast(bias),
        is_causal,
        scale,
        dropout_p,
        dropout_key,
    )
    return y.reshape(*query.shape[:-1], value.shape[-1])


@composite
def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    num_heads: int,
    q_weight: Any,
    k_weight: Any,
    v_weight: Any,
    out_weight: Any,
    q_bias: Any = None,
    k_bias: Any = None,
    v_bias: Any = None,
    out_bias: Any = None,
    *,
    mask: Any = None,
    is_causal: bool = False,
    num_kv_heads: int | None = None,
    dropout_p: float = 0.0,
    dropout_key: Any = None,
) -> Any:
    """
    Return the attention of `num_heads` heads between projections of a query, keys and values, projected once more.

    `query` is `[..., L, E]`, `key` and `value` are `[..., S, E']`; weights are `[O, I]` as of `linear`, and the rows of
    the first three are those of all heads, one after the other. The other arguments are those of
    `scaled_dot_product_attention` of heads `[..., num_heads, L, D]` (Vaswani et al., 2017).
    """
    name = "multi_head_attention"
    check_integer(name, "num_heads", num_heads, 1)
    kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    check_integer(name, "num_kv_heads", kv_heads, 1)

    def heads(x: Any, weight: Any, bias: Any, count: int, what: str) -> Any:
        y = linear(x, weight, bias)
        if y.shape[-1] % count:
            raise GraphError(f"{name}: {what}: expected a multiple of {count} heads as rows, got {y.shape[-1]}")
        return np.swapaxes(y.reshape(*y.shape[:-1], count, y.shape[-1] // count), -3, -2)

    y = scaled_dot_product_attention(
        heads(query, q_weight, q_bias, num_heads, "q_weight"),
        heads(key, k_weight, k_bias, kv_heads, "k_weight"),
        heads(value, v_weight, v_bias, kv_heads, "v_weight"),
        mask,
        dropout_p,
        is_causal,
        enable_gqa=kv_heads != num_heads,
        dropout_key=dropout_key,
    )
    y = np.swapaxes(y, -3, -2)
    return linear(y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1]), out_weight, out_bias)
