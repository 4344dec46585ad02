"""Rows of operators that PyTorch's decompositions leave."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast


@ROWS.add("convert_element_type.default", namespace="prims")
def _convert_element_type(c: Call, a: Any, dtype: str) -> Any:
    return cast(a, dtype)


@ROWS.add("fma.default", namespace="prims")
def _fma(c: Call, a: Any, b: Any, c_: Any) -> Any:
    return a * b + c_
