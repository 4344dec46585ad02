"""Roots, fixed points and minima beside those of SciPy, with implicit derivatives beside exact ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from peer_rows import evaluated

import xdsl_rlx as rlx
from xdsl_rlx import solvers

A = np.array([1.0, 2.0, 0.5])


def close(found: Any, expected: Any, tol: float = 1e-8) -> None:
    np.testing.assert_allclose(found, expected, tol, tol)


def system(x: Any, a: Any) -> Any:
    p, q = x["p"], x["q"]
    return {"p": np.stack([p[0] ** 2 + p[1] ** 2 - a[0], p[0] - p[1] ** 3 * a[1]]), "q": q * np.exp(q) - a[2]}


def flat(x: Any, a: Any) -> Any:
    found = system({"p": x[:2], "q": x[2]}, a)
    return np.append(found["p"], found["q"])


GUESS = {"p": np.ones(2), "q": 1.0}


def solved(a: Any) -> Any:
    found = solvers.root(system, GUESS, (a,))
    return (found.x["p"] ** 2).sum() * found.x["q"]


def check_derivatives(ours: Callable[..., Any], exact: Callable[..., Any], orders: int = 1) -> None:
    """The gradient, and the Hessian times a direction, beside differences of a function of NumPy."""
    v, step, tol = np.array([0.3, -0.2, 0.4]), 1e-4, 1e-5

    def both(a: Any) -> Any:
        if orders == 1:
            return *rlx.value_and_grad(ours)(a), None, None
        (value, slope), (along, second) = rlx.jvp(rlx.value_and_grad(ours))((a,), (v,))
        return value, slope, along, second

    value, slope, along, second = evaluated(both, A)
    eye = np.eye(3) * step

    def differences(a: Any) -> Any:
        return np.array([(exact(a + d) - exact(a - d)) / (2 * step) for d in eye])

    close(value, exact(A), 1e-7)
    close(slope, differences(A), tol)
    if orders == 1:
        return
    close(along, slope @ v)
    close(second, (differences(A + step * 10 * v) - differences(A - step * 10 * v)) / (20 * step), 100 * tol)


def test_root_has_implicit_derivatives() -> None:
    def exact(a: Any) -> float:
        x = scipy.optimize.root(flat, np.ones(3), args=(a,), tol=1e-14).x
        return float((x[:2] ** 2).sum() * x[2])

    check_derivatives(solved, exact, 2)


def test_custom_root_takes_any_solver() -> None:
    """Newton's method on one unknown, captured values."""

    def ours(a: Any) -> Any:
        def newton(f: Any, x: Any) -> Any:
            def step(x: Any) -> Any:
                return x - f(x) / rlx.jvp(f)((x,), (np.ones_like(x),))[1]

            x, _ = rlx.while_loop(lambda c: c[1] < 30, lambda c: (step(c[0]), c[1] + 1), (x, np.int32(0)))
            return x, a.sum()

        x, total = solvers.custom_root(
            lambda x: x**3 - a, np.ones(3), newton, lambda g, y: y / g(np.ones_like(y)), has_aux=True
        )
        return (x * A).sum() + rlx.stop_gradient(total)

    value, slope = evaluated(rlx.value_and_grad(ours), A)
    close(value, (np.cbrt(A) * A).sum() + A.sum())
    close(slope, A / 3 / np.cbrt(A) ** 2)


def test_fixed_point_and_bisect() -> None:
    def ours(a: Any) -> Any:
        plain = solvers.fixed_point(lambda x, a: np.cos(x) * a * 0.8, np.zeros(1), a, history=0)
        fast = solvers.fixed_point(lambda x, a: np.cos(x) * a * 0.8, np.zeros(1), a)
        halved = solvers.bisect(lambda x: np.cos(x) * a * 0.8 - x, 0.0, 4.0)
        return {"plain": plain, "fast": fast, "halved": halved}

    found = evaluated(ours, A[1:2])
    exact = scipy.optimize.brentq(lambda x: np.cos(x) * A[1] * 0.8 - x, 0, 4, xtol=1e-15)
    close(found["halved"].x, [exact], 1e-14)
    assert found["halved"].converged and found["fast"].converged
    close(found["fast"].x, [exact])
    assert found["fast"].iterations < found["plain"].iterations / 3


