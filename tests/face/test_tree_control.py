"""`switch`, `remat`, `map` and `associative_scan` on trees beside those of JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from peer_rows import Family, Row

import xdsl_rlx as rlx

Make = Callable[[Any, Any], Callable[..., Any]]
"""A function of the control flow of a library and of its array functions."""

X = np.linspace(-1.0, 1.5, 15).reshape(5, 3)
W = np.linspace(0.5, 2.0, 3)


def switched(index: int) -> Make:
    def make(lax: Any, xp: Any) -> Callable[..., Any]:
        branches = [
            lambda t: {"a": xp.sin(t["x"]), "b": t["w"].sum()},
            lambda t: {"a": t["x"] * t["w"], "b": xp.prod(t["w"])},
            lambda t: (
                {"a": t["x"] ** 2, "b": xp.asarray(0.0) * t["w"][0]} if lax is jax.lax else {"a": t["x"] ** 2, "b": 0.0}
            ),
        ]
        return lambda x, w, n: lax.switch(n + index, branches, {"x": x, "w": w})

    return make


def rematerialised(lax: Any, xp: Any) -> Callable[..., Any]:
    wrap = jax.checkpoint if lax is jax.lax else rlx.remat
    inner = wrap(lambda t, scale=2.0: {"y": xp.tanh(t["x"] * t["w"]) * scale, "sizes": [t["w"].sum(), 1.5]})
    outer = wrap(lambda x, w: xp.exp(inner({"x": x, "w": w}, scale=0.5)["y"]) * w)
    return lambda x, w: (outer(x, w), inner({"x": x, "w": w})["sizes"][0])


def mapped(batch_size: int | None) -> Make:
    def make(lax: Any, xp: Any) -> Callable[..., Any]:
        def f(t: Any) -> Any:
            return {"y": xp.sin(t["x"]).sum() * t["w"], "x": t["x"] * 2}

        return lambda x, w: lax.map(f, {"x": x, "w": x @ w}, batch_size=batch_size)

    return make


def scanned(count: int, reverse: bool, axis: int) -> Make:
    """Linear recurrences, whose composition is associative but does not commute."""

    def make(lax: Any, xp: Any) -> Callable[..., Any]:
        def after(a: Any, b: Any) -> Any:
            return {"by": a["by"] * b["by"], "to": a["to"] * b["by"] + b["to"]}

        def f(x: Any, w: Any) -> Any:
            elements = (x[:count] * w).T if axis else x[:count] * w
            return lax.associative_scan(after, {"by": xp.cos(elements), "to": elements}, reverse=reverse, axis=axis)

        return f

    return make


CASES: dict[str, Make] = {
    **{f"switch {index}": switched(index) for index in (-3, 0)},
    "remat": rematerialised,
    **{f"map {size}": mapped(size) for size in (None, 2)},
    **{f"scan {count}": scanned(count, count % 2 == 0, int(count % 3 > 1)) for count in (0, 1, 4, 5)},
}
FAMILY = Family(
    [
        Row(
            name,
            make(rlx, np),
            make(jax.lax, jnp),
            [X, W, np.array(1, np.int32)] if "switch" in name else [X, W],
            (0, 1),
            # bf16 of a product of five
            half=5e-2,
        )
        for name, make in CASES.items()
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_control_flow_on_trees_is_that_of_jax(name: str) -> None:
    FAMILY.check(name)


def test_control_flow_of_arrays_is_compiled_and_run() -> None:
    np.testing.assert_array_equal(rlx.map(lambda x: x * x, np.arange(4.0)), np.arange(4.0) ** 2)
    np.testing.assert_array_equal(rlx.associative_scan(np.add, np.arange(5)), [0, 1, 3, 6, 10])
    assert rlx.switch(7, [np.sin, np.square], np.float64(3)) == 9
    assert rlx.remat(lambda x, n: x * n)(np.float64(3), n=2) == 6


def test_wrong_control_flow_is_told() -> None:
    x = np.ones(3)
    wrong: list[tuple[Callable[[Any], Any], str]] = [
        (lambda x: rlx.switch(0, [lambda: x, lambda: [x]]), r"switch: branch 0 returns a tree .*, branch 1"),
        (lambda x: rlx.switch(0, []), "switch: expected at least one branch"),
        (lambda x: rlx.map(np.sin, x, batch_size=0), "map: batch_size: expected an integer of at least 1, got 0"),
        (lambda x: rlx.map(lambda p: p[0], (x, x[:2]), 2), "map: expected arrays of one length along axis 0, got 2, 3"),
        (
            lambda x: rlx.associative_scan(lambda a, b: [a], x),
            "associative_scan: the elements are .*, but the function",
        ),
        (
            lambda x: rlx.associative_scan(lambda a, b: a[0], x),
            "associative_scan: the function returns .* for elements",
        ),
        (lambda x: rlx.associative_scan(np.add, [x, x[:2]]), "associative_scan: expected arrays of one length"),
        (lambda x: rlx.associative_scan(np.add, x, axis=1), "expected an axis 1, got a value of tensor<3xf64>"),
        (lambda x: rlx.associative_scan(np.add, []) or x, "associative_scan: expected at least one array"),
    ]
    for function, message in wrong:
        with pytest.raises(rlx.GraphError, match=message):
            rlx.trace(function, x)


STARTS = {"float": 0.5, "int": 2, "bool": True, "array": np.zeros(3), "number": np.float32(0.25), "narrow": np.int32(3)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_carry_that_begins_as_a_constant_has_the_type_of_the_body(dtype: str) -> None:
    """As in the loop of Python, but that no array of the function widens an argument; Python's integers are i64."""
    x = np.arange(1, 4).astype(dtype)

    def looped(lax: Any, x: Any, start: Any) -> list[Any]:
        if np.shape(start):
            return [lax.scan(lambda c, row: (np.tanh(c * x) + row, None), start, x)[0]]

        def inner(c: Any) -> Any:
            return lax.scan(lambda d, row: (d + row * c, None), start, x)[0]

        return [
            lax.scan(lambda c, row: (c + row, c * row), start, x)[0],
            lax.fori_loop(0, 3, lambda i, c: c + x[0] * i, start),
            lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x[c[0]]), (0, start))[1],
            lax.scan(lambda c, row: (inner(c), None), 0, x)[0],
        ]

    def loops(lax: Any, x: Any) -> list[Any]:
        return [looped(lax, x, start) for start in STARTS.values()]

    class Python:
        @staticmethod
        def scan(body: Any, init: Any, xs: Any) -> Any:
            for row in xs:
                init = body(init, row)[0]
            return init, None

        @staticmethod
        def fori_loop(lower: int, upper: int, body: Any, init: Any) -> Any:
            for i in range(lower, upper):
                init = body(i, init)
            return init

        @staticmethod
        def while_loop(test: Any, body: Any, init: Any) -> Any:
            while test(init):
                init = body(init)
            return init

    found = rlx.tree.flatten(rlx.compile(lambda x: loops(rlx, x))(x))[0]
    expected = rlx.tree.flatten(loops(Python, x))[0]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        assert one.dtype == (dtype if dtype == "float32" else np.result_type(other))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.float64(0.5), 2, np.int8(2), np.array(0.5)])
