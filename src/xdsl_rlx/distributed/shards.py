"""Trees of arrays of which each process has a part: the leaves as vectors, padded to equal parts for all processes."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.distributed.first_process import gathered
from xdsl_rlx.lowering.backend.driver.collectives import connected
from xdsl_rlx.tree import Spec, Tree, flatten, leaves_like, register_node, unflatten


@dataclass(frozen=True)
class Layout:
    """Where the leaves of a tree are: one behind the other in a vector for each group of leaves."""

    spec: Spec
    shapes: tuple[tuple[int, ...], ...]
    groups: tuple[str, ...]
    """The name of the vector of each leaf."""
    processes: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the vectors."""
        return tuple(dict.fromkeys(self.groups))

    def elements(self, group: str) -> int:
        """The elements of a vector without the padding."""
        return sum(prod(shape) for shape, one in zip(self.shapes, self.groups, strict=True) if one == group)

    def part(self, group: str) -> int:
        """The elements that a process has, padding included."""
        return -(-self.elements(group) // self.processes)

    def vectors(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """The padded vectors of these leaves, arrays or traced values."""
        found: dict[str, Any] = {}
        for group in self.names:
            lines = [leaf.reshape(-1) for leaf, one in zip(leaves, self.groups, strict=True) if one == group]
            padding = self.part(group) * self.processes - self.elements(group)
            found[group] = np.concatenate([*lines, *[np.zeros_like(lines[0], shape=padding)] * bool(padding)])
        return found

    def leaves(self, vectors: Mapping[str, Any]) -> list[Any]:
        """The leaves of padded vectors."""
        starts = dict.fromkeys(self.names, 0)
        found: list[Any] = []
        for shape, group in zip(self.shapes, self.groups, strict=True):
            start = starts[group]
            starts[group] = end = start + prod(shape)
            found.append(vectors[group][start:end].reshape(shape))
        return found


class Shards:
    """A tree of this layout, of which a process has a part of each vector: a node with these as children."""

    __slots__ = ("layout", "parts")

    def __init__(self, parts: dict[str, Any], layout: Layout):
        self.parts, self.layout = parts, layout

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}{list(np.shape(part))}" for name, part in self.parts.items())
        return f"<parts of a tree over {self.layout.processes} processes: {parts}>"

    @staticmethod
    def of_rank(tree: Tree, layout: Layout, rank: int) -> Shards:
        """The part of process `rank` of a tree of NumPy's arrays."""
        vectors = layout.vectors([np.asarray(leaf) for leaf in leaves_like(layout.spec, tree, "tree", "params")])
        parts = {name: whole[rank * (n := layout.part(name)) :][:n].copy() for name, whole in vectors.items()}
        return Shards(parts, layout)


register_node(
    Shards,
    lambda one: (tuple(one.parts.values()), (one.layout, tuple(one.parts)), tuple(one.parts)),
    lambda static, children: Shards(dict(zip(static[1], children, strict=True)), static[0]),
)


def is_shards(node: object) -> bool:
    """Whether a node of a tree is in parts."""
    return isinstance(node, Shards)


def whole_types(tree: Tree) -> Tree:
    """The tree with arrays of no memory in place of parts: those of the shapes and types of the whole leaves."""

    def whole(shards: Shards) -> Tree:
        layout = shards.layout
        types = [shards.parts[group].dtype for group in layout.groups]
        arrays = [np.broadcast_to(np.zeros((), of), shape) for of, shape in zip(types, layout.shapes, strict=True)]
        return unflatten(layout.spec, arrays)

    leaves, spec = flatten(tree, is_shards)
    return unflatten(spec, [whole(one) if isinstance(one, Shards) else one for one in leaves])


def whole_on_first(tree: Tree) -> Tree:
    """The tree with whole leaves in place of parts in process 0; all processes call it. Others get another tree."""

    def whole(shards: Shards) -> Tree:
        vectors = {name: gathered(np.asarray(part)) for name, part in shards.parts.items()}
        if any(one is None for one in vectors.values()):
            return None
        return unflatten(shards.layout.spec, shards.layout.leaves(vectors))

    leaves, spec = flatten(tree, is_shards)
    return unflatten(spec, [whole(one) if isinstance(one, Shards) else one for one in leaves])


def parts_like(like: Tree, tree: Tree) -> Tree:
    """A tree of whole leaves with parts where `like` has parts."""
    nodes, spec = flatten(like, is_shards)
    engine = connected()
    rank = 0 if engine is None else engine.rank
    found = [
        Shards.of_rank(one, node.layout, rank) if isinstance(node, Shards) else one
        for node, one in zip(nodes, leaves_like(spec, tree, "tree", "the tree"), strict=True)
    ]
    return unflatten(spec, found)
