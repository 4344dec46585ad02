"""Changed lir texts, compiled as any text is: what still verifies runs without a signal, inside of its buffers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CASES_PER_PROCESS = 30
ONE_IN = 4
"""Of as many seeds as `--fuzz-cases` says: each is compiled."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_lir_text" in metafunc.fixturenames:
        # the first two are refused
        cases = max(metafunc.config.getoption("--fuzz-cases") // ONE_IN, 3)
        starts = range(0, cases, CASES_PER_PROCESS)
        metafunc.parametrize(("first_lir_text", "stop"), [(n, min(n + CASES_PER_PROCESS, cases)) for n in starts])


def test_what_verifies_runs_inside_of_its_buffers(first_lir_text: int, stop: int) -> None:
    script = Path(__file__).with_name("lir_texts.py")
    path = os.pathsep.join([str(script.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    # without being asked: what comes as text has checks
    environment = os.environ | {"XDSL_RLX_CHECK": "0", "PYTHONPATH": path}
    ran = 0
    first = first_lir_text
    while first < stop:
        done = subprocess.run(
            [sys.executable, script, str(first), str(stop)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        assert not any(line.endswith("wrote elsewhere") for line in lines), done.stdout
        ran += sum(" ran" in line or " checked" in line for line in lines)
        last = int(lines[-1].split()[0])
        # a loop that became endless is ended, and the next seed gets a new process
        assert done.returncode in (0, -signal.SIGPROF), f"seed {last}: status {done.returncode}\n{done.stderr}"
        first = last + 1
    assert ran > 0
