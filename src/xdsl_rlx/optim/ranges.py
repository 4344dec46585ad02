"""Ranges of the arguments that optimisers are made with, by name: every class has one meaning for a name."""

# Arguments are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from math import inf
from typing import Any

import numpy as np

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.value import Value

_NOT_NEGATIVE: tuple[str, Callable[[float], bool]] = ("a number of at least 0", lambda x: 0.0 <= x < inf)
_DECAY: tuple[str, Callable[[float], bool]] = ("a number of at least 0 and below 1", lambda x: 0.0 <= x < 1.0)

RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    **dict.fromkeys(("learning_rate", "other_learning_rate"), _NOT_NEGATIVE),
    **dict.fromkeys(("momentum", "weight_decay", "initial_accumulator_value"), _NOT_NEGATIVE),
    **dict.fromkeys(("eps", "eps1", "eps2"), _NOT_NEGATIVE),
    **dict.fromkeys(("b1", "b2", "decay", "rho"), _DECAY),
    "b2_decay": ("a number of at most 0", lambda x: -inf < x <= 0.0),
    "threshold": ("a number of at least 1", lambda x: x >= 1.0),
    "clip_norm": ("a number above 0", lambda x: x > 0.0),
    "iterations": ("an integer of at least 1", lambda x: x >= 1 and x == int(x)),
}
"""In words, and as a test, for a number that is not NaN or for NaN alike."""


def check_number(what: str, name: str, found: Any) -> None:
    """Raise GraphError for an argument that is outside of the range of its name, or no number; not for a value."""
    words, fits = RANGES[name]
    if isinstance(found, Value):
        return
    number = _number(found)
    if number is None or not fits(number):
        raise GraphError(f"{what}: expected {words}, got {shown(found)}")


FLAGS = ("nesterov", "centered")


def check_ranges(optimiser: Any) -> None:
    """Raise GraphError for an argument of an optimiser that is outside of its range, or no number."""
    for one in fields(optimiser):
        found = getattr(optimiser, one.name)
        what = f"{type(optimiser).__name__}: {one.name}"
        if one.name in FLAGS and not isinstance(found, bool | np.bool_):
            raise GraphError(f"{what}: expected True or False, got {shown(found)}")
        if one.name not in RANGES or isinstance(found, Value) or (found is None and one.default is None):
            continue
        words, fits = RANGES[one.name]
        schedule = "Schedule" in str(one.type)
        if schedule and callable(found):
            continue
        number = _number(found)
        if number is None or not fits(number):
            others = " or a schedule" if schedule else ""
            others += " or None" if one.default is None else ""
            raise GraphError(f"{what}: expected {words}{others}, got {shown(found)}")


def _number(x: Any) -> float | None:
    """A number, or an array of one without dimensions; None for anything else."""
    if isinstance(x, bool | str | bytes) or np.shape(x) != ():
        return None
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        return None
