"""The page: what was found out about a program, put into a template with its style sheet and script.
What is drawn on it is made in `drawing.py`, the text of stages in `stages.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.lowering.reports.inspection import Inspection, inspection_of
from xdsl_rlx.lowering.reports.page.drawing import graph_svg, memory_svg, timeline_svg
from xdsl_rlx.lowering.reports.page.stages import Lowered, lowering_of
from xdsl_rlx.lowering.reports.text_tables import short
from xdsl_rlx.lowering.target import COMMON, CostModel

LONGEST_LINE = 600
"""Characters of a line of text that are shown: those of constants have no end."""
MOST_PIECES = 4000
"""Pieces of a timeline that are drawn, the longest ones."""


@dataclass(frozen=True)
class PageProfile:
    """What a page shows of a profile."""

    remarks: tuple[str, ...]
    table: str
    """HTML."""
    pieces: tuple[tuple[str, int, float, float], ...]
    """Kernel, thread, begin and duration in seconds."""
    threads: int
    step: float


def page_of(module: ModuleOp, threads: int = 1, model: CostModel = COMMON, profile: PageProfile | None = None) -> str:
    """A program, given at any stage, as one HTML file that needs nothing else; PassFailedException if it is none."""
    lowering = lowering_of(module, threads, model)
    found = inspection_of(module, lowering.lowered)
    parts = {
        "title": escape(found.name),
        "summary": "".join(f"<li>{escape(line)}</li>" for line in found.summary),
        "tables": "".join(table.html() for table in found.tables),
        "graph": graph_svg(lowering.groups),
        "memory": _memory(found),
        "profile": _profile(profile),
        "data": _data(lowering),
        "style": _part("page.css"),
        "script": _part("page.js"),
    }
    return Template(_part("page.html")).substitute(parts)


def _part(name: str) -> str:
    return files("xdsl_rlx.lowering.reports.page").joinpath(name).read_text(encoding="utf-8")


def _memory(found: Inspection) -> str:
    memory = found.memory
    words = (
        f"arena {short(memory.arena, 'B')}; {short(memory.unshared, 'B')} if nothing shared; "
        f"most is in use during launch {memory.fullest}"
    )
    return f"<p>{escape(words)}</p>{memory_svg(memory)}"


def _profile(profile: PageProfile | None) -> str:
    if profile is None:
        return "<p>None was given: <code>rlx.report(compiled, path, compiled.profile(..))</code> shows one.</p>"
    longest = sorted(profile.pieces, key=lambda piece: -piece[3])[:MOST_PIECES]
    left = len(profile.pieces) - len(longest)
    shorter = f"<li>{left:,} shorter pieces are not drawn</li>" if left else ""
    remarks = "".join(f"<li>{escape(line)}</li>" for line in profile.remarks)
    timeline = timeline_svg(longest, profile.threads, profile.step)
    return f"<ul>{remarks}{shorter}</ul>{timeline}{profile.table}"


def _data(lowering: Lowered) -> str:
    """The lines of all stages, as JSON that may stand in a script element."""
    stages = [
        {"title": stage.title, "lines": [_cut(line) for line in stage.lines], "sources": _runs(stage.sources)}
        for stage in lowering.stages
    ]
    text = json.dumps({"stages": stages, "places": lowering.places}, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def _runs(sources: Sequence[tuple[int, ...]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """(first line, number of lines, sources) of neighbours that are alike; lines without are left out."""
    found = list[tuple[int, int, tuple[int, ...]]]()
    for line, marks in enumerate(sources):
        if not marks:
            continue
        if found and found[-1][2] == marks and found[-1][0] + found[-1][1] == line:
            found[-1] = (found[-1][0], found[-1][1] + 1, marks)
        else:
            found.append((line, 1, marks))
    return found
