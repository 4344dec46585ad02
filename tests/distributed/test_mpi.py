"""Programs of two processes under `mpiexec`: values, derivatives, and an error on every process where one fails."""

import os
import subprocess
import sys
from pathlib import Path

import distributed_texts as texts
import pytest

MPIEXEC = Path(sys.executable).parent / "mpiexec"


def run(text: str, folder: Path, processes: int = 2, timeout: float = 20) -> "subprocess.CompletedProcess[str]":
    """The program in several processes; a job that hangs is ended by its launcher."""
    script = folder / "program.py"
    script.write_text(texts.BEGIN.format(engine="mpi", timeout=timeout) + text)
    command = [MPIEXEC, "-n", str(processes), sys.executable, script]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDSL_RLX_NUM_THREADS": "1",
        "MPIEXEC_TIMEOUT": "60",
    }
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("name", ["VALUES", "OTHERS", "DERIVATIVES", "REDUCED_GRADIENTS", "SAME_AS_ONE"])
def test_all_reduce(name: str, processes: int, tmp_path: Path) -> None:
    done = run(getattr(texts, name), tmp_path, processes)
    assert done.returncode == 0, done.stderr
    # lines of processes may run into each other
    assert done.stdout.count("fine") == processes


FAULTS = {
    "another program": ("all_reduce(np.ones(3 + rank, np.float32))", "graph '_reduced' differs between processes"),
    "another op": ("all_reduce(np.ones(3), ['sum', 'max'][rank])", "graph '_reduced' differs between processes"),
    "one raises": ("raise ValueError('the fault')", "ValueError: the fault"),
    "one hangs": ("time.sleep(100)", "DistributedError: process 0 of 2 waited 2 s for the others"),
    "one is stopped": ("os.kill(os.getpid(), signal.SIGSTOP)", "process 0 of 2 waited 2 s for the others"),
    "one is killed": ("os.kill(os.getpid(), signal.SIGKILL)", ""),
    "one ends": ("os._exit(3)", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_all_processes(fault: str, tmp_path: Path) -> None:
    text, message = FAULTS[fault]
    if not fault.startswith("another"):
        text = f"all_reduce(np.ones(3))\nif rank == 1: {text}\nall_reduce(np.ones(3))"
    done = run(text, tmp_path, timeout=2)
    assert done.returncode != 0 and message in done.stderr, (done.returncode, done.stderr)
    # the launcher ends a job that hangs after a minute, and says so
    assert "timeout" not in done.stderr.lower()


def test_one_process_needs_no_launcher() -> None:
    text = "import numpy as np, xdsl_rlx as rlx; rlx.distributed.init(); print(rlx.distributed.all_reduce(np.ones(2)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[1. 1.]\n"
