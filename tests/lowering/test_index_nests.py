"""Nests of the families index, moe and random: the printed module computes what the LLVM text does."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

Run = SimpleNamespace
RNG = np.random.default_rng(4)
ROWS = RNG.integers(-4, 5, (5, 11)).astype(np.float32)
IDS = np.array([2, 0, 2, 9, -1, 2])
KEY = np.array([12345678901234567, -3])
# sums of their products are exact, whether multiplications and additions are fused or not
X, W, G = (RNG.integers(-64, 65, shape) / 16 for shape in ((6, 3), (4, 3, 5), (6, 5)))

CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "topk": (lambda g, x: g.topk(x, 4), [ROWS]),
    "topk_all": (lambda g, x: g.topk(x, 11), [ROWS.astype(np.float64)]),
    "cumsum": (lambda g, x: g.cumsum(x, -1, False, True), [ROWS]),
    "cumsum_columns": (lambda g, x: g.cumsum(x, 0, True), [ROWS]),
    "cumsum_long": (lambda g, x: g.cumsum(x, 0), [np.arange(9001)]),
    "rng_bits": (lambda g, key: g.rng_bits(key, (11,), 5), [KEY]),
    "draw": (lambda g, x, u: g.draw(x, u, 0.7, 6, 0.8), [ROWS, RNG.uniform(size=5)]),
    "grouped_matmul": (lambda g, x, w, i: g.grouped_matmul(x, w, i), [X, W, IDS]),
    "grouped_matmul_transposed": (lambda g, x, w, i: g.grouped_matmul(x, w, i, True), [G, W, IDS]),
    "grouped_matmul_backward_weight": (lambda g, *xs: g.grouped_matmul_backward_weight(*xs, 4), [X, G, IDS]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_printed_module_agrees(run: Run, name: str):
    build, arrays = CASES[name]
    g = rlx.Graph("f")
    inputs = [g.input(f"x{n}", x.shape, dtype=x.dtype) for n, x in enumerate(arrays)]
    g.set_outputs([build(g, *inputs)])
    module = lower_to_lir(g.module, 2)
    run.agree(module, **{f"x{n}": x for n, x in enumerate(arrays)})
