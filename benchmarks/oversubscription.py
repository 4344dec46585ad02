"""What threads cost that have nothing to do: between calls, and when there are more of them than cores.

Programs: a product of `--size` squared matrices with its tanh, and an MLP's gradient step. Each row is a number of
threads; times are minima of interleaved turns, in microseconds.

* *step*: wall time of a call; *CPU*: the time of all cores in it.
* *by cores*: the step's time by that with as many threads as there are cores.
* *idle*: CPU time that the process uses in a second of sleep after a call.
* *two at once*: two processes that run the program at the same time, by the time that one process needs for two calls.
  1.0 is what a machine gives that loses nothing by switching; the same for JAX in the last row.
"""

# Objects of JAX.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from turns import Turns

import xdsl_rlx as rlx

TURNS = Turns(each=0.01, together=4, least=20, most=400)
SECONDS = 3.0
"""How long each of two processes runs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument(
        "--run", help="a number of threads, or jax: run for some seconds and print the seconds of a call"
    )
    options = parser.parse_args()
    if options.run:
        print(rate(program(options.run, options.size)))
        return
    cores = len(os.sched_getaffinity(0))
    counts = [1, cores, 2 * cores, 4 * cores, 16 * cores]
    calls = {str(count): program(str(count), options.size) for count in counts}
    wall, cpu = TURNS.times_of(calls, time.perf_counter), TURNS.times_of(calls, time.process_time)
    print("| threads | step | CPU | by cores | idle | two at once |")
    print("| --- " * 6 + "|")
    for name, call in calls.items():
        cells = (wall[name], cpu[name], wall[name] / wall[str(cores)], idle(call), at_once(name, options.size))
        print(
            f"| {name} | {cells[0] * 1e6:.0f} | {cells[1] * 1e6:.0f} | " + " | ".join(f"{x:.2f}" for x in cells[2:4]),
            end="",
        )
        print(f" ms | {cells[4]:.2f} |", flush=True)
    print(f"| jax | - | - | - | - | {at_once('jax', options.size):.2f} |")


def program(kind: str, size: int) -> Callable[[], Any]:
    """A call of the program by so many threads, or by JAX."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((size, size), np.float32) / size**0.5 for _ in range(2))

    def loss(xp: Any, x: Any, w: Any) -> Any:
        return xp.tanh(xp.tanh(x @ w) @ w).sum()

    if kind == "jax":
        import jax
        import jax.numpy as jnp

        step = jax.jit(jax.grad(lambda w, x: loss(jnp, x, w)))
        return lambda: jax.block_until_ready(step(w, x))
    compiled = rlx.compile(rlx.grad(lambda w, x: loss(np, x, w)), threads=int(kind))
    return lambda: compiled(w, x)


def idle(call: Callable[[], Any]) -> float:
    """Milliseconds of CPU time in a second of sleep after a call."""
    call()
    began = time.process_time()
    time.sleep(1)
    return 1000 * (time.process_time() - began)


def rate(call: Callable[[], Any]) -> float:
    """The mean seconds of a call, once warm."""
    call()
    sys.stdout.flush()
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        call()
        count += 1
    return (time.perf_counter() - begin) / count


def at_once(kind: str, size: int) -> float:
    """The seconds of a call in two processes at once, by twice those of one process."""
    command = [sys.executable, __file__, "--size", str(size), "--run", kind]

    def processes(number: int) -> float:
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(number)]
        return sum(float(one.communicate()[0]) for one in started) / number

    return processes(2) / (2 * processes(1))


if __name__ == "__main__":
    main()
