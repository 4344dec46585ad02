"""Attention and its backward op."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import Operand, Sample, Sampler, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionExtents, AttentionLike, AttentionOp
from xdsl_rlx.dialects.mir.attention import MaskKind as Kind
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads, shape_with

PADDING = values(1, 1, 0, 1, 1, 0, 0, 1, 0.5, 0.25, 1)
"""Masks that hide some keys."""

BITS = values(1, 0, 1, 1, 0, 1, 1)


def _nothing_first(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A mask whose first row hides all keys."""
    mask = rng.integers(0, 2, shape)
    mask[..., 0, :] = 0
    mask[..., 1:, 0] = 1
    return mask


def _with_infinities(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A bias that hides some keys, and a row of them altogether."""
    bias = np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape))
    bias[..., 1] = 0.5
    bias[..., 0, :] = -np.inf
    return bias


def _tensors(e: AttentionExtents, layout: HeadLayout) -> list[tuple[int, ...]]:
    """The shapes of q, k, v and of the output."""
    heads = (
        Heads(e.batch, e.queries, e.heads, e.width),
        Heads(e.batch, e.keys, e.kv_heads, e.width),
        Heads(e.batch, e.keys, e.kv_heads, e.value_width),
        Heads(e.batch, e.queries, e.heads, e.value_width),
    )
    return [shape_with(layout, x) for x in heads]


Row = tuple[str, AttentionExtents, HeadLayout, tuple[tuple[int, ...], Sampler | None, str] | None, dict[str, Any]]

_SMALL = AttentionExtents(2, 2, 2, 5, 7, 3, 3)

ROWS: list[Row] = [
    ("", _SMALL, HeadLayout.PACKED, None, {}),
    ("-bhsd-causal", _SMALL, HeadLayout.BHSD, None, {"mask_kind": "causal"}),
    ("-bshd-causal-late", AttentionExtents(1, 2, 2, 6, 4, 4, 4), HeadLayout.BSHD, None, {"mask_kind": "causal"}),
    (
        "-window",
        AttentionExtents(1, 2, 2, 6, 6, 3, 3),
        HeadLayout.PACKED,
        None,
        {"mask_kind": "sliding_window", "window": 2},
    ),
    (
        "-window-0",
        AttentionExtents(1, 1, 1, 3, 4, 2, 2),
        HeadLayout.BHSD,
        None,
        {"mask_kind": "sliding_window", "window": 0},
    ),
    ("-shared-keys", AttentionExtents(2, 6, 2, 4, 5, 3, 2), HeadLayout.PACKED, None, {"mask_kind": "causal"}),
    ("-one-key-head", AttentionExtents(1, 3, 1, 4, 4, 2, 5), HeadLayout.BHSD, None, {}),
    ("-padding", _SMALL, HeadLayout.PACKED, ((2, 7), PADDING, "float"), {"mask_kind": "custom"}),
    ("-mask", _SMALL, HeadLayout.BHSD, ((2, 2, 5, 7), _nothing_first, "i1"), {}),
    ("-mask-of-all-heads", _SMALL, HeadLayout.BSHD, ((1, 1, 5, 7), BITS, "i1"), {}),
    ("-mask-of-keys", _SMALL, HeadLayout.PACKED, ((2, 1, 1, 7), BITS, "i1"), {}),
    ("-hides-everything", AttentionExtents(1, 1, 1, 2, 3, 2, 2), HeadLayout.BHSD, ((1, 3), values(0), "i1"), {}),
    ("-bias", _SMALL, HeadLayout.PACKED, ((2, 2, 5, 7), None, "float"), {"mask_kind": "bias"}),
    ("-bias-of-all-batches", _SMALL, HeadLayout.PACKED, ((1, 2, 5, 7), None, "float"), {"mask_kind": "bias"}),
    ("-bias-of-all-queries", _SMALL, HeadLayout.BSHD, ((2, 1, 1, 7), None, "float"), {"mask_kind": "bias"}),
    (
        "-bias-of-all-heads",
        AttentionExtents(2, 4, 2, 3, 4, 2, 2),
        HeadLayout.BHSD,
        ((1, 1, 3, 4), None, "float"),
        {"mask_kind": "bias", "attn_logit_softcap": 1.5},
    ),
    ("-softcap", _SMALL, HeadLayout.PACKED, None, {"attn_logit_softcap": 0.7, "score_scale": 0.9}),
    ("-scale", _SMALL, HeadLayout.BHSD, None, {"score_scale": -1.25, "mask_kind": "causal"}),
    ("-one", AttentionExtents(1, 1, 1, 1, 1, 1, 1), HeadLayout.PACKED, None, {}),
]
"""What is sampled: extents, layout, mask, attributes."""

EDGES: list[Row] = [
    ("-infinite-bias", _SMALL, HeadLayout.BHSD, ((2, 2, 5, 7), _with_infinities, "float"), {"mask_kind": "bias"}),
    ("-no-keys", AttentionExtents(1, 2, 2, 3, 0, 2, 2), HeadLayout.BHSD, None, {}),
    ("-no-queries", AttentionExtents(1, 2, 2, 0, 3, 2, 2), HeadLayout.PACKED, None, {"mask_kind": "causal"}),
    (
        "-blocks-window",
        AttentionExtents(1, 1, 1, 70, 300, 4, 4),
        HeadLayout.BHSD,
        None,
        {"mask_kind": "sliding_window", "window": 9},
    ),
]

BLOCKS: list[Row] = [
    ("-blocks-causal", AttentionExtents(1, 2, 1, 130, 130, 5, 5), HeadLayout.PACKED, None, {"mask_kind": "causal"}),
    ("-blocks", AttentionExtents(1, 1, 1, 67, 530, 3, 3), HeadLayout.BHSD, None, {}),
]
"""Longer than the blocks of the nests."""


def _sample(op: type[AttentionLike], row: Row, differentiate: bool, dtypes: tuple[str, ...] = ("f32", "f64")) -> Sample:
    suffix, e, layout, mask, attributes = row
    q, k, v, out = _tensors(e, layout)
    shapes, backward = [q, k, v], op is AttentionBackwardOp
    operands = [Operand(shape) for shape in (*shapes, *([out] if backward else []))]
    chosen = {"num_heads": e.heads, "num_kv_heads": e.kv_heads, "layout": layout, **attributes}
    differentiable = list(range(len(operands)))
    if mask is not None:
        shape, sampler, dtype = mask
        operands.append(Operand(shape, dtype=dtype) if sampler is None else Operand(shape, sampler, dtype))
        if attributes.get("mask_kind") == "bias":
            differentiable.append(len(operands) - 1)

    def build(m: Any, *xs: Any) -> Any:
        return m.attention_backward(*xs, **chosen) if backward else m.attention(*xs, **chosen)

    name = f"{op.name.removeprefix('mir.')}{suffix}"
    tol = 32.0 if e.queries < 60 else 64.0
    wrt = tuple(differentiable) if differentiate else ()
    return Sample(name, op, build, tuple(operands), dtypes, differentiable=wrt, tol=tol)


def _with_lse(m: Any, q: Any, k: Any, v: Any) -> Any:
    """The log-sum-exp as the first result: it is differentiated too."""
    out = m.attention(q, k, v, num_heads=2, mask_kind="causal")
    return m.value(out.ssa.owner.lse), out


_LSE = Sample(
    "attention-lse",
    AttentionOp,
    _with_lse,
    (Operand((2, 5, 6)), Operand((2, 7, 6)), Operand((2, 7, 6))),
    differentiable=(0, 1),
    tol=32,
)


def _attention(op: AttentionLike, fixed: Callable[[Any], Any], np_: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Output, log-sum-exp and probabilities by the definition."""
    e, mask = op.extents, None if len(tensors) < 4 else tensors[3]
    q, k, v = (_heads_first(op, x, n) for x, n in zip(tensors[:3], (e.heads, e.kv_heads, e.kv_heads), strict=True))
    k, v = (np_.repeat(x, e.group, axis=1) for x in (k, v))
    z = np_.einsum("bhid,bhjd->bhij", q, k) * op.scale
    if op.softcap is not None:
        z = op.softcap * np_.tanh(z / op.softcap)
    seen = np.ones((1, 1, e.queries, e.keys), bool)
    if op.kind == Kind.BIAS:
        z = z + mask.reshape(op.mask_shape)
    elif op.kind == Kind.CUSTOM:
        seen = ~(mask.reshape(op.mask_shape) < 0.5)
    elif op.kind != Kind.NONE:
        j, i = np.arange(e.keys)[None, :], np.arange(e.queries)[:, None] + e.keys - e.queries
        seen = (j <= i) & (j >= i - (e.keys + e.queries if op.window is None else op.window.value.data))
    z = np_.where(seen, z, -np.inf)
    top = np_.max(z, axis=-1, keepdims=True, initial=-np.inf)
    top = fixed(np_.where(top == -np.inf, 0.0, top))
    p = np_.exp(z - top)
    total = np_.sum(p, axis=-1, keepdims=True)
    some = np_.where(total == 0, 1.0, total)
    out = np_.einsum("bhij,bhjd->bhid", p / some, v)
    lse = np_.where(total == 0, -np.inf, np_.log(some) + top)[..., 0]
    return _as_laid_out(op, out), lse, p / some


def _heads_first(op: AttentionLike, x: Any, heads: int) -> Any:
    """`[B, H, S, D]` of a tensor of heads."""
    if op.layout.data == HeadLayout.PACKED:
        x = x.reshape(*x.shape[:2], heads, x.shape[2] // heads)
    return x if op.layout.data == HeadLayout.BHSD else x.transpose(0, 2, 1, 3)


def _as_laid_out(op: AttentionLike, x: Any) -> Any:
    """The inverse."""
    if op.layout.data != HeadLayout.BHSD:
        x = x.transpose(0, 2, 1, 3)
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3]) if op.layout.data == HeadLayout.PACKED else x


