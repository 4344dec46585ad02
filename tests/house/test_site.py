"""The site builds without a warning, its links hold, and nothing on it is loaded from a network (`make site`)."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from pages import ROOT

ELSEWHERE = re.compile(r"(\w+:)?//")
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("use", "href")}
"""Attributes whose file a browser loads with the page."""


class Page(HTMLParser):
    """What a page links to, what it loads, and the names of its parts."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loaded, self.parts = set[str](), set[str](), set[str]()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in LOADED:
                self.loaded.add(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.add(value or "")
            elif name == "id":
                self.parts.add(value or "")


def test_the_site_is_whole_and_needs_no_network(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-d", str(tmp_path / "trees")]
    done = subprocess.run([sys.executable, *build, str(ROOT / "docs"), str(site)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

    pages = {path: Page(path) for path in site.rglob("*.html")}
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
