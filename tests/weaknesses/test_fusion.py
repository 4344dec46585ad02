"""Fusing that changes numbers: outputs that go, axes and shapes that are not looked at, gates that are mixed up, and
reports that call what is right a mistake."""

from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

RAISE = "mir-raise-composites"
N = 4


def _ops(graph: Any) -> list[str]:
    """The names of the ops of a graph, without views and constants."""
    names = [op.name.removeprefix("mir.") for op in rlx.run_passes(graph, RAISE).module.walk()]
    return [
        name for name in names if not name.startswith(("builtin", "func", "constant", "reshape", "expand", "transpose"))
    ]


def _graph(build: Callable[[Any, Callable[..., Any]], Any]) -> tuple[Any, dict[str, Any]]:
    """A graph of f64, and arrays for its arguments."""
    g, rng = rlx.Graph("g"), np.random.default_rng(0)
    arrays: dict[str, Any] = {}

    def argument(*shape: int) -> Any:
        arrays[f"a{len(arrays)}"] = rng.standard_normal(shape)
        return g.input(f"a{len(arrays) - 1}", shape, dtype="f64")

    g.set_outputs(build(g, argument))
    return g, arrays


def _assert_same_numbers(g: Any, arrays: dict[str, Any]) -> None:
    expected = oracle.run(g, **arrays)
    raised = rlx.run_passes(g, RAISE)
    for graph in (raised, rlx.run_passes(raised, "mir-unfuse-for-ad")):
        for found, right in zip(oracle.run(graph, **arrays), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-13)


def _layer_norm(g: Any, x: Any, axis: int = -1, keep: bool = True) -> Any:
    c = x - g.reduce_mean(x, axis, keep_dim=keep)
    return c * g.rsqrt(g.reduce_mean(c * c, axis, keep_dim=keep) + 1e-5)


def _product_is_output(g: Any, a: Any) -> Any:
    y = a(N, N) @ a(N, N)
    return [g.relu(y + a(N)), y]


def _sum_is_output(g: Any, a: Any) -> Any:
    y = a(N, N) @ a(N, N) + a(N)
    return [g.gelu(y), y]


def _bias_of_rows(g: Any, a: Any) -> Any:
    return [g.tanh(a(N, N) @ a(N, N) + a(N, 1))]


def _gain_of_rows(g: Any, a: Any) -> Any:
    return [_layer_norm(g, a(N, N)) * a(N, 1)]


def _twice_a_product(g: Any, a: Any) -> Any:
    y = a(N, N) @ a(N, N)
    return [g.relu(y + y)]


def _norm_along_the_first_axis(g: Any, a: Any) -> Any:
    return [g.layer_norm(a(N, N) + a(N, N), a(N), a(N), axis=0)]


def _mean_of_the_other_axis(g: Any, a: Any) -> Any:
    return [_layer_norm(g, a(N, N), keep=False)]


def _norm_of_a_broadcast_sum(g: Any, a: Any) -> Any:
    return [g.rms_norm(a(N, N) + a(N, 1), a(N), a(N))]


def _gate_is_output(g: Any, a: Any) -> Any:
    packed = a(N, 2 * N)
    gate = g.silu(g.narrow(packed, 1, 0, N))
    return [gate * g.narrow(packed, 1, N, N), gate]


def _products_of_a_gate_are_used_twice(g: Any, a: Any) -> Any:
    x = a(N, N)
    up, gate = x @ a(N, N), x @ a(N, N)
    return [up * g.silu(gate), up + gate]


def _residual_is_used_twice(g: Any, a: Any) -> Any:
    h = a(N, N) + a(N, N)
    return [g.layer_norm(h, a(N), a(N)), h]


def _softmax_of_sums_along_another_axis(g: Any, a: Any) -> Any:
    x = a(N, N)
    e = g.exp(x - g.reduce_max(x, -1, keep_dim=True))
    return [e / g.reduce_sum(e, 0, keep_dim=True)]


def _scalar_is_expanded_into_a_softmax(g: Any, a: Any) -> Any:
    return [g.softmax(g.expand(a(1, 1), (N, N))), g.reduce_sum(g.expand(a(), (N, N)), 0)]


