"""What `os.fork` waits for: locks of this package that other threads hold, and imports that they have under way.
A child has the memory of all threads, but only the thread that forks. Below all layers: it imports none of them."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple, Protocol

# The fork step of `logging` is then older than the one of this module, so that an import that needs its lock ends.
_ = logging

PATIENCE_SECONDS = 60.0
"""How long a fork waits for imports at most: one that waits for the thread that forks never ends."""
_POLL_SECONDS = 0.001
_TURN_SECONDS = 0.05
"""For so long no other thread gets the interpreter, between the last look at what it imports and the fork."""
_FINISHES = frozenset(
    ("llvmlite", "ml_dtypes", "numba", "numpy", "optree", "platformdirs", "safetensors", "scipy", "xdsl", "xdsl_rlx")
)
"""Packages whose import ends; that of an application may run the application."""


class _Lock(Protocol):
    def acquire(self) -> object: ...

    def release(self) -> object: ...


class _Step(NamedTuple):
    before: Callable[[], object]
    after_in_parent: Callable[[], object]
    after_in_child: Callable[[], object]


class _Fork:
    """A fork under way: the steps that it has entered."""

    def __init__(self) -> None:
        self.entered: list[_Step] = []
        self._turn: float | None = None
        """How long threads waited for the interpreter before."""

    def keep_the_interpreter(self) -> None:
        """Let no other thread have it for a while, once each has had a look at how long it waits now."""
        self._turn = sys.getswitchinterval()
        sys.setswitchinterval(max(_TURN_SECONDS, self._turn))
        time.sleep(_POLL_SECONDS)

    def left(self) -> list[_Step]:
        """The steps that are to be left, in order; none is entered any more."""
        if self._turn is not None:
            sys.setswitchinterval(self._turn)
        steps, self.entered, self._turn = self.entered[::-1], [], None
        return steps


class ForkSteps:
    """
    Steps around a fork, as `os.register_at_fork` has them, with two differences.

    A step that is added while a fork is under way takes part in it from its beginning, or not at all. And a fork waits
    for the imports of other threads: a child that needs one of these modules would wait for its lock forever.
    """

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._forks: dict[int, _Fork] = {}
        """By the thread that forks."""

    def add(
        self,
        before: Callable[[], object],
        after_in_parent: Callable[[], object],
        after_in_child: Callable[[], object],
    ) -> None:
        """One more step: the last one added is the first before a fork, and the last after it."""
        self._steps.append(_Step(before, after_in_parent, after_in_child))

    def hold(self, lock: _Lock) -> None:
        """Have forks take a lock, so that no other thread has it when the child begins."""
        self.add(lock.acquire, lock.release, lock.release)

    def before(self) -> None:
        """
        Wait for imports, and enter the steps.

        An import that begins meanwhile may add steps, and its thread go on to what these keep out of a fork: all steps
        are left and entered anew, in their order.
        """
        fork = self._forks[threading.get_ident()] = _Fork()
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            while _others_import() and time.monotonic() < end:
                time.sleep(_POLL_SECONDS)
            steps = self._steps[::-1]
            for step in steps:
                step.before()
                fork.entered.append(step)
            fork.keep_the_interpreter()
            if (len(steps) == len(self._steps) and not _others_import()) or time.monotonic() > end:
                return
            for step in fork.left():
                step.after_in_parent()

    def after_in_parent(self) -> None:
        """Leave the steps that were entered."""
        for step in self._forks.pop(threading.get_ident(), _Fork()).left():
            step.after_in_parent()

    def after_in_child(self) -> None:
        """The same in the child, which has no other thread."""
        steps = self._forks.pop(threading.get_ident(), _Fork()).left()
        self._forks.clear()
        for step in steps:
            step.after_in_child()


def _frames() -> dict[int, FrameType]:
    """Where each thread is."""
    return sys._current_frames()  # pyright: ignore[reportPrivateUsage]


def _others_import() -> bool:
    own = threading.get_ident()
    return any(_is_importing(frame) for thread, frame in _frames().items() if thread != own)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a thread, which is at this frame, has the lock of a module whose import ends."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            package = str(frame.f_locals.get("name")).partition(".")[0]
            if package in _FINISHES or package in sys.stdlib_module_names:
                return True
        frame = frame.f_back
    return False


class _ProcessName:
    """A text that no other process has, not even one that was forked and has the number of one that ended."""

    def __init__(self) -> None:
        self.text = ""
        self.renew()

    def renew(self) -> None:
        self.text = f"process {os.getpid()} {os.urandom(16).hex()}"


def _nothing() -> None:
    pass


at_fork = ForkSteps()
os.register_at_fork(
    before=at_fork.before, after_in_parent=at_fork.after_in_parent, after_in_child=at_fork.after_in_child
)
_process = _ProcessName()
at_fork.add(_nothing, _nothing, _process.renew)


def process_name() -> str:
    """A text that no other process has; a forked child has another one than its parent."""
    return _process.text
