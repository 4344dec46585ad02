"""Initial weights: functions of a key, a shape and an element type, as in `jax.nn.initializers`.

A key is an i64 array `[2]`, made by `rlx.key(seed)` and divided by `rlx.rng_split`; the same key gives the same numbers
on every machine, outside and inside of a traced function. A matrix is `[in, out]`, the weights of a convolution are
`[out, in, ...]` with the spatial axes last. `jax.nn.initializers` reads `[..., in, out]`: its `he_normal()(key,
(3, 3, 1, 8))` is `he_normal(key, (8, 1, 3, 3))` here.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.op_functions import function
from xdsl_rlx.random.arguments import shape_of
from xdsl_rlx.random.arrays import orthogonal as orthogonal_matrices
from xdsl_rlx.random.continuous import truncated_normal as truncated_normal_numbers
from xdsl_rlx.random.keys import key
from xdsl_rlx.tree import Tree, flatten, paths, unflatten

__all__ = [
    "fans",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "key",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "orthogonal",
    "params",
    "truncated_normal",
    "uniform",
]


def normal(key: Any, shape: Sequence[int] | int, scale: float = 1.0, dtype: object = "f32") -> Any:
    """Return normally distributed numbers with mean 0 and standard deviation `scale`."""
    return function("rng_normal")(key, shape_of(shape), 0.0, scale, dtype)


def uniform(key: Any, shape: Sequence[int] | int, most: float = 1.0, dtype: object = "f32") -> Any:
    """Return uniformly distributed numbers in `[-most, most)`."""
    return function("rng_uniform")(key, shape_of(shape), -most, most, dtype)


def truncated_normal(key: Any, shape: Sequence[int] | int, scale: float = 1.0, dtype: object = "f32") -> Any:
    """
    Return numbers of a normal distribution with mean 0 and standard deviation `scale`, truncated at `2 * scale`.

    `scale` is the standard deviation before the truncation. See `rlx.random.truncated_normal`.
    """
    return truncated_normal_numbers(key, -2.0, 2.0, shape_of(shape), dtype) * float(scale)


def glorot_uniform(key: Any, shape: Sequence[int] | int, dtype: object = "f32") -> Any:
    """
    Return uniformly distributed numbers with variance `2 / (in + out)` (Glorot and Bengio, 2010).

    `shape` is `[in, out]` or `[out, in, ...]`; see `fans`.
    """
    return uniform(key, shape, sqrt(6.0 / sum(fans(shape))), dtype)


def glorot_normal(key: Any, shape: Sequence[int] | int, dtype: object = "f32") -> Any:
    """
    Return normally distributed numbers with variance `2 / (in + out)` (Glorot and Bengio, 2010).

    `shape` is `[in, out]` or `[out, in, ...]`; see `fans`.
    """
    return normal(key, shape, sqrt(2.0 / sum(fans(shape))), dtype)


def he_uniform(key: Any, shape: Sequence[int] | int, dtype: object = "f32") -> Any:
    """
    Return uniformly distributed numbers with variance `2 / in`, for layers with ReLU (He et al., 2015).

    `shape` is `[in, out]` or `[out, in, ...]`; see `fans`.
    """
    return uniform(key, shape, sqrt(6.0 / fans(shape)[0]), dtype)


def he_normal(key: Any, shape: Sequence[int] | int, dtype: object = "f32") -> Any:
    """
    Return normally distributed numbers with variance `2 / in`, for layers with ReLU (He et al., 2015).

    `shape` is `[in, out]` or `[out, in, ...]`; see `fans`.
    """
    return normal(key, shape, sqrt(2.0 / fans(shape)[0]), dtype)


def lecun_uniform(key: Any, shape: Sequence[int] | int, dtype: object = "f32") -> Any:
    """
    Return uniformly distributed numbers with variance `1 / in` (LeCun et al., 1998).

    `shape` is `[in, out]` or `[out, in, ...]`; see `fans`.
    """
    return uniform(key, shape, sqrt(3.0 / fans(shape)[0]), dtype)


def lecun_normal(key: Any, shape: Sequence[int] | int, dtype: object = "f32") -> Any:
    """
    Return normally distributed numbers with variance `1 / in` (LeCun et al., 1998).

    `shape` is `[in, out]` or `[out, in, ...]`; see `fans`.
    """
    return normal(key, shape, sqrt(1.0 / fans(shape)[0]), dtype)


def orthogonal(key: Any, shape: Sequence[int] | int, scale: float = 1.0, dtype: object = "f32") -> Any:
    """
    Return a Haar-distributed matrix with orthonormal rows or columns, whichever are fewer, times `scale`.

    See `rlx.random.orthogonal` (Saxe et al., 2014).
    """
    shape = shape_of(shape)
    matrix = orthogonal_matrices(key, shape[0], (), "f64", prod(shape[1:]))
    return function("cast")((float(scale) * matrix).reshape(shape), dtype)


@checked
def params(key: Any, shapes: Tree, draw: Callable[[Any, tuple[int, ...]], Any] = he_normal) -> Tree:
    """
    Return arrays for a tree of shapes, which are tuples of integers; the result has the same structure.

    Shapes of two or more dimensions are initialised by `draw(key, shape)`, each with its own key. Others, such as
    biases, are zeros in f32. An array in the tree, such as a gain of ones, is copied. Raises GraphError for another
    leaf.
    """
    leaves, spec = flatten(shapes, _is_shape)
    drawn = [number for number, leaf in enumerate(leaves) if _is_shape(leaf) and len(leaf) > 1]
    keys = dict(zip(drawn, function("rng_split")(key, len(drawn)) if drawn else (), strict=True))

    def made(number: int, leaf: Any) -> Any:
        if _is_shape(leaf):
            return draw(keys[number], leaf) if number in keys else np.zeros(leaf, np.float32)
        if isinstance(leaf, np.ndarray | np.generic):
            return np.array(leaf)
        raise GraphError(f"shapes{paths(spec)[number]}: expected a tuple of integers or an array, got {shown(leaf)}")

    return unflatten(spec, [made(number, leaf) for number, leaf in enumerate(leaves)])


def _is_shape(leaf: Any) -> bool:
    return type(leaf) is tuple and all(isinstance(size, int) for size in leaf)


def fans(shape: Sequence[int] | int) -> tuple[int, int]:
    """
    Return `(fan_in, fan_out)`: the inputs per output and the outputs per input of a weight of this shape.

    A shape of two axes is `[in, out]`. One of more axes is `[out, in, ...]`, the weights of `rlx.nn.conv`: its fans are
    `in` and `out` times the number of taps. It is read by position, so `[height, width, in, out]` gives other fans
    without an error; transpose the result of `[out, in, height, width]` with `(2, 3, 1, 0)` instead. There is no
    `in_axis` or `out_axis`; for these shapes, `jax.nn.initializers` needs `in_axis=1, out_axis=0`.

    Raises GraphError for a shape of fewer than two dimensions.
    """
    shape = shape_of(shape)
    if len(shape) < 2:
        raise GraphError(
            f"expected a weight of two or more dimensions, got shape {list(shape)}; use init.normal or init.uniform"
        )
    if len(shape) == 2:
        return max(1, shape[0]), max(1, shape[1])
    window = prod(shape[2:])
    return max(1, shape[1] * window), max(1, shape[0] * window)
