"""`rlx.report` in a real browser, headless and without a network: `make browser`, with `CHROMIUM=` for another than
`chromium`. It is no part of `make test`, which installs no browser."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

CHROMIUM = os.environ.get("CHROMIUM", "chromium")
CLICK = """<script>
addEventListener("load", () => setTimeout(() => {
  const group = document.querySelector("g.group");
  for (const kind of ["pointerdown", "pointerup", "click"])
    group.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: 5, clientY: 5}));
  const count = (what) => document.querySelectorAll(what).length;
  document.title = `clicked ${count(".group.on")} ${count(".lines .on")}`;
}, 300));
</script></body>"""


def loss(params: Any, x: Any, labels: Any) -> Any:
    h = rlx.gelu(x @ params["w1"] + params["b1"])
    return rlx.softmax_cross_entropy(h @ params["w2"], labels).mean()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keys = rlx.rng_split(rlx.key(0), 2)
    params = {"w1": rlx.init.he_normal(keys[0], (16, 32)), "b1": np.zeros(32, np.float32)}
    params["w2"] = rlx.init.he_normal(keys[1], (32, 10))
    given = params, np.ones((8, 16), np.float32), np.arange(8) % 10
    compiled = rlx.compile(rlx.value_and_grad(loss)).compiled(*given)
    path = tmp_path_factory.mktemp("report") / "report.html"
    rlx.report(compiled, path, compiled.profile(*rlx.tree.flatten(given)[0]))
    return path


def shown(page: Path, *options: str) -> tuple[str, str]:
    """The document after its scripts have run, and what the browser says."""
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=4000", "--dump-dom", *options, page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, done.stderr


@pytest.mark.parametrize("size", ["1400,900", "500,900"])
@pytest.mark.parametrize("dark", [False, True])
def test_scripts_run_without_a_word_and_without_a_network(page: Path, size: str, dark: bool):
    options = ["--force-dark-mode", "--enable-features=WebContentsForceDark"] if dark else []
    document, said = shown(page, f"--window-size={size}", *options)
    assert not [line for line in said.splitlines() if "CONSOLE" in line]
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", document)
    for section in ("overview", "groups", "stages", "memory", "profile"):
        assert f'<section id="{section}">' in document
    compiled = set(re.findall(r"k\d+_\w+", page.read_text()))
    drawn = [kernel for kernel in compiled if kernel in document]
    assert len(re.findall(r'<g class="group', document)) >= 4
    assert sorted(drawn) == sorted(compiled)
    assert len(re.findall('class="pane"', document)) >= 3 and "mir.matmul" in document


def test_a_box_that_is_clicked_marks_lines(page: Path):
    clicked = page.with_name("clicked.html")
    clicked.write_text(page.read_text().replace("</body>", CLICK))
    document, said = shown(clicked)
    assert not [line for line in said.splitlines() if "CONSOLE" in line]
    found = re.search(r"<title>clicked (\d+) (\d+)</title>", document)
    assert found and int(found[1]) > 0 and int(found[2]) > 0
