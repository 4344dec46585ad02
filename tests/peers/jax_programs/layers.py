"""Programs of libraries of layers: Flax (linen and nnx), Equinox and Haiku, with their modules as arguments."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from flax.core import freeze
from jax import random as jr
from peers.jax_programs.program import BOTH, SECOND, VALUES, Programs, arrays, numbers

FLAX, EQUINOX, HAIKU = Programs("Flax"), Programs("Equinox"), Programs("Haiku")
draw = numbers(3)
KEY = jr.key(0)


def linen(module: Any, *inputs: Any, **options: Any) -> tuple[Any, ...]:
    """A module's parameters and its inputs."""
    return (arrays(module.init({"params": KEY, "dropout": KEY}, *inputs, **options)), *inputs)


class _Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(8, name="hidden")(x))
        return nn.Dense(3)(nn.LayerNorm()(x))


class _Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(4, (3, 3))(x))
        x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.max_pool(nn.Conv(3, (3, 3), strides=2, padding="VALID")(x), (2, 2), (1, 1), padding="SAME")
        return nn.Dense(3)(x.reshape(len(x), -1))


class _Normalised(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.BatchNorm(use_running_average=False)(nn.Dense(6)(x))
        x = nn.GroupNorm(num_groups=2)(nn.silu(x))
        return nn.RMSNorm()(x)


class _Encoder(nn.Module):
    @nn.compact
    def __call__(self, tokens, mask):
        x = nn.Embed(9, 8)(tokens)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x), mask=nn.make_attention_mask(mask, mask))
        return x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))


class _Recurrent(nn.Module):
    @nn.compact
    def __call__(self, xs):
        zeros = jnp.zeros((len(xs), 4), xs.dtype)
        forward = nn.RNN(nn.LSTMCell(4))(xs, initial_carry=(zeros, zeros))
        return nn.RNN(nn.GRUCell(4), reverse=True, keep_order=True)(forward, initial_carry=zeros)


class _Stack(nn.Module):
    @nn.compact
    def __call__(self, x):
        class Block(nn.Module):
            @nn.compact
            def __call__(self, x, _):
                return x + nn.tanh(nn.Dense(4)(x)), None

        scanned = nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return scanned()(x, None)[0]


