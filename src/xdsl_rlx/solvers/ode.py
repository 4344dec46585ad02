"""Initial value problems of ordinary differential equations, with the arguments of `jax.experimental.ode.odeint`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.custom_derivatives import custom_vjp
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.nn.arguments import kind_of
from xdsl_rlx.op_functions import function
from xdsl_rlx.solvers.closures import Unknowns, builder_for, closed, given_function, scope
from xdsl_rlx.tree import Tree, flatten, ravel, unflatten
from xdsl_rlx.tree import map as tree_map
from xdsl_rlx.tree_control import scan
from xdsl_rlx.tree_functions import jvp, vjp

Dynamics = Callable[[Any, Any, Any], Any]
"""`f(y, t, theta)`: the derivative of the vector `y` by `t`; `theta` is a tree."""

# Dormand and Prince (1980): stages, the error of the 5th order, and the middle of a step (Shampine, 1986)
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    35 / 384 - 1951 / 21600,
    0,
    500 / 1113 - 22642 / 50085,
    125 / 192 - 451 / 720,
    -2187 / 6784 + 12231 / 42400,
    11 / 84 - 649 / 6300,
    -1 / 60,
)
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)

_LEVELS = 2
"""Orders of derivatives in reverse mode: the adjoint equation of one is a problem like any other."""


@dataclass(frozen=True)
class _Options:
    rtol: float
    atol: float
    mxstep: float
    hmax: float


@composite
def odeint(
    func: Callable[..., Tree],
    y0: Tree,
    t: Any,
    *args: Tree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = inf,
    hmax: float = inf,
    backsolve: bool = True,
) -> Tree:
    """
    Return the solution of `dy/dt = func(y, t, *args)`, `y(t[0]) = y0`, at the times `t`.

    `y0` is a floating-point tree; the leaves of the result have a leading axis of the length of `t`. The times are
    increasing, or decreasing. Steps are of the Dormand-Prince pair of orders 5 and 4, with an error of at most
    `atol + rtol |y|` and a length of at most `hmax`. Times between steps are interpolated with order 4. An interval
    that needs more than `mxstep` steps, or that NaN ends, gives NaN from there on. `rtol` is at least 4 roundings of
    the element type.

    Reverse mode solves the adjoint equation backwards, in memory that does not grow with the steps, for derivatives by
    `y0`, `t`, `args` and captured values (Chen et al., 2018); forward mode differentiates the steps. With
    `backsolve=False` reverse mode, too, differentiates the steps: exact to rounding, for a finite `mxstep`, in memory
    for `mxstep` steps an interval. Names are those of `jax.experimental.ode.odeint`. Raises GraphError for times that
    are no vector, complex numbers, and results of `func` that are not like `y0`.
    """
    func = given_function("odeint: func", "y, t, *args", func)
    builder = builder_for(y0, t, args)
    unknowns = Unknowns.of(builder, y0, "y0")
    if kind_of(unknowns.vector) == "c":
        raise GraphError("odeint: y0: expected real numbers, got complex ones; pass real and imaginary part as a tree")
    if mxstep != inf and (mxstep != int(mxstep) or mxstep < 1):
        raise GraphError(f"odeint: mxstep: expected a positive number of steps, got {shown(mxstep)}")
    times = _times(builder, t, unknowns.vector.dtype)
    leaves, spec = flatten(args)
    moving = [n for n, x in enumerate(leaves) if hasattr(x, "dtype") and kind_of(x) in "fc"]
    values = [leaves[n] for n in moving]

    def dynamics(y: Any, t: Any, theta: Sequence[Any]) -> Any:
        given = list(leaves)
        for n, x in zip(moving, theta, strict=True):
            given[n] = x
        slope = func(unknowns.unravel(y), t, *unflatten(spec, given))
        return unknowns.read(slope, "odeint: the result of func")

    pure = closed(builder, dynamics, unknowns.vector, times[0], values)
    options = _Options(max(rtol, 4 * float(np.finfo(np.dtype(times.dtype)).eps)), atol, mxstep, hmax)
    theta = {"args": tuple(values), "captured": pure.captured}

    def f(y: Any, t: Any, theta: Any) -> Any:
        return pure.function(theta["captured"], y, t, theta["args"])

    if backsolve:
        ys = _with_adjoint(f, options, _LEVELS)(unknowns.vector, times, theta)
    else:
        ys = _integrated(f, unknowns.vector, times, theta, options)
    if not unknowns.count:
        return tree_map(lambda x: np.broadcast_to(x, (times.shape[0], *x.shape)), unknowns.unravel(unknowns.vector))
    return _of_rows(ys, unknowns)


def _times(builder: MirBuilder, t: Any, dtype: Any) -> Any:
    """The times in the element type of the solution; GraphError unless they are a vector."""
    times: Any = builder.value(builder.operand(t if hasattr(t, "dtype") else np.asarray(t, np.float64)))
    if times.rank != 1 or not times.shape[0]:
        raise GraphError(f"odeint: t: expected a vector of at least one time, got shape {list(times.shape)}")
    return times.astype(dtype)


def _of_rows(ys: Any, unknowns: Unknowns) -> Tree:
    """The tree of a matrix whose rows are vectors of unknowns."""
    like, spec = flatten(unknowns.unravel(unknowns.vector))
    parts: list[Any] = []
    start = 0
    for one in like:
        size = int(np.prod(one.shape))
        parts.append(ys[:, start : start + size].reshape(ys.shape[0], *one.shape).astype(one.dtype))
        start += size
    return unflatten(spec, parts)


def _with_adjoint(f: Dynamics, options: _Options, levels: int) -> Callable[[Any, Any, Any], Any]:
    """The solution as a function of `y0`, times and `theta`, with the adjoint equation for its derivative."""

    def forward(y0: Any, times: Any, theta: Any) -> Any:
        return _integrated(f, y0, times, theta, options)

    if not levels:
        return forward

    def backward(saved: Any, g: Any) -> tuple[Any, Any, Any]:
        ys, times, theta = saved
        floats, rest, joined = _split(theta)
        packed, unpack = ravel(floats)
        n, count = int(ys.shape[1]), len(floats)

        def adjoint(state: Any, t: Any, theta: Any) -> Any:
            """Of `y`, of its cotangent, and of that of `theta`."""
            floats, rest, _ = _split(theta)
            y, a = state[:n], state[n : 2 * n]
            slope, found = vjp(lambda y, floats: f(y, t, joined(floats, rest)))((y, floats), a)
            by_y, by_theta = found
            parts = [slope, -by_y]
            if count:
                parts.append(-ravel(by_theta)[0].astype(a.dtype))
            return np.concatenate(parts)

        solve = _with_adjoint(adjoint, options, levels - 1)

        def step(carry: Any, row: Any) -> Any:
            y, g, late, early = row
            a = carry[:n] + g
            by_time = np.dot(a - carry[:n], f(y, late, theta))
            state = np.concatenate([y, a, carry[n:]])
            return solve(state, np.stack([late, early]), theta)[1][n:], by_time

        start = np.zeros_like(ys[0])
        if count:
            start = np.concatenate([start, np.zeros_like(packed).astype(ys.dtype)])
        left, by_times = scan(step, start, (ys[1:], g[1:], times[1:], times[:-1]), reverse=True)
        a = left[:n]
        by_first = -np.dot(a, f(ys[0], times[0], theta))
        of_floats = unpack(left[n:].astype(packed.dtype)) if count else floats
        return a + g[0], np.concatenate([by_first[None], by_times]), joined(of_floats, [None] * len(rest))

    solved = custom_vjp(forward)
    solved.defvjp(lambda y0, times, theta: (ys := solved(y0, times, theta), (ys, times, theta)), backward)
    solved.defjvp(lambda primals, tangents: jvp(forward)(primals, tangents))
    return solved


def _split(theta: Any) -> tuple[list[Any], list[Any], Callable[[Sequence[Any], Sequence[Any]], Any]]:
    """The floats among the leaves of a tree, the others, and how to join them."""
    leaves, spec = flatten(theta)
    is_float = [hasattr(x, "dtype") and kind_of(x) in "fc" for x in leaves]

    def joined(floats: Sequence[Any], rest: Sequence[Any]) -> Any:
        of_floats, others = iter(floats), iter(rest)
        return unflatten(spec, [next(of_floats) if one else next(others) for one in is_float])

    kinds = list(zip(leaves, is_float, strict=True))
    return [x for x, one in kinds if one], [x for x, one in kinds if not one], joined


def _integrated(f: Dynamics, y0: Any, times: Any, theta: Any, options: _Options) -> Any:
    """The rows `y(t)` for each time; loops end at NaN, and where a step does not move the time any more."""
    if times.shape[0] == 1 or not y0.shape[0]:
        return np.stack([y0] * times.shape[0])
    stopped = function("stop_gradient")
    sign = stopped(np.where(times[-1] >= times[0], 1.0, -1.0).astype(y0.dtype))

    def slope(y: Any, t: Any) -> Any:
        return sign * f(y, sign * t, theta)

    limit = None if options.mxstep == inf else int(options.mxstep)

    def to_next(carry: Any, target: Any) -> tuple[Any, Any]:
        def test(state: Any) -> Any:
            count, (_, _, t, dt, _, _) = state
            going = (t < target) & (t + dt > t)
            return going if limit is None else going & (count < limit)

        def body(state: Any) -> Any:
            count, old = state
            y, slope_0, t, dt, _, _ = old
            stages, y_1 = [slope_0], y
            for at, weights in zip(_TIMES, _STAGES, strict=True):
                y_1 = y + dt * _sum(weights, stages)
                stages.append(slope(y_1, t + at * dt))
            ratio = stopped(_ratio(dt * _sum(_ERROR, stages), y, y_1, options))
            middle = y + dt * _sum(_MIDDLE, stages)
            new = (
                y_1,
                stages[-1],
                t + dt,
                dt,
                t,
                _quartic(y, y_1, middle, dt * slope_0, dt * stages[-1]),
            )
            y, slope_0, t, _, before, quartic = tree_map(lambda a, b: np.where(ratio <= 1, a, b), new, old)
            return count + 1, (y, slope_0, t, stopped(_next_step(dt, ratio, options.hmax)), before, quartic)

        _, carry = _loop(test, body, (np.int64(0), carry), limit)
        _, _, t, _, before, quartic = carry
        length = t - before
        at = (target - before) / np.where(length > 0, length, 1)
        found = quartic[0]
        for coefficient in quartic[1:]:
            found = found * at + coefficient
        reason = (
            "a step is too short to move the time" if limit is None else f"mxstep={limit} does not reach the next time"
        )
        with scope(f"odeint: {reason}"):
            return carry, np.where(t >= target, found, np.nan)

    t = sign * times
    first = slope(y0, t[0])
    dt = stopped(_first_step(slope, t[0], y0, first, options))
    zeros = np.zeros_like(y0)
    start = (y0, first, t[0], dt, t[0], (zeros, zeros, zeros, zeros, y0))
    _, ys = scan(to_next, start, t[1:])
    return np.concatenate([y0[None], ys])


def _loop(test: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, limit: int | None) -> Any:
    """`while_loop`, whose error in reverse mode names the argument of `odeint`."""
    leaves, spec = flatten(init)
    left = builder_for(init).while_loop(
        lambda carries: test(unflatten(spec, carries)),
        lambda carries: tuple(flatten(body(unflatten(spec, carries)))[0]),
        tuple(leaves),
        limit,
        remedy="set mxstep of odeint to a number of steps",
    )
    return unflatten(spec, left)


def _sum(weights: Sequence[float], stages: Sequence[Any]) -> Any:
    found = None
    for weight, stage in zip(weights, stages, strict=True):
        if weight:
            found = weight * stage if found is None else found + weight * stage
    return found


def _ratio(error: Any, y: Any, y_1: Any, options: _Options) -> Any:
    """The error of a step over what is allowed, as a root mean square."""
    allowed = options.atol + options.rtol * np.maximum(abs(y), abs(y_1))
    return np.sqrt(((error / allowed) ** 2).mean())


def _next_step(dt: Any, ratio: Any, longest: float) -> Any:
    """From a fifth of the step to ten times it, not shorter after a success; NaN for NaN."""
    safe = np.where(ratio == 0, 1, ratio)
    factor = np.clip(0.9 * safe ** (-1 / 5), np.where(ratio < 1, 1.0, 0.2), 10.0)
    return np.minimum(dt * np.where(ratio == 0, 10.0, factor), longest)


def _first_step(slope: Callable[[Any, Any], Any], t: Any, y: Any, first: Any, options: _Options) -> Any:
    """Hairer, Norsett and Wanner (1993), Solving ordinary differential equations I, section II.4."""
    scale = options.atol + options.rtol * abs(y)

    def size(x: Any) -> Any:
        return np.sqrt(((x / scale) ** 2).sum())

    d_0, d_1 = size(y), size(first)
    small = (d_0 < 1e-5) | (d_1 < 1e-5)
    h_0 = np.where(small, 1e-6, 0.01 * d_0 / np.where(small, 1, d_1))
    d_2 = size(slope(y + h_0 * first, t + h_0) - first) / h_0
    steepest = np.maximum(d_1, d_2)
    flat = steepest <= 1e-15
    h_1 = np.where(flat, np.maximum(1e-6, h_0 * 1e-3), (0.01 / np.where(flat, 1, steepest)) ** (1 / 5))
    return np.minimum(np.minimum(100 * h_0, h_1), options.hmax)


def _quartic(y_0: Any, y_1: Any, middle: Any, d_0: Any, d_1: Any) -> tuple[Any, ...]:
    """The coefficients, highest first, of the polynomial on [0, 1] with these values and derivatives at its ends."""
    return (
        2 * (d_1 - d_0) - 8 * (y_0 + y_1) + 16 * middle,
        5 * d_0 - 3 * d_1 + 18 * y_0 + 14 * y_1 - 32 * middle,
        d_1 - 4 * d_0 - 11 * y_0 - 5 * y_1 + 16 * middle,
        d_0,
        y_0,
    )
