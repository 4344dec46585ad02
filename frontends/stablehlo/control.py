"""Rows of calls."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call


@ROWS.add("func.call")
def _call(c: Call, *operands: Any) -> Any:
    return c.walk.call(str(c.get("callee")), operands)


@ROWS.add("composite")
def _composite(c: Call, *operands: Any) -> Any:
    return c.walk.call(str(c.get("decomposition")), operands)
