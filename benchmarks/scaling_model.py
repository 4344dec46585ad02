"""A model of training steps on many processes: a latency and a time per byte of a network, and buckets of gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np

FORWARD = 1 / 3
"""The part of a step in front of the backward pass, which has twice as many operations."""


@dataclass(frozen=True)
class Network:
    """`alpha` are the seconds of a message of no bytes, `beta` those that a byte takes, with its part of the sum."""

    alpha: float
    beta: float

    def all_reduce(self, processes: int, count: float) -> float:
        """
        Return the seconds of a reduction to all of so many bytes.

        The better of recursive doubling and a ring, as in Thakur, Rabenseifner and Gropp, "Optimization of Collective
        Communication Operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).
        """
        if processes == 1:
            return 0.0
        doubling = ceil(log2(processes)) * (self.alpha + count * self.beta)
        others = processes - 1
        ring = 2 * others * self.alpha + 2 * others / processes * count * self.beta
        return min(doubling, ring)


@dataclass(frozen=True)
class Model:
    """A training step of one process: its seconds, and the bytes of its gradients in buckets, in order."""

    seconds: float
    buckets: Sequence[int]

    def step(self, network: Network, processes: int, overlap: bool) -> float:
        """
        Return the seconds of a step on many processes, each with the same share of data as one alone.

        Gradients of a bucket are complete when as large a part of the backward pass has run as of their bytes. One
        reduction follows the other; without overlap, all follow the backward pass.
        """
        done, end, total = 0, 0.0, sum(self.buckets)
        for count in self.buckets:
            done += count
            backward = self.seconds * (FORWARD + (1 - FORWARD) * done / total)
            end = max(end, backward if overlap else self.seconds) + network.all_reduce(processes, count)
        return max(end, self.seconds)

    def efficiency(self, network: Network, processes: int, overlap: bool) -> float:
        """Return the part of a step that is not spent in waiting for reductions."""
        return self.seconds / self.step(network, processes, overlap)


def fitted(times: Mapping[int, float]) -> Network:
    """Return the network whose reductions over two processes take such times by bytes; relative errors are small."""
    counts = np.array(list(times), float)
    seconds = np.array(list(times.values()))
    columns = np.stack([np.ones_like(counts), counts], axis=1) / seconds[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(columns, np.ones_like(counts), rcond=None)
    return Network(float(alpha), float(beta))


def buckets_of(sizes: Sequence[int], most: int) -> list[int]:
    """Return the bytes of buckets filled with gradients of these bytes, in the order of the backward pass."""
    found: list[int] = []
    for size in sizes:
        if found and found[-1] + size <= most:
            found[-1] += size
        else:
            found.append(size)
    return found
