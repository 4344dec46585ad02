"""Jobs on all cores, and forks beside them."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver import process
from xdsl_rlx.lowering.backend.machine import llvm, workers
from xdsl_rlx.lowering.backend.machine.llvm import Effort, compile_llvm
from xdsl_rlx.lowering.backend.machine.workers import Jobs, on_all_cores
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
PATIENCE = 60
"""Seconds after which a child counts as hanging."""


def in_child(work: Callable[[], bool]) -> bool:
    """Whether `work` is true in a forked child, which is killed when it hangs."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextmanager
def beside(step: Callable[[int], object]) -> Iterator[list[BaseException]]:
    """A thread calls `step` with 0, 1, ... meanwhile; gives what it raised, and has begun when the region does."""
    begun, stop, errors = threading.Event(), threading.Event(), list[BaseException]()

    def work() -> None:
        number = 0
        try:
            while not stop.is_set():
                step(number)
                number += 1
                begun.set()
        except BaseException as error:
            errors.append(error)
        finally:
            begun.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert begun.wait(PATIENCE)
        yield errors
    finally:
        stop.set()
        thread.join()


SIZE = 1 << 16
"""So large that two threads run a program together."""


def compiles_and_runs(name: str) -> bool:
    """Whether twice a vector is right, by a graph of that name: from the cache if it was compiled before."""
    g = rlx.Graph(name)
    x = g.input("x", (SIZE,))
    g.set_outputs([x + x])
    graph = compile_module(g.module, 2, Effort.QUICK)
    assert any(launch.chunks > 1 for launch in graph.program.launches)
    values = np.arange(SIZE, dtype=np.float32)
    return bool((graph(values)[0] == values + values).all())


def test_a_child_forked_while_another_thread_compiles_compiles_and_runs(make):
    assert compiles_and_runs("parent")
    with beside(lambda number: compile_llvm(make.add_text, make.add_text)) as errors:
        found = [in_child(lambda number=number: compiles_and_runs(f"child{number}")) for number in range(10)]
    assert found == [True] * 10 and errors == []


def test_a_child_forked_while_another_thread_stores_and_runs_does_both():
    with beside(lambda number: compiles_and_runs("parent")) as errors:
        found = [in_child(lambda: compiles_and_runs("parent")) for _ in range(10)]
    assert found == [True] * 10 and errors == []


def test_a_fork_waits_for_the_run_that_another_thread_is_in():
    # a run gives BLAS one thread and puts it right at the end, which would never come in a child forked meanwhile
    pool, began, ended = process.pool(), threading.Event(), list[bool]()

    def run() -> None:
        pool._libc.pthread_mutex_lock(pool._run_mutex)
        began.set()
        time.sleep(0.05)
        ended.append(True)
        pool._libc.pthread_mutex_unlock(pool._run_mutex)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(PATIENCE) and in_child(lambda: ended == [True])
    thread.join()


def _child_of_multiprocessing(queue: "multiprocessing.Queue[bool]") -> None:
    queue.put(compiles_and_runs("multiprocessing"))


def test_multiprocessing_by_fork(make):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with beside(lambda number: compile_llvm(make.add_text)):
        child = context.Process(target=_child_of_multiprocessing, args=(queue,))
        child.start()
        try:
            assert queue.get(timeout=PATIENCE)
        finally:
            child.join(PATIENCE)
            child.kill()
    assert child.exitcode == 0


def test_llvm_runs_on_all_cores_without_llvmlites_lock(make, monkeypatch: pytest.MonkeyPatch):
    together, owned = threading.Barrier(2), list[bool]()
    library, lock = llvm._library(), llvm.llvm.ffi.lib._lock._lock
    real = library.LLVMPY_RunNewModulePassManager

    def run(*args: object) -> None:
        owned.append(lock._is_owned())
        # passed only when two threads are inside at once
        together.wait(PATIENCE)
        real(*args)

    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(library, "LLVMPY_RunNewModulePassManager", run)
    compile_llvm(make.text, make.add_text)
    assert owned == [False, False]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_order_whatever_the_cores(monkeypatch: pytest.MonkeyPatch, count: int):
    monkeypatch.setattr(workers, "cores", lambda: count)
    assert on_all_cores(lambda x: x * x, range(20)) == [x * x for x in range(20)]
    assert on_all_cores(lambda x: x, list[int]()) == []


def test_the_earliest_error_is_raised_and_no_thread_is_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "cores", lambda: 3)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        on_all_cores(lambda x: 1 // x, [1, 0, 1, 1])
    assert threading.active_count() == before


def test_work_begins_before_all_items_are_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "cores", lambda: 2)
    begun = threading.Event()

    def work(number: int) -> int:
        begun.set()
        return -number

    with Jobs(work) as jobs:
        jobs.add(1)
        assert begun.wait(PATIENCE)
        jobs.add(2)
        assert jobs.results() == [-1, -2]


def test_what_brings_the_items_may_fail(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "cores", lambda: 3)
    before = threading.active_count()
    with pytest.raises(KeyError), Jobs(lambda number: -number) as jobs:
        jobs.add(1)
        raise KeyError
    assert threading.active_count() == before


def test_turns_are_what_they_were_after_the_last_one_out():
    before = sys.getswitchinterval()
    with workers.brisk_turns():
        brisk = sys.getswitchinterval()
        with workers.brisk_turns():
            assert sys.getswitchinterval() == brisk < before
        assert sys.getswitchinterval() == brisk
    assert sys.getswitchinterval() == before


def test_a_system_without_threads_compiles_all_the_same(monkeypatch: pytest.MonkeyPatch):
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "cores", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert on_all_cores(lambda x: -x, [1, 2, 3]) == [-1, -2, -3]
