"""`grad(vmap(f))` is `vmap(grad(f))`, also where a branch that is not taken has no finite value or derivative."""

# Functions of values of a graph are of any type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xdsl_rlx as rlx

Function = Callable[[Any, Any], Any]

POINTS = np.array([-1.5, -1.0, -0.25, 0.0, 0.25, 0.75, 1.0, 1e200])
BATCHES = {
    "some": POINTS,
    "none takes the first": POINTS[:4],
    "all take the first": np.array([0.25, 0.5, 0.75]),
    "one": POINTS[3:4],
    "none at all": POINTS[:0],
}
WEIGHT = np.array(0.5)

SINGULAR: dict[str, Function] = {
    "sqrt": lambda x, w: np.sqrt(x) * w,
    "log": lambda x, w: np.log(x) * w,
    "reciprocal": lambda x, w: w / x,
    "power": lambda x, w: (w * x) ** 0.3,
    "power of it": lambda x, w: x ** (w + 0.1),
    "cbrt": lambda x, w: np.cbrt(x) * w,
    "xlogx": lambda x, w: x * np.log(x * w),
    "norm": lambda x, w: np.sqrt((np.stack([x, x * w]) ** 2).sum()),
    "arctan2": lambda x, w: np.arctan2(x, x * w),
    "logaddexp": lambda x, w: np.logaddexp(np.log(x), w),
}
BOUNDED: dict[str, Function] = {
    "arccos": lambda x, w: np.arccos(x) * w,
    "arcsin": lambda x, w: np.arcsin(x) * w,
    "arctanh": lambda x, w: np.arctanh(x) * w,
    "log1p": lambda x, w: np.log1p(-x * x) * w,
    "exp": lambda x, w: np.exp(x * 20) * w,
    "cube": lambda x, w: x * x * x * w,
}


def _sum(functions: dict[str, Function], x: Any, w: Any) -> Any:
    found = [function(x, w) for function in functions.values()]
    return sum(found[1:], found[0])


def _inside(x: Any) -> Any:
    return (x > 0) & (x < 1)


def conds(x: Any, w: Any) -> Any:
    """A branch for each function, so that each has a choice of its own."""
    total = w * x
    for functions, takes in ((SINGULAR, lambda x: (x > 0) & (x < 1e100)), (BOUNDED, _inside)):
        for function in functions.values():
            total = total + rlx.cond(takes(x), lambda f=function: f(x, w), lambda: 3 * x)
    return total


def turned(x: Any, w: Any) -> Any:
    """The other branch, and captured values that no lane has of its own."""
    ratio = np.sqrt(w - 0.5)
    return (
        rlx.cond(_inside(x), lambda: x * w, lambda: w)
        + rlx.cond(~_inside(x), lambda x: x * 0.5, lambda x: _sum(SINGULAR, x, w), x)
        + rlx.cond(x > 1e201, lambda: x * ratio, lambda: x)
    )


def nested(x: Any, w: Any) -> Any:
    inner = lambda x: rlx.cond(x < 1, lambda x: np.arccos(x) * w + np.sqrt(x), lambda x: 1 / x, x)  # noqa: E731
    return rlx.cond(x > 0, inner, lambda x: rlx.cond(x > -1, lambda x: np.log(x + 1) * w, lambda x: x, x), x)


def switched(x: Any, w: Any) -> Any:
    index = (x > 0).astype(np.int32) + (x >= 1).astype(np.int32)
    return x.b.switch(index, [lambda x: x * w, lambda x: np.log(x) * np.arctanh(x), lambda x: w / x], x)


def counted(x: Any, w: Any) -> Any:
    """At the last state the body has no finite derivative."""
    body = lambda c: c + 0.5 * np.sqrt(1 - c) * w + 0.25  # noqa: E731
    return rlx.while_loop(lambda c: c < 1, body, x, max_iterations=12)


def counted_in_a_branch(x: Any, w: Any) -> Any:
    """A loop that would not end for those that do not take the branch, but for its bound."""
    loop = lambda x: rlx.while_loop(lambda c: c < 1, lambda c: c + np.log(c + 1) * w, x, max_iterations=9)  # noqa: E731
    return rlx.cond(x > 0.1, loop, lambda x: x * x, x)


