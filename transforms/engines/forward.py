"""Forward mode on a line of ops: the tangent of each, right behind it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.engines.define import define_aside
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, INERT, JVP, Together
from xdsl_rlx.transforms.rules.wide import rounded, wide, widened


def push_forward(ops: Sequence[Operation], tangents: dict[SSAValue, SSAValue]) -> None:
    """
    Add to `tangents` those of the results of `ops`, which are in one block; a value without an entry has zero.

    An op without a rule of its own is replaced by its definition: the tangent shares what that computes.
    """
    for op in ops:
        inert = INERT.of(op)
        arriving = [None if i in inert else tangents.get(x) for i, x in enumerate(op.operands)]
        if JVP.reason(type(op)) is not None or all(t is None for t in arriving):
            continue
        if JVP.get(type(op)) is None and DECOMPOSE.get(type(op)) is not None:
            push_forward(_expand(op), tangents)
        else:
            _by_rule(op, arriving, tangents)


def _by_rule(op: Operation, arriving: Sequence[SSAValue | None], tangents: dict[SSAValue, SSAValue]) -> None:
    b = MirBuilder(Builder(InsertPoint.after(op)))
    with located(b.builder, op.location):
        with wide(op, b, op.results) as seen:
            taken = widened if seen is not op else MirBuilder.value
            arguments = [None if t is None else taken(b, t) for t in arriving]
            found = JVP.lookup(op)(seen, b, *arguments)
        leaving = found.tangents if isinstance(found, Together) else found
        if seen is not op:
            leaving = [None if t is None else rounded(b, t, y) for t, y in zip(leaving, op.results, strict=True)]
    results: Sequence[SSAValue] = op.results
    if isinstance(found, Together):
        results = [value.ssa for value in found.values]
        replace(op, results)
    for result, tangent in zip(results, leaving, strict=True):
        if tangent is not None and has_derivative(result):
            if tangent.ssa.name_hint is None and result.name_hint:
                tangent.ssa.name_hint = f"t_{result.name_hint}"
            tangents[result] = tangent.ssa


def _expand(op: Operation) -> list[Operation]:
    """Replace `op` by the ops of its definition, which are returned."""
    block, values = define_aside(op)
    parts = list(block.ops)
    for part in parts:
        part.detach()
    assert op.parent is not None
    op.parent.insert_ops_before(parts, op)
    replace(op, values)
    return parts
