"""How far a weight goes from `rlx.compile` to its launch: docs/architecture.md has the figures."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.builder import Graph, as_graph_module
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.lowering.backend.runtime import compile_module
from xdsl_rlx.lowering.backend.runtime.binding import Binding

ROOT = Path(__file__).parents[2]
assert rlx.__file__ is not None
PACKAGE = Path(rlx.__file__).parent

STOPS: dict[CodeType, str] = {
    CompiledFunction.__init__.__code__: "the function is wrapped",
    Graph._argument.__code__: "the weight is declared in the graph",
    compile_module.compile_source.__code__: "the graph is compiled",
    Binding._block.__code__: "the address is written for the launch",
}

MOST_STATIONS = 8
MOST_RETURNS = 2


def _modules(frame: FrameType | None) -> list[str]:
    """The files of the package on the call stack, the outermost first."""
    found: list[str] = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.suffix == ".py" and path.is_relative_to(PACKAGE):
            found.append(str(path.relative_to(PACKAGE)))
        frame = frame.f_back
    return found[::-1]


def _walk() -> list[str]:
    """The files that the weight passes, one behind the other."""
    seen: dict[str, list[str]] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        stop = STOPS.get(frame.f_code)
        # the weight is the first argument
        if event == "call" and stop is not None:
            seen.setdefault(stop, _modules(frame))

    def loss(w: Any, x: Any) -> Any:
        return np.tanh(x @ w)

    w, x = np.ones((3, 2), np.float32), np.ones((4, 3), np.float32)
    sys.setprofile(note)
    try:
        rlx.compile(loss)(w, x)
    finally:
        sys.setprofile(None)
    assert list(seen) == list(STOPS.values())
    return [module for modules in seen.values() for module in modules]


def _stations(walk: list[str]) -> Iterator[tuple[str, bool]]:
    """Each file as often as it is entered, and whether it was passed before."""
    passed: set[str] = set()
    last = ""
    for module in walk:
        if module != last:
            yield module, module in passed
        passed.add(module)
        last = module


def test_a_weight_passes_few_modules_from_compile_to_its_launch() -> None:
    _ = rlx.compile(lambda x: x + 1)(np.ones(2, np.float32))  # what is loaded once
    found = list(_stations(_walk()))
    stations = [module for module, again in found if not again]
    assert len(stations) <= MOST_STATIONS, stations
    assert len(found) - len(stations) <= MOST_RETURNS, found
    said = (ROOT / "docs" / "architecture.md").read_text().partition("### The walk of a weight")[2].split("\n## ")[0]
    assert [Path(module).name for module in stations] == re.findall(r"^\d+\. `(?:\w+/)*(\w+\.py)`", said, re.MULTILINE)


def test_a_graph_is_normalised_once() -> None:
    g = rlx.Graph("step")
    x, w = g.input("x", (4, 3)), g.param("w", (3, 2))
    g.set_outputs([(x @ w).sum(), w * 2.0])
    calls = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is as_graph_module.__code__

    sys.setprofile(note)
    try:
        rlx.compile(g, donate={"w": 1}, memory_budget=1 << 20)
    finally:
        sys.setprofile(None)
    assert calls == 1
