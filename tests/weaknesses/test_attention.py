"""Attention, rotary embeddings and transformer blocks where the reference is wrong: the right numbers."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from numerics.sample import build_module
from xdsl.dialects.builtin import ModuleOp, TensorType, f64

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.rope import Rotates
from xdsl_rlx.dialects.mir.transformer import EncoderLayer

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]


def draw(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(11)
    return [rng.standard_normal(shape) for shape in shapes]


def module(build: Callable[..., Value], arrays: Sequence[Array]) -> ModuleOp:
    return build_module(build, [TensorType(f64, x.shape) for x in arrays])


def gradients(build: Callable[..., Value], arrays: Sequence[Array], wrt: Sequence[int]) -> list[Array]:
    """Gradients of `sum(build(x)^2)`, compiled."""

    def loss(m: MirBuilder, *xs: Value) -> Value:
        y = build(m, *xs)
        return m.reduce_sum(y * y)

    return list(rlx.compile(rlx.grad_with_loss(module(loss, arrays), [f"x{i}" for i in wrt]))(*arrays))[1:]


def of_jax(function: Callable[..., Any], arrays: Sequence[Array], wrt: Sequence[int]) -> list[Array]:
    loss = lambda *xs: jnp.sum(function(*xs) ** 2)  # noqa: E731
    return jaxpr.evaluate(jax.grad(loss, tuple(wrt)), *arrays)


def attention(q: Any, k: Any, v: Any, bias: Any = 0.0, scale: float | None = None, cap: float | None = None) -> Any:
    """`[B, H, S, D]`."""
    z = jnp.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    z = z if cap is None else cap * jnp.tanh(z / cap)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(z + bias, axis=-1), v)


QKV = ((2, 2, 4, 3), (2, 2, 5, 3), (2, 2, 5, 3))


@pytest.mark.parametrize(("scale", "cap"), [(0.9, None), (None, 0.7), (1.7, 1.1)])
def test_scale_and_softcap_act_in_both_directions(scale: float | None, cap: float | None):
    """W-13: both were dropped by the kernels and by the derivative."""
    arrays = draw(*QKV)

    def build(m: MirBuilder, *xs: Value) -> Value:
        return m.attention(*xs, layout="bhsd", score_scale=scale, attn_logit_softcap=cap)

    expected = lambda *xs: attention(*xs, scale=scale, cap=cap)  # noqa: E731
    (out,) = rlx.compile(module(build, arrays))(*arrays)
    np.testing.assert_allclose(out, expected(*arrays), rtol=1e-12, atol=1e-12)
    for got, want in zip(gradients(build, arrays, (0, 1, 2)), of_jax(expected, arrays, (0, 1, 2)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(2, 2, 4, 5), (1, 2, 4, 5), (2, 1, 4, 5), (1, 1, 4, 5)])
def test_a_bias_has_a_gradient(shape: tuple[int, ...]):
    """W-14: a learned bias got none."""
    arrays = draw(*QKV, shape)

    def build(m: MirBuilder, *xs: Value) -> Value:
        return m.attention(*xs, layout="bhsd", mask_kind="bias")

    (got,) = gradients(build, arrays, (3,))
    (want,) = of_jax(attention, arrays, (3,))
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def test_tables_of_a_rotary_embedding_have_gradients():
    """W-19: they silently got none."""
    arrays = draw((2, 3, 4), (3, 2), (3, 2))

    def turn(x: Any, c: Any, s: Any) -> Any:
        a, b = x[..., :2], x[..., 2:]
        return jnp.concatenate([a * c - b * s, b * c + a * s], axis=-1)

    got = gradients(lambda m, *xs: m.rope(*xs, num_heads=1), arrays, (0, 1, 2))
    for ours, theirs in zip(got, of_jax(turn, arrays, (0, 1, 2)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_layouts_are_said_not_guessed():
    """W-48: of four positions and four heads in `[B, S, H, D]`, positions were taken for heads."""
    arrays = draw(*[(2, 4, 4, 3)] * 3)
    expected = np.asarray(attention(*(x.transpose(0, 2, 1, 3) for x in arrays)))
    by_layout = {
        "bshd": lambda x: x,
        "bhsd": lambda x: x.transpose(0, 2, 1, 3),
        "packed": lambda x: x.reshape(2, 4, 12),
    }
    for layout, place in by_layout.items():
        given = [np.ascontiguousarray(place(x)) for x in arrays]

        def build(m: MirBuilder, *xs: Value, layout: str = layout) -> Value:
            return m.attention(*xs, num_heads=4, layout=layout)

        (out,) = rlx.compile(module(build, given))(*given)
        np.testing.assert_allclose(out, place(expected.transpose(0, 2, 1, 3)), rtol=1e-12, atol=1e-12)


def test_rope_of_heads_first_turns_by_the_position():
    """W-48: heads were taken for positions."""
    x, cos, sin = draw((1, 3, 4, 2), (4, 1), (4, 1))
    (out,) = rlx.compile(module(lambda m, *xs: m.rope(*xs, layout="bhsd"), [x, cos, sin]))(x, cos, sin)
    c, s = cos[:, 0], sin[:, 0]
    np.testing.assert_allclose(out[..., 0], x[..., 0] * c - x[..., 1] * s, rtol=1e-14)
    np.testing.assert_allclose(out[..., 1], x[..., 1] * c + x[..., 0] * s, rtol=1e-14)


def test_a_mask_of_queries_and_keys_is_read_as_such():
    """W-48: of a mask `[B, H, S, S]` the first `B S` values were read as padding."""
    arrays = draw((1, 2, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2))
    mask = np.array([[[[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[1, 1, 1], [0, 1, 0], [0, 0, 1]]]], np.float64)
    build = lambda m, q, k, v, seen: m.attention(q, k, v, seen > 0.5, layout="bhsd")  # noqa: E731
    (out,) = rlx.compile(module(build, [*arrays, mask]))(*arrays, mask)
    expected = attention(*arrays, jnp.where(mask > 0.5, 0.0, -jnp.inf))
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_a_row_without_keys_is_zero_and_passes_no_gradient():
    """Section 3.9: a row whose keys are all masked was uniform."""
    arrays = draw((1, 1, 3, 2), (1, 1, 2, 2), (1, 1, 2, 2))

    def build(m: MirBuilder, *xs: Value) -> Value:
        return m.attention(*xs, layout="bhsd", mask_kind="causal")

    (out,) = rlx.compile(module(build, arrays))(*arrays)
    assert not out[0, 0, 0].any() and np.isfinite(out).all()
    dq, dk, dv = gradients(build, arrays, (0, 1, 2))
    assert not dq[0, 0, 0].any() and all(np.isfinite(g).all() for g in (dq, dk, dv))


def test_f64_is_computed_in_f64():
    """W-41: f64 was read as f32."""
    arrays = [x * 3 for x in draw(*QKV)]
    (out,) = rlx.compile(module(lambda m, *xs: m.attention(*xs, layout="bhsd"), arrays))(*arrays)
    np.testing.assert_allclose(out, attention(*arrays), rtol=1e-13, atol=1e-14)


def tangents(build: Callable[..., Value], arrays: Sequence[Array], function: Callable[..., Any]) -> None:
    """Forward mode through all operands against JAX."""
    directions = [np.cos(7 * x) for x in arrays]
    pushed = rlx.compile(rlx.jvp(module(build, arrays), [f"x{i}" for i in range(len(arrays))]))(*arrays, *directions)
    expected = jaxpr.evaluate(lambda xs, us: jax.jvp(function, tuple(xs), tuple(us))[1], arrays, directions)[0]
    np.testing.assert_allclose(pushed[1], expected, rtol=1e-11, atol=1e-11)


def test_forward_mode_of_attention_is_not_that_of_a_linear_map():
    """W-53: attention was run again on the tangent of q; tangents of k and v were refused."""
    tangents(lambda m, *xs: m.attention(*xs, layout="bhsd"), draw(*QKV), attention)


def test_forward_mode_of_rope_turns_forwards():
    """W-53: the tangent was turned backwards."""

    def turn(x: Any, c: Any, s: Any) -> Any:
        a, b = x[..., :2], x[..., 2:4]
        return jnp.concatenate([a * c[..., :2] - b * s[..., :2], b * c[..., :2] + a * s[..., :2], x[..., 4:]], axis=-1)

    tangents(lambda m, *xs: m.rope(*xs, num_heads=1, n_rot=4), draw((2, 3, 6), (3, 3), (3, 3)), turn)


def axial(x: Any) -> Any:
    """Two batches, a grid of 3 x 2, one head of 4 features, by hand."""
    place = np.arange(6)
    angle = np.stack([place % 3, place // 3], axis=1)
    c, s = np.cos(angle), np.sin(angle)
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


def test_axial_rope_of_every_batch():
    """W-47: from the second batch on it read elsewhere."""
    arrays = draw((3, 6, 4))
    (out,) = rlx.compile(module(lambda m, x: m.axial_rope_2d(x, 3, 2, num_heads=1), arrays))(*arrays)
    np.testing.assert_allclose(out, axial(arrays[0]), rtol=1e-13, atol=1e-13)


def test_axial_rope_has_derivatives_in_both_modes():
    """W-65: it had none."""
    arrays = draw((2, 6, 4))
    build = lambda m, x: m.axial_rope_2d(x, 3, 2, num_heads=1) ** 3.0  # noqa: E731
    (got,) = gradients(build, arrays, (0,))
    (want,) = of_jax(lambda x: axial(x) ** 3, arrays, (0,))
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
    tangents(build, arrays, lambda x: axial(x) ** 3)


def test_second_derivatives_of_attention():
    """W-04: no backward op had a derivative."""
    arrays = draw(*QKV)
    v = [np.sin(5 * x) for x in arrays]

    def loss(m: MirBuilder, *xs: Value) -> Value:
        y = m.attention(*xs, layout="bhsd", attn_logit_softcap=2.0)
        return m.reduce_sum(y * y)

    names = ["x0", "x1", "x2"]
    got = rlx.compile(rlx.jvp(rlx.grad(module(loss, arrays), names), names))(
        **dict(zip(names, arrays, strict=True)),
        **{f"tangent_{name}": x for name, x in zip(names, v, strict=True)},
    )
    grad = jax.grad(lambda *xs: jnp.sum(attention(*xs, cap=2.0) ** 2), (0, 1, 2))
    expected = jaxpr.evaluate(lambda xs, us: jax.jvp(grad, tuple(xs), tuple(us))[1], arrays, v)
    for ours, theirs in zip(got[-3:], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_a_batch_of_attentions():
    """W-73: attention could not be batched."""
    arrays = draw(*QKV)
    more = [np.stack([x, 2 * x, -x]) for x in arrays]
    batched = rlx.vmap(module(lambda m, *xs: m.attention(*xs, layout="bhsd"), arrays), ["x0", "x1", "x2"], 3)
    assert ops(batched.module)["mir.attention"] == 1
    (out,) = rlx.compile(batched)(*more)
    np.testing.assert_allclose(out, [attention(*(x[i] for x in more)) for i in range(3)], rtol=1e-12, atol=1e-12)


def ops(code: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in code.walk())


def test_one_backward_op_gives_all_cotangents():
    """W-59: three kernels, each of which computed the softmax again."""
    arrays = draw(*QKV)

    def loss(m: MirBuilder, *xs: Value) -> Value:
        return m.reduce_sum(m.attention(*xs, layout="bhsd"))

    code = rlx.grad_with_loss(module(loss, arrays), ["x0", "x1", "x2"]).module
    assert ops(code)["mir.attention_backward"] == 1


def test_the_scores_are_never_stored():
    """
    Section 3.9: 2048 queries and keys, 4 heads, of which all scores in f32 would be 64 MiB.

    The output has 2 MiB, which the gradient keeps, with a number per row; beside it are the blocks of each thread.
    """
    g = rlx.Graph("f")
    g.set_outputs([g.reduce_sum(g.attention(*(g.input(n, (1, 2048, 256)) for n in "qkv"), num_heads=4))])
    assert rlx.compile(g).arena_bytes < 4 * 2**20
    assert rlx.compile(rlx.grad_with_loss(g, ["q", "k", "v"])).arena_bytes < 4 * 2**20


def test_the_backward_op_takes_what_attention_takes():
    """Section 3.9: matrices are a batch of one, in the builder's method for the cotangents too."""
    arrays = draw((4, 6), (5, 6), (5, 6), (4, 6))

    def build(m: MirBuilder, q: Value, k: Value, v: Value, dy: Value) -> Value:
        dq, dk, dv = m.attention_backward(q, k, v, dy, num_heads=2, mask_kind="causal")
        return m.concat([dq, dk, dv], 0)

    (found,) = rlx.compile(module(build, arrays))(*arrays)

    def loss(m: MirBuilder, q: Value, k: Value, v: Value, dy: Value) -> Value:
        return m.reduce_sum(m.attention(q, k, v, num_heads=2, mask_kind="causal") * dy)

    expected = rlx.compile(rlx.grad(module(loss, arrays), ["x0", "x1", "x2"]))(*arrays)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-12, atol=1e-13)


