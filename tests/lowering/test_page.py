"""Pages: all parts are there and whole, nothing is fetched, and every line of every stage knows what it comes from."""

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.targets import HtmlTarget
from xdsl_rlx.lowering.reports.page.page import LONGEST_LINE, page_of
from xdsl_rlx.lowering.reports.page.stages import StageText, lowering_of

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """The elements of a page; a tag that is not closed where it should be is a failure."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside = ""
        self.open, self.elements, self.texts = list[str](), list[tuple[str, dict[str, str]]](), dict[str, str]()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
            self.inside = found.get("id", tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts[self.inside] = self.texts.get(self.inside, "") + data

    def having(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [a for t, a in self.elements if t == tag and all(a.get(k) == v for k, v in wanted.items())]

    @property
    def words(self) -> str:
        """All text, that of scripts too."""
        return "".join(self.texts.values())

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.texts["data"])


def model() -> rlx.GraphModule:
    def build(m: Any) -> Any:
        x, w, b = m.input("x", (32, 48)), m.param("w", (48, 48)), m.param("b", (48,))
        with m.named("part</script>"):
            x = m.linear(x, w, b, activation="relu")
        return m.linear(x, w, b, activation="tanh")

    return rlx.GraphModule.define("net", build)


def loss() -> rlx.GraphModule:
    g = rlx.Graph("loss")
    x, w = g.input("x", (32, 48)), g.param("w", (48, 48))
    for name in ("first", "second"):
        with g.named(name):
            x = g.softmax(g.tanh(x @ w))
    g.set_outputs([g.reduce_sum(x * x)])
    return rlx.grad_with_loss(g)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "report.html"
    compiled = rlx.compile(model(), threads=2)
    x, w = np.ones((32, 48), np.float32), np.ones((48, 48), np.float32)
    rlx.report(compiled, path, compiled.profile(x, w, np.ones(48, np.float32), runs=2))
    return Page(path.read_text(encoding="utf-8"))


def test_all_parts_are_there(page: Page):
    assert [a["id"] for a in page.having("section")] == ["overview", "groups", "stages", "memory", "profile"]
    assert [stage["title"] for stage in page.data["stages"]] == ["given", "mir", "fused", "lir"]
    launches = rlx.lower(model(), 2).module
    kernels = {op.kernel.string_value() for op in launches.walk() if isinstance(op, LaunchOp)}
    boxes = page.having("g", class_="group")
    assert 1 <= len(boxes) <= len(kernels) and all(box["data-sources"] for box in boxes)
    (timeline,) = page.having("svg", class_="timeline")
    assert timeline["viewbox"].startswith("0 0 1000") and page.having("svg", class_="memory")
    assert all(kernel in page.words for kernel in kernels)


def test_nothing_is_fetched_and_no_text_ends_the_script(page: Page):
    for tag, attributes in page.elements:
        assert tag != "link" and not {"src", "srcset"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"https?://|@import|url\(", page.words)
    assert len(page.having("script")) == 2
    assert any("part</script>" in place for place in page.data["places"])


def of_line(stage: StageText, word: str) -> set[int]:
    """What the lines with a word come from."""
    return {mark for line, marks in zip(stage.lines, stage.sources, strict=True) if word in line for mark in marks}


def test_what_lines_come_from_leads_from_each_op_to_its_kernel():
    module = loss().module
    before = str(module)
    found = lowering_of(module, 2, cost_model())
    given, fused, last = found.stages
    assert str(module) == before and "\n".join(given.lines) == before.rstrip("\n")
    assert "\n".join(last.lines) == str(rlx.lower(rlx.run_passes(module, []), 2)).rstrip("\n")
    tanhs = of_line(given, "mir.tanh")
    assert len(tanhs) == 2 and tanhs <= of_line(fused, "mir.tanh")
    kernels = {name for group in found.groups for name in group.kernels if set(group.sources) & tanhs}
    for name in kernels:
        assert of_line(last, f"lir.kernel @{name}(") & tanhs
    launched = {op.kernel.string_value() for op in found.lowered.walk() if isinstance(op, LaunchOp)}
    assert {name for group in found.groups for name in group.kernels} == launched
    assert all(("first" in found.places[mark]) != ("second" in found.places[mark]) for mark in tanhs)
    assert not any("\0" in str(op.location) for op in found.lowered.walk())


@pytest.mark.parametrize("stage", ["hir", "mir", "lir"])
def test_the_target_prints_a_page_of_any_stage(stage: str):
    given = {"hir": model, "mir": loss, "lir": lambda: rlx.lower(loss(), 2)}[stage]()
    output = io.StringIO()
    HtmlTarget(threads=2).emit(Context(), given.module, output)
    page = Page(output.getvalue())
    assert page.having("g", class_="group") and page.data["stages"][-1]["lines"]
    assert "None was given" in page.words


def test_long_lines_are_cut_and_a_thousand_ops_stay_a_page():
    g = rlx.Graph("long")
    x = g.input("x", (8, 8))
    weight = g.constant(np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32))
    for _ in range(250):
        x = g.tanh(x @ weight) + g.cumsum(x, 0)
    g.set_outputs([x])
    text = page_of(g.module, 1)
    found = Page(text).data
    assert max(len(line) for stage in found["stages"] for line in stage["lines"]) == LONGEST_LINE + 1
    assert len(found["places"]) >= 1000 and len(text) < 5_000_000


def test_a_graph_that_cannot_be_lowered_is_an_error(tmp_path: Path):
    with pytest.raises(rlx.GraphError):
        rlx.report("no graph", tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
