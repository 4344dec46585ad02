"""Side effects of ops, by their traits: ops with effects keep their number and order.

The op with an effect is `mir.debug_print`. An op with bodies has the effects of what is in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from functools import cache

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, RecursiveMemoryEffect


class _Effects(Enum):
    NONE = auto()
    OF_BODIES = auto()
    SOME = auto()


@cache
def _effects_of(kind: type[Operation]) -> _Effects:
    """The effects of every op of a class: unknown ones count as some."""
    effects = [trait for trait in kind.traits if isinstance(trait, MemoryEffect)]
    if kind.has_trait(IsTerminator) or (effects and all(isinstance(trait, NoMemoryEffect) for trait in effects)):
        return _Effects.NONE
    if effects and all(isinstance(trait, NoMemoryEffect | RecursiveMemoryEffect) for trait in effects):
        return _Effects.OF_BODIES
    return _Effects.SOME


def has_effects(op: Operation) -> bool:
    """Whether an op does more than to compute its results: such ops may not be removed, repeated or reordered."""
    found = _effects_of(type(op))
    if found is _Effects.OF_BODIES:
        return any(has_effects(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    return found is _Effects.SOME


def with_effects(ops: Iterable[Operation]) -> list[Operation]:
    """Return the ops that have effects, in order."""
    return [op for op in ops if has_effects(op)]


def remove_effects(block: Block) -> None:
    """
    Erase the ops that are there for their effects alone, also in the bodies of others.

    For a copy of a block that computes values again: the effects are those of the original.
    """
    for op in reversed(with_effects(block.ops)):
        if not op.regions:
            if not op.results:
                op.detach()
                op.erase()
            continue
        # a derivative rule is no part of what the op does
        rules = [region for name in ("vjp", "jvp") if (region := getattr(op, name, None)) is not None]
        for region in op.regions:
            if region not in rules:
                for inner in region.blocks:
                    remove_effects(inner)
