"""Transformer blocks."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.families.elementwise import FUNCTIONS, JAX_FUNCTIONS
from numerics.sample import Operand, Sample, normal, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir.transformer import FusedAttentionBlockOp, FusedTransformerLayerOp

_WEIGHT = normal(0.5)


def _operand(*shape: int) -> Operand:
    return Operand(shape, _WEIGHT)


def _block_samples() -> list[Sample]:
    op, hidden = FusedAttentionBlockOp, (Operand((2, 3, 8)), _operand(8, 24), _operand(8, 8))
    biases, tables = (_operand(24), _operand(8)), (_operand(3, 2), _operand(3, 2))
    mask = Operand((2, 3), values(1, 0, 1, 1, 1, 0), "i1")
    with_biases = lambda m, x, w, o, b1, b2: m.fused_attention_block(  # noqa: E731
        x, w, o, num_heads=2, qkv_b=b1, out_b=b2
    )
    turned = lambda m, x, w, o, mask, b1, b2, c, s: m.fused_attention_block(  # noqa: E731
        x, w, o, mask, head_dim=4, qkv_b=b1, out_b=b2, cos=c, sin=s
    )
    plain = lambda m, x, w, o: m.fused_attention_block(x, w, o, num_heads=4)  # noqa: E731
    everything = (*hidden, mask, *biases, *tables)
    return [
        Sample("fused_attention_block", op, plain, hidden, differentiable=(0, 1, 2), tol=64),
        Sample(
            "fused_attention_block-biases", op, with_biases, (*hidden, *biases), differentiable=(0, 1, 2, 3, 4), tol=64
        ),
        Sample("fused_attention_block-rope", op, turned, everything, differentiable=(0, 1, 2, 4, 5, 6, 7), tol=64),
    ]


def _layer_samples() -> list[Sample]:
    op = FusedTransformerLayerOp
    weights = (
        Operand((1, 2, 4)),
        _operand(4, 12),
        _operand(4, 4),
        _operand(4),
        _operand(4, 8),
        _operand(8, 4),
        _operand(4),
    )
    mask = Operand((1, 2, 2, 2), values(1, 0, 1, 1, 1, 1, 0, 1), "i1")
    biases = tuple(_operand(n) for n in (12, 4, 4, 8, 4, 4))
    names = ("qkv_b", "out_b", "ln1_b", "fc1_b", "fc2_b", "ln2_b")

    def with_biases(m: Any, *xs: Any) -> Any:
        return m.fused_transformer_layer(*xs[:8], num_heads=2, **dict(zip(names, xs[8:], strict=True)))

    def without(m: Any, *xs: Any) -> Any:
        return m.fused_transformer_layer(*xs, head_dim=2, activation="silu", eps2=1e-3)

    return [
        Sample(
            "fused_transformer_layer",
            op,
            with_biases,
            (*weights, mask, *biases),
            differentiable=(*range(7), *range(8, 14)),
            tol=256,
        ),
        Sample(
            "fused_transformer_layer-no-biases", op, without, (*weights, mask), differentiable=tuple(range(7)), tol=256
        ),
    ]


def _given(op: Any, tensors: tuple[Any, ...]) -> Any:
    """The operands by name, None where left out."""
    found = dict(zip(op.operands, tensors, strict=True))

    def get(name: str) -> Any:
        value = getattr(op, name)
        return None if value is None else found[value]

    return get


def _block(np_: Any, op: Any, tensors: tuple[Any, ...]) -> Any:
    get, heads = _given(op, tensors), op.heads
    shape = (heads.batch, heads.length, heads.heads, heads.width)
    qkv = get("hidden") @ get("qkv_w")
    if get("qkv_b") is not None:
        qkv = qkv + get("qkv_b")
    q, k, v = (x.reshape(shape).transpose(0, 2, 1, 3) for x in np_.split(qkv, 3, axis=-1))
    if isinstance(op, FusedAttentionBlockOp) and op.cos is not None:
        turn = get("cos") + 1j * get("sin")
        q, k = (_turned(np_, x, turn) for x in (q, k))
    z = q @ k.transpose(0, 1, 3, 2) / np.sqrt(heads.width)
    if get("mask") is not None:
        mask = get("mask")
        z = np_.where((mask if mask.ndim == 4 else mask[:, None, None, :]) < 0.5, -np.inf, z)
    top = np_.max(z, axis=-1, keepdims=True)
    e = np_.exp(z - np_.where(top == -np.inf, 0.0, top))
    total = np_.sum(e, axis=-1, keepdims=True)
    out = (e / np_.where(total == 0, 1.0, total) @ v).transpose(0, 2, 1, 3).reshape(get("hidden").shape) @ get("out_w")
    return out if get("out_b") is None else out + get("out_b")


def _turned(np_: Any, x: Any, turn: Any) -> Any:
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * turn
    return np_.concatenate([z.real, z.imag], axis=-1)


def _norm(np_: Any, x: Any, gain: Any, offset: Any, eps: float) -> Any:
    d = x - np_.mean(x, axis=-1, keepdims=True)
    y = d / np_.sqrt(np_.mean(d * d, axis=-1, keepdims=True) + eps) * gain
    return y if offset is None else y + offset


def _layer(np_: Any, functions: Any, op: FusedTransformerLayerOp, tensors: tuple[Any, ...]) -> Any:
    get = _given(op, tensors)
    h = _block(np_, op, tensors) + get("hidden")
    h = _norm(np_, h, get("ln1_g"), get("ln1_b"), op.eps1.value.data)
    inner = h @ get("fc1_w")
    inner = inner if get("fc1_b") is None else inner + get("fc1_b")
    y = (inner if op.activation is None else functions[op.activation.data](inner)) @ get("fc2_w")
    y = y if get("fc2_b") is None else y + get("fc2_b")
    return _norm(np_, y + h, get("ln2_g"), get("ln2_b"), op.eps2.value.data)


def _wide(tensors: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(widen(x) for x in tensors)


SAMPLES = (*_block_samples(), *_layer_samples())
ORACLE = {
    FusedAttentionBlockOp: lambda op, *tensors: _block(np, op, _wide(tensors)),
    FusedTransformerLayerOp: lambda op, *tensors: _layer(np, FUNCTIONS, op, _wide(tensors)),
}
JAX = {
    FusedAttentionBlockOp: lambda op, *tensors: _block(jnp, op, tensors),
    FusedTransformerLayerOp: lambda op, *tensors: _layer(jnp, JAX_FUNCTIONS, op, tensors),
}
