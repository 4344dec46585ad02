"""Leaves of trees as operands and results of ops; what is no array is passed on as it is."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.static_keys import is_array_like, is_static_leaf
from xdsl_rlx.tracing import PLAIN
from xdsl_rlx.tree import Spec, Tree, flatten, unflatten


@dataclass
class OpLeaves:
    """The leaves of a tree: those that are operands or results of an op, and those that are passed on as they are."""

    leaves: list[Any]
    spec: Spec
    moving: list[int]
    """Numbers of the leaves that the op has."""

    @classmethod
    def of(cls, builder: MirBuilder, tree: Tree, numbers: bool) -> Self:
        """With `numbers`, Python's numbers are among the values; else they are passed on."""
        leaves, spec = flatten(tree)
        moving: list[int] = []
        for n, leaf in enumerate(leaves):
            if numbers and type(leaf) in PLAIN:
                constant = builder.scalar(leaf, PLAIN[type(leaf)])
                leaves[n] = Value(constant.ssa, constant.b, True)
            elif is_array_like(leaf) and not isinstance(leaf, Value):
                leaves[n] = builder.constant(leaf)
            elif not isinstance(leaf, Value):
                if numbers and not is_static_leaf(leaf):
                    raise GraphTypeError(f"expected a function that returns a tree of arrays, got {shown(leaf)} in it")
                continue
            moving.append(n)
        return cls(leaves, spec, moving)

    @property
    def values(self) -> list[Value]:
        """The operands or results."""
        return [self.leaves[n] for n in self.moving]

    def replaced(self, others: Sequence[Value]) -> list[Any]:
        """The leaves with other values, as weakly typed as these."""
        found = list(self.leaves)
        for n, other in zip(self.moving, others, strict=True):
            found[n] = Value(other.ssa, other.b, self.leaves[n].weak)
        return found

    def tree(self, others: Sequence[Value]) -> Tree:
        """The tree with other values."""
        return unflatten(self.spec, self.replaced(others))
