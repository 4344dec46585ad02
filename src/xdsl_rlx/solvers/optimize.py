"""Minimisation of functions of trees as compiled loops, with implicit derivatives."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import check_integer, kind_of
from xdsl_rlx.op_functions import function
from xdsl_rlx.solvers.closures import Unknowns, arguments_of, builder_for, closed, given_function, norm, squared
from xdsl_rlx.solvers.linear import Matvec, cg_vectors
from xdsl_rlx.solvers.roots import dense_solve, implicit_root
from xdsl_rlx.tree import Tree, ravel
from xdsl_rlx.tree_control import cond, scan, while_loop
from xdsl_rlx.tree_functions import grad, jacfwd, value_and_grad


class OptimizeResult(NamedTuple):
    """Where a function has a minimum."""

    x: Any
    """A tree like the first guess."""
    fun: Any
    """The value of the function at `x`; of least squares, half the sum of squares."""
    grad_norm: Any
    """The largest absolute value of the gradient at `x`."""
    iterations: Any
    converged: Any
    """Whether a tolerance was reached."""


_DECREASE, _CURVATURE = 1e-4, 0.9
"""Constants of the strong Wolfe conditions (Nocedal and Wright, 2006, section 3.1)."""


@composite
def lbfgs(
    fun: Callable[..., Any],
    x0: Tree,
    args: Any = (),
    *,
    maxiter: int = 500,
    history: int = 10,
    gtol: float = 1e-5,
    maxls: int = 25,
) -> OptimizeResult:
    """
    Return a local minimum of the number `fun(x, *args)` over the tree `x` as an `OptimizeResult`, by L-BFGS.

    The direction is made of the last `history` steps, its length fulfils the strong Wolfe conditions; a line search has
    at most `maxls` evaluations of value and gradient. It stops when `max |gradient| <= gtol`, when no step decreases
    the function, at NaN, and after `maxiter` iterations. `x` has implicit derivatives by `args` and captured values, by
    conjugate gradients on the Hessian at the minimum. Like `jaxopt.LBFGS` and `scipy.optimize.minimize`. (Liu and
    Nocedal, 1989)
    """
    fun = given_function("lbfgs: fun", "x, *args", fun)
    for name, given, least in (("maxiter", maxiter, 0), ("history", history, 1), ("maxls", maxls, 1)):
        check_integer("lbfgs", name, given, least)
    builder = builder_for(x0)
    unknowns = _real("lbfgs", Unknowns.of(builder, x0, "x0"))
    dtype = unknowns.vector.dtype
    tail = arguments_of(args)

    def value(x: Any) -> Any:
        found = fun(unknowns.unravel(x), *tail)
        if np.shape(found) != ():
            raise GraphError(f"lbfgs: fun: expected a number, got shape {list(np.shape(found))}; take its sum or mean")
        return found.astype(dtype) if hasattr(found, "dtype") else found + 0 * x.sum()

    if not unknowns.count:
        zero, count = np.zeros((), np.dtype(dtype)), builder.constant(np.int64(0))
        at_nothing = value(unknowns.vector)
        return OptimizeResult(x0, at_nothing, builder.constant(zero), count, builder.constant(np.True_))
    objective = closed(builder, value, unknowns.vector)
    slope = closed(builder, grad(lambda x: objective(x)), unknowns.vector)
    captured = objective.captured

    def solve(_: Matvec, x0: Any) -> tuple[Any, Any]:
        return _lbfgs(value_and_grad(lambda x: objective.function(captured, x)), x0, maxiter, history, gtol, maxls)

    x, (steepest, k) = implicit_root(builder, slope, unknowns.vector, solve, _hessian_solve)
    return OptimizeResult(unknowns.unravel(x), objective(x), steepest, k, steepest <= gtol)


def _hessian_solve(linear: Matvec, y: Any) -> Any:
    near = 10 * float(np.finfo(np.dtype(y.dtype)).eps) * norm(y)
    return cg_vectors(linear, y, np.zeros_like(y), near, 10 * int(y.shape[0]), lambda x: x)[0]


def _real(name: str, unknowns: Unknowns) -> Unknowns:
    if kind_of(unknowns.vector) == "c":
        raise GraphError(f"{name}: x0: expected real numbers, got complex ones; pass real and imaginary part as a tree")
    return unknowns


def _lbfgs(
    evaluate: Callable[[Any], tuple[Any, Any]], x0: Any, limit: int, history: int, gtol: float, maxls: int
) -> tuple[Any, Any]:
    """Rows of two matrices are the last steps and changes of the gradient, the newest last; zeros have no effect."""

    def test(carry: Any) -> Any:
        k, _, f, g, _, _, _, going = carry
        size = abs(g).max()
        return (size > gtol) & (size < np.inf) & (abs(f) < np.inf) & (k < limit) & going

    def body(carry: Any) -> Any:
        k, x, f, g, steps, changes, weights, _ = carry

        def back(q: Any, row: Any) -> Any:
            s, y, weight = row
            a = weight * np.dot(s, q)
            return q - a * y, a

        def forth(r: Any, row: Any) -> Any:
            (s, y, weight), a = row
            return r + (a - weight * np.dot(y, r)) * s, None

        rows = steps, changes, weights
        q, parts = scan(back, g, rows, reverse=True)
        # the newest pair has the curvature along the last step
        curvature = weights[-1] * squared(changes[-1])
        scale = np.where(curvature > 0, 1 / np.where(curvature > 0, curvature, 1), np.minimum(1 / norm(g), 1))
        direction = -scan(forth, scale * q, (rows, parts))[0]
        falling = np.dot(direction, g)
        direction = np.where(falling < 0, direction, -g)
        falling = np.where(falling < 0, falling, -squared(g))
        length, after, slope = _line_search(evaluate, x, f, g, direction, falling, maxls)
        step, change = length * direction, slope - g
        product = np.dot(step, change)
        # a pair without curvature would make the direction no descent
        weight = np.where(product > 0, 1 / np.where(product > 0, product, 1), 0)
        return (
            k + 1,
            x + step,
            after,
            slope,
            np.concatenate([steps[1:], step[None]]),
            np.concatenate([changes[1:], change[None]]),
            np.concatenate([weights[1:], weight[None]]),
            length > 0,
        )

    f, g = evaluate(x0)
    rows = np.zeros((history, int(x0.shape[0])), np.dtype(x0.dtype))
    k, x, _, g, *_ = while_loop(test, body, (np.int64(0), x0, f, g, rows, rows, rows[:, 0], np.True_))
    return x, (abs(g).max(), k)


def _line_search(
    evaluate: Callable[[Any], tuple[Any, Any]], x: Any, f: Any, g: Any, direction: Any, falling: Any, limit: int
) -> tuple[Any, Any, Any]:
    """
    A length that fulfils the strong Wolfe conditions, with value and gradient there; else the best one, or 0.

    `low` is the best length so far; `high` is not above it by mistake: a value that is too large, or an ascent, so
    between them there is such a length. (Nocedal and Wright, 2006, algorithms 3.5 and 3.6)
    """
    slack = 4 * float(np.finfo(np.dtype(x.dtype)).eps) * abs(f)

    def test(carry: Any) -> Any:
        k, going, *_ = carry
        return going & (k < limit)

    def body(carry: Any) -> Any:
        k, _, t, low, f_low, d_low, g_low, high, f_high, d_high = carry
        f_t, g_t = evaluate(x + t * direction)
        d_t = np.dot(g_t, direction)
        enough = (f_t <= f + _DECREASE * t * falling + slack) & (f_t <= f_low + slack) & (abs(d_t) < np.inf)
        found = enough & (abs(d_t) <= -_CURVATURE * falling)
        to_high = ~enough | (d_t >= 0)
        to_low = enough & ((d_t < 0) | found)
        high, f_high, d_high = (np.where(to_high, a, b) for a, b in ((t, high), (f_t, f_high), (d_t, d_high)))
        low, f_low, d_low, g_low = (
            np.where(to_low, a, b) for a, b in ((t, low), (f_t, f_low), (d_t, d_low), (g_t, g_low))
        )
        width = high - low
        bounded = width < np.inf
        safe = np.where(bounded, width, 1)
        # the minimum of the cubic with these values and slopes, kept away from the ends
        rise = d_low + d_high - 3 * (f_high - f_low) / safe
        root = np.sqrt(np.maximum(rise * rise - d_low * d_high, 0))
        below = d_high - d_low + 2 * root
        part = 1 - (d_high + root - rise) / np.where(below == 0, 1, below)
        part = np.where((abs(part) < np.inf) & (below != 0), np.clip(part, 0.1, 0.9), 0.5)
        after = np.where(bounded, low + part * safe, 2 * np.maximum(low, t))
        return k + 1, ~found, after, low, f_low, d_low, g_low, high, f_high, d_high

    one, zero = np.ones_like(f), np.zeros_like(f)
    start = (np.int64(0), np.True_, one, zero, f, falling, g, one * np.inf, f, falling)
    _, _, _, low, f_low, _, g_low, *_ = while_loop(test, body, start)
    return low, f_low, g_low


@composite
def levenberg_marquardt(
    residual: Callable[..., Tree],
    x0: Tree,
    args: Any = (),
    *,
    maxiter: int = 100,
    gtol: float | None = None,
    xtol: float | None = None,
    damping: float = 1e-3,
) -> OptimizeResult:
    """
    Return a local minimum of half the sum of squares of `residual(x, *args)` as an `OptimizeResult`.

    `residual` maps a tree to a tree of real numbers of any shapes. Steps solve `(J^T J + lambda D) dx = -J^T r`, where
    `D` is the diagonal of `J^T J`; the damping `lambda` begins at `damping` and is adapted to the gain of a step. It
    stops when `max |J^T r| <= gtol`, when a step is shorter than `xtol |x|`, at NaN, and after `maxiter` iterations.
    The default of both tolerances is `sqrt(eps)` of the element type, times 1e-2 for `gtol`. `J` is a dense matrix.

    `x` has implicit derivatives by `args` and captured values, with the Hessian of the sum. Like
    `jaxopt.LevenbergMarquardt` and `scipy.optimize.least_squares(method="lm")`. (Marquardt, 1963; Nielsen, 1999)
    """
    residual = given_function("levenberg_marquardt: residual", "x, *args", residual)
    check_integer("levenberg_marquardt", "maxiter", maxiter, 0)
    builder = builder_for(x0)
    unknowns = _real("levenberg_marquardt", Unknowns.of(builder, x0, "x0"))
    dtype = unknowns.vector.dtype
    eps = float(np.finfo(np.dtype(dtype)).eps)
    flattest = eps**0.5 * 1e-2 if gtol is None else gtol
    shortest = eps**0.5 if xtol is None else xtol
    tail = arguments_of(args)

    def errors(x: Any) -> Any:
        found = ravel(residual(unknowns.unravel(x), *tail))[0]
        if kind_of(found) == "c":
            raise GraphError("levenberg_marquardt: residual: expected real numbers, got complex ones")
        return found.astype(dtype)

    vector = closed(builder, errors, unknowns.vector)

    def cost(x: Any) -> Any:
        return 0.5 * squared(vector(x))

    if not unknowns.count:
        zero, count = np.zeros((), np.dtype(dtype)), builder.constant(np.int64(0))
        return OptimizeResult(x0, cost(unknowns.vector), builder.constant(zero), count, builder.constant(np.True_))
    slope = closed(builder, grad(cost), unknowns.vector)
    captured = vector.captured

    def solve(_: Matvec, x0: Any) -> tuple[Any, Any]:
        return _damped(lambda x: vector.function(captured, x), x0, maxiter, flattest, shortest, damping)

    x, (steepest, k, converged) = implicit_root(builder, slope, unknowns.vector, solve, dense_solve)
    return OptimizeResult(unknowns.unravel(x), cost(x), steepest, k, converged)


def _damped(errors: Matvec, x0: Any, limit: int, gtol: float, xtol: float, damping: float) -> tuple[Any, Any]:
    tiny = float(np.finfo(np.dtype(x0.dtype)).tiny)
    eye = np.eye(int(x0.shape[0])).astype(np.dtype(x0.dtype))

    def normal(x: Any, r: Any) -> tuple[Any, Any]:
        jacobian = jacfwd(errors)(x)
        return jacobian.T @ jacobian, r @ jacobian

    def test(carry: Any) -> Any:
        k, _, cost, _, slope, _, _, short = carry
        size = abs(slope).max()
        return (size > gtol) & (size < np.inf) & (cost < np.inf) & (k < limit) & ~short

    def body(carry: Any) -> Any:
        k, x, cost, square, slope, factor, growth, _ = carry
        diagonal = np.maximum((square * eye).sum(axis=0), tiny)
        step = -function("dense_solve")(square + factor * diagonal * eye, slope)
        r = errors(x + step)
        after = 0.5 * squared(r)
        expected = 0.5 * np.dot(step, factor * diagonal * step - slope)
        gain = (cost - after) / np.where(expected > 0, expected, np.inf)
        better = gain > 0
        short = norm(step) <= xtol * (norm(x) + xtol)
        square, slope = cond(better, normal, lambda *_: (square, slope), x + step, r)
        eased = np.maximum(1 / 3, 1 - (2 * gain - 1) ** 3)
        return (
            k + 1,
            np.where(better, x + step, x),
            np.where(better, after, cost),
            square,
            slope,
            np.where(better, np.maximum(factor * eased, tiny), np.minimum(factor * growth, 1 / tiny)),
            np.where(better, 2, np.minimum(2 * growth, 1e6)),
            short,
        )

    r = errors(x0)
    square, slope = normal(x0, r)
    factor = np.full_like(slope[0], damping)
    carry = (np.int64(0), x0, 0.5 * squared(r), square, slope, factor, 2 + 0 * factor, np.False_)
    k, x, _, _, slope, _, _, short = while_loop(test, body, carry)
    steepest = abs(slope).max()
    return x, (steepest, k, (steepest <= gtol) | short)
