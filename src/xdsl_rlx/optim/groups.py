"""Groups of parameters with an optimiser each."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.optim.gradients import as_array, check_shapes, clip_by_global_norm
from xdsl_rlx.optim.optimisers import Leaf, Optimiser, Slots, State, check_optimiser, named
from xdsl_rlx.tree import Tree, flatten, leaves_like, paths, unflatten
from xdsl_rlx.tree import map as map_leaves

Labels: TypeAlias = Tree | Callable[[str, Any], str]
"""The group of each leaf: a tree of labels like the parameters, or a function of the path and the leaf."""


@named
@dataclass(frozen=True)
class Groups(Optimiser):
    """
    Groups of parameters with an optimiser, and so a learning rate, each: `optax.multi_transform`.

    `labels` gives the label of each leaf, which is a key of `optimisers`. `clip_norm` bounds the norm of all gradients
    together, before the bounds of the optimisers. In the trees that an optimiser sees, the leaves of other groups are
    None. The state holds a step count and, in `groups`, the state of each optimiser.
    """

    optimisers: Mapping[str, Optimiser]
    labels: Labels
    clip_norm: float | None = None

    learning_rate = None

    def __post_init__(self) -> None:
        if not isinstance(self.optimisers, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"Groups: optimisers: expected a dict by label, got {shown(self.optimisers)}")
        for label, one in self.optimisers.items():
            check_optimiser(f"Groups: optimisers[{label!r}]", one)

    def init(self, params: Tree) -> State:
        labels = self._labels(params)
        groups = {label: one.init(_only(params, labels, label)) for label, one in self.optimisers.items()}
        return {"step": np.zeros((), np.int64), "groups": groups}

    def update(self, grads: Tree, state: State, params: Tree) -> tuple[Tree, State]:
        params = map_leaves(as_array, params)
        self._check_state(state, {"step", "groups"})
        check_shapes("update", "params", params, "grads", grads)
        if self.clip_norm is not None:
            grads = clip_by_global_norm(grads, self.clip_norm)
        labels = self._labels(params)
        moved: dict[str, list[Any]] = {}
        groups: dict[str, State] = {}
        for label, one in self.optimisers.items():
            mine = [_only(tree, labels, label) for tree in (grads, params)]
            after, groups[label] = one.update(mine[0], state["groups"][label], mine[1])
            moved[label] = flatten(after)[0]
        leaves = [moved[label].pop(0) for label in labels]
        return unflatten(flatten(params)[1], leaves), {"step": state["step"] + 1, "groups": groups}

    def _labels(self, params: Tree) -> list[str]:
        """The label of each leaf; GraphError for one without an optimiser."""
        leaves, spec = flatten(params)
        labels: Any = self.labels
        places = paths(spec)
        if callable(labels):
            found: list[Any] = [labels(place, leaf) for place, leaf in zip(places, leaves, strict=True)]
        else:
            found = leaves_like(spec, labels, "labels", "params")
        for place, label in zip(places, found, strict=True):
            if label not in self.optimisers:
                known = ", ".join(map(repr, self.optimisers)) or "none"
                raise GraphError(f"Groups: labels{place}: expected one of {known}, got {shown(label)}")
        return found

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return {}

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        return at.p, {}


def _only(tree: Tree, labels: Sequence[str], label: str) -> Tree:
    """A tree with None in the place of leaves that have another label."""
    leaves, spec = flatten(tree)
    return unflatten(spec, [leaf if one == label else None for leaf, one in zip(leaves, labels, strict=True)])
