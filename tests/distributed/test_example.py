"""The example of several processes: alone and as a job, with the same weights, and from the file of another job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mpi_jobs import run_script
from pages import fenced

import xdsl_rlx as rlx

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed_digits.py"


def run(folder: Path, python: str, processes: int, epochs: int) -> tuple[str, dict[str, Any]]:
    """What the example prints, and the state that it has saved."""
    command = [str(EXAMPLE), "--epochs", str(epochs), "--output", str(folder)]
    done = run_script(command, folder.parent, python, processes)
    assert done.returncode == 0, done.stderr
    # one line for all processes
    assert done.stdout.count("of unseen digits") == 1 and done.stderr.count("\n") <= epochs, (done.stdout, done.stderr)
    return done.stdout, rlx.load(folder / "state.safetensors")


def test_two_processes_train_as_one_does_and_go_on_from_its_file(mpi_python: str, tmp_path: Path) -> None:
    said, alone = run(tmp_path / "alone", mpi_python, 1, 3)
    assert said.startswith("1 processes: ")
    said, both = run(tmp_path / "both", mpi_python, 2, 2)
    assert said.startswith("2 processes: ")
    # the file of two processes, and that of one, go on with the other number
    said, both = run(tmp_path / "both", mpi_python, 1, 3)
    for name, array in alone.items():
        assert np.allclose(both[name], array, rtol=1e-3, atol=1e-5), name


def test_the_programs_of_the_page_print_in_a_job_what_it_says(mpi_python: str, tmp_path: Path) -> None:
    page = "docs/howto/distributed.md"
    script = tmp_path / "page.py"
    script.write_text("".join(fenced(page, "python")[:2]))
    done = run_script([str(script)], tmp_path, mpi_python)
    assert done.stdout == "".join(fenced(page, "text")[:2]), done.stderr
