"""Programs that users of JAX write: physics, filters, graphs, reinforcement learning, transformers, from tutorials."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax import random as jr
from peers.jax_programs.program import BOTH, REVERSE, SECOND, VALUES, Programs, numbers

PROGRAMS = Programs("tutorials")
draw = numbers(2)


@PROGRAMS.add(draw(4, 2), draw(4, 2), compared=BOTH, page="n-body")
def gravity(x, v):
    def force(x):
        d = x[:, None] - x[None]
        r = jnp.sqrt(jnp.sum(d**2, -1) + 0.1)
        return -jnp.sum(d / r[..., None] ** 3, 1)

    def step(state, _):
        x, v = state
        v = v + 0.005 * force(x)
        x = x + 0.01 * v
        return (x, v + 0.005 * force(x)), jnp.sum(v**2)

    return lax.scan(step, (x, v), None, length=5)


@PROGRAMS.add(draw(8, 8), np.float32(0.1), compared=SECOND, page="heat equation")
def heat_equation(u, rate):
    def laplace(u):
        return sum(jnp.roll(u, s, a) for s in (1, -1) for a in (0, 1)) - 4 * u

    return lax.fori_loop(0, 4, lambda _, u: u + rate * laplace(u), u)


@PROGRAMS.add(
    np.float32([1.0, 1.0, 1.0]), np.float32([10.0, 28.0, 2.667]), compared=BOTH, tolerance=1e-5, page="Lorenz system"
)
def lorenz_by_runge_kutta(x, params):
    def f(s):
        a, b, c = params
        return jnp.array([a * (s[1] - s[0]), s[0] * (b - s[2]) - s[1], s[0] * s[1] - c * s[2]])

    def step(s, _):
        k1 = f(s)
        k2 = f(s + 0.005 * k1)
        k3 = f(s + 0.005 * k2)
        k4 = f(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), s

    return lax.scan(step, x, None, length=6)


@PROGRAMS.add(draw(6, 3), np.float32(1.3), compared=SECOND, page="molecular dynamics")
def lennard_jones(x, sigma):
    x = x * 2
    d2 = jnp.sum((x[:, None] - x[None]) ** 2, -1) + 4 * jnp.eye(len(x), dtype=x.dtype)
    s6 = (sigma**2 / (d2 + 1)) ** 3
    return 2 * jnp.sum(jnp.where(jnp.eye(len(x)) > 0, 0.0, s6**2 - s6))


@PROGRAMS.add(draw(4), compared=SECOND, page="Hamiltonian mechanics")
def hamiltonian_flow(state):
    def hamiltonian(s):
        q, p = jnp.split(s, 2)
        return jnp.sum(p**2) / 2 + jnp.sum(jnp.cos(q))

    gradient = jax.grad(hamiltonian)(state)
    dq, dp = jnp.split(gradient, 2)
    return jnp.concatenate([dp, -dq])


@PROGRAMS.add(draw(2), draw(2), compared=BOTH, page="Lagrangian neural networks")
def lagrangian_acceleration(q, v):
    def lagrangian(q, v):
        return 0.5 * jnp.sum(v**2 * (2 + jnp.sin(q))) + v[0] * v[1] * jnp.cos(q[0] - q[1]) - jnp.sum(jnp.cos(q))

    rest = jax.grad(lagrangian, 0)(q, v) - jax.jacobian(jax.jacobian(lagrangian, 1), 0)(q, v) @ v
    return jnp.linalg.inv(jax.hessian(lagrangian, 1)(q, v)) @ rest


@PROGRAMS.add(draw(5, 2), draw(2, 2, scale=0.3), draw(2, 2, scale=0.3), compared=BOTH, page="Kalman filter")
def kalman_filter(ys, a, c):
    q = r = 0.1 * jnp.eye(2, dtype=ys.dtype)

    def step(carry, y):
        m, p = carry
        m, p = a @ m, a @ p @ a.T + q
        s = c @ p @ c.T + r
        k = jnp.linalg.solve(s, c @ p).T
        e = y - c @ m
        logp = -0.5 * (e @ jnp.linalg.solve(s, e) + jnp.linalg.slogdet(s)[1])
        return (m + k @ e, p - k @ c @ p), (m, logp)

    (_, _), (means, logs) = lax.scan(step, (jnp.zeros_like(ys[0]), jnp.eye(2, dtype=ys.dtype)), ys)
    return means, logs.sum()


@PROGRAMS.add(draw(3, 3), draw(3, 4), np.array([0, 2, 1, 3, 0], np.int32), compared=SECOND, page="hidden Markov models")
def hidden_markov_likelihood(transitions, emissions, observed):
    log_a, log_b = jax.nn.log_softmax(transitions), jax.nn.log_softmax(emissions)

    def step(alpha, y):
        return jax.nn.logsumexp(alpha[:, None] + log_a, axis=0) + log_b[:, y], None

    start = jnp.full(3, -jnp.log(3.0), transitions.dtype) + log_b[:, observed[0]]
    return jax.nn.logsumexp(lax.scan(step, start, observed[1:])[0])


@PROGRAMS.add(draw(3, 3), draw(3, 4), np.array([0, 2, 1, 3, 0], np.int32), compared=VALUES, page="hidden Markov models")
def viterbi_path(transitions, emissions, observed):
    def forward(score, y):
        total = score[:, None] + transitions
        return total.max(0) + emissions[:, y], total.argmax(0)

    score, back = lax.scan(forward, emissions[:, observed[0]], observed[1:])
    last = score.argmax()
    return lax.scan(lambda s, b: (b[s], s), last, back, reverse=True)


@PROGRAMS.add(
    draw(6),
    draw(7),
    np.array([0, 0, 1, 0, 0, 1], np.float32),
    compared=SECOND,
    argnums=(0, 1),
    page="reinforcement learning",
)
def generalised_advantages(rewards, values, done):
    def step(carry, x):
        reward, value, after, end = x
        delta = reward + 0.99 * after * (1 - end) - value
        carry = delta + 0.99 * 0.95 * (1 - end) * carry
        return carry, carry

    return lax.scan(step, jnp.zeros((), rewards.dtype), (rewards, values[:-1], values[1:], done), reverse=True)[1]


@PROGRAMS.add(
    draw(5, 3),
    draw(5, 3),
    draw(5),
    np.array([0, 1, 2, 1, 0], np.int32),
    compared=SECOND,
    argnums=(0,),
    page="reinforcement learning",
)
def clipped_policy_loss(logits, old_logits, advantages, actions):
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
    old = jnp.take_along_axis(jax.nn.log_softmax(old_logits), actions[:, None], 1)[:, 0]
    ratio = jnp.exp(logp - old)
    return -jnp.mean(jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages))


@PROGRAMS.add(
    draw(4, 3),
    draw(4, 3),
    draw(4),
    np.array([0, 2, 1, 1], np.int32),
    compared=SECOND,
    argnums=(0, 1),
    page="reinforcement learning",
)
def double_q_loss(q, q_next, rewards, actions):
    target = lax.stop_gradient(rewards + 0.9 * q_next.max(1))
    error = target - q[jnp.arange(4), actions]
    return jnp.mean(jnp.where(jnp.abs(error) < 1, 0.5 * error**2, jnp.abs(error) - 0.5))


@PROGRAMS.add(
    draw(5, 4),
    draw(4, 3),
    np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 2]], np.int32),
    compared=SECOND,
    page="graph networks",
)
def graph_convolution(nodes, weights, edges):
    senders, receivers = edges[:, 0], edges[:, 1]
    messages = (nodes @ weights)[senders]
    degree = jax.ops.segment_sum(jnp.ones(len(edges), nodes.dtype), receivers, 5)
    return jax.nn.relu(jax.ops.segment_sum(messages, receivers, 5) / jnp.maximum(degree, 1)[:, None])


@PROGRAMS.add(
    draw(5, 4),
    draw(4, 4),
    draw(8),
    np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 2]], np.int32),
    compared=BOTH,
    page="graph networks",
)
def graph_attention(nodes, weights, a, edges):
    h = nodes @ weights
    s, r = edges[:, 0], edges[:, 1]
    score = jax.nn.leaky_relu(jnp.concatenate([h[s], h[r]], 1) @ a)
    score = jnp.exp(score - jax.ops.segment_max(score, r, 5)[r])
    alpha = score / jax.ops.segment_sum(score, r, 5)[r]
    return jax.ops.segment_sum(alpha[:, None] * h[s], r, 5)


def _attention(x, wq, wk, wv, wo, heads, mask):
    t, d = x.shape

    def split(y):
        return y.reshape(t, heads, d // heads).transpose(1, 0, 2)

    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(d // heads)
    return (
        jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(jnp.where(mask, scores, -1e9), -1), v)
        .transpose(1, 0, 2)
        .reshape(t, d)
        @ wo
    )


@PROGRAMS.add(
    [draw(8, 8, scale=0.3) for _ in range(4)],
    draw(8, 16, scale=0.3),
    draw(16, 8, scale=0.3),
    draw(10, 8, scale=0.3),
    np.array([3, 1, 9, 2, 2], np.int32),
    compared=BOTH,
    page="transformers",
)
def small_gpt_loss(attention, w1, w2, table, tokens):
    x = table[tokens] + jnp.sin(jnp.arange(5)[:, None] + jnp.arange(8)).astype(table.dtype)

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    x = x + _attention(norm(x), *attention, 2, jnp.tril(jnp.ones((5, 5), bool)))
    x = x + jax.nn.gelu(norm(x) @ w1) @ w2
    logits = norm(x) @ table.T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits[:-1]), tokens[1:, None], 1))


@PROGRAMS.add(draw(3, 5, 8), compared=SECOND, page="transformers")
def rotary_embedding(x):
    half = x.shape[-1] // 2
    angles = jnp.arange(5)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


@PROGRAMS.add(
    draw(4, 8),
    draw(8),
    draw(8, 12, scale=0.3),
    draw(8, 12, scale=0.3),
    draw(12, 8, scale=0.3),
    compared=SECOND,
    page="transformers",
)
def gated_feed_forward(x, g, w1, w2, w3):
    x = x * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * g
    return (jax.nn.silu(x @ w1) * (x @ w2)) @ w3


@PROGRAMS.add(
    draw(6, 4),
    draw(4, 3),
    draw(3, 4, 5, scale=0.3),
    draw(3, 5, 4, scale=0.3),
    compared=BOTH,
    page="mixture of experts",
)
def mixture_of_experts(x, router, w1, w2):
    gates = jax.nn.softmax(x @ router)
    values, places = lax.top_k(gates, 2)
    weights = jnp.zeros_like(gates).at[jnp.arange(6)[:, None], places].set(values)
    each = jnp.einsum("teh,ehd->ted", jax.nn.gelu(jnp.einsum("td,edh->teh", x, w1)), w2)
    return jnp.einsum("te,ted->td", weights / weights.sum(1, keepdims=True), each)


@PROGRAMS.add(draw(6, 3), draw(3, 12, scale=0.3), draw(3, 12, scale=0.3), compared=SECOND, page="recurrent networks")
def lstm_layer(xs, w, u):
    def cell(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(cell, (jnp.zeros(3, xs.dtype), jnp.zeros(3, xs.dtype)), xs)[1]


@PROGRAMS.add(draw(6, 3), draw(3), draw(3), draw(3), compared=BOTH, page="state space models")
def diagonal_state_space(xs, a, b, c):
    decay = jax.nn.sigmoid(a)

    def scan(left, right):
        return (left[0] * right[0], left[1] * right[0] + right[1])

    _, h = lax.associative_scan(scan, (jnp.broadcast_to(decay, xs.shape), xs * b))
    return h * c, lax.scan(lambda h, x: (decay * h + b * x, c * h), jnp.zeros_like(a), xs)[1]


@PROGRAMS.add(draw(5, 5), compared=BOTH, page="optimal transport")
def sinkhorn_distance(cost):
    cost = cost**2

    def step(carry, _):
        f, g = carry
        f = -0.5 * jax.nn.logsumexp((g[None] - cost) / 0.5, axis=1) * 1.0
        g = -0.5 * jax.nn.logsumexp((f[:, None] - cost) / 0.5, axis=0) * 1.0
        return (f, g), None

    (f, g), _ = lax.scan(step, (jnp.zeros(5, cost.dtype), jnp.zeros(5, cost.dtype)), None, length=6)
    return jnp.sum(jnp.exp((f[:, None] + g[None] - cost) / 0.5) * cost)


@PROGRAMS.add(draw(6, 2), draw(5, 2), compared=BOTH, page="dynamic programming")
def soft_dynamic_time_warping(x, y):
    cost = jnp.sum((x[:, None] - y[None]) ** 2, -1)
    big = jnp.full(6, 1e4, cost.dtype)

    def row(before, costs):
        def cell(left, args):
            c, up, corner = args
            found = c - jax.nn.logsumexp(-jnp.stack([left, up, corner]))
            return found, found

        _, found = lax.scan(cell, jnp.asarray(1e4, cost.dtype), (costs, before[1:], before[:-1]))
        return jnp.concatenate([jnp.full(1, 1e4, cost.dtype), found]), None

    return lax.scan(row, big.at[0].set(0), cost)[0][-1]


@PROGRAMS.add(draw(6, 2), draw(3, 2), compared=REVERSE, page="clustering")
def k_means_loss(points, centres):
    def step(c, _):
        near = jnp.argmin(jnp.sum((points[:, None] - c[None]) ** 2, -1), 1)
        count = jax.ops.segment_sum(jnp.ones(6, points.dtype), near, 3)
        return jnp.where(
            count[:, None] > 0, jax.ops.segment_sum(points, near, 3) / jnp.maximum(count, 1)[:, None], c
        ), None

    centres, _ = lax.scan(step, centres, None, length=3)
    return jnp.sum(jnp.min(jnp.sum((points[:, None] - centres[None]) ** 2, -1), 1))


@PROGRAMS.add(draw(6), draw(6), compared=SECOND, page="survival analysis")
def cox_partial_likelihood(risk, times):
    order = jnp.argsort(-times)
    return jnp.sum(risk[order] - lax.cumlogsumexp(risk[order]))


@PROGRAMS.add(draw(4, 4), compared=BOTH, page="normalising flows")
def planar_flow(params):
    def layer(z, p):
        w, u, b = p[:2], p[2:], p[0]
        h = jnp.tanh(w @ z + b)
        return z + u * h, jnp.log(jnp.abs(1 + u @ w * (1 - h**2)) + 1e-3)

    z, logs = lax.scan(layer, jnp.ones(2, params.dtype), params)
    return z, logs.sum()


@PROGRAMS.add(draw(3, 4), draw(5), compared=BOTH, page="rendering")
def volume_rendering(sigma, deltas):
    alpha = 1 - jnp.exp(-jax.nn.softplus(sigma) * jax.nn.softplus(deltas[:4]))
    passed = jnp.cumprod(jnp.concatenate([jnp.ones((3, 1), sigma.dtype), 1 - alpha + 1e-10], -1), -1)[:, :-1]
    return jnp.sum(alpha * passed * jnp.arange(4.0).astype(sigma.dtype), -1)


@PROGRAMS.add(draw(3), draw(3), compared=BOTH, page="rendering")
def sphere_marching(origin, direction):
    direction = direction / jnp.linalg.norm(direction)

    def distance(p):
        return jnp.linalg.norm(p - jnp.array([0.0, 0.0, 3.0], p.dtype)) - 1.0

    return lax.fori_loop(0, 6, lambda _, p: p + distance(p) * direction, origin)


@PROGRAMS.add(jr.key(0), np.float32([0.2, -0.3]), compared=VALUES, tolerance=1e-4, page="Markov chains")
def metropolis_chain(key, x):
    def logp(x):
        return -0.5 * jnp.sum(x**2) - 0.1 * jnp.sum(x**4)

    def step(x, key):
        a, b = jr.split(key)
        new = x + 0.5 * jr.normal(a, x.shape)
        x = jnp.where(jnp.log(jr.uniform(b)) < logp(new) - logp(x), new, x)
        return x, x

    return lax.scan(step, x, jr.split(key, 12))[1]


@PROGRAMS.add(jr.key(1), np.sign(draw(6, 6)), compared=VALUES, page="Ising model")
def ising_sweep(key, spins):
    even = (jnp.arange(6)[:, None] + jnp.arange(6)) % 2

    def half(spins, args):
        key, parity = args
        field = sum(jnp.roll(spins, s, a) for s in (1, -1) for a in (0, 1))
        flip = jr.uniform(key, spins.shape) < jnp.exp(-0.8 * spins * field)
        return jnp.where(flip & (even == parity), -spins, spins), spins.sum()

    return lax.scan(half, spins, (jr.split(key, 6), jnp.arange(6) % 2))


@PROGRAMS.add(np.zeros((8, 8), np.int32) + (draw(8, 8) > 0), compared=VALUES, page="cellular automata")
def game_of_life(grid):
    def step(grid, _):
        count = sum(jnp.roll(grid, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((count == 3) | ((grid == 1) & (count == 2))).astype(grid.dtype), count.sum()

    return lax.scan(step, grid, None, length=5)


@PROGRAMS.add(
    np.linspace(-2, 0.5, 12, dtype=np.float32),
    np.linspace(-1, 1, 8, dtype=np.float32),
    compared=VALUES,
    page="fractals",
)
def mandelbrot_counts(re, im):
    c = re[None] + 1j * im[:, None]

    def step(z, _):
        return (jnp.where(jnp.abs(z) < 2, z * z + c, z), jnp.abs(z) < 2)

    return lax.scan(step, jnp.zeros_like(c), None, length=12)[1].sum(0)


@PROGRAMS.add(draw(4, 3), draw(4), compared=BOTH, page="meta-learning")
def model_agnostic_meta_learning(x, y):
    def loss(w, x, y):
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    w = jnp.ones(3, x.dtype) * 0.1
    adapted = w - 0.1 * jax.grad(loss)(w, x[:2], y[:2])
    return loss(adapted, x[2:], y[2:]), jax.grad(
        lambda w: loss(w - 0.1 * jax.grad(loss)(w, x[:2], y[:2]), x[2:], y[2:])
    )(w)


@PROGRAMS.add(
    [(draw(1, 8), draw(8)), (draw(8, 1), draw(1))],
    np.linspace(0, 1, 5, dtype=np.float32),
    compared=BOTH,
    page="physics-informed networks",
)
def poisson_residual(params, xs):
    def u(x):
        (w1, b1), (w2, b2) = params
        return (jnp.tanh(x * w1[0] + b1) @ w2 + b2)[0]

    return jnp.mean(jax.vmap(lambda x: jax.grad(jax.grad(u))(x) + jnp.sin(3 * x))(xs) ** 2)