@pytest.mark.parametrize(
    ("build", "ops"),
    [
        (_product_is_output, ["matmul", "add", "relu"]),
        (_sum_is_output, ["fused_matmul_bias_act", "gelu"]),
        (_bias_of_rows, ["fused_matmul_bias_act"]),
        (_twice_a_product, ["matmul", "add", "relu"]),
        (_gain_of_rows, ["layer_norm", "mul"]),
        (_norm_along_the_first_axis, ["add", "layer_norm"]),
        (_mean_of_the_other_axis, ["reduce_mean", "sub", "mul", "reduce_mean", "add", "rsqrt", "mul"]),
        (_norm_of_a_broadcast_sum, ["add", "rms_norm"]),
        (_gate_is_output, ["narrow", "silu", "narrow", "mul"]),
        (_products_of_a_gate_are_used_twice, ["matmul", "matmul", "silu", "mul", "add"]),
        (_residual_is_used_twice, ["add", "layer_norm"]),
        (_softmax_of_sums_along_another_axis, ["reduce_max", "sub", "exp", "reduce_sum", "div"]),
        (_scalar_is_expanded_into_a_softmax, ["softmax", "reduce_sum"]),
    ],
)
def test_outputs_users_axes_and_shapes_are_looked_at(build: Callable[..., Any], ops: list[str]) -> None:
    g, arrays = _graph(build)
    assert _ops(g) == ops
    _assert_same_numbers(g, arrays)


def _mean(x: Any) -> Any:
    return x.mean(-1, keepdims=True)


def _root(x: Any) -> Any:
    return np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _top(x: Any) -> Any:
    return x.max(-1, keepdims=True)


def _exponentials(x: Any) -> Any:
    return np.exp(x - _top(x))


def _logsumexp(x: Any) -> Any:
    return np.log(_exponentials(x).sum(-1, keepdims=True)) + _top(x)


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x, a, b: (x - _mean(x)) / _root(x) * a + b, "layer_norm"),
        (lambda x, a, b: a * (x - _mean(x)) / _root(x) + b, "layer_norm"),
        (lambda x, a, b: (x - _mean(x)) * (a / _root(x)) + b, "layer_norm"),
        (lambda x, a, b: (x - _mean(x)) / np.sqrt(_mean((x - _mean(x)) ** 2)), "layer_norm"),
        (lambda x, a, b: (x - x.mean(-1)[:, None]) / np.sqrt(x.var(-1)[:, None] + 1e-5), "layer_norm"),
        (lambda x, a, b: a * x / np.sqrt(_mean(x**2) + 1e-5), "rms_norm"),
        (lambda x, a, b: x * (a / (_mean(x * x) + 1e-5) ** 0.5) + b, "rms_norm"),
        (lambda x, a, b: _exponentials(x) / _exponentials(x).sum(-1, keepdims=True), "softmax"),
        (lambda x, a, b: np.exp(x - _logsumexp(x)), "softmax"),
        (lambda x, a, b: (lambda e: (e.T / e.sum(1)).T)(np.exp((x.T - x.max(1)).T)), "softmax"),
        (lambda x, a, b: ((x.T - x.mean(1)) / np.sqrt(x.var(1) + 1e-5)).T * a + b, "layer_norm"),
        (lambda x, a, b: np.exp(x - _top(x) - np.log(_exponentials(x).sum(-1, keepdims=True))), "softmax"),
    ],
)
def test_what_is_written_several_times_is_seen_as_one(function: Callable[..., Any], op: str) -> None:
    rng = np.random.default_rng(0)
    arrays = {"x": rng.standard_normal((3, N)), "a": rng.standard_normal(N), "b": rng.standard_normal(N)}
    g = rlx.trace(function, **arrays)
    assert _ops(g) == [op]
    np.testing.assert_allclose(oracle.run(g, **arrays)[0], function(**arrays), rtol=0, atol=1e-13)
    _assert_same_numbers(g, arrays)


