"""What the methods of regions take, and what is said of what they do not."""

from collections.abc import Callable
from typing import Any

import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp


def test_what_a_body_uses_from_around_is_an_operand() -> None:
    g = rlx.Graph("g")
    x, y, s = g.input("x", (1, 3)), g.input("y", (1, 3)), g.input("s", (3,))
    g.set_outputs(
        [g.elementwise_region(lambda a: a * s + s, x), g.batch_elementwise_region(lambda a: a * s, [x, y, x])]
    )
    (one,) = [op for op in g.module.walk() if isinstance(op, ElementwiseRegionOp)]
    (many,) = [op for op in g.module.walk() if isinstance(op, BatchElementwiseRegionOp)]
    assert list(one.inputs) == [x.ssa, s.ssa]
    assert (list(many.inputs), list(many.captured)) == ([x.ssa, y.ssa, x.ssa], [s.ssa])


ONLY = "expected unary, binary, compare, where and cast ops in the body"

WRONG: dict[str, tuple[Callable[[rlx.Graph, Any, Any], object], str]] = {
    "no function": (
        lambda g, x, i: g.elementwise_region(x, x),
        "elementwise_region: fn: expected a function, got an object of type Value",
    ),
    "a tuple": (
        lambda g, x, i: g.elementwise_region(lambda a: (a, a), x),
        "elementwise_region: the body returns a tuple of 2, expected one value",
    ),
    "nothing": (
        lambda g, x, i: g.elementwise_region(lambda a: None, x),
        "elementwise_region: the body: expected a value, a number or an array, got NoneType",
    ),
    "a reduction": (
        lambda g, x, i: g.elementwise_region(g.reduce_sum, x),
        f"elementwise_region: {ONLY}, got mir.reduce_sum",
    ),
    "a table": (
        lambda g, x, i: g.elementwise_region(lambda a: a + g.constant([[1.0, 2.0, 3.0]]), x),
        r"elementwise_region: expected rank-0 constants in the body, got shape \[1, 3\]",
    ),
    "another graph": (
        lambda g, x, i: g.elementwise_region(lambda a: a + rlx.Graph("b").input("y", (3,)), x),
        "a value of graph 'b' is used in graph 'wrong'",
    ),
    "a region": (
        lambda g, x, i: g.elementwise_region(lambda a: g.remat(lambda: a), x),
        f"elementwise_region: {ONLY}, got mir.remat",
    ),
    "no chain": (
        lambda g, x, i: g.transform_region(g.relu, i),
        "transform_region: expected only mir.resize_nearest_2x in the body, got mir.relu",
    ),
    "from around": (
        lambda g, x, i: g.transform_region(lambda a: g.resize_nearest_2x(i), i),
        "transform_region: expected a chain: mir.resize_nearest_2x does not use the result of the previous op",
    ),
    "no end": (
        lambda g, x, i: g.transform_region(lambda a: (g.resize_nearest_2x(a), a)[1], i),
        "transform_region: expected a body that yields the end of its chain",
    ),
    "no images": (lambda g, x, i: g.transform_region(g.resize_nearest_2x, x), "expected images of shape"),
    "no inputs": (
        lambda g, x, i: g.batch_elementwise_region(g.relu, []),
        "batch_elementwise_region: expected at least one input",
    ),
    "inputs": (
        lambda g, x, i: g.batch_elementwise_region(g.relu, [x, i]),
        "batch_elementwise_region: input 0 is tensor<1x3xf32>, input 1 tensor<1x2x2x2xf32>: expected one type",
    ),
    "a scalar": (
        lambda g, x, i: g.batch_elementwise_region(g.relu, [x[0, 0]]),
        "batch_elementwise_region: the body yields tensor<f32>: expected a result of rank at least 1",
    ),
    "a softmax": (
        lambda g, x, i: g.batch_elementwise_region(g.softmax, [x]),
        f"batch_elementwise_region: {ONLY}, got mir.softmax",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_region_is_our_error_and_leaves_the_graph_as_it_was(name: str) -> None:
    g = rlx.Graph("wrong")
    x, images = g.input("x", (1, 3)), g.input("i", (1, 2, 2, 2))
    wrong, message = WRONG[name]
    with pytest.raises(rlx.GraphError, match=message):
        wrong(g, x, images)
    g.set_outputs([x, images])
    assert not any(isinstance(op, BodyOp) for op in g.module.walk())
