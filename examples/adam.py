"""Build Adam as a compiled graph for the examples; it updates weights and moments in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import xdsl_rlx as rlx

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

Arrays = dict[str, np.ndarray]


def adam_graph(
    shapes: Mapping[str, tuple[int, ...]], rate: float, decay: float = 0.0, clip: float | None = None
) -> Any:
    """
    Build one Adam step for all weights; the outputs are the new weights, first moments and second moments.

    Implements Kingma and Ba (2015), algorithm 1; `step` counts from 1. `decay` is the decoupled weight decay of
    Loshchilov and Hutter (2019). `clip` limits the global norm of the gradients.
    """
    g = rlx.Graph("adam")
    step = g.input("step", ())
    correction1 = 1.0 - g.exp(step * float(np.log(BETA1)))
    correction2 = 1.0 - g.exp(step * float(np.log(BETA2)))
    gradients = {name: g.input(f"d_{name}", shape) for name, shape in shapes.items()}
    if clip is not None:
        square = g.full((), 0.0)
        for gradient in gradients.values():
            square = square + g.reduce_sum(gradient * gradient)
        shorter = g.min(clip * g.safe_rsqrt(square), 1.0)
        gradients = {name: shorter * gradient for name, gradient in gradients.items()}
    weights, firsts, seconds = [], [], []
    for name, shape in shapes.items():
        gradient, weight = gradients[name], g.input(name, shape)
        first = BETA1 * g.input(f"m_{name}", shape) + (1.0 - BETA1) * gradient
        second = BETA2 * g.input(f"v_{name}", shape) + (1.0 - BETA2) * gradient * gradient
        change = (first / correction1) / (g.sqrt(second / correction2) + EPSILON)
        weights.append(weight - rate * (change + decay * weight if decay else change))
        firsts.append(first)
        seconds.append(second)
    g.set_outputs([*weights, *firsts, *seconds])
    return g


class Adam:
    """A compiled Adam step with its moments; it updates them in place."""

    def __init__(self, compiled: Any, weights: Arrays) -> None:
        self.compiled, self.weights, self.count = compiled, weights, 0
        self.moments = {f"{kind}_{name}": np.zeros_like(value) for kind in "mv" for name, value in weights.items()}
        self.state = [*weights.values(), *self.moments.values()]

    def step(self, gradients: Iterable[np.ndarray]) -> None:
        """Update the weights in place from `gradients`, given in the order of the weights."""
        self.count += 1
        named = {f"d_{name}": gradient for name, gradient in zip(self.weights, gradients, strict=True)}
        self.compiled(step=np.float32(self.count), **named, **self.weights, **self.moments, out=self.state)
