"""
Every RUN line under tests/filecheck as one test, run in this process.

`lit` runs lines of every kind as real commands in `make test`, all of them in `make fuzz`.
"""

import re
import subprocess
import sys
from pathlib import Path

import lit_inprocess
import pytest

FILES = Path(__file__).parent / "filecheck"
CASES = [
    pytest.param(path, line, id=f"{path.relative_to(FILES)}:{number}")
    for path in sorted(FILES.rglob("*.mlir"))
    for number, line in enumerate(lit_inprocess.run_lines(path), 1)
]


@pytest.mark.parametrize(("path", "line"), CASES)
def test_run_line_succeeds(path: Path, line: str, tmp_path: Path) -> None:
    failure = lit_inprocess.run(line, path, tmp_path / path.name)
    if failure is not None:
        pytest.fail(failure, pytrace=False)


def test_every_file_has_a_run_line() -> None:
    silent = [str(path.relative_to(FILES)) for path in FILES.rglob("*.mlir") if not lit_inprocess.run_lines(path)]
    assert not silent, f"no RUN line in {silent}"


def test_lit_finds_every_file() -> None:
    command = [Path(sys.executable).parent / "lit", "--show-tests", FILES]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lost = [name for path in sorted(FILES.rglob("*.mlir")) if (name := str(path.relative_to(FILES))) not in listed]
    assert not lost, f"lit.cfg hides {lost} from lit"


def kind_of(line: str) -> str:
    """The programs of a RUN line with the options of each, in any order; what is checked differs from file to file."""
    kinds = list[str]()
    for program in line.split(" | "):
        words = [word.split("=")[0] for word in program.split() if re.match(r"-|2>|>|[A-Z]+$|not$|xdsl-opt$", word)]
        kinds.append(" ".join(sorted(words)) if "filecheck" not in program.split() else "filecheck")
    return " | ".join(kinds)


def test_make_test_gives_lit_a_line_of_every_kind() -> None:
    listed = re.search(r"^SMOKE := ((?:.*\\\n)*.*)", (FILES.parents[1] / "Makefile").read_text(), re.MULTILINE)
    assert listed
    smoke = [FILES / f"{name}.mlir" for name in listed[1].replace("\\", " ").split()]
    covered = {kind_of(line) for path in smoke for line in lit_inprocess.run_lines(path)}
    every = {kind_of(line): str(path) for path in FILES.rglob("*.mlir") for line in lit_inprocess.run_lines(path)}
    lost = {kind: path for kind, path in every.items() if kind not in covered}
    assert not lost, f"the Makefile's SMOKE lacks {lost}"
