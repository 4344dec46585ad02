"""Programs of libraries on JAX: Optax, Distrax, NumPyro and BlackJAX."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

import blackjax
import distrax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
from jax import random as jr
from numpyro.infer.util import log_density, potential_energy
from peers.jax_programs.program import BOTH, SECOND, VALUES, Programs, numbers

OPTAX, DISTRAX, NUMPYRO = Programs("Optax"), Programs("Distrax"), Programs("NumPyro")
BLACKJAX = Programs("BlackJAX")
draw = numbers(4)

PARAMS = {"w": draw(4, 3), "b": draw(3)}
X, Y = draw(6, 4), draw(6, 3)


def _optimiser(name: str, make: Any, compared: str = VALUES, steps: int = 3) -> None:
    """Some steps of an optimiser, whose state is made in the function."""

    def f(params, x, y):
        tx = make()

        def step(carry, _):
            params, state = carry
            value, grads = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - y) ** 2))(params)
            updates, state = tx.update(grads, state, params)
            return (optax.apply_updates(params, updates), state), value

        (params, _), values = jax.lax.scan(step, (params, tx.init(params)), None, length=steps)
        return params, values

    f.__name__ = name
    OPTAX.add(PARAMS, X, Y, compared=compared, argnums=(0,), tolerance=2e-5)(f)


_optimiser("optax_sgd_momentum", lambda: optax.sgd(0.1, 0.9, nesterov=True), BOTH)
_optimiser("optax_adam", lambda: optax.adam(0.1), BOTH)
_optimiser("optax_adamw_clipped", lambda: optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(0.1)), BOTH)
_optimiser("optax_schedule", lambda: optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10)))
_optimiser("optax_rmsprop", lambda: optax.rmsprop(0.05))
_optimiser("optax_lion", lambda: optax.lion(0.01))
_optimiser("optax_adafactor", lambda: optax.adafactor(0.05))
_optimiser("optax_lamb", lambda: optax.lamb(0.05))
_optimiser("optax_accumulated", lambda: optax.MultiSteps(optax.sgd(0.1), 2))
_optimiser("optax_adabelief", lambda: optax.adabelief(0.05))


@OPTAX.add(draw(5, 4), np.array([0, 3, 1, 2, 2], np.int32), compared=BOTH, tolerance=1e-5)
def optax_losses(logits, labels):
    hot = jax.nn.one_hot(labels, 4, dtype=logits.dtype)
    return (
        optax.softmax_cross_entropy_with_integer_labels(logits, labels),
        optax.softmax_cross_entropy(logits, optax.smooth_labels(hot, 0.1)),
        optax.sigmoid_binary_cross_entropy(logits, hot),
        optax.huber_loss(logits, hot),
        optax.cosine_distance(logits, hot + 0.1),
        optax.sigmoid_focal_loss(logits, hot),
        optax.kl_divergence(jax.nn.log_softmax(logits), jax.nn.softmax(logits[::-1])),
        optax.hinge_loss(logits, 2 * hot - 1),
    )


@OPTAX.add(draw(2, 6, 4), compared=BOTH, tolerance=1e-5)
def optax_ctc_loss(logits):
    labels = jnp.array([[1, 2, 1], [3, 1, 0]])
    return optax.ctc_loss(logits, jnp.zeros((2, 6), logits.dtype), labels, (labels == 0).astype(logits.dtype))


@DISTRAX.add(draw(4), np.abs(draw(4)) + 0.5, compared=BOTH, tolerance=1e-5)
def distrax_log_probabilities(loc, scale):
    x = jnp.tanh(loc) / 2 + 0.5
    return (
        distrax.Normal(loc, scale).log_prob(x),
        distrax.Laplace(loc, scale).log_prob(x),
        distrax.Gamma(scale, scale).log_prob(x),
        distrax.Beta(scale, scale + 1).log_prob(x),
        distrax.Categorical(logits=loc).entropy(),
        distrax.Bernoulli(logits=loc).log_prob(1),
        distrax.Logistic(loc, scale).log_prob(x),
        distrax.Normal(loc, scale).kl_divergence(distrax.Normal(x, 1.0)),
        distrax.MultivariateNormalDiag(loc, scale).log_prob(x),
    )


@DISTRAX.add(draw(3), draw(3), compared=BOTH, tolerance=1e-5)
def distrax_flow(shift, x):
    flow = distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(shift=shift, log_scale=shift / 2)])
    moved = distrax.Transformed(distrax.Normal(jnp.zeros_like(shift), 1.0), flow)
    return moved.log_prob(jnp.tanh(x) * 0.9), flow.forward(x)


@DISTRAX.add(jr.key(0), draw(4), compared=BOTH, argnums=(1,), tolerance=1e-5)
def distrax_samples(key, loc):
    a, c = jr.split(key, 2)
    mixed = distrax.MixtureSameFamily(distrax.Categorical(logits=loc), distrax.Normal(loc, 1.0))
    return (
        distrax.Normal(loc, 0.5).sample(seed=a, sample_shape=(2,)),
        mixed.log_prob(0.3),
        distrax.Gumbel(loc, 1.0).sample(seed=c),
    )


def _regression(x, y=None):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(4), 1.0).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    numpyro.sample("y", dist.Normal(x @ w, s + 0.1), obs=y)


@NUMPYRO.add({"w": draw(4), "s": np.float32(0.3)}, X, Y[:, 0], compared=SECOND, argnums=(0,), tolerance=1e-5)
def numpyro_log_density(params, x, y):
    return log_density(_regression, (x,), {"y": y}, {"w": params["w"], "s": jnp.exp(params["s"])})[0]


@NUMPYRO.add({"w": draw(4), "s": np.float32(0.3)}, X, Y[:, 0], compared=SECOND, argnums=(0,), tolerance=1e-5)
def numpyro_potential_energy(params, x, y):
    return potential_energy(_regression, (x,), {"y": y}, params)


@NUMPYRO.add(np.abs(draw(4)) + 0.5, compared=BOTH, tolerance=1e-4)
def numpyro_distributions(x):
    return (
        dist.StudentT(3.0).log_prob(x),
        dist.Dirichlet(x).log_prob(x / x.sum()),
        dist.NegativeBinomial2(x, 2.0).log_prob(3),
        dist.Weibull(x, 2.0).log_prob(1.3),
        dist.InverseGamma(x, 2.0).log_prob(x),
        dist.ZeroInflatedPoisson(0.2, x).log_prob(0),
        dist.TruncatedNormal(x, 1.0, low=0.0).log_prob(1.0),
        dist.LogNormal(x, 1.0).log_prob(x),
        dist.VonMises(x, x).log_prob(0.3),
        dist.Gumbel(x, 1.0).log_prob(0.3),
    )


@NUMPYRO.add(draw(3), compared=BOTH, tolerance=1e-5)
def numpyro_transforms(x):
    t = dist.transforms
    every = (
        t.StickBreakingTransform(),
        t.OrderedTransform(),
        t.ExpTransform(),
        t.SigmoidTransform(),
        t.LowerCholeskyTransform(),
    )
    return [(one(x), one.log_abs_det_jacobian(x, one(x))) for one in every]


@NUMPYRO.add(jr.PRNGKey(0), compared=VALUES, tolerance=1e-4)
def numpyro_samples(key):
    some = (
        dist.Normal(0.0, 1.0),
        dist.Gamma(2.0, 1.0),
        dist.Beta(2.0, 3.0),
        dist.Poisson(3.0),
        dist.Categorical(jnp.ones(3) / 3),
    )
    return [one.sample(k, (4,)) for one, k in zip(some, jr.split(key, len(some)), strict=True)]


def _log_density(x: Any) -> Any:
    return -0.5 * jnp.sum(x**2 * jnp.arange(1, 3)) - 0.1 * jnp.sum(x**4)


def _chain(kernel: Any, key: Any, x: Any, steps: int) -> Any:
    def step(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    return jax.lax.scan(step, kernel.init(x), jr.split(key, steps))[1]


@BLACKJAX.add(jr.key(0), draw(2), compared=VALUES, tolerance=1e-3)
def blackjax_hmc(key, x):
    return _chain(blackjax.hmc(_log_density, 0.1, jnp.ones(2), 5), key, x, 6)


@BLACKJAX.add(jr.key(1), draw(2), compared=VALUES, tolerance=1e-3)
def blackjax_mala(key, x):
    return _chain(blackjax.mala(_log_density, 0.1), key, x, 6)


@BLACKJAX.add(jr.key(2), draw(2), compared=VALUES, tolerance=1e-3)
def blackjax_random_walk(key, x):
    return _chain(
        blackjax.additive_step_random_walk(_log_density, blackjax.mcmc.random_walk.normal(jnp.ones(2) * 0.3)), key, x, 6
    )


@BLACKJAX.add(jr.key(3), draw(2), compared=VALUES, tolerance=1e-3)
def blackjax_nuts(key, x):
    return _chain(blackjax.nuts(_log_density, 0.2, jnp.ones(2)), key, x, 3)
