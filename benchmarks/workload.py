"""What a workload is: its data, the loss in the words of ops.py, and what of it is computed in a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
from ops import Ops

RATE, BETA1, BETA2, EPSILON, DECAY, CLIP = 1e-3, 0.9, 0.99, 1e-8, 0.1, 1.0
"""Of the AdamW of Step.TRAIN."""

Data = dict[str, np.ndarray]
PEERS = ("jax", "torch", "torch.compile")
EAGER = ("jax", "torch")
"""The peers of a loop of many times, which torch.compile writes out: it takes minutes over hundreds of times."""


class Step(Enum):
    """What a step computes."""

    GRADIENT = auto()
    """The loss and the gradients by `wrt`."""
    VALUE = auto()
    """What `loss` returns, a list."""
    HVP = auto()
    """As GRADIENT, and the Hessian times the vectors `tangent_<name>` of the data."""
    JACFWD = auto()
    """The Jacobians of what `loss` returns by `wrt`, by forward mode."""
    TRAIN = auto()
    """The loss, and AdamW with clipped gradients, which takes `wrt` on from step to step."""


@dataclass(frozen=True)
class Workload:
    """A loss to evaluate with all gradients of `wrt`, or what `step` says."""

    title: str
    data: Callable[[], Data]
    """Inputs and parameters by name, the same at every call."""
    wrt: tuple[str, ...]
    """Names that are differentiated, and persistent parameters where a framework has such."""
    loss: Callable[[Ops, dict[str, Any]], Any]
    """The scalar loss from the framework's operations and its values by name."""
    step: Step = Step.GRADIENT
    peers: tuple[str, ...] = PEERS
    """Those that run it."""
