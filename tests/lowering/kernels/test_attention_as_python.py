"""attention, its backward op and rope as plain Python, in blocks that do not fit evenly."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernels import attention, attention_backward

Array = np.ndarray[Any, Any]
B, H, KV, Q, K, D, DV = 2, 4, 2, 7, 10, 3, 2
SHAPES = {"q": (B, H, Q, D), "k": (B, KV, K, D), "v": (B, KV, K, DV)}
CASES: dict[str, tuple[tuple[int, ...], str, dict[str, Any]]] = {
    "plain": ((), "", {}),
    "causal": ((), "", {"mask_kind": "causal"}),
    "window": ((), "", {"mask_kind": "sliding_window", "window": 3}),
    "softcap": ((), "", {"attn_logit_softcap": 0.8}),
    "hidden": ((B, K), "i1", {"mask_kind": "custom"}),
    "padding": ((B, 1, 1, K), "f32", {"mask_kind": "custom"}),
    "bias": ((B, H, Q, K), "f64", {"mask_kind": "bias"}),
    "bias-of-all": ((1, 1, 1, K), "f64", {"mask_kind": "bias"}),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for nests in (attention, attention_backward):
        monkeypatch.setattr(nests, "QUERIES", 3)
        monkeypatch.setattr(nests, "KEYS", 4)


def operands(g: rlx.Graph, case: str) -> tuple[list[Any], list[Array]]:
    """q, k, v and the mask of a case: as inputs of a graph, and their numbers."""
    shape, dtype, _ = CASES[case]
    rng = np.random.default_rng(3)
    values = [g.input(name, shape, "f64") for name, shape in SHAPES.items()]
    arrays: list[Array] = [rng.standard_normal(shape) for shape in SHAPES.values()]
    if shape:
        values.append(g.input("mask", shape, dtype))
        mask = rng.standard_normal(shape)
        arrays.append(mask if dtype == "f64" else (mask > 0).astype(bool if dtype == "i1" else np.float32))
    return values, arrays


def assert_same(graph: rlx.Graph, arrays: list[Array], pieces: int) -> None:
    """Python's results are those of the kernels but for the order of sums; those that nobody asked for come last."""
    expected = rlx.compile(graph, threads=2)(*arrays)
    found = run_as_python(graph, *arrays, pieces=pieces)
    for x, y in zip(found, expected, strict=False):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.sampled
@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_attention(case: str, pieces: int) -> None:
    g = rlx.Graph("attend")
    values, arrays = operands(g, case)
    g.set_outputs([g.attention(*values, layout="bhsd", **CASES[case][2])])
    assert_same(g, arrays, pieces)


@pytest.mark.sampled
@pytest.mark.parametrize("pieces", [1, 5])
@pytest.mark.parametrize("case", CASES)
def test_attention_backward(case: str, pieces: int) -> None:
    g = rlx.Graph("cotangents")
    values, arrays = operands(g, case)
    dy = g.input("dy", (B, H, Q, DV), "f64")
    q, k, v, *mask = values
    g.set_outputs(g.attention_backward(q, k, v, dy, *mask, layout="bhsd", **CASES[case][2]))
    arrays.append(np.random.default_rng(4).standard_normal((B, H, Q, DV)))
    assert_same(g, arrays, pieces)


@pytest.mark.parametrize("pairing", ["halves", "neighbours"])
@pytest.mark.parametrize(
    ("layout", "x", "table"),
    [("packed", (2, 3, 16), (3, 4)), ("bshd", (2, 3, 2, 8), (2, 3, 4)), ("bhsd", (2, 2, 3, 8), (3, 4))],
)
def test_rope(layout: str, x: tuple[int, ...], table: tuple[int, ...], pairing: str) -> None:
    g = rlx.Graph("turn")
    values = [g.input(name, shape, "f64") for name, shape in (("x", x), ("cos", table), ("sin", table))]
    heads = {"num_heads": 2} if layout == "packed" else {}
    g.set_outputs([g.rope(*values, layout=layout, n_rot=6, pairing=pairing, **heads)])
    rng = np.random.default_rng(5)
    assert_same(g, [rng.standard_normal(shape) for shape in (x, table, table)], 2)
