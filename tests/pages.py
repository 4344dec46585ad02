"""The fenced blocks of pages: programs that run, and what the page says that they print."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def fenced(page: str, language: str) -> list[str]:
    """The fenced blocks of a language on a page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def run_blocks(page: str, language: str = "python") -> dict[str, Any]:
    """
    The names left by the blocks of a page in Python, which are fenced as `language`, run one after the other.

    AssertionError where a block prints something else than the `text` block right behind it says.
    """
    names: dict[str, Any] = {"__name__": page}
    pattern = rf"^```{language}\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<said>.*?)^```$)?"
    text = (ROOT / page).read_text()
    for number, found in enumerate(re.finditer(pattern, text, re.DOTALL | re.MULTILINE)):
        name, block = f"<{page} {number}>", found["code"]
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # not under the future imports of this file
            exec(compile(block, name, "exec", dont_inherit=True), names)
        if found["said"] is not None:
            assert printed.getvalue() == found["said"], f"{name} prints:\n{printed.getvalue()}"
    return names
