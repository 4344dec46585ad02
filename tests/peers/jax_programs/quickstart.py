"""Programs of JAX's documentation: quickstart, transformations, control flow, custom derivatives, random numbers."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax import random as jr
from peers.jax_programs.program import BOTH, REVERSE, SECOND, VALUES, Programs, numbers

PROGRAMS = Programs("JAX documentation")
draw = numbers(0)


@PROGRAMS.add(draw(9), compared=SECOND, page="quickstart")
def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


@PROGRAMS.add(draw(3), compared=SECOND, page="quickstart")
def sum_logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))


@PROGRAMS.add(draw(4), compared=SECOND, page="quickstart")
def jacobian_of_logistic(x):
    return jax.jacobian(jnp.exp)(x) @ x + jax.jacfwd(lambda x: jnp.sum(1.0 / (1.0 + jnp.exp(-x))))(x)


@PROGRAMS.add(draw(5, 6), draw(3, 6), page="quickstart, vmap", compared=SECOND)
def batched_product(matrix, batch):
    return jax.vmap(lambda v: jnp.dot(matrix, v))(batch)


@PROGRAMS.add(draw(20), draw(3), page="automatic vectorization", compared=SECOND)
def convolve(x, w):
    output = [jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)]
    return jnp.array(output)


@PROGRAMS.add(draw(4, 20), draw(4, 3), page="automatic vectorization", compared=SECOND)
def convolve_batched(xs, ws):
    return jax.vmap(lambda x, w: jnp.stack([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, 19)]))(xs, ws)


INPUTS = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]], np.float32)


@PROGRAMS.add(
    {"W": draw(3), "b": np.float32(0.3)},
    INPUTS,
    np.array([1, 1, 0, 1], np.float32),
    compared=SECOND,
    page="autodiff cookbook",
)
def logistic_regression(params, inputs, targets):
    predictions = 0.5 * (jnp.tanh((jnp.dot(inputs, params["W"]) + params["b"]) / 2) + 1)
    label_probs = predictions * targets + (1 - predictions) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


@PROGRAMS.add(draw(3), draw(3), compared=REVERSE, page="autodiff cookbook")
def hessian_vector_product(x, v):
    def f(x):
        return jnp.sum(jnp.tanh(x) ** 2 * jnp.sin(x[0]))

    return jax.jvp(jax.grad(f), (x,), (v,))[1] + jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)


@PROGRAMS.add(draw(3, 3), draw(3), compared=SECOND, page="autodiff cookbook")
def vector_jacobian_matrix(w, x):
    def f(w):
        return jnp.tanh(w @ x)

    y, pull = jax.vjp(f, w)
    return y, jax.vmap(pull)(jnp.eye(3, dtype=y.dtype))[0]


@PROGRAMS.add(draw(3, 3), draw(3), page="autodiff cookbook", compared=SECOND)
def jacobian_vector_matrix(w, x):
    return jax.vmap(lambda v: jax.jvp(lambda x: jnp.tanh(w @ x), (x,), (v,))[1])(jnp.eye(3, dtype=x.dtype))


@PROGRAMS.add(draw(4), page="advanced automatic differentiation", compared=SECOND)
def per_example_gradients(w):
    x = jnp.arange(12.0).reshape(3, 4).astype(w.dtype) / 10
    return jax.vmap(jax.grad(lambda w, x: jnp.tanh(w @ x) ** 2), (None, 0))(w, x)


@PROGRAMS.add(draw(3), draw(3), draw(3), np.float32(0.9), page="advanced automatic differentiation", compared=SECOND)
def td_loss(theta, s_tm1, s_t, r_t):
    v_tm1 = jnp.dot(theta, s_tm1)
    target = r_t + jnp.dot(theta, s_t)
    return -0.5 * ((lax.stop_gradient(target) - v_tm1) ** 2)


@PROGRAMS.add(draw(5), page="advanced automatic differentiation", compared=SECOND)
def straight_through(x):
    zero = x - lax.stop_gradient(x)
    return zero + lax.stop_gradient(jnp.round(x * 2)) + x**2


@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def _log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t


@PROGRAMS.add(np.array([-100.0, -1, 0, 2, 100], np.float32), page="custom derivative rules", compared=SECOND)
def stable_log1pexp(x):
    return log1pexp(x), jax.vmap(jax.grad(log1pexp))(jnp.minimum(x, 50))


@jax.custom_vjp
def clip_gradient(lo, hi, x):
    return x


clip_gradient.defvjp(lambda lo, hi, x: (x, (lo, hi)), lambda res, g: (None, None, jnp.clip(g, res[0], res[1])))


@PROGRAMS.add(draw(9), compared=REVERSE, page="custom derivative rules")
def clipped_sine(x):
    return jax.vmap(jax.grad(lambda t: jnp.sin(clip_gradient(-0.75, 0.75, t * 3))))(x) + clip_gradient(-0.1, 0.1, x)


def newton_sqrt(f, a):
    return lax.while_loop(lambda c: jnp.abs(c[0] - c[1]) > 1e-12, lambda c: (f(a, c[0]), c[0]), (f(a, a / 2), a / 2))[0]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, x_guess):
    def body(carry):
        _, x, n = carry
        return x, f(a, x), n + 1

    return lax.while_loop(lambda c: (jnp.abs(c[0] - c[1]) > 1e-13) & (c[2] < 60), body, (x_guess, f(a, x_guess), 0))[1]


def _fixed_point_fwd(f, a, x_init):
    x_star = fixed_point(f, a, x_init)
    return x_star, (a, x_star)


def _fixed_point_rev(f, res, x_star_bar):
    a, x_star = res
    _, vjp_a = jax.vjp(lambda a: f(a, x_star), a)
    (a_bar,) = vjp_a(fixed_point(partial(_rev_iter, f), (a, x_star, x_star_bar), x_star_bar))
    return a_bar, jnp.zeros_like(x_star)


def _rev_iter(f, packed, u):
    a, x_star, x_star_bar = packed
    _, vjp_x = jax.vjp(lambda x: f(a, x), x_star)
    return x_star_bar + vjp_x(u)[0]


fixed_point.defvjp(_fixed_point_fwd, _fixed_point_rev)


@PROGRAMS.add(np.float32(2.0), compared=REVERSE, tolerance=1e-5, page="custom derivative rules")
def implicit_square_root(a):
    return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)


@PROGRAMS.add(draw(5), compared=SECOND, page="control flow")
def python_control_flow(x):
    total = 0.0
    for i in range(5):
        total = total + jnp.where(i % 2 == 0, jnp.sin(x[i]), x[i] ** 2)
    return total


@PROGRAMS.add(np.float32(0.4), np.float32(-0.7), compared=SECOND, page="control flow")
def cond_of_operand(x, y):
    return lax.cond(x > y, lambda a: a**3, lambda a: jnp.sin(a), x * y)


@PROGRAMS.add(np.float32(0.5), compared=VALUES, page="control flow")
def while_doubling(x):
    return lax.while_loop(lambda c: c < 10.0, lambda c: c * 1.7 + 0.1, x)


@PROGRAMS.add(np.float32(0.5), compared=SECOND, page="control flow")
def fori_factorial(x):
    return lax.fori_loop(1, 6, lambda i, c: c * (i + x), 1.0 + 0 * x)


@PROGRAMS.add(np.int32(2), draw(4), page="control flow")
def switch_by_index(i, x):
    return lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh, lambda x: x**2], x)


@PROGRAMS.add(draw(6), draw(6), page="control flow")
def associative_recurrence(a, b):
    return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1]


@PROGRAMS.add(draw(7), compared=SECOND, page="common gotchas")
def out_of_place_updates(x):
    y = jnp.zeros((3, 7), x.dtype).at[1, :].set(x)
    return y.at[::2, 3:].add(7.0) * y.sum()


@PROGRAMS.add(np.arange(10, dtype=np.float32), compared=SECOND, page="common gotchas")
def dynamic_slice_of_window(x):
    return lax.dynamic_slice(x, (jnp.argmax(x) - 3,), (4,)) ** 2


@PROGRAMS.add(jr.key(0), compared=VALUES, tolerance=1e-5, page="pseudorandom numbers")
def keys_and_numbers(key):
    key, subkey = jr.split(key)
    return jr.normal(subkey, (3,)), jnp.stack([jr.normal(k, ()) for k in jr.split(key, 3)]), jr.uniform(key)


@PROGRAMS.add(jr.key(1), draw(5, 3), compared=SECOND, page="pseudorandom numbers")
def dropout_layer(key, x):
    keep = jr.bernoulli(key, 0.7, x.shape)
    return jnp.where(keep, x / 0.7, 0.0)


@PROGRAMS.add(jr.key(2), np.float32(0.3), compared=VALUES, page="pseudorandom numbers")
def estimate_pi(key, shift):
    points = jr.uniform(key, (1000, 2)) + 0 * shift
    return 4 * jnp.mean(jnp.sum(points**2, 1) < 1)


LAYERS = [2, 8, 8, 3]


def mlp_params(sizes: Any, scale: float = 0.5) -> Any:
    return [(draw(m, n, scale=scale), draw(n, scale=0.1)) for m, n in itertools.pairwise(sizes)]


@PROGRAMS.add(
    mlp_params(LAYERS),
    draw(5, 2),
    np.eye(3, dtype=np.float32)[[0, 1, 2, 1, 0]],
    page="neural network from scratch",
    compared=SECOND,
)
def spiral_classifier(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ w + b) * y, 1))


@PROGRAMS.add(
    mlp_params([4, 6, 3]),
    draw(5, 4),
    np.eye(3, dtype=np.float32)[[0, 1, 2, 1, 0]],
    compared=BOTH,
    page="training a simple neural network",
)
def sgd_update(params, x, y):
    def predict(params, image):
        activations = image
        for w, b in params[:-1]:
            activations = jax.nn.swish(jnp.dot(activations, w) + b)
        logits = jnp.dot(activations, params[-1][0]) + params[-1][1]
        return logits - jax.nn.logsumexp(logits)

    def loss(params):
        return -jnp.mean(jax.vmap(predict, (None, 0))(params, x) * y)

    grads = jax.grad(loss)(params)
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, grads, strict=True)]


@PROGRAMS.add(draw(4, 4), compared=BOTH, page="gradient checkpointing")
def checkpointed_layers(w):
    @jax.checkpoint
    def layer(x):
        return jnp.sin(jnp.dot(w, x))

    return layer(layer(layer(jnp.ones(4, w.dtype))))


@PROGRAMS.add(draw(5, 3, 3), draw(3), compared=BOTH, page="gradient checkpointing")
def checkpointed_scan(ws, x):
    body = jax.checkpoint(
        lambda x, w: (jnp.sin(w @ x), None), policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    )
    return lax.scan(body, x, ws)[0]


@PROGRAMS.add(draw(3), compared=SECOND, page="pytrees")
def nested_containers(x):
    tree = {"a": (x, x * 2), "b": [x.sum(), {"c": jnp.outer(x, x)}], "none": None}
    return jax.tree.map(lambda leaf: leaf**2, tree)


@PROGRAMS.add(draw(4, 3), draw(5, 3), page="thinking in JAX", compared=SECOND)
def pairwise_distances(a, b):
    return jnp.sqrt(jnp.sum((a[:, None] - b[None]) ** 2, -1))


@PROGRAMS.add(draw(9), page="thinking in JAX", compared=SECOND)
def normalise(x):
    x = x - x.mean(0)
    return x / x.std(0)
