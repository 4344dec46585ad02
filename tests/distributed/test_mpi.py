"""Programs of two processes under `mpiexec`: values and derivatives. Faults are in `test_faults.py`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import distributed_texts as texts
import numpy as np
import pytest
from levels import EVERY
from mpi_jobs import in_one_job, run_job

import xdsl_rlx as rlx

PROGRAMS = ("VALUES", "OTHERS", "DERIVATIVES", "REDUCED_GRADIENTS", "SAME_AS_ONE")


@pytest.mark.parametrize("processes", [2, 4] if EVERY else [2])
def test_all_reduce(processes: int, mpi_python: str, tmp_path: Path) -> None:
    """Four processes train as one does in test_overlap.py, too."""
    done = run_job(in_one_job([getattr(texts, name) for name in PROGRAMS]), tmp_path, mpi_python, processes)
    assert done.returncode == 0, done.stderr
    # lines of processes may run into each other
    assert done.stdout.count("fine") == processes * len(PROGRAMS)


def test_files_are_written_by_one_process_and_read_by_all(mpi_python: str, tmp_path: Path) -> None:
    done = run_job(texts.FILES, tmp_path, mpi_python, timeout=2, arguments=[str(tmp_path)])
    assert done.returncode == 0 and done.stdout.count("fine") == 2, done.stderr


def test_a_file_that_one_process_alone_saves_is_an_error(mpi_python: str, tmp_path: Path) -> None:
    text = f"if rank == 0: rlx.save({str(tmp_path / 'file')!r}, np.ones(3))\nelse: time.sleep(9)"
    done = run_job(text, tmp_path, mpi_python, timeout=1)
    assert done.returncode != 0
    assert "save: all processes take part in it, not one alone: process 0 of 2 waited 1 s" in done.stderr


def train(
    text: str, folder: Path, python: str, processes: int, killed: bool = False
) -> dict[str, np.ndarray[Any, Any]] | None:
    """The weights at the end, unless a process is killed on the way."""
    done = run_job(text, folder, python, processes, arguments=[str(folder), "killed" if killed else ""])
    assert (done.returncode != 0) == killed, done.stderr
    return None if killed else dict(np.load(folder / f"end{processes}.npz"))


@pytest.fixture(scope="module")
def uninterrupted(mpi_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray[Any, Any]] | None:
    """The weights of one process that nothing stops."""
    return train(
        f"optimiser, reduce = {texts.ADAMW}\n{texts.TRAINING}", tmp_path_factory.mktemp("alone"), mpi_python, 1
    )


@pytest.mark.parametrize(
    ("settings", "processes"),
    [(settings, count) for settings in (texts.ADAMW, texts.SHARDED) for count in (1, 3, 4)]
    if EVERY
    else [(texts.SHARDED, 3)],
)
def test_a_job_goes_on_with_any_number_of_processes_after_one_was_killed(
    settings: str,
    processes: int,
    mpi_python: str,
    tmp_path: Path,
    uninterrupted: dict[str, np.ndarray[Any, Any]],
) -> None:
    text = f"optimiser, reduce = {settings}\n{texts.TRAINING}"
    train(text, tmp_path, mpi_python, 2, killed=True)
    assert rlx.metadata(tmp_path / "state.safetensors")["batch"] == "2"
    found = train(text, tmp_path, mpi_python, processes)
    assert found is not None and found.keys() == uninterrupted.keys()
    for name, weights in uninterrupted.items():
        assert np.allclose(found[name], weights, rtol=1e-4, atol=1e-6), name


@pytest.mark.parametrize("processes", [2, 4])
def test_a_divided_state_trains_as_a_whole_one(processes: int, mpi_python: str, tmp_path: Path) -> None:
    """Two optimisers in two processes and one in four; with EVERY_SAMPLE, all in two and two in four."""
    in_two = texts.ELEMENTWISE if EVERY else texts.ELEMENTWISE[1::7]
    optimisers = in_two if processes == 2 else texts.ELEMENTWISE[-2 if EVERY else -1 :]
    settings = f"optim = rlx.optim\nOPTIMISERS = ({', '.join(optimisers)},)\n"
    done = run_job(settings + texts.SHARDED_STATES, tmp_path, mpi_python, processes, arguments=[str(tmp_path)])
    assert done.returncode == 0 and done.stdout.count("fine") == processes, done.stderr


def test_one_process_needs_no_launcher() -> None:
    text = "import numpy as np, xdsl_rlx as rlx; rlx.distributed.init(); print(rlx.distributed.all_reduce(np.ones(2)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[1. 1.]\n"
