"""Programs of libraries on Equinox, Lineax, Optimistix and Diffrax, and of jraph and tinygp."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import jraph
import lineax as lx
import numpy as np
import optimistix as optx
import tinygp
from peers.jax_programs.program import BOTH, REVERSE, SECOND, VALUES, Programs, numbers

LINEAX, OPTIMISTIX, DIFFRAX = Programs("Lineax"), Programs("Optimistix"), Programs("Diffrax")
JRAPH, TINYGP = Programs("jraph"), Programs("tinygp")
draw = numbers(8)

SQUARE = draw(4, 4) + 4 * np.eye(4, dtype=np.float32)
VECTOR = draw(4)


def _solver(name: str, operator: Any, solver: Any, *args: Any, compared: str = BOTH) -> None:
    """A linear system by a solver, for the operator that a function makes of arrays."""

    def f(*args):
        *parts, b = args
        return lx.linear_solve(operator(*parts), b, solver=solver).value

    f.__name__ = name
    LINEAX.add(*args, compared=compared, tolerance=1e-5)(f)


def _positive(a):
    return lx.MatrixLinearOperator(a @ a.T + jnp.eye(4, dtype=a.dtype), lx.positive_semidefinite_tag)


_solver("lineax_lu", lx.MatrixLinearOperator, lx.LU(), SQUARE, VECTOR, compared=SECOND)
_solver("lineax_auto", lx.MatrixLinearOperator, lx.AutoLinearSolver(None), SQUARE, VECTOR, compared=SECOND)
_solver("lineax_cholesky", _positive, lx.Cholesky(), SQUARE, VECTOR, compared=SECOND)
_solver("lineax_qr", lx.MatrixLinearOperator, lx.QR(), draw(6, 3), draw(6))
_solver("lineax_svd", lx.MatrixLinearOperator, lx.SVD(), draw(6, 3), draw(6), compared=REVERSE)
_solver("lineax_cg", _positive, lx.CG(1e-6, 1e-6), SQUARE, VECTOR)
_solver(
    "lineax_tridiagonal", lx.TridiagonalLinearOperator, lx.Tridiagonal(), draw(4) + 5, draw(3), draw(3), VECTOR,
)  # fmt: skip


@OPTIMISTIX.add(draw(3), compared=REVERSE)
def optimistix_newton(a):
    def f(y, a):
        return y + 0.1 * jnp.tanh(y).sum() - a

    return optx.root_find(f, optx.Newton(1e-6, 1e-6), jnp.zeros(3, a.dtype), args=a).value


@OPTIMISTIX.add(draw(3), compared=BOTH)
def optimistix_fixed_point(a):
    solver = optx.FixedPointIteration(1e-6, 1e-6)
    return optx.fixed_point(lambda y, a: 0.5 * jnp.cos(y) + a, solver, jnp.zeros(3, a.dtype), args=a).value


@OPTIMISTIX.add(draw(2), compared=BOTH, tolerance=1e-4)
def optimistix_bfgs(a):
    def f(y, a):
        return jnp.sum((y - a) ** 2) + 0.1 * jnp.sum(y**4)

    return optx.minimise(f, optx.BFGS(1e-6, 1e-6), jnp.zeros(2, a.dtype), args=a).value


@OPTIMISTIX.add(np.float32(1.3), compared=SECOND)
def optimistix_bisection(a):
    bounds = {"lower": 0.0, "upper": 3.0}
    start = jnp.asarray(0.5, a.dtype)
    return optx.root_find(lambda y, a: y**3 - a, optx.Bisection(1e-6, 1e-6), start, args=a, options=bounds).value


@OPTIMISTIX.add(draw(2), draw(5), compared=REVERSE, tolerance=1e-5)
def optimistix_levenberg_marquardt(p, t):
    def residuals(y, args):
        p, t = args
        return y[0] * jnp.exp(-y[1] * t**2) - p[0] * jnp.exp(-0.5 * t**2)

    solver = optx.LevenbergMarquardt(1e-6, 1e-6)
    return optx.least_squares(residuals, solver, jnp.ones(2, p.dtype), args=(p, t)).value


TERM = diffrax.ODETerm(lambda t, y, k: -k * y + jnp.sin(t))
START = draw(2), np.float32(0.5)


def _ode(name: str, solver: Any, compared: str = REVERSE, **options: Any) -> None:
    """An initial value problem, by the state and the rate."""

    def f(y0, k):
        return diffrax.diffeqsolve(TERM, solver, 0.0, 1.0, 0.1, y0, args=k, **options).ys

    f.__name__ = name
    DIFFRAX.add(*START, compared=compared)(f)


_ode("diffrax_tsit5", diffrax.Tsit5())
_ode("diffrax_heun_direct", diffrax.Heun(), BOTH, adjoint=diffrax.DirectAdjoint(), max_steps=16)
_ode(
    "diffrax_dopri5_adaptive", diffrax.Dopri5(), VALUES, max_steps=64,
    saveat=diffrax.SaveAt(ts=np.linspace(0, 1, 4)), stepsize_controller=diffrax.PIDController(1e-4, 1e-4),
)  # fmt: skip
_ode(
    "diffrax_kvaerno3", diffrax.Kvaerno3(), VALUES, max_steps=64,
    stepsize_controller=diffrax.PIDController(1e-4, 1e-4),
)  # fmt: skip
_ode("diffrax_backsolve", diffrax.Tsit5(), adjoint=diffrax.BacksolveAdjoint())


@DIFFRAX.add(*START, compared=REVERSE)
def diffrax_sde(y0, k):
    path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (2,), jax.random.PRNGKey(0))
    noise = diffrax.ControlTerm(lambda t, y, k: 0.1 * jnp.eye(2, dtype=y.dtype), path)
    terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, k: -k * y), noise)
    return diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.1, y0, args=k).ys


@DIFFRAX.add(draw(5), compared=SECOND)
def diffrax_cubic_spline(y):
    times = jnp.linspace(0, 1, 5).astype(y.dtype)
    coefficients = diffrax.backward_hermite_coefficients(times, y[:, None])
    return diffrax.CubicInterpolation(times, coefficients).evaluate(0.3)


SENDERS, RECEIVERS = np.array([0, 1, 2, 3, 0], np.int32), np.array([1, 2, 3, 0, 2], np.int32)
GROUPS = np.array([0, 0, 1, 1], np.int32)


def _graph(nodes, edges=None, whole=None):
    counts = np.array([4], np.int32), np.array([5], np.int32)
    return jraph.GraphsTuple(
        nodes=nodes,
        edges=edges,
        senders=SENDERS,
        receivers=RECEIVERS,
        globals=whole,
        n_node=counts[0],
        n_edge=counts[1],
    )


@JRAPH.add(draw(4, 3), draw(5, 2), compared=SECOND)
def jraph_network(nodes, edges):
    net = jraph.GraphNetwork(
        lambda e, s, r, g: jnp.tanh(e + s[:, :2] * r[:, 1:]),
        lambda n, s, r, g: jnp.tanh(n + jnp.concatenate([s, r[:, :1]], 1)),
        lambda n, e, g: g + n[:, :2] * e,
    )
    found = net(_graph(nodes, edges, jnp.ones((1, 2), nodes.dtype)))
    return found.nodes, found.edges, found.globals


@JRAPH.add(draw(4, 3), draw(3, 2), compared=SECOND)
def jraph_convolution(nodes, w):
    net = jraph.GraphConvolution(lambda n: n @ w, add_self_edges=True, symmetric_normalization=True)
    return net(_graph(nodes)).nodes


@JRAPH.add(draw(4, 3), draw(3, 2), draw(4), compared=SECOND)
def jraph_attention(nodes, w, a):
    net = jraph.GAT(lambda n: n @ w, lambda s, r, e: jax.nn.leaky_relu(jnp.concatenate([s, r], 1) @ a[:, None]))
    return net(_graph(nodes)).nodes


@JRAPH.add(draw(4, 3), compared=SECOND)
def jraph_segments(nodes):
    return (
        jraph.segment_softmax(nodes[:, 0], GROUPS, 2),
        jraph.segment_normalize(nodes, GROUPS, 2),
        jraph.segment_max_or_constant(nodes, 2 * GROUPS, 3),
        jraph.segment_variance(nodes, GROUPS, 2),
    )


POINTS = np.sort(draw(7))
SCALES = np.float32(0.3), np.float32(1.2), POINTS, np.sin(POINTS)


@TINYGP.add(*SCALES, compared=SECOND, tolerance=1e-4)
def tinygp_matern(amplitude, scale, x, y):
    return tinygp.GaussianProcess(amplitude**2 * tinygp.kernels.Matern32(scale), x, diag=0.1).log_probability(y)


@TINYGP.add(*SCALES, compared=BOTH, tolerance=1e-4)
def tinygp_condition(amplitude, scale, x, y):
    kernel = amplitude * tinygp.kernels.ExpSquared(scale) + tinygp.kernels.ExpSineSquared(scale=scale, gamma=amplitude)
    found = tinygp.GaussianProcess(kernel, x, diag=0.1).condition(y, x[:3] + 0.1)
    return found.log_probability, found.gp.loc, found.gp.variance


@TINYGP.add(*SCALES, compared=BOTH, tolerance=1e-4)
def tinygp_quasiseparable(amplitude, scale, x, y):
    kernel = tinygp.kernels.quasisep.Matern32(scale=scale, sigma=amplitude)
    return tinygp.GaussianProcess(kernel, x, diag=0.1, assume_sorted=True).log_probability(y)
