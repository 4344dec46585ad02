"""Indices of traced values, and traced indices: what they take, and the gradient that goes back to it."""

from typing import Any

import jax
import numpy as np
import numpy_lines
import pytest

import xdsl_rlx as rlx

jax.config.update("jax_enable_x64", True)

LINES = numpy_lines.lines("""
x.b[np.arange(3), [0, 1, 2]], x.b[np.arange(3), K], x.b[np.arange(3), x.k], x.b[np.arange(3)[:, None], K]
x.b[[0, 2], 1], x.b[1, [0, 2]], x.b[x.k, 0], x.b[x.k, x.k], x.b[x.k], x.b[:, x.k], x.b[x.k[0]], x.b[x.i - 2]
x.b[x.i - 5, x.k], x.b[x.k - 3, x.k], x.c[x.k[1], :, x.k], x.b[x.i - 2 + np.arange(2)], x.b[[x.i - 3, 1]]
x.c[0, [0, 1], :], x.c[:, [0, 1], [1, 2]], x.c[[0, 1], :, [1, 2]], x.c[..., [1, 2]], x.c[0, ..., [1, 2]]
x.c[[0, 1], None, [1, 2]], x.c[None, [0, 1], [1, 2]], x.b[np.ix_([0, 2], [1, 3])], x.b[range(2)]
x.b[MASK], x.b[MASK, 1], x.b[:, np.array([True, False, True, False])], x.b[A > 0], x.b[[True, False, True]]
x.c[:, A > 0]
x.s[np.diag_indices(4)], x.s[np.triu_indices(4, 1)], x.b[np.tril_indices(3)]
x.b[::-2, ::-1], x.b[2:0:-1], x.b[10:20], x.b[()], x.r[()], x.r[None], x.r[...], x.b[[]], x.b[0, None, 1:3]
x.b[np.array(1)], x.b[(0, slice(None))], x.b[x.k.astype(np.int8)]
""")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """What all lines give."""
    return numpy_lines.compiled(LINES)


@pytest.mark.parametrize("line", LINES)
def test_an_index_takes_what_it_takes_in_numpy(line: str, compiled: dict[str, Any]):
    numpy_lines.check(line, compiled[line])


def test_an_index_of_few_bits_counts_from_the_end_of_a_long_axis():
    x, at = np.arange(300.0), np.array([-1, -128, 5], np.int8)
    np.testing.assert_array_equal(rlx.compile(lambda x, at: x[at])(x, at), x[at])


def test_what_indices_take_twice_has_both_gradients():
    x, at = numpy_lines.ARGUMENTS["b"], np.array([2, 0, 2])

    def loss(x: Any, at: Any) -> Any:
        return (x[at, [1, 1, 1]] ** 3).sum() + (x[[0, 1, 2], at] * x[1:, at][..., 0][0]).sum() + x[:, MASK, None].sum()

    np.testing.assert_allclose(rlx.grad(loss)(x, at), jax.grad(loss)(x, at), rtol=1e-12)


def test_values_of_graphs_around_meet_those_inside():
    """A gradient inside of a program, of a function that uses values of both."""
    table, at, weights = numpy_lines.ARGUMENTS["b"], numpy_lines.ARGUMENTS["k"], numpy_lines.ARGUMENTS["a"]

    def program(table: Any, weights: Any) -> Any:
        def loss(weights: Any, at: Any) -> Any:
            taken = table[at] * weights[:, 1:2] + np.take(table, at, axis=0) + table[at, at][:, None]
            kept = (
                np.where(at > 0, table[:, :3], 0)
                + np.sum(table, where=weights > 0.5)
                + (table[0, :2] + [at[0], 1]).sum()
            )
            return (taken * weights).sum() + (kept * weights[:, :3]).sum()

        return rlx.grad(loss)(weights, at)

    def loss(weights: Any) -> Any:
        taken = table[at] * weights[:, 1:2] + table[at] + table[at, at][:, None]
        kept = np.where(at > 0, table[:, :3], 0) + np.sum(table * (weights > 0.5)) + table[0, :2].sum() + at[0] + 1
        return (taken * weights).sum() + (kept * weights[:, :3]).sum()

    np.testing.assert_allclose(rlx.compile(program)(table, weights), jax.grad(loss)(weights), rtol=1e-12)


MASK = np.array([True, False, True, True])

ERRORS = {
    "x.b[x.t]": r"where\(mask, x, 0\) keeps the shape",
    "x.b[x.i - 3 : x.i - 1]": r"x\[i : i \+ n\] by a value i is x\[i \+ np\.arange\(n\)\]",
    "x.b[True]": "got True",
    "x.b[MASK, MASK]": "a mask of extent 3 cannot index an axis of extent 4",
    "x.b[[0, 1], [0, 1, 2]]": r"shapes \[2\] and \[3\] do not broadcast",
}


@pytest.mark.parametrize("line", ERRORS)
def test_what_is_no_index_is_said(line: str):
    with pytest.raises(rlx.GraphError, match=ERRORS[line]):
        rlx.trace(lambda given: numpy_lines.value(line, given), numpy_lines.ARGUMENTS)
