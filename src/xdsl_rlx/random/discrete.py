"""Distributions of integers and of truth values, with the names and parameters of `jax.random`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.op_functions import function
from xdsl_rlx.random.arguments import (
    FLOATS,
    INTEGERS,
    broadcast_shape,
    element_of,
    key_of,
    parameter,
    shape_of,
    wide,
)
from xdsl_rlx.random.keys import exponential_numbers, gumbel_numbers, rounded, unsigned, words

__all__ = ["bernoulli", "binomial", "categorical", "geometric", "poisson", "rademacher", "randint"]

_LOW = 0xFFFFFFFF
_SIGN = -(2**63)


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: object = None) -> Any:
    """
    Return integers of `[minval, maxval)`; `minval` where that is empty. The bounds broadcast to `shape`.

    `minval + floor(r (maxval - minval) / 2^128)` for 128 random bits `r`, or 64 if the bounds are numbers that differ
    by at most `2^32`: no integer is more probable than another by more than a factor of `1 + 2^-32`.
    """
    shape, element = shape_of(shape), element_of(dtype, INTEGERS)
    is_short = element != "i64" or _is_short(minval, maxval)
    limits = np.iinfo(np.dtype({"u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8"}[element]))
    for bound, name in ((minval, "minval"), (maxval, "maxval")):
        if isinstance(bound, int) and not limits.min <= bound <= limits.max + (name == "maxval" and is_short):
            raise GraphError(f"{name}: expected an integer that {element} holds, got {bound}")
        if isinstance(bound, float):
            raise GraphError(f"{name}: expected an integer, got {shown(bound)}")
    low, high = parameter(minval, "i64", "minval"), parameter(maxval, "i64", "maxval")
    broadcast_shape(shape, "minval and maxval", np.shape(low), np.shape(high))
    return _randint(key_of(key), low, high, shape, element, is_short)


def _is_short(minval: Any, maxval: Any) -> bool:
    """Whether bounds are known to differ by at most 2^32."""
    known = [x for x in (minval, maxval) if isinstance(x, int | np.integer)]
    return len(known) == 2 and known[1] - known[0] <= 2**32


@composite
def _randint(key: Any, low: Any, high: Any, shape: tuple[int, ...], element: str, is_short: bool) -> Any:
    span = high - low
    drawn = unsigned(words(key, (2 if is_short else 4, *shape)))
    if is_short:
        # at most 2^32, so each product is below 2^64 and its bits are right
        above = function("shift_right_logical")
        number = above(drawn[0] * span + above(drawn[1] * span, 32), 32)
    else:
        number = _share(drawn, span)
    return function("cast")(low + np.where(high > low, number, 0), element)


def _share(drawn: Any, span: Any) -> Any:
    """`floor(r span / 2^128)` of four words, the highest first, and a span of 64 bits."""
    above = function("shift_right_logical")
    high = (drawn[0] << 32) | drawn[1]
    carried = high * span
    total = carried + _high_half(drawn[2], drawn[3], span)
    # whether the sum has passed 2^64: a comparison as of unsigned numbers
    carry = function("cast")((total ^ _SIGN) < (carried ^ _SIGN), "i64")
    return _high_half(above(high, 32), high & _LOW, span) + carry


def _high_half(high: Any, low: Any, span: Any) -> Any:
    """The upper 64 bits of the product of a number of two words and one of 64 bits."""
    above = function("shift_right_logical")
    s1, s0 = above(span, 32), span & _LOW
    middle = high * s0 + above(low * s0, 32)
    other = low * s1 + (middle & _LOW)
    return high * s1 + above(middle, 32) + above(other, 32)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """
    Return truth values that are true with probability `p`, of the shape of `p` if `shape` is None.

    Never true for 0 and always for 1; probabilities in between are resolved to 2^-32, in f64 to 2^-53.
    """
    element = element_of(None, FLOATS, p)
    # a Python number is compared in f64 all the same
    p = parameter(p, "f64", "p")
    return _bernoulli(key_of(key), p, broadcast_shape(shape, "p", np.shape(p)), element == "f64")


@composite
def _bernoulli(key: Any, p: Any, shape: tuple[int, ...], fine: bool) -> Any:
    if fine:
        return function("rng_uniform")(key, shape, 0.0, 1.0, "f64") < p
    return (rounded(words(key, shape), "f64") + (2.0**31 + 0.5)) * 2.0**-32 < p


def rademacher(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return -1 or 1, each with probability 1/2; i64 unless `dtype` says otherwise."""
    element = element_of("i64" if dtype is None else dtype, ("i32", "i64", *FLOATS))
    return _rademacher(key_of(key), shape_of(shape), element)