def test_functions_that_have_a_part_in_common_are_both_seen() -> None:
    """The norms have the same mean and root, the softmaxes the same exponentials."""

    def norm(x: Any, a: Any, b: Any) -> Any:
        centred = x - _mean(x)
        return centred / np.sqrt(_mean(centred * centred) + 1e-5) * a + b

    def softmax(x: Any) -> Any:
        exponentials = _exponentials(x)
        return exponentials / exponentials.sum(-1, keepdims=True)

    def function(x: Any, a: Any, b: Any) -> Any:
        return norm(x, a, b), norm(x, b, a), softmax(x), softmax(x) + 1.0

    rng = np.random.default_rng(0)
    arrays = {"x": rng.standard_normal((3, N)), "a": rng.standard_normal(N), "b": rng.standard_normal(N)}
    g = rlx.trace(function, **arrays)
    assert sorted(set(_ops(g))) == ["add", "layer_norm", "softmax"]
    assert _ops(g).count("layer_norm") == 2
    _assert_same_numbers(g, arrays)


@pytest.mark.parametrize(
    ("scores", "weighted", "shapes"),
    [
        ("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", [(2, N, 3, 2)] * 3),
        ("...qhd,...khd->...hqk", "...hqk,...khd->...qhd", [(2, N, 3, 2)] * 3),
        ("bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", [(2, 3, N, 2)] * 3),
        ("bkhd,bqhd->bhqk", "bkhd,bhqk->bqhd", [(2, N, 3, 2)] * 3),
        ("bqhgd,bkhd->bhgqk", "bhgqk,bkhd->bqhgd", [(2, N, 3, 2, 5), (2, N, 3, 5), (2, N, 3, 5)]),
        ("bqhd,bkd->bhqk", "bhqk,bkd->bhqd", [(2, N, 3, 2), (2, N, 2), (2, N, 2)]),
        ("dhq,dhk->hqk", "hqk,hke->ehq", [(2, 3, N), (2, 3, N), (3, N, 5)]),
        ("qd,kd->qk", "qk,ke->qe", [(N, 2), (N, 2), (N, 5)]),
        ("qd,kd->qk", "qk,ke->qe", [(1, 2), (1, 2), (1, 1)]),
    ],
)
def test_attention_may_be_written_by_subscripts(scores: str, weighted: str, shapes: list[tuple[int, ...]]) -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        z = np.einsum(scores, *((k, q) if scores.startswith("bk") else (q, k))) / np.sqrt(2.0)
        n = z.shape[-1]
        weights = _exponentials(np.where(np.tril(np.ones((n, n), bool)), z, -np.inf))
        weights = weights / weights.sum(-1, keepdims=True)
        return np.einsum(weighted, *((v, weights) if weighted.startswith("bk") else (weights, v)))

    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal(shape) for name, shape in zip("qkv", shapes, strict=True)}
    g = rlx.trace(function, **arrays)
    assert _ops(g) == ["attention"]
    np.testing.assert_allclose(oracle.run(g, **arrays)[0], function(**arrays), rtol=0, atol=1e-13)
    _assert_same_numbers(g, arrays)


_KEYS = np.arange(5)
_TRIANGLE = np.tril(np.ones((5, 5)))
_SLOPES = np.array([0.5, 0.25])[:, None, None] * (_KEYS - _KEYS[:, None])


