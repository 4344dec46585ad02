"""Keys, and numbers made of the random bits of a key.

The generator is Philox 4x32-10 (Salmon et al., 2011), a function of key and position. `words` are its bits, and the
fractions below are evenly spaced by 2^-32 (f32) or 2^-64 (f64) near 0, where logarithms tell small ones apart.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.op_functions import function
from xdsl_rlx.random.arguments import element_of, key_of, parameter, shape_of

__all__ = ["bits", "fold_in", "key", "split"]

FOLD_OFFSET = 2**62
"""The block of a key that `fold_in` reads: no draw gets that far."""


@checked
def key(seed: int, stream: int = 0) -> np.ndarray[Any, Any]:
    """Return the random key of a seed: an i64 array `[2]`."""
    return np.array([seed, stream], np.int64)


def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """
    Return `num` new keys, `[num, 2]`, or `[*num, 2]` for a tuple, that are independent of each other; see `rng_split`.

    Do not use `key` for anything else afterwards, but for `fold_in`.
    """
    return _split(key_of(key), shape_of(num, "num"))


@composite
def _split(key: Any, shape: tuple[int, ...]) -> Any:
    return np.reshape(function("rng_split")(key, prod(shape)), (*shape, 2))


def fold_in(key: Any, data: Any) -> Any:
    """
    Return a new key for each integer `data`, such as the number of a step; the key itself can still be split.

    The key is hashed, its hash combined with the 64 bits of `data` by exclusive or, and hashed again.
    """
    if isinstance(data, float) or np.ndim(data):
        raise GraphError(f"data: expected one integer, got {shown(data)}")
    return _fold_in(key_of(key), parameter(data, "i64", "data"))


@composite
def _fold_in(key: Any, data: Any) -> Any:
    hashed = _as_key(function("rng_bits")(key, (2,), FOLD_OFFSET))
    mixed = hashed ^ np.stack([np.zeros_like(data), data])
    return function("cast")(_as_key(function("rng_bits")(mixed, (2,), FOLD_OFFSET)), key.dtype)


def _as_key(words: Any) -> Any:
    return unsigned(words)


def bits(key: Any, shape: Any = (), dtype: object = None) -> Any:
    """Return random integers of all values of an unsigned element type: u32, the default, or u8."""
    return _bits(key_of(key), shape_of(shape), element_of("u32" if dtype is None else dtype, ("u8", "u32")))


@composite
def _bits(key: Any, shape: tuple[int, ...], element: str) -> Any:
    return function("cast")(function("rng_bits")(key, shape), element)


def words(key: Any, shape: tuple[int, ...]) -> Any:
    """Random words as i32."""
    return function("rng_bits")(key, shape)


def unsigned(words: Any) -> Any:
    """Words as i64 from 0 to 2^32 - 1."""
    return function("cast")(function("cast")(words, "u32"), "i64")


def keys(key: Any, count: int) -> list[Any]:
    """Several keys for one function."""
    many = function("rng_split")(key, count)
    return [many[i] for i in range(count)]


def open_uniform(key: Any, shape: tuple[int, ...], element: str) -> Any:
    """Uniform numbers of (0, 1], f32 of a word or f64 of two."""
    cast = function("cast")
    if element == "f32":
        return (cast(cast(words(key, shape), "u32"), "f32") + 0.5) * 2.0**-32
    high, low = cast(cast(words(key, (2, *shape)), "u32"), "f64")
    return (high * 2.0**32 + low + 0.5) * 2.0**-64


def signed_uniform(key: Any, shape: tuple[int, ...], element: str) -> Any:
    """Uniform numbers of [-1, 1] without 0, f32 of a word or f64 of two."""
    cast = function("cast")
    if element == "f32":
        return (cast(words(key, shape), "f32") + 0.5) * 2.0**-31
    drawn = words(key, (2, *shape))
    return (cast(drawn[0], "f64") * 2.0**32 + cast(cast(drawn[1], "u32"), "f64") + 0.5) * 2.0**-63


def below_one(u: Any, element: str) -> Any:
    """Numbers of (0, 1], the 1 replaced by the number below it."""
    return np.minimum(u, 1.0 - 2.0 ** (-24 if element == "f32" else -53))


def exponential_numbers(key: Any, shape: tuple[int, ...], element: str) -> Any:
    """`-ln u` in f32 or f64, resolved best where it is large; no -0."""
    return 0.0 - np.log(open_uniform(key, shape, element))


def gumbel_numbers(key: Any, shape: tuple[int, ...], element: str) -> Any:
    """`-ln(-ln(1 - u))` in f32 or f64, resolved best where it is large."""
    return -np.log(-np.log1p(-below_one(open_uniform(key, shape, element), element)))


def rounded(x: Any, element: str) -> Any:
    """Numbers in the element type of a result."""
    return function("cast")(x, element)
