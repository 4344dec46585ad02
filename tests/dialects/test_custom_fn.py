"""What `custom_fn` takes, and what is said of what it does not, where it is built and where it is differentiated."""

from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
from wrong_bodies import assert_refused

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp


def test_one_value_or_a_tuple_comes_back_as_it_was_returned() -> None:
    g = rlx.Graph("g")
    x = g.input("x", (3,))
    assert isinstance(g.custom_fn(lambda a: a * a, x), rlx.Value)
    one = g.custom_fn(lambda a: (a * a,), x)
    assert isinstance(one, tuple) and len(one) == 1
    assert g.custom_fn(lambda: ()) == ()


def test_bodies_capture_alike_and_each_value_once() -> None:
    g = rlx.Graph("g")
    x, w, v = (g.input(name, (3,)) for name in "xwv")
    g.set_outputs(g.custom_fn(lambda a: a * w, x, vjp=lambda a, y, d: d * w * v, jvp=lambda a, t: t * v))
    (op,) = [op for op in g.module.walk() if isinstance(op, CustomFnOp)]
    assert list(op.inputs) == [x.ssa] and list(op.captured) == [w.ssa, v.ssa]
    assert op.vjp and op.jvp
    assert [len(region.block.args) for region in (op.forward, op.vjp, op.jvp)] == [3, 5, 4]


def test_a_function_may_return_what_is_around_it_or_what_it_takes() -> None:
    g = rlx.Graph("g")
    x, w = g.input("x", (3,), "f64"), g.input("w", (3,), "f64")
    g.set_outputs(g.custom_fn(lambda a: (a, w, a), x, jvp=lambda a, t: (t, t, t)))
    found = oracle.evaluate(g.module, [1, 2, 3], [4, 5, 6])
    np.testing.assert_array_equal(found, [[1, 2, 3], [4, 5, 6], [1, 2, 3]])
    forward = rlx.jvp(g, ["x"])
    assert [list(t) for t in oracle.evaluate(forward.module, [1, 2, 3], [4, 5, 6], [7, 8, 9])[3:]] == 3 * [[7, 8, 9]]
    np.testing.assert_array_equal(oracle.evaluate(rlx.grad(g, ["x"]).module, [0] * 3, [0] * 3, [7, 8, 9])[0], [7, 8, 9])


def foreign() -> Any:
    return rlx.Graph("b").input("y", (3,))


def kept(g: rlx.Graph) -> Callable[..., Any]:
    """A function that returns what it built the first time."""
    found: list[Any] = []

    def function(a: Any, *_: Any) -> Any:
        found.append(g.sin(a))
        return found[0]

    return function


