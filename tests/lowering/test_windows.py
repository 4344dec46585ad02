"""Nests of convolution and pooling read as LLVM text, as Numba text and as plain Python. Data are small integers, so
that sums are exact in any order; what is right is checked in tests/numerics."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.mir_builder import Value
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

Run = SimpleNamespace
SHAPES = {"x": (2, 2, 4, 5), "w": (2, 2, 3, 3), "dy": (2, 2, 4, 5), "one": (2, 1, 3, 3), "small": (2, 2, 2, 3)}
STRIDED = {"stride": 2, "padding": 1}
GRAPHS: dict[str, Callable[..., Value]] = {
    "conv": lambda g, x, w, dy, one, small: g.conv(x, w, padding=1),
    "input": lambda g, x, w, dy, one, small: g.conv2d_backward_input(small, w, (4, 5), **STRIDED),
    "weight": lambda g, x, w, dy, one, small: g.conv2d_backward_weight(x, dy, (3, 3), padding=1),
    "depthwise": lambda g, x, w, dy, one, small: g.conv(x, one, padding=1, groups=2),
    "depthwise-input": lambda g, x, w, dy, one, small: g.conv2d_backward_input(small, one, (4, 5), groups=2, **STRIDED),
    "depthwise-weight": lambda g, x, w, dy, one, small: g.conv2d_backward_weight(x, dy, (3, 3), padding=1, groups=2),
    "max": lambda g, x, w, dy, one, small: g.pool(x, "max", 3, 2, 1),
    "mean": lambda g, x, w, dy, one, small: g.pool(x, "mean", 3, 2, 1, False),
    "take": lambda g, x, w, dy, one, small: g.maxpool2d_take(x, dy, 3, 2, 1),
    "max-tiles": lambda g, x, w, dy, one, small: g.maxpool2d_backward(x, g.narrow(small, 3, 0, 2), 2),
    "max-overlapping": lambda g, x, w, dy, one, small: g.maxpool2d_backward(x, small, 3, 2, 1),
    "sum": lambda g, x, w, dy, one, small: g.sumpool2d_backward(small, (4, 5), 3, 2, 1),
}


def inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.integers(-4, 5, shape).astype(np.float32) for name, shape in SHAPES.items()}


def lowered(*names: str) -> ModuleOp:
    g = rlx.Graph("step")
    operands = [g.input(name, shape) for name, shape in SHAPES.items()]
    g.set_outputs([GRAPHS[name](g, *operands) for name in names])
    return lower_to_lir(g.module, 2)


@pytest.mark.parametrize("name", GRAPHS)
def test_llvm_and_plain_python_agree(run: Run, name: str) -> None:
    run.agree(lowered(name), jit=False, **inputs())


def test_numba_agrees(run: Run) -> None:
    run.agree(lowered("conv", "depthwise-weight", "max-tiles"), plain=False, **inputs())


@pytest.mark.parametrize("name", ["max-tiles", "max", "depthwise", "depthwise-input"])
def test_short_rows_become_vectors_of_neighbours(run: Run, name: str) -> None:
    """LLVM used to write loops over 14 windows out, and to gather what lies apart in the loop around them."""
    g = rlx.Graph("step")
    x, w, small = g.input("x", (4, 2, 28, 28)), g.input("w", (2, 1, 3, 3)), g.input("small", (4, 2, 14, 14))
    builds: dict[str, Callable[[], Value]] = {
        "max": lambda: g.pool(x, "max", 2),
        "max-tiles": lambda: g.maxpool2d_backward(x, small, 2),
        "depthwise": lambda: g.conv(x, w, padding=1, groups=2),
        "depthwise-input": lambda: g.conv2d_backward_input(x, w, (28, 28), padding=1, groups=2),
    }
    g.set_outputs([builds[name]()])
    text = run.assembly(lower_to_lir(g.module))
    assert "gather" not in text and "scatter" not in text
    assert re.search(r"(max|cmp\w*|fmadd\d*)ps", text)
