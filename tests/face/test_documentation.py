"""The pages for users: their programs run and print what the pages say."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, fenced, run_blocks

PAGES = [
    "docs/architecture.md",
    "docs/index.md",
    "docs/getting-started.md",
    "docs/numpy-programs.md",
    "docs/semantics.md",
    *(f"docs/howto/{page.name}" for page in sorted((ROOT / "docs/howto").glob("*.md"))),
]


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_print_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # they may write files
    monkeypatch.chdir(tmp_path)
    run_blocks(page)


def test_the_passes_of_the_page_are_a_plugin_of_xdsl_opt(tmp_path: Path):
    page = "docs/howto/write-a-pass.md"
    for name, language in {"acme_passes.py": "python", "pyproject.toml": "toml", "layer.mlir": "mlir"}.items():
        (tmp_path / name).write_text(fenced(page, language)[0])
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--target", "site", "."]
    subprocess.run(install, cwd=tmp_path, capture_output=True, check=True)
    tool, *options = shlex.split(fenced(page, "sh")[0])
    path = os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [str(Path(sys.executable).parent / tool), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == fenced(page, "text")[-1].strip(), done.stderr