@pytest.mark.parametrize("name", ["fixed_point", "bisect"])
def test_fixed_point_and_bisect_have_implicit_derivatives(name: str) -> None:
    def ours(a: Any) -> Any:
        if name == "bisect":
            return (solvers.bisect(lambda x: np.cos(x) * a - x, 0.0, 4.0).x * A).sum()
        return (solvers.fixed_point(lambda x: np.cos(x) * a * 0.5, np.zeros(3)).x * A).sum()

    def exact(a: Any) -> float:
        scale = 1.0 if name == "bisect" else 0.5
        roots = [scipy.optimize.brentq(lambda x, c: np.cos(x) * c * scale - x, 0, 4, (c,), 1e-15) for c in a]
        return float(np.dot(roots, A))

    check_derivatives(ours, exact)


def rosenbrock(x: Any, a: Any) -> Any:
    return (a[0] * 50 * (x[1:] - x[:-1] ** 2) ** 2 + (a[1] / 2 - x[:-1]) ** 2).sum()


def test_lbfgs_finds_minima() -> None:
    start = np.array([-1.2, 1.0, -1.0, 2.0])
    found = evaluated(lambda x, a: solvers.lbfgs(rosenbrock, x, (a,), gtol=1e-9), start, A)
    theirs = scipy.optimize.minimize(rosenbrock, start, (A,), method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0})
    close(found.x, np.ones(4))
    assert found.converged and found.grad_norm <= 1e-9 and found.iterations <= 1.5 * theirs.nit
    rough = evaluated(lambda x, a: solvers.lbfgs(rosenbrock, x, (a,), maxiter=3), start, A)
    assert not rough.converged and rough.iterations == 3 and rough.fun < rosenbrock(start, A)


def test_least_squares_and_lbfgs_have_implicit_derivatives() -> None:
    times = np.linspace(0.0, 2.0, 6)

    def errors(x: Any, a: Any) -> Any:
        model = x["size"] * np.exp(-x["rate"] * times)
        return {"fit": model - a[0] * np.cos(times) - a[1] * times, "small": a[2] * x["rate"]}

    def exact(a: Any) -> float:
        def stacked(x: Any) -> Any:
            found = errors({"size": x[0], "rate": x[1]}, a)
            return np.append(found["fit"], found["small"])

        found = scipy.optimize.least_squares(stacked, [1.0, 0.1], "3-point", method="lm", xtol=1e-15, ftol=1e-15)
        return float(found.x[0] * found.x[1] + found.cost)

    def ours(a: Any) -> Any:
        found = solvers.levenberg_marquardt(errors, {"size": 1.0, "rate": 0.1}, (a,), gtol=1e-12, xtol=1e-12)
        return found.x["size"] * found.x["rate"] + found.fun

    def by_lbfgs(a: Any) -> Any:
        def cost(x: Any) -> Any:
            return 0.5 * sum((e**2).sum() for e in errors(x, a).values())

        found = solvers.lbfgs(cost, {"size": 1.0, "rate": 0.1}, gtol=1e-10)
        return found.x["size"] * found.x["rate"] + found.fun

    check_derivatives(ours, exact)
    value, slope = evaluated(rlx.value_and_grad(by_lbfgs), A)
    close(value, exact(A))
    close(slope, evaluated(rlx.grad(ours), A), 1e-6)


