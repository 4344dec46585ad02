"""
Learning-rate schedules: functions from the step number, which may be a traced value, to a rate.

As in optax, the first update of an optimiser reads step 0: after `warmup` from 0, it leaves the parameters as they are.
A negative number of steps raises GraphError.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any, TypeAlias

import numpy as np

from xdsl_rlx.dialects.errors import GraphError

Schedule: TypeAlias = Callable[[Any], Any]
"""A function from the step number to a learning rate."""


def constant(rate: float) -> Schedule:
    """Return a schedule with the same rate at all steps."""
    return lambda step: rate + 0.0 * step


def linear(first: float, last: float, steps: int) -> Schedule:
    """Return a linear schedule from `first` at step 0 to `last` at step `steps`, and `last` from then on."""
    _check(steps)
    return lambda step: first + (last - first) * _part(step, steps)


def cosine(first: float, steps: int, last: float = 0.0) -> Schedule:
    """Return a half-cosine schedule from `first` at step 0 to `last` at step `steps`, and `last` from then on."""
    _check(steps)
    return lambda step: last + (first - last) * 0.5 * (1.0 + np.cos(pi * _part(step, steps)))


def warmup(steps: int, then: Schedule | float) -> Schedule:
    """
    Return a schedule with a linear warm-up from 0 over `steps` steps, followed by `then`.

    `then` is a rate or a schedule; its steps count from the end of the warm-up. So
    `optax.warmup_cosine_decay_schedule(0.0, rate, n, total)`, whose `total` includes the warm-up, is
    `warmup(n, cosine(rate, total - n))`.
    """
    _check(steps)
    after = then if callable(then) else constant(then)
    return (lambda step: after(np.maximum(step - steps, 0)) * _part(step, steps)) if steps else after


def _check(steps: int) -> None:
    if steps < 0:
        raise GraphError(f"expected a number of steps of at least 0, got {steps}")


def _part(step: Any, steps: int) -> Any:
    return np.minimum(step / steps, 1.0) if steps else 1.0 + 0.0 * step
