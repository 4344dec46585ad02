"""Normalisation beside formulas in JAX."""

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
X = RNG.normal(1, 2, (3, 4, 5))
IMAGES = RNG.normal(1, 2, (2, 4, 3, 5))
MEAN, VAR, GAIN, OFFSET = RNG.normal(size=4), *RNG.uniform(0.5, 2, (2, 4)), RNG.normal(size=4)
VECTOR = [MEAN, VAR, GAIN, OFFSET]
EMPTY = np.zeros((0, 4, 5))


def _along(vector: Any, axis: int, rank: int) -> Any:
    return vector.reshape(tuple(-1 if i == axis % rank else 1 for i in range(rank)))


def _normal(x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
    mean, var = jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
    return (x - mean) / jnp.sqrt(var + eps)


def _affine(y: Any, gain: Any, offset: Any, axis: int = 1) -> Any:
    return y * _along(gain, axis, y.ndim) + _along(offset, axis, y.ndim)


def _inference(x: Any, mean: Any, var: Any, gain: Any, offset: Any, axis: int = 1) -> Any:
    mean, var = (_along(one, axis, x.ndim) for one in (mean, var))
    return _affine((x - mean) / jnp.sqrt(var + 1e-5), gain, offset, axis)


def _training(x: Any, mean: Any, var: Any, gain: Any, offset: Any, momentum: float = 0.1, axis: int = 1) -> Any:
    axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    new = [(1 - momentum) * mean + momentum * jnp.mean(x, axes), (1 - momentum) * var]
    new[1] = new[1] + momentum * jnp.var(x, axes, ddof=1)
    return _affine(_normal(x, axes), gain, offset, axis), *map(jax.lax.stop_gradient, new)


def _groups(x: Any, gain: Any, offset: Any, groups: int) -> Any:
    parts = x.reshape(x.shape[0], groups, -1)
    return _affine(_normal(parts, (2,)).reshape(x.shape), gain, offset)


def _instances(x: Any, mean: Any, var: Any, gain: Any, offset: Any) -> Any:
    axes = tuple(range(2, x.ndim))
    mean = 0.9 * mean + 0.1 * jnp.mean(jnp.mean(x, axes), 0)
    var = 0.9 * var + 0.1 * jnp.mean(jnp.var(x, axes, ddof=1), 0)
    return _affine(_normal(x, axes), gain, offset), *map(jax.lax.stop_gradient, (mean, var))


def _rms(x: Any, weight: Any = 1.0, axis: Any = -1, eps: float = 2.0**-52) -> Any:
    return x / jnp.sqrt(jnp.mean(x * x, axis, keepdims=True) + eps) * weight


def _local(x: Any, size: int) -> Any:
    squares = jnp.pad(x * x, ((0, 0), (size // 2, (size - 1) // 2), (0, 0)))
    total = sum(squares[:, i : i + x.shape[1]] for i in range(size))
    return x / (0.5 + 0.3 / size * total) ** 0.75


def _spectral(weight: Any, u: Any, iterations: int) -> Any:
    matrix = weight.reshape(weight.shape[0], -1)
    still, u = jax.lax.stop_gradient(matrix), jax.lax.stop_gradient(u)
    v = u @ still / jnp.linalg.norm(u @ still)
    for i in range(iterations):
        v = u @ still / jnp.linalg.norm(u @ still) if i else v
        u = still @ v / jnp.linalg.norm(still @ v)
    return weight / (u @ matrix @ v), u


train = partial(nn.batch_norm, training=True)

FAMILY = Family(
    [
        Row("batch_norm", nn.batch_norm, _inference, [IMAGES, *VECTOR], (0, 1, 2, 3, 4)),
        Row("batch_norm-training", train, _training, [IMAGES, *VECTOR], (0, 1, 2, 3, 4), half=4e-2),
        Row(
            "batch_norm-axis",
            partial(train, momentum=0.4, axis=-1),
            partial(_training, momentum=0.4, axis=-1),
            [IMAGES.transpose(0, 2, 3, 1), *VECTOR],
            (0, 3, 4),
            half=4e-2,
        ),
        Row(
            "batch_norm-plain",
            lambda x: train(x, None, None),
            lambda x: _training(x, 0.0, 0.0, np.ones(4), np.zeros(4), 1.0),
            [X[:, :, 0]],
            half=0,
        ),
        Row("batch_norm-empty", train, lambda x, m, v, g, b: (x, m, v), [EMPTY, *VECTOR], (0, 3)),
        Row(
            "group_norm",
            lambda x, g, b: nn.group_norm(x, 2, g, b),
            partial(_groups, groups=2),
            [X, GAIN, OFFSET],
            (0, 1, 2),
            half=3e-2,
        ),
        Row("instance_norm", nn.instance_norm, lambda x: _normal(x, (2, 3)), [IMAGES], half=3e-2),
        Row("instance_norm-running", nn.instance_norm, _instances, [IMAGES, *VECTOR], (0, 3, 4), half=4e-2),
        Row(
            "layer_norm",
            lambda x, g, b: nn.layer_norm(x, g, b, axis=1),
            lambda x, g, b: _affine(_normal(x, (1,)), g, b),
            [X, GAIN, OFFSET],
            (0, 1, 2),
            half=3e-2,
        ),
        Row(
            "layer_norm-axes",
            lambda x, g: nn.layer_norm(x, g, axis=(-1, 0)),
            lambda x, g: _normal(x, (0, 2)) * g[:, None],
            [X, RNG.normal(size=(3, 5))],
            (0, 1),
            half=3e-2,
        ),
        Row("rms_norm", nn.rms_norm, _rms, [X], half=3e-2, f32=2e-5),
        Row(
            "rms_norm-axes",
            lambda x, w: nn.rms_norm(x, w, axis=(1, 2), eps=0.1),
            lambda x, w: _rms(x, w, (1, 2), 0.1),
            [X, RNG.normal(size=(4, 5))],
            (0, 1),
            half=3e-2,
        ),
        Row("standardize", nn.standardize, jax.nn.standardize, [X], half=4e-2, f64=1e-10),
        Row(
            "standardize-where",
            lambda x: nn.standardize(x, axis=(0, 2), where=x > 0),
            lambda x: jax.nn.standardize(x, axis=(0, 2), where=x > 0),
            [X],
            half=4e-2,
            f64=1e-10,
        ),
        Row(
            "local_response_norm",
            lambda x: nn.local_response_norm(x, 3, 0.3, 0.75, 0.5),
            partial(_local, size=3),
            [X],
            half=3e-2,
        ),
        Row(
            "local_response_norm-wide",
            lambda x: nn.local_response_norm(x, 10, 0.3, 0.75, 0.5),
            partial(_local, size=10),
            [X],
            half=3e-2,
        ),
        Row(
            "weight_norm",
            nn.weight_norm,
            lambda v, g: v * g[:, None, None] / jnp.sqrt(jnp.sum(v * v, (1, 2), keepdims=True)),
            [X, RNG.normal(size=3)],
            (0, 1),
            half=3e-2,
        ),
        Row(
            "weight_norm-all",
            lambda v, g: nn.weight_norm(v, g, None),
            lambda v, g: v * g / jnp.sqrt(jnp.sum(v * v)),
            [X, np.array(0.7)],
            (0, 1),
            half=3e-2,
        ),
        *(
            Row(
                f"spectral_norm-{n}",
                partial(nn.spectral_norm, n_iterations=n),
                partial(_spectral, iterations=n),
                [X, RNG.normal(size=3)],
                half=6e-2,
                f32=1e-4,
            )
            for n in (0, 3)
        ),
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_norm_is_its_formula(name: str) -> None:
    FAMILY.check(name)


def test_half_statistics_are_wide() -> None:
    """In float16 the sum of these numbers overflows, and the running statistics keep their type."""
    x = (RNG.normal(size=(64, 2, 40)) * 100 + 300).astype(np.float16)
    wide = np.zeros(2, np.float32), np.ones(2, np.float32)
    y, mean, var = rlx.compile(lambda x, m, v: train(x, m, v, momentum=1.0))(x, *wide)
    assert y.dtype == np.float16 and mean.dtype == var.dtype == np.float32
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(var, exact.var((0, 2), ddof=1), rtol=1e-4)
    np.testing.assert_allclose(
        y, (exact - exact.mean((0, 2), keepdims=True)) / exact.std((0, 2), keepdims=True), atol=3e-3
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train(X[:1, :, 0], None, None), "more than one value per channel"),
        (lambda: nn.batch_norm(X, None, None), "running_mean: expected an array"),
        (lambda: nn.batch_norm(X, MEAN, None), "both running_mean and running_var"),
        (lambda: nn.batch_norm(X, MEAN[:3], VAR), r"running_mean: expected shape \[4\]"),
        (lambda: nn.batch_norm(X, MEAN, VAR, axis=3), "axis: expected an integer from -3 to 2"),
        (lambda: nn.group_norm(X, 3), "num_groups: expected a divisor of 4"),
        (lambda: nn.instance_norm(X[:, :, :1]), "more than one position"),
        (lambda: nn.layer_norm(X, axis=(1, -2)), "axis: expected different axes"),
        (lambda: nn.rms_norm(X, MEAN), r"weight: expected shape \[5\]"),
        (lambda: nn.rms_norm(X, (5,), MEAN), r"got \(5,\); there is no argument normalized_shape: axis= selects"),
        (lambda: nn.layer_norm(X, 5, MEAN), r"got 5; there is no argument normalized_shape: axis= selects the axes"),
        (lambda: nn.local_response_norm(X, 0), "size: expected an integer of at least 1"),
        (lambda: nn.spectral_norm(X, MEAN), r"u: expected shape \[3\]"),
        (lambda: nn.spectral_norm(X, MEAN[:3], -1), "n_iterations: expected an integer of at least 0"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
