"""The memory of slots: one arena for all programs of the process, as their runs are serialised."""

import ctypes
import mmap
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.layout import CACHE_LINE
from xdsl_rlx.lowering.backend.machine.workers import on_all_cores

_PIECE = 4 << 20
"""What a thread touches at a time; two threads gain nothing on less."""

_GIVE_BACK = getattr(mmap, "MADV_DONTNEED", None)


def aligned_bytes(size: int, alignment: int) -> NDArray[np.uint8]:
    """Uninitialised memory whose first byte has the alignment asked for; NumPy backs large blocks with huge pages."""
    memory = np.empty(size + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + size]


def touch(arrays: Iterable[NDArray[np.uint8]]) -> None:
    """
    Write to all pages, on all cores.

    The first write to a page costs the system 0.1 ms per MB in large pages and 0.6 in small ones, on a virtual machine
    that never used the memory 3; a first run would take several times as long as the next.
    """
    pieces = [array[start : start + _PIECE] for array in arrays for start in range(0, array.nbytes, _PIECE)]
    on_all_cores(lambda piece: ctypes.memset(int(piece.ctypes.data), 0, piece.nbytes), pieces)


class Arena:
    """As many bytes as the largest arena of the programs that live."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Never held for long; a signal handler, or the collection of garbage, may find its own thread having it."""
        self._memory = np.empty(0, np.uint8)
        self._present = 0
        """From here on the system may have the pages back."""
        self._needs: dict[int, tuple[int, int]] = {}
        """Size and alignment, by the numbers of programs."""
        self._gone: deque[int] = deque()
        """Numbers of programs that live no more."""
        self._numbers = count()

    @property
    def size(self) -> int:
        """Bytes of memory that it takes."""
        return self._present

    def reserve(self, owner: object, size: int, alignment: int, move: Callable[[int], object]) -> None:
        """
        Have room for a program as long as its owner lives; MemoryError where there is none.

        `move` has all runs after it use the arena at an address, and returns when none uses another one.
        """
        number = next(self._numbers)
        with self.lock:
            self._needs[number] = size, max(alignment, CACHE_LINE)
            try:
                # what a signal handler compiles in between may need more
                while not self._fits():
                    self._grow(move)
            except MemoryError:
                del self._needs[number]
                raise
            if size > self._present:
                # programs that run meanwhile use what is in front
                touch([self._memory[self._present : size]])
                self._present = size
        weakref.finalize(owner, self._release, number).atexit = False

    def _release(self, number: int) -> None:
        """Give pages back, even while a program runs: it uses none of those."""
        self._gone.append(number)
        # garbage may be collected in any thread at any time: if another one has the lock, the next program sees to it
        if self.lock.acquire(blocking=False):
            try:
                size = self._needed()[0]
                if size < self._present:
                    self._present = size
                    _give_back(self._memory[size:])
            finally:
                self.lock.release()

    def _needed(self) -> tuple[int, int]:
        """The size and alignment that the programs need."""
        while self._gone:
            self._needs.pop(self._gone.popleft(), None)
        sizes, alignments = zip((0, 1), *self._needs.values(), strict=True)
        return max(sizes), max(alignments)

    def _fits(self) -> bool:
        size, alignment = self._needed()
        # an array without elements may begin anywhere
        return size == 0 or (size <= self._memory.nbytes and self._memory.ctypes.data % alignment == 0)

    def _grow(self, move: Callable[[int], object]) -> None:
        memory = aligned_bytes(*self._needed())
        touch([memory])
        move(int(memory.ctypes.data))
        self._memory, self._present = memory, memory.nbytes


def _give_back(memory: NDArray[np.uint8]) -> None:
    """Let the system have the pages of memory whose contents do not matter."""
    begin = -(-memory.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (memory.ctypes.data + memory.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if begin < end and _GIVE_BACK is not None:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _GIVE_BACK)
