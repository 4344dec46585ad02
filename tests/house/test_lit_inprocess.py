"""The in-process runner itself: it must fail where lit would fail, or every FileCheck test is worth nothing."""

import shlex
import subprocess
import sys
from pathlib import Path

import lit_inprocess
import pytest

INPUT = """
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  func.return %b : i32
}
// CHECK-LABEL: func.func @f
// CHECK-NEXT: arith.addi
// WRONG: arith.muli
// BROKEN-NOT: zzz
"""

PASSING = [
    "xdsl-opt %s | filecheck %s",
    "xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s",
    "xdsl-opt %s -p 'canonicalize,cse' | filecheck %s",
    "not xdsl-opt %s -p no-such-pass 2>&1 | filecheck %S/errors.txt",
    "not filecheck %s --check-prefix=WRONG",
    "xdsl-opt %s > %t",
    "cat %s | xdsl-opt | filecheck %s",
    "ROUNDTRIP",
]
FAILING = [
    "xdsl-opt %s | filecheck %s --check-prefix=WRONG",
    "xdsl-opt %s | filecheck %s --check-prefix=ABSENT",
    "xdsl-opt %s -p no-such-pass | filecheck %s --check-prefix=BROKEN --allow-empty",
    "not xdsl-opt %s | filecheck %s",
    "false | xdsl-opt %s | filecheck %s",
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A FileCheck file that is right but for its prefix WRONG."""
    (tmp_path / "errors.txt").write_text("CHECK: no-such-pass\n")
    path = tmp_path / "case.mlir"
    path.write_text(INPUT)
    return path


@pytest.mark.parametrize("line", PASSING)
def test_right_lines_pass(line: str, source: Path, tmp_path: Path) -> None:
    assert lit_inprocess.run(line, source, tmp_path / "temporary") is None


@pytest.mark.parametrize("line", FAILING)
def test_wrong_lines_fail(line: str, source: Path, tmp_path: Path) -> None:
    assert lit_inprocess.run(line, source, tmp_path / "temporary") is not None


def test_continued_lines_are_joined(source: Path) -> None:
    source.write_text("// RUN: xdsl-opt %s \\\n// RUN:   -p cse | filecheck %s\n// RUN: xdsl-opt %s\n")
    lines = [shlex.split(line) for line in lit_inprocess.run_lines(source)]
    assert lines == [["xdsl-opt", "%s", "-p", "cse", "|", "filecheck", "%s"], ["xdsl-opt", "%s"]]


def test_verification_survives_a_run_that_switched_it_off(source: Path, tmp_path: Path) -> None:
    assert lit_inprocess.run("xdsl-opt %s --disable-verify", source, tmp_path / "temporary") is None
    source.write_text("func.func @f(%a: vector<-1xi32>) { func.return }")
    assert lit_inprocess.run("not xdsl-opt %s", source, tmp_path / "temporary") is None


def test_lit_itself_agrees(source: Path, tmp_path: Path) -> None:
    """Real lit, with the project's own configuration, judges each line as the runner does."""
    root = Path(lit_inprocess.ROOT)
    (tmp_path / "lit.cfg").write_text((root / "lit.cfg").read_text())
    for index, line in enumerate([*PASSING, *FAILING]):
        (tmp_path / f"{index}.mlir").write_text(f"// RUN: {line}\n{INPUT}")
    source.unlink()
    done = subprocess.run(
        [Path(sys.executable).parent / "lit", "-v", "--workers", "2", tmp_path], capture_output=True, text=True
    )
    failed = {
        line.split("::")[1].split(".")[0].strip() for line in done.stdout.splitlines() if line.startswith("FAIL:")
    }
    assert failed == {str(index) for index in range(len(PASSING), len(PASSING) + len(FAILING))}, done.stdout
