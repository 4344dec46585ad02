"""Iterative solvers of linear systems, with the names and arguments of `jax.scipy.sparse.linalg`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.custom_derivatives import custom_jvp, custom_vjp
from xdsl_rlx.dialects.calls import called_as, checked
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.indexing import dynamic_index_in_dim, dynamic_update_index_in_dim
from xdsl_rlx.nn.arguments import check_integer, kind_of
from xdsl_rlx.op_functions import function
from xdsl_rlx.solvers.closures import Closed, Unknowns, builder_for, closed, given_function, norm, squared
from xdsl_rlx.tree import Tree
from xdsl_rlx.tree import map as tree_map
from xdsl_rlx.tree_control import while_loop
from xdsl_rlx.tree_functions import jvp, vjp

ORDERS = 2
"""Orders of derivatives of a graph that is differentiated after it is traced: each doubles the rules in it."""

Matvec = Callable[[Any], Any]
Solve = Callable[[Matvec, Any, Any], tuple[Any, Any]]
"""`solve(matvec, b, x0)` returns the solution and information on it."""


def implicit_linear_solve(
    builder: MirBuilder, matvec: Closed, b: Tree, x0: Tree, solve: Solve, transpose: Solve | None, symmetric: bool
) -> tuple[Tree, Tree]:
    """
    `solve(matvec, b, x0)` with the derivatives of `A^-1 b`.

    With `A dx = db - dA x` each derivative is another solution of the system, or of the transposed one. `x0` and what
    the solvers capture beside `matvec` have no derivatives.
    """

    def kept(one: Solve) -> Closed:
        return closed(
            builder,
            lambda constants, b, x0: one(lambda x: matvec.function(constants, x), b, x0),
            matvec.captured,
            b,
            x0,
        )

    def transposed(constants: Any, y: Tree) -> Tree:
        return vjp(lambda x: matvec.function(constants, x))((y,), y)[1][0]

    forward = kept(solve)
    backward = forward
    if transpose is not None and not symmetric:
        backward = closed(
            builder,
            lambda constants, b, x0: transpose(lambda y: transposed(constants, y), b, x0),
            matvec.captured,
            b,
            x0,
        )

    def run(turned: bool, constants: Any, further: Any, b: Tree, x0: Tree) -> tuple[Tree, Tree]:
        one, captured = (backward, further[1]) if turned else (forward, further[0])
        return cast("tuple[Tree, Tree]", one.function(captured, constants, b, x0))

    further = (forward.captured, backward.captured)
    # without a transposed solver, reverse mode transposes the solver itself
    solved = _with_rules(run, matvec, transposed, symmetric, transpose is None and not symmetric)
    return solved(False, matvec.captured, further, b, x0)


def _with_rules(
    run: Callable[..., tuple[Tree, Tree]],
    matvec: Closed,
    transposed: Callable[[Any, Tree], Tree],
    symmetric: bool,
    by_tangents: bool,
) -> Any:
    """`run` with the derivatives of a solution; `by_tangents` has the rule of forward mode alone."""

    def along_constants(constants: Any, x: Tree, y: Tree) -> Any:
        """The gradient of `-y . A x` by what `A` captures."""
        if not constants:
            return ()
        return vjp(lambda some: matvec.function(some, x))((constants,), tree_map(np.negative, y))[1][0]

    solved: Any = custom_jvp(run, (0,)) if by_tangents else custom_vjp(run, (0,))
    solved.nested = ORDERS

    def pushed(turned: bool, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        constants, further, b, _ = primals
        x, info = solved(turned, *primals)
        change = tangents[2]
        if constants:
            product = transposed if turned else matvec.function
            moved = jvp(lambda some: product(some, x))((constants,), (tangents[0],))[1]
            change = tree_map(np.subtract, change, moved)
        dx, _ = solved(turned, constants, further, change, tree_map(np.zeros_like, b))
        return (x, info), (dx, None)

    solved.defjvp(pushed)
    if by_tangents:
        return solved

    def fwd(turned: bool, constants: Any, further: Any, b: Tree, x0: Tree) -> tuple[Any, Any]:
        found = solved(turned, constants, further, b, x0)
        return found, (constants, further, found[0])

    def bwd(turned: bool, saved: Any, cotangents: tuple[Tree, Tree]) -> tuple[Any, ...]:
        constants, further, x = saved
        g = cotangents[0]
        y = solved(not turned and not symmetric, constants, further, g, tree_map(np.zeros_like, g))[0]
        pair = (y, x) if turned else (x, y)
        return along_constants(constants, *pair), None, y, None

    solved.defvjp(fwd, bwd)
    return solved


@composite
@checked
def custom_linear_solve(
    matvec: Callable[[Tree], Tree],
    b: Tree,
    solve: Callable[[Callable[[Tree], Tree], Tree], Any],
    transpose_solve: Callable[[Callable[[Tree], Tree], Tree], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """
    Return `solve(matvec, b)` with the derivatives of the solution of `matvec(x) = b`; as `jax.lax.custom_linear_solve`.

    `matvec` is linear and maps trees like `b` to such trees. Derivatives by `b` and by the values that `matvec`
    captures are further solutions: by `solve` in forward mode, by `transpose_solve(transposed matvec, g)` in reverse
    mode, and of `solve` with `symmetric`. Without either, `solve` itself is transposed, which loops with an unknown
    number of iterations do not allow. Derivatives of up to third order are defined. With `has_aux` the solvers return
    `(x, aux)`.
    """
    matvec = given_function("custom_linear_solve: matvec", "x", matvec)
    solve = given_function("custom_linear_solve: solve", "matvec, b", solve)
    if transpose_solve is not None:
        transpose_solve = given_function("custom_linear_solve: transpose_solve", "transposed, g", transpose_solve)
    builder = builder_for(b)
    unknowns = Unknowns.of(builder, b, "b")
    b = unknowns.unravel(unknowns.vector)

    def checked(x: Tree) -> Tree:
        return unknowns.unravel(unknowns.read(matvec(x), "custom_linear_solve: the result of matvec"))

    def with_info(one: Callable[..., Any]) -> Solve:
        def found(matvec: Matvec, b: Tree, x0: Tree) -> tuple[Tree, Tree]:
            result = one(matvec, b)
            x, aux = result if has_aux else (result, ())
            return unknowns.unravel(unknowns.read(x, "custom_linear_solve: the result of solve")), aux

        return found

    x, aux = implicit_linear_solve(
        builder,
        closed(builder, checked, b),
        b,
        tree_map(np.zeros_like, b),
        with_info(solve),
        None if transpose_solve is None else with_info(transpose_solve),
        symmetric,
    )
    return (x, aux) if has_aux else x


@composite
def cg(
    A: Any,
    b: Tree,
    x0: Tree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Tree, Any]:
    """
    Return `(x, info)` where `A x = b`, by conjugate gradients, for a symmetric positive definite `A`.

    `A` is a matrix, or a linear function of trees like `b`. The iteration stops when
    `|b - A x| <= max(tol |b|, atol)`, and after `maxiter` iterations (default `10 n`). `M` approximates the inverse of
    `A`: a symmetric positive definite matrix, or function. `info` is 0 if it has converged, the number of iterations if
    not, and -1 where it broke down, by a NaN or a direction without curvature.

    Derivatives by `b` and by the values that `A` captures are those of the solution (implicit), in both modes. Names
    are those of `jax.scipy.sparse.linalg.cg` and `scipy.sparse.linalg.cg`; JAX returns None as `info`. (Hestenes and
    Stiefel, 1952) Raises GraphError for results of `A` that are not like `b`.
    """
    return _solved("cg", cg_vectors, A, b, x0, tol, atol, maxiter, M, symmetric=True)


@composite
def bicgstab(
    A: Any,
    b: Tree,
    x0: Tree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Tree, Any]:
    """
    Return `(x, info)` where `A x = b`, by stabilised biconjugate gradients, for an invertible `A`.

    Arguments, `info` and derivatives are those of `cg`; reverse mode solves the transposed system. An iteration
    multiplies by `A` twice. (van der Vorst, 1992)
    """
    return _solved("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, symmetric=False)


@composite
def gmres(
    A: Any,
    b: Tree,
    x0: Tree = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Tree, Any]:
    """
    Return `(x, info)` where `A x = b`, by generalised minimal residuals, for an invertible `A`.

    A Krylov space of `restart` vectors is built at most `maxiter` times (default `10 n`). `M` preconditions from the
    right, so the residual that stops the iteration is that of `A x = b`. Other arguments, `info`, which counts
    restarts, and derivatives are those of `bicgstab`. (Saad and Schultz, 1986)
    """
    check_integer("gmres", "restart", restart, 1)

    def run(matvec: Matvec, b: Any, x0: Any, near: Any, limit: int, M: Matvec) -> tuple[Any, Any]:
        return gmres_vectors(matvec, b, x0, near, limit, M, restart)

    return _solved("gmres", run, A, b, x0, tol, atol, maxiter, M, symmetric=False)


def _solved(
    name: str,
    run: Callable[..., tuple[Any, Any]],
    A: Any,
    b: Tree,
    x0: Tree,
    tol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    symmetric: bool,
) -> tuple[Tree, Any]:
    """The solution of a system with implicit derivatives; `run` works on vectors."""
    if maxiter is not None:
        check_integer(name, "maxiter", maxiter, 0)
    builder = builder_for(A, b)
    unknowns = Unknowns.of(builder, b, "b")
    if not unknowns.count:
        return unknowns.unravel(unknowns.vector), builder.constant(np.int64(0))
    limit = 10 * unknowns.count if maxiter is None else int(maxiter)
    matvec = _on_vectors(name, "A", A, unknowns)
    given = unknowns.vector
    start = np.zeros_like(given) if x0 is None else unknowns.read(x0, f"{name}: x0")

    preconditioner = None if M is None else _on_vectors(name, "M", M, unknowns)

    def conditioned(x: Any) -> Any:
        return x if preconditioner is None else preconditioner(x)

    def turned(x: Any) -> Any:
        return x if preconditioner is None else vjp(preconditioner)((x,), x)[1][0]

    def solve(matvec: Matvec, b: Any, x0: Any) -> tuple[Any, Any]:
        near = np.maximum(tol * norm(b), atol)
        return run(matvec, b, x0, near, limit, conditioned)

    def transpose(matvec: Matvec, b: Any, x0: Any) -> tuple[Any, Any]:
        near = np.maximum(tol * norm(b), atol)
        return run(matvec, b, x0, near, limit, turned)

    found, info = implicit_linear_solve(
        builder, closed(builder, matvec, given), given, start, solve, transpose, symmetric
    )
    return unknowns.unravel(found), info


def _on_vectors(name: str, argument: str, A: Any, unknowns: Unknowns) -> Matvec:
    """A matrix, or a function of trees, as a function of vectors."""
    if not callable(A):
        shape = tuple(np.shape(A))
        if len(shape) != 2 or shape[0] != shape[1]:
            raise GraphError(f"{name}: {argument}: expected a square matrix or a function, got shape {list(shape)}")
    function = called_as(f"{name}: {argument}(x)", A) if callable(A) else None

    def product(x: Any) -> Any:
        tree = unknowns.unravel(x)
        return unknowns.read(A @ tree if function is None else function(tree), f"{name}: the result of {argument}")

    return product


def _ended(x: Any, start: Any, k: Any, residual: Any, near: Any) -> tuple[Any, Any]:
    """
    The solution and its information: 0 for convergence, -1 for a breakdown, else the number of iterations.

    The solution is NaN where the first residual is not finite.
    """
    info = np.where(np.isfinite(residual), np.where(residual <= near, 0, np.maximum(k, 1)), -1)
    return np.where(np.isfinite(start), x, np.nan), info


def cg_vectors(matvec: Matvec, b: Any, x0: Any, near: Any, limit: int, M: Matvec) -> tuple[Any, Any]:
    """Conjugate gradients on vectors: the solution, and information as of `cg`."""
    r = b - matvec(x0)
    z = M(r)

    def test(carry: Any) -> Any:
        k, _, _, _, _, residual = carry
        # a residual that is no number ends it
        return (residual > near) & (residual < np.inf) & (k < limit)

    def body(carry: Any) -> Any:
        k, x, r, p, gamma, _ = carry
        along = matvec(p)
        curvature = _inner(p, along)
        flat = curvature == 0
        alpha = np.where(flat, 0, gamma / np.where(flat, 1, curvature))
        r = r - alpha * along
        residual = np.where(flat, np.nan, norm(r))
        # a breakdown leaves the last iterate
        x = np.where(residual < np.inf, x + alpha * p, x)
        z = M(r)
        after = _inner(r, z)
        return k + 1, x, r, z + after / gamma * p, after, residual

    start = norm(r)
    k, x, _, _, _, residual = while_loop(test, body, (np.int64(0), x0, r, z, _inner(r, z), start))
    return _ended(x, start, k, residual, near)


def _inner(x: Any, y: Any) -> Any:
    return np.vdot(x, y).real if kind_of(x) == "c" else np.dot(x, y)


def _bicgstab(matvec: Matvec, b: Any, x0: Any, near: Any, limit: int, M: Matvec) -> tuple[Any, Any]:
    shadow = b - matvec(x0)
    one = np.ones_like(shadow[0])

    def test(carry: Any) -> Any:
        k, _, _, residual, *_ = carry
        return (residual > near) & (residual < np.inf) & (k < limit)

    def body(carry: Any) -> Any:
        k, x, r, _, alpha, omega, rho, p, q = carry
        after = np.vdot(shadow, r)
        beta = after / rho * alpha / omega
        p = r + beta * (p - omega * q)
        along = M(p)
        q = matvec(along)
        alpha = after / np.vdot(shadow, q)
        s = r - alpha * q
        early = norm(s) <= near
        other = M(s)
        t = matvec(other)
        size = squared(t)
        omega = np.where(early | (size == 0), 0, np.vdot(t, s) / np.where(size == 0, 1, size))
        moved = x + alpha * along + omega * other
        r = s - omega * t
        residual = norm(r)
        # a breakdown leaves the last iterate
        x = np.where(residual < np.inf, moved, x)
        return k + 1, x, r, residual, alpha, omega, after, p, q

    nothing = np.zeros_like(shadow)
    start = norm(shadow)
    first = (np.int64(0), x0, shadow, start, one, one, one, nothing, nothing)
    k, x, _, residual, *_ = while_loop(test, body, first)
    return _ended(x, start, k, residual, near)


def gmres_vectors(matvec: Matvec, b: Any, x0: Any, near: Any, limit: int, M: Matvec, restart: int) -> tuple[Any, Any]:
    """
    GMRES on vectors: the solution, and information as of `gmres`.

    Each cycle has an orthonormal basis in rows, `H = A M basis` as a triangle, and the product of all rotations.

    The triangle is stored by columns; where a cycle ends early its last rows are those of the identity.
    """
    m = min(restart, int(b.shape[0]))
    numbers = np.arange(m + 1)
    eye = np.eye(m + 1).astype(np.dtype(b.dtype))

    def cycle(carry: Any) -> Any:
        number, x, r, size = carry

        def test(inner: Any) -> Any:
            k, error, *_ = inner
            return (k < m) & (error > near) & (error < np.inf)

        def body(inner: Any) -> Any:
            k, _, basis, rotations, triangle = inner
            w = matvec(M(dynamic_index_in_dim(basis, k, 0, False)))
            # orthogonalised twice, which is enough; the rows from k + 1 on are zeros
            first = basis.conj() @ w
            w = w - first @ basis
            second = basis.conj() @ w
            w = w - second @ basis
            height = norm(w)
            basis = _with_row(basis, w / np.where(height > 0, height, 1), k + 1)
            column = rotations @ np.where(numbers == k + 1, height, first + second)
            # one more rotation, of rows k and k + 1, has the column end at k
            a, c = (dynamic_index_in_dim(column, at, 0, False) for at in (k, k + 1))
            length = np.hypot(abs(a), abs(c))
            cosine, sine = (one / np.where(length > 0, length, 1) for one in (a, c))
            upper, lower = (dynamic_index_in_dim(rotations, at, 0, False) for at in (k, k + 1))
            rotations = _with_row(rotations, cosine.conj() * upper + sine.conj() * lower, k)
            last = cosine * lower - sine * upper
            rotations = _with_row(rotations, last, k + 1)
            column = np.where(numbers == k, length, np.where(numbers > k, 0, column))
            triangle = _with_row(triangle, column[:m], k)
            return k + 1, abs(size * last[0]), basis, rotations, triangle

        basis = np.where(numbers[:, None] == 0, r / size, 0)
        k, _, basis, rotations, triangle = while_loop(test, body, (np.int64(0), size, basis, eye, eye[:m, :m]))
        right = np.where(numbers[:m] < k, size * rotations[:m, 0], 0)
        y = _triangular(triangle, right)
        moved = x + M(y @ basis[:m])
        r = b - matvec(moved)
        size = norm(r)
        return number + 1, np.where(size < np.inf, moved, x), r, size

    def test(carry: Any) -> Any:
        number, _, _, residual = carry
        return (residual > near) & (residual < np.inf) & (number < limit)

    r = b - matvec(x0)
    start = norm(r)
    number, x, _, residual = while_loop(test, cycle, (np.int64(0), x0, r, start))
    return _ended(x, start, number, residual, near)


def _triangular(columns: Any, right: Any) -> Any:
    """Solve with the triangle that is stored by columns."""
    if kind_of(columns) == "c":
        return function("dense_solve")(columns.T, right)
    return function("triangular_solve")(columns, right, lower=True, transpose=True)


def _with_row(matrix: Any, row: Any, number: Any) -> Any:
    return dynamic_update_index_in_dim(matrix, row, number, 0)
