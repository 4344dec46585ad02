"""Attacks by threads and forks, for a process of their own: what goes wrong may end the process, or never end.

As a script: `race_texts.py NAME TRIES`; what fails is raised.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.lowering.run_errors import ArgumentTypeError

SMALL = 8
SOONEST, LATEST = 0.002, 3.0
"""Seconds after which a fork comes: before, in and behind the imports of a first compilation."""
PATIENCE = 120
"""Seconds after which a child counts as hanging."""
SIZE = 1 << 18
"""So long takes the copy of a value that threads come in between."""


def _reader_graph(name: str) -> rlx.Graph:
    g = rlx.Graph(name)
    g.set_outputs([g.param("w", (SIZE,)) + g.input("x", (SIZE,))])
    return g


def together(*steps: Callable[[], None]) -> list[BaseException]:
    """What threads raise that begin at the same time."""
    start, errors = threading.Barrier(len(steps)), list[BaseException]()

    def run(step: Callable[[], None]) -> None:
        try:
            start.wait()
            step()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def first_set(tries: int) -> None:
    """Calls of two programs that share weights and of one that is compiled meanwhile, and two first sets of a param."""
    sys.setswitchinterval(1e-6)
    graphs = [_reader_graph(f"reader{n}") for n in range(3)]
    x, values = np.zeros(SIZE, np.float32), (1.0, 2.0)
    for graph in graphs:
        rlx.compile(graph)
    for _ in range(tries):
        weights = rlx.Weights()
        readers = [rlx.compile(graph, weights=weights) for graph in graphs[:2]]

        def read(call: Callable[..., tuple[np.ndarray, ...]]) -> None:
            while True:
                try:
                    (found,) = call(x)
                except ArgumentTypeError:
                    continue
                assert found[0] in values and (found == found[0]).all(), found
                return

        def put(value: float, weights: rlx.Weights = weights) -> None:
            weights["w"] = np.full(SIZE, value, np.float32)

        def late(weights: rlx.Weights = weights) -> None:
            read(rlx.compile(graphs[2], weights=weights))

        steps = [*(lambda c=c: read(c) for c in readers), *(lambda v=v: put(v) for v in values), late]
        errors = together(*steps)
        assert not errors, errors
        # all read the one memory that the param has now
        weights["w"] = np.full(SIZE, 3.0, np.float32)
        assert all(call(x)[0][0] == 3.0 for call in readers)


def _first_compile(number: int) -> None:
    g = rlx.Graph(f"first{number % 5}")
    x = g.input("x", (SMALL, SMALL))
    g.set_outputs([g.reduce_sum(g.tanh(x @ x), axes=[0])])
    (found,) = rlx.compile(g)(np.ones((SMALL, SMALL), np.float32))
    assert np.allclose(found, SMALL * np.tanh(SMALL)), found


def _fork_in_first_compile(number: int) -> None:
    """A fork, at a moment that the number chooses, of a process that has used nothing yet; the child does the same."""
    thread = threading.Thread(target=_first_compile, args=(number,))
    began = time.monotonic()
    thread.start()
    time.sleep(SOONEST * (LATEST / SOONEST) ** ((0.5 + 0.618 * number) % 1))
    child = os.fork()
    if child == 0:
        try:
            _first_compile(number)
            os._exit(0)
        finally:
            os._exit(1)
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > began + PATIENCE:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError("the child hangs")
        time.sleep(0.002)
    thread.join()


def _first_use(number: int) -> None:
    """Threads that begin at once with other parts of the package, in an order that the number chooses."""
    x = np.ones(SMALL, np.float32)

    def gradient() -> None:
        assert (rlx.grad(lambda x: (x * x).sum())(x) == 2.0).all()

    def op() -> None:
        @rlx.custom_op("races.twice")
        def twice(b: rlx.Graph, x: rlx.Value) -> rlx.Value:
            return x + x

        assert (rlx.compile(lambda x: twice(x))(x) == 2.0).all()

    def optimiser() -> None:
        rule = rlx.optim.SGD(0.5)
        params, _ = rule.update({"w": x}, rule.init({"w": x}), {"w": x})
        assert (params["w"] == 0.5).all()

    def text() -> None:
        g = rlx.Graph("text")
        g.set_outputs([g.sin(g.input("x", (SMALL,)))])
        assert "math" in rlx.llvm_source(g) or "sin" in rlx.llvm_source(g)

    steps = [gradient, op, optimiser, text, lambda: _first_compile(number)]
    at = number % len(steps)
    errors = together(*steps[at:], *steps[:at])
    assert not errors, errors


def _in_fresh_processes(name: str, tries: int) -> None:
    """One process a try: the imports are what it is about."""
    failed: list[str] = []
    for number in range(tries):
        done = subprocess.run(
            [sys.executable, __file__, f"one_{name}", str(number)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            failed.append(f"{number}: status {done.returncode} {done.stderr[-1500:]}")
    assert not failed, f"{len(failed)} of {tries}: {failed[0]}"


ATTACKS: dict[str, Callable[[int], None]] = {
    "first_set": first_set,
    "first_compile": lambda tries: _in_fresh_processes("first_compile", tries),
    "first_use": lambda tries: _in_fresh_processes("first_use", tries),
    "one_first_use": _first_use,
    "one_first_compile": _fork_in_first_compile,
}

if __name__ == "__main__":
    ATTACKS[sys.argv[1]](int(sys.argv[2]))
