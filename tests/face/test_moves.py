"""NumPy's ways to move elements: values and derivatives beside NumPy's and JAX's, and what wrong calls say."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from words import Word, check_gradients, check_values

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphError

RNG = np.random.default_rng(0)
ARRAYS = {
    "x": RNG.standard_normal((3, 4, 7)),
    "v": RNG.standard_normal(6),
    "n": RNG.integers(-4, 4, (3, 2, 7)),
}


def _same(call: Callable[..., Any]) -> Word:
    """A call that graphs and NumPy both take."""
    return (call, call)


def _spread(np_: Any, x: Any) -> Any:
    spread = np_.full((3, 4, 21), 2.5) if np_ is np else jnp.full((3, 4, 21), 2.5)
    if np_ is np:
        spread[..., 1:20:3] = x
        return spread
    return spread.at[..., 1:20:3].set(x)


SLICES: list[Word] = [
    _same(lambda _, x, v, n: x[::2, ::-1, 1::3]),
    _same(lambda _, x, v, n: x[..., ::2]),
    _same(lambda _, x, v, n: x[2:0:-1, :, 6::-4]),
    _same(lambda _, x, v, n: (v[::4], v[1::2], v[5:0:-2], v[::7], v[4:1:3], v[::-1])),
    _same(lambda _, x, v, n: x[:, 3:0:-5, ::5]),
]
MOVES: list[Word] = [
    _same(lambda m, x, v, n: (m.flip(x), m.flip(x, 1), m.flip(x, (0, -1)))),
    _same(lambda m, x, v, n: m.pad(x, 1)),
    _same(lambda m, x, v, n: m.pad(x, (1, 2), constant_values=1.5)),
    _same(lambda m, x, v, n: m.pad(x, ((0, 1), (2, 0), (0, 0)))),
    (
        lambda g, x, v, n: g.pad(x, ((0, 0), (-1, 2), (1, -3))),
        lambda m, x, v, n: m.pad(x[:, 1:, :4], ((0, 0), (0, 2), (1, 0))),
    ),
    (
        lambda g, x, v, n: g.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=2.5, interior=(0, 0, 2)),
        lambda m, x, v, n: _spread(m, x),
    ),
    _same(lambda m, x, v, n: (m.stack([x, x * 2], 1), m.stack([v, v], -1))),
    _same(lambda m, x, v, n: (*m.split(x, 2, 1), *m.split(v, [1, 4]))),
    _same(lambda m, x, v, n: (m.roll(x, 2), m.roll(x, -3, 2), m.roll(x, (1, 9), (0, 1)), m.roll(x, 1, (0, 2)))),
    _same(lambda m, x, v, n: (m.tile(v, 2), m.tile(v, (2, 3)), m.tile(x, (2, 1, 3)), m.tile(x, 2))),
    _same(lambda m, x, v, n: (m.repeat(x, 2), m.repeat(x, 3, 1), m.repeat(v, np.array([0, 1, 2, 0, 3, 1]), 0))),
    _same(lambda m, x, v, n: (m.moveaxis(x, 0, -1), m.moveaxis(x, (0, 1), (2, 0)), m.swapaxes(x, 0, 2))),
    _same(lambda m, x, v, n: m.squeeze(m.expand_dims(x, (0, 2)), 2)),
    _same(lambda m, x, v, n: (m.squeeze(m.expand_dims(x, -1)), m.expand_dims(v, 1), m.broadcast_to(v, (2, 6)))),
    _same(lambda m, x, v, n: m.ravel(x)),
    (lambda g, x, v, n: g.flatten(x), lambda m, x, v, n: x.flatten()),
    (
        lambda g, x, v, n: (g.take_along_axis(x, n, 1), g.take_along_axis(x, n[:1, :1], axis=1)),
        lambda m, x, v, n: (m.take_along_axis(x, n, axis=1), m.take_along_axis(x, n[:1, :1], axis=1)),
    ),
]


def test_values_are_those_of_numpy():
    backwards = _same(lambda m, x, v, n: m.split(v, [4, 2, -1]))
    check_values([*SLICES, *MOVES, backwards], ARRAYS)


def test_derivatives_are_those_of_jax():
    check_gradients([*SLICES, *MOVES], ARRAYS, ["x", "v"], second=False)


def test_a_strided_slice_of_whole_blocks_is_a_view():
    g = rlx.Graph("strided")
    x = g.input("x", (8, 9))
    g.set_outputs([x[::2, 1::3] * 2.0])
    assert len(rlx.fusion_report(g).groups) == 1
    assert "gather" not in str(g.module)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g, x: g.pad(x, ((1, 2),) * 3), "expected a number, a pair or 2 pairs"),
        (lambda g, x: g.pad(x, -2), "removes more than the 3 elements of axis 1"),
        (lambda g, x: g.pad(x, 0, interior=-1), "expected an interior of at least 0"),
        (lambda g, x: g.stack([]), "expected at least one value"),
        (lambda g, x: g.split(x, 2, 1), "2 equal parts do not make up an axis of extent 3"),
        (lambda g, x: g.roll(x, (1, 2, 3), (0, 1)), "3 shifts for 2 axes"),
        (lambda g, x: g.tile(x, -1), "expected repetitions of at least 0"),
        (lambda g, x: g.repeat(x, [1, 2], 1), "expected one count of at least 0 or 3 of them"),
        (lambda g, x: g.moveaxis(x, (0, 1), 0), "as many distinct axes twice"),
        (lambda g, x: g.squeeze(x, 0), r"expected extent 1 at axis 0, got shape \[4, 3\]"),
        (lambda g, x: g.take_along_axis(x, x), "expected integers as indices, got an array of f32"),
    ],
)
def test_a_wrong_call_says_why(call: Callable[..., Any], message: str):
    g = rlx.Graph("wrong")
    with pytest.raises(GraphError, match=message):
        call(g, g.input("x", (4, 3)))
