"""Rows of attention, and of its gradient, which uses the result and the logarithms that the forward pass saves."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

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
