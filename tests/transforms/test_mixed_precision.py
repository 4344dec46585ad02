"""Mixed precision: what is narrowed and what is not, values and gradients beside JAX with the same casts."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from numerics.choice import thinned
from numerics.families import SAMPLES
from numerics.sample import Sample, named
from oracle import evaluate, widen
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.mir_mixed_precision import MirMixedPrecisionPass
from xdsl_rlx.transforms.op_kinds import OpKind, kind_of

Array = np.ndarray[Any, Any]
HALVES: dict[str, Any] = {"f16": jnp.float16, "bf16": jnp.bfloat16}
EPS = {"f16": 2.0**-10, "bf16": 2.0**-7}


def test_ops_of_others_have_none() -> None:
    assert kind_of(ModuleOp) is None


SAMPLES_IN_F32 = [s for s in thinned(SAMPLES, 1) if "f32" in s.dtypes or len(s.dtypes) == 1]

LOSING = {"group_norm-offset", "layer_norm-offset", "relu_backward-kink", "sqrt-complex-corners"}
"""Samples of differences, kinks and corners that half precision rounds away."""


@pytest.mark.parametrize(("policy", "tol"), [("always_f16", 0.01), ("mixed_bf16", 0.05)])
def test_every_op_keeps_its_value_to_half_precision(policy: str, tol: float) -> None:
    for sample in SAMPLES_IN_F32:
        dtype = "f32" if "f32" in sample.dtypes else sample.dtypes[0]
        with named(sample, dtype):
            _keeps_the_value(sample, dtype, policy, tol)


def _keeps_the_value(sample: Sample, dtype: str, policy: str, tol: float) -> None:
    module, arrays = sample.module(dtype), sample.arrays(dtype)
    expected = evaluate(module, *arrays)
    MirMixedPrecisionPass(policy).run(context(), module)
    module.verify()
    for before, after in zip(expected, evaluate(module, *arrays), strict=True):
        assert before.dtype == after.dtype
        before, after = widen(before), widen(after)
        exact = before.dtype.kind in "biu" or not np.isfinite(before).all() or sample.id in LOSING
        if before.size and not exact:
            assert np.abs(before - after).max() <= tol * max(np.abs(before).max(), 1.0)


def _ops(graph: Any, name: str) -> list[Operation]:
    return [op for op in rlx.run_passes(graph, []).module.walk() if op.name == f"mir.{name}"]


def _elements(graph: Any, name: str) -> list[str]:
    """The element types of the first results of the ops of a name."""
    return [str(element_of(op.results[0])) for op in _ops(graph, name)]


def _classifier(labels: str = "i32") -> rlx.Graph:
    g = rlx.Graph("loss")
    x, w1, b1, w2 = g.input("x", (6, 5)), g.param("w1", (5, 8)), g.param("b1", (8,)), g.param("w2", (8, 3))
    logits = g.tanh(x @ w1 + b1) @ w2
    losses = g.softmax_cross_entropy_with_logits(logits, g.input("labels", (6,), labels))
    g.set_outputs([g.reduce_mean(losses), logits])
    return g


def _arrays(scale: float = 1.0) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    shapes = {"x": (6, 5), "w1": (5, 8), "b1": (8,), "w2": (8, 3)}
    found: dict[str, Array] = {name: rng.normal(size=s).astype(np.float32) for name, s in shapes.items()}
    found["w2"] *= np.float32(scale)
    return {**found, "labels": np.array([0, 2, 1, 1, 0, 2], np.int32)}


def _jax_loss(reduction: str, half: str, x: Any, w1: Any, b1: Any, w2: Any, labels: Any) -> Any:
    """The classifier with the casts that the policies say; what an op computes is f32 before it is stored."""
    to = HALVES[half]
    x, w1, b1, w2 = (v.astype(to) for v in (x, w1, b1, w2))
    h = jnp.matmul(x, w1, preferred_element_type=jnp.float32).astype(to)
    h = jnp.tanh((h + b1).astype(jnp.float32)).astype(to)
    logits = jnp.matmul(h, w2, preferred_element_type=jnp.float32).astype(to).astype(jnp.float32)
    losses = jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], -1)[:, 0]
    if reduction != "f32":
        losses = losses.astype(to).astype(jnp.float32)
    return losses.mean()


@pytest.mark.parametrize(
    ("policy", "half", "reduction"),
    [("mixed_conservative", "f16", "f32"), ("mixed", "f16", "f16"), ("mixed_bf16", "bf16", "bf16")],
)
def test_gradients_of_mixed_programs_and_mixed_gradient_programs_are_those_of_jax(
    policy: str, half: str, reduction: str
) -> None:
    arrays = _arrays()
    names = ("w1", "b1", "w2")
    function = lambda *ws: _jax_loss(reduction, half, arrays["x"], *ws, arrays["labels"])  # noqa: E731
    loss, grads = jax.value_and_grad(function, argnums=(0, 1, 2))(*(arrays[n] for n in names))
    of_mixed = rlx.grad_with_loss(rlx.mixed_precision(_classifier(), policy))
    mixed = rlx.mixed_precision(rlx.grad_with_loss(_classifier()), policy)
    for graph in (of_mixed, mixed):
        found = rlx.compile(graph, threads=1)(**arrays)
        assert all(y.dtype == np.float32 for y in found)
        np.testing.assert_allclose(found[0], loss, atol=2 * EPS[half] * float(loss))
        for ours, theirs in zip(found[2:], grads, strict=True):
            theirs = np.asarray(theirs)
            np.testing.assert_allclose(ours, theirs, atol=4 * EPS[half] * np.abs(theirs).max())


def test_master_weights_learn_what_half_precision_would_lose() -> None:
    """Steps of 1e-4 of a weight near 1 are lost in bf16, whose neighbours of 1 are 2^-8 away."""
    g = rlx.Graph("loss")
    w = g.param("w", (4,))
    g.set_outputs([g.reduce_sum(w * g.input("x", (4,)))])
    step = rlx.compile(rlx.grad(rlx.mixed_precision(g)), threads=1)
    weights = np.ones(4, np.float32)
    for _ in range(100):
        (gradient,) = step(w=weights, x=np.ones(4, np.float32))
        assert gradient.dtype == np.float32
        weights = weights - np.float32(1e-4) * gradient
    np.testing.assert_allclose(weights, 0.99, rtol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_conservative", "mixed", "always_f16", "mixed_bf16"])
def test_large_logits_are_not_nan(policy: str) -> None:
    arrays = _arrays(scale=3e3)
    found = rlx.compile(rlx.grad_with_loss(rlx.mixed_precision(_classifier(), policy)), threads=1)(**arrays)
    assert all(np.isfinite(y).all() for y in found)


def _masked(g: rlx.Graph) -> Any:
    x, mask = g.input("x", (2, 4)), g.input("mask", (2, 4))
    return g.softmax(x + (1.0 - mask) * -1e9)


def _normed(g: rlx.Graph) -> Any:
    x = g.input("x", (2, 4))
    return x * g.rsqrt(g.reduce_mean(x * x, -1, True) + 1e-12)


@pytest.mark.parametrize("policy", ["mixed", "always_f16", "mixed_bf16"])
@pytest.mark.parametrize(("build", "zeros"), [(_masked, "mask"), (_normed, "x")])
def test_numbers_that_a_half_type_cannot_hold_stay(build: Callable[[rlx.Graph], Any], zeros: str, policy: str) -> None:
    """-1e9 is infinite in f16, and 0 times that NaN; 1e-12 is 0."""
    g = rlx.Graph("g")
    g.set_outputs([build(g)])
    arrays = {"x": np.ones((2, 4), np.float32), "mask": np.ones((2, 4), np.float32)}
    arrays[zeros] = np.zeros((2, 4), np.float32)
    names = ("x", "mask") if build is _masked else ("x",)
    plain, mixed = (
        rlx.compile(one, threads=1)(**{n: arrays[n] for n in names})[0] for one in (g, rlx.mixed_precision(g, policy))
    )
    np.testing.assert_allclose(mixed, plain, atol=0.01)


def test_labels_and_indices_keep_their_values() -> None:
    """300 is no bf16, and 2049 no f16: what becomes an index is computed in f32, and only that."""
    g = rlx.Graph("g")
    table, where = g.param("table", (3000,)), g.input("where", (2,))
    g.set_outputs([g.gather(table, g.cast(where * 1.0 + 1.0, "i32"), 0), g.gather(table, where + 2.0, 0), where * 2.0])
    for policy in ("always_f16", "always_bf16"):
        found = rlx.compile(rlx.mixed_precision(g, policy), threads=1)(
            table=np.arange(3000, dtype=np.float32) % 7, where=np.array([299, 2048], np.float32)
        )
        np.testing.assert_array_equal(found[0], np.array([300 % 7, 2049 % 7]))
        np.testing.assert_array_equal(found[1], np.array([301 % 7, 2050 % 7]))
    assert "bf16" in _elements(rlx.mixed_precision(g, "always_bf16"), "mul")


def test_only_f32_is_touched() -> None:
    g = rlx.Graph("g")
    x64, h, n = g.input("x64", (3,), "f64"), g.input("h", (3,), "f16"), g.input("n", (3,), "i32")
    z, t = g.input("z", (3,), "c64"), g.input("t", (3,), "i1")
    g.set_outputs([x64 * x64, h + h, n + n, z * z, g.and_(t, t), g.where(t, x64, 1.0)])
    before = str(rlx.run_passes(g, []))
    assert str(rlx.mixed_precision(g, "always_bf16")) == before


def test_a_value_is_cast_once_and_numbers_not_at_all() -> None:
    g = rlx.Graph("g")
    x, w = g.input("x", (3, 3)), g.param("w", (3, 3))
    g.set_outputs([x @ w, w @ x, (x @ x) * 0.5])
    mixed = rlx.mixed_precision(g)
    casts = [op for op in _ops(mixed, "cast") if isinstance(op, CastOp)]
    assert [element_of(op.operand) for op in casts].count(f32) == 2 and len(casts) == 5
    assert _elements(mixed, "constant") == ["bf16"]


def test_a_policy_of_ones_own_and_the_one_that_does_nothing() -> None:
    graph = _classifier()
    mixed = rlx.mixed_precision(graph, {"compute": "f16"})
    assert _elements(mixed, "matmul") == ["f16", "f16"]
    assert _elements(mixed, "tanh") == ["f32"] == _elements(mixed, "reduce_mean")
    assert str(rlx.mixed_precision(graph, rlx.PrecisionPolicy.ALWAYS_F32)) == str(rlx.run_passes(graph, []))


def test_data_that_is_moved_stays_as_it_is() -> None:
    g = rlx.Graph("g")
    table, rows = g.param("table", (9, 4)), g.input("rows", (2,), "i32")
    g.set_outputs([g.reshape(g.exp(g.transpose(g.gather(table, rows, 0), (1, 0))), (8,))])
    assert _elements(rlx.mixed_precision(g), "gather") == ["f32"] == _elements(rlx.mixed_precision(g), "transpose")
    assert _elements(rlx.mixed_precision(g), "reshape") == ["bf16"]
    assert _elements(rlx.mixed_precision(g, "always_bf16"), "gather") == ["bf16"]


def test_loops_count_and_add_up_in_f32() -> None:
    """In bf16, 256 + 1 is 256: the loop would not end before its bound, and the sum stay where it is."""
    g = rlx.Graph("g")
    xs, w = g.input("xs", (600, 4)), g.param("w", (4, 4))

    def step(total: Any, x: Any) -> Any:
        return total + g.reduce_sum(g.reshape(x, (1, 4)) @ w), None

    total, _ = g.scan(step, g.constant(0.0), xs)
    count = g.while_loop(lambda t: t < 600.0, lambda t: t + 1.0, g.constant(0.0), max_iterations=700)
    g.set_outputs([total, count])
    mixed = rlx.mixed_precision(g)
    assert _elements(mixed, "matmul") == ["bf16"]
    total_, count_ = rlx.compile(mixed, threads=1)(xs=np.ones((600, 4), np.float32), w=np.eye(4, dtype=np.float32))
    assert (total_, count_) == (2400.0, 600.0)


def test_bodies_keep_their_types_and_are_differentiated() -> None:
    """A branch, a scan, a remat and a function with a rule of its own: gradients are those of f32, nearly."""
    g = rlx.Graph("g")
    x, w = g.input("x", (3, 4)), g.param("w", (4, 4))
    last, _ = g.scan(lambda c, e: (g.tanh(g.reshape(c, (1, 4)) @ w + e).reshape(4), None), x[0], x)
    y = g.cond(g.reduce_sum(x) > 0.0, lambda: last * 2.0, lambda: g.exp(last))
    z = g.remat(lambda v: g.sin(v) * g.tanh(v), y)
    g.set_outputs([g.reduce_sum(z)])
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(3, 4)).astype(np.float32), "w": rng.normal(size=(4, 4)).astype(np.float32) / 2}
    plain = rlx.compile(rlx.grad_with_loss(g), threads=1)(**arrays)
    for mixed in (rlx.grad_with_loss(rlx.mixed_precision(g)), rlx.mixed_precision(rlx.grad_with_loss(g))):
        for ours, theirs in zip(rlx.compile(mixed, threads=1)(**arrays), plain, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=0.05 * np.abs(theirs).max())


def test_casts_there_and_back_go_only_where_nothing_is_lost() -> None:
    g = rlx.Graph("g")
    x, h = g.input("x", (3,)), g.input("h", (3,), "bf16")
    g.set_outputs([x.cast("bf16").cast("f32"), h.cast("f32").cast("bf16")])
    clean = rlx.run_passes(g, "canonicalize")
    assert len(_ops(clean, "cast")) == 2
    (y, back) = rlx.compile(clean, threads=1)(x=np.array([1.001, 2, 3], np.float32), h=np.ones(3, ml_dtypes.bfloat16))
    assert y[0] == 1.0 and back[0] == 1


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("half", "policy: expected one of always_f32, .*, got 'half'"),
        ({"matmul": "f16"}, "expected the kinds of ops compute, reduction, elementwise, data_movement, got 'matmul'"),
        ({"compute": "f8"}, "compute: expected one of f32, f16, bf16, got 'f8'"),
        (7, "policy: expected a name, or a dict from kinds of ops to precisions, got 7"),
    ],
)
def test_a_wrong_policy_says_what_there_is(policy: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        rlx.mixed_precision(_classifier(), policy)


def test_kinds_are_those_of_families_but_for_what_is_elementwise_or_a_view() -> None:
    kinds = {op.name: kind_of(op) for op in Mir.operations}
    assert kinds["mir.relu_backward"] is OpKind.ELEMENTWISE and kinds["mir.reshape"] is OpKind.DATA_MOVEMENT
    assert kinds["mir.layer_norm_backward_input"] is OpKind.REDUCTION and kinds["mir.while"] is OpKind.LOOP


def test_what_is_made_stands_where_the_op_stands() -> None:
    module = rlx.mixed_precision(_classifier()).module
    lines = {op.name: str(op.location) for op in module.walk() if op.name.startswith("mir.")}
    assert all("test_mixed_precision.py" in line for line in lines.values()), lines


def test_functions_with_rules_and_switches_are_converted_inside() -> None:
    """The rule of a function computes in half precision as well, and what goes in and out is f32."""
    g = rlx.Graph("g")
    x, w = g.param("x", (3, 3)), g.param("w", (3, 3))
    clipped = g.custom_fn(lambda a: g.tanh(a @ a), x @ w, vjp=lambda a, y, d: g.min(d, 0.5) * y)
    chosen = g.switch(g.constant(1, "i32"), [lambda: clipped, lambda: g.exp(clipped) * 2.0])
    g.set_outputs([g.reduce_sum(chosen)])
    rng = np.random.default_rng(2)
    arrays: dict[str, Array] = {n: rng.normal(size=(3, 3)).astype(np.float32) / 2 for n in ("x", "w")}
    mixed = rlx.mixed_precision(g)
    assert _elements(mixed, "matmul") == ["bf16", "bf16"] and _elements(mixed, "custom_fn") == ["f32"]
    outcomes = [rlx.compile(rlx.grad_with_loss(one), threads=1)(**arrays) for one in (g, mixed)]
    for plain, ours in zip(*outcomes, strict=True):
        np.testing.assert_allclose(ours, plain, atol=0.05 * np.abs(plain).max())


def test_blocks_and_batches_take_half_precision() -> None:
    """A graph of blocks is lowered first; a mixed program has tangents, and is batched."""
    model = rlx.GraphModule.define(
        "m", lambda m: m.linear(m.input("x", (4, 3)), m.param("w", (3, 2)), m.param("b", (2,)), activation="gelu")
    )
    mixed = rlx.mixed_precision(model)
    assert _elements(mixed, "fused_matmul_bias_act") == ["bf16"]
    rng = np.random.default_rng(2)
    shapes = {"x": (4, 3), "w": (3, 2), "b": (2,), "tangent_w": (3, 2)}
    arrays: dict[str, Array] = {n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    outcomes = [rlx.compile(rlx.jvp(one, "w"), threads=1)(**arrays) for one in (model, mixed)]
    for plain, ours in zip(*outcomes, strict=True):
        np.testing.assert_allclose(ours, plain, atol=0.03 * np.abs(plain).max())
    del arrays["tangent_w"]
    arrays["x"] = rng.normal(size=(5, 4, 3)).astype(np.float32)
    batches = [rlx.compile(rlx.vmap(one, ["x"], 5), threads=1)(**arrays)[0] for one in (model, mixed)]
    np.testing.assert_allclose(batches[1], batches[0], atol=0.03 * np.abs(batches[0]).max())


def test_a_mixed_program_is_at_rest() -> None:
    mixed = rlx.mixed_precision(_classifier(), "mixed_conservative")
    assert str(rlx.mixed_precision(mixed, "mixed_conservative")) == str(mixed)
