"""Looking at graphs and programs: what they are made of. How long they take is `CompiledGraph.profile`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import SupportsIndex

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, as_graph_module
from xdsl_rlx.checkpoint_files import checked_path
from xdsl_rlx.compiling import lowered
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering.backend.driver.process import thread_count
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.backend.runtime.profile import Profile
from xdsl_rlx.lowering.reports.inspection import Inspection, inspection_of
from xdsl_rlx.lowering.reports.page.page import PageProfile, page_of


@checked
def inspect(graph: AnyGraph | CompiledGraph, threads: SupportsIndex | None = None) -> Inspection:
    """
    Return a description of a graph: arguments, results, ops, kernels, FLOPs, bytes, memory; `str` of it is tables.

    Counts are those of the program that `compile` makes for `threads` threads (by default as in a call). For a compiled
    graph, they are those of its origin. Raises GraphError for a graph that cannot be lowered, and `RlxError` for a
    compiled graph whose source has changed since.
    """
    source, program = _source_and_program(graph, threads)
    try:
        return inspection_of(source, program)
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


def _source_and_program(graph: AnyGraph | CompiledGraph, threads: SupportsIndex | None) -> tuple[ModuleOp, ModuleOp]:
    if isinstance(graph, CompiledGraph):
        return graph.origin.module(), graph.origin.lowered()
    source = as_graph_module(graph)
    return source.module, lowered(source, thread_count(threads)).module


@checked
def report(
    graph: AnyGraph | CompiledGraph,
    path: str | PathLike[str],
    profile: Profile | None = None,
    threads: SupportsIndex | None = None,
) -> None:
    """
    Write one self-contained HTML file that shows a program in a browser.

    It contains the graph with its fusion groups and kernels, and the text of every stage with the source of each line.
    It also shows the use of the arena over time, and the profile if one is given. Raises the errors of `inspect`.
    """
    place = checked_path("report", path)
    source, _ = _source_and_program(graph, threads)
    count = graph.threads if isinstance(graph, CompiledGraph) else thread_count(threads)
    try:
        text = page_of(source, count, cost_model(), None if profile is None else _shown(profile))
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error
    Path(place).write_text(text, encoding="utf-8")


def _shown(profile: Profile) -> PageProfile:
    pieces = tuple((chunk.launch.kernel, chunk.thread, chunk.began, chunk.took) for chunk in profile.chunks)
    step = max((chunk.began + chunk.took for chunk in profile.chunks), default=profile.step)
    return PageProfile(profile.remarks, profile.table.html(), pieces, profile.threads, step)
