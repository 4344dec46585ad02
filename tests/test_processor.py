"""Runs of a small test by `DefectiveProcessor`, on processors that are said to divide rightly or wrongly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processor import TRIES, VERDICT

CONFTEST = """
import itertools, pathlib, sys
sys.path.insert(0, {tests!r})
import processor
processor.SECONDS_OF_LOOKING = processor.SECONDS_OF_WAITING = 0.01
looks = itertools.count()

def pytest_configure(config):
    found = pathlib.Path({folder!r}) / "found"
    config.pluginmanager.register(processor.DefectiveProcessor(lambda: found, lambda: {wrong}))
"""
TEST = """
import pathlib
import pytest

@pytest.fixture(scope="session")
def once():
    return []

def test(once):
    runs = pathlib.Path({folder!r}) / "runs"
    with runs.open("a") as file:
        file.write(".")
    assert not once
    once.append(1)
    assert len(runs.read_text()) > {failures}
"""


@pytest.mark.parametrize(
    ("wrong", "failures", "runs", "passes"),
    [
        ("False", 1, 1, False),
        ("next(looks) == 4", 1, 2, True),
        ("next(looks) == 4", VERDICT, VERDICT, False),
        ("True", TRIES - 1, TRIES, True),
    ],
)
def test_failures_count_where_quotients_are_right(
    tmp_path: Path, wrong: str, failures: int, runs: int, passes: bool
) -> None:
    names = {"tests": str(Path(__file__).parent), "folder": str(tmp_path), "wrong": wrong, "failures": failures}
    (tmp_path / "conftest.py").write_text(CONFTEST.format(**names))
    (tmp_path / "test_it.py").write_text(TEST.format(**names))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == (0 if passes else 1), done.stdout + done.stderr
    assert len((tmp_path / "runs").read_text()) == runs
    assert done.stdout.count("test_it.py::test\n") >= runs - 1
    assert ("divides float64 vectors wrongly" in done.stdout) == (wrong != "False")
