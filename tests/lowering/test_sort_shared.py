"""Sorts of long rows that several threads share, with every access checked: values, positions and the first of them."""

from typing import Any

import numpy as np
import pytest
from cost_models import costs

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.dialects.mir.index import SortOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir

THREADS = 8
TYPES = {
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "i8": "i1",
    "u8": "u1",
    "i16": "i2",
    "i32": "i4",
    "u32": "u4",
    "i64": "i8",
}
KINDS = ("random", "few", "equal", "sorted", "extreme", "near")
SHAPES = [(1, 511), (1, 3001), (3, 5030)]
MOST = 1 << 62


def _rows(kind: str, shape: tuple[int, int], name: str) -> np.ndarray[Any, Any]:
    rng, dtype = np.random.default_rng(shape[1]), np.dtype(TYPES[name])
    if dtype.kind == "f":
        x = rng.standard_normal(shape)
        limits: list[float] = [-np.inf, np.inf, -0.0, 0.0, np.nan, float(np.finfo(dtype).tiny)]
    else:
        info = np.iinfo(dtype)
        x = rng.integers(max(info.min, -MOST), min(info.max, MOST), shape)
        limits = [info.min, info.max, 0]
    found = {
        "random": x,
        "equal": np.full(shape, 3),
        "sorted": np.sort(x),
        "extreme": np.where(rng.random(shape) < 0.1, rng.choice(limits, shape), x),
        "near": 1000 + rng.integers(0, 300, shape) if dtype.itemsize > 1 else 100 + rng.integers(0, 3, shape),
        "few": rng.integers(0, 5, shape)
        + (100 if dtype.itemsize == 1 else 10_000) * (np.arange(shape[1]) == shape[1] - 2),
    }
    return found[kind].astype(dtype)


def _compiled(graph: rlx.Graph) -> tuple[int, rlx.CompiledGraph]:
    """The number of launches, and the program."""
    with costs(parallel_ops=1):
        lowered = lower_to_lir(as_graph_module(graph).module, THREADS, checked=True)
    count = sum(isinstance(op, LaunchOp) for op in lowered.walk())
    return count, compile_module(lowered, THREADS, Effort.QUICK)


@pytest.mark.sampled
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TYPES)
def test_values(name: str, shape: tuple[int, int], descending: bool) -> None:
    g = rlx.Graph("values")
    g.set_outputs([g.op(SortOp, g.input("x", shape, name).ssa, descending)])
    count, run = _compiled(g)
    assert count > 3 or shape[1] < 1000
    for kind in KINDS:
        x = _rows(kind, shape, name)
        expected = np.sort(x, axis=1)
        np.testing.assert_array_equal(run(x)[0], expected[:, ::-1] if descending else expected, kind)


@pytest.mark.sampled
@pytest.mark.parametrize("left_out", [0, 7])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TYPES)
def test_positions(name: str, shape: tuple[int, int], left_out: int) -> None:
    g, k = rlx.Graph("positions"), shape[1] - left_out
    g.set_outputs([g.topk(g.input("x", shape, name), k, smallest=True)])
    count, run = _compiled(g)
    # all positions of bytes take one pass, of one thread
    assert count > 3 or shape[1] < 1000 or (np.dtype(TYPES[name]).itemsize == 1 and not left_out)
    for kind in KINDS:
        x = _rows(kind, shape, name)
        np.testing.assert_array_equal(run(x)[0], np.argsort(x, axis=1, kind="stable")[:, :k], kind)
