"""Functions with their special points: zeros, kinks, ends of domains, infinities, the smallest and largest numbers.

A `Curve` is a function of one number, a `Surface` of two, a `Row` of a vector: each with its derivatives by mpmath or
NumPy. Where a function has no derivative, the formula gives the value that docs/math.md states. Where a formula divides
by 0 or is NaN, only agreement between the modes is checked.
"""

# Functions of arrays and of values of a graph are of any type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
Numbers = Callable[..., Any]
INF = float("inf")
PI = mp.pi
OPS: Any = rlx
"""Functions named after ops, whose types are found when they are called."""


@dataclass(frozen=True)
class Curve:
    """A function of one number and its first two derivatives in mpmath."""

    f: Numbers
    first: Numbers
    second: Numbers
    domain: tuple[float, float] = (-INF, INF)
    limits: dict[float, tuple[float, float]] = field(default_factory=dict[float, tuple[float, float]])
    """Both derivatives where the formulas have none, by the point."""
    absolute: float = 0.0
    """Error in units of the last place of 1 that is allowed beside the relative one: where terms cancel."""
    ulps: float = 64.0

    def expected(self, x: float, order: int) -> Any:
        if x in self.limits:
            return mp.mpf(self.limits[x][order - 1])
        return (self.first, self.second)[order - 1](mp.mpf(x))


@dataclass(frozen=True)
class Surface:
    """A function of two numbers; `partials` gives d/dx, d/dy, d2/dx2, d2/dxdy and d2/dy2 in mpmath."""

    f: Numbers
    partials: Callable[[Any, Any], tuple[Any, ...]]
    absolute: float = 0.0
    """As that of a curve, of the largest second derivative there."""
    ulps: float = 64.0


@dataclass(frozen=True)
class Row:
    """A number made of a vector of three; `slopes(x, u)` gives the gradient, and the Hessian times `u`."""

    f: Numbers
    slopes: Callable[[Array, Array], tuple[Any, Any]]
    rows: tuple[str, ...]
    """The names of the rows of `ROWS` that it is checked at."""


def points(dtype: Any) -> Array:
    """Special numbers of a type, of both signs."""
    info = np.finfo(dtype)
    low, eps, high = float(info.tiny), float(info.eps), float(info.max)
    numbers = [0.0, float(info.smallest_subnormal), low, 4 * low, eps**2, eps, 1e-3, 0.25, 0.5, 1 - eps / 2, 1.0]
    numbers += [1 + eps, 2.0, 3.0, 5.0, 10.0, 12.5, 20.0, 27.0, 38.0, 50.0, 88.0, 100.0, 170.0, 700.0, 1000.0, 1e5]
    numbers += [high**0.25, 1.5 * high**0.5, high / 4, high, INF]
    return np.array([*numbers, *(-x for x in numbers)], dtype)


def pairs(dtype: Any) -> tuple[Array, Array]:
    """Special numbers of a type in pairs, equal ones among them."""
    info = np.finfo(dtype)
    low, eps, high = float(info.tiny) ** 0.3, float(info.eps), float(info.max)
    numbers = [0.0, low, eps, 0.5, 1.0, 1 + eps, 2.0, 3.0, 100.0, high**0.3, INF]
    each = np.array(list(product([*numbers, *(-x for x in numbers)], repeat=2)), dtype)
    return each[:, 0].copy(), each[:, 1].copy()


def rows(dtype: Any, names: tuple[str, ...]) -> Array:
    """Rows of a type by their names."""
    return np.array([ROWS[name] for name in names], dtype)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _bell(x: Any) -> Any:
    """The slope of the logistic function."""
    return _sigmoid(x) * _sigmoid(-x)


def _density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * PI)


def _gelu_approx(x: Any, order: int) -> Any:
    c, a = 2 * mp.sqrt(2 / PI), mp.mpf(0.044715)
    u, slope, curvature = c * (x + a * x**3), c * (1 + 3 * a * x * x), 6 * c * a * x
    s, bell = _sigmoid(u), _bell(u)
    if order == 1:
        return s + x * bell * slope
    return 2 * bell * slope + x * (bell * (1 - 2 * s) * slope**2 + bell * curvature)


