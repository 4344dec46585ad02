"""What calls of compiled graphs go through, such as a search for NaN."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

Observer = Callable[["CompiledGraph", tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]

OBSERVER: ContextVar[Observer | None] = ContextVar("OBSERVER", default=None)
"""What calls of compiled graphs go through instead, in this context."""
