"""What is done to gradients and parameters as a whole."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.tree import Tree, flatten, map_leaves


def global_norm(tree: Tree) -> Any:
    """The 2-norm of all leaves together, added up in f32 or wider."""
    # as lines, whose sums are one kernel, whatever the shapes
    squares = [(line := _wide(leaf).ravel()) * line for leaf in flatten(tree)[0]]
    return np.sqrt(sum(square.sum() for square in squares))


def clip_by_global_norm(grads: Tree, most: float) -> Tree:
    """The gradients, scaled down to the norm `most` where theirs is larger (Pascanu et al., 2013); NaN stays NaN."""
    norm = global_norm(grads)
    factor = np.where(norm < most, 1.0, most / np.maximum(norm, most))
    factor = np.where(norm == norm, factor, norm)
    return map_leaves(lambda g: g * factor.astype(g.dtype), grads)


def ema(average: Tree, params: Tree, decay: float) -> Tree:
    """The exponential moving average of parameters: `decay * average + (1 - decay) * params`, leaf by leaf."""
    return map_leaves(lambda a, p: decay * a + (1.0 - decay) * p, average, params)


def _wide(leaf: Any) -> Any:
    return leaf.astype(np.float32) if str(leaf.dtype) in ("f16", "bf16", "float16", "bfloat16") else leaf
