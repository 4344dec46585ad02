"""
The thread pools of PyTorch and of this package in one process: does one keep the cores from the other?

Each row times a compiled program (a), an operation of PyTorch (b), and both in turn (a b), on `--threads` threads:
minima of interleaved rounds. The ratio (a b) / (a + b) is 1 where neither pool is in the way of the other. That of
the time of all cores is above 1 if idle threads of one pool wait busily while the other computes. Rows "at once" run
both in two Python threads: their ratio is 1 if they share the cores fairly.
"""

# Objects of torch.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import xdsl_rlx as rlx
from xdsl_rlx.frontends.hosts.torch_threads import calm_openmp

SIZES = (64, 256, 512)


def _program(x: Any) -> Any:
    return np.tanh(x @ x * np.float32(1e-3))


def repeated(run: Callable[[], object], times: int) -> Callable[[], None]:
    """A function that calls another one `times` times."""

    def call() -> None:
        for _ in range(times):
            run()

    return call


def at_once(*runs: Callable[[], None]) -> Callable[[], None]:
    """A function that calls others in a Python thread each."""

    def call() -> None:
        threads = [threading.Thread(target=run) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return call


def timed(run: Callable[[], None]) -> tuple[float, float]:
    """The time that passes, and that of all cores."""
    began, used = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - began, time.process_time() - used


def rows(threads: int, rounds: int, calm: bool) -> Iterator[tuple[str, list[float], list[float]]]:
    """For each case the least times of (a), (b) and both, and those of all cores, by call."""
    torch.set_num_threads(threads)
    if calm:
        calm_openmp()
    for size in SIZES:
        x = np.ones((size, size), np.float32)
        t = torch.ones(size, size)
        program = rlx.compile(_program, threads=threads)

        def ours(program: Any = program, x: Any = x) -> object:
            return program(x)

        def theirs(t: Any = t) -> object:
            return torch.tanh(t @ t * 1e-3)

        def both(ours: Any = ours, theirs: Any = theirs) -> None:
            ours()
            theirs()

        both()
        times = max(1, int(4e5 / size**2))
        a, b = repeated(ours, times), repeated(theirs, times)
        for what, together in (("in turn", repeated(both, times)), ("at once", at_once(a, b))):
            found = [[timed(run) for run in (a, b, together)] for _ in range(rounds)]
            wall, cores = ([min(one[n][k] for one in found) / times for n in range(3)] for k in range(2))
            yield f"{size} x {size}, {what}", wall, cores


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--as-is", action="store_true", help="leave the idle threads of OpenMP as they are")
    options = parser.parse_args()
    print(f"{'':24}{'a us':>10}{'b us':>10}{'a b us':>10}{'ratio':>8}{'of all cores':>14}")
    for name, wall, cores in rows(options.threads, options.rounds, not options.as_is):
        times = "".join(f"{one * 1e6:10.1f}" for one in wall)
        print(f"{name:24}{times}{wall[2] / (wall[0] + wall[1]):8.2f}{cores[2] / (cores[0] + cores[1]):14.2f}")


if __name__ == "__main__":
    main()