def _sech2(x: Any) -> Any:
    return 1 / mp.cosh(x) ** 2


def _arc(x: Any) -> Any:
    return mp.sqrt((1 - x) * (1 + x))


def _sinc(x: Any, order: int) -> Any:
    if not order % 2 and not x:
        return -(PI**2) / 3
    with mp.workdps(400):
        return mp.diff(mp.sincpi, x, order) if x else mp.mpf(0)


def _erfcx(x: Any) -> tuple[Any, Any]:
    """Both derivatives, with the digits that cancel; by the first term of their series where that is all."""
    if x > 1e40:
        return -1 / (mp.sqrt(PI) * x * x), 2 / (mp.sqrt(PI) * x**3)
    if x < -1e3:
        return -mp.inf, mp.inf
    with mp.workdps(120):
        y = mp.hyperu(_HALF, _HALF, x * x) / mp.sqrt(PI) if x > 10 else mp.exp(x * x) * mp.erfc(x)
        slope = 2 * x * y - 2 / mp.sqrt(PI)
        return slope, 2 * y + 2 * x * slope


def _psi(order: int, x: Any) -> Any:
    """Derivatives of the digamma function; it has poles at 0, -1, -2.."""
    return mp.nan if x <= 0 and x == mp.floor(x) else mp.psi(order, x)


def _ndtri(p: Any) -> Any:
    """The quantile, also of probabilities that 1 hides."""
    with mp.workdps(400):
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)


FLAT = {INF: (0.0, 0.0), -INF: (0.0, 0.0)}
RAMP = {INF: (1.0, 0.0), -INF: (0.0, 0.0)}
_HALF = mp.mpf(1) / 2
_ZERO = mp.mpf(0)