WRONG: dict[str, tuple[Callable[[rlx.Graph, Any], object], str]] = {
    "no function": (
        lambda g, x: g.custom_fn(x, x),
        "custom_fn: fn: expected a function, got an object of type Value",
    ),
    "no vjp": (
        lambda g, x: g.custom_fn(lambda a: a, x, vjp=3),  # pyright: ignore
        "custom_fn: vjp: expected a function or None, got 3",
    ),
    "no jvp": (
        lambda g, x: g.custom_fn(lambda a: a, x, jvp="t"),  # pyright: ignore
        "custom_fn: jvp: expected a function or None, got 't'",
    ),
    "a cotangent of an integer": (
        lambda g, x: g.custom_fn(lambda n: n, g.cast(x, "i32"), vjp=lambda n, y, d: d),
        "custom_fn: the vjp is called with 2 values, which it does not take; only floating-point operands and results "
        "have tangents and cotangents",
    ),
    "nothing": (lambda g, x: g.custom_fn(lambda a: None, x), "expected a value, a number or an array, got NoneType"),
    "no cotangent": (
        lambda g, x: g.custom_fn(lambda a: a, x, vjp=lambda a, y, d: None),
        "custom_fn: the vjp: expected a value, a number or an array, got NoneType",
    ),
    "cotangents": (
        lambda g, x: g.custom_fn(lambda a, b: a, x, x, vjp=lambda a, b, y, d: d),
        "custom_fn: the vjp returns 1 values for 2 floating-point operands",
    ),
    "cotangents of integers": (
        lambda g, x: g.custom_fn(lambda a, n: a, x, g.cast(x, "i32"), vjp=lambda a, n, y, d: (d, n)),
        "custom_fn: the vjp returns 2 values for 1 floating-point operands",
    ),
    "tangents": (
        lambda g, x: g.custom_fn(lambda a: (a, a), x, jvp=lambda a, t: t),
        "custom_fn: the jvp returns 1 values for 2 floating-point results",
    ),
    "shape of a cotangent": (
        lambda g, x: g.custom_fn(lambda a: a, x, vjp=lambda a, y, d: g.reduce_sum(d)),
        "custom_fn: value 0 that the vjp returns is tensor<f32>, expected tensor<3xf32>, as that of the floating-point "
        "operands",
    ),
    "type of a tangent": (
        lambda g, x: g.custom_fn(lambda a: a, x, jvp=lambda a, t: g.cast(t, "f64")),
        "custom_fn: value 0 that the jvp returns is tensor<3xf64>, expected tensor<3xf32>, as that of the "
        "floating-point results",
    ),
    "foreign": (lambda g, x: g.custom_fn(lambda a: a + foreign(), x), "a value of graph 'b' is used in graph 'wrong'"),
    "foreign cotangent": (
        lambda g, x: g.custom_fn(lambda a: a, x, vjp=lambda a, y, d: foreign()),
        "custom_fn: the vjp: a value of graph 'b' is used in graph 'wrong'",
    ),
    "of another body": (
        lambda g, x: g.custom_fn(f := kept(g), x, vjp=f),
        "custom_fn: a body uses a value of another body; compute it outside of both",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_our_error_and_leaves_the_graph_as_it_was(name: str) -> None:
    assert_refused(*WRONG[name])


def test_a_rule_with_other_arguments_leaves_nothing_behind() -> None:
    g = rlx.Graph("g")
    x, w = g.input("x", (3,)), g.input("w", (3,))
    with pytest.raises(rlx.GraphError, match="the vjp is called with 3 values, which it does not take"):
        g.custom_fn(lambda a: a * w, x, vjp=lambda d: d)
    assert x.ssa.first_use is None and w.ssa.first_use is None


def captured(rule: str) -> rlx.Graph:
    """A function that uses w from outside, with one rule."""
    g = rlx.Graph("g")
    x, w = g.param("x", (3,), "f64"), g.param("w", (3,), "f64")
    rules = {"vjp": lambda a, y, d: d * w, "jvp": lambda a, t: t * w}
    g.set_outputs(g.reduce_sum(g.custom_fn(lambda a: a * w, x, **{rule: rules[rule]})))
    return g


REFUSED = (
    r"mir.custom_fn at loc\(.*test_custom_fn.py.*\): its derivative rules do not cover a captured value "
    r"\(%w, tensor<3xf64>\): pass it as an operand, or apply stop_gradient to it first"
)


@pytest.mark.parametrize(
    ("rule", "differentiate"),
    [
        ("vjp", lambda g: rlx.grad(g, ["w"])),
        ("jvp", lambda g: rlx.grad(g, ["x", "w"])),
        ("vjp", lambda g: rlx.jvp(g, ["w"])),
        ("jvp", lambda g: rlx.jvp(g, ["w"])),
        ("vjp", lambda g: rlx.grad(rlx.vmap(g, ["x"], 2), ["w"])),
    ],
    ids=["vjp backwards", "jvp backwards", "vjp forwards", "jvp forwards", "of a batch"],
)
def test_what_a_rule_does_not_see_is_not_differentiated(rule: str, differentiate: Callable[..., Any]) -> None:
    with pytest.raises(rlx.GraphError, match=REFUSED):
        _ = differentiate(captured(rule)).module


@pytest.mark.parametrize("rule", ["vjp", "jvp"])
def test_what_is_around_a_rule_may_be_used_where_it_is_not_differentiated(rule: str) -> None:
    (dx,) = oracle.evaluate(rlx.grad(captured(rule), ["x"]).module, [1, 2, 3], [4, 5, 6], 1)
    np.testing.assert_array_equal(dx, [4, 5, 6])
    batch = rlx.vmap(rlx.grad(captured(rule), ["x"]), ["w"], 2)
    (dx,) = oracle.evaluate(batch.module, [1, 2, 3], [[4, 5, 6], [7, 8, 9]], 1)
    np.testing.assert_array_equal(dx, [[4, 5, 6], [7, 8, 9]])
    of_batch = rlx.grad(rlx.vmap(captured(rule), ["w"], 2), ["x"])
    (dx,) = oracle.evaluate(of_batch.module, [1, 2, 3], [[4, 5, 6], [7, 8, 9]], [1, 10])
    np.testing.assert_array_equal(dx, [74, 85, 96])


def test_a_stopped_gradient_is_used_from_around() -> None:
    g = rlx.Graph("g")
    x, w = g.param("x", (3,), "f64"), g.param("w", (3,), "f64")
    stopped = g.stop_gradient(w)
    g.set_outputs(g.reduce_sum(g.custom_fn(lambda a: a * stopped, x, vjp=lambda a, y, d: d * stopped) * w))
    dx, dw = oracle.evaluate(rlx.grad(g, ["x", "w"]).module, [1, 2, 3], [4, 5, 6], 1)
    np.testing.assert_array_equal([dx, dw], [[16, 25, 36], [4, 10, 18]])


def test_a_body_around_a_rule_is_differentiated_with_respect_to_all_that_it_uses() -> None:
    """So a rule in a scan refuses what the scan uses from outside, and each of the cures is one."""

    def in_a_scan(kind: str) -> rlx.Graph:
        g = rlx.Graph("g")
        x, w = g.param("x", (2,), "f64"), g.input("w", (2,), "f64")

        def body(c: Any, _: None) -> Any:
            if kind == "operand":
                return g.custom_fn(
                    lambda a, b: a * b, c, w, vjp=lambda a, b, y, d: (d * b * 2.0, g.zeros_like(b))
                ), None
            v = g.stop_gradient(w) if kind == "stopped" else w
            return g.custom_fn(lambda a: a * v, c, vjp=lambda a, y, d: d * v * 2.0), None

        g.set_outputs(g.scan(body, x, None, length=3)[0])
        return g

    with pytest.raises(
        rlx.GraphError, match=r"mir.custom_fn at .*: its derivative rules do not cover a captured value"
    ):
        _ = rlx.grad(in_a_scan("captured"), ["x"]).module
    for kind in ("operand", "stopped"):
        (dx,) = oracle.evaluate(rlx.grad(in_a_scan(kind), ["x"]).module, [1, 2], [3, 5], [1, 1])
        np.testing.assert_array_equal(dx, [6**3, 10**3])


def test_a_function_with_a_linear_vjp_only_has_forward_mode() -> None:
    """W-06: the transpose, not the derivative of the function, which may be another."""
    g = rlx.Graph("g")
    x = g.param("x", (3,), "f64")
    y = g.custom_fn(lambda a: a * a, x, vjp=lambda a, y, d: g.reduce_sum(a * d) + y * d)
    g.set_outputs(g.reduce_sum(y * y))
    _, along = oracle.evaluate(rlx.jvp(g, ["x"]).module, [1, 2, 3], [1, 1, 1])
    np.testing.assert_allclose(along, 2 * (1 * (1 * 3 + 1) + 4 * (2 * 3 + 4) + 9 * (3 * 3 + 9)))


def test_a_function_with_a_vjp_only_that_is_not_linear_has_no_forward_mode() -> None:
    g = rlx.Graph("g")
    x = g.param("x", (3,))
    y = g.custom_fn(lambda a: a * a, x, vjp=lambda a, y, d: g.sin(d))
    g.set_outputs(g.reduce_sum(y * y))
    message = (
        r"mir.custom_fn at loc\(.*test_custom_fn.py.*\) has no jvp, and its vjp is not linear in the cotangents: "
        r"forward mode \(rlx.jvp, rlx.hvp, rlx.jacfwd\) needs a jvp; define one, or use reverse mode"
    )
    for transform in (rlx.jvp, rlx.hvp):
        with pytest.raises(rlx.GraphError, match=message):
            _ = transform(g, ["x"]).module


def test_a_function_with_a_jvp_only_has_reverse_mode() -> None:
    """W-06: the transpose."""
    g = rlx.Graph("g")
    x = g.param("x", (3,), "f64")
    g.set_outputs(g.reduce_sum(g.custom_fn(lambda a: a * a, x, jvp=lambda a, t: g.reduce_sum(a * t) + 0.0 * a)))
    (dx,) = oracle.evaluate(rlx.grad(g, ["x"]).module, [1, 2, 3], 1)
    np.testing.assert_array_equal(dx, [3, 6, 9])
