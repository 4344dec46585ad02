"""One process of a job of `scaling.py`: times of training steps, or of reductions by size, as JSON of the first."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from emulated_network import EmulatedNetwork, Link
from ops import RlxOps
from workload import Workload
from workloads import WORKLOADS

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.collectives import connect
from xdsl_rlx.tracing import builder_of

RATE = 1e-3
WIDTH, LAYERS, BATCH = 1024, 5, 64
"""Of the multilayer perceptron, whose weights are 20 MiB."""
SIZES = tuple(4**n for n in range(1, 13))
"""Bytes of the reductions that are timed, to 16 MiB."""


def _perceptron_data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    data = {"x": rng.standard_normal((BATCH, WIDTH), dtype=np.float32), "y": np.zeros((BATCH, WIDTH), np.float32)}
    scale = np.float32(WIDTH**-0.5)
    return data | {f"w{n}": scale * rng.standard_normal((WIDTH, WIDTH), dtype=np.float32) for n in range(LAYERS)}


def _perceptron(o: Any, v: dict[str, Any]) -> Any:
    h = v["x"]
    for n in range(LAYERS):
        h = o.tanh(o.matmul(h, v[f"w{n}"]))
    return o.mean((h - v["y"]) * (h - v["y"]))


MODELS = {
    "mlp": Workload("", _perceptron_data, tuple(f"w{n}" for n in range(LAYERS)), _perceptron),
    "convnet": WORKLOADS["convnet"],
    "tiny-llama": WORKLOADS["tiny-llama"],
}

LINKS = {"1 Gbit/s": Link(50e-6, 8e-9), "10 Gbit/s": Link(20e-6, 0.8e-9), "100 Gbit/s": Link(3e-6, 0.08e-9)}
"""Networks of which reductions take the time, and no core."""


def step_of(work: Workload, reduces: bool, costs: Mapping[str, object] | None = None) -> Callable[[], None]:
    """Return a training step with gradient descent, compiled with some fields of the cost model replaced."""

    def step(params: Any, others: Any) -> Any:
        value, grads = rlx.value_and_grad(lambda p: work.loss(RlxOps(builder_of(p)), {**others, **p}))(params)
        if reduces:
            value, grads = rlx.distributed.all_reduce((value, grads))
        return value, rlx.tree.map(lambda p, g: p - RATE * g, params, grads)

    data = work.data()
    params = {name: data.pop(name) for name in work.wrt}
    compiled = rlx.compile(step, donate="params")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "costs.toml"
        lines = (f"{name} = {str(value).lower()}" for name, value in (costs or {}).items())
        table.write_text("\n".join(lines), encoding="utf-8")
        os.environ["XDSL_RLX_COSTS"] = str(table)
        compiled({name: x.copy() for name, x in params.items()}, data)
        del os.environ["XDSL_RLX_COSTS"]
    state = {name: x.copy() for name, x in params.items()}

    def run() -> None:
        nonlocal state
        _, state = compiled(state, data)

    return run


def times_of(steps: Mapping[str, Callable[[], None]], turns: int) -> dict[str, list[float]]:
    """Return the seconds of steps in turn, which all processes begin at the same time."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(turns + 2):
        for name, run in steps.items():
            rlx.distributed.all_reduce(np.ones(1, np.float32))
            start = time.perf_counter()
            run()
            if turn > 1:
                found[name].append(time.perf_counter() - start)
    return found


def reductions(turns: int) -> dict[str, float]:
    """Return the least seconds of a reduction by its bytes."""
    found: dict[str, float] = {}
    for size in SIZES:
        x = np.ones(size // 4, np.float32)
        reduce = rlx.compile(lambda x: rlx.distributed.all_reduce(x, "sum"))
        reduce(x)
        times: list[float] = []
        for _ in range(turns):
            start = time.perf_counter()
            reduce(x)
            times.append(time.perf_counter() - start)
        found[str(size)] = min(times)
    return found


def waits(turns: int) -> dict[str, float]:
    """Return the least seconds that remain of a reduction of 4 MiB behind 60 products, with polls and without."""
    from mpi4py import MPI

    comm, x, w = MPI.COMM_WORLD, np.ones(1 << 20, np.float32), np.full((192, 192), 0.005, np.float32)
    found: dict[str, float] = {}
    for name in ("no polls", "polls"):
        times: list[float] = []
        for _ in range(turns):
            comm.Barrier()
            request, product = comm.Iallreduce(MPI.IN_PLACE, x), w
            for _ in range(60):
                product = w @ product
                if name == "polls":
                    request.Test()
            start = time.perf_counter()
            request.Wait()
            times.append(time.perf_counter() - start)
        found[name] = min(times)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=(*MODELS, "reductions", "waits"))
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--link", choices=tuple(LINKS))
    options = parser.parse_args()
    if options.link is None:
        rlx.distributed.init(timeout=60)
    else:
        connect(EmulatedNetwork(2, LINKS[options.link]))
    if options.what == "reductions":
        result: Any = reductions(options.turns)
    elif options.what == "waits":
        result = waits(options.turns)
    else:
        work = MODELS[options.what]
        steps = {"no reduction": step_of(work, reduces=False)}
        if rlx.distributed.size() > 1:
            steps["overlap off"] = step_of(work, True, {"overlap": False})
            steps["overlap on"] = step_of(work, True)
            steps["no polls"] = step_of(work, True, {"poll_collectives": False})
        result = times_of(steps, options.turns)
    if rlx.distributed.rank() == 0:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
