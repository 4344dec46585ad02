"""The arena that all programs of a process share."""

import ctypes
import gc
import mmap
import os
import threading

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.arena import Arena
from xdsl_rlx.lowering.backend.driver.process import pool

LARGE = 64 << 20


class Owner:
    """Who may have weak references."""


class Runs:
    """Where runs find the arena."""

    def __init__(self) -> None:
        self.arena, self.addresses = Arena(), list[int]()

    def reserve(self, owner: object, size: int, alignment: int = 64) -> None:
        self.arena.reserve(owner, size, alignment, self.addresses.append)


def test_it_is_as_large_as_the_largest_program_needs():
    runs = Runs()
    small, large = Owner(), Owner()
    runs.reserve(small, 1000)
    runs.reserve(large, 5000, 256)
    assert runs.arena.size == 5000 and runs.addresses[-1] % 256 == 0
    runs.reserve(small, 2000, 512)
    assert runs.arena.size == 5000 and runs.addresses[-1] % 512 == 0
    del large
    assert runs.arena.size == 2000
    del small
    assert runs.arena.size == 0


def test_programs_without_slots_need_none():
    for _ in range(50):
        runs = Runs()
        runs.reserve(Owner(), 0, 4096)
        assert runs.arena.size == 0 and not runs.addresses


def test_it_moves_only_to_grow():
    runs = Runs()
    for size in (100, 5000, 5000, 70, 4000, 6000, 1):
        runs.reserve(Owner(), size)
    assert len(runs.addresses) == 3


def test_a_program_that_goes_while_another_thread_has_the_lock_is_seen_to_later():
    runs = Runs()
    owners = [Owner()]
    runs.reserve(owners[0], 5000)
    with runs.arena.lock:
        thread = threading.Thread(target=owners.clear)
        thread.start()
        thread.join()
        assert runs.arena.size == 5000
    runs.reserve(Owner(), 1)
    assert runs.arena.size == 0


def test_what_a_signal_handler_compiles_meanwhile_has_room():
    runs, owners = Runs(), [Owner(), Owner()]

    def move(address: int) -> None:
        runs.addresses.append(address)
        if len(runs.addresses) == 1:
            runs.reserve(owners[1], 9000)

    runs.arena.reserve(owners[0], 5000, 64, move)
    assert runs.arena.size >= 9000
    begin = runs.arena._memory.ctypes.data
    assert runs.addresses[-1] == begin


def test_a_program_that_needs_too_much_leaves_the_arena_as_it_was():
    runs = Runs()
    owner = Owner()
    runs.reserve(owner, 5000)
    with pytest.raises(MemoryError):
        runs.reserve(owner, 1 << 60)
    assert runs.arena.size == 5000 and len(runs.addresses) == 1
    runs.reserve(owner, 6000)
    assert runs.arena.size == 6000


def pages_present(address: int, size: int) -> list[bool]:
    """Of each page whether it is in memory."""
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    size += address - first
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(first), ctypes.c_size_t(size), pages) == 0
    return [bool(page & 1) for page in pages]


def test_its_pages_are_in_memory_before_a_run_and_given_back_after_the_last_one():
    runs, owner, small = Runs(), Owner(), Owner()
    runs.reserve(owner, LARGE)
    runs.reserve(small, LARGE // 4)
    assert all(pages_present(runs.addresses[0], LARGE))
    del owner
    left = pages_present(runs.addresses[0], LARGE)
    assert all(left[: len(left) // 4]) and not any(left[len(left) // 4 + 2 : -1])
    again = Owner()
    runs.reserve(again, LARGE // 2)
    assert all(pages_present(runs.addresses[0], LARGE // 2)) and len(runs.addresses) == 1


def chain(n: int) -> rlx.CompiledFunction:
    """A function whose program has an arena of at least n x n numbers, compiled."""
    compiled = rlx.compile(lambda x: np.tanh(x @ x) @ x, threads=1)
    compiled(np.zeros((n, n), np.float32))
    return compiled


def sums(n: int) -> rlx.CompiledFunction:
    """As `chain`, of a program whose time is that of n x n additions."""
    compiled = rlx.compile(lambda x: np.cumsum(np.cumsum(x, 0), 1), threads=1)
    compiled(np.zeros((n, n), np.int32))
    return compiled


def test_programs_share_it():
    # without the programs of earlier tests, which would make it, and so these matrices, large
    gc.collect()
    before = pool().arena.size
    size = int((2 * before / 4) ** 0.5) + 300
    first = sums(size)
    grown = pool().arena.size
    assert grown >= 4 * size * size > before
    second = sums(size - 1)
    assert pool().arena.size == grown
    x = np.random.default_rng(0).integers(-9, 9, (size, size), np.int32)
    y = x[1:, 1:].copy()
    for _ in range(2):
        np.testing.assert_array_equal(first(x), x.cumsum(0).cumsum(1))
        np.testing.assert_array_equal(second(y), y.cumsum(0).cumsum(1))
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