LAYER = {
    "hidden": (1, 2, 4),
    "qkv_w": (4, 12),
    "out_w": (4, 4),
    "ln1_g": (4,),
    "fc1_w": (4, 8),
    "fc2_w": (8, 4),
    "ln2_g": (4,),
    "mask": (1, 2, 2, 2),
    "qkv_b": (12,),
    "out_b": (4,),
    "ln1_b": (4,),
    "fc1_b": (8,),
    "fc2_b": (4,),
    "ln2_b": (4,),
}


def layer(biased: bool) -> tuple[rlx.Graph, dict[str, Array], list[str]]:
    """The transformer layer of the reference's tests, the values of its arguments, and its params."""
    shapes = {name: shape for name, shape in LAYER.items() if biased or not name.endswith("_b")}
    arrays = dict(zip(shapes, draw(*shapes.values()), strict=True))
    arrays["mask"] = np.broadcast_to(np.array([[True, False], [True, True]]), LAYER["mask"]).copy()
    g = rlx.Graph("layer")
    params = [name for name in shapes if name not in ("hidden", "mask")]
    given = {n: (g.param if n in params else g.input)(n, s, dtype=arrays[n].dtype) for n, s in shapes.items()}
    rest = {name: given.pop(name) for name in list(given) if name.endswith("_b")}
    y = g.fused_transformer_layer(*given.values(), num_heads=2, head_dim=2, activation="gelu", **rest)
    g.set_outputs([g.reduce_sum(y * y * y)])
    return g, arrays, params


