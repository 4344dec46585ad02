"""A training loop for the usual case: batches of arrays, a line of progress, evaluation, and a file to go on from."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any, TextIO

import numpy as np

from xdsl_rlx.checkpoint_files import CheckpointError, checked_path, in_tree, is_plain_number, read_on_all, save
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.arrays import is_array
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.lowering.backend.driver.collectives import connected
from xdsl_rlx.tree import Tree, flatten, paths, unflatten
from xdsl_rlx.tree import map as map_leaves

_Step = Callable[..., tuple[Any, Tree]]


@dataclass(frozen=True)
class Batches:
    """
    Batches of a tree of arrays along the first axis.

    Each epoch has its own order, given by `seed` and the epoch number; `seed=None` keeps the order of the arrays. The
    last batch may be smaller; `drop_last` omits it. Leaves that are not NumPy arrays, such as tables, are converted
    once. Memory maps stay on disk. Raises GraphError for arrays without a first axis or of different lengths, and for
    zero batches.

    With `shard`, each process of `rlx.distributed` gets its part of each batch: process `r` of `n` gets the `r`-th
    `size / n` rows. Together, the processes have the batches that one process has. All parts are equally large, so that
    means over processes are those over batches. A batch that `n` does not divide is a GraphError, also the last one.
    """

    arrays: Tree
    size: int
    seed: int | None = 0
    drop_last: bool = False
    shard: bool = False

    def __post_init__(self) -> None:
        for name, least in (("size", 1), ("seed", 0)):
            number = getattr(self, name)
            if number is None and name == "seed":
                continue
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
                raise GraphError(f"Batches: {name}: expected an integer of at least {least}, got {shown(number)}")
        if not isinstance(self.shard, bool | np.bool_):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError(f"Batches: shard: expected True or False, got {shown(self.shard)}")
        leaves, spec = flatten(self.arrays)
        arrays = [_with_rows(place, leaf) for place, leaf in zip(paths(spec), leaves, strict=True)]
        lengths = sorted({len(array) for array in arrays})
        if len(lengths) != 1:
            raise GraphError(f"Batches: expected arrays of one length, got {lengths}")
        object.__setattr__(self, "arrays", unflatten(spec, arrays))
        if not len(self):
            cure = "take a smaller size, or drop_last=False" if lengths[0] else "give arrays with rows"
            raise GraphError(f"Batches: {lengths[0]} rows are fewer than one batch of {self.size}; {cure}")
        self._check_parts()

    def __len__(self) -> int:
        count = self._count
        return count // self.size if self.drop_last else -(-count // self.size)

    def of_epoch(self, epoch: int, first_batch: int = 0) -> Iterator[Tree]:
        """Yield the batches of an epoch, starting with batch `first_batch`."""
        self._check_parts()
        rank, processes = _processes() if self.shard else (0, 1)
        count = self._count
        order = np.arange(count) if self.seed is None else np.random.default_rng((self.seed, epoch)).permutation(count)
        for batch in range(first_batch, len(self)):
            rows = min(self.size, count - batch * self.size) // processes
            start = batch * self.size + rank * rows
            chosen = order[start : start + rows]
            yield map_leaves(lambda leaf, chosen=chosen: leaf[chosen], self.arrays)

    @property
    def order(self) -> str:
        """A string that is equal for batches in the same order."""
        return f"{self._count} rows by {self.size}, seed {self.seed}, drop_last {self.drop_last}"

    def _check_parts(self) -> None:
        """GraphError for batches that cannot be divided among the processes; those may be connected after `init`."""
        processes = _processes()[1] if self.shard else 1
        if self.size % processes:
            raise GraphError(
                f"Batches: shard: {processes} processes cannot have equal parts of batches of {self.size} rows; "
                f"take a size that is a multiple of {processes}"
            )
        last = self._count % self.size
        if last % processes and not self.drop_last:
            raise GraphError(
                f"Batches: shard: {processes} processes cannot have equal parts of the last batch of {last} rows; "
                f"pass drop_last=True, or take a multiple of {processes} rows"
            )

    @property
    def _count(self) -> int:
        return len(flatten(self.arrays)[0][0])


def _processes() -> tuple[int, int]:
    """The number of this process, and how many there are."""
    engine = connected()
    return (0, 1) if engine is None else (engine.rank, engine.size)


def _with_rows(place: str, leaf: Any) -> np.ndarray[Any, Any]:
    try:
        array: np.ndarray[Any, Any] = leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)
    except (TypeError, ValueError, RuntimeError) as error:
        raise GraphError(f"Batches: arrays{place} is {shown(leaf)}, not an array ({error})") from None
    if not array.ndim:
        raise GraphError(f"Batches: arrays{place} is {shown(leaf)}, not an array with rows; np.array([..]) is one")
    return array


@checked
def fit(
    step: Callable[..., tuple[Any, Tree]],
    state: Tree,
    batches: Batches | Iterable[Tree] | Callable[[int], Iterable[Tree]],
    epochs: int = 1,
    evaluate: Callable[[Tree], object] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    first_epoch: int = 0,
    quiet: bool = False,
    resume: bool = False,
    checkpoint_every: int | None = None,
) -> Tree:
    """
    Run `loss, state = step(state, *batch)` for each batch of each epoch; return the last state.

    Epochs count from 0: the loop runs from `first_epoch` up to, not including, `epochs`. `batches` is a `Batches`, an
    iterable of batches such as a DataLoader of PyTorch, whose tensors are read in place, or a function from an epoch
    number to such an iterable. A batch is a tuple or list of arguments, or one argument. `evaluate(state)` runs after
    each epoch, and its result is printed in the line of the epoch.

    `checkpoint` is the file to save the state to: before the first step, after each epoch, after each
    `checkpoint_every` batches, and when Ctrl-C ends the loop. Its metadata hold the numbers of the next `epoch` and
    `batch`, and the order of `Batches`. With `resume`, the loop continues from that file, if it exists, and gives the
    same bits as an uninterrupted run. Raises CheckpointError if the file holds another state, or was saved in the
    middle of an epoch with another order of batches.

    The first Ctrl-C lets a step finish that may overwrite its state: a step with `donate`, or one that is not a
    compiled function. `fit` then saves the state and raises KeyboardInterrupt. The second Ctrl-C stops such a step at
    once. The state may then be partly written, and the file stays as it was. Raises GraphError for a step that does not
    return a pair of a number and a state.

    In a program of several processes, all of them call `fit`, with the same state and as many batches. The first one
    writes the file and the progress. With `resume`, all continue from the file that the first one finds, which may have
    been saved by another number of processes. Ctrl-C then saves nothing.
    """
    if not callable(step):
        raise GraphTypeError(f"fit: step: expected a function, got {shown(step)}")
    _check_batches(batches)
    if checkpoint_every is not None and (checkpoint_every < 1 or checkpoint is None):
        raise GraphError(f"fit: checkpoint_every: expected 1 or more, with checkpoint=, got {checkpoint_every}")
    if resume and checkpoint is None:
        raise GraphError("resume: expected a file to resume from, got none; pass checkpoint=")
    place = None if checkpoint is None else checked_path("fit", checkpoint)
    # one line for all processes
    quiet = quiet or _processes()[0] > 0
    loop = _Loop(step, batches, epochs, evaluate, place, quiet, checkpoint_every, _At(state, first_epoch, 0))
    with loop.interrupts:
        loop.run(resume)
    return loop.at.state


def _check_batches(batches: object) -> None:
    """GraphTypeError for what is no source of batches; an array or a tuple of arrays has none."""
    if isinstance(batches, Batches) or callable(batches):
        return
    if is_array(batches) or isinstance(batches, tuple | Mapping | str) or not isinstance(batches, Iterable):
        raise GraphTypeError(
            f"fit: batches: expected Batches or a function of the epoch number, or an iterable of batches such as a "
            f"DataLoader, got {shown(batches)}"
        )
    if isinstance(batches, Iterator):
        raise GraphTypeError(
            f"fit: batches: expected an iterable that can start again, got {shown(batches)}, which is at its end after "
            "one epoch; pass a function of the epoch number that makes it"
        )


@dataclass(frozen=True)
class _At:
    """Where a loop is: a state that is whole, and the epoch and batch to go on with. One object, replaced at once."""

    state: Tree
    epoch: int
    batch: int


class _Interrupts:
    """
    What Ctrl-C does: it raises KeyboardInterrupt, but only after the step where `in_step` is set. The second one raises
    in the step too.

    Only the main thread handles signals; a handler that the program has installed itself stays.
    """

    def __init__(self) -> None:
        self.in_step = False
        self._is_pending = False

    def __enter__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _remove(self) -> None:
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: object) -> None:
        if self.in_step and not self._is_pending:
            self._is_pending = True
            return
        # here, since `__exit__` does not run if this is raised where it begins
        self._remove()
        raise KeyboardInterrupt

    def end_step(self) -> None:
        """Raise the KeyboardInterrupt that came in the step."""
        self.in_step = False
        if self._is_pending:
            raise KeyboardInterrupt


@dataclass
class _Loop:
    """The loop of `fit`."""

    step: _Step
    batches: Batches | Iterable[Tree] | Callable[[int], Iterable[Tree]]
    epochs: int
    evaluate: Callable[[Tree], object] | None
    checkpoint: str | None
    quiet: bool
    every: int | None
    at: _At

    def __post_init__(self) -> None:
        self.interrupts = _Interrupts()
        # compiled functions write to nothing else than what is donated; of other functions nothing is known
        self._may_tear = not isinstance(self.step, CompiledFunction) or self.step.donates

    def run(self, resume: bool) -> None:
        """All epochs; the state is saved where it is whole."""
        saved = read_on_all(self.checkpoint) if resume and self.checkpoint is not None else None
        if saved is not None and self.checkpoint is not None:
            self.at = _saved(self.checkpoint, saved, self.at, self._order)
        elif self._may_tear and self.at.epoch < self.epochs:
            # an interrupted step may leave nothing else to begin with
            self._save()
        try:
            while self.at.epoch < self.epochs:
                self._run_epoch()
        except KeyboardInterrupt:
            if not self.interrupts.in_step:
                self._save_if_alone()
            raise

    def _run_epoch(self) -> None:
        epoch = self.at.epoch
        parts = _processes()[1] if isinstance(self.batches, Batches) and self.batches.shard else 1
        progress = _Progress(epoch, self.epochs, parts)
        for batch in self._left():
            loss = self._run_step(batch)
            progress.count(loss, self.at.batch, batch)
            if self.every is not None and self.at.batch % self.every == 0:
                self._save()
            if not self.quiet:
                progress.show()
        self.at = _At(self.at.state, epoch + 1, 0)
        self._save()
        result = "" if self.evaluate is None else f"  {self.evaluate(self.at.state)}"
        if not self.quiet:
            progress.show(f"{result}\n")

    def _left(self) -> Iterable[Tree]:
        """The batches of this epoch that are left."""
        at = self.at
        if isinstance(self.batches, Batches):
            return self.batches.of_epoch(at.epoch, at.batch)
        found = self.batches(at.epoch) if callable(self.batches) else self.batches
        if not isinstance(found, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(
                f"fit: expected batches({at.epoch}) to return an iterable of batches, got {shown(found)}"
            )
        # a DataLoader gives lists
        return islice((tuple(one) if isinstance(one, list) else one for one in found), at.batch, None)

    def _run_step(self, batch: Tree) -> float:
        """The loss; the state is the next one, or still the last one."""
        at, parts = self.at, batch if isinstance(batch, tuple) else (batch,)
        self.interrupts.in_step = self._may_tear
        loss, state = _checked(self.step(at.state, *parts))
        self.at = _At(state, at.epoch, at.batch + 1)
        self.interrupts.end_step()
        return loss

    @property
    def _order(self) -> str | None:
        return self.batches.order if isinstance(self.batches, Batches) else None

    def _save_if_alone(self) -> None:
        # processes of a job are interrupted in different steps
        if _processes()[1] == 1:
            self._save()

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        texts = {"epoch": str(self.at.epoch)}
        if self.at.batch:
            texts["batch"] = str(self.at.batch)
            if self._order is not None:
                texts["batches"] = self._order
        save(self.checkpoint, self.at.state, texts)


def _checked(result: object) -> tuple[float, Tree]:
    """What a step returns: the loss as a number, and the state."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise GraphError(f"fit: step: expected it to return (loss, state), got {shown(result)}")
    loss, state = result
    if np.shape(loss) != ():
        raise GraphError(f"fit: step: expected a loss of one number, got shape {np.shape(loss)}; take its mean")
    try:
        return float(loss), state
    except (TypeError, ValueError):
        raise GraphError(f"fit: step: expected a loss of one number, got {shown(loss)}") from None


