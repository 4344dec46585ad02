"""The gamma distribution and those that are made of it; all are differentiable by their parameters.

A draw is one element of a kernel that attempts until it accepts, so a number does not depend on the others of its
array (`mir.rng_gamma`). Derivatives by a shape parameter are those at fixed probability (Figurnov et al., 2018).
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.op_functions import function
from xdsl_rlx.random.arguments import FLOATS, broadcast_shape, element_of, key_of, parameter, shape_of, wide
from xdsl_rlx.random.keys import exponential_numbers, keys, rounded, words

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "sphere", "t"]


def gamma(key: Any, a: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return numbers of density `x^(a - 1) e^-x / Gamma(a)`, of the shape of `a` if `shape` is None.

    Marsaglia and Tsang, 2000; any `a` of at least 0. A small `a` gives numbers that round to 0: see `loggamma`.
    """
    return _of_shape(key, a, shape, dtype, False)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return the logarithm of a draw of `gamma`, also of one that is smaller than the smallest number."""
    return _of_shape(key, a, shape, dtype, True)


def _of_shape(key: Any, a: Any, shape: Any, dtype: object, log: bool) -> Any:
    element = element_of(dtype, FLOATS, a)
    a = parameter(a, wide(element), "a")
    return _gamma(key_of(key), a, broadcast_shape(shape, "a", np.shape(a)), element, log)


@composite
def _gamma(key: Any, a: Any, shape: tuple[int, ...], element: str, log: bool) -> Any:
    return rounded(function("rng_gamma")(key, np.broadcast_to(a, shape), log=log), element)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return numbers of density `x^(a - 1) (1 - x)^(b - 1) / B(a, b)`: `x / (x + y)` for draws of `gamma`."""
    element = element_of(dtype, FLOATS, a, b)
    a, b = parameter(a, wide(element), "a"), parameter(b, wide(element), "b")
    shape = broadcast_shape(shape, "a and b", np.shape(a), np.shape(b))
    return _beta(key_of(key), a, b, shape, element)


@composite
def _beta(key: Any, a: Any, b: Any, shape: tuple[int, ...], element: str) -> Any:
    x, y = (_gamma(k, one, shape, wide(element), True) for k, one in zip(keys(key, 2), (a, b), strict=True))
    return rounded(function("sigmoid")(x - y), element)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return vectors of positive numbers with sum 1 and density `prod x_i^(alpha_i - 1) / B(alpha)`.

    `alpha` is `[.., n]`; `shape` is that of the result without its last axis, of `alpha` if it is None.
    """
    element = element_of(dtype, FLOATS, alpha)
    alpha = parameter(alpha, wide(element), "alpha")
    if not np.ndim(alpha):
        raise GraphError("alpha: expected an array with at least one axis, got a number")
    batch = broadcast_shape(shape, "alpha without its last axis", np.shape(alpha)[:-1])
    return _dirichlet(key_of(key), alpha, (*batch, np.shape(alpha)[-1]), element)


@composite
def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(function("softmax")(_gamma(key, alpha, shape, wide(element), True), -1), element)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return numbers of the chi-square distribution of `df` degrees of freedom: `2 gamma(df / 2)`."""
    element = element_of(dtype, FLOATS, df)
    df = parameter(df, wide(element), "df")
    return _chisquare(key_of(key), df, broadcast_shape(shape, "df", np.shape(df)), element)


@composite
def _chisquare(key: Any, df: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(2.0 * _gamma(key, df * 0.5, shape, wide(element), False), element)


def t(key: Any, df: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return numbers of Student's t distribution of `df` degrees of freedom: `z / sqrt(chisquare(df) / df)`."""
    element = element_of(dtype, FLOATS, df)
    df = parameter(df, wide(element), "df")
    return _t(key_of(key), df, broadcast_shape(shape, "df", np.shape(df)), element)


@composite
def _t(key: Any, df: Any, shape: tuple[int, ...], element: str) -> Any:
    first, second = keys(key, 2)
    z = function("rng_normal")(first, shape, 0.0, 1.0, wide(element))
    log_share = _gamma(second, df * 0.5, shape, wide(element), True) - np.log(df * 0.5)
    return rounded(z * np.exp(-0.5 * log_share), element)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return numbers of the F distribution: a quotient of two chi-square numbers, each by its degrees of freedom."""
    element = element_of(dtype, FLOATS, dfnum, dfden)
    dfnum, dfden = parameter(dfnum, wide(element), "dfnum"), parameter(dfden, wide(element), "dfden")
    shape = broadcast_shape(shape, "dfnum and dfden", np.shape(dfnum), np.shape(dfden))
    return _f(key_of(key), dfnum, dfden, shape, element)


@composite
def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], element: str) -> Any:
    above, below = (
        _gamma(k, df * 0.5, shape, wide(element), True) - np.log(df)
        for k, df in zip(keys(key, 2), (dfnum, dfden), strict=True)
    )
    return rounded(np.exp(above - below), element)


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return numbers of density proportional to `e^-|x|^p`: `gamma(1/p)^(1/p)` with a random sign."""
    element = element_of(dtype, FLOATS, p)
    p = parameter(p, wide(element), "p")
    return _generalized_normal(key_of(key), p, broadcast_shape(shape, "p", np.shape(p)), element)


@composite
def _generalized_normal(key: Any, p: Any, shape: tuple[int, ...], element: str) -> Any:
    first, second = keys(key, 2)
    size = np.exp(_gamma(first, 1.0 / p, shape, wide(element), True) / p)
    return rounded(np.where(words(second, shape) < 0, -size, size), element)


def ball(key: Any, d: int, p: Any = 2.0, shape: Any = (), dtype: object = None) -> Any:
    """
    Return points `[*shape, d]` that are uniformly distributed in the unit ball of the norm `(sum |x_i|^p)^(1/p)`.

    `g / (sum |g_i|^p + e)^(1/p)` for `g` of `generalized_normal` and exponential `e` (Barthe et al., 2005).
    """
    element = element_of(dtype, FLOATS, p)
    (d,) = shape_of(d, "d")
    return _ball(key_of(key), parameter(p, wide(element), "p"), (*shape_of(shape), d), element)


@composite
def _ball(key: Any, p: Any, shape: tuple[int, ...], element: str) -> Any:
    first, second = keys(key, 2)
    g = _generalized_normal(first, p, shape, wide(element))
    total = (abs(g) ** p).sum(-1, keepdims=True) + exponential_numbers(second, (*shape[:-1], 1), wide(element))
    return rounded(g / total ** (1.0 / p), element)


def sphere(key: Any, d: int, shape: Any = (), dtype: object = None) -> Any:
    """Return points `[*shape, d]` that are uniformly distributed on the unit sphere: normal vectors by their length."""
    (d,) = shape_of(d, "d")
    return _sphere(key_of(key), (*shape_of(shape), d), element_of(dtype, FLOATS))


@composite
def _sphere(key: Any, shape: tuple[int, ...], element: str) -> Any:
    z = function("rng_normal")(key, shape, 0.0, 1.0, wide(element))
    return rounded(z / np.sqrt((z * z).sum(-1, keepdims=True)), element)
