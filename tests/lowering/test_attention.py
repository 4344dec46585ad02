"""The nests of attention with small blocks: every reading against the oracle, however cut in pieces."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import numpy as np
import oracle
import pytest
from cost_models import costs
from numerics.sample import build_module
from xdsl.dialects.builtin import ModuleOp, TensorType, f64, i1

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernels import attention, attention_backward

Run = SimpleNamespace

CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "causal": ((), {"mask_kind": "causal"}),
    "window": ((), {"mask_kind": "sliding_window", "window": 3}),
    "softcap": ((), {"attn_logit_softcap": 0.8}),
    "padding": ((1, 10), {}),
    "bias": ((1, 4, 7, 10), {"mask_kind": "bias"}),
    "bias-of-all-heads": ((1, 1, 7, 10), {"mask_kind": "bias"}),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    for nests in (attention, attention_backward):
        monkeypatch.setattr(nests, "QUERIES", 3)
        monkeypatch.setattr(nests, "KEYS", 4)
    with costs(parallel_ops=1):
        yield


def gradient(case: str) -> tuple[ModuleOp, list[np.ndarray]]:
    """A loss of an attention of 4 heads that share 2 key heads, 7 queries and 10 keys, and its gradients."""
    mask, attributes = CASES[case]
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((1, n, h * 3)) for n, h in ((7, 4), (10, 2), (10, 2))]
    types = [TensorType(f64, x.shape) for x in arrays]
    wrt = ["x0", "x1", "x2"]
    if case == "padding":
        arrays.append(np.array([[1, 1, 0, 1, 0, 0, 0, 0, 1, 1]], bool))
        types.append(TensorType(i1, mask))
    elif mask:
        arrays.append(rng.standard_normal(mask))
        types.append(TensorType(f64, mask))
        wrt.append("x3")

    def loss(m: MirBuilder, *xs: Value) -> Value:
        y = m.attention(*xs, head_dim=3, **attributes)
        return m.reduce_sum(y * y)

    return rlx.grad_with_loss(build_module(loss, types), wrt).module, arrays


@pytest.mark.sampled
@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("case", CASES)
def test_blocks_and_pieces_do_not_matter(run: Run, case: str, threads: int):
    module, arrays = gradient(case)
    expected = oracle.evaluate(module, *arrays, 1.0)
    lowered = lower_to_lir(module, threads)
    lowered.verify()
    for result, reference in zip(run.llvm(lowered)(**named(arrays)), expected, strict=True):
        oracle.assert_close(result, reference, 64)


@pytest.mark.parametrize("keys", [4, 10])
def test_what_is_no_number_stays_in_its_row(run: Run, keys: int, monkeypatch: pytest.MonkeyPatch):
    """NaN in a query or a score, scores of -inf, and rows without keys: in one block of keys or several."""
    monkeypatch.setattr(attention, "KEYS", keys)
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((1, n, 3)) for n in (7, 10, 10))
    bias = np.zeros((1, 1, 7, 10))
    q[0, 2] = np.nan
    bias[0, 0, 3, 7], bias[0, 0, 4, :6], bias[0, 0, 5] = np.nan, -np.inf, -np.inf
    types = [TensorType(f64, x.shape) for x in (q, k, v, bias)]
    module = build_module(lambda m, *xs: m.attention(*xs, head_dim=3, mask_kind="bias"), types)
    (found,) = run.llvm(lower_to_lir(module, 1))(x0=q, x1=k, x2=v, x3=bias)
    assert np.isnan(found[0, [2, 3]]).all()
    scores = q[0, :] @ k[0].T / np.sqrt(3) + bias[0, 0]
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), np.finfo(float).min))
    expected = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ v[0]
    np.testing.assert_allclose(found[0, [0, 1, 4, 5, 6]], expected[[0, 1, 4, 5, 6]], rtol=1e-12, atol=1e-15)


def test_a_block_of_queries_that_meets_no_key_is_zero(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attention, "KEYS", 4)
    q, k, v = (np.random.default_rng(3).standard_normal((1, n, 3)) for n in (10, 4, 4))
    types = [TensorType(f64, x.shape) for x in (q, k, v)]
    module = build_module(lambda m, *xs: m.attention(*xs, head_dim=3, mask_kind="causal"), types)
    (found,) = run.llvm(lower_to_lir(module, 1))(x0=q, x1=k, x2=v)
    np.testing.assert_array_equal(found[0, :6], 0)
    np.testing.assert_allclose(found[0, 6], v[0, 0], rtol=1e-12)
    oracle.assert_close(found, *oracle.evaluate(module, q, k, v), 64)


@pytest.mark.parametrize("case", ["causal", "padding", "bias-of-all-heads"])
def test_the_printed_module_computes_the_same(run: Run, case: str):
    module, arrays = gradient(case)
    expected = oracle.evaluate(module, *arrays, 1.0)
    lowered = lower_to_lir(module, 2)
    for result, reference in zip(run.text(lowered, jit=False)(**named(arrays)), expected, strict=True):
        oracle.assert_close(result, reference, 64)


def test_numba_compiles_the_printed_module(run: Run):
    module, arrays = gradient("causal")
    lowered = lower_to_lir(module, 2)
    ours = run.llvm(lowered)(**named(arrays))
    for result, reference in zip(run.text(lowered, jit=True)(**named(arrays)), ours, strict=True):
        oracle.assert_close(np.asarray(result), reference, 64)


def by_hand(keys: int, causal: bool) -> rlx.Graph:
    """Attention of one head spelled out."""
    g = rlx.Graph("by_hand")
    q, k, v = (g.input(name, (1, keys, 3), dtype="f64") for name in "qkv")
    scores = q @ g.transpose(k, (0, 2, 1)) / 3**0.5
    if causal:
        scores = g.where(g.constant(np.tril(np.ones((keys, keys), bool))), scores, -np.inf)
    e = g.exp(scores - g.reduce_max(scores, -1, keep_dim=True))
    g.set_outputs([(e / g.reduce_sum(e, -1, keep_dim=True)) @ v])
    return g


@pytest.mark.parametrize(("keys", "causal", "raised"), [(256, True, True), (255, True, False), (767, False, False)])
def test_attention_by_hand_is_the_op_where_that_is_faster(keys: int, causal: bool, raised: bool):
    report = rlx.fusion_report(by_hand(keys, causal))
    assert any("mir.attention" in group.ops for group in report.groups) == raised
    gradient = str(rlx.grad(by_hand(keys, causal), "q"))
    assert ("mir.attention_backward" in gradient) == raised


def test_attention_by_hand_computes_what_it_says():
    g = by_hand(128, True)
    arrays = {name: np.random.default_rng(0).standard_normal((1, 128, 3)) for name in "qkv"}
    gradient = rlx.grad_with_loss(g, tuple("qkv"))
    expected = oracle.run(rlx.grad_with_loss(by_hand(128, True), tuple("qkv")), **arrays)
    (value,) = oracle.run(g, **arrays)
    oracle.assert_close(expected[0], value, 64)
    for result, reference in zip(rlx.compile(gradient)(**arrays), expected, strict=True):
        oracle.assert_close(result, reference, 64)


def named(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"x{number}": array for number, array in enumerate(arrays)}
