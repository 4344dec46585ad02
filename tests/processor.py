"""
A test that fails while the processor divides wrongly says nothing, and is run again.

There are processors, and cores of them, that are defective: some of the time they give other numbers than IEEE 754
demands, and no error (Hochschild et al., "Cores that don't count", HotOS 2021). One that this project was tested on
gave quotients of float64 vectors that were off by a part in 1e11, for seconds at a time, in NumPy and in JAX as well.
The check is exact: the product of two integers below 2^26, divided by one of them, is the other one.

As long as no wrong quotient has been seen in a run, a failure is a failure. Afterwards a test fails when it fails
`VERDICT` times between two looks that find nothing wrong, and the summary names those that were run again.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

Array = np.ndarray[Any, Any]

VERDICT = 3
TRIES = 20
"""At most, looks that find something wrong included."""
SECONDS_OF_LOOKING = 20.0
"""After failures, in all, for a first wrong quotient; the defect comes and goes."""
SECONDS_OF_WAITING = 20.0
"""At most, for the end of a time of wrong quotients."""


@cache
def _products() -> tuple[Array, Array, Array]:
    """Float64 vectors p, b, q with p = b q exactly."""
    b, q = np.random.default_rng(0).integers(1 << 20, 1 << 26, (2, 2000)).astype(np.float64)
    return b * q, b, q


def _available() -> list[int]:
    """The cores on which this process may run, where the system says so."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


@contextmanager
def _only_on(core: int) -> Iterator[None]:
    """Keep this thread on one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def divides_wrongly() -> bool:
    """Whether the processor on which this runs has just given a wrong quotient; takes a few microseconds."""
    product, divisor, quotient = _products()
    return not np.array_equal(product / divisor, quotient)


class DefectiveProcessor:
    """The plugin. Workers share the file `found`, which is there once a quotient was wrong, and lists tests."""

    def __init__(self, found: Callable[[], Path], wrong: Callable[[], bool] = divides_wrongly) -> None:
        self._found = found
        self._wrong = wrong
        self._left = SECONDS_OF_LOOKING

    def _look(self) -> None:
        if self._wrong():
            self._found().touch()

    def _is_proved(self) -> bool:
        began = time.monotonic()
        cores = _available()
        seconds = self._left / len(cores)
        for core in cores:
            with _only_on(core):
                end = time.monotonic() + seconds
                while not self._found().exists() and time.monotonic() < end:
                    self._look()
        self._left -= time.monotonic() - began
        return self._found().exists()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: pytest.Item | None) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports, failures = list[Any](), 0
        for _ in range(TRIES):
            wrong = self._wrong()
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            self._look()
            if not any(report.failed for report in reports) or not self._is_proved():
                break
            failures += not wrong and not self._wrong()
            if failures == VERDICT:
                break
            with self._found().open("a") as file:
                file.write(item.nodeid + "\n")
            # what fixtures have computed may be wrong too
            item.session._setupstate.teardown_exact(None)
            item._initrequest()
            end = time.monotonic() + SECONDS_OF_WAITING
            while self._wrong() and time.monotonic() < end:
                time.sleep(0.1)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._found().exists():
            terminalreporter.section("this processor divides float64 vectors wrongly, some of the time")
            terminalreporter.line("tests that failed and were run again:")
            for line in self._found().read_text().splitlines():
                terminalreporter.line("  " + line)
