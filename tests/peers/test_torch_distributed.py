"""Programs of several processes on Gloo: those of `tests/distributed`, started by torchrun and by the environment."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import distributed_texts as texts
import numpy as np
import pytest

import xdsl_rlx as rlx


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDSL_RLX_NUM_THREADS": "2", "OMP_NUM_THREADS": "1"}


def written(text: str, folder: Path, timeout: float, engine: str = "gloo") -> str:
    script = folder / "program.py"
    begin = texts.BEGIN.format(engine=engine, timeout=timeout)
    script.write_text(begin.replace('"None"', "None") + text)
    return str(script)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def torchrun(
    text: str,
    folder: Path,
    processes: int = 2,
    timeout: float = 20,
    arguments: Sequence[str] = (),
    engine: str = "gloo",
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--master-port"]
    command += [str(free_port()), written(text, folder, timeout, engine), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(), check=False, cwd=folder, timeout=120
    )


PROGRAMS = ("VALUES", "OTHERS", "DERIVATIVES", "REDUCED_GRADIENTS", "SAME_AS_ONE", "BUCKETS")


@pytest.mark.parametrize(
    ("name", "processes"),
    [*((name, 2) for name in PROGRAMS), ("SAME_AS_ONE", 4), ("FIFTY_STEPS", 2), ("FIFTY_STEPS", 4)],
)
def test_collectives(name: str, processes: int, tmp_path: Path) -> None:
    done = torchrun(getattr(texts, name), tmp_path, processes)
    assert done.returncode == 0 and done.stdout.count("fine") == processes, done.stderr


def test_three_processes_that_torchrun_has_started_need_no_name_of_an_engine(tmp_path: Path) -> None:
    done = torchrun(texts.VALUES + texts.OTHERS, tmp_path, 3, engine="None")
    assert done.returncode == 0 and done.stdout.count("fine") == 6, done.stderr


def test_states_are_divided_and_files_written_once(tmp_path: Path) -> None:
    settings = f"optim = rlx.optim\nOPTIMISERS = ({texts.ELEMENTWISE[-1]},)\n"
    done = torchrun(settings + texts.SHARDED_STATES, tmp_path, arguments=[str(tmp_path)])
    assert done.returncode == 0 and done.stdout.count("fine") == 2, done.stderr
    (tmp_path / "state.safetensors").unlink()
    done = torchrun(texts.FILES, tmp_path, timeout=2, arguments=[str(tmp_path)])
    assert done.returncode == 0 and done.stdout.count("fine") == 2, done.stderr


def test_a_job_goes_on_with_more_processes_after_one_was_killed(tmp_path: Path) -> None:
    text = f"optimiser, reduce = {texts.SHARDED}\n{texts.TRAINING}"
    whole = f"optimiser, reduce = {texts.ADAMW}\n{texts.TRAINING}"
    alone = tmp_path / "alone"
    alone.mkdir()
    command = [sys.executable, written(whole, alone, 20, "None"), str(alone), ""]
    subprocess.run(command, env=environment(), check=True, capture_output=True, timeout=120)
    assert torchrun(text, tmp_path, timeout=5, arguments=[str(tmp_path), "killed"]).returncode != 0
    assert rlx.metadata(tmp_path / "state.safetensors")["batch"] == "2"
    done = torchrun(text, tmp_path, 3, arguments=[str(tmp_path), ""])
    assert done.returncode == 0 and done.stdout.count("fine") == 3, done.stderr
    found, expected = np.load(tmp_path / "end3.npz"), np.load(alone / "end1.npz")
    for name in expected.files:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-6)


def test_a_group_of_the_program_is_left_alone(tmp_path: Path) -> None:
    text = """
import torch
before = torch.ones(3)
torch.distributed.all_reduce(before)
assert (all_reduce(np.ones(3), "sum") == size).all() and (before == size).all()
torch.distributed.all_reduce(before)
assert (before == size * size).all()
torch.distributed.destroy_process_group()
print("fine", rank)
"""
    script = Path(written(text, tmp_path, 20, "None"))
    first = "import torch\ntorch.distributed.init_process_group('gloo')\n"
    script.write_text(first + script.read_text())
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port"]
    done = subprocess.run(
        [*command, str(free_port()), script], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 0 and done.stdout.count("fine") == 2, done.stderr


ORDER = """
# both are compiled, and agreed on, before one of them is called instead of the other
a, b = (rlx.compile(lambda x, n=n: all_reduce(x * 2)[:n]) for n in (3, 4))
x = np.ones(4, np.float32)
a(x), b(x)
for f in (a, b) if rank == 0 else (b, a):
    f(x)
"""

FAULTS = {
    "another shape": ("all_reduce(np.ones(3 + rank, np.float32))", "graph '_reduced' differs between processes"),
    "another op": ("all_reduce(np.ones(3), ['sum', 'max'][rank])", "graph '_reduced' differs between processes"),
    "another order": (ORDER, "process 0 of 2 runs another program than others at the same time"),
    "one raises": ("raise ValueError('the fault')", "DistributedError: process 0 of 2"),
    "one hangs": ("time.sleep(100)", "DistributedError: process 0 of 2 waited 2 s for the others"),
    "one is stopped": ("os.kill(os.getpid(), signal.SIGSTOP)", "process 0 of 2 waited 2 s for the others"),
    "one is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "DistributedError: process 0 of 2"),
    "one ends": ("os._exit(3)", "DistributedError: process 0 of 2"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_error_in_the_others(fault: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Before a minute is over; `--fault-turns` says how often each is tried, and prints how long they took."""
    text, message = FAULTS[fault]
    begin = (
        f"import pathlib, time\nif rank == 1: pathlib.Path({str(tmp_path / 'began')!r}).write_text(str(time.time()))\n"
    )
    if fault.startswith("another"):
        text = begin + text
    else:
        text = f"all_reduce(np.ones(3))\n{begin}if rank == 1: {text}\nall_reduce(np.ones(3))"
    script = written(text, tmp_path, timeout=2)
    turns, seconds = int(request.config.getoption("--fault-turns")), list[float]()
    for turn in range(turns):
        found = _error_of_the_first(script)
        seconds.append(time.time() - float((tmp_path / "began").read_text()))
        assert message in found, (turn, found)
    print(f"{fault}: {len(seconds)}/{turns}, at most {max(seconds):.1f} s")


def _error_of_the_first(script: str) -> str:
    """What the first of two processes writes before it ends, without torchrun, which would end it itself."""
    base = {**environment(), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    job = [
        subprocess.Popen([sys.executable, script], env={**base, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        _, found = job[0].communicate(timeout=60)
        assert job[0].returncode != 0, found
        return found
    finally:
        for one in job:
            one.kill()
            one.communicate()


def test_what_is_missing_is_named() -> None:
    text = "import xdsl_rlx as rlx; rlx.distributed.init('gloo')"
    without = {name: value for name, value in environment().items() if name != "RANK"}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=without, check=False)
    assert "engine 'gloo' needs RANK in the environment: start the program by torchrun, or set RANK" in done.stderr