def test_a_carry_keeps_its_type_beside_a_number(dtype: str, number: Any):
    """A state that is no argument gives way to values of the body, and to nothing else: numbers do not widen it."""
    state, xs = np.zeros(3, dtype), np.ones((4, 3), dtype)

    def loop(xs: Any) -> Any:
        return rlx.scan(lambda h, x: (h * number + x, np.exp(h * number)), state, xs)

    h, ys = rlx.compile(loop)(xs)
    assert (h.dtype, ys.dtype) == (dtype, dtype)
    h, _ = rlx.compile(lambda n: (*rlx.scan(lambda h, _: (h * number, None), state, length=3), n))(1)[:2]
    assert h.dtype == dtype


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "complex64"])
@pytest.mark.parametrize("start", [0.0, 0, False])
def test_a_number_as_a_carry_takes_every_type_of_floats(dtype: str, start: Any):
    xs = np.ones(4, np.dtype(getattr(ml_dtypes, dtype, dtype)))
    h, ys = rlx.compile(lambda xs: rlx.scan(lambda h, x: (h + x, h), start, xs))(xs)
    assert (h.dtype.name, ys.dtype.name) == (dtype, dtype)
    assert h == 4


@pytest.mark.parametrize(("bounds", "name"), [((0.5, 3), "lower"), ((0, 3.0), "upper"), ((0, np.float32(3)), "upper")])
def test_a_bound_that_is_no_integer_is_an_error(bounds: tuple[Any, Any], name: str) -> None:
    with pytest.raises(
        rlx.GraphError, match=rf"fori_loop: {name}: expected an integer, got .*; convert it with int\(\)"
    ):
        rlx.fori_loop(*bounds, lambda i, x: x + i, np.ones(2))
