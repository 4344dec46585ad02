"""Composite ops by their definitions, the rows of DECOMPOSE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.builder import Builder
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.rules.table import DECOMPOSE, DecomposeRule
from xdsl_rlx.transforms.rules.wide import rounded, wide

DEEPEST = 32
"""Rounds after which definitions that lead back to themselves are reported."""


def define(op: Operation, b: MirBuilder, rule: DecomposeRule[Any] | None = None) -> list[Value]:
    """The results of `op` by its row of DECOMPOSE, or by another rule of that kind, where `b` inserts."""
    rule = rule or DECOMPOSE.lookup(op)
    with located(b.builder, op.location), wide(op, b) as seen:
        return [rounded(b, value, result) for value, result in zip(rule(seen, b), op.results, strict=True)]


def define_aside(op: Operation) -> tuple[Block, list[Value]]:
    """The results of `op` by its definition, in a block of its own."""
    aside = Block()
    return aside, define(op, MirBuilder(Builder(InsertPoint.at_end(aside))))


def rewrite_by(op: Operation, rule: Callable[[Any, MirBuilder], Sequence[Value] | None]) -> None:
    """Replace one op by what a rule builds in front of it; None leaves it as it is."""
    b = MirBuilder(Builder(InsertPoint.before(op)))
    with located(b.builder, op.location):
        values = rule(op, b)
    if values is not None:
        replace(op, values)


def decompose(root: Operation, wanted: Callable[[Operation], bool]) -> bool:
    """Replace every op inside of `root` that is `wanted` and has a definition. Whether anything changed."""
    found: list[Operation] = []
    for round_ in range(DEEPEST):
        found = list(_outermost(root, lambda op: DECOMPOSE.get(type(op)) is not None and wanted(op)))
        if not found:
            return round_ > 0
        for op in found:
            rewrite_by(op, define)
    raise PassFailedException(f"the definition of {found[0].name} leads back to itself")


def _outermost(root: Operation, wanted: Callable[[Operation], bool]) -> Iterator[Operation]:
    """The ops inside of `root` that are `wanted`, without those inside of others: with these they go."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                if wanted(op):
                    yield op
                else:
                    yield from _outermost(op, wanted)
