"""Rows of reductions of axes and of windows."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared import windows as shared_windows
from xdsl_rlx.frontends.shared.values import cast, dtype_of, traced
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.tree import Block

_KINDS = {
    "add": "add",
    "multiply": "mul",
    "maximum": "max",
    "minimum": "min",
    "and": "and",
    "or": "or",
}


def kind_of(block: Block) -> str | None:
    """The name of the reduction whose body is one operation on both arguments; None for other bodies."""
    if len(block.ops) != 2 or len(block.arguments) != 2:
        return None
    op, end = block.ops
    if set(op.operands) != set(block.arguments) or len(op.operands) != 2 or end.operands != op.results:
        return None
    return _KINDS.get(op.name.removeprefix("stablehlo."))


@ROWS.add("reduce", composite=True)
def _reduce(c: Call, *operands: Any) -> Any:
    count = len(operands) // 2
    xs, inits = [traced(x) for x in operands[:count]], operands[count:]
    axes = tuple(c.get("dimensions"))
    kind = kind_of(c.op.blocks[0])
    assert kind is not None
    found = reduced(xs[0], kind, axes)
    if not shared_windows.is_neutral(inits[0], kind, dtype_of(xs[0])):
        found = shared_windows.join(kind, found, cast(inits[0], dtype_of(found)))
    return found


def reduced(x: Any, kind: str, axes: tuple[int, ...]) -> Any:
    dtype = dtype_of(x)
    if dtype == "i1":
        return np.any(x, axes) if kind in ("add", "max", "or") else np.all(x, axes)
    match kind:
        case "add":
            return np.sum(x, axes, dtype=x.dtype)
        case "mul":
            return np.prod(x, axes, dtype=x.dtype)
        case "max":
            return np.max(x, axes)
        case _:
            return np.min(x, axes)
