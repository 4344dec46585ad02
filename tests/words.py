"""Builder methods that build existing ops, beside what they mean: a table of them, checked by one program each way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numerics import jaxpr

import xdsl_rlx as rlx

Array: TypeAlias = "np.ndarray[Any, Any]"
Word: TypeAlias = tuple[Callable[..., Any], Callable[..., Any]]
"""What is built, `(g, x, y, ..)`, and what it means, `(numpy, x, y, ..)`: NumPy and JAX are given for it."""


def built(words: Sequence[Word], arrays: Mapping[str, Array]) -> tuple[rlx.Graph, list[rlx.Value]]:
    """A graph, and all results of all words in it, in order."""
    g = rlx.Graph("words")
    xs = {name: g.input(name, array.shape, array.dtype) for name, array in arrays.items()}
    return g, [value for build, _ in words for value in flat(build(g, **xs))]


def flat(given: Any) -> list[Any]:
    """A value, or several, as a list."""
    return list(given) if isinstance(given, tuple | list) else [given]


def check_values(words: Sequence[Word], arrays: Mapping[str, Array], rtol: float = 1e-12) -> None:
    """Compiled results are those of NumPy, in shape and kind too."""
    g, values = built(words, arrays)
    g.set_outputs(values)
    found = iter(rlx.compile(g)(**arrays))
    for number, (_, meaning) in enumerate(words):
        for expected in flat(meaning(np, **arrays)):
            result = next(found)
            assert result.shape == np.shape(expected), f"word {number}"
            message = f"word {number}"
            np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol, equal_nan=True, err_msg=message)
    assert next(found, None) is None


def check_gradients(
    words: Sequence[Word], arrays: Mapping[str, Array], wrt: Sequence[str], rtol: float = 1e-9, second: bool = True
) -> None:
    """
    First and second derivatives of all results, each weighted, are those of JAX.

    The second ones are those of the product of the gradient with a vector.
    """
    rng = np.random.default_rng(5)
    shapes = [np.shape(e) for _, meaning in words for e in flat(meaning(np, **arrays))]
    weights = [rng.standard_normal(shape) for shape in shapes]

    def program() -> rlx.Graph:
        g, values = built(words, arrays)
        total = g.constant(0.0, "f64")
        for value, weight in zip(values, weights, strict=True):
            total = total + g.reduce_sum(g.sin(value) * g.constant(weight))
        g.set_outputs(total)
        return g

    def loss(*given: Any) -> Any:
        named = dict(zip(wrt, given, strict=True))
        values = [e for _, meaning in words for e in flat(meaning(jnp, **{**arrays, **named}))]
        return sum(jnp.sum(jnp.sin(v) * w) for v, w in zip(values, weights, strict=True))

    given = [arrays[name] for name in wrt]
    slopes = jax.grad(loss, tuple(range(len(wrt))))
    found = rlx.compile(rlx.grad(program(), list(wrt)))(**arrays)
    for name, result, expected in zip(wrt, found, jaxpr.evaluate(slopes, *given), strict=True):
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol, err_msg=f"gradient by {name}")
    if not second:
        return
    directions = [rng.standard_normal(array.shape) for array in given]
    curves = jaxpr.evaluate(lambda xs, ts: jax.jvp(slopes, tuple(xs), tuple(ts))[1], given, directions)
    tangents = {f"tangent_{name}": direction for name, direction in zip(wrt, directions, strict=True)}
    found = rlx.compile(rlx.hvp(program(), list(wrt)))(**arrays, **tangents)
    for name, result, expected in zip(wrt, found[-len(wrt) :], curves, strict=True):
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol, err_msg=f"second by {name}")
