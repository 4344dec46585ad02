"""Jobs on all cores, in threads that live as long as the jobs, and what `os.fork` waits for.
The threads that run compiled programs are the driver's (`process.py`)."""

import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Generic, Self, TypeVar

from xdsl_rlx.forks import at_fork

T = TypeVar("T")
R = TypeVar("R")
_TURN_SECONDS = 1e-4


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Jobs(Generic[T, R]):
    """
    `work` on items that come one by one, as many at a time as there are cores; it must release the interpreter lock.

    All cores but one begin as soon as there is something to do; the thread that brings the items joins in when it
    asks for the `results`. Leaving the context before that leaves out what no core has begun.
    """

    def __init__(
        self, work: Callable[[T], R], most: int | None = None, told: Callable[[int, int], None] | None = None
    ) -> None:
        """`most` bounds the threads that are started; `told` how many items are done, of how many, by any of them."""
        self._work = work
        self._told = told
        self._most = cores() - 1 if most is None else min(cores() - 1, most)
        self._items: list[T] = []
        self._begun = 0
        self._complete = False
        self._change = threading.Condition()
        self._results: dict[int, R] = {}
        self._errors: dict[int, BaseException] = {}
        self._helpers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with self._change:
            self._begun, self._complete = len(self._items), True
            self._change.notify_all()
        self._join()

    def add(self, item: T) -> None:
        """One more item."""
        with self._change:
            self._items.append(item)
            self._change.notify()
        if len(self._helpers) < self._most:
            helper = threading.Thread(target=self._run)
            # a system that refuses a thread has others do its work
            with suppress(RuntimeError):
                helper.start()
                self._helpers.append(helper)

    def results(self) -> list[R]:
        """
        What `work` made of each item, in order.

        Of several errors the one of the earliest item is raised, once no item is being worked on.
        """
        with self._change:
            self._complete = True
            self._change.notify_all()
        self._run()
        self._join()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[index] for index in range(len(self._items))]

    def _run(self) -> None:
        while (index := self._next()) is not None:
            try:
                self._results[index] = self._work(self._items[index])
                if self._told is not None:
                    self._told(len(self._results), len(self._items))
            except BaseException as error:
                self._errors[index] = error

    def _next(self) -> int | None:
        """The number of an item that is this thread's to do, None when there will be none."""
        with self._change:
            while self._begun == len(self._items) and not self._complete:
                self._change.wait()
            if self._errors or self._begun == len(self._items):
                return None
            self._begun += 1
            return self._begun - 1

    def _join(self) -> None:
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()


def on_all_cores(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`[work(item) for item in items]`, as `Jobs` does it."""
    with Jobs(work, len(items) - 1) as jobs:
        for item in items:
            jobs.add(item)
        return jobs.results()


class _Turns:
    """How long threads wait for the interpreter, which is a setting of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0.0
        at_fork.hold(self._lock)

    @contextmanager
    def brisk(self) -> Generator[None]:
        """
        Threads that do much outside of Python wait less for one that is in it.

        Compiling a module enters LLVM twenty times. Each time it would wait 5 ms for the thread that runs passes, and a
        core idle.
        """
        with self._lock:
            if not self._inside:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, _TURN_SECONDS))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    sys.setswitchinterval(self._before)


brisk_turns = _Turns().brisk


class ForkGuard:
    """
    Keeps `os.fork` out of regions that must not be cut in two: a child has the memory of all threads, but one thread.

    A fork waits until no thread is inside, and threads that want to enter wait until it is over. So many can be inside
    at a time as there are processors; the thread that forks may be inside itself.
    """

    def __init__(self, *others: Callable[[], AbstractContextManager[object] | None]) -> None:
        """`others` give further locks that a fork takes, after its own; None for one that does not exist yet."""
        self._others = others
        self._entrance = threading.RLock()
        self._places = [threading.RLock() for _ in range(os.cpu_count() or 1)]
        self._held = ExitStack()
        at_fork.add(self._acquire, self._release, self._release)

    @contextmanager
    def inside(self) -> Generator[None]:
        """A region during which no other thread forks."""
        with self._entrance:
            pass
        place = next((one for one in self._places if one.acquire(blocking=False)), None)
        if place is None:
            place = self._places[threading.get_ident() % len(self._places)]
            place.acquire()
        try:
            yield
        finally:
            place.release()

    def _acquire(self) -> None:
        # the entrance first: threads that compile in a loop would otherwise come back before a fork gets its turn
        self._entrance.acquire()
        held = ExitStack()
        held.callback(self._entrance.release)
        for place in self._places:
            held.enter_context(place)
        for other in self._others:
            if (lock := other()) is not None:
                held.enter_context(lock)
        self._held = held

    def _release(self) -> None:
        self._held.pop_all().close()
