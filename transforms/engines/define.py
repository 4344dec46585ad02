"""Composite ops by their definitions, the rows of DECOMPOSE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.builder import Builder
from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, DecomposeRule
from xdsl_rlx.transforms.rules.wide import rounded, wide


def define(op: Operation, b: MirBuilder, rule: DecomposeRule[Any] | None = None) -> list[Value]:
    """The results of `op` by its row of DECOMPOSE, or by another rule of that kind, where `b` inserts."""
    rule = rule or DECOMPOSE.lookup(op)
    with wide(op, b) as seen:
        return [rounded(b, value, result) for value, result in zip(rule(seen, b), op.results, strict=True)]


def define_aside(op: Operation) -> tuple[Block, list[Value]]:
    """The results of `op` by its definition, in a block of its own."""
    aside = Block()
    b = MirBuilder(Builder(InsertPoint.at_end(aside)))
    with located(b.builder, op.location):
        return aside, define(op, b)


@dataclass(frozen=True)
class Decompose(RewritePattern):
    """Ops that are wanted become their definitions."""

    is_wanted: Callable[[Operation], bool]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if DECOMPOSE.get(type(op)) is not None and self.is_wanted(op):
            rewriter.replace(op, [], [value.ssa for value in define(op, MirBuilder(rewriter))])
