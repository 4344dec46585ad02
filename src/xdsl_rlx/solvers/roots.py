"""Roots and fixed points of functions of trees, with implicit derivatives."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.custom_derivatives import custom_vjp
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.indexing import dynamic_update_index_in_dim
from xdsl_rlx.nn.arguments import check_integer, kind_of
from xdsl_rlx.op_functions import function
from xdsl_rlx.solvers.closures import (
    Closed,
    Unknowns,
    arguments_of,
    builder_for,
    check_function,
    closed,
    given_function,
    norm,
    scope,
    squared,
)
from xdsl_rlx.solvers.linear import ORDERS, Matvec, gmres_vectors, implicit_linear_solve
from xdsl_rlx.tree import Tree
from xdsl_rlx.tree import map as tree_map
from xdsl_rlx.tree_control import while_loop
from xdsl_rlx.tree_functions import jacfwd, jvp, vjp


class RootResult(NamedTuple):
    """Where a function is 0, or does not move its argument."""

    x: Any
    """A tree like the first guess."""
    residual: Any
    """The largest absolute value of the function at `x`; of a fixed point, of its change of `x`."""
    iterations: Any
    converged: Any
    """Whether the tolerance was reached."""


def implicit_root(
    builder: MirBuilder,
    f: Closed,
    x0: Tree,
    solve: Callable[[Matvec, Tree], tuple[Tree, Tree]],
    tangent_solve: Callable[[Matvec, Tree], Tree],
) -> tuple[Tree, Tree]:
    """
    `solve(f, x0)` returns where `f` is 0, and information; with the derivatives of that root by what `f` captures.

    The derivative of `f(x, c) = 0` is `J dx = -df/dc dc`: `tangent_solve(J, y)` solves such systems, and transposed
    ones. `x0` and what `solve` captures beside `f` have no derivatives.
    """
    kept = closed(builder, lambda constants, x0: solve(lambda x: f.function(constants, x), x0), f.captured, x0)

    def run(constants: Any, further: Any, x0: Tree) -> tuple[Tree, Tree]:
        return kept.function(further, constants, x0)

    def solved(matvec: Matvec, b: Tree) -> Tree:
        def linear(matvec: Matvec, b: Tree, _: Tree) -> tuple[Tree, Tree]:
            return tangent_solve(matvec, b), ()

        inner = builder_for(b)
        zeros = tree_map(np.zeros_like, b)
        return implicit_linear_solve(inner, closed(inner, matvec, b), b, zeros, linear, linear, False)[0]

    root = custom_vjp(run)

    def bwd(saved: Any, cotangents: tuple[Tree, Tree]) -> tuple[Any, ...]:
        constants, x = saved
        if not constants:
            return (), None, None
        g = cotangents[0]
        y = solved(lambda y: vjp(lambda x: f.function(constants, x))((x,), y)[1][0], g)
        return vjp(lambda some: f.function(some, x))((constants,), tree_map(np.negative, y))[1][0], None, None

    def pushed(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        constants = primals[0]
        x, info = root(*primals)
        if not constants:
            return (x, info), None
        moved = jvp(lambda some: f.function(some, x))((constants,), (tangents[0],))[1]
        change = solved(lambda y: jvp(lambda x: f.function(constants, x))((x,), (y,))[1], tree_map(np.negative, moved))
        return (x, info), (change, None)

    root.defvjp(
        lambda constants, further, x0: (found := root(constants, further, x0), (constants, found[0])),
        bwd,
    )
    root.defjvp(pushed)
    root.nested = ORDERS
    return root(f.captured, kept.captured, x0)


@composite
def custom_root(
    f: Callable[[Tree], Tree],
    initial_guess: Tree,
    solve: Callable[[Callable[[Tree], Tree], Tree], Any],
    tangent_solve: Callable[[Callable[[Tree], Tree], Tree], Tree],
    has_aux: bool = False,
) -> Any:
    """
    Return `solve(f, initial_guess)`, a root of `f`, with implicit derivatives; as `jax.lax.custom_root`.

    `f` maps a tree to a tree like it. Derivatives by the values that `f` captures are solutions
    `tangent_solve(linear, y)` of `linear(x) = y`, where `linear` is the derivative of `f` at the root, or its transpose
    in reverse mode. `initial_guess`, and what `solve` captures beside `f`, have no derivatives. With `has_aux` `solve`
    returns `(x, aux)`. Raises GraphError for results that are not like `initial_guess`.
    """
    f = given_function("custom_root: f", "x", f)
    solve = given_function("custom_root: solve", "f, initial_guess", solve)
    tangent_solve = given_function("custom_root: tangent_solve", "linear, y", tangent_solve)
    builder = builder_for(initial_guess)
    unknowns = Unknowns.of(builder, initial_guess, "initial_guess")
    x0 = unknowns.unravel(unknowns.vector)

    def like(what: str, tree: Tree) -> Tree:
        return unknowns.unravel(unknowns.read(tree, f"custom_root: the result of {what}"))

    def with_info(f: Callable[[Tree], Tree], x0: Tree) -> tuple[Tree, Tree]:
        found = solve(f, x0)
        x, aux = found if has_aux else (found, ())
        return like("solve", x), aux

    x, aux = implicit_root(
        builder,
        closed(builder, lambda x: like("f", f(x)), x0),
        x0,
        with_info,
        lambda linear, y: like("tangent_solve", tangent_solve(linear, y)),
    )
    return (x, aux) if has_aux else x


@composite
def root(
    f: Callable[..., Tree], x0: Tree, args: Any = (), *, tol: float | None = None, maxiter: int = 100
) -> RootResult:
    """
    Return where `f(x, *args)` is 0 as a `RootResult`: `x`, `residual`, `iterations`, `converged`.

    `f` maps a tree to a tree like it. Powell's dogleg method, with the Jacobian by forward mode: a Newton step within a
    trust region, which holds where the Jacobian is singular, too. It stops when `max |f| <= tol`, when steps no longer
    change `x`, at NaN, and after `maxiter` iterations. The default of `tol` is `eps^(2/3)` of the element type. The
    Jacobian is a dense matrix of all unknowns: for many use `fixed_point` or `custom_root`.

    `x` has implicit derivatives by `args` and captured values. Like `scipy.optimize.root` and `jaxopt.Broyden`.
    (Powell, 1970, A hybrid method for nonlinear equations)
    """
    builder, unknowns = _prepared("root", f, x0, maxiter)
    fun = _on_vectors("root", f, arguments_of(args), unknowns)
    near = _tolerance(unknowns, tol)
    if not unknowns.count:
        return _nothing(builder, unknowns)
    x, (residual, k) = implicit_root(
        builder,
        closed(builder, fun, unknowns.vector),
        unknowns.vector,
        lambda fun, x0: _dogleg(fun, x0, near, maxiter),
        dense_solve,
    )
    return RootResult(unknowns.unravel(x), residual, k, residual <= near)


@composite
def bisect(
    f: Callable[..., Any], lower: Any, upper: Any, args: Any = (), *, tol: float = 0.0, maxiter: int = 1100
) -> RootResult:
    """
    Return where the continuous function `f(x, *args)` changes its sign between `lower` and `upper`.

    `f` is elementwise: each element of its result has an interval of its own. The result is a `RootResult`. Intervals
    are halved until none is longer than `tol`, or than the distance of two floats. Elements whose ends have the same
    sign are NaN. `x` has implicit derivatives by `args` and captured values. Like `jaxopt.Bisection` and
    `scipy.optimize.bisect`.
    """
    builder = builder_for(lower, upper)
    f = given_function("bisect: f", "x, *args", f)
    check_integer("bisect", "maxiter", maxiter, 0)
    low, high = (x if hasattr(x, "dtype") else np.asarray(x, np.float64) for x in (lower, upper))
    # an interval for each element of the result of f, which further arguments may have
    like = f(builder.value(builder.operand(low)) + builder.value(builder.operand(high)) * 0, *arguments_of(args)) * 0
    unknowns = Unknowns.of(builder, like + low, "lower")
    if kind_of(unknowns.vector) == "c":
        raise GraphError("bisect: lower: expected real numbers, got complex ones")
    last = unknowns.read(like + high, "bisect: upper")
    fun = _on_vectors("bisect", f, arguments_of(args), unknowns)
    if not unknowns.count:
        return _nothing(builder, unknowns)

    def solve(fun: Matvec, low: Any) -> tuple[Any, Any]:
        rising = fun(low) <= 0
        first, other = fun(low), fun(last)
        brackets = (first <= 0) & (other >= 0) | (first >= 0) & (other <= 0)

        def test(carry: Any) -> Any:
            k, low, high = carry
            middle = low + (high - low) / 2
            return (k < maxiter) & ((abs(high - low) > tol) & (middle != low) & (middle != high) & brackets).any()

        def body(carry: Any) -> Any:
            k, low, high = carry
            middle = low + (high - low) / 2
            before = (fun(middle) <= 0) == rising
            return k + 1, np.where(before, middle, low), np.where(before, high, middle)

        k, low, high = while_loop(test, body, (np.int64(0), low, last))
        x = np.where(abs(fun(low)) <= abs(fun(high)), low, high)
        with scope("bisect: lower and upper have the same sign"):
            x = np.where(brackets, x, np.nan)
        return x, (abs(fun(x)).max(), k, (brackets & (k < maxiter)).all())

    x, (residual, k, converged) = implicit_root(
        builder,
        closed(builder, fun, unknowns.vector),
        unknowns.vector,
        solve,
        lambda linear, y: y / linear(np.ones_like(y)),
    )
    return RootResult(unknowns.unravel(x), residual, k, converged)


@composite
def fixed_point(
    f: Callable[..., Tree],
    x0: Tree,
    args: Any = (),
    *,
    tol: float | None = None,
    maxiter: int = 500,
    history: int = 5,
) -> RootResult:
    """
    Return where `f(x, *args) = x` as a `RootResult`: `x`, `residual`, `iterations`, `converged`.

    The iteration `x <- f(x)` is accelerated by Anderson's method with `history` earlier iterates; 0 turns that off. It
    stops when `max |f(x) - x| <= tol max(1, max |x|)`, at NaN, and after `maxiter` iterations. The default of `tol` is
    `eps^(2/3)` of the element type. `x` has implicit derivatives by `args` and captured values, by GMRES without a
    Jacobian. Like `jaxopt.AndersonAcceleration` and `scipy.optimize.fixed_point`. (Walker and Ni, 2011)
    """
    builder, unknowns = _prepared("fixed_point", f, x0, maxiter)
    check_integer("fixed_point", "history", history, 0)
    fun = _on_vectors("fixed_point", f, arguments_of(args), unknowns)
    near = _tolerance(unknowns, tol)
    if not unknowns.count:
        return _nothing(builder, unknowns)
    x, (residual, k) = implicit_root(
        builder,
        closed(builder, lambda x: fun(x) - x, unknowns.vector),
        unknowns.vector,
        lambda fun, x0: _anderson(fun, x0, near, maxiter, min(history, unknowns.count)),
        krylov_solve,
    )
    return RootResult(unknowns.unravel(x), residual, k, residual <= near * np.maximum(abs(x).max(), 1))


def dense_solve(linear: Matvec, y: Any) -> Any:
    """Solve a linear system of vectors by its matrix."""
    return function("dense_solve")(jacfwd(linear)(np.zeros_like(y)), y)


def krylov_solve(linear: Matvec, y: Any) -> Any:
    """Solve a linear system of vectors by GMRES, to rounding."""
    eps = float(np.finfo(np.dtype(y.dtype)).eps)
    near = 10 * eps * norm(y)
    return gmres_vectors(linear, y, np.zeros_like(y), near, 10, lambda x: x, 40)[0]


def _prepared(name: str, f: Any, x0: Tree, maxiter: int) -> tuple[MirBuilder, Unknowns]:
    check_function(f"{name}: f", f)
    check_integer(name, "maxiter", maxiter, 0)
    builder = builder_for(x0)
    unknowns = Unknowns.of(builder, x0, "x0")
    if kind_of(unknowns.vector) == "c":
        raise GraphError(f"{name}: x0: expected real numbers, got complex ones; pass real and imaginary part as a tree")
    return builder, unknowns


def _on_vectors(name: str, f: Callable[..., Tree], args: tuple[Any, ...], unknowns: Unknowns) -> Matvec:
    given = given_function(f"{name}: f", "x, *args", f)
    return lambda x: unknowns.read(given(unknowns.unravel(x), *args), f"{name}: the result of f")


def _tolerance(unknowns: Unknowns, tol: float | None) -> float:
    return float(np.finfo(np.dtype(unknowns.vector.dtype)).eps) ** (2 / 3) if tol is None else tol


def _nothing(builder: MirBuilder, unknowns: Unknowns) -> RootResult:
    zero = np.zeros((), np.dtype(unknowns.vector.dtype))
    x = unknowns.unravel(unknowns.vector)
    return RootResult(x, builder.constant(zero), builder.constant(np.int64(0)), builder.constant(np.True_))


def _dogleg(fun: Matvec, x0: Any, near: float, limit: int) -> tuple[Any, Any]:
    eps = float(np.finfo(np.dtype(x0.dtype)).eps)

    def test(carry: Any) -> Any:
        k, x, f, radius = carry
        size = abs(f).max()
        return (size > near) & (size < np.inf) & (k < limit) & (radius > eps * norm(x))

    def body(carry: Any) -> Any:
        k, x, f, radius = carry
        jacobian = jacfwd(fun)(x)
        slope = f @ jacobian
        newton = -function("dense_solve")(jacobian, f)
        long = norm(newton)
        solvable = long < np.inf
        # the minimum along the steepest descent, then towards the Newton step, as far as the radius
        steep = norm(slope)
        descent = slope / np.where(steep > 0, steep, 1)
        length = steep / np.maximum(squared(jacobian @ descent), np.finfo(np.dtype(x.dtype)).tiny)
        corner = -np.minimum(length, radius) * descent
        way = np.where(solvable, newton - corner, 0)
        a, b, c = squared(way), np.dot(corner, way), squared(corner) - radius**2
        root = np.sqrt(np.maximum(b * b - a * c, 0))
        along = np.where(b > 0, -c / np.where(b > 0, b + root, 1), (root - b) / np.where(a > 0, a, 1))
        bent = np.where(length < radius, corner + np.clip(along, 0, 1) * way, corner)
        step = np.where(solvable & (long <= radius), newton, bent)
        after = fun(x + step)
        size, expected = norm(f), norm(f + jacobian @ step)
        gain = (size**2 - squared(after)) / np.maximum(size**2 - expected**2, np.finfo(np.dtype(x.dtype)).tiny)
        taken = norm(step)
        better = gain > 1e-4
        radius = np.where(
            gain >= 0.75, np.maximum(radius, 3 * taken), np.where(gain >= 0.25, radius, np.minimum(radius, taken) / 4)
        )
        return k + 1, np.where(better, x + step, x), np.where(better, after, f), radius

    radius = 100 * np.maximum(norm(x0), 1)
    k, x, f, _ = while_loop(test, body, (np.int64(0), x0, fun(x0), radius))
    return x, (abs(f).max(), k)


def _anderson(fun: Matvec, x0: Any, near: float, limit: int, history: int) -> tuple[Any, Any]:
    """`fun(x)` is `f(x) - x`. Rows of two matrices are the last changes of `fun(x)`, and of `f(x)`."""
    tiny = float(np.finfo(np.dtype(x0.dtype)).eps) ** 2

    def test(carry: Any) -> Any:
        k, x, r, *_ = carry
        size = abs(r).max()
        return (size > near * np.maximum(abs(x).max(), 1)) & (size < np.inf) & (k < limit)

    def body(carry: Any) -> Any:
        k, x, r, changes, moves = carry
        after = x + r
        if history:
            gram = changes @ changes.T
            ridge = tiny * np.maximum(np.trace(gram), np.finfo(np.dtype(x0.dtype)).tiny) * np.eye(history)
            weights = function("dense_solve")(gram + ridge.astype(gram.dtype), changes @ r)
            mixed = after - weights @ moves
            after = np.where(abs(mixed).max() < np.inf, mixed, after)
        new = fun(after)
        if history:
            changes = dynamic_update_index_in_dim(changes, new - r, k % history, 0)
            moves = dynamic_update_index_in_dim(moves, after + new - x - r, k % history, 0)
        return k + 1, after, new, changes, moves

    rows = np.zeros((history, int(x0.shape[0])), np.dtype(x0.dtype))
    k, x, r, *_ = while_loop(test, body, (np.int64(0), x0, fun(x0), rows, rows))
    return x, (abs(r).max(), k)
