"""Draws that are arrays or parts of them: permutations, choices, vectors of correlated numbers, orthogonal matrices."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.op_functions import function
from xdsl_rlx.random.arguments import broadcast_shape, element_of, key_of, parameter, shape_of
from xdsl_rlx.random.discrete import ids_at, randint
from xdsl_rlx.random.keys import gumbel_numbers

__all__ = ["choice", "multivariate_normal", "orthogonal", "permutation"]

METHODS = ("cholesky", "eigh", "svd")


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """
    Return `x` with the slices along `axis` in random order, or for an integer the numbers below it, i64.

    With `independent`, each vector along the axis has an order of its own. A Fisher-Yates shuffle:
    `mir.rng_permutation`.
    """
    x = _read(x)
    if not np.ndim(x):
        return _numbers(key_of(key), _count_of(x, "x"))
    return _permutation(key_of(key), x, _axis_of(axis, x, "x"), bool(independent))


def _read(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, list | tuple) else x


def _count_of(x: Any, name: str) -> int:
    try:
        found = index(x)
    except TypeError:
        raise GraphError(f"{name}: expected an integer or an array, got {shown(x)}") from None
    if found < 0:
        raise GraphError(f"{name}: expected an integer of at least 0, got {found}")
    return found


def _axis_of(axis: int, x: Any, name: str) -> int:
    rank = np.ndim(x)
    if not -rank <= axis < rank:
        raise GraphError(f"axis: expected one of the {rank} axes of {name}, got {axis}")
    return axis % rank


@composite
def _numbers(key: Any, count: int) -> Any:
    return function("rng_permutation")(key, (count,))


@composite
def _permutation(key: Any, x: Any, axis: int, independent: bool) -> Any:
    if not independent or len(x.shape) == 1:
        return function("gather")(x, _numbers(key, x.shape[axis]), axis)
    rows = np.moveaxis(x, axis, -1)
    order = function("rng_permutation")(key, rows.shape)
    return np.moveaxis(np.take_along_axis(rows, order, -1), -1, axis)


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """
    Return slices of `a` along `axis`, or numbers below the integer `a`, chosen at random with probabilities `p`.

    The axis is replaced by the axes of `shape`. Probabilities need not add up to 1. Without `replace` no slice is
    chosen twice: the first ones of a permutation, or with `p` a top-k of `ln p` plus Gumbel numbers.
    """
    shape = shape_of(shape)
    a = _read(a)
    is_count = not np.ndim(a)
    axis = 0 if is_count else _axis_of(axis, a, "a")
    count, draws = _count_of(a, "a") if is_count else np.shape(a)[axis], prod(shape)
    if draws and not count:
        raise GraphError("a: expected something to choose from, got nothing")
    if not replace and draws > count:
        raise GraphError(f"shape: expected at most {count} draws for replace=False, got {draws}")
    if p is not None:
        p = parameter(p, "f64", "p")
        if np.shape(p) != (count,):
            raise GraphError(f"p: expected the shape {[count]}, a probability for each choice, got {list(np.shape(p))}")
    ids = _chosen(key_of(key), p, count, shape, bool(replace))
    return ids if is_count else _taken(a, ids, axis)


@composite
def _chosen(key: Any, p: Any, count: int, shape: tuple[int, ...], replace: bool) -> Any:
    draws = prod(shape)
    if p is None:
        return randint(key, shape, 0, count) if replace else np.reshape(_numbers(key, count)[:draws], shape)
    if replace:
        return ids_at(p, function("rng_uniform")(key, shape, 0.0, 1.0, "f64"))
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    ids = function("topk")(logits + gumbel_numbers(key, (count,), "f64"), draws)
    return np.reshape(ids, shape)


@composite
def _taken(a: Any, ids: Any, axis: int) -> Any:
    return function("gather")(a, ids, axis)


def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: object = None, method: str = "cholesky"
) -> Any:
    """
    Return vectors `mean + F z`, `[*shape, n]`, for normal `z` and a factor with `F F^T = cov`.

    `mean` is `[.., n]` and `cov` `[.., n, n]`; `shape` is that of their batch axes if it is None. `method` says which
    factor: "cholesky", or "eigh" or "svd", which also take a singular matrix. Differentiable by both parameters.
    """
    element = element_of(dtype, ("f32", "f64"), mean, cov)
    mean, cov = parameter(mean, element, "mean"), parameter(cov, element, "cov")
    n = np.shape(mean)[-1:]
    if not n:
        raise GraphError("mean: expected an array with at least one axis, got a number")
    if np.ndim(cov) < 2 or np.shape(cov)[-2:] != (*n, *n):
        raise GraphError(f"cov: expected a shape that ends with {[*n, *n]}, got {list(np.shape(cov))}")
    if method not in METHODS:
        raise GraphError(f"method: expected one of {', '.join(METHODS)}, got {shown(method)}")
    what = "the batch axes of mean and cov"
    batch = broadcast_shape(shape, what, np.shape(mean)[:-1], np.shape(cov)[:-2])
    return _multivariate_normal(key_of(key), mean, cov, batch, element, method)


@composite
def _multivariate_normal(key: Any, mean: Any, cov: Any, batch: tuple[int, ...], element: str, method: str) -> Any:
    z = function("rng_normal")(key, (*batch, mean.shape[-1]), 0.0, 1.0, element)
    if method == "cholesky":
        factor = np.linalg.cholesky(cov)
    elif method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    else:
        u, values, _ = function("svd")(cov)
        factor = u * np.sqrt(values)[..., None, :]
    # one product of matrices where all vectors share the factor
    moved = z @ np.swapaxes(factor, -1, -2) if len(cov.shape) == 2 else np.matvec(factor, z)
    return mean + moved


def orthogonal(key: Any, n: int, shape: Any = (), dtype: object = None, m: int | None = None) -> Any:
    """
    Return matrices `[*shape, n, m]` with orthonormal rows or columns, whichever are fewer; `m` is `n` if it is None.

    Uniformly distributed (Haar): the `q` of a QR decomposition of normal numbers whose `r` has a diagonal of at least 0
    (Mezzadri, 2007). f32 or f64.
    """
    element = element_of(dtype, ("f32", "f64"))
    (rows,), (columns,) = shape_of(n, "n"), shape_of(n if m is None else m, "m")
    return _orthogonal(key_of(key), rows, columns, shape_of(shape), element)


@composite
def _orthogonal(key: Any, rows: int, columns: int, shape: tuple[int, ...], element: str) -> Any:
    z = function("rng_normal")(key, (*shape, max(rows, columns), min(rows, columns)), 0.0, 1.0, element)
    q, _ = function("qr")(z)
    return q if rows >= columns else np.swapaxes(q, -1, -2)
