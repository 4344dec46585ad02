"""Jobs of several processes under the `mpiexec` of an environment, with programs given as text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from distributed_texts import BEGIN

ENDED_BY_LAUNCHER = ("APPLICATION TIMED OUT", "time limit for job execution has been reached")
"""What the launchers of MPICH and Open MPI say of a job that hangs."""


def run_job(
    text: str,
    folder: Path,
    python: str,
    processes: int = 2,
    timeout: float = 20,
    arguments: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """
    Run a program in several processes and return what they print; their working directory is the folder.

    A launcher ends a job that hangs, after a minute, and says so: `ENDED_BY_LAUNCHER`.
    `python` is that of the environment whose MPI is used.
    """
    script = folder / "program.py"
    script.write_text(BEGIN.format(engine="mpi", timeout=timeout) + text)
    return run_script([str(script), *arguments], folder, python, processes)


def in_one_job(texts: Sequence[str]) -> str:
    """One program of several, each with names of its own: starting a job takes longer than most of them."""
    return "".join(f"exec(compile({text!r}, 'program', 'exec'), dict(globals()))\n" for text in texts)


def run_script(
    command: Sequence[str], folder: Path, python: str, processes: int = 2
) -> subprocess.CompletedProcess[str]:
    """Run a file of Python with its arguments in several processes, or in one without a launcher."""
    # Open MPI: no root, no more processes than cores, and pinned ones, by default
    options = ["--oversubscribe", "--bind-to", "none"] if is_open_mpi(python) else []
    launcher = [str(Path(python).parent / "mpiexec"), *options, "-n", str(processes)] if processes > 1 else []
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path) if python == sys.executable else _sources(),
        "XDSL_RLX_NUM_THREADS": "1",
        "MPIEXEC_TIMEOUT": "60",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    return subprocess.run(
        [*launcher, python, *command],
        capture_output=True,
        text=True,
        env=variables,
        check=False,
        cwd=folder,
        timeout=90,
    )


def is_open_mpi(python: str) -> bool:
    """Whether the MPI of an environment is Open MPI."""
    return (Path(python).parent / "ompi_info").exists()


def _sources() -> str:
    return str(Path(__file__).resolve().parent.parent / "src")
