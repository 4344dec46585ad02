"""Rows of special functions of two arguments, of orthogonal polynomials and of running sums of exponentials."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xdsl_rlx import special
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, traced
from xdsl_rlx.tree_control import associative_scan, while_loop

ROWS.refuse(
    "no function of rlx.special computes it",
    "special_airy_ai.default",
    "special_bessel_y0.default",
    "special_bessel_y1.default",
    "special_modified_bessel_k0.default",
    "special_modified_bessel_k1.default",
    "special_scaled_modified_bessel_k0.default",
    "special_scaled_modified_bessel_k1.default",
)


@ROWS.add("polygamma.default")
def _polygamma(c: Call, n: int, self: Any) -> Any:
    return special.polygamma(n, cast(self, c.dtype)) if n else special.digamma(cast(self, c.dtype))


for _name, _of in {"i0": special.i0, "i1": special.i1}.items():

    def _modified(c: Call, self: Any, of: Callable[[Any], Any] = _of) -> Any:
        return of(cast(self, c.dtype))

    ROWS.add(f"special_modified_bessel_{_name}.default")(_modified)


@ROWS.add("special_spherical_bessel_j0.default")
def _spherical(c: Call, x: Any) -> Any:
    """sin x / x, and a polynomial where x is small."""
    x = cast(x, c.dtype)
    near, infinite = abs(x) < 0.5, abs(x) == np.inf
    away = np.where(near | infinite, cast(1, c.dtype), x)
    y = np.where(near, x * x, cast(0, c.dtype))
    series = 1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110 * (1 - y / 156)))))
    return np.where(near, series, np.where(infinite, cast(0, c.dtype), np.sin(away) / away))


@ROWS.add("logcumsumexp.default", composite=True)
def _logcumsumexp(c: Call, self: Any, dim: int) -> Any:
    if not np.ndim(self) or not self.shape[dim]:
        return self
    return associative_scan(np.logaddexp, self, axis=dim % np.ndim(self))


Step = Callable[[Any, Any, Any, Any], Any]
"""The next polynomial of a family: of the argument, the degree `k` of the last one, that one and the one before."""


def _chebyshev(x: Any, k: Any, last: Any, before: Any) -> Any:
    return 2 * x * last - before


_FAMILIES: dict[str, tuple[Callable[[Any], Any], Step]] = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, last, before: 2 * (x * last - k * before)),
    "hermite_polynomial_he": (lambda x: x, lambda x, k, last, before: x * last - k * before),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda x, k, last, before: ((2 * k + 1 - x) * last - k * before) / (k + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda x, k, last, before: ((2 * k + 1) * x * last - k * before) / (k + 1),
    ),
}
"""Of families of polynomials the one of degree 1, and the step to the next degree. The one of degree 0 is 1."""


def _polynomial(first: Callable[[Any], Any], step: Step, shifted: bool) -> Callable[..., Any]:
    def build(c: Call, x: Any, n: Any) -> Any:
        """By recurrence up to the largest degree; 0 for negative ones."""
        zero, one = cast(0, c.dtype), cast(1, c.dtype)
        x, degree = np.broadcast_arrays(traced(cast(x, c.dtype)), traced(np.trunc(cast(n, c.dtype))))
        if not np.size(x):
            return x
        at = 2 * x - 1 if shifted else x
        most = np.max(degree)

        def following(state: Any) -> Any:
            k, last, before = state
            goes_on = k < degree
            return k + 1, np.where(goes_on, step(at, k, last, before), last), np.where(goes_on, last, before)

        start = (traced(np.asarray(one)), first(at), at * 0 + 1)
        _, found, _ = while_loop(lambda state: state[0] < most, following, start)
        return np.where(degree < 0, zero, np.where(degree == 0, one, found))

    return build


for _name, (_first, _step) in _FAMILIES.items():
    for _prefix in ("", "shifted_") if _name.startswith("chebyshev") else ("",):
        _build = _polynomial(_first, _step, bool(_prefix))
        ROWS.add(*(f"special_{_prefix}{_name}.{one}" for one in ("default", "x_scalar", "n_scalar")), composite=True)(
            _build
        )