def layer_of_jax(p: dict[str, Any]) -> Any:
    def norm(x: Any, gain: Any, offset: Any) -> Any:
        return jax.nn.standardize(x, epsilon=1e-5) * gain + offset

    q, k, v = jnp.split(p["hidden"] @ p["qkv_w"] + p.get("qkv_b", 0.0), 3, axis=-1)
    heads = [x.reshape(1, 2, 2, 2).transpose(0, 2, 1, 3) for x in (q, k, v)]
    out = attention(*heads, jnp.where(p["mask"], 0.0, -jnp.inf)).transpose(0, 2, 1, 3).reshape(1, 2, 4)
    out = out @ p["out_w"] + p.get("out_b", 0.0)
    h = norm(out + p["hidden"], p["ln1_g"], p.get("ln1_b", 0.0))
    y = jax.nn.gelu(h @ p["fc1_w"] + p.get("fc1_b", 0.0), approximate=False) @ p["fc2_w"] + p.get("fc2_b", 0.0)
    return jnp.sum(norm(y + h, p["ln2_g"], p.get("ln2_b", 0.0)) ** 3)


@pytest.mark.parametrize("biased", [True, False])
def test_a_transformer_layer_comes_apart(biased: bool):
    """W-08: with and without biases, which are operands that may be left out."""
    graph, _, _ = layer(biased)
    found = ops(rlx.prepare_for_ad(graph).module)
    assert not found["mir.fused_transformer_layer"] and not found["mir.fused_attention_block"]
    assert found["mir.matmul"] >= 4 and found["mir.narrow"] >= 3
    assert (found["mir.attention"], found["mir.layer_norm"], found["mir.gelu"]) == (1, 2, 1)


