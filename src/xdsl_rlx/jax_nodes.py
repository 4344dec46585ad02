"""Containers that are registered with JAX, if JAX is in use: their children are those that JAX knows."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

_leaves: set[type[Any]] = set()
"""Classes whose instances are leaves for JAX: it is asked once, since most leaves are arrays of few classes."""


def is_node_of_jax(value: object) -> bool:
    """Whether an object is of a class that is registered with `jax.tree_util`."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "tree_util") or type(value) in _leaves:
        return False
    if jax.tree_util.all_leaves([value]):
        _leaves.add(type(value))
        return False
    return True


def children_in_jax(value: Any) -> tuple[tuple[Any, ...], Any, tuple[str, ...]]:
    """The children of such an object, the structure around these, which compares by its data, and names."""
    tree_util: Any = sys.modules["jax"].tree_util
    found, spec = tree_util.tree_flatten_with_path(value, is_leaf=lambda one: one is not value)
    names = [tree_util.keystr(path).strip("[].'\"") for path, _ in found]
    return tuple(child for _, child in found), spec, tuple(names)


def parts_in_jax(value: Any) -> tuple[Sequence[Any], Any]:
    """The children of such an object, and its data beside these: as `children_in_jax`, in a tenth of the time."""
    return sys.modules["jax"].tree_util.default_registry.flatten_one_level(value)