def _saved(
    place: str, saved: tuple[dict[str, np.ndarray[Any, Any]], dict[str, str]], given: _At, order: str | None
) -> _At:
    """Where a file with these arrays and texts says to go on."""
    arrays, texts = saved
    epoch, batch = _position(texts, "epoch"), _position({"batch": "0", **texts}, "batch")
    if epoch is None or batch is None:
        raise CheckpointError(
            f"{place} has no epoch number in its metadata; expected a file saved by this version of fit. "
            "To start from its arrays, pass rlx.load(path, like=state) as the state, and first_epoch=, without resume="
        )
    if batch and order is not None and texts.get("batches", order) != order:
        raise CheckpointError(
            f"{place} was saved in the middle of an epoch over {texts['batches']}; batches are {order} now, "
            "so the remaining batches of that epoch are unknown. Pass the same batches, or another checkpoint"
        )
    state = in_tree(place, arrays, given.state)
    if (epoch, batch) == (given.epoch, 0):
        # before the first step, numbers of Python's are no arrays yet
        state = map_leaves(lambda old, new: old if is_plain_number(old) else new, given.state, state)
    return _At(state, epoch, batch)


def _position(texts: Mapping[str, str], name: str) -> int | None:
    text = texts.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 20 else None


class _Progress:
    """The line on standard error about an epoch, with the mean of its losses so far."""

    def __init__(self, epoch: int, epochs: int, parts: int):
        """`parts` is how many processes have rows of a batch."""
        self._parts = parts
        self._epoch = f"epoch {epoch + 1}/{epochs}"
        self._began = time.perf_counter()
        self._total, self._losses, self._rows, self._batch = 0.0, 0, 0, 0

    def count(self, loss: float, number: int, batch: Tree) -> None:
        """Count in a loss, after `number` batches of the epoch."""
        shape = next((np.shape(leaf) for leaf in flatten(batch)[0]), (0,))
        self._total += loss
        self._losses += 1
        self._rows += (shape[0] if shape else 1) * self._parts
        self._batch = number

    def show(self, end: str = "") -> None:
        """Write the line; without an end, over the last one of a terminal and nowhere else."""
        stream: TextIO | None = sys.stderr
        if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
            return
        terminal = _is_terminal(stream)
        if not end and not terminal:
            return
        rate = self._rows / max(time.perf_counter() - self._began, 1e-9)
        mean = f"loss {self._total / self._losses:.4f}  {rate:,.0f} examples/s" if self._losses else "no batches"
        batch = f"  batch {self._batch}" if self._losses else ""
        print(f"{chr(13) * terminal}{self._epoch}{batch}  {mean}", end=end, file=stream)
        if hasattr(stream, "flush"):
            stream.flush()


def _is_terminal(stream: object) -> bool:
    ask = getattr(stream, "isatty", None)
    try:
        return bool(ask is not None and ask())
    except ValueError:
        # it is closed
        return False
