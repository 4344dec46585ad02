"""
Optimisers that scale each element by a mean or a sum of its squared gradients.

Weight decay is a part of the gradient, as in `SGD` and in PyTorch.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xdsl_rlx.optim.optimisers import Leaf, Mask, Optimiser, Slots, named, with_decay, zeros
from xdsl_rlx.optim.schedules import Schedule


@named
@dataclass(frozen=True)
class Adagrad(Optimiser):
    """
    Adagrad (Duchi et al., 2011), as in optax: the gradient over the root of the sum of all squared gradients.

    The sum begins at `initial_accumulator_value`; `eps` is added below the root. An element whose sum is 0 stays.
    """

    learning_rate: float | Schedule
    initial_accumulator_value: float = 0.1
    eps: float = 1e-7
    weight_decay: float = 0.0
    clip_norm: float | None = None
    decay_mask: Mask = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return {"sum": np.full_like(leaf, self.initial_accumulator_value)}

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        g = with_decay(at, self.weight_decay)
        total = at.slots["sum"] + g * g
        direction = np.where(total > 0.0, g / np.sqrt(np.where(total > 0.0, total, 1.0) + self.eps), 0.0)
        return at.moved(direction, 0.0), {"sum": total}


@named
@dataclass(frozen=True)
class RMSprop(Optimiser):
    """
    RMSprop (Tieleman and Hinton, 2012), as in optax: the gradient over the root of a moving average of its square.

    `eps` is added below the root. `centered` subtracts the square of the moving average of gradients (Graves, 2013).
    `momentum` averages steps that contain the learning rate, with `nesterov` one step ahead.
    """

    learning_rate: float | Schedule
    decay: float = 0.9
    eps: float = 1e-8
    centered: bool = False
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    clip_norm: float | None = None
    decay_mask: Mask = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return zeros(leaf, "second", *["first"] * self.centered, *["momentum"] * bool(self.momentum))

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        g = with_decay(at, self.weight_decay)
        second = self.decay * at.slots["second"] + (1.0 - self.decay) * (g * g)
        slots, square = {"second": second}, second
        if self.centered:
            slots["first"] = first = self.decay * at.slots["first"] + (1.0 - self.decay) * g
            square = np.maximum(second - first * first, 0.0)
        move = at.number(at.rate) * (g / np.sqrt(square + self.eps))
        if self.momentum:
            slots["momentum"] = m = self.momentum * at.slots["momentum"] + move
            move = move + self.momentum * m if self.nesterov else m
        return at.p - move, slots


@named
@dataclass(frozen=True)
class Adadelta(Optimiser):
    """
    Adadelta (Zeiler, 2012): as RMSprop, times the root of a moving average of the squared steps.

    `eps` is added below both roots.
    """

    learning_rate: float | Schedule = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0.0
    clip_norm: float | None = None
    decay_mask: Mask = None

    elementwise = True

    def slots(self, leaf: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        return zeros(leaf, "gradients", "steps")

    def rule(self, at: Leaf) -> tuple[Any, Slots]:
        g = with_decay(at, self.weight_decay)
        gradients = self.rho * at.slots["gradients"] + (1.0 - self.rho) * (g * g)
        step = np.sqrt(at.slots["steps"] + self.eps) / np.sqrt(gradients + self.eps) * g
        steps = self.rho * at.slots["steps"] + (1.0 - self.rho) * (step * step)
        return at.moved(step, 0.0), {"gradients": gradients, "steps": steps}
