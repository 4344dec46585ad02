"""A training loop for the usual case: batches of arrays, a line of progress, evaluation, and a file to go on from."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from xdsl_rlx.checkpoint import CheckpointError, load, metadata, save
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.tree import Tree, flatten, map_leaves


@dataclass(frozen=True)
class Batches:
    """
    Batches of a tree of arrays along their first axis: a tuple, a dict.

    Each pass is in an order of its own, that of `seed` and of the number of the pass; in the order of the arrays
    without a seed. The last batch holds what is left, unless `drop_last`.
    """

    arrays: Tree
    size: int
    seed: int | None = 0
    drop_last: bool = False

    def __post_init__(self) -> None:
        lengths = {len(leaf) for leaf in flatten(self.arrays)[0]}
        if len(lengths) != 1 or self.size < 1:
            raise GraphError(f"batches of {self.size} are of arrays of one length, got {sorted(lengths)}")

    def __len__(self) -> int:
        count = len(flatten(self.arrays)[0][0])
        return count // self.size if self.drop_last else -(-count // self.size)

    def of_pass(self, number: int) -> Iterator[Tree]:
        """The batches of one pass over the arrays."""
        count = len(flatten(self.arrays)[0][0])
        order = np.arange(count) if self.seed is None else np.random.default_rng((self.seed, number)).permutation(count)
        for batch in range(len(self)):
            chosen = order[batch * self.size : (batch + 1) * self.size]
            yield map_leaves(lambda leaf, chosen=chosen: leaf[chosen], self.arrays)


def fit(
    step: Callable[..., tuple[Any, Tree]],
    state: Tree,
    batches: Batches | Callable[[int], Iterable[Tree]],
    passes: int = 1,
    evaluate: Callable[[Tree], object] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    first: int = 0,
    quiet: bool = False,
    resume: bool = False,
) -> Tree:
    """
    `loss, state = step(state, *batch)` for each batch of each pass from `first` on; the last state.

    `batches` are those of a pass, by its number. `evaluate(state)` is shown after each pass. The state goes to the file
    `checkpoint` after each pass, with the number of the next one as metadata `pass`, and when the loop is interrupted.
    With `resume` the loop begins with what is in that file, if there is one; CheckpointError if that is another state.
    """
    if resume:
        state, first = _saved(checkpoint, state, first)
    of_pass = batches.of_pass if isinstance(batches, Batches) else batches
    for number in range(first, passes):
        began, seen, losses = time.perf_counter(), 0, list[float]()
        try:
            for batch in of_pass(number):
                parts = batch if isinstance(batch, tuple) else (batch,)
                loss, state = step(state, *parts)
                losses.append(float(loss))
                seen += len(flatten(batch)[0][0])
                if not quiet:
                    _show(number, passes, losses, seen / (time.perf_counter() - began), end="")
        except KeyboardInterrupt:
            if checkpoint is not None:
                save(checkpoint, state, {"pass": str(number)})
            raise
        if checkpoint is not None:
            save(checkpoint, state, {"pass": str(number + 1)})
        result = "" if evaluate is None else f"  {evaluate(state)}"
        if not quiet:
            _show(number, passes, losses, seen / max(time.perf_counter() - began, 1e-9), end=f"{result}\n")
    return state


def _saved(checkpoint: str | PathLike[str] | None, state: Tree, first: int) -> tuple[Tree, int]:
    """The state in a file and the number of its next pass; what is given if there is no file."""
    if checkpoint is None:
        raise GraphError("to resume is to go on from a file: name it as checkpoint=")
    if not Path(checkpoint).exists():
        return state, first
    number = metadata(checkpoint).get("pass", "")
    if not number.isdecimal():
        raise CheckpointError(f"{fspath(checkpoint)} does not say which pass comes next: it is not what fit has saved")
    return load(checkpoint, like=state), int(number)


def _show(number: int, passes: int, losses: list[float], rate: float, end: str) -> None:
    mean = float(np.mean(losses)) if losses else float("nan")
    if not end and not sys.stderr.isatty():
        return
    line = f"\rpass {number + 1}/{passes}  batch {len(losses)}  loss {mean:.4f}  {rate:,.0f} examples/s"
    print(line.lstrip("\r") if end and not sys.stderr.isatty() else line, end=end, file=sys.stderr, flush=True)
