"""Equal parts of a block are grouped once, and all as the first would be in any case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block, Operation

import xdsl_rlx as rlx
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.lowering.fusion import mir_fuse
from xdsl_rlx.lowering.fusion.analysis.equal_parts import Part, equal_parts
from xdsl_rlx.lowering.pipelines import fusion_passes
from xdsl_rlx.transforms.driver import run_in_order
from xdsl_rlx.transforms.mir_donate import MirDonatePass
from xdsl_rlx.transforms.structure import structure_of_region

Waits = Mapping[Operation, Sequence[Operation]]

Left = Callable[[GraphModule], int]


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> Left:
    """Gives how many parts of a graph are grouped as another one is; fails if that makes a difference."""

    def left_out(graph: GraphModule) -> int:
        found: list[Part] = []

        def counted(block: Block, waits: Waits) -> list[list[Part]]:
            equal = equal_parts(block, waits)
            found.extend(part for _, *others in equal for part in others)
            return equal

        def none(_: Block, __: Waits) -> list[list[Part]]:
            return []

        texts: list[str] = []
        for find in (none, counted):
            monkeypatch.setattr(mir_fuse, "equal_parts", find)
            module = graph.copy()
            run_in_order(context(), module, fusion_passes(module))
            module.verify()
            texts.append(str(module))
        assert texts[0] == texts[1]
        return len(found)

    return left_out


def traced(function: Callable[..., Any], *args: Any) -> GraphModule:
    """The graph of a function."""
    return rlx.trace(function, *args)


def network(seed: int, parts: int) -> GraphModule:
    """A graph that computes the same from each of some pairs of inputs, and of one scalar and what it makes of that."""
    g = rlx.Graph("network")
    scalar = g.input("scalar", ())
    rate = g.exp(scalar) + 1.0
    outputs: list[Any] = []
    for number in range(parts):
        random = Random(seed)
        values: list[Any] = [g.input(f"{name}{number}", (4, 4)) for name in "ab"]
        for _ in range(20):
            x, y = random.choice(values[-6:]), random.choice(values)
            made = (
                lambda x, y: g.exp(x) * rate,
                lambda x, y: x + y,
                lambda x, y: g.softmax(x),
                lambda x, y: x - g.reduce_sum(y, [0], keep_dim=True),
                lambda x, y: x.T,
                lambda x, y: scalar * x,
                lambda x, y: g.matmul(x, y),
                lambda x, y: g.reduce_mean(y) * x,
            )
            values.append(random.choice(made)(x, y))
        outputs += [values[random.randrange(2, len(values))] for _ in range(3)]
    g.set_outputs(outputs)
    return GraphModule(g.module, "mir")


def kernels(graph: GraphModule) -> Counter[object]:
    """The fusions of a graph by what is in them."""
    module = graph.copy()
    run_in_order(context(), module, fusion_passes(module))
    module.verify()
    return Counter(structure_of_region(op.body) for op in module.walk() if isinstance(op, FusionOp))


@pytest.mark.sampled(most=5)
@pytest.mark.parametrize("seed", range(30))
def test_each_part_adds_the_same_kernels(seed: int) -> None:
    two, three, four = (kernels(network(seed, parts)) for parts in (2, 3, 4))
    assert four - three == three - two
    assert not three - four


@pytest.mark.sampled(most=4)
@pytest.mark.parametrize("seed", range(30))
def test_each_part_computes_what_it_does_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alone, together = rlx.compile(network(seed, 1)), rlx.compile(network(seed, 3))
    pairs = rng.standard_normal((3, 2, 4, 4)).astype(np.float32)
    names = [f"{name}{number}" for number in range(3) for name in "ab"]
    found = together(scalar=np.float32(0.3), **dict(zip(names, pairs.reshape(6, 4, 4), strict=True)))
    expected = [alone(scalar=np.float32(0.3), a0=a, b0=b) for a, b in pairs]
    for one, other in zip(found, (result for results in expected for result in results), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize("donated", [False, True])
@pytest.mark.parametrize("name", ["SGD", "AdamW", "Lion", "Adafactor", "Muon"])
def test_updates_of_leaves_of_one_shape_are_equal(name: str, donated: bool, left_out: Left) -> None:
    shapes = [(8, 8)] * 4 + [(5,)] * 3 + [(7, 9), (1,), (1,), (), ()]
    params = {f"p{number}": np.ones(shape, np.float32) for number, shape in enumerate(shapes)}
    optimiser = getattr(rlx.optim, name)(1e-3)
    graph = traced(optimiser.update, params, optimiser.init(params), params)
    if donated:
        arguments = graph.interface.arguments
        kept = [one.name for one in arguments if one.value.type in graph.interface.outputs][-len(shapes) :]
        graph = rlx.run_passes(graph, [MirDonatePass(tuple(kept), tuple(range(len(kept))))])
    # those of one element are together with others of one element
    assert left_out(graph) >= 5


def test_what_reads_the_same_values_is_one_part(left_out: Left) -> None:
    x, w = np.ones((3, 4), np.float32), np.ones((3, 4), np.float32)
    assert left_out(traced(lambda a, b, w: (np.exp(a) * w, np.exp(b) * w), x, x, w)) == 0
    assert left_out(traced(lambda a, b, v, w: (np.exp(a) * v, np.exp(b) * w), x, x, w, w)) == 1


def test_a_part_that_others_read_is_not_left_out(left_out: Left) -> None:
    x = np.ones((3, 4), np.float32)

    def scaled(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        total, other = np.sum(np.exp(a) * 2.0), np.sum(np.exp(b) * 2.0)
        return c / total, d / total, e / other, f / other

    assert left_out(traced(scaled, x, x, x, x, x, x)) == 2


def test_parts_differ_by_what_they_return_and_compute(left_out: Left) -> None:
    x, y = np.ones((3, 4), np.float32), np.ones((3, 5), np.float32)

    def inner(a: Any) -> Any:
        return np.exp(a) * 2.0

    assert left_out(traced(lambda a, b: (inner(a), np.sin(inner(a)), np.sin(inner(b))), x, x)) == 0
    assert left_out(traced(lambda a, b: (inner(a), inner(b)), x, y)) == 0
    assert left_out(traced(lambda a, b: (np.exp(a) * 2.0, np.exp(b) * 3.0), x, x)) == 0
    assert left_out(traced(lambda a, b: (inner(a), inner(b)), x, x)) == 1


@pytest.mark.parametrize("count", [2, 100])
def test_scalars_that_all_parts_read_are_computed_where_they_were(count: int, left_out: Left) -> None:
    xs = [np.ones((3, 4), np.float32) for _ in range(count)]
    rate = np.float32(0.5)
    # cheap enough to be computed again by each, too dear, and read by an op on one element as well
    assert left_out(traced(lambda r, *xs: [x * (r + 1.0) for x in xs], rate, *xs)) == count - 1
    assert left_out(traced(lambda r, *xs: [x * np.exp(np.sin(r) + 1.0) for x in xs], rate, *xs)) == count - 1
    assert left_out(traced(lambda r, *xs: [np.sum(x * (r + 1.0)) + r for x in xs], rate, *xs)) == count - 1
