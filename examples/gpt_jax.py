"""The model of gpt.py in JAX with optax, as a reference for its length and its losses.

The model and its training are between the two "--8<--" lines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from gpt import CLIP, DECAY, DEPTH, HEADS, LENGTH, RATE, STEPS, WARMUP, WIDTH, Batch


# --8<-- the model and its training
def initial_params(key: Any, alphabet: int) -> Any:
    layer = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    shapes = {"characters": (alphabet, WIDTH), "places": (LENGTH, WIDTH), "layers": [layer] * DEPTH}
    leaves, tree = jax.tree.flatten(shapes, is_leaf=lambda x: isinstance(x, tuple))
    keys, draw = jax.random.split(key, len(leaves)), jax.nn.initializers.lecun_normal()
    return jax.tree.unflatten(tree, [draw(k, shape) for k, shape in zip(keys, leaves, strict=True)])


def model(params: Any, ids: Any) -> Any:
    x = params["characters"][ids] + params["places"]
    for layer in params["layers"]:
        qkv = jnp.split(jax.nn.standardize(x, epsilon=1e-5) @ layer["qkv"], 3, axis=-1)
        q, k, v = (part.reshape(*ids.shape, HEADS, -1) for part in qkv)
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ layer["out"]
        x = x + jax.nn.gelu(jax.nn.standardize(x, epsilon=1e-5) @ layer["up"], approximate=False) @ layer["down"]
    return jax.nn.standardize(x, epsilon=1e-5) @ params["characters"].T


def loss(params: Any, ids: Any, following: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(model(params, ids), following).mean()


@partial(jax.jit, donate_argnums=0)
def train(state: Any, ids: Any, following: Any) -> Any:
    params, kept = state
    value, gradients = jax.value_and_grad(loss)(params, ids, following)
    updates, kept = optimiser.update(gradients, kept, params)
    return value, (optax.apply_updates(params, updates), kept)


rate = optax.warmup_cosine_decay_schedule(0.0, RATE, WARMUP, STEPS)
optimiser = optax.chain(optax.clip_by_global_norm(CLIP), optax.adamw(rate, weight_decay=DECAY))
# --8<--


def trainer(params: Any) -> Callable[[Batch], float]:
    """Return a training step that starts from these weights and returns the loss of a batch."""
    params = jax.tree.map(jnp.array, params)
    state = params, optimiser.init(params)

    def step(batch: Batch) -> float:
        nonlocal state
        value, state = train(state, *batch)
        return float(value)

    return step
