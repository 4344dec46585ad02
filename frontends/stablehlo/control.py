"""Rows of calls, loops and branches; loops are never unrolled."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import cast, is_constant, traced
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.tree import Block
from xdsl_rlx.tree_control import cond, switch, while_loop


@ROWS.add("func.call")
def _call(c: Call, *operands: Any) -> Any:
    return c.walk.call(str(c.get("callee")), operands)


@ROWS.add("composite")
def _composite(c: Call, *operands: Any) -> Any:
    return c.walk.call(str(c.get("decomposition")), operands)


@ROWS.add("while")
def _while(c: Call, *operands: Any) -> Any:
    """A carry that the body returns as it is stands for one value: JAX passes all that a loop reads in this way."""
    test, body = c.op.blocks
    moving = [n for n, one in enumerate(body.returned.operands) if one != body.arguments[n]]
    fixed: list[Any] = [x if _is_small(x) else traced(x) for x in operands]

    def given(carry: Sequence[Any]) -> list[Any]:
        found = list(fixed)
        for n, x in zip(moving, carry, strict=True):
            found[n] = x
        return found

    if not moving:
        return operands
    found = while_loop(
        lambda carry: traced(c.walk.block(test, given(carry))[0]),
        lambda carry: _picked(c.walk.block(body, given(carry)), moving),
        tuple(traced(operands[n]) for n in moving),
    )
    return given(found)


def _is_small(x: Any) -> bool:
    """Whether a tensor that a body reads is a constant to compute with, rather than a value outside of the body."""
    return is_constant(x) and (np.size(x) <= _LARGEST or not any(np.asarray(x).strides))


_LARGEST = 256
"""Elements of a constant up to which the body of a loop has a copy of it."""


def _picked(results: Sequence[Any], numbers: Sequence[int]) -> tuple[Any, ...]:
    return tuple(traced(results[n]) for n in numbers)


def _branches(c: Call) -> list[Callable[[], Any]]:
    def branch(block: Block) -> Callable[[], Any]:
        return lambda: tuple(traced(x) for x in c.walk.block(block, ()))

    return [branch(block) for block in c.op.blocks]


@ROWS.add("case")
def _case(c: Call, index: Any) -> Any:
    count = len(c.op.blocks)
    if is_constant(index):
        number = int(index)
        return c.walk.block(c.op.blocks[number if 0 <= number < count else count - 1], ())
    number = cast(index, "i64")
    # an index that is out of range takes the last branch
    inside = np.where((number >= 0) & (number < count), number, np.int64(count - 1))
    return list(switch(inside, _branches(c)))


@ROWS.add("if")
def _if(c: Call, predicate: Any) -> Any:
    if is_constant(predicate):
        return c.walk.block(c.op.blocks[0 if predicate else 1], ())
    return list(cond(predicate, *_branches(c)))


@ROWS.add("tuple")
def _tuple(c: Call, *operands: Any) -> Any:
    return [tuple(operands)]


@ROWS.add("get_tuple_element")
def _get_tuple_element(c: Call, operand: Any) -> Any:
    return operand[int(c.get("index"))]


@ROWS.add("map", composite=True)
def _map(c: Call, *operands: Any) -> Any:
    return c.walk.elementwise(c.op.blocks[0], operands)
