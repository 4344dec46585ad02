"""Work that the first process does for all of them, such as writing a file: its result or its error is everybody's."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xdsl_rlx.dialects.errors import CheckpointError
from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.lowering.backend.driver.collectives import Engine, connected
from xdsl_rlx.lowering.run_errors import DistributedError

Array: TypeAlias = "np.ndarray[Any, Any]"

_MOST_BYTES = 1 << 26
"""Of a message: each has the whole time limit, so that a slow network carries large files."""
_LONGEST_WAIT = 1.0
"""Seconds until the first process says that it still works."""

_WORKS, _ENDED = 0, 1
_NOTHING, _CONTENT, _ERROR = 0, 1, 2


def of_first(work: Callable[[], bytes | None], what: str, place: str) -> bytes | None:
    """
    Return the result of `work` in process 0, which alone runs it, in all processes; its exception is raised in all.

    All processes call it, with one path `place`: CheckpointError for others, since no process writes these. It ends
    when the work has, however long that takes: process 0 works in a thread, and tells the others that it lives. Raises
    DistributedError if a process does not take part.
    """
    engine = connected()
    if engine is None or engine.size == 1:
        return work()
    task = None
    try:
        if not engine.is_same(hashlib.sha256(os.fsencode(place)).digest()):
            raise CheckpointError(
                f"{what}: processes name different files, and the first one writes for all: pass one path to all "
                f"(process {engine.rank} has {place}); np.savez writes a file of one process"
            )
        task = _Task(work) if engine.rank == 0 else None
        while not _has_ended(engine, task):
            pass
        kind, content = _from_first(engine, None if task is None else task.outcome)
    except DistributedError as error:
        raise DistributedError(f"{what}: all processes take part in it, not one alone: {error}") from None
    if task is not None and task.error is not None:
        raise task.error
    if kind == _ERROR:
        raise _loaded(content, what)
    return content if kind == _CONTENT else None


class _Task:
    """A function that runs in a thread of its own."""

    def __init__(self, work: Callable[[], bytes | None]):
        self.error: BaseException | None = None
        self._result: bytes | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self.error = error

    def has_ended(self, seconds: float) -> bool:
        """Whether it has ended, at once or within some time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def outcome(self) -> tuple[int, bytes]:
        """The kind of result, and the result."""
        if self.error is not None:
            return _ERROR, _dumped(self.error)
        return (_NOTHING, b"") if self._result is None else (_CONTENT, self._result)


def _has_ended(engine: Engine, task: _Task | None) -> bool:
    """Whether the work has ended; no process waits for long."""
    is_done = task is not None and task.has_ended(min(_LONGEST_WAIT, engine.timeout / 4))
    here, all_of_them = np.array([_ENDED if is_done else _WORKS]), np.empty(1, np.int64)
    engine.run(Collective.MAX, here, all_of_them)
    return bool(all_of_them[0] == _ENDED)


def _from_first(engine: Engine, outcome: tuple[int, bytes] | None) -> tuple[int, bytes]:
    kind, content = (_NOTHING, b"") if outcome is None else outcome
    head = np.array([kind, len(content)], np.int64)
    kind, count = map(int, broadcast_words(engine, head))
    words = np.zeros(-(-count // 8), np.int64)
    if outcome is not None:
        words.view(np.uint8)[:count] = np.frombuffer(content, np.uint8)
    found = broadcast_words(engine, words)
    return kind, content if outcome is not None else found.view(np.uint8)[:count].tobytes()


def broadcast_words(engine: Engine, words: Array) -> Array:
    """The 64-bit integers that process 0 has, in messages of limited size."""
    found = np.empty_like(words)
    step = _MOST_BYTES // words.itemsize
    for start in range(0, words.size, step):
        part = slice(start, start + step)
        engine.run(Collective.BROADCAST, words[part], found[part])
    return found


def _dumped(error: BaseException) -> bytes:
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except (pickle.PickleError, TypeError, AttributeError, ValueError, ImportError):
        return pickle.dumps(DistributedError(f"{type(error).__name__}: {error}"))
    return content


def _loaded(content: bytes, what: str) -> BaseException:
    error: BaseException = pickle.loads(content)
    error.add_note(f"{what}: this is the error of process 0")
    return error


def gathered(part: Array) -> Array | None:
    """The arrays of all processes one behind the other, `[n * size]`, in process 0; None in the others."""
    engine = connected()
    assert engine is not None
    mine = np.zeros(-(-part.nbytes // 8) * 8, np.uint8)
    mine[: part.nbytes] = part.view(np.uint8)
    words = mine.view(np.int64)
    whole = np.empty((engine.size, words.size), np.int64) if engine.rank == 0 else None
    step = max(1, _MOST_BYTES // words.itemsize // engine.size)
    for start in range(0, words.size, step):
        # of its own, since it may not be an argument that the engine writes to
        source = words[start : start + step]
        target = np.empty(engine.size * source.size, np.int64)
        engine.run(Collective.GATHER, source, target)
        if whole is not None:
            whole[:, start : start + source.size] = target.reshape(engine.size, -1)
    if whole is None:
        return None
    return np.concatenate([row.view(np.uint8)[: part.nbytes].view(part.dtype) for row in whole])
