"""Random kernels around matrix products: shared and batched factors, one row, transposed factors, factors and products
read again by what follows, whole and broadcast."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import oracle

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

from programs import compiled

Array = np.ndarray[Any, Any]

SIZES = (1, 1, 2, 3, 5)


def made(seed: int) -> tuple[rlx.Graph, dict[str, Array]]:
    """The graph of a seed, and its arguments."""
    rng = np.random.default_rng(seed)
    g = rlx.Graph(f"products_{seed}")
    arrays: dict[str, Array] = {}

    def size() -> int:
        return int(rng.choice(SIZES))

    def argument(shape: list[int]) -> Any:
        name = f"a{len(arrays)}"
        arrays[name] = np.asarray(rng.standard_normal(shape))
        return g.input(name, tuple(shape), "f64")

    def matrix(shape: list[int]) -> Any:
        """A value of this shape that lies in memory with its axes in another order, perhaps."""
        order = list(range(len(shape)))
        if rng.random() < 0.3 and len(shape) > 1:
            order[-2:] = reversed(order[-2:])
        elif rng.random() < 0.2:
            order = [int(a) for a in rng.permutation(len(shape))]
        x = argument([shape[order.index(a)] for a in range(len(shape))])
        return g.transpose(x, perm=tuple(order))

    def some(batch: list[int]) -> list[int]:
        """Leading axes that broadcast to the batch."""
        start = int(rng.integers(len(batch) + 1))
        return [1 if rng.random() < 0.3 else n for n in batch[start:]]

    batch = [size() for _ in range(int(rng.integers(0, 3)))]
    m, k, n = size(), size(), size()
    if rng.random() < 0.3:
        k = n
    factors: list[Any] = []
    products: list[Any] = []
    for _ in range(int(rng.integers(1, 4))):
        old = [f for f in factors if f.shape[-2:] == (m, k)]
        left = old[0] if old and rng.random() < 0.6 else matrix([*(batch if rng.random() < 0.8 else some(batch)), m, k])
        right = matrix([*some(batch), k, n])
        factors += [left, right]
        products.append(left @ right)
    values = [*products, *factors, argument([n]), argument([*batch, 3, n]), argument([*some(batch), m, 1])]
    outputs = [values[0]]
    for _ in range(int(rng.integers(1, 7))):
        x, y = (values[int(i)] for i in rng.integers(len(values), size=2))
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            shape = None
        match int(rng.integers(4)):
            case 0 if shape is not None and np.prod(shape) < 2000:
                values.append(x * y if rng.random() < 0.5 else x + y)
            case 1:
                values.append(g.sin(x))
            case 2 if x.shape:
                values.append(g.softmax(x, -1))
            case _:
                count = int(rng.integers(1, len(x.shape) + 1)) if x.shape else 0
                axes = [int(a) for a in rng.choice(len(x.shape), count, replace=False)] if count else []
                if axes:
                    values.append(g.reduce_mean(x, axes=sorted(axes), keep_dim=bool(rng.random() < 0.5)))
        if rng.random() < 0.5:
            outputs.append(values[-1])
    g.set_outputs([*dict.fromkeys([*outputs, values[-1], products[-1]])])
    return g, arrays


def test_kernels_with_products_give_the_oracles_results(seed: int) -> None:
    g, arrays = made(seed)
    threads = 1 + seed % 2
    expected = oracle.evaluate(g.module, *arrays.values())
    for found, right in zip(compiled(g, seed, threads)(**arrays), expected, strict=True):
        error = np.abs(np.asarray(found) - right).max(initial=0.0)
        assert found.shape == right.shape and error < 1e-12 * max(1, np.abs(right).max(initial=0.0)), (
            f"seed {seed}:\n{g}"
        )
