"""`@launched`: one iteration of a launch as a plain Python function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import nest
from xdsl_rlx.lowering.nests.work import Work


def launched(
    work: Work, extent: int, cost: int, reads: Sequence[Argument], writes: Sequence[Argument]
) -> Callable[[Callable[..., Any]], None]:
    """Decorator: the function is an iteration of a launch, see `Work.launch`; its arrays are `reads`, then `writes`."""
    return lambda function: work.launch(extent, cost, reads, writes, nest(function))
