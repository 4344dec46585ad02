"""Activation functions beside those of JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn
from xdsl_rlx.nn import activations

RNG = np.random.default_rng(0)
X = RNG.uniform(-8, 8, (3, 7))
EVEN = RNG.uniform(-2, 2, (5, 6))
EMPTY = np.zeros((0, 4))

FAMILY = Family(
    [
        *(
            Row(name, getattr(nn, name), getattr(jax.nn, name), [X])
            for name in ("celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu")
        ),
        *(
            Row(name, getattr(nn, name), getattr(jax.nn, name), [X])
            for name in ("log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign")
        ),
        *(Row(name, getattr(nn, name), getattr(jax.nn, name), [X]) for name in ("softmax", "softplus", "squareplus")),
        *(Row(name, getattr(nn, name), getattr(jax.nn, name), [X]) for name in ("identity", "sparse_plus")),
        Row("sparse_sigmoid", nn.sparse_sigmoid, jax.nn.sparse_sigmoid, [X]),
        Row("log1mexp", nn.log1mexp, jax.nn.log1mexp, [abs(X) / 2]),
        Row("logmeanexp", nn.logmeanexp, jax.nn.logmeanexp, [X]),
        Row("logmeanexp-axis", lambda x: nn.logmeanexp(x, 1, x > -6), lambda x: jax.nn.logmeanexp(x, 1, x > -6), [X]),
        Row("swish", nn.swish, jax.nn.swish, [X]),
        Row("celu-alpha", lambda x: nn.celu(x, 0.3), lambda x: jax.nn.celu(x, 0.3), [X]),
        Row("elu-alpha", lambda x, a: nn.elu(x, a), lambda x, a: jax.nn.elu(x, a), [X, np.array(0.7)], (0, 1)),
        Row("gelu-exact", lambda x: nn.gelu(x, False), lambda x: jax.nn.gelu(x, False), [X]),
        Row("glu", nn.glu, jax.nn.glu, [EVEN]),
        Row("glu-axis", lambda x: nn.glu(x.T, 0), lambda x: jax.nn.glu(x.T, 0), [EVEN]),
        Row("hard_tanh-bounds", lambda x: nn.hard_tanh(x, -2.0, 3.0), lambda x: jnp.clip(x, -2.0, 3.0), [X]),
        Row("prelu", nn.prelu, lambda x, w: jnp.where(x >= 0, x, w * x), [X, RNG.uniform(0, 1, 7)], (0, 1)),
        Row(
            "prelu-axis",
            lambda x, w: nn.prelu(x, w, axis=0),
            lambda x, w: jnp.where(x >= 0, x, w[:, None] * x),
            [X, RNG.uniform(0, 1, 3)],
            (0, 1),
        ),
        Row("softmax-axis", lambda x: nn.softmax(x, 0), lambda x: jax.nn.softmax(x, 0), [X]),
        Row("softmin", nn.softmin, lambda x: jax.nn.softmax(-x), [X]),
        Row("softplus-beta", lambda x: nn.softplus(x, 3.0), lambda x: jax.nn.softplus(3.0 * x) / 3.0, [X]),
        Row("softshrink", nn.softshrink, lambda x: x - jnp.clip(x, -0.5, 0.5), [X]),
        Row("tanhshrink", nn.tanhshrink, lambda x: x - jnp.tanh(x), [X], half=5e-2),
        Row("threshold", lambda x: nn.threshold(x, 1.0, 9.0), lambda x: jnp.where(x > 1.0, x, 9.0), [X]),
        Row("empty", nn.mish, jax.nn.mish, [EMPTY]),
        Row("empty-rows", nn.softmax, jax.nn.softmax, [EMPTY]),
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_an_activation_is_that_of_jax(name: str) -> None:
    FAMILY.check(name)


def test_nan_stays_nan() -> None:
    x = np.array([np.nan])
    given = {"prelu": (x, 0.5), "threshold": (x, 0.0, 1.0), "glu": (np.array([np.nan, 1.0]),)}
    functions = {name: getattr(nn, name) for name in nn.__all__}
    names = [name for name, function in functions.items() if function.__module__ == activations.__name__]
    found = rlx.compile(lambda every: {name: functions[name](*every[name]) for name in names})(
        {name: given.get(name, (x,)) for name in names}
    )
    assert len(found) > 20 and all(np.isnan(y).all() for y in found.values())
