"""Distributions of real numbers, with the names and parameters of `jax.random`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from math import isfinite, pi
from typing import Any

import numpy as np

from xdsl_rlx.builder import Value
from xdsl_rlx.composite import composite
from xdsl_rlx.op_functions import function
from xdsl_rlx.random.arguments import FLOATS, broadcast_shape, element_of, key_of, parameter, shape_of, wide
from xdsl_rlx.random.keys import (
    below_one,
    exponential_numbers,
    gumbel_numbers,
    keys,
    open_uniform,
    rounded,
    signed_uniform,
)
from xdsl_rlx.random.normal_quantile import DEEP, truncated_quantile, truncated_slopes

__all__ = [
    "cauchy",
    "double_sided_maxwell",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "rayleigh",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
]


def uniform(key: Any, shape: Any = (), dtype: object = None, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """
    Return uniform numbers of `[minval, maxval)`, never `maxval`, in any element type.

    The bounds broadcast to `shape`, and the numbers are differentiable by them. Where `minval` is not below `maxval`
    the result is `minval`. See `mir.rng_uniform`.
    """
    shape, element = shape_of(shape), element_of(dtype, FLOATS, minval, maxval)
    if _is_number(minval) and _is_number(maxval) and (float(minval), float(maxval)) == (0.0, 1.0):
        return _unit(key_of(key), shape, element)
    low, high = parameter(minval, wide(element), "minval"), parameter(maxval, wide(element), "maxval")
    broadcast_shape(shape, "minval and maxval", np.shape(low), np.shape(high))
    return _uniform(key_of(key), low, high, shape, element)


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and isfinite(x)


@composite
def _unit(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return function("rng_uniform")(key, shape, 0.0, 1.0, element)


@composite
def _uniform(key: Any, low: Any, high: Any, shape: tuple[int, ...], element: str) -> Any:
    u = function("rng_uniform")(key, shape, 0.0, 1.0, wide(element))
    drawn = rounded(low + u * (high - low), element)
    # a number that was rounded up to the upper bound
    least = rounded(np.broadcast_to(low, shape), element)
    return np.where(drawn < rounded(high, element), drawn, least)


def normal(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return normally distributed numbers of mean 0 and variance 1; see `mir.rng_normal`."""
    return _normal(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _normal(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return function("rng_normal")(key, shape, 0.0, 1.0, element)


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: object = None) -> Any:
    """Return `e^(sigma z)` for normal `z`, of the shape of `sigma` if `shape` is None."""
    element = element_of(dtype, FLOATS, sigma)
    sigma = parameter(sigma, wide(element), "sigma")
    return _lognormal(key_of(key), sigma, broadcast_shape(shape, "sigma", np.shape(sigma)), element)


@composite
def _lognormal(key: Any, sigma: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(np.exp(sigma * _normal(key, shape, wide(element))), element)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return normally distributed numbers of mean 0 and variance 1 under the condition that they are in `[lower, upper]`.

    The bounds may be infinite; `shape` is theirs if it is None. By the inverse of the distribution function (Wichura,
    1988), on the side of the smaller mass, and beyond 10 standard deviations by the logarithm of the mass, so that no
    interval is too far out. Derivatives by the bounds are those at fixed probability:
    `dx/dlower = (1 - w) density(lower) / density(x)` and `dx/dupper = w density(upper) / density(x)`, where `w` is the
    share of the mass below `x`.
    """
    element = element_of(dtype, FLOATS, lower, upper)
    low, high = parameter(lower, wide(element), "lower"), parameter(upper, wide(element), "upper")
    shape = broadcast_shape(shape, "lower and upper", np.shape(low), np.shape(high))
    deep = isinstance(low, Value) or isinstance(high, Value) or bool(np.any(low > DEEP) or np.any(high < -DEEP))
    return _truncated_normal(key_of(key), low, high, shape, element, deep)


@composite
def _truncated_normal(key: Any, low: Any, high: Any, shape: tuple[int, ...], element: str, deep: bool) -> Any:
    like = wide(element)
    w = below_one(open_uniform(key, shape, like), like)

    def vjp(low: Any, high: Any, x: Any, g: Any) -> Any:
        by_low, by_high = truncated_slopes(low, high, x, w)
        return g * by_low, g * by_high

    def jvp(low: Any, high: Any, to_low: Any, to_high: Any) -> Any:
        by_low, by_high = truncated_slopes(low, high, draw(low, high), w)
        return to_low * by_low + to_high * by_high

    def draw(low: Any, high: Any) -> Any:
        return truncated_quantile(low, high, w, deep)

    bounds = (np.broadcast_to(bound, shape) for bound in (low, high))
    return rounded(function("custom_fn")(draw, *bounds, vjp=vjp, jvp=jvp), element)


def exponential(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return `-ln u`, of density `e^-x`, at least 0."""
    return _exponential(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _exponential(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(exponential_numbers(key, shape, wide(element)), element)


def gumbel(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """
    Return `-ln(-ln u)`, of distribution function `e^-(e^-x)`.

    Resolved best at large numbers, which decide on the largest of several; as with JAX's `mode="high"`.
    """
    return _gumbel(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _gumbel(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(gumbel_numbers(key, shape, wide(element)), element)


def laplace(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return numbers of density `e^-|x| / 2`: an exponential number with a random sign."""
    return _laplace(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _laplace(key: Any, shape: tuple[int, ...], element: str) -> Any:
    s = signed_uniform(key, shape, wide(element))
    return rounded(-np.log(abs(s)) * np.sign(s), element)


def logistic(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return `ln(u / (1 - u))`, of distribution function `1 / (1 + e^-x)`."""
    return _logistic(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _logistic(key: Any, shape: tuple[int, ...], element: str) -> Any:
    s = signed_uniform(key, shape, wide(element))
    return rounded(np.log((2.0 - abs(s)) / abs(s)) * np.sign(s), element)


def cauchy(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return `tan(pi (u - 1/2))`, of density `1 / (pi (1 + x^2))`."""
    return _cauchy(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _cauchy(key: Any, shape: tuple[int, ...], element: str) -> Any:
    # 1 / tan, whose argument resolves large numbers
    return rounded(1.0 / np.tan(signed_uniform(key, shape, wide(element)) * (pi / 2)), element)


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return `scale sqrt(-2 ln u)`, of density `x / scale^2 e^(-x^2 / (2 scale^2))`."""
    element = element_of(dtype, FLOATS, scale)
    scale = parameter(scale, wide(element), "scale")
    return _rayleigh(key_of(key), scale, broadcast_shape(shape, "scale", np.shape(scale)), element)


@composite
def _rayleigh(key: Any, scale: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(scale * np.sqrt(2.0 * exponential_numbers(key, shape, wide(element))), element)


def pareto(key: Any, b: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return `u^(-1/b)`, at least 1, of density `b x^(-b - 1)`."""
    element = element_of(dtype, FLOATS, b)
    b = parameter(b, wide(element), "b")
    return _pareto(key_of(key), b, broadcast_shape(shape, "b", np.shape(b)), element)


@composite
def _pareto(key: Any, b: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(np.exp(exponential_numbers(key, shape, wide(element)) / b), element)


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return `scale (-ln u)^(1 / concentration)`; the parameters broadcast to `shape`."""
    element = element_of(dtype, FLOATS, scale, concentration)
    scale = parameter(scale, wide(element), "scale")
    concentration = parameter(concentration, wide(element), "concentration")
    shape = broadcast_shape(shape, "scale and concentration", np.shape(scale), np.shape(concentration))
    return _weibull_min(key_of(key), scale, concentration, shape, element)


@composite
def _weibull_min(key: Any, scale: Any, concentration: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(scale * exponential_numbers(key, shape, wide(element)) ** (1.0 / concentration), element)


def maxwell(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return the length of a vector of three independent normal numbers."""
    return _maxwell(key_of(key), shape_of(shape), element_of(dtype, FLOATS))


@composite
def _maxwell(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return rounded(np.sqrt((_normal(key, (3, *shape), wide(element)) ** 2).sum(0)), element)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return `loc + scale * maxwell` with a random sign: `shape` is followed by the shape of `loc` and `scale`."""
    element = element_of(dtype, FLOATS, loc, scale)
    loc, scale = parameter(loc, wide(element), "loc"), parameter(scale, wide(element), "scale")
    parameters = broadcast_shape(None, "loc and scale", np.shape(loc), np.shape(scale))
    return _double_sided_maxwell(key_of(key), loc, scale, (*shape_of(shape), *parameters), element)


@composite
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: tuple[int, ...], element: str) -> Any:
    # the direction of a vector does not depend on its length
    numbers = _normal(key, (3, *shape), wide(element))
    size = np.sqrt((numbers**2).sum(0))
    return rounded(loc + scale * np.where(numbers[0] < 0, -size, size), element)


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: object = None) -> Any:
    """Return numbers of `[left, right]` whose density rises linearly up to `mode` and falls linearly from there."""
    element = element_of(dtype, FLOATS, left, mode, right)
    left, right = parameter(left, wide(element), "left"), parameter(right, wide(element), "right")
    mode = parameter(mode, wide(element), "mode")
    shape = broadcast_shape(shape, "left, mode and right", np.shape(left), np.shape(mode), np.shape(right))
    return _triangular(key_of(key), left, mode, right, shape, element)


@composite
def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: tuple[int, ...], element: str) -> Any:
    u = open_uniform(key, shape, wide(element))
    share = (mode - left) / (right - left)
    rising = left + np.sqrt(u * (right - left) * (mode - left))
    falling = right - np.sqrt((1.0 - u) * (right - left) * (right - mode))
    return rounded(np.where(u < share, rising, falling), element)


def wald(key: Any, mean: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return numbers of the Wald (inverse Gaussian) distribution of a mean, with scale 1.

    The smaller root of `z^2 = (x - mean)^2 / (mean^2 x)`, or `mean^2` divided by it (Michael et al., 1976).
    """
    element = element_of(dtype, FLOATS, mean)
    mean = parameter(mean, wide(element), "mean")
    return _wald(key_of(key), mean, broadcast_shape(shape, "mean", np.shape(mean)), element)


@composite
def _wald(key: Any, mean: Any, shape: tuple[int, ...], element: str) -> Any:
    first, second = keys(key, 2)
    y = mean * _normal(first, shape, wide(element)) ** 2
    # mean (1 + y/2 - sqrt(y + y^2/4)), without cancellation
    x = mean / (1.0 + 0.5 * y + np.sqrt(y + 0.25 * y * y))
    u = function("rng_uniform")(second, shape, 0.0, 1.0, wide(element))
    return rounded(np.where(u * (mean + x) <= mean, x, mean * mean / x), element)
