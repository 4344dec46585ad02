"""A log of compiled functions: what is compiled, and which argument differs from the most similar earlier call."""

# Trees are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from xdsl_rlx.binding import Default, Parameters
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.static_keys import Static, is_static_leaf
from xdsl_rlx.tree import flatten, paths

_LOGGER = logging.getLogger("xdsl_rlx.compile")
_MOST = 5
"""Differences that a line shows."""


def is_wanted() -> bool:
    """Whether `XDSL_RLX_LOG_COMPILES` is 1; ConfigurationError for anything but 0 and 1."""
    text = os.environ.get("XDSL_RLX_LOG_COMPILES", "")
    if text not in ("", "0", "1"):
        raise ConfigurationError(f"XDSL_RLX_LOG_COMPILES must be 0 or 1, got {text!r}")
    return text == "1"


class CompileLog:
    """What a function was compiled for so far, if the log is on."""

    def __init__(self) -> None:
        self._earlier: list[dict[str, str]] = []

    def add(self, name: str, parameters: Parameters, values: Sequence[Any]) -> None:
        """Log that a function is compiled for the values bound to its parameters, as a warning."""
        if not is_wanted():
            return
        now = {
            f"{parameter}{place}": text
            for parameter, value in zip(parameters.names, values, strict=True)
            for place, text in _described(value)
        }
        if not self._earlier:
            listed = ", ".join(f"{place}: {text}" for place, text in list(now.items())[:_MOST])
            more = f" and {len(now) - _MOST} more" if len(now) > _MOST else ""
            _LOGGER.warning("compiling %s for %s%s", name, listed or "no arguments", more)
        else:
            found = min((_differences(now, other) for other in reversed(self._earlier)), key=len)
            why = "; ".join(found[:_MOST]) or "the order or the classes of containers differ"
            more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
            count = len(self._earlier) + 1
            _LOGGER.warning("compiling %s again, for signature %d: %s%s", name, count, why, more)
        self._earlier.append(now)


def _differences(now: dict[str, str], earlier: dict[str, str]) -> list[str]:
    found = [
        f"{place} is {text}, was {earlier[place]}" if place in earlier else f"{place} is new, {text}"
        for place, text in now.items()
        if earlier.get(place) != text
    ]
    return [*found, *(f"{place} is missing, was {text}" for place, text in earlier.items() if place not in now)]


def _described(value: Any) -> list[tuple[str, str]]:
    leaves, spec = flatten(value, lambda one: isinstance(one, Static | Default))
    return [(place, _text(leaf)) for place, leaf in zip(paths(spec), leaves, strict=True)]


def _text(leaf: Any) -> str:
    if isinstance(leaf, Static):
        return f"static {shown(leaf.value)}"
    if isinstance(leaf, Default):
        return "its default"
    if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        return f"{leaf.dtype}[{', '.join(map(str, leaf.shape))}]"
    return shown(leaf) if is_static_leaf(leaf) else f"a Python {type(leaf).__name__}"
