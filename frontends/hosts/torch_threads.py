"""
The threads of PyTorch beside those of compiled programs.

GNU OpenMP, which PyTorch runs its operations on, has idle threads wait busily for some 10 ms before they sleep. A
compiled program that runs meanwhile shares a core with each of them, and waits whenever the system has taken the core
from one of its own threads: training steps on two cores took 84 ms in place of 19 ms. OpenMP waits 300 times shorter
where it has more threads than the machine has cores. A thread that does nothing else holds as many.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from functools import cache
from pathlib import Path

SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
"""Variables of the environment that say how long OpenMP waits: what a user has set stays."""

_LIBRARY = re.compile(r"\s(/\S*/libgomp[^/\s]*)$", re.MULTILINE)


@cache
def calm_openmp() -> bool:
    """Have idle threads of OpenMP sleep soon, in this process; return whether GNU OpenMP is there to be told."""
    if any(name in os.environ for name in SETTINGS):
        return False
    started = [_held(path) for path in _loaded()]
    return bool(started)


def _loaded() -> list[str]:
    """The paths of the GNU OpenMP libraries of this process; none where there is no `/proc`."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted(set(_LIBRARY.findall(maps)))


def _held(path: str) -> threading.Thread:
    """A thread with a team of OpenMP, of one thread more than there are cores."""
    library, ready = ctypes.CDLL(path), threading.Event()
    # a function of one pointer that does nothing for null
    nothing = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)
    count = (os.cpu_count() or 1) + 1

    def hold() -> None:
        library.GOMP_parallel(nothing, None, ctypes.c_uint(count), ctypes.c_uint(0))
        ready.set()
        threading.Event().wait()

    thread = threading.Thread(target=hold, name="xdsl_rlx-openmp", daemon=True)
    thread.start()
    ready.wait()
    return thread
