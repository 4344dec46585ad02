"""docs/interop.md names all programs of the corpus, all cases and all primitives that are refused."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from peers import jax_ops, jax_ops_structured

from xdsl_rlx.frontends.jaxpr.table import ROWS

DOCS = Path(__file__).parents[2] / "docs"


def test_page_is_complete() -> None:
    sys.path.append(str(DOCS))
    page: Any = import_module("interop_page")
    text = (DOCS / "interop.md").read_text()
    every = page.programs()
    assert len(every) >= 150 and f"## {len(every)} programs" in text
    missing = [one.name for one in every if f"| `{one.name}` | {one.source} | {page.compared(one)} |" not in text]
    assert not missing, f"python docs/interop_page.py writes the page, which lacks {missing}"
    second = [one for one in every if "Hessian" in one.compared]
    assert 3 * len(second) >= len(every)
    assert all(f"`{name}`" in text for name in (*jax_ops.CASES, *jax_ops_structured.CASES))
    assert all(f"`{row.name}`" in text for row in ROWS.all() if row.reason)
