"""Second derivatives where a root has none and its square does, and those of `sinc`, against formulas and mpmath."""

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import xdsl_rlx as rlx

EYE = 2 * np.eye(2)
SQUARES: dict[str, Callable[[Any], Any]] = {
    "abs(x)**2": lambda x: (abs(x) ** 2).sum(),
    "abs(x) * abs(x)": lambda x: (np.abs(x) * np.abs(x)).sum(),
    "power": lambda x: np.power(np.abs(x), 2).sum(),
    "square": lambda x: np.square(np.abs(x)).sum(),
    "norm(x)**2": lambda x: np.linalg.norm(x) ** 2,
    "norms of rows": lambda x: (np.linalg.norm(x.reshape(1, 2), axis=1, keepdims=True) ** 2).sum(),
    "sqrt of a sum": lambda x: np.sqrt((x * x).sum()) ** 2,
    "sqrt of x**2": lambda x: (np.sqrt(x**2) ** 2).sum(),
    "hypot": lambda x: np.hypot(x[0], x[1]) ** 2,
    "a complex number": lambda x: abs(x[0] + 1j * x[1]) ** 2,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("x", [(0.0, 0.0), (0.0, 2.0), (-1.0, 0.5)])
def test_squares_of_roots_are_smooth(name: str, x: tuple[float, float]):
    f, at = SQUARES[name], np.array(x)
    np.testing.assert_allclose(f(at), at @ at, rtol=1e-15)
    np.testing.assert_allclose(rlx.grad(f)(at), 2 * at, rtol=1e-15)
    np.testing.assert_allclose(rlx.hessian(f)(at), EYE, rtol=1e-14)
    np.testing.assert_allclose(rlx.jacfwd(rlx.grad(f))(at), EYE, rtol=1e-14)
    np.testing.assert_allclose(rlx.hvp(f)((at,), np.array([1.0, 3.0])), [2.0, 6.0], rtol=1e-14)
    # and a smooth function of f32
    assert rlx.hessian(f)(at.astype(np.float32)).tolist() == EYE.tolist()


def test_a_fourth_power_and_what_has_no_second_derivative():
    second = lambda f: float(rlx.grad(rlx.grad(f))(0.0))  # noqa: E731
    assert second(lambda x: abs(x) ** 4) == second(lambda x: np.power(abs(x), 4.0)) == 0.0
    fourth = lambda f: float(rlx.grad(rlx.grad(rlx.grad(rlx.grad(f))))(0.0))  # noqa: E731
    assert fourth(lambda x: np.power(abs(x), 4.0)) == fourth(lambda x: (x * x) ** 2) == 24.0
    # from the right: from the left it is -2
    assert second(lambda x: abs(x) * x) == second(lambda x: x * abs(x)) == 2.0
    for x in (-3.0, -0.5, 2.0):
        assert rlx.grad(lambda x: abs(x) * x)(x) == 2 * abs(x)
        assert rlx.grad(rlx.grad(lambda x: abs(x) * x))(x) == 2 * np.sign(x)


def test_what_is_never_negative_is_seen_in_linear_time():
    def doubled(x: Any) -> Any:
        total = (x * x).sum()
        for _ in range(200):
            total = total + total
        return np.sqrt(total * 2.0**-200) ** 2

    np.testing.assert_allclose(rlx.hessian(doubled)(np.zeros(2)), EYE)


@pytest.mark.parametrize("order", range(5))
def test_derivatives_of_sinc_are_exact_at_and_near_zero(order: int):
    f: Any = lambda x: np.sinc(x)  # noqa: E731
    for _ in range(order):
        f = rlx.grad(f)
    f = rlx.compile(f)

    def derivative(dtype: Any, x: float) -> float:
        return float(f(np.asarray(x, dtype)))

    for x in (0.0, 1e-8, 1e-3, 0.1, 0.159, 0.16, -0.16, 0.5, 3.3):
        with mp.workdps(60):
            wanted = float(mp.diff(lambda t: mp.sincpi(t), mp.mpf(x), order))
        assert abs(derivative(np.float64, x) - wanted) <= 1e-13 * max(abs(wanted), float(mp.pi**order))
        with mp.workdps(60):
            wanted = float(mp.diff(lambda t: mp.sincpi(t), mp.mpf(float(np.float32(x))), order))
        assert abs(derivative(np.float32, x) - wanted) <= 3e-5 * max(abs(wanted), float(mp.pi**order))
