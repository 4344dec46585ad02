"""The memory of slots: one arena for all programs of the process, as their runs are serialised."""

import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.numba.driver.layout import CACHE_LINE
from xdsl_rlx.lowering.numba.machine.workers import on_all_cores

_PIECE = 4 << 20
"""What a thread touches at a time; two threads gain nothing on less."""


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
    """
    As many bytes as the largest arena of the programs that live.

    `pause` waits until no program runs and keeps others from beginning, until `resume`; `try_to_pause` gives False
    instead of waiting. Both also keep other threads from here. `move` has runs use the arena at an address.
    """

    def __init__(
        self,
        pause: Callable[[], object],
        try_to_pause: Callable[[], bool],
        resume: Callable[[], object],
        move: Callable[[int], object],
    ) -> None:
        self._pause, self._try_to_pause, self._resume, self._move = pause, try_to_pause, resume, move
        self._memory = np.empty(0, np.uint8)
        self._needs: dict[int, tuple[int, int]] = {}
        """Size and alignment, by the numbers of programs."""
        self._gone: deque[int] = deque()
        """Numbers of programs that live no more: garbage is collected at any time, also while a program runs."""
        self._numbers = count()

    @property
    def size(self) -> int:
        """Bytes of memory that it takes."""
        return self._memory.nbytes

    def reserve(self, owner: object, size: int, alignment: int) -> None:
        """Have room for a program as long as its owner lives; MemoryError where there is none."""
        number = next(self._numbers)
        self._pause()
        try:
            self._needs[number] = size, max(alignment, CACHE_LINE)
            try:
                self._fit()
            except MemoryError:
                del self._needs[number]
                raise
        finally:
            self._resume()
        weakref.finalize(owner, self._release, number).atexit = False

    def _release(self, number: int) -> None:
        self._gone.append(number)
        # who holds the lock meanwhile is waited for by nobody: the next program that comes or goes sees to it
        if self._try_to_pause():
            try:
                self._fit()
            finally:
                self._resume()

    def _fit(self) -> None:
        """Take other memory where there is too little, or more than twice of what is needed."""
        while self._gone:
            self._needs.pop(self._gone.popleft(), None)
        size = max((size for size, _ in self._needs.values()), default=0)
        alignment = max((alignment for _, alignment in self._needs.values()), default=1)
        if size <= self.size <= 2 * size and self._memory.ctypes.data % alignment == 0:
            return
        memory = aligned_bytes(size, alignment)
        self._move(int(memory.ctypes.data))
        self._memory = memory
        touch([memory])