@pytest.mark.parametrize("biased", [True, False])
def test_gradients_of_all_params_of_a_transformer_layer(biased: bool):
    """W-08: of 12 params with biases and of 6 without."""
    graph, arrays, params = layer(biased)
    assert len(params) == (12 if biased else 6)
    loss, *got = rlx.compile(rlx.grad_with_loss(graph, params))(**arrays)
    expected, grads = jax.value_and_grad(lambda p: layer_of_jax({**arrays, **p}))({n: arrays[n] for n in params})
    np.testing.assert_allclose(loss, expected, rtol=1e-12)
    for name, ours in zip(params, got, strict=True):
        scale = max(1.0, float(np.abs(grads[name]).max()))
        np.testing.assert_allclose(ours, grads[name], rtol=0, atol=1e-11 * scale, err_msg=name)


@pytest.mark.parametrize("name", ["transformer_layer", "fused_transformer_layer"])
def test_the_heads_of_a_transformer_layer_are_said_by_number_or_by_width(name: str):
    """`head_dim` stands for `num_heads`, both are checked against each other, and the op keeps the number."""

    def built(**heads: int) -> tuple[int, int, object]:
        found: list[EncoderLayer] = []

        def build(m: Any) -> Any:
            params = {key: m.param(key, LAYER[key]) for key in LAYER if key not in ("hidden", "mask")}
            y = getattr(m, name)(m.input("hidden", LAYER["hidden"]), **params, activation=None, **heads)
            found.append(y.ssa.owner)
            return y

        rlx.GraphModule.define("layer", build)
        return found[0].heads.heads, found[0].heads.width, found[0].activation

    assert built(num_heads=2) == built(head_dim=2) == built(num_heads=2, head_dim=2) == (2, 2, None)
    assert built(head_dim=1) == (4, 1, None)
    with pytest.raises(rlx.GraphError, match=r"layout packed needs num_heads or head_dim; hidden has shape \[1, 2, 4]"):
        built()
    with pytest.raises(rlx.GraphError, match="has 2 heads of 2 features, expected 2 of 1"):
        built(num_heads=2, head_dim=1)
    with pytest.raises(rlx.GraphError, match="does not hold 3 heads"):
        built(num_heads=3)


