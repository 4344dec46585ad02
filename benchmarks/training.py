"""The losses of the training step of workloads.py, from the same weights on the same batches of a text, by framework.

`python benchmarks/training.py [--steps 200] [--kinds ours,jax,torch]`: how far losses are apart, and milliseconds of a
step. The frameworks take turns, a stretch of steps each, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from worker import RUNNERS
from workloads import WORKLOADS

STRETCH = 20
"""Steps of a turn."""


def batches(steps: int, count: int, length: int) -> list[dict[str, np.ndarray]]:
    """Stretches of Python's language reference as numbers of characters, and what follows each, one below the other."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode()
    number = {character: n for n, character in enumerate(sorted(set(text)))}
    ids = np.array([number[character] for character in text], np.int32)
    rng = np.random.default_rng(12)
    found: list[dict[str, np.ndarray]] = []
    for _ in range(steps):
        rows = ids[rng.integers(0, len(ids) - length - 1, count)[:, None] + np.arange(length + 1)]
        found.append({"ids": rows[:, :-1].reshape(-1).copy(), "labels": rows[:, 1:].reshape(-1).copy()})
    return found


def give(kind: str, runner: Any, batch: dict[str, np.ndarray]) -> None:
    """Have the next step of a framework read a batch."""
    if kind == "jax":
        runner.arguments[-1].update({name: runner.jax.numpy.asarray(array) for name, array in batch.items()})
    elif kind == "torch":
        ids, labels = (runner.torch.from_numpy(batch[name]) for name in ("ids", "labels"))
        runner.values.update(ids=ids, labels=labels.long())
    else:
        runner.inputs.update(batch)


def main() -> None:
    """Train by all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--kinds", default="ours,jax,torch")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    work = WORKLOADS["tiny-llama"]
    runners: dict[str, Any] = {kind: RUNNERS[kind](work, options.threads) for kind in options.kinds.split(",")}
    for runner in runners.values():
        runner.prepare()
    given = batches(options.steps, 16, 96)
    losses: dict[str, list[float]] = {kind: [] for kind in runners}
    times: dict[str, list[float]] = {kind: [] for kind in runners}
    for first in range(0, options.steps, STRETCH):
        for kind, runner in runners.items():
            for batch in given[first : first + STRETCH]:
                give(kind, runner, batch)
                start = time.perf_counter()
                (loss,) = runner.step()
                times[kind].append(time.perf_counter() - start)
                losses[kind].append(float(np.asarray(loss.detach() if kind == "torch" else loss)))
    table = Table("", "first loss", "last", "largest difference", "ms a step: least", "median", title=work.title)
    reference = next(iter(runners))
    for kind in runners:
        apart = np.abs(np.subtract(losses[kind], losses[reference])).max()
        spent = sorted(1e3 * t for t in times[kind][1:])
        row = (losses[kind][0], losses[kind][-1], apart, spent[0], statistics.median(spent))
        table.add_row(kind, *(f"{x:.3g}" if n == 2 else f"{x:.4f}" if n < 2 else f"{x:.1f}" for n, x in enumerate(row)))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