class _Upsampled(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.leaky_relu(nn.ConvTranspose(3, (3, 3), strides=(2, 2))(x))
        return nn.Conv(2, (3, 3), feature_group_count=1, kernel_dilation=2)(
            nn.Conv(3, (3, 3), feature_group_count=3)(x)
        )


def _linen_program(
    name: str, module: Any, *inputs: Any, compared: str = BOTH, slack: float = 1e-9, **options: Any
) -> None:
    def f(variables, *xs):
        found = module.apply(variables, *xs, mutable=list(set(variables) - {"params"}) or False, **options)
        return found

    f.__name__ = name
    FLAX.add(
        *linen(module, *inputs, **options), compared=compared, slack=slack, tolerance=2e-5, argnums=(0,), page="linen"
    )(f)


_linen_program("linen_mlp", _Mlp(), draw(5, 4), compared=SECOND)
_linen_program("linen_cnn", _Cnn(), draw(2, 8, 8, 3))
_linen_program("linen_normalised", _Normalised(), draw(5, 4))
_linen_program(
    "linen_encoder",
    _Encoder(),
    np.array([[1, 2, 8], [0, 3, 0]], np.int32),
    np.array([[1, 1, 1], [1, 1, 0]], np.float32),
)
_linen_program("linen_recurrent", _Recurrent(), draw(2, 5, 3))
_linen_program("linen_scanned_blocks", _Stack(), draw(2, 4))
_linen_program("linen_upsampled", _Upsampled(), draw(1, 4, 4, 2))
_linen_program("linen_conv_line", nn.Conv(3, (3,), padding="CAUSAL"), draw(2, 6, 2), compared=SECOND)


_DROPOUT = nn.Sequential([nn.Dense(6), nn.Dropout(0.5, deterministic=False), nn.Dense(2)])


@FLAX.add(*linen(_DROPOUT, draw(4, 3)), jr.key(5), compared=SECOND, argnums=(0, 1), page="linen")
def linen_dropout(variables, x, key):
    return _DROPOUT.apply(variables, x, rngs={"dropout": key})


@FLAX.add(freeze(linen(_Mlp(), draw(5, 4))[0]), draw(5, 4), compared=BOTH, argnums=(0,), page="linen")
def linen_frozen_variables(variables, x):
    return jnp.mean(_Mlp().apply(variables, x) ** 2)


def _nnx_program(name: str, module: Any, *inputs: Any, compared: str = BOTH, slack: float = 1e-9) -> None:
    """The parameters of a module are an argument; its structure and its other state belong to the function."""
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    others = arrays(rest)

    def f(params, *xs):
        return nnx.merge(graph, params, others)(*xs)

    f.__name__ = name
    FLAX.add(arrays(params), *inputs, compared=compared, slack=slack, tolerance=2e-5, argnums=(0,), page="nnx")(f)


class _NnxMlp(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.first, self.second = nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 2, rngs=rngs)
        self.norm = nnx.LayerNorm(8, rngs=rngs)

    def __call__(self, x):
        return self.second(nnx.gelu(self.norm(self.first(x))))


class _NnxCnn(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.conv = nnx.Conv(2, 4, kernel_size=(3, 3), rngs=rngs)
        self.out = nnx.Linear(36, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.conv(x)), (2, 2), (2, 2))
        return self.out(x.reshape(len(x), -1))


class _NnxTwoParts(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(7, 8, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)

    def __call__(self, tokens):
        return self.embed.attend(self.attention(self.embed(tokens)))


class _NnxLstm(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.cell = nnx.OptimizedLSTMCell(3, 4, rngs=rngs)

    def __call__(self, xs):
        zeros = jnp.zeros((len(xs), 4), xs.dtype)
        return nnx.RNN(self.cell, rngs=nnx.Rngs(0))(xs, initial_carry=(zeros, zeros))


_nnx_program("nnx_mlp", _NnxMlp(nnx.Rngs(0)), draw(5, 4), compared=SECOND)
_nnx_program("nnx_cnn", _NnxCnn(nnx.Rngs(0)), draw(2, 6, 6, 2))
# nnx.Embed keeps the dtype it is built with: results and the tangent, a sum of 48 products, are f32 for f64 parameters.
# With f64 softmax in jax.nn, JAX's tangent moves by 1.4e-6, and so does ours.
_nnx_program("nnx_attention", _NnxTwoParts(nnx.Rngs(0)), np.array([[1, 2, 6], [0, 3, 0]], np.int32), slack=1e-5)
_nnx_program("nnx_group_norm", nnx.GroupNorm(4, num_groups=2, rngs=nnx.Rngs(0)), draw(3, 4))
_nnx_program("nnx_lstm", _NnxLstm(nnx.Rngs(0)), draw(2, 5, 3))


def _eqx_program(
    name: str, module: Any, *inputs: Any, call: Callable[..., Any] | None = None, compared: str = BOTH
) -> None:
    params, rest = eqx.partition(module, eqx.is_inexact_array)

    def f(params, *xs):
        module = eqx.combine(params, rest)
        return module(*xs) if call is None else call(module, *xs)

    f.__name__ = name
    EQUINOX.add(arrays(params), *inputs, compared=compared, tolerance=2e-5, argnums=(0,))(f)


_K = jr.split(KEY, 12)
_eqx_program("eqx_mlp", eqx.nn.MLP(4, 2, 8, 2, key=_K[0]), draw(4), compared=SECOND)
_eqx_program("eqx_mlp_of_rows", eqx.nn.MLP(4, 2, 8, 1, key=_K[0]), draw(5, 4), call=lambda m, x: jax.vmap(m)(x))
_eqx_program("eqx_linear", eqx.nn.Linear(4, 3, key=_K[1]), draw(4), compared=SECOND)
_eqx_program("eqx_conv", eqx.nn.Conv2d(2, 3, 3, padding=1, key=_K[2]), draw(2, 5, 5), compared=SECOND)
_eqx_program("eqx_layer_norm", eqx.nn.LayerNorm(4), draw(4), compared=SECOND)
_eqx_program("eqx_gru_cell", eqx.nn.GRUCell(3, 4, key=_K[3]), draw(6, 3),
             call=lambda m, xs: jax.lax.scan(lambda h, x: (m(x, h), h), jnp.zeros(4, m.bias.dtype), xs))  # fmt: skip
_eqx_program("eqx_attention", eqx.nn.MultiheadAttention(2, 8, key=_K[4]), draw(5, 8), call=lambda m, x: m(x, x, x))
_eqx_program("eqx_rotary", eqx.nn.RotaryPositionalEmbedding(4), draw(5, 4), compared=VALUES)
_eqx_program(
    "eqx_embedding", eqx.nn.Embedding(7, 4, key=_K[5]), np.array([1, 6, 1], np.int32), call=lambda m, i: jax.vmap(m)(i)
)
_eqx_program("eqx_pools", eqx.nn.Conv1d(2, 3, 3, key=_K[6]), draw(2, 9),
             call=lambda m, x: (eqx.nn.MaxPool1d(2, 2)(m(x)), eqx.nn.AvgPool1d(3, 1)(m(x)), eqx.nn.AdaptiveAvgPool1d(2)(m(x))))  # fmt: skip  # noqa: E501
_eqx_program("eqx_group_norm", eqx.nn.GroupNorm(2, 4), draw(4, 6))


def _haiku_program(
    name: str, forward: Callable[..., Any], *inputs: Any, compared: str = BOTH, keyed: bool = False
) -> None:
    model = hk.transform(forward)
    params = arrays(model.init(jr.PRNGKey(0), *inputs))

    def f(params, *xs):
        return model.apply(params, jr.PRNGKey(1) if keyed else None, *xs)

    f.__name__ = name
    HAIKU.add(params, *inputs, compared=compared, tolerance=2e-5, argnums=(0,))(f)


def _haiku_lstm(x):
    state = jax.tree.map(lambda s: s.astype(x.dtype), hk.LSTM(4).initial_state(2))
    return hk.dynamic_unroll(hk.LSTM(4), x, state)[0]


_haiku_program("haiku_mlp", lambda x: hk.nets.MLP([8, 3])(x), draw(5, 4), compared=SECOND)
_haiku_program(
    "haiku_cnn",
    lambda x: hk.Linear(2)(hk.Flatten()(hk.MaxPool(2, 2, "SAME")(jax.nn.relu(hk.Conv2D(3, 3)(x))))),
    draw(2, 6, 6, 2),
)
_haiku_program("haiku_lstm", _haiku_lstm, draw(5, 2, 3))
_haiku_program(
    "haiku_attention",
    lambda x: hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling())(x, x, x),
    draw(2, 5, 8),
)
_haiku_program("haiku_layer_norm", lambda x: hk.LayerNorm(-1, True, True)(hk.Linear(4)(x)), draw(3, 5), compared=SECOND)
_haiku_program("haiku_dropout", lambda x: hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(4)(x)), draw(3, 5), keyed=True)
