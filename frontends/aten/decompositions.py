"""PyTorch's own decompositions, for operators that have no row."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

from functools import cache
from typing import Any

from xdsl_rlx.frontends.aten.table import ROWS


@cache
def without_rows() -> dict[Any, Any]:
    """Return the decompositions of all operators that have no row, by operator."""
    from torch._decomp import core_aten_decompositions, decomposition_table

    every = {**decomposition_table, **dict(core_aten_decompositions().items())}
    return {op: found for op, found in every.items() if ROWS.get(str(op)) is None and str(op) not in _KEPT}


_KEPT = ("aten.lift.default", "aten.lift_fresh.default")
"""Marks of constants, which functionalization removes: their decompositions see tensors that are none of a graph."""
