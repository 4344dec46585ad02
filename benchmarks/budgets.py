"""Training steps in half of the temporary memory that XLA takes for them: arenas, and milliseconds of a step.

`python benchmarks/budgets.py [--only transformer,convnet,tiny-llama]`: our arena beside `memory_analysis()` of XLA, the
arena with half of the latter as `memory_budget`, how far results then are from those without, and what it costs.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from ops import RlxOps
from worker import Jax, Rlx
from workload import Step
from workloads import WORKLOADS

import xdsl_rlx as rlx


def step_graph(key: str) -> Any:
    """What a step of ours runs, and the arrays that it is given."""
    runner = Rlx(WORKLOADS[key], 2)
    graph = rlx.Graph("step")
    values = {
        name: (graph.param if name in runner.work.wrt else graph.input)(name, array.shape, dtype=array.dtype)
        for name, array in runner.values.items()
    }
    graph.set_outputs(runner.work.loss(RlxOps(graph), values))
    return runner.derived(graph), runner


def run(compiled: Any, runner: Rlx, steps: int) -> tuple[list[np.ndarray], float]:
    """The results of the first step, and the least milliseconds of one."""
    training = runner.work.step is Step.TRAIN
    for name in compiled.params:
        compiled.set_param(
            name, runner.values[name] if name in runner.values else np.zeros_like(runner.values[name[2:]])
        )
    given = {name: array for name, array in runner.values.items() if name not in runner.work.wrt}
    first: list[np.ndarray] = []
    least = np.inf
    for number in range(1, steps + 1):
        start = time.perf_counter()
        results = compiled(**given, **({"step": float(number)} if training else {}))
        least = min(least, time.perf_counter() - start)
        if number == 1:
            state = [compiled.weights[name] for name in compiled.params] if training else []
            first = [*map(np.copy, results), *state]
    return first, 1e3 * least


def main() -> None:
    """Print a row for each workload."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="transformer,convnet,tiny-llama")
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    print("| workload | XLA: MB | ours: MB | ms | budget: MB | taken: MB | ms | largest difference |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for key in options.only.split(","):
        peer = Jax(WORKLOADS[key], 2)
        peer.prepare()
        theirs = int(peer.facts()["arena"])
        graph, runner = step_graph(key)
        free = rlx.compile(graph, threads=2)
        tight = rlx.compile(graph, threads=2, memory_budget=theirs // 2)
        (expected, plain), (found, slower) = (run(compiled, runner, options.steps) for compiled in (free, tight))
        apart = max(
            float(np.abs(a - b).max() / (np.abs(a).max() + 1e-30)) for a, b in zip(expected, found, strict=True)
        )
        sizes = [f"{n / 1e6:.2f}" for n in (theirs, free.arena_bytes, theirs // 2, tight.arena_bytes)]
        cells = [key, sizes[0], sizes[1], f"{plain:.2f}", sizes[2], sizes[3], f"{slower:.2f}", f"{apart:.1e}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
