"""What batching gets wrong elsewhere: W-54, W-55, W-72 and W-73 of the op sheet."""

from typing import Any

import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
SIZE = 3


def batched(graph: Any, *arrays: Array, names: tuple[str, ...]) -> tuple[Array, ...]:
    """The batched graph on arrays of which those of `names` have the new axis in front; the same by a loop."""
    arguments = [a.name for a in rlx.run_passes(graph, []).signature.arguments]
    single = rlx.run_passes(graph, []).module
    results = rlx.compile(rlx.vmap(graph, names, SIZE))(**dict(zip(arguments, arrays, strict=True)))
    examples = [[x[i] if n in names else x for n, x in zip(arguments, arrays, strict=True)] for i in range(SIZE)]
    loop = [np.stack(ys) for ys in zip(*(oracle.evaluate(single, *xs) for xs in examples), strict=True)]
    for result, expected in zip(results, loop, strict=True):
        oracle.assert_close(result, expected, 64)
    return results


def numbers(*shape: int) -> Array:
    return np.random.default_rng(list(shape)).standard_normal(shape)


@pytest.mark.parametrize("names", [("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize(("a", "b"), [((3,), (3, 3)), ((), (3, 4)), ((4,), (3, 4)), ((3, 1), (2, 1, 4))])
def test_operands_of_unequal_rank_stay_aligned_at_the_right(names: tuple[str, ...], a: Any, b: Any):
    """W-54: the batch is as large as other extents, so that a wrong alignment would broadcast."""
    g = rlx.Graph("g")
    x, y = g.input("a", a, "f64"), g.input("b", b, "f64")
    g.set_outputs([x - y, g.where(y > x, x, y)])
    arrays = [numbers(SIZE, *s) if n in names else numbers(*s) for n, s in (("a", a), ("b", b))]
    batched(g, *arrays, names=names)


@pytest.mark.parametrize("names", [("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize(("a", "b"), [((2, 4), (3, 4, 5)), ((3, 2, 4), (4, 5)), ((3, 1, 2, 4), (3, 4, 5))])
def test_products_of_unequal_batch_rank_stay_aligned(names: tuple[str, ...], a: Any, b: Any):
    """W-54."""
    g = rlx.Graph("g")
    g.set_outputs(g.input("a", a, "f64") @ g.input("b", b, "f64"))
    arrays = [numbers(SIZE, *s) if n in names else numbers(*s) for n, s in (("a", a), ("b", b))]
    batched(g, *arrays, names=names)


NEGATIVE = """
func.func @f(%x: tensor<3x4xf64> {mir.name = "x", mir.kind = "input"}, %g: tensor<4xf64> {mir.name = "g", mir.kind = "param"}) -> (RESULTS) {
  %0 = mir.softmax %x axis -1 : (tensor<3x4xf64>) -> tensor<3x4xf64>
  %1 = mir.layer_norm %x, %g, %g axis -1 eps 1.0e-5 : (tensor<3x4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<3x4xf64>
  %2 = mir.layer_norm_backward_input %x, %g, %0 axis -1 eps 1.0e-5 : (tensor<3x4xf64>, tensor<4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
  %3 = mir.layer_norm_backward_gamma %x, %0 axis -1 eps 1.0e-5 : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<4xf64>
  %4 = mir.reduce_sum %x axes [-1] : (tensor<3x4xf64>) -> tensor<3xf64>
  %5 = mir.reduce_max %x axes [-2] keep_dim : (tensor<3x4xf64>) -> tensor<1x4xf64>
  %6 = mir.narrow %x axis -2 start 1 len 2 : (tensor<3x4xf64>) -> tensor<2x4xf64>
  %7 = mir.concat %x, %0 axis -1 : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x8xf64>
  func.return %0, %1, %2, %3, %4, %5, %6, %7 : RESULTS
}
""".replace(  # noqa: E501
    "RESULTS", ", ".join(f"tensor<{s}xf64>" for s in ("3x4", "3x4", "3x4", "4", "3", "1x4", "2x4", "3x8"))
)


@pytest.mark.parametrize("names", [("x",), ("g",), ("x", "g")])
def test_an_axis_counted_from_the_back_is_the_same_axis(names: tuple[str, ...]):
    """W-55: as text has it; -1 never becomes the axis of the batch."""
    module = rlx.parse(NEGATIVE)
    arrays = [numbers(*([SIZE] * (n in names)), *s) for n, s in (("x", (3, 4)), ("g", (4,)))]
    batched(module, *arrays, names=names)


@pytest.mark.parametrize("names", [("gamma",), ("beta",), ("gamma", "beta"), ("x", "gamma", "beta"), ("x",)])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_a_gain_and_bias_for_each_example(names: tuple[str, ...], axis: int):
    """W-72."""
    shape = (3, 4, 5)
    g = rlx.Graph("g")
    x = g.input("x", shape, "f64")
    gamma, beta = (g.param(name, (shape[axis],), "f64") for name in ("gamma", "beta"))
    g.set_outputs(g.layer_norm(x, gamma, beta, axis))
    shapes = {"x": shape, "gamma": (shape[axis],), "beta": (shape[axis],)}
    batched(g, *(numbers(*([SIZE] * (n in names)), *s) for n, s in shapes.items()), names=names)


@pytest.mark.parametrize("names", [("w",), ("bias",), ("x", "bias"), ("x", "w", "bias")])
def test_weights_and_biases_for_each_example(names: tuple[str, ...]):
    """W-72, of a fused layer; a bias alone makes the result larger than the product."""
    g = rlx.Graph("g")
    shapes = {"x": (3, 4), "w": (4, 5), "bias": (5,)}
    g.set_outputs(g.fused_matmul_bias_act(*(g.param(n, s, "f64") for n, s in shapes.items()), "tanh"))
    batched(g, *(numbers(*([SIZE] * (n in names)), *s) for n, s in shapes.items()), names=names)


@pytest.mark.parametrize("names", [("table",), ("indices",), ("table", "indices")])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_tables_and_indices_for_each_example(names: tuple[str, ...], axis: int):
    """W-54 and W-72, of gather and of the scatter_add that is its gradient."""
    g = rlx.Graph("g")
    table, indices = g.input("table", (3, 4, 5), "f64"), g.input("indices", (2, 3), "i32")
    taken = g.gather(table, indices, axis)
    g.set_outputs([taken, g.scatter_add(g.tanh(taken), indices, (3, 4, 5)[axis], axis % 3)])
    at = np.random.default_rng(0).integers(0, 3, (SIZE, 2, 3)).astype(np.int32)
    whole = numbers(SIZE, 3, 4, 5)
    batched(g, whole if "table" in names else whole[0], at if "indices" in names else at[0], names=names)


@pytest.mark.parametrize("names", [("logits",), ("labels",), ("logits", "labels")])
def test_losses_for_each_example(names: tuple[str, ...]):
    """W-73: logits, labels, or both."""
    g = rlx.Graph("g")
    logits, labels = g.input("logits", (4, 5), "f64"), g.input("labels", (4,), "i32")
    g.set_outputs(g.softmax_cross_entropy_with_logits(logits, labels))
    ids = np.random.default_rng(1).integers(0, 5, (SIZE, 4)).astype(np.int32)
    scores = numbers(SIZE, 4, 5)
    batched(g, scores if "logits" in names else scores[0], ids if "labels" in names else ids[0], names=names)


def test_transforms_for_each_example():
    """W-73: of real and of complex points, along the last and another axis, and the features made of them."""
    g = rlx.Graph("g")
    x, f = g.input("x", (2, 12), "f64"), g.param("f", (3, 4), "f64")
    outputs = [g.fft(x), g.psd(x), g.irfft(g.rfft(x), 12), *g.fft_real(x, 5), g.fft_axis(g.concat([x, x], 0), 0)]
    g.set_outputs([*outputs, g.log_mel(x, f * f)])
    batched(g, numbers(SIZE, 2, 12), numbers(3, 4), names=("x",))


@pytest.mark.parametrize("names", [("x",), ("cos",), ("x", "sin"), ("x", "cos", "sin")])
def test_rotations_for_each_example(names: tuple[str, ...]):
    """W-73: tables may be batched too."""
    shapes = {"x": (2, 3, 8), "cos": (3, 2), "sin": (3, 2)}
    g = rlx.Graph("g")
    x, cos, sin = (g.input(n, s, "f64") for n, s in shapes.items())
    g.set_outputs([g.rope(x, cos, sin, num_heads=2), g.axial_rope_2d(x, 3, 1, num_heads=2)])
    batched(g, *(numbers(*([SIZE] * (n in names)), *s) for n, s in shapes.items()), names=names)


@pytest.mark.parametrize("names", [("x",), ("scale",), ("w",), ("x", "w", "scale", "zero_point")])
def test_quantised_products_for_each_example(names: tuple[str, ...]):
    """W-73: rows, weights and their scales, which lie by blocks."""
    shapes = {"x": (3, 4), "w": (4, 2), "scale": (2, 2), "zero_point": (2, 2)}
    g = rlx.Graph("g")
    x, w, *sides = (g.input(n, s, "i8" if n == "w" else "f64") for n, s in shapes.items())
    g.set_outputs(g.dequant_matmul(x, w, "int8_block_asym", *sides, block_size=2))
    arrays = {n: numbers(*([SIZE] * (n in names)), *s) for n, s in shapes.items()}
    arrays["w"] = (arrays["w"] * 50).astype(np.int8)
    batched(g, *arrays.values(), names=names)