@pytest.mark.parametrize(
    ("masked", "kind"),
    [
        (lambda s: np.where(_TRIANGLE == 0, -np.inf, s), "causal"),
        (lambda s: np.where(_KEYS[:, None] < _KEYS, -1e9, s), "causal"),
        (lambda s: np.where(_TRIANGLE, s, -1e9), "causal"),
        (lambda s: np.where(_TRIANGLE.astype(np.uint8), s, -np.inf), "causal"),
        (lambda s: s - 1e9 * (1 - _TRIANGLE), "causal"),
        (lambda s: np.where(_TRIANGLE == 1, s, -np.inf) / 2.0, "causal"),
        (lambda s: (s + np.triu(np.full((5, 5), -np.inf), 1)) * 0.5, "causal"),
        (lambda s: s + np.where(_TRIANGLE == 1, _SLOPES, -np.inf), "bias"),
        (lambda s: np.where(_TRIANGLE == 1, s + _SLOPES, -np.inf), "bias"),
        (lambda s: np.where(_TRIANGLE == 0, -1e30, (_SLOPES + s) * 0.5), "bias"),
        (lambda s: s - _SLOPES + np.triu(np.full((5, 5), -1e30), 1), "bias"),
        (lambda s: np.where(np.eye(5, dtype=bool)[::-1], -np.inf, s), "custom"),
    ],
)
def test_masks_of_attention_as_they_are_written(masked: Callable[..., Any], kind: str) -> None:
    def function(q: Any, k: Any, v: Any) -> Any:
        weights = _exponentials(masked(q @ k.swapaxes(-1, -2) / np.sqrt(3.0)))
        return weights / weights.sum(-1, keepdims=True) @ v

    arrays = {name: np.random.default_rng(n).standard_normal((2, 2, 5, 3)) for n, name in enumerate("qkv")}
    g = rlx.trace(function, **arrays)
    assert f"mask {kind}" in str(rlx.run_passes(g, RAISE))
    np.testing.assert_allclose(oracle.run(g, **arrays)[0], function(**arrays), rtol=0, atol=1e-13)
    _assert_same_numbers(g, arrays)


@pytest.mark.parametrize(
    ("scores", "axis", "weighted"),
    [
        ("bqhd,bkhd->bqhk", 3, "bqhk,bkhd->bqhd"),
        ("bqhd,bkhd->bqkh", 2, "bqkh,bkhd->bqhd"),
        ("bqhd,bkhd->khqb", 0, "khqb,bkhd->qbhd"),
    ],
)
def test_scores_of_attention_may_lie_in_any_order(scores: str, axis: int, weighted: str) -> None:
    order = scores[-4:]
    seen = np.moveaxis(np.tril(np.ones((5, 5), bool))[None, None], [2, 3, 0, 1], [order.index(i) for i in "qkbh"])

    def function(q: Any, k: Any, v: Any) -> Any:
        z = np.where(seen, np.einsum(scores, q, k), -np.inf)
        weights = np.exp(z - z.max(axis, keepdims=True))
        return np.einsum(weighted, weights / weights.sum(axis, keepdims=True), v)

    arrays = {name: np.random.default_rng(n).standard_normal((2, 5, 3, 4)) for n, name in enumerate("qkv")}
    g = rlx.trace(function, **arrays)
    assert "layout" in str(raised := rlx.run_passes(g, RAISE)) and "mask causal" in str(raised)
    np.testing.assert_allclose(oracle.run(g, **arrays)[0], function(**arrays), rtol=0, atol=1e-13)
    _assert_same_numbers(g, arrays)


def test_transposes_that_do_not_undo_each_other_stay() -> None:
    """Of a cube, so that all shapes fit."""

    def build(g: Any, a: Any) -> Any:
        x, v, z = a(N, N, N), a(N), a(N, 1, N)
        turned = g.transpose(x, (1, 2, 0))
        back = g.transpose(g.sin(turned - v) * z, (2, 0, 1))
        return [g.transpose(turned - v, (1, 2, 0)), g.transpose(g.exp(turned * v) - v, (2, 0, 1)), back]

    _assert_same_numbers(*_graph(build))


def test_what_looks_like_attention_and_sums_something_else() -> None:
    """Weights along the keys, of which another axis is summed over; scores that are repeated for each query."""

    def build(g: Any, a: Any) -> Any:
        p = g.softmax(a(1, 2) @ g.transpose(a(5, 2), (1, 0)))
        repeated = g.softmax(g.expand(a(1, 2) @ a(2, 5), (4, 5)))
        of_one_key, square = g.softmax(a(4, 2) @ a(2, 1)), g.softmax(a(4, 2) @ a(2, 4))
        turned = [g.transpose(x, (1, 0)) for x in (p, of_one_key, square)]
        return [turned[0] @ a(1, 3), repeated @ a(5, 3), turned[1] @ a(4, 3), turned[2] @ a(4, 3)]

    _assert_same_numbers(*_graph(build))


