"""The losses of the training step of workloads.py, from the same weights on the same batches of a text, by framework.

`python benchmarks/training.py [--steps 200] [--kinds ours,jax,torch]`: how far losses are apart, and milliseconds of a
step. The frameworks take turns, a stretch of steps each, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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


def loss_of(kind: str, runner: Any, batch: dict[str, np.ndarray]) -> float:
    """Take a step of a framework on a batch."""
    give(kind, runner, batch)
    (loss,) = runner.step()
    return float(np.asarray(loss.detach() if kind == "torch" else loss))


def take_turns(steps: Mapping[str, Callable[[Any], float]], given: Sequence[Any], title: str) -> Table:
    """Train by all, from batch to loss, a stretch of steps each in turn: losses, and times of a step with its batch."""
    losses: dict[str, list[float]] = {kind: [] for kind in steps}
    times: dict[str, list[float]] = {kind: [] for kind in steps}
    for first in range(0, len(given), STRETCH):
        for kind, step in steps.items():
            for batch in given[first : first + STRETCH]:
                start = time.perf_counter()
                losses[kind].append(step(batch))
                times[kind].append(time.perf_counter() - start)
    table = Table("", "first loss", "last", "largest difference", "ms a step: least", "median", title=title)
    reference = next(iter(steps))
    for kind in steps:
        apart = np.abs(np.subtract(losses[kind], losses[reference])).max()
        spent = sorted(1e3 * t for t in times[kind][1:])
        row = (losses[kind][0], losses[kind][-1], apart, spent[0], statistics.median(spent))
        table.add_row(kind, *(f"{x:.3g}" if n == 2 else f"{x:.4f}" if n < 2 else f"{x:.1f}" for n, x in enumerate(row)))
    return table


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
    steps = {kind: partial(loss_of, kind, runner) for kind, runner in runners.items()}
    Console(width=120).print(take_turns(steps, batches(options.steps, 16, 96), work.title))


if __name__ == "__main__":
    main()
