"""Rates by the number of the step, which may be a value of a graph: steps count from 0. GraphError for less than 0 of
them."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any, TypeAlias

import numpy as np

from xdsl_rlx.dialects.errors import GraphError

Schedule: TypeAlias = Callable[[Any], Any]
"""From the number of a step to a rate."""


def constant(rate: float) -> Schedule:
    """The same rate always."""
    return lambda step: rate + 0.0 * step


def linear(first: float, last: float, steps: int) -> Schedule:
    """From `first` at step 0 to `last` at step `steps` along a line, and `last` from then on."""
    _check(steps)
    return lambda step: first + (last - first) * _part(step, steps)


def cosine(first: float, steps: int, last: float = 0.0) -> Schedule:
    """From `first` at step 0 to `last` at step `steps` along half a wave, and `last` from then on."""
    _check(steps)
    return lambda step: last + (first - last) * 0.5 * (1.0 + np.cos(pi * _part(step, steps)))


def warmup(steps: int, then: Schedule | float) -> Schedule:
    """`then`, a rate or what counts its steps from the end of this, behind a line from 0 of so many steps."""
    _check(steps)
    after = then if callable(then) else constant(then)
    return (lambda step: after(np.maximum(step - steps, 0)) * _part(step, steps)) if steps else after


def _check(steps: int) -> None:
    if steps < 0:
        raise GraphError(f"expected a number of steps of at least 0, got {steps}")


def _part(step: Any, steps: int) -> Any:
    return np.minimum(step / steps, 1.0) if steps else 1.0 + 0.0 * step