def test_compiled_batches_end_one_by_one() -> None:
    """Starts that converge, that are roots, that have none, and NaN, of all solvers in one program."""
    starts = np.array([[3.0], [2.0], [np.nan], [-1.0]])

    def run(x: Any) -> Any:
        return (
            solvers.root(lambda x: np.log(x) - np.log(2.0), x),
            solvers.fixed_point(lambda x: np.log(x) * x / np.log(2.0) * 0.5 + x / 2, x, maxiter=30),
            solvers.lbfgs(lambda x: ((np.log(x) - np.log(2.0)) ** 2).sum(), x),
            solvers.levenberg_marquardt(lambda x: np.log(x) - np.log(2.0), x),
        )

    found = rlx.compile(rlx.vmap(run))(starts)
    for name, one in zip(("root", "fixed_point", "lbfgs", "lm"), found, strict=True):
        close(one.x[:2, 0], 2.0, 1e-4)
        assert one.converged.tolist() == [True, True, False, False], name


def test_types_and_sizes() -> None:
    def square(x: Any) -> Any:
        return x * x - 2

    single = evaluated(lambda x: solvers.root(square, x).x, np.ones(1, np.float32))
    assert single.dtype == np.float32
    close(single, np.sqrt([2.0]), 1e-6)
    empty = evaluated(
        lambda x: (
            solvers.root(square, x),
            solvers.fixed_point(square, x),
            solvers.lbfgs(lambda x: x.sum(), x),
            solvers.levenberg_marquardt(square, x),
        ),
        np.ones(0),
    )
    assert all(one.converged and one.x.shape == (0,) for one in empty)
    singular = evaluated(lambda x: solvers.root(lambda x: np.stack([x[0] ** 2, x[0] + x[1]]), x), np.array([0.0, 3.0]))
    close(singular.x, [0, 0], 1e-3)
    none = evaluated(lambda x: solvers.root(lambda x: x * x + 1, x), np.ones(1))
    assert not none.converged and none.iterations < 100


def test_messages_name_the_argument() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: solvers.root(3, A), "root: f: expected a function, got 3"),
        (lambda: solvers.root(lambda x: x[:1], A), r"root: the result of f: expected shape \[3\] like x0"),
        (lambda: solvers.fixed_point(abs, A * 1j), "fixed_point: x0: expected real numbers"),
        (lambda: solvers.lbfgs(lambda x: x, A), r"lbfgs: fun: expected a number, got shape \[3\]"),
        (lambda: solvers.levenberg_marquardt(abs, A, maxiter=-1), "levenberg_marquardt: maxiter: expected an integer"),
        (lambda: solvers.custom_root(abs, A, 1, abs), "custom_root: solve: expected a function, got 1"),
    ]
    for call, message in cases:
        with pytest.raises(rlx.GraphError, match=message):
            call()


def test_scipy_fun() -> None:
    params = {"a": np.array([-1.2, 1.0], np.float32), "b": np.array([[0.5]])}
    problem = rlx.scipy_fun(lambda p, c: rosenbrock(np.concatenate([p["a"], p["b"][0]]), c), params)
    x = problem.x0
    assert x.dtype == np.float64 and x.shape == (3,)
    value, slope = problem(x, A)
    assert type(value) is float and slope.dtype == np.float64
    close(value, rosenbrock(x, A), 1e-6)
    close(problem.hess(x, A) @ A, problem.hessp(x, A, A), 1e-5)
    plain = rlx.scipy_fun(rosenbrock)
    found = scipy.optimize.minimize(
        plain, x, (A,), jac=True, hessp=plain.hessp, method="trust-ncg", options={"gtol": 1e-9}
    )
    close(found.x, np.ones(3), 1e-7)
    kinds = {name: leaf.dtype for name, leaf in problem.unravel(found.x).items()}
    assert kinds == {"a": np.float32, "b": np.float64}
    residual = rlx.scipy_fun(flat)
    found = scipy.optimize.root(residual.fun, np.ones(3), (A,), jac=residual.jac)
    close(found.x, evaluated(lambda a: solvers.root(flat, np.ones(3), a).x, A))
    close(plain.fun(x, A), rosenbrock(x, A))
    close(plain.jac(x, A), plain(x, A)[1])
    with pytest.raises(rlx.GraphError, match="scipy_fun: x0 was not given"):
        _ = plain.x0
    with pytest.raises(rlx.GraphError, match=r"scipy_fun: x0\['a'\]: expected"):
        rlx.scipy_fun(rosenbrock, {"a": "text"})