CURVES: dict[str, Curve] = {
    "abs": Curve(OPS.abs, mp.sign, lambda x: 0 * x, limits={0.0: (0, 0), INF: (1, 0), -INF: (-1, 0)}),
    "neg": Curve(lambda x: -x, lambda x: -_HALF * 2, lambda x: _ZERO),
    "exp": Curve(OPS.exp, mp.exp, mp.exp),
    "exp2": Curve(OPS.exp2, lambda x: 2**x * mp.log(2), lambda x: 2**x * mp.log(2) ** 2),
    "expm1": Curve(OPS.expm1, mp.exp, mp.exp),
    "log": Curve(OPS.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "log2": Curve(OPS.log2, lambda x: 1 / x / mp.log(2), lambda x: -1 / x**2 / mp.log(2)),
    "log10": Curve(np.log10, lambda x: 1 / x / mp.log(10), lambda x: -1 / x**2 / mp.log(10)),
    "log1p": Curve(OPS.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2),
    "sqrt": Curve(OPS.sqrt, lambda x: _HALF / mp.sqrt(x), lambda x: -_HALF / 2 / mp.sqrt(x) ** 3, (0, INF)),
    "rsqrt": Curve(OPS.rsqrt, lambda x: -_HALF / mp.sqrt(x) ** 3, lambda x: 3 * _HALF / 2 / mp.sqrt(x) ** 5, (0, INF)),
    "safe_sqrt": Curve(
        OPS.safe_sqrt,
        lambda x: _HALF / mp.sqrt(x) if x > 0 else _ZERO,
        lambda x: -_HALF / 2 / mp.sqrt(x) ** 3 if x > 0 else _ZERO,
    ),
    "safe_rsqrt": Curve(
        OPS.safe_rsqrt,
        lambda x: -_HALF / mp.sqrt(x) ** 3 if x > 0 else _ZERO,
        lambda x: 3 * _HALF / 2 / mp.sqrt(x) ** 5 if x > 0 else _ZERO,
    ),
    "recip": Curve(OPS.recip, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "cbrt": Curve(
        OPS.cbrt,
        lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),
        lambda x: -mp.sign(x) * 2 / (9 * mp.cbrt(abs(x)) ** 5),
        limits=FLAT,
    ),
    "square": Curve(np.square, lambda x: 2 * x, lambda x: 2 * _HALF * 2),
    "abs squared": Curve(lambda x: abs(x) ** 2, lambda x: 2 * x, lambda x: 2 * _HALF * 2),
    "abs times x": Curve(lambda x: abs(x) * x, lambda x: 2 * abs(x), lambda x: 2 * mp.mpf(1 if x >= 0 else -1)),
    "sin": Curve(OPS.sin, mp.cos, lambda x: -mp.sin(x)),
    "cos": Curve(OPS.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "tan": Curve(OPS.tan, lambda x: 1 + mp.tan(x) ** 2, lambda x: 2 * mp.tan(x) * (1 + mp.tan(x) ** 2)),
    "asin": Curve(OPS.asin, lambda x: 1 / _arc(x), lambda x: x / _arc(x) ** 3, (-1, 1)),
    "acos": Curve(OPS.acos, lambda x: -1 / _arc(x), lambda x: -x / _arc(x) ** 3, (-1, 1)),
    "atan": Curve(OPS.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2, limits=FLAT),
    "sinh": Curve(OPS.sinh, mp.cosh, mp.sinh),
    "cosh": Curve(OPS.cosh, mp.sinh, mp.cosh),
    "tanh": Curve(OPS.tanh, _sech2, lambda x: -2 * mp.tanh(x) * _sech2(x), absolute=4),
    "asinh": Curve(OPS.asinh, lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3, limits=FLAT),
    "acosh": Curve(
        OPS.acosh,
        lambda x: 1 / mp.sqrt((x - 1) * (x + 1)),
        lambda x: -x / mp.sqrt((x - 1) * (x + 1)) ** 3,
        (1, INF),
        FLAT,
    ),
    "atanh": Curve(OPS.atanh, lambda x: 1 / _arc(x) ** 2, lambda x: 2 * x / _arc(x) ** 4, (-1, 1)),
    "erf": Curve(
        OPS.erf,
        lambda x: 2 / mp.sqrt(PI) * mp.exp(-x * x),
        lambda x: -4 * x / mp.sqrt(PI) * mp.exp(-x * x),
        limits=FLAT,
    ),
    "erfc": Curve(
        OPS.erfc,
        lambda x: -2 / mp.sqrt(PI) * mp.exp(-x * x),
        lambda x: 4 * x / mp.sqrt(PI) * mp.exp(-x * x),
        limits=FLAT,
    ),
    "erfcx": Curve(OPS.erfcx, lambda x: _erfcx(x)[0], lambda x: _erfcx(x)[1], limits={INF: (0.0, 0.0)}, absolute=16),
    "erf_inv": Curve(
        OPS.erf_inv,
        lambda x: mp.sqrt(PI) / 2 * mp.exp(mp.erfinv(x) ** 2),
        lambda x: PI / 2 * mp.erfinv(x) * mp.exp(2 * mp.erfinv(x) ** 2),
        (-1, 1),
        ulps=256,
    ),
    "ndtri": Curve(
        OPS.ndtri,
        lambda p: mp.sqrt(2 * PI) * mp.exp(_ndtri(p) ** 2 / 2),
        lambda p: 2 * PI * _ndtri(p) * mp.exp(_ndtri(p) ** 2),
        (0, 1),
        ulps=4096,  # an ulp of the quantile is y^2 ulps of its slope
    ),
    "lgamma": Curve(OPS.lgamma, lambda x: _psi(0, x), lambda x: _psi(1, x), absolute=1),
    "digamma": Curve(OPS.digamma, lambda x: _psi(1, x), lambda x: _psi(2, x), absolute=32),
    "ndtr": Curve(OPS.ndtr, _density, lambda x: -x * _density(x), limits=FLAT),
    "gaussian": Curve(
        OPS.gaussian,
        lambda x: -x * mp.exp(-x * x / 2),
        lambda x: (x * x - 1) * mp.exp(-x * x / 2),
        limits=FLAT,
        absolute=1,
    ),
    "sigmoid": Curve(OPS.sigmoid, _bell, lambda x: _bell(x) * (_sigmoid(-x) - _sigmoid(x)), limits=FLAT, absolute=1),
    "softplus": Curve(OPS.softplus, _sigmoid, _bell, absolute=1),
    "silu": Curve(
        OPS.silu,
        lambda x: _sigmoid(x) + x * _bell(x),
        lambda x: _bell(x) * (2 + x * (_sigmoid(-x) - _sigmoid(x))),
        limits=RAMP,
        absolute=64,
    ),
    "gelu": Curve(
        OPS.gelu, lambda x: mp.ncdf(x) + x * _density(x), lambda x: _density(x) * (2 - x * x), limits=RAMP, absolute=1
    ),
    "gelu_approx": Curve(
        OPS.gelu_approx, lambda x: _gelu_approx(x, 1), lambda x: _gelu_approx(x, 2), limits=RAMP, absolute=256
    ),
    "relu": Curve(OPS.relu, lambda x: mp.mpf(x > 0), lambda x: _ZERO),
    "round": Curve(OPS.round, lambda x: 2 * _HALF, lambda x: _ZERO),
    "sinc": Curve(np.sinc, lambda x: _sinc(x, 1), lambda x: _sinc(x, 2), (-1000, 1000), absolute=64),
    "guarded log": Curve(
        lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0),
        lambda x: 1 / x if x > 0 else _ZERO,
        lambda x: -1 / x**2 if x > 0 else _ZERO,
    ),
}


def _power(exponent: float) -> Curve:
    """`x^exponent`, by a number of the program."""
    e = mp.mpf(exponent)

    def slope(x: Any, order: int) -> Any:
        factor = e if order == 1 else e * (e - 1)
        return _ZERO if not factor else factor if e == order else factor * x ** (e - order)

    exact = exponent * 4 % 1 == 0
    domain = (-INF if exponent % 1 == 0 else 0.0, INF)
    return Curve(
        lambda x: x**exponent, lambda x: slope(x, 1), lambda x: slope(x, 2), domain, ulps=64 if exact else 1024
    )


POWERS = (0.0, 1.0, 2.0, 3.0, 4.0, 7.0, -1.0, -2.0, -3.0, 0.5, -0.5, 1.5, 2.5, 1 / 3, 0.1)
CURVES.update((f"power {exponent:.3g}", _power(exponent)) for exponent in POWERS)


def _of_power(x: Any, y: Any) -> tuple[Any, ...]:
    """Not of infinities, nor of exponents so large that 1 less is the same number."""
    nan, log = mp.nan, mp.log(x) if x > 0 else mp.nan
    if mp.isinf(x) or abs(y) > 2**22:
        return (nan,) * 5

    def power(e: Any) -> Any:
        return _HALF * 2 if not e else nan if x < 0 and e != mp.floor(e) else x**e

    if x == 0 and y != mp.floor(y):
        return (_ZERO if y > 1 else nan, _ZERO if y > 0 else nan, nan, nan, _ZERO if y > 0 else nan)
    first = y * power(y - 1) if y else _ZERO
    second = y * (y - 1) * power(y - 2) if y * (y - 1) else _ZERO
    if x == 0:
        slope = _ZERO if y >= 0 else nan
        return first, slope, second, _ZERO if y > 1 else nan, _ZERO if y > 0 else nan
    return first, power(y) * log, second, power(y - 1) * (1 + y * log), power(y) * log**2


def _of_hypot(x: Any, y: Any) -> tuple[Any, ...]:
    r = mp.sqrt(x * x + y * y)
    if not r:
        return (_ZERO,) * 5
    if mp.isinf(x) != mp.isinf(y):
        return mp.sign(x) * mp.isinf(x), mp.sign(y) * mp.isinf(y), _ZERO, _ZERO, _ZERO
    return x / r, y / r, y * y / r**3, -x * y / r**3, x * x / r**3


def _of_log_hypot(x: Any, y: Any) -> tuple[Any, ...]:
    """The origin counts as flat."""
    q = x * x + y * y
    if not q or mp.isinf(x) != mp.isinf(y):
        return (_ZERO,) * 5
    return x / q, y / q, (y * y - x * x) / q**2, -2 * x * y / q**2, (x * x - y * y) / q**2


def _of_atan2(y: Any, x: Any) -> tuple[Any, ...]:
    in_x, in_y, square, mixed, _ = _of_log_hypot(x, y)
    return in_x, -in_y, mixed, square, -mixed


def _of_logaddexp(x: Any, y: Any, unit: Any = 1) -> tuple[Any, ...]:
    if mp.isinf(x) and x == y:
        return _HALF, _HALF, mp.nan, mp.nan, mp.nan
    share, rest, bell = _sigmoid((x - y) * unit), _sigmoid((y - x) * unit), _bell((x - y) * unit) * unit
    return share, rest, bell, -bell, bell


def _chosen(x_wins: Any, tie: Any) -> tuple[Any, ...]:
    share = _HALF if tie else mp.mpf(bool(x_wins))
    return share, 1 - share, _ZERO, _ZERO, _ZERO


def _of_remainder(x: Any, y: Any, floor: Any) -> tuple[Any, ...]:
    """Not of infinities, for which the quotient is 0 or none."""
    if mp.isinf(x) or mp.isinf(y):
        return (mp.nan,) * 5
    return _HALF * 2, -floor(x / y), _ZERO, _ZERO, _ZERO


def _of_quotient(x: Any, y: Any) -> tuple[Any, ...]:
    return 1 / y, -x / y**2, _ZERO, -1 / y**2, 2 * x / y**3


SURFACES: dict[str, Surface] = {
    "add": Surface(OPS.add, lambda x, y: (_HALF * 2, _HALF * 2, _ZERO, _ZERO, _ZERO)),
    "sub": Surface(OPS.sub, lambda x, y: (_HALF * 2, -_HALF * 2, _ZERO, _ZERO, _ZERO)),
    "mul": Surface(OPS.mul, lambda x, y: (y, x, _ZERO, _HALF * 2, _ZERO)),
    "div": Surface(OPS.div, _of_quotient),
    "pow": Surface(lambda x, y: x**y, _of_power, ulps=1024),
    "hypot": Surface(np.hypot, _of_hypot, absolute=8),
    "log_hypot": Surface(OPS.log_hypot, _of_log_hypot, absolute=8),
    "atan2": Surface(np.arctan2, _of_atan2, absolute=8),
    "logaddexp": Surface(np.logaddexp, _of_logaddexp, absolute=512),
    "logaddexp2": Surface(np.logaddexp2, lambda x, y: _of_logaddexp(x, y, mp.log(2)), absolute=1024),
    "max": Surface(np.maximum, lambda x, y: _chosen(x > y, x == y)),
    "min": Surface(np.minimum, lambda x, y: _chosen(x < y, x == y)),
    "copysign": Surface(np.copysign, lambda x, y: (mp.nan, _ZERO, _ZERO, _ZERO, _ZERO)),
    "mod": Surface(np.remainder, lambda x, y: _of_remainder(x, y, mp.floor)),
    "rem": Surface(np.fmod, lambda x, y: _of_remainder(x, y, lambda q: mp.sign(q) * mp.floor(abs(q)))),
    "where": Surface(lambda x, y: np.where(x > y, x, y), lambda x, y: _chosen(x > y, False)),
}


ROWS: dict[str, list[float]] = {
    "zeros": [0, 0, 0],
    "signed zeros": [-0.0, 0, 1],
    "equal": [1, 1, 1],
    "pair": [2, 2, 1],
    "ascending": [0, 1, 2],
    "one": [0, 0, 2],
    "signs": [-1, 1, 0.5],
    "-inf": [-INF, 0, 1],
    "-inf twice": [-INF, -INF, 0],
    "far": [1000, 0, -1000],
    "far and equal": [-1000, -1000, -1000],
}
FINITE = tuple(name for name in ROWS if "inf" not in name)
ANY = tuple(ROWS)
WEIGHTS = (1.0, -2.0, 0.5)


def weighted(y: Any) -> Any:
    """The sum of three elements times weights."""
    return y[0] * WEIGHTS[0] + y[1] * WEIGHTS[1] + y[2] * WEIGHTS[2]


def _shares(x: Array) -> Array:
    e = np.exp(x - x.max())
    return e / e.sum()


def _of_shares(x: Array, u: Array) -> tuple[Array, Array]:
    """The softmax, which is the gradient of the log of a sum of exponentials, and its tangent."""
    p = _shares(x)
    return p, p * (u - p @ u)


def _of_softmax(x: Array, u: Array) -> tuple[Array, Array]:
    w, (p, t) = np.array(WEIGHTS), _of_shares(x, u)
    return p * (w - w @ p), t * (w - w @ p) - p * (w @ t)


def _of_log_share(x: Array, u: Array) -> tuple[Array, Array]:
    p, t = _of_shares(x, u)
    return np.array([1.0, 0, 0]) - p, -t


def _of_cross_entropy(x: Array, u: Array) -> tuple[Array, Array]:
    first, second = _of_log_share(x, u)
    return -first, -second


def _of_prod(x: Array, u: Array) -> tuple[Array, Array]:
    a, b, c = x
    return np.array([b * c, a * c, a * b]), np.array([[0, c, b], [c, 0, a], [b, a, 0]]) @ u


def _of_cumprod(x: Array, u: Array) -> tuple[Array, Array]:
    (a, b, _), (_, q, r) = x, WEIGHTS
    first, second = _of_prod(x, u)
    return (
        np.array([1.0, 0, 0]) + q * np.array([b, a, 0]) + r * first,
        q * np.array([u[1], u[0], 0]) + r * second,
    )


def _flat(slope: Callable[[Array], Any]) -> Callable[[Array, Array], tuple[Any, Any]]:
    """A function that is linear in pieces."""
    return lambda x, u: (slope(x), np.zeros(3))


def _ties(x: Array, hit: Array) -> Array:
    return hit / hit.sum()


def _sorted(w: Any) -> Callable[[Array], Any]:
    """The weights of sorted elements where these were, equal ones in their order."""

    def slope(x: Array) -> Any:
        found = np.zeros(3)
        found[np.argsort(x, kind="stable")] = w
        return found

    return slope


def _of_norm(x: Array, u: Array) -> tuple[Array, Array]:
    r = np.sqrt(x @ x)
    n = x / r if r else x
    return n, (u - n * (n @ u)) / r if r else np.zeros(3)


def _of_variance(x: Array, u: Array) -> tuple[Array, Array]:
    return 2 / 3 * (x - x.mean()), 2 / 3 * (u - u.mean())


def _normalized(x: Any) -> Any:
    """A layer norm of unit scale."""
    return weighted(OPS.layer_norm(x.reshape(1, 3), np.ones(3, x.dtype), np.zeros(3, x.dtype)).reshape(3))


def _of_normalized(x: Array, u: Array) -> tuple[Array, Array]:
    """Of `r (w . c)` with `c = x - mean` and `r = (c . c / 3 + eps)^-1/2`, which is smooth where `c` is 0."""
    w = np.array(WEIGHTS) - np.mean(WEIGHTS)
    c, v = x - x.mean(), u - u.mean()
    r = (c @ c / 3 + 1e-5) ** -0.5
    down, along = -(r**3) * (c @ v) / 3, w @ c
    first = r * w - r**3 / 3 * along * c
    return first, down * w - r**2 * down * along * c - r**3 / 3 * ((w @ v) * c + along * v)


def _bordered(x: Any) -> Any:
    """A determinant that is `-x . x`, of a matrix that is singular where `x` is 0."""
    last = np.zeros((1, 1), x.dtype)
    rows = np.concatenate([np.eye(3, dtype=x.dtype), x.reshape(3, 1)], 1)
    return np.linalg.det(np.concatenate([rows, np.concatenate([x.reshape(1, 3), last], 1)], 0))


SPREAD = ("zeros", "signed zeros", "equal", "pair", "ascending", "one", "signs")
VECTORS: dict[str, Row] = {
    "reduce_sum": Row(lambda x: x.sum(), _flat(lambda x: np.ones(3)), ANY),
    "reduce_mean": Row(lambda x: x.mean(), _flat(lambda x: np.ones(3) / 3), ANY),
    "reduce_max": Row(lambda x: x.max(), _flat(lambda x: _ties(x, x == x.max())), ANY),
    "scatter_max": Row(
        lambda x: OPS.scatter_max(x, np.zeros(x.shape[0], np.int64), 1)[0],
        _flat(lambda x: _ties(x, x == x.max())),
        ANY,
    ),
    "reduce_min": Row(lambda x: x.min(), _flat(lambda x: _ties(x, x == x.min())), ANY),
    "reduce_prod": Row(lambda x: x.prod(), _of_prod, FINITE),
    "cumsum": Row(lambda x: weighted(np.cumsum(x)), _flat(lambda x: np.array([-0.5, -1.5, 0.5])), FINITE),
    "cumprod": Row(lambda x: weighted(np.cumprod(x)), _of_cumprod, FINITE),
    "sort": Row(lambda x: weighted(np.sort(x)), _flat(_sorted(WEIGHTS)), FINITE),
    "median": Row(np.median, _flat(_sorted((0, 1, 0))), ANY),
    "quantile": Row(lambda x: np.quantile(x, 0.25), _flat(_sorted((0.5, 0.5, 0))), FINITE),
    "logsumexp": Row(lambda x: OPS.logsumexp(x), _of_shares, ANY),
    "logsumexp by hand": Row(lambda x: np.log(np.exp(x - x.max()).sum()) + x.max(), _of_shares, ANY),
    "softmax": Row(lambda x: weighted(OPS.softmax(x)), _of_softmax, ANY),
    "log_softmax": Row(lambda x: OPS.log_softmax(x)[0], _of_log_share, FINITE),
    "softmax_cross_entropy_with_logits": Row(
        lambda x: OPS.softmax_cross_entropy_with_logits(x.reshape(1, 3), np.array([0])).sum(),
        _of_cross_entropy,
        FINITE,
    ),
    "norm": Row(lambda x: np.linalg.norm(x), _of_norm, FINITE),
    "norm squared": Row(lambda x: np.linalg.norm(x) ** 2, lambda x, u: (2 * x, 2 * u), FINITE),
    "norm of order 1": Row(lambda x: np.linalg.norm(x, 1), _flat(np.sign), FINITE),
    "norm of order inf": Row(
        lambda x: np.linalg.norm(x, INF), _flat(lambda x: np.sign(x) * _ties(x, abs(x) == abs(x).max())), FINITE
    ),
    "var": Row(lambda x: x.var(), _of_variance, FINITE),
    "layer_norm": Row(_normalized, _of_normalized, SPREAD),
    "det": Row(_bordered, lambda x, u: (-2 * x, -2 * u), FINITE),
}

RARE = frozenset(
    {
        *("neg", "abs squared", "safe_rsqrt", "round", "guarded log", "add", "sub", "where"),
        *(f"power {exponent:.3g}" for exponent in (4.0, 7.0, -1.0, -3.0, -0.5, 2.5, 0.1)),
        *("reduce_sum", "reduce_mean", "cumsum", "quantile", "logsumexp by hand", "norm squared", "norm of order 1"),
    }
)
"""Functions that only EVERY_SAMPLE takes: others are like them, or other tests have them."""

LINEAR = "linear in each operand: no point is special"
LINEAR_OPS = (
    *("batched_dense_solve", "complex", "conjugate", "conv", "conv_transpose2d", "conv2d_backward_input"),
    *("conv2d_backward_weight", "cumsum_backward", "dense_solve", "dot_general", "expand", "fft", "flip", "gather"),
    *("gather_backward", "grouped_matmul", "grouped_matmul_backward_weight", "im2col", "imag", "irfft", "lora_matmul"),
    *(
        "lu_inverse",
        "lu_solve",
        "matmul",
        "narrow",
        "real",
        "reshape",
        "resize_nearest_2x",
        "rfft",
        "rope",
        "rope_backward",
    ),
    *(
        "axial_rope_2d",
        "index_add",
        "scatter_add",
        "sumpool2d_backward",
        "transpose",
        "concat",
        "cast",
        "straight_through",
    ),
    *("maxpool2d_backward", "maxpool2d_take", "complex_norm_sq", "complex_norm_sq_backward", "batch_norm_inference"),
    *("batch_norm_inference_backward_beta", "batch_norm_inference_backward_gamma"),
    *("batch_norm_inference_backward_input", "interchange_rows", "lu_inverse", "triangular_solve"),
)
DECODED_OPS = (
    *("dequant_grouped_matmul", "dequant_grouped_matmul_backward_input", "dequant_matmul", "dequant_moe_weights"),
    *("dequant_matmul_backward_input", "dequantize", "dequantize_weights", "quantize", "fake_quantize"),
    *("fake_quantize_backward", "fake_quantize_lsq", "fake_quantize_lsq_backward_scale"),
    *("fake_quantize_lsq_backward_x",),
)
SPECTRAL_OPS = ("cholesky", "eigh", "lu", "lstsq", "matrix_function", "pinv", "qr", "svd")
CONTROL_OPS = (
    *("batch_elementwise_region", "custom", "custom_fn", "elementwise_region", "fusion", "if", "remat", "scan"),
    *("switch", "transform_region", "while"),
)
RANDOM_OPS = ("rng_normal", "rng_uniform", "sample")
DEFINED_OPS = (
    *("activation_backward", "relu_backward", "softmax_cross_entropy_backward", "attention", "attention_backward"),
    *("fused_attention_block", "fused_matmul_bias_act", "fused_residual_ln", "fused_residual_rms_norm", "fused_swiglu"),
    *("fused_transformer_layer", "gated_delta_net", "selective_scan", "group_norm", "group_norm_backward_beta"),
    *("group_norm_backward_gamma", "group_norm_backward_input", "layer_norm_2d", "layer_norm_backward_gamma"),
    *("layer_norm_backward_input", "rms_norm", "rms_norm_backward_beta", "rms_norm_backward_gamma"),
    *("rms_norm_backward_input", "log_mel", "log_mel_backward", "pool"),
)
SPLAT_OPS = (
    *("gaussian_splat_prepare", "gaussian_splat_rasterize", "gaussian_splat_render"),
    *("gaussian_splat_render_backward",),
)
COLLECTIVE_OPS = ("all_gather", "all_reduce", "broadcast", "reduce_scatter", "reduce_to")

WITHOUT: dict[str, str] = {
    **dict.fromkeys(LINEAR_OPS, LINEAR),
    **dict.fromkeys(DECODED_OPS, "derivatives by convention: tests/numerics/families"),
    **dict.fromkeys(SPECTRAL_OPS, "equal values: tests/numerics/test_equal_values.py"),
    **dict.fromkeys(COLLECTIVE_OPS, "they need other processes: tests/distributed"),
    "cofactors": "the derivative of a determinant: test_determinants.py",
    "slogdet": "singular matrices: tests/weaknesses/test_linalg.py",
    **dict.fromkeys(CONTROL_OPS, "made of other ops; branches: tests/transforms/test_branches_of_batches.py"),
    **dict.fromkeys(RANDOM_OPS, "no operand is differentiated but by its definition"),
    **dict.fromkeys(DEFINED_OPS, "defined by ops that are here: tests/numerics/test_decompose.py"),
    "rng_gamma": "its slope is an op of its own",
    "gamma_slope": "its ends and both its derivatives: tests/numerics/families/distributions.py",
    "nextafter": "next to its first operand, whose derivatives it has: tests/numerics/families/bits.py",
    "reduce_precision": "rounded, and so are its derivatives: tests/numerics/families/bits.py",
    "special_function": "derivatives of each function: tests/numerics/families/special.py, tests/face/test_special.py",
    **dict.fromkeys(SPLAT_OPS, "what is decided by comparing is fixed: tests/lowering/test_splat.py"),
}
"""Why an op with derivatives has no points here."""
