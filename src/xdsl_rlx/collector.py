"""Python's cyclic garbage collector, at rest while modules are imported or rewritten. Below all layers."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Generator[None]:
    """
    No search for cycles in here.

    IR is cycles of ops, values and uses, made by the thousand and alive while passes run: searching them again and
    again finds nothing, and takes a tenth of the time of a compilation. What is dead afterwards is found afterwards.
    What is imported stays, too.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