def test_sums_of_sums_are_taken_apart_a_few_times_only() -> None:
    def build(g: Any, a: Any) -> Any:
        z = seen = a(2, N, N)
        for _ in range(40):
            z, seen = z + z, g.and_(seen > 0.0, seen > 0.0) if seen is z else g.and_(seen, seen)
        return [g.softmax(g.where(seen, z, -1e30)) @ a(2, N, 3)]

    assert "attention" not in _ops(_graph(build)[0])


@pytest.mark.parametrize(("dtype", "near"), [("bf16", 0.715), ("f16", 0.709)])
def test_roundings_of_half_floats_are_no_other_numbers(dtype: str, near: float) -> None:
    def build(slope: float) -> Any:
        g = rlx.Graph("g")
        x = g.input("x", (N, N), dtype=dtype)
        g.set_outputs([x * 0.5 * (1.0 + g.erf(x * float(slope)))])
        return g

    assert _ops(build(np.sqrt(0.5))) == ["gelu"]
    assert "gelu" not in _ops(build(near))


@pytest.mark.parametrize(
    ("by_hand", "op"),
    [
        (lambda x: 0.5 * x + 0.5 * x * rlx.erf(x * np.sqrt(0.5)), rlx.gelu),
        (lambda x: 0.5 * x * rlx.erfc(-x / np.sqrt(2)), rlx.gelu),
        (lambda x: 0.5 * x * (1 + np.tanh(x / 2)), rlx.silu),
        (lambda x: 0.5 + 0.5 * np.tanh(0.5 * x), rlx.sigmoid),
        (lambda x: x * 0.5 * (1.0 + rlx.erf(x / np.sqrt(2.0))), rlx.gelu),
        (lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), rlx.gelu_approx),
        (lambda x: x / (1 + np.exp(-x)), rlx.silu),
        (lambda x: 1 / (1 + np.exp(-x)), rlx.sigmoid),
    ],
)
def test_activations_by_hand_run_as_the_ops_do(by_hand: Callable[[Any], Any], op: Callable[[Any], Any]) -> None:
    """Far out too, where the sums by hand cancel or overflow."""
    x = np.concatenate([np.linspace(-30, 30, 61), [-np.inf, np.inf, -200.0, 200.0, -0.0]]).astype(np.float32)
    np.testing.assert_array_equal(rlx.compile(by_hand)(x), rlx.compile(op)(x))