@pytest.mark.parametrize("hir", [False, True], ids=["mir", "hir"])
def test_the_heads_of_a_rotation_are_said_by_number_or_by_width(hir: bool):
    """The ops keep the numbers of heads and of rotated features, whichever of them is given, in each layout."""
    shapes = {"packed": (2, 3, 12), "bshd": (2, 3, 2, 6), "bhsd": (2, 2, 3, 6)}

    def built(layout: str, **options: int) -> tuple[int, int, int]:
        found: list[Rotates] = []

        def build(m: Any) -> Any:
            table = m.input("cos", (3, 3))
            y = m.rope(m.input("x", shapes[layout]), table, table, layout=layout, **options)
            found.append(y.ssa.owner)
            return y

        if hir:
            rlx.GraphModule.define("turned", build)
        else:
            build(rlx.Graph("turned"))
        (op,) = found
        assert (type(op).name == "hir.rope") == hir
        return op.heads.heads, op.heads.width, op.n_rot.value.data

    for layout in shapes:
        assert built(layout, num_heads=2) == built(layout, head_dim=6) == (2, 6, 6)
        assert built(layout, num_heads=2, head_dim=6, n_rot=4) == (2, 6, 4)
        with pytest.raises(rlx.GraphError, match="expected an even n_rot of at most 6, got 5"):
            built(layout, head_dim=6, n_rot=5)
        with pytest.raises(rlx.GraphError, match="2 heads of 6 features, expected 2 of 5"):
            built(layout, num_heads=2, head_dim=5)
    assert built("bshd") == built("bhsd") == (2, 6, 6)
    with pytest.raises(rlx.GraphError, match=r"layout packed needs num_heads or head_dim; x has shape \[2, 3, 12]"):
        built("packed")
