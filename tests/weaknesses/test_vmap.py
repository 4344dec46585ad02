"""What batching gets wrong elsewhere: W-54, W-55 and W-72 of the op sheet."""

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