@pytest.mark.parametrize("gate_first", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_gate_is_the_half_that_it_was(gate_first: bool, swapped: bool) -> None:
    def build(g: Any, a: Any) -> Any:
        packed = a(3, 2 * N)
        first, second = g.narrow(packed, -1, 0, N), g.narrow(packed, -1, N, N)
        gate, up = (first, second) if gate_first else (second, first)
        return [up * g.silu(gate) if swapped else g.silu(gate) * up]

    g, arrays = _graph(build)
    assert _ops(g) == ["fused_swiglu"]
    assert ("gate_first" in str(rlx.run_passes(g, RAISE))) == gate_first
    _assert_same_numbers(g, arrays)


@pytest.mark.parametrize("full", [False, True], ids=["bare", "all-operands"])
def test_blocks_of_a_transformer_are_found_again(full: bool) -> None:
    def build(g: Any, a: Any) -> Any:
        x, w, out, mask = a(2, 3, N), a(N, 3 * N), a(N, N), g.constant(np.tril(np.ones((1, 1, 3, 3), bool)))
        biases = {"qkv_b": a(3 * N), "out_b": a(N)} if full else {}
        tables = {"cos": a(3, 1), "sin": a(3, 1)} if full else {}
        others = {f"{name}_b": a(n) for name, n in (("ln1", N), ("fc1", 5), ("fc2", N), ("ln2", N))} if full else {}
        return [
            g.fused_attention_block(x, w, out, mask, num_heads=2, **biases, **tables),
            g.fused_transformer_layer(
                x, w, out, a(N), a(N, 5), a(5, N), a(N), mask, num_heads=2, activation="tanh", **biases, **others
            ),
        ]

    g, arrays = _graph(build)
    unfused = rlx.run_passes(g, "mir-unfuse-for-ad")
    assert "fused" not in str(unfused)
    assert _ops(unfused) == ["fused_attention_block", "fused_transformer_layer"]
    _assert_same_numbers(unfused, arrays)


def test_ops_on_half_floats_are_found_between_the_casts_that_they_mean() -> None:
    g = rlx.Graph("halves")
    x, r, w, packed = (g.input(name, shape, dtype="bf16") for name, shape in _HALVES.items())
    outputs = [
        g.fused_residual_ln(x, r, g.full((N,), 2.0, "bf16"), g.full((N,), 0.0, "bf16")),
        g.fused_matmul_bias_act(x, w, w, activation="silu"),
    ]
    g.set_outputs([*outputs, g.fused_swiglu(packed)])
    unfused = rlx.run_passes(g, "mir-unfuse-for-ad,mir-decompose")
    assert "fused" not in str(unfused)
    assert _ops(unfused) == ["fused_residual_ln", "fused_matmul_bias_act", "fused_swiglu"]
    arrays = {name: np.random.default_rng(0).standard_normal(shape) for name, shape in _HALVES.items()}
    for found, right in zip(oracle.run(rlx.run_passes(unfused, RAISE), **arrays), oracle.run(g, **arrays), strict=True):
        np.testing.assert_array_equal(found, right)


_HALVES = {"x": (N, N), "r": (N, N), "w": (N, N), "packed": (3, 2 * N)}


def test_what_a_backward_pass_reads_is_no_missed_fusion() -> None:
    def build(m: Any) -> Any:
        shapes = {"qkv_w": (N, 3 * N), "out_w": (N, N), "ln1_g": (N,), "fc1_w": (N, 5), "fc2_w": (5, N), "ln2_g": (N,)}
        y = m.transformer_layer(m.input("x", (2, 3, N)), num_heads=2, **{n: m.param(n, s) for n, s in shapes.items()})
        return m.reduce_sum(y * y)

    layer = rlx.lower_hir(rlx.GraphModule.define("layer", build))
    for graph in (layer, rlx.grad_with_loss(layer)):
        rlx.assert_fusion_clean(graph)


def test_gradient_programs_are_fused_as_others_are() -> None:
    def build(g: Any, a: Any) -> Any:
        return [g.reduce_sum(g.sin(_layer_norm(g, g.tanh(a(N, N) @ a(N, N) + a(N)))))]

    g, arrays = _graph(build)
    gradient = rlx.grad_with_loss(g, wrt=tuple(arrays))
    assert {"fused_matmul_bias_act", "layer_norm", "layer_norm_backward_input"} <= set(_ops(gradient))
    _assert_same_numbers(gradient, arrays)


@pytest.mark.parametrize("low", [-np.inf, -1e9])
def test_rows_that_see_nothing_are_what_they_were(low: float) -> None:
    """By hand they are NaN, or the mean of all values; `mir.attention` makes them 0."""

    def build(g: Any, a: Any) -> Any:
        q, k, v = a(2, N, 3), a(2, N, 3), a(2, N, 3)
        seen = g.constant(np.tril(np.ones((N, N), bool), -1))
        return [g.softmax(g.where(seen, q @ g.transpose(k, (0, 2, 1)), low)) @ v]

    g, arrays = _graph(build)
    assert "attention" not in _ops(g)
    assert [miss.reason for miss in rlx.fusion_report(g).missed_fusions] == ["Mask"]
    _assert_same_numbers(g, arrays)


def _turned(g: Any, x: Any) -> Any:
    """With queries and keys, of which there are as many, the other way round."""
    return g.transpose(x, (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2))


_SEES = np.tril(np.ones((N, N), bool))
_EVERY_ROW_SEES = np.array([[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 0, 1, 1]], bool)
"""And no query sees the second key."""
_ADDED = np.where(_SEES, 0.0, -np.inf)


@pytest.mark.parametrize(
    "scores",
    [
        lambda g, z, a: _turned(g, z),
        lambda g, z, a: _turned(g, z * 0.5) + a(N, N),
        lambda g, z, a: _turned(g, z + a(N, N)),
        lambda g, z, a: _turned(g, g.where(g.constant(_SEES), z, -1e30)),
        lambda g, z, a: g.where(_turned(g, g.constant(_SEES)), z, -1e30),
        lambda g, z, a: g.where(_turned(g, g.constant(_EVERY_ROW_SEES)), z, -1e30),
        lambda g, z, a: z + _turned(g, g.where(g.constant(_SEES), g.constant(0.0, "f64"), -1e30)),
        lambda g, z, a: z + _turned(g, g.constant(_ADDED)),
    ],
)
def test_scores_and_masks_may_be_transposed(scores: Callable[..., Any]) -> None:
    """As many queries as keys: all shapes fit."""

    def build(g: Any, a: Any) -> Any:
        q, k, v = a(2, N, 3), a(2, N, 3), a(2, N, 3)
        return [g.softmax(scores(g, q @ _turned(g, k), a)) @ v]

    _assert_same_numbers(*_graph(build))


@pytest.mark.parametrize(
    "factor",
    [
        lambda g: g.cast(g.cast(g.constant(1.7, "f64"), "i32"), "f64"),
        lambda g: g.cast(g.cast(g.constant(300, "i32"), "i8"), "f64"),
        lambda g: g.cast(g.cast(g.constant(0.1, "f64"), "f16"), "f64"),
    ],
    ids=["truncated", "wrapped", "rounded"],
)
def test_a_number_is_what_casts_make_of_it(factor: Callable[..., Any]) -> None:
    def build(g: Any, a: Any) -> Any:
        return [g.softmax(a(2, N, 3) @ a(2, 3, N) * factor(g)) @ a(2, N, 3)]

    _assert_same_numbers(*_graph(build))


@pytest.mark.parametrize(
    ("width", "scores"),
    [
        (3, lambda g, z: z * 1e200 * 1e200),
        (3, lambda g, z: g.tanh(z) * 1e200 * 1e200),
        (3, lambda g, z: g.tanh(z) * 1e-200 * 1e-200),
        (0, lambda g, z: z),
    ],
    ids=["infinite scale", "infinite cap", "no cap", "no features"],
)
def test_numbers_that_an_attention_cannot_have(width: int, scores: Callable[..., Any]) -> None:
    def build(g: Any, a: Any) -> Any:
        return [g.softmax(scores(g, a(2, N, width) @ a(2, width, N))) @ a(2, N, 3)]

    with np.errstate(all="ignore"):
        _assert_same_numbers(*_graph(build))


@pytest.mark.parametrize(
    ("keys", "dtype", "window"), [(N, "u8", 2), (N, "u32", 2), (200, "i8", None), (300, "bf16", None)]
)
def test_positions_that_wrap_or_are_rounded_make_no_causal_mask(keys: int, dtype: str, window: int | None) -> None:
    def build(g: Any, a: Any) -> Any:
        column = g.iota((keys,), 0, dtype)
        row = g.reshape(column, (keys, 1))
        seen = column <= row
        if window is not None:
            seen = g.and_(seen, column >= row - window)
        return [g.softmax(g.where(seen, a(1, keys, 2) @ a(1, 2, keys), -1e30)) @ a(1, keys, 2)]

    g, arrays = _graph(build)
    assert "attention" not in _ops(g)
    _assert_same_numbers(g, arrays)


@pytest.mark.parametrize("seen", [np.tril(_SEES, -1), _EVERY_ROW_SEES.T], ids=["a row of keys", "any keys"])
def test_a_row_that_loses_all_keys_to_a_constant_is_nan(seen: Any) -> None:
    def build(g: Any, a: Any) -> Any:
        lost = g.constant(np.where(seen, 0.0, -np.inf))
        return [g.softmax(a(2, N, 3) @ a(2, 3, N) + lost) @ a(2, N, 3)]

    g, arrays = _graph(build)
    assert np.isnan(oracle.run(g, **arrays)[0]).any()
    assert [miss.reason for miss in rlx.fusion_report(g).missed_fusions] == ["Mask"]
    _assert_same_numbers(g, arrays)


def test_a_gradient_that_is_stopped_on_one_side_only_is_left_alone() -> None:
    def build(g: Any, a: Any) -> Any:
        x = a(N, N)
        e = g.exp(g.stop_gradient(x) - g.reduce_max(x, -1, keep_dim=True))
        return [e / g.reduce_sum(e, -1, keep_dim=True)]

    g, arrays = _graph(build)
    assert "softmax" not in _ops(g)
    _assert_same_numbers(g, arrays)


def _scores(g: Any, a: Any) -> Any:
    return [g.softmax(a(2, N, 3) @ a(2, 3, N))]


def _gated_products(g: Any, a: Any) -> Any:
    x = a(N, N)
    return [(g.silu(x @ a(N, N)) * (x @ a(N, N))) @ a(N, N)]


def _logits(g: Any, a: Any) -> Any:
    logits = a(N, N) @ a(N, N)
    return [g.reduce_mean(g.softmax_cross_entropy_with_logits(logits, g.input("labels", (N,), dtype="i32"))), logits]


def _pre_norm(g: Any, a: Any) -> Any:
    h = a(N, N) + a(N, N) @ a(N, N)
    return [h + g.relu(g.layer_norm(h, a(N), a(N)) @ a(N, N))]


def _modulated_norm(g: Any, a: Any) -> Any:
    return [g.layer_norm(a(2, N, N), a(N), a(N)) * a(2, 1, N) + a(2, 1, N)]


@pytest.mark.parametrize("build", [_scores, _gated_products, _logits, _modulated_norm, _pre_norm])
def test_what_is_right_as_it_is_is_no_missed_fusion(build: Callable[..., Any]) -> None:
    rlx.assert_fusion_clean(_graph(build)[0])


def _bias_of_another_type(g: Any, a: Any) -> Any:
    q, k, v = (g.cast(a(2, N, 3), "bf16") for _ in range(3))
    scores = g.cast(q @ g.transpose(k, (0, 2, 1)), "f32") + g.cast(a(N, N), "f32")
    return [g.cast(g.softmax(scores), "bf16") @ v]


def _product_is_broadcast(g: Any, a: Any) -> Any:
    return [a(N, N) @ a(N, N) + a(2, N, N)]


@pytest.mark.parametrize(
    ("build", "composite", "reason"),
    [
        (_product_is_output, "fused_matmul_bias_act", "MultiConsumer"),
        (_product_is_broadcast, "fused_matmul_bias_act", "Shape"),
        (_norm_along_the_first_axis, "fused_residual_ln", "Axis"),
        (_bias_of_another_type, "attention", "Dtype"),
    ],
)
def test_the_reason_is_the_guard_that_refused(build: Callable[..., Any], composite: str, reason: str) -> None:
    g, arrays = _graph(build)
    (miss,) = rlx.fusion_report(g).missed_fusions
    assert (miss.composite, miss.reason) == (f"mir.{composite}", reason)
    _assert_same_numbers(g, arrays)


def test_a_miss_is_named_whatever_its_product_becomes_a_part_of() -> None:
    def build(g: Any, a: Any) -> Any:
        weights = g.softmax(a(2, N, 3) @ a(2, 3, N))
        return [weights @ a(2, N, 3) + a(3), weights]

    report = rlx.fusion_report(_graph(build)[0])
    assert dict(report.raised) == {"mir.fused_matmul_bias_act": 1}
    assert [(miss.composite, miss.reason) for miss in report.missed_fusions] == [("mir.attention", "MultiConsumer")]


def test_the_report_names_what_was_found_and_not_its_views() -> None:
    def build(g: Any, a: Any) -> Any:
        return [g.softmax(a(N, 3) @ a(3, N)) @ a(N, 3)]

    assert rlx.fusion_report(_graph(build)[0]).raised == (("mir.attention", 1),)


def test_what_was_missed_is_named_with_its_reason_and_line() -> None:
    g, _ = _graph(_product_is_output)
    (miss,) = rlx.fusion_report(g).missed_fusions
    assert (miss.composite, miss.reason) == ("mir.fused_matmul_bias_act", "MultiConsumer")
    assert "test_fusion.py" in miss.location
    with pytest.raises(rlx.GraphError, match=r"1 missed fusion in 'g':\n  mir.fused_matmul_bias_act at "):
        rlx.assert_fusion_clean(g)
