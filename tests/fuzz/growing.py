"""Programs of any number of ops in shapes that programs have: chains, diamonds, trees, fans, of one element or many.

Not here: what is claimed about them (test_work.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import xdsl_rlx as rlx

Outputs = list[Any]


def chain(g: Any, x: Any, n: int) -> Outputs:
    """Each value is used twice by the next."""
    for _ in range(n):
        x = g.sin(x) * x
    return [x]


def diamonds(g: Any, x: Any, n: int) -> Outputs:
    """Two values, both of which make both of the next."""
    y = g.cos(x)
    for _ in range(n):
        x, y = g.sin(x + y), x * y
    return [x + y]


def tree(g: Any, x: Any, n: int) -> Outputs:
    level: Outputs = [g.sin(x * (1 + 0.01 * i)) for i in range(n)]
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [pair[0] + g.tanh(pair[1]) if len(pair) > 1 else pair[0] for pair in pairs]
    return level


def fan(g: Any, x: Any, n: int) -> Outputs:
    """One value with many users."""
    total = y = g.sin(x) * x
    for i in range(n):
        total = total + g.tanh(y + 0.1 * i)
    return [total]


def outputs(g: Any, x: Any, n: int) -> Outputs:
    """A chain of which every value is returned."""
    found = [x]
    for _ in range(n):
        found.append(g.sin(found[-1]) + x)
    return found


def scalars_between_tensors(g: Any, x: Any, n: int) -> Outputs:
    """Each value of a chain of one element scales a tensor."""
    t = g.input("t", (32, 64))
    for _ in range(n):
        x = g.sin(x) * x
        t = g.tanh(t * x)
    return [g.reduce_sum(t)]


def scalars_between_products(g: Any, x: Any, n: int) -> Outputs:
    """The same with a kernel of its own for each tensor."""
    t, w = g.input("t", (8, 16)), g.input("w", (16, 16))
    for _ in range(n):
        x = g.sin(x) * x
        t = g.tanh((t @ w) * x)
    return [g.reduce_sum(t)]


def reductions_and_scalars(g: Any, x: Any, n: int) -> Outputs:
    """Sums that feed one-element ops, which feed tensors again."""
    t = g.input("t", (8, 16))
    for _ in range(n):
        x = g.sin(x) * x + g.reduce_sum(t)
        t = g.tanh(t * x)
    return [g.reduce_sum(t)]


def rows(g: Any, x: Any, n: int) -> Outputs:
    """Passes over a row, each after a reduction over it."""
    t = g.input("t", (4, 16)) * x
    for _ in range(n):
        t = g.softmax(g.sin(t), axis=-1)
    return [g.reduce_sum(t)]


def shared_sums(g: Any, x: Any, n: int) -> Outputs:
    """Cheap values that kernels of their own read."""
    t, w = g.input("t", (8, 16)) * x, g.input("w", (16, 16))
    total = x
    for _ in range(n):
        t = t + x
        total = total + g.reduce_sum(t @ w)
    return [total]


def slices(g: Any, x: Any, n: int) -> Outputs:
    """Rows of one value, each with its own op."""
    t = g.input("t", (n, 64)) * x
    total = g.reduce_sum(t[0])
    for i in range(1, n):
        total = total + g.reduce_sum(g.sin(t[i]))
    return [total]


def windows(g: Any, x: Any, n: int) -> Outputs:
    """Overlapping parts of one value."""
    t = g.input("t", (n + 3, 16)) * x
    total = g.reduce_sum(t[0])
    for i in range(n):
        total = total + g.reduce_sum(g.sin(t[i : i + 3]))
    return [total]


Shape = Callable[[Any, Any, int], Outputs]

ELEMENTWISE: Sequence[Shape] = (chain, diamonds, tree, fan, outputs)
"""Shapes of ops on values like their argument."""

MIXED: Sequence[Shape] = (
    scalars_between_tensors,
    scalars_between_products,
    reductions_and_scalars,
    rows,
    shared_sums,
    slices,
    windows,
)
"""Shapes that have a one-element argument, and tensors of their own."""

CASES: dict[str, tuple[Shape, tuple[int, ...]]] = {
    f"{shape.__name__}{list(dims)}": (shape, dims)
    for shapes, arguments in ((ELEMENTWISE, ((), (8, 16), (1,), (1, 1))), (MIXED, ((), (1,))))
    for dims in (arguments if "EVERY_SAMPLE" in os.environ else arguments[:-1])
    for shape in shapes
}
"""By name: a shape, and the dimensions of its argument."""


def graph(case: str, n: int) -> rlx.Graph:
    """The program of a case with about `n` steps; its argument `x`."""
    shape, dims = CASES[case]
    g = rlx.Graph("growing")
    g.set_outputs(shape(g, g.input("x", dims), n))
    return g
