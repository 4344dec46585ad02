"""Programs of the folder `examples` of JAX and of its notebooks: models, Gaussian processes, variational inference."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownParameterType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import jax.scipy.optimize
import jax.scipy.signal
import numpy as np
from jax import lax
from jax import random as jr
from jax.experimental.ode import odeint
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm
from peers.jax_programs.program import BOTH, REVERSE, SECOND, VALUES, Programs, numbers
from peers.jax_programs.quickstart import mlp_params

PROGRAMS = Programs("jax/examples")
draw = numbers(1)
ONE_HOT = np.eye(4, dtype=np.float32)


@PROGRAMS.add(
    mlp_params([6, 5, 4]), draw(3, 6), ONE_HOT[[0, 3, 1]], compared=SECOND, page="mnist_classifier_fromscratch"
)
def mnist_from_scratch(params, images, targets):
    activations = images
    for w, b in params[:-1]:
        activations = jnp.tanh(jnp.dot(activations, w) + b)
    logits = jnp.dot(activations, params[-1][0]) + params[-1][1]
    predictions = logits - logsumexp(logits, axis=1, keepdims=True)
    return -jnp.mean(jnp.sum(predictions * targets, axis=1))


@PROGRAMS.add(
    mlp_params([6, 5, 4]),
    draw(6, 6),
    ONE_HOT[[0, 3, 1, 2, 2, 0]],
    jr.key(0),
    compared=VALUES,
    tolerance=1e-5,
    page="differentially_private_sgd",
)
def private_gradient(params, images, targets, key):
    def loss(params, image, target):
        hidden = jnp.tanh(image @ params[0][0] + params[0][1])
        return -jnp.sum(jax.nn.log_softmax(hidden @ params[1][0] + params[1][1]) * target)

    def clipped(params, image, target):
        leaves, tree = jax.tree.flatten(jax.grad(loss)(params, image, target))
        total = jnp.linalg.norm(jnp.stack([jnp.linalg.norm(g.ravel()) for g in leaves]))
        return jax.tree.unflatten(tree, [g / jnp.maximum(total / 1.5, 1.0) for g in leaves])

    grads = jax.vmap(clipped, (None, 0, 0))(params, images, targets)
    leaves, tree = jax.tree.flatten(jax.tree.map(lambda g: g.sum(0), grads))
    noised = [g + 0.1 * jr.normal(k, g.shape) for k, g in zip(jr.split(key, len(leaves)), leaves, strict=True)]
    return jax.tree.unflatten(tree, [g / len(images) for g in noised])


def _kernel(x, y, amplitude, scale):
    return amplitude * jnp.exp(-jnp.sum(((x[:, None] - y[None]) / scale) ** 2, -1) / 2)


@PROGRAMS.add(
    np.float32(0.3),
    np.float32(-0.5),
    draw(6, 2),
    draw(6),
    compared=SECOND,
    page="gaussian_process_regression",
)
def gaussian_process(log_amplitude, log_scale, x, y):
    covariance = _kernel(x, x, jnp.exp(log_amplitude), jnp.exp(log_scale)) + 0.1 * jnp.eye(len(x), dtype=x.dtype)
    chol = jsp.linalg.cholesky(covariance, lower=True)
    alpha = jsp.linalg.cho_solve((chol, True), y)
    likelihood = -0.5 * jnp.dot(y, alpha) - jnp.sum(jnp.log(jnp.diag(chol))) - len(x) / 2 * jnp.log(2 * jnp.pi)
    return -likelihood - jnp.sum(-0.5 * jnp.log(2 * jnp.pi) - log_amplitude**2)


@PROGRAMS.add(draw(5, 2), draw(5), draw(3, 2), compared=BOTH, tolerance=1e-4, page="gaussian_process_regression")
def gaussian_process_prediction(x, y, x_new):
    train, cross = _kernel(x, x, 1.0, 0.7) + 0.1 * jnp.eye(len(x), dtype=x.dtype), _kernel(x, x_new, 1.0, 0.7)
    kinv = jsp.linalg.cho_factor(train)
    mu = jnp.dot(cross.T, jsp.linalg.cho_solve(kinv, y))
    var = _kernel(x_new, x_new, 1.0, 0.7) - jnp.dot(cross.T, jsp.linalg.cho_solve(kinv, cross))
    return mu, jnp.diag(var)


@PROGRAMS.add(draw(8, 3), draw(8), compared=SECOND, page="kernel_lsq")
def kernel_least_squares(x, y):
    kernel = jax.vmap(lambda a: jax.vmap(lambda b: jnp.exp(-0.5 * jnp.sum((a - b) ** 2)))(x))(x)

    def step(alpha, _):
        return (alpha - 0.1 * jax.grad(lambda a: 0.5 * a @ kernel @ a - a @ y)(alpha), None)

    return lax.scan(step, jnp.zeros_like(y), None, length=8)[0]


@PROGRAMS.add(
    draw(2), np.float32([-1.0, -0.5]), jr.key(3), compared=SECOND, tolerance=1e-5, page="advi", argnums=(0, 1)
)
def variational_objective(mean, log_std, key):
    def funnel(z):
        return norm.logpdf(z[0], 0, jnp.exp(z[1] / 2)) + norm.logpdf(z[1], 0, 1.35)

    def elbo(key):
        sample = mean + jnp.exp(log_std) * jr.normal(key, mean.shape, mean.dtype)
        return funnel(sample) - jnp.sum(norm.logpdf(sample, mean, jnp.exp(log_std)))

    return -jnp.mean(jax.vmap(elbo)(jr.split(key, 5)))


@PROGRAMS.add(
    mlp_params([6, 5, 4]), mlp_params([2, 5, 6]), draw(3, 6), jr.key(4), compared=BOTH, tolerance=1e-5, page="mnist_vae"
)
def variational_autoencoder(encoder, decoder, images, key):
    hidden = jax.nn.relu(images @ encoder[0][0] + encoder[0][1])
    mu, log_sigma = jnp.split(hidden @ encoder[1][0] + encoder[1][1], 2, -1)
    sigmasq = jax.nn.softplus(log_sigma)
    z = mu + jnp.sqrt(sigmasq) * jr.normal(key, mu.shape, mu.dtype)
    logits = jax.nn.relu(z @ decoder[0][0] + decoder[0][1]) @ decoder[1][0] + decoder[1][1]
    kl = -0.5 * jnp.sum(1.0 + jnp.log(sigmasq) - mu**2.0 - sigmasq)
    likelihood = -jnp.sum(jnp.logaddexp(0.0, jnp.where(images > 0, -1.0, 1.0) * logits))
    return likelihood - kl


@PROGRAMS.add(draw(3, 3, 2, 4, scale=0.3), draw(3, 3, 4, 4, scale=0.3), draw(2, 6, 6, 2), page="resnet50")
def residual_block(w1, w2, x):
    numbers = ("NHWC", "HWIO", "NHWC")

    def batch_norm(x):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) / jnp.sqrt(var + 1e-5)

    h = jax.nn.relu(batch_norm(lax.conv_general_dilated(x, w1, (2, 2), "SAME", dimension_numbers=numbers)))
    h = batch_norm(lax.conv_general_dilated(h, w2, (1, 1), "SAME", dimension_numbers=numbers))
    shortcut = lax.conv_general_dilated(x, w1[1:2, 1:2], (2, 2), "SAME", dimension_numbers=numbers)
    pooled = lax.reduce_window(jax.nn.relu(h + shortcut), 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "VALID") / 9
    return jax.nn.log_softmax(pooled.reshape(len(x), -1))


@PROGRAMS.add(np.float32([1.0, 0.5]), np.float32(1.2), compared=REVERSE, tolerance=1e-4, page="odeint")
def pendulum_by_odeint(y0, omega):
    return odeint(lambda y, t, w: jnp.stack([y[1], -w * jnp.sin(y[0])]), y0, jnp.linspace(0.0, 1.0, 4), omega)[-1]


@PROGRAMS.add(draw(2), compared=SECOND, page="rosenbrock, jax.scipy.optimize")
def rosenbrock(x):
    return jnp.sum(100.0 * jnp.diff(x) ** 2 + (1 - x[:-1]) ** 2)


@PROGRAMS.add(np.float32([1.2, -0.7]), compared=VALUES, tolerance=1e-3, page="jax.scipy.optimize.minimize")
def minimise_by_bfgs(x0):
    def f(x):
        return jnp.sum((x - jnp.array([1.0, 2.0])) ** 2) + x[0] * x[1] * 0.1

    return jsp.optimize.minimize(f, x0, method="BFGS", options={"maxiter": 10}).x


@PROGRAMS.add(draw(4, 4), draw(4), compared=SECOND, tolerance=1e-4, page="jax.scipy.sparse.linalg")
def conjugate_gradients(a, b):
    spd = a @ a.T + 4 * jnp.eye(4, dtype=a.dtype)
    return jsp.sparse.linalg.cg(lambda v: spd @ v, b, tol=1e-13, maxiter=30)[0]


@PROGRAMS.add(draw(4, 4), draw(4), compared=REVERSE, tolerance=1e-4, page="jax.scipy.sparse.linalg")
def gmres_solution(a, b):
    return jsp.sparse.linalg.gmres(lambda v: (a + 5 * jnp.eye(4, dtype=a.dtype)) @ v, b, tol=1e-13, maxiter=10)[0]


@PROGRAMS.add(draw(3, 3), compared=BOTH, tolerance=1e-5, page="jax.scipy.linalg")
def matrix_exponential(a):
    return jsp.linalg.expm(a)


@PROGRAMS.add(draw(4, 4), draw(4), compared=BOTH, tolerance=1e-4, page="jax.scipy.linalg")
def lu_solution(a, b):
    return jsp.linalg.lu_solve(jsp.linalg.lu_factor(a), b), jnp.linalg.slogdet(a)


@PROGRAMS.add(draw(5, 3), compared=SECOND, tolerance=1e-4, page="jax.numpy.linalg")
def least_squares_by_qr(a):
    q, r = jnp.linalg.qr(a)
    return jsp.linalg.solve_triangular(r, q.T @ jnp.arange(5.0).astype(a.dtype))


@PROGRAMS.add(draw(4, 4), compared=SECOND, tolerance=1e-4, page="jax.numpy.linalg")
def spectral_norms(a):
    values, vectors = jnp.linalg.eigh(a @ a.T)
    return jnp.linalg.norm(a, 2), jnp.linalg.norm(a, "nuc"), values, vectors**2, jnp.linalg.cond(a)


@PROGRAMS.add(draw(6), draw(3), compared=SECOND, page="jax.scipy.signal")
def convolutions_of_signals(x, w):
    return jsp.signal.convolve(x, w), jsp.signal.correlate(x, w, "same"), jnp.convolve(x, w, "valid")


@PROGRAMS.add(draw(64), compared=BOTH, tolerance=1e-5, page="jax.scipy.signal")
def power_spectrum(x):
    _, _, z = jsp.signal.stft(x, nperseg=16)
    return jnp.abs(z) ** 2, jsp.signal.welch(x, nperseg=16)[1]


@PROGRAMS.add(draw(5, 4), compared=BOTH, page="jax.scipy.ndimage")
def bilinear_samples(image):
    at = jnp.array([[0.5, 1.2, 3.3], [0.1, 2.5, 1.9]], image.dtype)
    return jsp.ndimage.map_coordinates(image, at, order=1)


@PROGRAMS.add(draw(1, 4, 4, 2), compared=BOTH, page="jax.image")
def resized_image(x):
    return jax.image.resize(x, (1, 7, 3, 2), "bilinear"), jax.image.resize(x, (1, 8, 8, 2), "nearest")


@PROGRAMS.add(np.abs(draw(6)) + 0.3, compared=BOTH, tolerance=1e-4, page="jax.scipy.stats")
def log_densities(x):
    stats = jsp.stats
    return (
        stats.norm.logpdf(x, 0.3, 2),
        stats.gamma.logpdf(x, 2.5),
        stats.beta.logpdf(x / (1 + x), 2.0, 3.0),
        stats.t.logpdf(x, 4.0),
        stats.laplace.cdf(x),
        stats.poisson.logpmf(jnp.round(x), 2.0 + x),
        stats.expon.logpdf(x),
        stats.multivariate_normal.logpdf(x[:2], jnp.zeros(2, x.dtype), jnp.eye(2, dtype=x.dtype)),
    )


@PROGRAMS.add(np.abs(draw(6)) + 0.5, compared=BOTH, tolerance=1e-4, page="jax.scipy.special")
def special_functions(x):
    s = jsp.special
    return s.gammaln(x), s.digamma(x), s.erf(x), s.log_ndtr(x), s.xlogy(x, x), s.entr(x), s.i0e(x), s.logit(x / (1 + x))


@PROGRAMS.add(draw(7), compared=BOTH, page="jax.numpy")
def interpolation_and_polynomials(x):
    return (
        jnp.interp(x, jnp.linspace(-3, 3, 7).astype(x.dtype), x),
        jnp.polyval(x[:3], x),
        jnp.gradient(x),
        jnp.trapezoid(x),
    )


@PROGRAMS.add(draw(6, 4), compared=BOTH, page="jax.numpy")
def order_statistics(x):
    return (
        jnp.median(x, 0),
        jnp.quantile(x, 0.3, axis=1),
        jnp.sort(x, 0),
        jnp.partition(x, 2, 1)[:, 2],
        jnp.percentile(x, 75.0),
    )


@PROGRAMS.add(draw(5), np.array([0, 2, 1, 2, 0], np.int32), compared=BOTH, page="jax.ops")
def segment_reductions(x, ids):
    return jax.ops.segment_sum(x, ids, 3), jax.ops.segment_max(x, ids, 4), jax.ops.segment_min(x, ids, num_segments=3)


@PROGRAMS.add(draw(4, 5), compared=BOTH, page="jax.nn")
def activations(x):
    nn = jax.nn
    some = (
        nn.relu,
        nn.relu6,
        nn.elu,
        nn.celu,
        nn.selu,
        nn.gelu,
        nn.silu,
        nn.softplus,
        nn.soft_sign,
        nn.hard_tanh,
        nn.mish,
    )
    return (
        [f(x) for f in some],
        nn.glu(x[:, :4]),
        nn.standardize(x),
        nn.log_sigmoid(x),
        nn.leaky_relu(x),
        nn.squareplus(x),
    )


@PROGRAMS.add(np.array([1, 0, 2, -1], np.int32), draw(4, 3), compared=BOTH, page="jax.nn")
def one_hot_cross_entropy(labels, logits):
    hot = jax.nn.one_hot(labels, 3, dtype=logits.dtype)
    return -jnp.mean(jnp.sum(hot * jax.nn.log_softmax(logits), 1)), jax.nn.softmax(logits, where=hot < 1)


# jax.nn.dot_product_attention computes its softmax in f32 for f64 inputs. With an f64 softmax, both agree to 3e-15.
@PROGRAMS.add(
    draw(2, 5, 3, 4),
    draw(2, 5, 1, 4),
    draw(2, 5, 1, 4),
    compared=BOTH,
    slack=1e-6,
    tolerance=1e-5,
    page="jax.nn.dot_product_attention",
)
def grouped_query_attention(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)
