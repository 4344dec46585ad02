"""The gradient of many slices of one value takes work and memory in proportion to the slices, and is right."""

from typing import Any

import numpy as np
import oracle

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.sum_of_shifts import overlap

COLUMNS = 64


def of_slices(count: int, width: int) -> rlx.Graph:
    """A sum over windows of `width` rows, each scaled by a number of its own."""
    g = rlx.Graph("slices")
    x = g.input("x", (count + width - 1, COLUMNS), "f64")
    parts = [g.reduce_sum(g.sin(x[i : i + width]) * (1 + i)) for i in range(count)]
    g.set_outputs([sum(parts[1:], start=parts[0])])
    return g


def elements(graph: Any) -> int:
    """Elements of all values of a graph."""
    return sum(int(np.prod(shape_of(r))) for op in as_graph_module(graph).module.walk() for r in op.results)


def test_cotangents_of_disjoint_slices_are_one_concat() -> None:
    gradient = rlx.grad(of_slices(50, 1), "x")
    assert str(gradient).count("mir.concat") == 1
    assert elements(gradient) < 8 * 50 * COLUMNS


def test_elements_and_memory_grow_as_the_slices_do() -> None:
    for width in (1, 3):
        small, large = (rlx.grad(of_slices(count, width), "x") for count in (20, 80))
        assert elements(large) < 5 * elements(small)
        arenas = [int(str(rlx.lower(g)).split("arena_bytes = ")[1].split()[0].rstrip(",}")) for g in (small, large)]
        assert arenas[1] <= 5 * arenas[0]


def test_overlapping_slices_add_up() -> None:
    x = np.random.default_rng(0).standard_normal((22, COLUMNS))
    expected = np.zeros_like(x)
    for i in range(20):
        expected[i : i + 3] += np.cos(x[i : i + 3]) * (1 + i)
    (found,) = oracle.evaluate(as_graph_module(rlx.grad(of_slices(20, 3), "x")).module, x, np.ones(()))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_slices_of_both_axes_and_whole_uses_add_up() -> None:
    g = rlx.Graph("both")
    x = g.input("x", (4, 6), "f64")
    parts = [x[0], x[3], x[:, 2], x[:, 5], x[1, 1:3], x[0], x]
    losses = [g.reduce_sum(part * part * (i + 1.0)) for i, part in enumerate(parts)]
    g.set_outputs([sum(losses[1:], start=losses[0])])
    at = np.random.default_rng(1).standard_normal((4, 6))
    factor = np.full((4, 6), 7.0)
    for i, index in enumerate([np.s_[0], np.s_[3], np.s_[:, 2], np.s_[:, 5], np.s_[1, 1:3], np.s_[0]]):
        factor[index] += i + 1
    (found,) = oracle.evaluate(as_graph_module(rlx.grad(g, "x")).module, at, np.ones(()))
    np.testing.assert_allclose(found, 2 * at * factor, rtol=1e-13)
    (second,) = oracle.evaluate(as_graph_module(rlx.nth_order_grad(g, "x", 2)).module, at, np.ones(()), np.ones((4, 6)))
    np.testing.assert_allclose(second, 2 * factor, rtol=1e-13)


def test_sums_of_thousands_of_terms_are_differentiated_without_recursion() -> None:
    def loss(x: Any) -> Any:
        total = np.float64(0)
        for n in range(1500):
            total = total + (x[n % 7 : n % 7 + 40] * (n % 5)).sum()
        return total

    x = np.linspace(0, 1, 50)
    expected = np.zeros(50)
    for n in range(1500):
        expected[n % 7 : n % 7 + 40] += n % 5
    np.testing.assert_allclose(rlx.compile(rlx.grad(loss))(x), expected, 1e-12)


def test_a_slice_of_thousands_of_elementwise_ops_is_computed() -> None:
    def chain(x: Any) -> Any:
        for n in range(2000):
            x = x * 1.0001 if n % 2 else -x
        return x[3:10]

    x = np.linspace(0, 1, 50)
    np.testing.assert_allclose(rlx.compile(chain)(x), chain(x), 1e-10)


def test_windows_that_share_elements_are_found() -> None:
    """Those of one cell, of neighbours along each axis and across, and none that only touch."""
    places = list(np.ndindex(4, 4, 4))
    for extents in ((1, 1, 1), (2, 1, 3), (3, 3, 2)):
        for first in places[::5]:
            for second in places:
                distances = zip(first, second, extents, strict=True)
                shares = first != second and all(abs(a - b) < n for a, b, n in distances)
                assert overlap({first, second}, extents) == shares