@composite
def _rademacher(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return function("cast")(np.where(words(key, shape) < 0, -1, 1), element)


def geometric(key: Any, p: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return the number of trials up to the first success, at least 1, for trials of probability `p`.

    `1 + floor(ln u / ln(1 - p))`, in f64; the largest integer for a `p` of 0.
    """
    element = element_of("i64" if dtype is None else dtype, INTEGERS)
    p = parameter(p, "f64", "p")
    return _geometric(key_of(key), p, broadcast_shape(shape, "p", np.shape(p)), element)


@composite
def _geometric(key: Any, p: Any, shape: tuple[int, ...], element: str) -> Any:
    with np.errstate(divide="ignore"):
        rate = -np.log1p(-p)
    failures = np.floor(exponential_numbers(key, shape, "f64") / rate)
    return function("cast")(failures + 1.0, element)


def poisson(key: Any, lam: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return numbers of events whose mean is `lam`, i64 unless `dtype` says otherwise; -1 where `lam` is NaN or negative.

    By summing up probabilities below 10, else by transformed rejection; see `mir.rng_poisson`.
    """
    element = element_of("i64" if dtype is None else dtype, ("i32", "i64", *FLOATS))
    lam = parameter(lam, "f64", "lam")
    return _poisson(key_of(key), lam, broadcast_shape(shape, "lam", np.shape(lam)), element)


@composite
def _poisson(key: Any, lam: Any, shape: tuple[int, ...], element: str) -> Any:
    return function("cast")(function("rng_poisson")(key, np.broadcast_to(lam, shape)), element)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: object = None) -> Any:
    """
    Return the numbers of successes in `n` trials of probability `p`, as floats; NaN for an `n` or `p` without meaning.

    By summing up probabilities if a mean is below 10, else by transformed rejection; see `mir.rng_binomial`.
    """
    element = element_of(dtype, FLOATS, n, p)
    n, p = parameter(n, "f64", "n"), parameter(p, "f64", "p")
    return _binomial(key_of(key), n, p, broadcast_shape(shape, "n and p", np.shape(n), np.shape(p)), element)


@composite
def _binomial(key: Any, n: Any, p: Any, shape: tuple[int, ...], element: str) -> Any:
    given = (np.broadcast_to(x, shape) for x in (n, p))
    return rounded(function("rng_binomial")(key, *given), element)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True) -> Any:
    """
    Return indices along `axis`, i64, each with a probability that is the softmax of `logits` along it.

    `shape` ends with the shape of `logits` without `axis`, and is that if it is None. With `replace` false the indices
    of the axes in front of it differ from each other; there are as many as these axes have elements at most.

    An index is the first one whose cumulative probability, in f64, exceeds a number of 53 bits (inverse of the
    distribution function), and each of several draws of a row is a binary search. Without replacement it is a top-k
    of `logits` plus Gumbel numbers (Kool et al., 2019). A logit of -infinity is never drawn while others are left.
    """
    element = element_of(None, FLOATS, logits)
    logits = parameter(logits, element, "logits")
    rank = np.ndim(logits)
    if not -rank <= axis < rank:
        raise GraphError(f"axis: expected one of the {rank} axes of logits, got {axis}")
    axis %= rank
    batch = (*np.shape(logits)[:axis], *np.shape(logits)[axis + 1 :])
    if not np.shape(logits)[axis]:
        raise GraphError("logits: expected at least one category, got none")
    shape = broadcast_shape(shape, "logits without the axis", batch)
    prefix = shape[: len(shape) - len(batch)]
    if not replace:
        if shape[len(prefix) :] != batch:
            raise GraphError(f"shape: expected one that ends with {list(batch)} for replace=False, got {list(shape)}")
        if prod(prefix) > np.shape(logits)[axis]:
            raise GraphError(
                f"shape: expected at most as many draws as there are categories for replace=False, got {prod(prefix)} "
                f"of {np.shape(logits)[axis]}"
            )
    return _categorical(key_of(key), logits, axis, shape, bool(replace), wide(element))


@composite
def _categorical(key: Any, logits: Any, axis: int, shape: tuple[int, ...], replace: bool, element: str) -> Any:
    logits = np.moveaxis(logits, axis, -1)
    count, batch = logits.shape[-1], logits.shape[:-1]
    prefix = shape[: len(shape) - len(batch)]
    many = prod(prefix)
    if not replace:
        ids = function("topk")(logits + gumbel_numbers(key, logits.shape, element), many)
        return np.reshape(np.moveaxis(ids, -1, 0), shape)
    logits = np.broadcast_to(logits, (*shape[len(prefix) :], count))
    u = function("rng_uniform")(key, (many, *logits.shape[:-1]), 0.0, 1.0, "f64")
    if many == 1:
        return np.reshape(function("draw")(logits, u[0]), shape)
    most = np.max(logits, -1, keepdims=True)
    weights = np.where(logits == most, 1.0, np.exp(rounded(logits - most, "f64")))
    return np.reshape(np.moveaxis(ids_at(weights, np.moveaxis(u, 0, -1)), -1, 0), shape)


def ids_at(weights: Any, u: Any) -> Any:
    """The first positions of rows of f64 weights whose cumulative share exceeds numbers `u` of [0, 1)."""
    total = np.cumsum(weights, -1)
    return function("bisect")(total, u * total[..., -1:])
