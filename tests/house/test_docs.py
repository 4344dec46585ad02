"""The pages say what is so: reference pages are those of the docstrings, commands and programs run as printed."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lit_inprocess import Finished, in_process
from pages import fenced, run_blocks

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernel_dsl import Iteration

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_of_the_readme_runs() -> None:
    names = run_blocks("README.md")
    np.testing.assert_allclose(names["w"], names["target"], atol=1e-2)


def test_the_programs_of_the_page_of_graphs_run() -> None:
    names = run_blocks("docs/graphs.md")
    np.testing.assert_array_equal(names["dw"], np.full((3, 2), 4.0, np.float32))
    length, begin = np.full(100, 0.5), np.linspace(0, 2, 100)
    above, below = (in_numpy(length + sign * 1e-6, begin) for sign in (1, -1))
    assert abs(names["mean"] - in_numpy(length, begin)) < 1e-5
    assert 0 < names["value"] < 10
    assert abs(names["d_length"].sum() - (above - below) / 2e-6) < 1e-3


def in_numpy(length: np.ndarray, begin: np.ndarray) -> float:
    """The mean square angle of the pendulums of docs/graphs.md."""
    angle, speed, squares = begin, np.zeros(100), list[np.ndarray]()
    for _ in range(1000):
        speed = speed - 0.01 * 9.81 / length * np.sin(angle)
        angle = angle + 0.01 * speed
        squares.append(angle**2)
    return float(np.mean(squares))


def test_the_links_of_the_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target, place in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text()):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name} links to {target}, which does not exist"
            assert not place or place in _anchors(file), (
                f"{page.name} links to {target}#{place}, which has no such part"
            )


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == rlx.__version__


def _anchors(page: Path) -> set[str]:
    """What headings are called in links, by GitHub and on the site."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_names_that_the_pages_mention_exist() -> None:
    modules = {"rlx": rlx, "rlx.tree": rlx.tree, "optim": rlx.optim, "init": rlx.init}
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for module, name in re.findall(r"(?<![\w-])(rlx\.tree|rlx|optim|init)\.(\w+)", page.read_text()):
            assert hasattr(modules[module], name), f"{page.name} mentions {module}.{name}, which does not exist"


COMMANDS = [
    command
    for page in ("README.md", "docs/command-line.md", "docs/howto/profile.md")
    for block in fenced(page, "sh")
    for command in block.replace("\\\n", "").splitlines()
    if command.startswith("xdsl-opt")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_pages_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one as a process."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command, comments=True)
    if command == COMMANDS[0]:
        tool = str(Path(sys.executable).parent / words[0])
        process = subprocess.run([tool, *words[1:]], capture_output=True, text=True)
        done = Finished(process.returncode, process.stdout, process.stderr)
    else:
        done = in_process(words, "")
    assert done.status == 0, done.err
    if "-o" in words:
        written, target = (tmp_path / words[words.index("-o") + 1]).read_text(), words[words.index("-t") + 1]
        assert ("<!doctype html>" if target == "html" else "Printed by xdsl-rlx") in written
        if "numba" in target:
            compile(written, "written", "exec")
    else:
        rlx.parse(done.out)


def test_the_custom_ops_of_the_docs_run() -> None:
    names = run_blocks("docs/custom-ops.md")
    x = np.linspace(-2, 2, 8, dtype=np.float32)
    size = np.abs(x)
    huber = np.where(size <= 0.5, x * x / 2, (size - 0.25) / 2).mean()
    slope = np.clip(x, -0.5, 0.5) / 8
    loss, dx = rlx.compile(rlx.grad_with_loss(names["g"], wrt=["x"]))(x)
    np.testing.assert_allclose(loss, huber, rtol=1e-6)
    np.testing.assert_allclose(dx, slope, rtol=1e-6)

    g = rlx.Graph("ste")
    x_in = g.input("x", (8,))
    g.set_outputs([g.reduce_sum(names["ste"](x_in) * x_in)])
    loss, dx = rlx.compile(rlx.grad_with_loss(g, wrt=["x"]))(x)
    np.testing.assert_allclose(loss, (np.rint(x) * x).sum(), rtol=1e-6)
    np.testing.assert_allclose(dx, np.rint(x) + x, rtol=1e-6)

    g, x = rlx.Graph("nests"), np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    x_in = g.input("x", (5, 7))
    g.set_outputs(
        [names["blur"](x_in), names["histogram"](x_in, bins=3, low=-1.5, high=1.5), names["smoothed"](x_in, decay=0.5)]
    )
    blurred, counts, smooth = rlx.compile(g)(x)
    rims = np.pad(x, 1, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(rims, (3, 3))
    np.testing.assert_allclose(blurred, np.nanmean(windows, axis=(2, 3)), rtol=1e-5)
    np.testing.assert_array_equal(counts, [np.histogram(row, 3, (-1.5, 1.5))[0] for row in x])
    state = np.zeros(5)
    for t in range(7):
        state = 0.5 * state + 0.5 * x[:, t]
        np.testing.assert_allclose(smooth[:, t], state, rtol=1e-5, atol=1e-6)
    as_python = np.zeros_like(x)
    for index in range(5):
        names["blur"].function(Iteration(index), x, as_python)
    np.testing.assert_allclose(blurred, as_python, rtol=1e-6)

    h = rlx.Graph("gradient")
    h.set_outputs([h.reduce_sum(names["smoothed"](h.input("x", (5, 7)), decay=0.5) * 1.0)])
    (dx,) = rlx.compile(rlx.grad(h, wrt=["x"]))(x)
    slope = np.tile(1 - 0.5 ** np.arange(7, 0, -1), (5, 1))
    np.testing.assert_allclose(dx, slope, rtol=1e-6)
    np.testing.assert_allclose(rlx.grad(lambda x: names["smoothed"](x, decay=0.5).sum())(x), slope, rtol=1e-6)
    by_default = rlx.grad(lambda x: names["smoothed"](x).sum())(x)
    np.testing.assert_allclose(by_default[0, 0], 1 - 0.9**7, rtol=1e-6)
