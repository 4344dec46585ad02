"""Faults of one process of two: the job ends with an error before its launcher ends it, and no file that was written is
damaged.

`--fault-turns` says how often each is tried, and prints how long they took.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from levels import EVERY
from mpi_jobs import ENDED_BY_LAUNCHER, run_job, run_script

import xdsl_rlx as rlx

TIMEOUT = 2
PATIENCE = 60
"""Seconds after which a process counts as one that nothing ends."""

STEPS = """
import random, threading

def loss(params, x):
    for n in range(4):
        x = np.tanh(x @ params[f"w{n}"])
    return (x ** 2).mean()

def step(params, x):
    value, grads = rlx.value_and_grad(loss)(params, x)
    value, grads = all_reduce((value, grads))
    return value, rlx.tree.map(lambda p, g: p - 0.1 * g, params, grads)

def begin():
    pathlib.Path("began").write_text(str(time.time()))

def later(function, *arguments):
    # at any time, also in the middle of a step
    def run():
        begin()
        function(*arguments)
    threading.Timer(random.uniform(0, 0.1), run).start()

step = with_costs("bucket_bytes = 9000", step)
params = {f"w{n}": np.full((48, 48), 0.1, np.float32) for n in range(4)}
x = np.ones((16, 48), np.float32)
"""

LOOP = """
for n in range(1_000_000):
    value, params = step(params, x)
    if n % 8 == 0:
        rlx.save("state.safetensors", {**params, "sum": sum(p.astype(np.float64).sum() for p in params.values())})
    if n == 16 and rank == 1:
        FAULT
"""

OTHER_VERSION = """
import importlib.metadata
version = importlib.metadata.version
if rank == 1:
    importlib.metadata.version = lambda name: "0" if name == "numba" else version(name)
"""

HANGS_AT_EXIT = """
import ctypes
process = ctypes.CDLL(None)
process.__cxa_atexit(process.pause, None, None)
"""

ORDER = """
# both are compiled, and agreed on, before one of them is called instead of the other
a, b = (rlx.compile(lambda x, op=op: all_reduce(x, op)) for op in ("sum", "max"))
x = np.ones(4, np.float32)
a(x), b(x)
pathlib.Path("began").write_text(str(time.time()))
for f in (a, b) if rank == 0 else (b, a):
    f(x)
"""

KEYS = "differs between processes (this one is "
WAITED = "process 0 of 2 waited 2 s for the others in a collective"
BEGIN = "if rank == 1: begin()\n"
FAULTS = {
    "another shape": (STEPS + BEGIN + "step(params, np.ones((16 + rank, 48), np.float32))", KEYS),
    "another program": (STEPS + BEGIN + "if rank == 1: loss = lambda p, x: (x @ p['w0']).sum()\n" + LOOP, KEYS),
    "another op": (STEPS + BEGIN + "all_reduce(np.ones(3), ['sum', 'max'][rank])", KEYS),
    "another version": (OTHER_VERSION + STEPS + BEGIN + LOOP, KEYS),
    "another order": (ORDER, "runs another program than others at the same time"),
    "raises": (STEPS + LOOP.replace("FAULT", "begin(); raise ValueError('the fault')"), "ValueError: the fault"),
    "hangs": (STEPS + LOOP.replace("FAULT", "begin(); time.sleep(100)"), WAITED),
    "ends": (STEPS + LOOP.replace("FAULT", "begin(); os._exit(3)"), ""),
    "is killed": (STEPS + LOOP.replace("FAULT", "later(os.kill, os.getpid(), signal.SIGKILL)"), ""),
    "is stopped": (STEPS + LOOP.replace("FAULT", "later(os.kill, os.getpid(), signal.SIGSTOP)"), WAITED),
    "is stopped, others hang at exit": (
        HANGS_AT_EXIT + STEPS + LOOP.replace("FAULT", "later(os.kill, os.getpid(), signal.SIGSTOP)"),
        WAITED,
    ),
}
"""Programs of which one process is at fault, and the error of the other; none where the launcher ends it first."""

LIKE_OTHERS = {"another shape", "another op", "ends", "is stopped"}
"""Faults that `make test` leaves out: keys that differ as those of "another program" do, a process that is gone as one
that is killed is, and one that is stopped as another is. EVERY_SAMPLE and `make faults` have them."""


@pytest.fixture
def turns(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("--fault-turns")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fault" in metafunc.fixturenames:
        every = EVERY or metafunc.config.getoption("--fault-turns") > 1
        metafunc.parametrize("fault", [name for name in FAULTS if every or name not in LIKE_OTHERS])


def test_a_fault_ends_all_processes(fault: str, turns: int, mpi_python: str, tmp_path: Path) -> None:
    text, message = FAULTS[fault]
    seconds: list[float] = []
    for turn in range(turns):
        folder = tmp_path / str(turn)
        folder.mkdir()
        done = run_job(text, folder, mpi_python, timeout=TIMEOUT)
        seconds.append(time.time() - float((folder / "began").read_text()))
        assert done.returncode != 0 and message in done.stderr, (turn, done.returncode, done.stderr)
        assert not any(words in done.stdout + done.stderr for words in ENDED_BY_LAUNCHER), (turn, done.stderr)
        _check_file(folder / "state.safetensors")
        _wait_for_the_end(folder)
    print(f"{fault}: {len(seconds)}/{turns}, at most {max(seconds):.1f} s")


ENDS = """
import os, sys, threading
from xdsl_rlx.distributed import mpi

reader, writer = os.pipe()
os.dup2(writer, 2)
read = []

class World:
    def Abort(self, status):
        print(read, status)

os.write(2, b"the error")
threading.Timer(0.2, lambda: read.append(os.read(reader, 99))).start()
mpi.end_all(World())
os.write(2, b"which nobody reads")
mpi.end_all(World())
sys.stderr.close()
mpi.end_all(World())
"""


def test_a_job_ends_when_the_error_was_read_or_nobody_reads_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ENDS)
    done = run_script([str(tmp_path / "program.py")], tmp_path, sys.executable, processes=1)
    assert done.stdout.splitlines() == ["[b'the error'] 1"] * 3, done.stderr


def _check_file(path: Path) -> None:
    """What was saved last is whole, wherever the fault was."""
    if path.exists():
        saved = rlx.load(path)
        total = sum(x.astype(np.float64).sum() for name, x in saved.items() if name != "sum")
        assert total == saved["sum"]


def _wait_for_the_end(folder: Path) -> None:
    """Return when no process runs a program of a folder: a launcher ends as soon as it has killed the others."""
    end = time.monotonic() + PATIENCE
    while running := _running(folder):
        assert time.monotonic() < end, running
        time.sleep(0.01)


def _running(folder: Path) -> list[str]:
    """The processes that still run a program of a folder."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(folder / "program.py") in command:
                found.append(entry.name)
    return found
