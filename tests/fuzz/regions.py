"""Programs of elementwise ops, resizes and slices of batches, and almost: for the passes that mark regions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np

import xdsl_rlx as rlx

Chain = list[Callable[[Any], Any]]


class Marked:
    """The program of a seed: `g` with inputs of `arrays`."""

    def __init__(self, seed: int, name: str = "f"):
        self.random = Random(seed)
        self.g = rlx.Graph(name)
        self.rng = np.random.default_rng(seed)
        self.arrays: dict[str, Any] = {}
        channels, height, width = (self.random.randint(1, 3) for _ in range(3))
        self.length = self.random.choice((1, 1, 2))
        self.batch = self.length * self.random.randint(2, 4)
        self.image = self.input((self.batch, channels, height, width))
        self.shared = [
            self.input(shape)
            for shape in ((), (channels, 1, 1), (1, 1, 1, 1), (self.length, 1, 1, 1), (1, channels, 1, 1))
        ]
        outputs = [self.random.choice((self.batches, self.elements, self.resizes))() for _ in range(3)]
        self.g.set_outputs(outputs)

    def input(self, shape: tuple[int, ...]) -> Any:
        """An input with numbers away from kinks."""
        name = f"x{len(self.arrays)}"
        self.arrays[name] = self.rng.uniform(0.25, 1.5, shape) * self.rng.choice((-1.0, 1.0), shape)
        return self.g.input(name, shape, "f64")

    def unary(self, x: Any) -> Any:
        """A function of one value."""
        return getattr(self.g, self.random.choice(("tanh", "sin", "neg", "relu", "abs")))(x)

    def binary(self, x: Any, y: Any) -> Any:
        """A function of two values that broadcast."""
        name = self.random.choice(("add", "mul", "max", "where"))
        return self.g.where(x > y, x * 0.5, y) if name == "where" else getattr(self.g, name)(x, y)

    def chain(self, size: int) -> Chain:
        """A computation as steps that give the same ops for each value they are called with."""
        steps: Chain = [self.g.resize_nearest_2x] * self.random.choice((0, 0, 1, 2))
        for _ in range(size):
            kind, seed = self.random.choice(("unary", "other", "itself")), self.random.random()
            steps.append(partial(self.step, kind, seed, self.random.choice((0.5, -2.0, *self.shared))))
        return steps

    def step(self, kind: str, seed: float, other: Any, x: Any) -> Any:
        """An op of a chain on `x`, the same for the same arguments."""
        if kind == "unary":
            return self._as(seed, self.unary, x)
        if kind == "itself":
            other = self._as(seed, self.unary, x)
        return x * other if isinstance(other, float) else self._as(seed, self.binary, x, other)

    def _as(self, seed: float, function: Any, *values: Any) -> Any:
        """What a function gives for a state of the random numbers, which are then as before."""
        state, self.random = self.random, Random(seed)
        try:
            return function(*values)
        finally:
            self.random = state

    def batches(self) -> Any:
        """Slices of the batch, each by itself, concatenated; one of them may be computed in another way."""
        g, random = self.g, self.random
        starts = list(range(0, self.batch, self.length))
        if random.random() < 0.4:
            random.shuffle(starts)
        chain = self.chain(random.randint(1, 4))
        parts: list[Any] = []
        for start in starts:
            x = g.narrow(self.image, 0, start, self.length)
            for step in chain:
                x = step(x)
            parts.append(x)
        match random.choice(("same", "same", "same", "other", "shown", "longer")):
            case "other":
                parts[-1] = self.unary(parts[-1])
            case "shown":
                self.shared.append(g.reduce_sum(parts[0]))
            case "longer":
                parts.append(g.concat([parts[0], parts[0]], 0))
            case _:
                pass
        return g.concat(parts, 0)

    def elements(self) -> Any:
        """A graph of elementwise ops, of which some have several users."""
        pool = [self.image, *self.shared]
        for _ in range(self.random.randint(2, 6)):
            x = self.random.choice(pool)
            # what varies with the slice does not broadcast with the batch
            fits = [y for y in (*pool, *pool[-2:]) if _broadcast(x.shape, y.shape)]
            pool.append(self.binary(x, self.random.choice(fits)) if self.random.random() < 0.6 else self.unary(x))
        return self.random.choice([pool[-1], self.g.reduce_sum(pool[-2]) * pool[-1]])

    def resizes(self) -> Any:
        """Resized images, several times and by different factors, in front of elementwise ops."""
        g = self.g
        x = y = self.image
        for _ in range(self.random.randint(1, 2)):
            x = g.resize_nearest_2x(x)
        y = self.unary(y) if self.random.random() < 0.3 else y
        while y.shape != x.shape:
            y = g.resize_nearest_2x(self.unary(y) if self.random.random() < 0.3 else y)
        channels = self.shared[1]
        return self.binary(self.binary(self.unary(x), channels), y) if self.random.random() < 0.8 else x


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(n == m or 1 in (n, m) for n, m in pairs)
