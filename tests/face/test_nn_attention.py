"""Attention beside that of JAX, and its rows that see no key."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn

RNG = np.random.default_rng(0)
Q, K, V = RNG.normal(size=(2, 3, 4, 5)), RNG.normal(size=(2, 6, 2, 5)), RNG.normal(size=(2, 6, 2, 5))
MASK, BIAS = RNG.uniform(size=(2, 1, 3, 6)) > 0.4, RNG.normal(size=(1, 4, 3, 6))
MASK[..., 0] = True
LENGTHS, SIZES = np.array([3, 1], np.int32), np.array([4, 6], np.int32)
HEADS = [RNG.normal(size=(2, 2, 4, 3)) for _ in range(3)]
X, Y = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 5, 6))
WEIGHTS = [RNG.normal(size=(4, 4)), RNG.normal(size=(4, 6)), RNG.normal(size=(4, 6)), RNG.normal(size=(3, 4))]
BIASES = [RNG.normal(size=4), RNG.normal(size=4), RNG.normal(size=4), RNG.normal(size=3)]
all = (0, 1, 2)
F32 = 3e-6
"""The precision of the softmax in `jax.nn.dot_product_attention`, for any element type."""


def _plain(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, scale: float | None = None) -> Any:
    scores = q @ jnp.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jax.nn.softmax(scores) @ v


def _multi_head(x: Any, y: Any, *given: Any) -> Any:
    q, k, v = (
        jnp.swapaxes((one @ w.T + b).reshape(*one.shape[:-1], 2, -1), 1, 2)
        for one, w, b in zip((x, y, y), given[:3], given[4:7], strict=True)
    )
    heads = jnp.swapaxes(_plain(q, k, v, causal=True), 1, 2)
    return heads.reshape(*x.shape[:2], -1) @ given[3].T + given[7]


FAMILY = Family(
    [
        Row("dot_product_attention", nn.dot_product_attention, jax.nn.dot_product_attention, [Q, K, V], all,
            half=4e-2, f64=F32),
        Row("dot_product_attention-causal", partial(nn.dot_product_attention, is_causal=True, scale=0.3),
            partial(jax.nn.dot_product_attention, is_causal=True, scale=0.3), [Q, K, V], all, half=4e-2, f64=F32),
        Row("dot_product_attention-bias", partial(nn.dot_product_attention, local_window_size=(4, 2)),
            partial(jax.nn.dot_product_attention, local_window_size=(4, 2)), [Q, K, V, BIAS, MASK], (0, 1, 2, 3),
            half=0, f64=F32),
        Row("dot_product_attention-lengths", lambda q, k, v, n, m: nn.dot_product_attention(
            q, k, v, query_seq_lengths=n, key_value_seq_lengths=m),
            lambda q, k, v, n, m: jax.nn.dot_product_attention(
                q, k, v, query_seq_lengths=n, key_value_seq_lengths=m), [Q, K, V, LENGTHS, SIZES], all, half=4e-2,
            f64=F32),
        Row("dot_product_attention-one", lambda q, k, v: nn.dot_product_attention(q[0], k[0], v[0]),
            lambda q, k, v: jax.nn.dot_product_attention(q[0], k[0], v[0]), [Q, K, V], all, half=4e-2, f64=F32),
        Row("scaled-causal", partial(nn.scaled_dot_product_attention, is_causal=True), partial(_plain, causal=True),
            HEADS, all, half=4e-2),
        Row("scaled-mask", lambda q, k, v, m: nn.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0], m),
            lambda q, k, v, m: _plain(q[0, 0], k[0, 0], v[0, 0], m), [*HEADS, np.tri(4, 4, 1, dtype=bool)], all,
            half=4e-2),
        Row("scaled-bias", lambda q, k, v, m: nn.scaled_dot_product_attention(q[:, 0], k[:, 0], v[:, 0], m, scale=0.2),
            lambda q, k, v, m: _plain(q[:, 0], k[:, 0], v[:, 0], m, scale=0.2),
            [*HEADS, RNG.normal(size=(4, 4))], (0, 1, 2, 3), half=0),
        Row("scaled-5d", lambda q, k, v, m: nn.scaled_dot_product_attention(q[None], k[None], v[None], m),
            lambda q, k, v, m: _plain(q, k, v, m)[None], [*HEADS, RNG.uniform(size=(2, 1, 4, 4)) < 0.9], all,
            half=4e-2),
        Row("multi_head_attention", lambda x, y, *w: nn.multi_head_attention(x, y, y, 2, *w, is_causal=True),
            _multi_head, [X, Y, *WEIGHTS, *BIASES], tuple(range(10)), half=8e-2),
    ]
)  # fmt: skip


@pytest.mark.parametrize("name", FAMILY.names)
def test_attention_is_that_of_jax(name: str) -> None:
    FAMILY.check(name)


def test_a_query_without_a_key_is_zero_and_dropout_keeps_the_mean() -> None:
    q, k, v = (np.stack([one[0]] * 500) for one in HEADS)
    mask = np.ones((4, 4), bool)
    mask[2] = False

    def program(q: Any, k: Any, v: Any, key: Any) -> Any:
        def attend(q: Any, key: Any = None) -> Any:
            return nn.scaled_dot_product_attention(q, k, v, mask, 0.25, dropout_key=key)

        return attend(q), attend(q, key), rlx.grad(lambda q: attend(q).sum() + attend(q, key).sum())(q)

    plain, dropped, gradient = rlx.compile(program)(q, k, v, np.array([1, 2]))
    assert not plain[:, :, 2].any() and not dropped[:, :, 2].any()
    assert np.isfinite(gradient).all() and not gradient[:, :, 2].any()
    assert abs(dropped - plain).max() > 0.1
    np.testing.assert_allclose(dropped.mean(0), plain[0], atol=0.15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.dot_product_attention(Q, K[0], V), r"expected query \[B, T, N, H\]"),
        (lambda: nn.dot_product_attention(Q[:, :, :3], K, V), "expected a multiple of 2 key heads, got 3"),
        (lambda: nn.dot_product_attention(Q, K, V, mask=MASK[0]), "mask: expected 4 axes"),
        (lambda: nn.dot_product_attention(Q, K, V, mask=BIAS), "mask: expected booleans, got float64"),
        (lambda: nn.scaled_dot_product_attention(Q, Q[:, :1], Q[:, :1]), "pass enable_gqa=True"),
        (lambda: nn.scaled_dot_product_attention(Q, Q[0], Q), "of one rank"),
        (lambda: nn.multi_head_attention(X, Y, Y, 3, *WEIGHTS), "q_weight: expected a multiple of 3 heads"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
