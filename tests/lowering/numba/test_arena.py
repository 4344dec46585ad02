"""The arena that all programs of a process share."""

import ctypes
import gc
import mmap
import os
import threading

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.numba.driver.arena import Arena
from xdsl_rlx.lowering.numba.driver.process import pool

LARGE = 64 << 20


class Owner:
    """Who may have weak references."""


class Runs:
    """A lock of runs, and where the arena is."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.address = 0
        self.arena = Arena(self.lock.acquire, lambda: self.lock.acquire(blocking=False), self.lock.release, self.move)

    def move(self, address: int) -> None:
        assert self.lock.locked()
        self.address = address


def test_it_is_as_large_as_the_largest_program_needs():
    runs = Runs()
    small, large = Owner(), Owner()
    runs.arena.reserve(small, 1000, 64)
    runs.arena.reserve(large, 5000, 256)
    assert runs.arena.size == 5000 and runs.address % 256 == 0
    runs.arena.reserve(small, 2000, 512)
    assert runs.arena.size == 5000 and runs.address % 512 == 0
    del large
    assert runs.arena.size == 2000
    del small
    assert runs.arena.size == 0


def test_a_program_that_goes_during_a_run_is_seen_to_later():
    runs = Runs()
    owner = Owner()
    runs.arena.reserve(owner, 5000, 64)
    with runs.lock:
        del owner
        assert runs.arena.size == 5000
    runs.arena.reserve(Owner(), 1, 64)
    assert runs.arena.size == 0


def test_a_program_that_needs_too_much_leaves_the_arena_as_it_was():
    runs = Runs()
    owner = Owner()
    runs.arena.reserve(owner, 5000, 64)
    with pytest.raises(MemoryError):
        runs.arena.reserve(owner, 1 << 60, 64)
    assert runs.arena.size == 5000 and not runs.lock.locked()
    runs.arena.reserve(owner, 6000, 64)
    assert runs.arena.size == 6000


def present(address: int, size: int) -> bool:
    """Whether all pages are in memory."""
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    size += address - first
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(first), ctypes.c_size_t(size), pages) == 0
    return all(page & 1 for page in pages)


def test_its_pages_are_in_memory_before_a_run():
    runs, owner = Runs(), Owner()
    runs.arena.reserve(owner, LARGE, 64)
    assert present(runs.address, LARGE)


def chain(n: int) -> rlx.CompiledFunction:
    """A function whose program has an arena of at least n x n numbers, compiled."""
    compiled = rlx.compile(lambda x: np.tanh(x @ x) @ x, threads=1)
    compiled(np.zeros((n, n), np.float32))
    return compiled


def test_programs_share_it():
    before = pool().arena.size
    size = int((2 * before / 4) ** 0.5) + 300
    first = chain(size)
    grown = pool().arena.size
    assert grown >= 4 * size * size > before
    second = chain(size - 1)
    assert pool().arena.size == grown
    x = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32) / size
    y = x[1:, 1:].copy()
    for _ in range(2):
        np.testing.assert_allclose(first(x), np.tanh(x @ x) @ x, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(second(y), np.tanh(y @ y) @ y, rtol=1e-3, atol=1e-6)
    del first, second
    gc.collect()
    assert pool().arena.size < grown


def test_a_forked_child_has_it():
    compiled = chain(200)
    x = np.full((200, 200), 0.01, np.float32)
    expected = compiled(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(compiled(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_programs_come_and_go_while_others_run():
    steady = chain(64)
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32) / 64
    expected = steady(x)
    wrong: list[int] = []
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            wrong.extend([1] if not np.array_equal(steady(x), expected) else [])

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for n in (300, 65, 301, 700):
            chain(n)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not wrong
