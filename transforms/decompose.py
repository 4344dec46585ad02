"""Composite ops replaced by their definitions (the rows of DECOMPOSE), until none is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.core import OwnNest
from xdsl_rlx.transforms.mir_lower_complex import lower_complex
from xdsl_rlx.transforms.rules import DECOMPOSE
from xdsl_rlx.transforms.rules.lowering import LOOPS, NORMALIZE, PLACE, VIEW
from xdsl_rlx.transforms.rules.wide import define
from xdsl_rlx.transforms.simplify import canonicalize, share_common

DEEPEST = 32
"""Rounds after which definitions that lead back to themselves are reported."""


def decompose(module: Operation, wanted: Callable[[Operation], bool]) -> bool:
    """Replace every op that is `wanted` and has a definition; locations are kept. Whether anything changed."""
    found: list[Operation] = []
    for round_ in range(DEEPEST):
        found = [op for op in module.walk() if DECOMPOSE.get(type(op)) is not None and wanted(op)]
        if not found:
            return round_ > 0
        for op in found:
            expand(op)
    raise PassFailedException(f"the definition of {found[0].name} leads back to itself")


def expand(op: Operation) -> None:
    """Replace one op by its definition."""
    replace(op, define)


def replace(op: Operation, rule: Callable[[Any, MirBuilder], Sequence[Value] | None]) -> None:
    """Replace one op by what a rule builds; names and location are kept. None leaves it as it is."""
    block = op.parent_block()
    assert block is not None
    before = op.prev_op
    values = rule(op, MirBuilder(Builder(InsertPoint.before(op))))
    if values is None:
        return
    new = block.first_op if before is None else before.next_op
    while new is not None and new is not op:
        for inner in new.walk():
            inner.location = op.location
        new = new.next_op
    for result, value in zip(op.results, values, strict=True):
        value.ssa.name_hint = value.ssa.name_hint or result.name_hint
        result.replace_all_uses_with(value.ssa)
    op.detach()
    op.erase()


def decompose_composites(ctx: Context, module: ModuleOp) -> None:
    """Leave only ops that lowering knows; what definitions repeat (statistics of a norm, say) is computed once."""

    def composite(op: Operation) -> bool:
        kind = type(op)
        if op.has_trait(OwnNest):
            return False
        return LOOPS.get(kind) is None and VIEW.get(kind) is None and PLACE.get(kind) is None

    decompose(module, composite)
    lower_complex(module)
    decompose(module, composite)
    for op in list(module.walk()):
        if (rule := NORMALIZE.get(type(op))) is not None:
            replace(op, rule)
    canonicalize(ctx, module)
    share_common(module)