def in_a_scan(x: Any, w: Any) -> Any:
    def body(c: Any, step: Any) -> Any:
        after = rlx.cond(c > step, lambda: np.sqrt(c - step) * w, lambda: c * w)
        return after, after

    return rlx.scan(body, x, np.array([0.0, 0.25, 0.0]))[0]


PROGRAMS: list[Function] = [conds, turned, nested, switched, counted, counted_in_a_branch, in_a_scan]


def _close(found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def _of_type(x: NDArray[Any], dtype: type[Any]) -> NDArray[Any]:
    return np.minimum(x, 1e30).astype(dtype)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_gradient_of_a_batch_is_the_batch_of_gradients(program: Function):
    """By what each has of its own, and by what all share; tangents too, and second derivatives."""

    twice = program in (nested, counted)

    def of_batch(x: Any, w: Any) -> Any:
        return rlx.vmap(program, in_axes=(0, None))(x, w).sum()

    def by_batch(x: Any, w: Any) -> Any:
        first, second = rlx.grad(of_batch, argnums=(0, 1))(x, w)
        tangent = rlx.jvp(of_batch)((x, w), (np.ones_like(x), w))[1]
        return first, second, tangent, *([rlx.grad(lambda x: rlx.grad(of_batch)(x, w).sum())(x)] if twice else [])

    def by_one(x: Any, w: Any) -> Any:
        first, second = rlx.grad(program, argnums=(0, 1))(x, w)
        tangent = rlx.jvp(program)((x, w), (np.ones_like(x), w))[1]
        return first, second, tangent, *([rlx.grad(lambda x: rlx.grad(program)(x, w))(x)] if twice else [])

    one = rlx.compile(by_one)
    for name, batch in (
        BATCHES.items() if program is switched else list(BATCHES.items())[: 2 if program is turned else 1]
    ):
        each = [one(x, WEIGHT) for x in batch]
        if not each:
            assert [np.shape(x) for x in rlx.compile(by_batch)(batch, WEIGHT)] == [(0,), (), ()]
            continue
        first, second, tangent, *curvature = map(np.array, zip(*each, strict=True))
        assert np.isfinite(first).all(), name
        expected = first, second.sum(), tangent.sum(), *curvature
        _close(rlx.compile(by_batch)(batch, WEIGHT), expected, 1e-12)


def test_the_same_in_f32():
    batch, weight = _of_type(POINTS, np.float32), np.float32(0.5)
    of_batch = lambda x, w: rlx.vmap(nested, in_axes=(0, None))(x, w).sum()  # noqa: E731
    found = rlx.grad(of_batch, argnums=(0, 1))(batch, weight)
    each = [rlx.grad(nested, argnums=(0, 1))(x, weight) for x in batch]
    _close(found, (np.array([x for x, _ in each]), sum(w for _, w in each)), 1e-6)


def test_batches_of_batches():
    """A batch of which some take a branch among batches of which all or none do."""
    points = np.array([[-1.0, 0.0, 0.25], [-2.0, -1.0, 0.0], [0.25, 0.5, 0.75]])
    inner = lambda x, w: rlx.vmap(nested, in_axes=(0, None))(x, w).sum()  # noqa: E731
    outer = lambda x, w: rlx.vmap(inner, in_axes=(0, None))(x, w).sum()  # noqa: E731
    found = rlx.grad(outer, argnums=(0, 1))(points, WEIGHT)
    each = [rlx.grad(nested, argnums=(0, 1))(x, WEIGHT) for x in points.flat]
    _close(found, (np.array([x for x, _ in each]).reshape(3, 3), sum(w for _, w in each)), 1e-12)


def test_a_root_that_is_not_taken():
    """At 0, and below it."""
    x = np.array([-1.0, 0.0, 4.0])
    f = lambda x: rlx.cond(x > 0, np.sqrt, lambda x: 3 * x, x)  # noqa: E731
    np.testing.assert_array_equal(rlx.grad(lambda x: rlx.vmap(f)(x).sum())(x), [3, 3, 0.25])
    np.testing.assert_array_equal(rlx.vmap(rlx.grad(f))(x), [3, 3, 0.25])