def _oracle_attention(op: AttentionOp, *tensors: Array) -> tuple[Array, ...]:
    return _attention(op, lambda x: x, np, [widen(x) for x in tensors])[:2]


def _sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    axes = tuple(axis for axis, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if m == 1 != n)
    return x.sum(axis=axes, keepdims=True)


def _named(op: AttentionBackwardOp, tensors: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """q, k, v with the mask, dy, and d_lse (0 if there is none)."""
    given = dict(zip(op.operands, tensors, strict=True))
    qkv = [given[x] for x in op.inputs if x is not None]
    return qkv, given[op.dy], 0.0 if op.d_lse is None else given[op.d_lse]


def _oracle_backward(op: AttentionBackwardOp, *tensors: Array) -> tuple[Array, ...]:
    """The formulas; what was saved is computed again."""
    e = op.extents
    inputs, dy, d_lse = _named(op, [widen(x) for x in tensors])
    _, _, p = _attention(op, lambda x: x, np, inputs)
    q, k, v = (_heads_first(op, x, n) for x, n in zip(inputs[:3], (e.heads, e.kv_heads, e.kv_heads), strict=True))
    k, v = (np.repeat(x, e.group, axis=1) for x in (k, v))
    dy = _heads_first(op, dy, e.heads)
    dp = np.einsum("bhid,bhjd->bhij", dy, v)
    dz = p * (dp - np.sum(p * dp, axis=-1, keepdims=True) + (d_lse if op.d_lse is None else d_lse[..., None]))
    ds = dz * op.scale
    if op.softcap is not None:
        ds = ds * (1 - np.tanh(np.einsum("bhid,bhjd->bhij", q, k) * op.scale / op.softcap) ** 2)
    grouped = (e.batch, e.kv_heads, e.group, e.keys)
    dk = np.einsum("bhij,bhid->bhjd", ds, q).reshape(*grouped, e.width).sum(axis=2)
    dv = np.einsum("bhij,bhid->bhjd", p, dy).reshape(*grouped, e.value_width).sum(axis=2)
    found = tuple(_as_laid_out(op, x) for x in (np.einsum("bhij,bhjd->bhid", ds, k), dk, dv))
    return found if op.dbias is None else (*found, _sum_to(dz, op.mask_shape))


def _jax_attention(op: AttentionOp, *tensors: Any) -> tuple[Any, ...]:
    return _attention(op, jax.lax.stop_gradient, jnp, tensors)[:2]


def _jax_backward(op: AttentionBackwardOp, *tensors: Any) -> tuple[Any, ...]:
    inputs, dy, d_lse = _named(op, tensors)
    count = 3 if op.dbias is None else 4
    forward = lambda *xs: _attention(op, jax.lax.stop_gradient, jnp, [*xs, *inputs[count:]])[:2]  # noqa: E731
    (_, lse), pull = jax.vjp(forward, *inputs[:count])
    return pull((dy, jnp.broadcast_to(d_lse, lse.shape)))


_MATRICES = Sample(
    "attention-matrices",
    AttentionOp,
    lambda m, q, k, v: m.attention(q, k, v, num_heads=2, num_kv_heads=1, mask_kind="causal"),
    (Operand((4, 6)), Operand((5, 3)), Operand((5, 3))),
    differentiable=(0, 1, 2),
    tol=32,
)

_KINDS = (AttentionOp, AttentionBackwardOp)
_HALF = (_SMALL, HeadLayout.PACKED, ((2, 2, 5, 7), None, "float"), {"mask_kind": "bias"})

SAMPLES = (
    *(_sample(op, row, True) for op in _KINDS for row in ROWS),
    *(_sample(op, row, False) for op in _KINDS for row in (*EDGES, *BLOCKS)),
    *(_sample(op, ("-half", *_HALF), False, ("f16", "bf16")) for op in _KINDS),
    _LSE,
    _MATRICES,
)
ORACLE = {AttentionOp: _oracle_attention, AttentionBackwardOp: _oracle_backward}
JAX = {AttentionOp: _jax_attention, AttentionBackwardOp: _jax_backward}
