"""The site builds without a warning, its links hold, nothing on it is loaded from a network (`make site`), and its code
and tables fit their screens."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from pages import ROOT

ELSEWHERE = re.compile(r"(\w+:)?//")
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("use", "href")}
"""Attributes whose file a browser loads with the page."""
COLUMNS = 100
"""Of a line of code that does not scroll: docs/static/site.css gives it 52 em, and a character has up to 0.5 em."""
WRAPPED = {"highlight-mlir", "wrapped"}
"""Classes of blocks whose lines wrap at any width."""


class Page(HTMLParser):
    """What a page links to, what it loads, the names of its parts, its blocks of code and its tables."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loaded, self.parts = set[str](), set[str](), set[str]()
        self.blocks = list[tuple[set[str], str]]()
        """The classes and the text of each block of code."""
        self.rows = list[list[str | None]]()
        """The label of each cell, by row."""
        self._classes, self._inside = set[str](), False
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in LOADED:
                self.loaded.add(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.add(value or "")
            elif name == "id":
                self.parts.add(value or "")
        classes = (dict(attrs).get("class") or "").split()
        if tag == "div" and any(name.startswith("highlight-") for name in classes):
            self._classes = set(classes)
        elif tag == "pre":
            self.blocks.append((self._classes, ""))
            self._inside = True
        elif tag == "tr" and classes:
            self.rows.append([])
        elif tag == "td" and self.rows:
            self.rows[-1].append(dict(attrs).get("data-label"))

    def handle_data(self, data: str) -> None:
        if self._inside:
            classes, text = self.blocks[-1]
            self.blocks[-1] = classes, text + data

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag != "pre"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    site = folder / "site"
    build = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-d", str(folder / "trees")]
    done = subprocess.run([sys.executable, *build, str(ROOT / "docs"), str(site)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return site


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_the_site_is_whole_and_needs_no_network(site: Path, pages: dict[Path, Page]) -> None:
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in sorted((ROOT / "docs").rglob("*.md"))}
    assert written <= {path.relative_to(site) for path in pages}
    for path, page in pages.items():
        for address in page.links | page.loaded:
            assert address not in page.loaded or not ELSEWHERE.match(address), f"{path.name} loads {address}"
            if not ELSEWHERE.match(address) and not address.startswith("data:"):
                name, _, part = address.partition("?")[0].partition("#")
                target = (path.parent / unquote(name)).resolve() if name else path
                assert target.exists(), f"{path.name} links to {address}, which does not exist"
                assert not part or target not in pages or part in pages[target].parts, f"{path.name}: {address}"
    for path in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(\w+:)?//", path.read_text()), f"{path.name} loads a file"


def test_code_fits_the_width_of_a_desktop(pages: dict[Path, Page]) -> None:
    lines = [
        f"{path.stem}: {line}"
        for path, page in pages.items()
        for classes, text in page.blocks
        if not classes & WRAPPED
        for line in text.splitlines()
        if len(line) > COLUMNS
    ]
    assert not lines, "\n".join(["split these lines of code:", *lines])


def test_a_phone_shows_the_head_of_a_column_with_each_number(site: Path, pages: dict[Path, Page]) -> None:
    """Tables of more than two columns lose their heads there, and have them as labels."""
    rows = [row for row in pages[site / "benchmarks.html"].rows if len(row) > 2]
    assert len(rows) > 50 and all(row[0] is None and all(row[1:]) for row in rows)
