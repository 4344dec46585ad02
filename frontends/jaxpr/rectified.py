"""A custom function that is `mir.relu`, with its derivative: the backward pass reads the result instead of `x`."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, Operation

from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.dialects.mir.elementwise import GtOp, MaxOp, WhereOp
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.op_functions import function
from xdsl_rlx.transforms.rules.terms import Term, number, parts, same, term


def rectified(results: Any) -> Any:
    """Return `relu` in place of `max(x, 0)` whose tangent is `where(x > 0, t, 0)`; else the results as they are."""
    first = results[0] if len(results) == 1 else None
    owner = first.ssa.owner if isinstance(first, Value) else None
    if isinstance(owner, CustomFnOp) and first is not None and _is_relu(owner):
        return [function("relu")(Value(owner.operands[0], first.b))]
    return results


def _is_relu(op: CustomFnOp) -> bool:
    if len(op.operands) != 1 or op.jvp is None or op.vjp is not None:
        return False
    body, rule = op.forward.block, op.jvp.block
    value, tangent = _result(body), _result(rule)
    x, of, t = term(body.args[0]), term(rule.args[0]), term(rule.args[1])
    maximum = parts(value, MaxOp)
    chosen = parts(tangent, WhereOp)
    if not maximum or not chosen or not _with_zero(maximum, x):
        return False
    above = parts(chosen[0], GtOp)
    return (
        bool(above) and same(above[0], of) and number(above[1]) == 0 and same(chosen[1], t) and number(chosen[2]) == 0
    )


def _with_zero(sides: list[Term], x: Term) -> bool:
    return any(same(a, x) and number(b) == 0 for a, b in (sides, sides[::-1]))


def _result(block: Block) -> Term:
    last = block.last_op
    assert isinstance(last, Operation)
    return term(last.operands[0])
