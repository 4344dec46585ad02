"""Races of threads and forks, in processes of their own: as many tries as `--fuzz-cases` says, or a third of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import xdsl_rlx as rlx

TRIES_PER_PROCESS = 50
ONE_IN = {"first_set": 3, "first_compile": 3, "first_use": 3}
"""Of as many as `--fuzz-cases` says."""
MOST = {"first_compile": 1, "first_use": 2}
"""Tries of one test where `make test` runs few: tests/test_forks.py has another of the first."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "attack" in metafunc.fixturenames:
        cases = metafunc.config.getoption("--fuzz-cases")
        rows = list[tuple[str, int]]()
        for name, one_in in ONE_IN.items():
            tries = cases // one_in if cases > 60 else MOST.get(name, cases // one_in)
            rows += [(name, min(TRIES_PER_PROCESS, tries - first)) for first in range(0, tries, TRIES_PER_PROCESS)]
        metafunc.parametrize(("attack", "tries"), rows)


def test_no_race_is_lost(attack: str, tries: int, tmp_path: Path):
    script = Path(__file__).parents[1] / "race_texts.py"
    environment = os.environ | {"PYTHONPATH": str(Path(rlx.__file__).parents[1]), "XDSL_RLX_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, script, attack, str(tries)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stderr}"
