"""What the layer of functions costs: tracing, for each op, and a call on a tree of 100 arrays above the graph's call.

Least of several: nothing here depends on the machine's load but upwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xdsl_rlx as rlx

OPS = 2000
ARRAYS = 100
TRACES, CALLS = 5, 2000


def least(run: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of so many runs."""
    found = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def chain(x: Any) -> Any:
    """Operators, a function of NumPy's and one of the package, in turn."""
    for _ in range(OPS // 4):
        x = rlx.sigmoid(np.tanh(x) * x + x)
    return x


def tracing() -> float:
    """Seconds for each op of a function that is traced."""
    x = np.ones((4, 8), np.float32)
    return least(lambda: rlx.trace(chain, x), TRACES) / OPS


def calls() -> tuple[float, float]:
    """Seconds of a compiled function's call on a tree, and of the graph's on its leaves."""
    tree = {f"layer{n}": {"w": np.zeros((4, 4), np.float32), "b": np.zeros(4, np.float32)} for n in range(ARRAYS // 2)}
    function = rlx.compile(lambda tree: rlx.tree.map(lambda x: x * 2, tree))
    function(tree)
    leaves = rlx.tree.flatten(tree)[0]
    compiled = function.compiled(tree)
    return least(lambda: function(tree), CALLS), least(lambda: compiled(*leaves), CALLS)


def main() -> None:
    """Print a row for each cost."""
    of_function, of_graph = calls()
    print("| cost | microseconds |")
    print("| --- | --- |")
    print(f"| tracing an op | {1e6 * tracing():.0f} |")
    print(f"| a call on a tree of {ARRAYS} arrays | {1e6 * of_function:.0f} |")
    print(f"| the graph's call on its leaves | {1e6 * of_graph:.0f} |")
    print(f"| the tree | {1e6 * (of_function - of_graph):.0f} |")


if __name__ == "__main__":
    main()
