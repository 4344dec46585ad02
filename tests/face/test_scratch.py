"""Arguments whose memory a program may use once it has read them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
N = 96


def _layers(x: Any, p: dict[str, Any], y: Any) -> Any:
    h = np.tanh(x @ p["a"])
    return np.tanh(h @ p["b"]) @ p["a"] + y @ p["b"]


def _arguments(dtype: str) -> tuple[Array, dict[str, Array], Array]:
    rng = np.random.default_rng(0)
    x, y, a, b = ((rng.standard_normal((N, N)) / N**0.5).astype(dtype) for _ in range(4))
    return x, {"a": a, "b": b}, y


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scratch", ["x", 0, -1, ("x", "y"), ("x", "p", "y")])
def test_results_are_the_same_bits(scratch: Any, dtype: str, threads: int) -> None:
    x, p, y = _arguments(dtype)
    plain = rlx.compile(_layers, threads=threads)
    compiled = rlx.compile(_layers, scratch=scratch, threads=threads)
    expected = plain(x, p, y)
    for _ in range(2):
        found = compiled(x.copy(), {name: w.copy() for name, w in p.items()}, y.copy())
        assert np.array_equal(found, expected)


def test_the_arena_is_smaller_by_what_lies_in_an_argument() -> None:
    arguments = _arguments("float32")
    plain, compiled = rlx.compile(_layers), rlx.compile(_layers, scratch="x")
    large = plain.compiled(*arguments).arena_bytes
    assert compiled.compiled(*arguments).arena_bytes <= large - 4 * N * N
    x, p, y = arguments
    before = x.copy(), y.copy()
    compiled(x, p, y)
    assert not np.array_equal(x, before[0]) and np.array_equal(y, before[1])


def test_an_argument_that_is_returned_is_returned_as_it_was() -> None:
    def f(x: Any, y: Any) -> Any:
        return x, np.tanh(x @ y) @ y @ y

    x, p, _ = _arguments("float32")
    wanted = rlx.compile(f)(x, p["a"])
    found = rlx.compile(f, scratch=(0, 1))(x.copy(), p["a"].copy())
    assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_loops_and_branches_read_what_they_were_given() -> None:
    def f(x: Any, w: Any, n: Any) -> Any:
        h, ys = rlx.scan(lambda h, row: (np.tanh(h @ w + row), h), x[0], x)
        h = rlx.while_loop(lambda h: np.sum(h * h) < n, lambda h: h * 2 + x[1], h)
        return rlx.cond(np.sum(h) > 0, lambda: (h @ w) @ w, lambda: (h @ w.T) @ w), np.sum(ys @ w, axis=0)

    x, p, _ = _arguments("float64")
    n = np.float64(50.0)
    wanted = rlx.compile(f)(x, p["a"], n)
    found = rlx.compile(f, scratch=("x", "w"))(x.copy(), p["a"].copy(), n)
    assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rlx.compile(_layers, scratch="z"), "scratch: no argument 'z'"),
        (lambda: rlx.compile(_layers, scratch=3), "scratch: no argument 3"),
        (
            lambda: rlx.compile(_layers, scratch=1.5),
            "scratch: expected a string or an integer or a sequence of values, got 1.5",
        ),
        (lambda: rlx.compile(_layers, scratch=(True,)), "scratch: expected a string or an integer or a sequence"),
        (
            lambda: rlx.compile(lambda x: x * 2, donate="x", scratch="x")(np.ones(3)),
            '"x" of @function cannot be scratch memory: a result overwrites it',
        ),
    ],
)
def test_wrong_names_are_errors(make: Callable[[], object], message: str) -> None:
    with pytest.raises(rlx.GraphError) as caught:
        make()
    assert message in str(caught.value)


def test_overlaps_and_read_only_arrays_are_errors_and_nothing_is_written() -> None:
    x, p, y = _arguments("float32")
    compiled = rlx.compile(_layers, scratch="x")
    compiled(x.copy(), p, y)
    before = x.copy()
    with pytest.raises(rlx.ArgumentError, match="argument x is donated, but overlaps another argument: y"):
        compiled(x, p, x)
    x.flags.writeable = False
    with pytest.raises(rlx.ArgumentError, match="expected a writable array, got a read-only one"):
        compiled(x, p, y)
    assert np.array_equal(x, before)


def test_a_param_or_an_optional_input_of_a_graph_is_refused() -> None:
    g = rlx.Graph("g")
    x, w = g.input("x", (3,), "f32"), g.param("w", (3,), "f32")
    g.set_outputs([x * w])
    with pytest.raises(rlx.GraphError, match="expected an input that each call passes, got a param"):
        rlx.compile(g, scratch=["w"])
    with pytest.raises(rlx.GraphError, match="an optional input"):
        rlx.compile(rlx.grad(g, ["w"]), scratch=["d_output"])
