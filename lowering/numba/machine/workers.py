"""Jobs on all cores, in threads that live as long as the jobs, and what `os.fork` waits for.
The threads that run compiled programs are the driver's (`process.py`)."""

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_cores(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """
    `[work(item) for item in items]`, as many at a time as there are cores; `work` must release the interpreter lock.

    Of several errors the one of the earliest item is raised, once no item is being worked on.
    """
    results, errors = dict[int, R](), dict[int, BaseException]()
    left = iter(range(len(items)))

    def run() -> None:
        # iterators over ranges give each number to one thread only
        for index in left:
            if errors:
                return
            try:
                results[index] = work(items[index])
            except BaseException as error:
                errors[index] = error

    helpers = [threading.Thread(target=run) for _ in range(min(cores(), len(items)) - 1)]
    started = list[threading.Thread]()
    # a system that refuses a thread has others do its work
    with suppress(RuntimeError):
        for helper in helpers:
            helper.start()
            started.append(helper)
    run()
    for helper in started:
        helper.join()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(items))]


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
        os.register_at_fork(before=self._acquire, after_in_parent=self._release, after_in_child=self._release)

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
