"""What is done to gradients and parameters as a whole."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.distributed import all_reduce
from xdsl_rlx.distributed.shards import is_shards
from xdsl_rlx.optim.ranges import check_number
from xdsl_rlx.tree import Tree, flatten, leaves_like, paths
from xdsl_rlx.tree import map as map_leaves


def global_norm(tree: Tree) -> Any:
    """Return the 2-norm of all leaves together, accumulated in f32 or wider."""
    nodes = flatten(tree, is_shards)[0]
    total = _square([one for one in nodes if not is_shards(one)])
    if shards := [one for one in nodes if is_shards(one)]:
        # other processes have the rest
        total = total + all_reduce(_square(shards), "sum")
    return np.sqrt(total)


def _square(tree: Tree) -> Any:
    # as lines, whose sums are one kernel, whatever the shapes
    squares = [(line := wide(leaf).ravel()) * line for leaf in flatten(tree)[0]]
    return sum(square.sum() for square in squares)


def clip_by_global_norm(grads: Tree, most: float) -> Tree:
    """
    Return the gradients, scaled down to the norm `most` if theirs is larger (Pascanu et al., 2013); NaN stays NaN.

    GraphError if `most` is not above 0.
    """
    check_number("clip_by_global_norm: most", "clip_norm", most)
    norm = global_norm(grads)
    factor = np.where(norm < most, 1.0, most / np.maximum(norm, most))
    factor = np.where(norm == norm, factor, norm)
    # a small factor is zero in f16
    return map_leaves(lambda g: narrow((w := wide(g)) * factor.astype(w.dtype), g.dtype), grads)


def ema(average: Tree, params: Tree, decay: float) -> Tree:
    """Return the exponential moving average of parameters, leaf by leaf: `decay * average + (1 - decay) * params`."""
    check_number("ema: decay", "decay", decay)
    check_shapes("ema", "average", average, "params", params)
    return map_leaves(lambda a, p: narrow(decay * wide(a) + (1.0 - decay) * wide(p), a.dtype), average, params)


def wide(leaf: Any) -> Any:
    """A leaf in the type that it is computed in: half precision is for storage."""
    leaf = as_array(leaf)
    return leaf.astype(np.float32) if str(leaf.dtype) in ("f16", "bf16", "float16", "bfloat16") else leaf


def as_array(leaf: Any) -> Any:
    """A leaf with an element type: numbers of Python's become arrays, values of a graph stay."""
    return leaf if hasattr(leaf, "dtype") else np.asarray(leaf)


def narrow(leaf: Any, dtype: Any) -> Any:
    """A leaf in the type that it is stored in."""
    return leaf if str(leaf.dtype) == str(dtype) else leaf.astype(dtype)


def check_shapes(function: str, first: str, tree: Tree, second: str, other: Tree) -> None:
    """GraphError for leaves of other shapes than those that `tree` has in their place; NumPy would broadcast them."""
    leaves, spec = flatten(tree)
    for place, one, two in zip(
        paths(spec), leaves, leaves_like(spec, other, f"{function}: {second}", first), strict=True
    ):
        if np.shape(one) != np.shape(two):
            raise GraphError(
                f"{function}: {second}{place}: expected shape {list(np.shape(one))}, as {first}{place}, "
                f"got {list(np.shape(two))}; reshape it, or sum over its extra axes"
            )
