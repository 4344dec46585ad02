"""Rows of the attention that PyTorch calls where gradients are taken, and of its gradient, which reads its results."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionOp, Configuration, HeadLayout, MaskKind
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, dtype_of


def _configured(
    query: Any, key: Any, is_causal: bool, attn_mask: Any, scale: float | None
) -> tuple[Any, Configuration]:
    """The mask, if there is one, and the configuration of `mir.attention`."""
    queries, keys = query.shape[2], key.shape[2]
    kind, mask = MaskKind.NONE, None
    if is_causal and queries == keys:
        kind = MaskKind.CAUSAL
    elif is_causal:
        # aligned at the top left, and a causal mask of mir at the bottom right
        kind, mask = MaskKind.CUSTOM, np.tri(queries, keys, dtype=np.bool_)
    elif attn_mask is not None:
        is_bool = category(dtype_of(attn_mask)) == 0
        kind, mask = MaskKind.CUSTOM if is_bool else MaskKind.BIAS, attn_mask
        mask = mask if is_bool else cast(mask, str(query.dtype))
    if mask is not None:
        mask = mask.reshape((1,) * (4 - np.ndim(mask)) + mask.shape)
        if kind is MaskKind.CUSTOM:
            mask = np.broadcast_to(mask, (*mask.shape[:3], keys))
    width = query.shape[3] ** -0.5 if scale is None else scale
    return mask, Configuration(query.shape[1], key.shape[1], HeadLayout.BHSD, kind, None, width, None)


@ROWS.add("_scaled_dot_product_flash_attention_for_cpu.default")
def _forward(
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
    """The result, and the logarithms of the sums of the exponentials of each row's scores."""
    if dropout_p:
        raise NotImplementedError("dropout inside of flash attention, which PyTorch does not have either")
    mask, configuration = _configured(query, key, is_causal, attn_mask, scale)
    b = query.b
    operands = [b.operand(x) for x in (query, key, value)]
    made = b.emit(AttentionOp, *operands, None if mask is None else b.operand(mask), configuration)
    return [b.value(made.result), cast(b.value(made.lse), c.dtypes[1])]


@ROWS.add("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def _backward(
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
    mask, configuration = _configured(query, key, is_causal, attn_mask, scale)
    b = query.b
    q, k, v, y, dy = (b.operand(x) for x in (query, key, value, out, grad_out))
    lse = b.operand(logsumexp)
    fourth = None if mask is None else b.operand(mask)
    made = b.emit(AttentionBackwardOp, (q, k, v), fourth, (y, lse), dy, None, configuration)
    return [b.value(x) for x in made.results]
