"""`odeint` beside that of JAX: values, derivatives of both modes by all arguments, types, ends of the integration."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.ode import odeint as theirs
from levels import EVERY
from peer_rows import evaluated

import xdsl_rlx as rlx
from xdsl_rlx.solvers import odeint

TIMES = np.array([0.0, 0.3, 1.0, 1.2])
START = np.array([1.0, 0.2])
W = np.array([[0.1, -0.9], [1.1, -0.2]])
LONG = np.linspace(0.0, 8.0, 5)


def weighted(ode: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    """A problem of a tree, which captures a value, has an integer argument, and depends on the time."""

    def loss(y0: Any, t: Any, w: Any, c: Any) -> Any:
        def slope(y: Any, t: Any, p: Any, n: Any) -> Any:
            found = xp.tanh(p["w"] @ y["y"]) * xp.cos(t) * c
            return {"y": found, "z": (n * y["z"][0] * y["y"][0],)}

        given = (slope, np.int32(-1)) if ode is odeint else (lambda *args: slope(*args, -1),)
        ys = ode(given[0], {"y": y0, "z": (y0[:1],)}, t, {"w": w}, *given[1:], rtol=1e-8, atol=1e-8)
        rows = ys["y"] * xp.sin(1.0 + xp.arange(len(TIMES)))[:, None]
        return (rows**2).sum() + ys["z"][0][-1, 0] * 3

    return loss


ours, other = weighted(odeint, np), weighted(theirs, jnp)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_derivatives_by_all_arguments_are_those_of_jax() -> None:
    given = START, TIMES, W, np.float64(0.8)

    value, slopes = rlx.value_and_grad(ours, (0, 1, 2, 3))(*given)
    expected, others = jax.value_and_grad(other, (0, 1, 2, 3))(*given)
    np.testing.assert_allclose(value, expected, 1e-9)
    for one, exact in zip(slopes, others, strict=True):
        np.testing.assert_allclose(one, exact, 1e-6, 1e-7)


def exponential(y: Any, t: Any, k: Any) -> Any:
    return k * y


def squares(k: Any, y0: Any, t: Any, **options: Any) -> Any:
    return (odeint(exponential, y0, t, k, rtol=1e-10, atol=1e-10, **options)[-1] ** 2).sum()


def test_forward_mode_differentiates_the_steps() -> None:
    y0, k, t = np.array([1.0, 0.5]), np.float64(0.3), np.array([0.1, 0.8])
    value, along = evaluated(lambda *x: rlx.jvp(squares)(x, (1.0, y0, np.array([-1.0, 0.5]))), k, y0, t)
    exact = (y0**2).sum() * np.exp(2 * 0.3 * 0.7)
    np.testing.assert_allclose(value, exact, 1e-8)
    np.testing.assert_allclose(along, exact * (2 * 0.7 + 2 + 2 * 0.3 * 1.5), 1e-8)


@pytest.mark.parametrize("options", [{"backsolve": False, "mxstep": 40}, *([{}] if EVERY else [])])
def test_second_derivatives(options: dict[str, Any]) -> None:
    """Of `y0^2 e^(2 k t)`, in reverse over reverse, or forward over reverse."""

    def both(k: Any, y0: Any, t: Any) -> Any:
        slope = rlx.grad(lambda k: squares(k, y0, t, **options))
        return rlx.value_and_grad(slope)(k) if not options else rlx.jvp(slope)((k,), (1.0,))

    y0, k, t = np.array([1.0, 0.5]), np.float64(0.3), np.array([0.0, 0.7])
    found = evaluated(both, k, y0, t)
    value = (y0**2).sum() * np.exp(2 * 0.3 * 0.7)
    np.testing.assert_allclose(found, [1.4 * value, 1.96 * value], 1e-7)


def test_batches_end_one_by_one() -> None:
    """Also decreasing times; a row with NaN, and one that leaves the numbers, are NaN from there on."""

    def blow(y: Any, t: Any, k: Any) -> Any:
        return k * y * y

    def run(y0: Any, t: Any) -> Any:
        return odeint(blow, y0, t, 1.0)

    starts = np.array([[-0.5], [0.25], [np.nan], [-0.5]])
    times = np.stack([LONG, LONG, LONG, LONG[::-1] / 8])
    found = rlx.compile(rlx.vmap(run))(starts, times)[..., 0]
    with np.errstate(divide="ignore"):
        exact = starts / (1 - starts * (times - times[:, :1]))
    np.testing.assert_allclose(found[[0, 3]], exact[[0, 3]], 1e-6)
    np.testing.assert_allclose(found[1, :2], exact[1, :2], 1e-6)
    assert np.isnan(found[1, 3:]).all() and np.isnan(found[2]).all()


def test_options_types_and_sizes() -> None:
    def run(y0: Any, t: Any, **options: Any) -> Any:
        found = evaluated(lambda y0, t: odeint(exponential, y0, t, -0.5, **options), y0, t)
        assert found.shape == (len(t), *y0.shape) and found.dtype == y0.dtype
        return found

    single = START.astype(np.float32)
    np.testing.assert_allclose(run(single, TIMES), single * np.exp(-0.5 * TIMES)[:, None], 1e-5)
    np.testing.assert_allclose(run(START, TIMES, hmax=0.2), START * np.exp(-0.5 * TIMES)[:, None], 1e-7)
    assert np.isnan(run(START, LONG, hmax=0.1, mxstep=3)[1:]).all()
    assert run(START, TIMES[:1]).tolist() == [START.tolist()]
    assert run(START[:0], TIMES).size == 0


def test_messages_name_the_argument() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: odeint(3, START, TIMES), "odeint: func: expected a function, got 3"),
        (lambda: odeint(exponential, START * 1j, TIMES, 1.0), "odeint: y0: expected real numbers"),
        (lambda: odeint(exponential, START, 1.0, 1.0), r"odeint: t: expected a vector .* got shape \[\]"),
        (lambda: odeint(lambda y, t: y[:1], START, TIMES), r"odeint: the result of func: expected shape \[2\] like y0"),
        (lambda: odeint(exponential, START, TIMES, 1.0, mxstep=0), "odeint: mxstep: expected a positive number"),
    ]
    for call, message in cases:
        with pytest.raises(rlx.GraphError, match=message):
            call()


@pytest.mark.parametrize("around", [lambda f: f, rlx.vmap, lambda f: lambda y: rlx.jvp(f)((y,), (y,))[1]])
def test_an_unbounded_loop_in_reverse_mode_names_the_argument_of_the_function_that_built_it(around: Any) -> None:
    def solve(y: Any) -> Any:
        return odeint(lambda y, t: -y, y, np.array([0.0, 1.0]), backsolve=False)[-1]

    def count(y: Any) -> Any:
        return rlx.fori_loop(0, y.astype(np.int64).sum(), lambda i, c: c * y, y)

    for f, words in ((solve, "set mxstep of odeint"), (count, "give fori_loop Python integers")):
        with pytest.raises(rlx.GraphError, match=rf"no gradient in reverse mode: {words}"):
            rlx.compile(rlx.grad(lambda y: around(f)(y).sum())).trace(np.ones(2))  # noqa: B023
