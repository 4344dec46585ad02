"""What `cond`, `switch`, `while_loop` and `remat` take, and what is said of what they do not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
from wrong_bodies import assert_refused

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.branch import IfOp, WhileOp

Array = np.ndarray[Any, Any]


def made(build: Callable[[rlx.Graph, Any, Any], Any], k: Any, dtype: str = "i32") -> list[Array]:
    """What is built of x = [1, 2, 3] and an array k, by the interpreter."""
    g = rlx.Graph("g")
    g.set_outputs(build(g, g.input("x", (3,), "f64"), g.input("k", np.shape(k), dtype)))
    return oracle.evaluate(g.module, np.arange(1.0, 4.0), k)


@pytest.mark.parametrize(
    ("k", "dtype", "taken"),
    [(0, "i32", 2), (3, "i32", 1), ([[1]], "u8", 1), (0.0, "f32", 2), (float("nan"), "f64", 1), ([True], "i1", 1)],
)
def test_a_predicate_is_one_truth_value_or_a_number_that_is_not_zero(k: Any, dtype: str, taken: int) -> None:
    (found,) = made(lambda g, x, k: g.cond(k, lambda: g.full((), 1, "i32"), lambda: g.full((), 2, "i32")), k, dtype)
    assert found == taken


def test_a_predicate_may_be_known() -> None:
    (found,) = made(lambda g, x, k: g.cond(np.bool_(False), lambda: x, lambda: x * 2.0), 0)
    np.testing.assert_array_equal(found, [2, 4, 6])
    (found,) = made(lambda g, x, k: g.switch(1, [lambda: x, lambda: x * 3.0]), 0)
    np.testing.assert_array_equal(found, [3, 6, 9])


@pytest.mark.parametrize(("k", "dtype"), [(-5, "i8"), (0, "i64"), (1, "u32"), (2, "i16"), ([3], "i32"), (2**40, "i64")])
def test_an_index_past_either_end_is_that_end(k: Any, dtype: str) -> None:
    (found,) = made(lambda g, x, k: g.switch(k, [lambda n=n: g.full((), n, "i32") for n in range(3)]), k, dtype)
    assert found == np.clip(k, 0, 2)


def test_a_binary_search_finds_each_of_many_branches() -> None:
    g = rlx.Graph("g")
    g.set_outputs(g.switch(g.input("k", (), "i8"), [lambda n=n: g.full((), n, "i32") for n in range(200)]))
    module = rlx.run_passes(g, "mir-inline-if").module
    for k in (-128, -1, 0, 1, 63, 100, 127):
        assert oracle.evaluate(module, k) == [max(k, 0)]


def test_one_value_or_a_tuple_comes_back_as_it_was_returned() -> None:
    g = rlx.Graph("g")
    x = g.input("x", (3,))
    assert isinstance(g.remat(lambda: x * x), rlx.Value)
    one = g.cond(True, lambda: (x,), lambda: [x * 2.0])
    assert isinstance(one, tuple) and len(one) == 1
    assert g.cond(True, lambda: (), lambda: ()) == ()
    carry, trips = g.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1,), (g.full((), 0, "i32"),), return_trips=True)
    assert isinstance(carry, tuple) and trips.dtype == "i32"


def test_a_number_takes_the_element_type_of_what_the_other_branch_returns() -> None:
    g = rlx.Graph("g")
    x = g.input("x", (), "f16")
    assert g.cond(True, lambda: 1, lambda: x).dtype == g.cond(True, lambda: x, lambda: 1).dtype == "f16"
    assert g.while_loop(lambda c: c < 3, lambda c: 4, x).dtype == "f16"


def test_a_loop_stops_at_its_bound() -> None:
    def build(g: rlx.Graph, x: Any, k: Any) -> Any:
        y, trips = g.while_loop(lambda c: True, lambda c: c * 2.0, x, max_iterations=5, return_trips=True)
        return [y, trips]

    y, trips = made(build, 0)
    np.testing.assert_array_equal(y, [32, 64, 96])
    assert trips == 5 and trips.dtype == np.int32


def test_bodies_capture_a_value_once_and_nothing_that_they_do_not_use() -> None:
    g = rlx.Graph("g")
    x, y = g.input("x", (3,)), g.input("y", (3,))
    g.set_outputs(g.cond(True, lambda a, b: a * x, lambda a, b: a + x, x, y))
    (branch,) = [op for op in g.module.walk() if isinstance(op, IfOp)]
    assert list(branch.captured) == [x.ssa]


def foreign(g: rlx.Graph) -> Any:
    return rlx.Graph("b").input("y", (3,))


def kept(g: rlx.Graph, x: Any) -> Callable[[], Any]:
    """A function that returns what it built the first time."""
    found: list[Any] = []

    def function() -> Any:
        found.append(g.sin(x))
        return found[0]

    return function


WRONG: dict[str, tuple[Callable[[rlx.Graph, Any], object], str]] = {
    "predicate of many": (lambda g, x: g.cond(x, lambda: x, lambda: x), "cond: expected one truth value or real"),
    "complex predicate": (
        lambda g, x: g.cond(g.complex(x[0], 1.0), lambda: x, lambda: x),
        "cond: expected one truth value or real number, got tensor<complex<f32>>",
    ),
    "no predicate": (lambda g, x: g.cond(None, lambda: x, lambda: x), "cond: pred: expected"),  # pyright: ignore
    "no function": (
        lambda g, x: g.cond(True, x, lambda: x),
        "cond: then: expected a function, got an object of type Value",
    ),
    "types": (
        lambda g, x: g.cond(True, lambda: x, lambda: g.cast(x, "f64")),
        "cond: result 0 of the first branch is tensor<3xf32>, but of the other branch it is tensor<3xf64>",
    ),
    "shapes": (lambda g, x: g.cond(True, lambda: (x, x), lambda: (x, x[0])), "cond: result 1 of the first branch is"),
    "a number for a vector": (
        lambda g, x: g.cond(True, lambda: x, lambda: 0.0),
        "but of the other branch it is tensor<f",
    ),
    "counts": (
        lambda g, x: g.cond(True, lambda: (x, x), lambda: (x,)),
        "cond: the first branch returns a tuple of 2, the other branch returns a tuple of 1",
    ),
    "structure": (
        lambda g, x: g.cond(True, lambda: (x,), lambda: x),
        "the first branch returns a tuple of 1, the other branch returns one value",
    ),
    "nothing": (
        lambda g, x: g.cond(True, lambda: x, lambda: None),
        "cond: the other branch: expected a value, a number or an array, got NoneType",
    ),
    "foreign": (
        lambda g, x: g.cond(True, lambda: x, lambda: x + foreign(g)),
        "a value of graph 'b' is used in graph 'wrong'",
    ),
    "foreign result": (lambda g, x: g.remat(lambda: foreign(g)), "remat: the body: a value of graph 'b' is used in"),
    "foreign operand": (lambda g, x: g.remat(lambda a: a, foreign(g)), "a value of graph 'b' is used in graph 'wrong'"),
    "of the other branch": (
        lambda g, x: g.cond(True, f := kept(g, x), f),
        "cond: a body uses a value of another body; compute it outside of both",
    ),
    "no branches": (lambda g, x: g.switch(0, []), "switch: expected at least one branch"),
    "a function": (lambda g, x: g.switch(0, lambda: x), "switch: branches: expected a sequence of functions, got"),  # pyright: ignore
    "a branch": (
        lambda g, x: g.switch(0, [lambda: x, x]),
        "switch: .* functions, got .*, whose element 1 is an object of type Value",
    ),
    "index": (lambda g, x: g.switch(x[0], [lambda: x]), "switch: expected an index that is one integer, got tensor<f"),
    "truth": (lambda g, x: g.switch(x[0] > 0, [lambda: x]), "switch: expected an index that is one integer, got"),
    "branches": (
        lambda g, x: g.switch(0, [lambda: x, lambda: x, lambda: (x, x)]),
        "switch: branch 0 returns one value, branch 1 returns one value, branch 2 returns a tuple of 2",
    ),
    "condition": (
        lambda g, x: g.while_loop(lambda c: c, lambda c: c, x),
        "while_loop: the condition: expected one tru",
    ),
    "no condition": (
        lambda g, x: g.while_loop(True, lambda c: c, x),  # pyright: ignore
        "while_loop: cond: expected a function, got True",
    ),
    "no body": (lambda g, x: g.while_loop(lambda c: True, x, x), "while_loop: body: expected a function"),
    "carry": (
        lambda g, x: g.while_loop(lambda c: True, lambda c: (c[0], c[1] > 0), (x, x)),
        "while_loop: expected carry 1 of the body as in init, tensor<3xf32>, got tensor<3xi1>",
    ),
    "carries": (
        lambda g, x: g.while_loop(lambda c: True, lambda c: c[0], (x, x)),
        "while_loop: expected the body to return 2 carries, as in init, got 1",
    ),
    "bound": (
        lambda g, x: g.while_loop(lambda c: True, lambda c: c, x, max_iterations=-1),
        "while_loop: expected max_iterations from 0 to 2147483647, got -1",
    ),
    "large bound": (
        lambda g, x: g.while_loop(lambda c: True, lambda c: c, x, max_iterations=1 << 31),
        "while_loop: expected max_iterations from 0 to 2147483647, got 2147483648",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_body_is_our_error_and_leaves_the_graph_as_it_was(name: str) -> None:
    assert_refused(*WRONG[name])


def test_an_error_in_a_second_body_leaves_no_use_of_what_is_around_it() -> None:
    g = rlx.Graph("g")
    x, w = g.input("x", (3,)), g.input("w", (3,))

    def fails(*_: Any) -> Any:
        _ = x * w
        raise ValueError("of the caller's")

    for call in (
        lambda: g.cond(True, lambda: x + w, fails),
        lambda: g.while_loop(lambda c: g.reduce_sum(c * w) > 0, fails, x),
    ):
        with pytest.raises(ValueError, match="of the caller's"):
            call()
        assert x.ssa.first_use is None and w.ssa.first_use is None
    g.set_outputs(x + w)
    assert not any(isinstance(op, BodyOp) for op in g.module.walk())


def test_a_value_of_a_body_is_not_used_outside() -> None:
    g = rlx.Graph("g")
    x = g.input("x", (3,))
    inside: list[Any] = []
    for build in (
        lambda: g.cond(True, lambda: inside.append(g.sin(x)) or x, lambda: x),
        lambda: g.scan(lambda c, e: (inside.append(c) or c, None), x, length=3),
        lambda: g.while_loop(lambda c: inside.append(c) or True, lambda c: c, x),
    ):
        build()
        with pytest.raises(rlx.GraphError, match=r"a value of the body of mir\.\w+ is used outside of it; return it"):
            g.cos(inside[-1])


def test_a_loop_without_a_bound_has_no_gradient_in_reverse_mode() -> None:
    g = rlx.Graph("g")
    x = g.param("x", ())
    g.set_outputs(g.while_loop(lambda c: c < 10.0, lambda c: c * c, x))
    message = (
        r"mir.while at loc\(.*test_branch.py.*\): a while loop without a bound has no gradient in reverse mode: set"
    )
    with pytest.raises(rlx.GraphError, match=message):
        _ = rlx.grad(g, ["x"]).module
    value, tangent = oracle.evaluate(rlx.jvp(g, ["x"]).module, 1.5, 1.0)
    np.testing.assert_allclose([value, tangent], [1.5**8, 8 * 1.5**7], rtol=1e-6)


def test_a_loop_without_a_bound_may_stand_beside_a_gradient() -> None:
    """Numbers that are not differentiated, and what a gradient is stopped in front of."""
    g = rlx.Graph("g")
    x, k = g.param("x", (), "f64"), g.input("k", (), "f64")
    n = g.while_loop(lambda c: c < k, lambda c: c * 2.0, g.stop_gradient(x))
    g.set_outputs(x * n)
    loss, dx = oracle.evaluate(rlx.grad_with_loss(g, ["x"]).module, 1.5, 10.0, 1.0)
    np.testing.assert_allclose([loss, dx], [18, 12])


def test_a_loop_with_a_bound_stays_one_where_no_gradient_flows() -> None:
    g = rlx.Graph("g")
    x, k = g.param("x", (), "f64"), g.input("k", (), "i32")
    n = g.while_loop(lambda c: c < k, lambda c: c * 2, g.full((), 1, "i32"), max_iterations=9)
    g.set_outputs(x * g.cast(n, "f64"))
    module = rlx.grad(g, ["x"]).module
    assert sum(isinstance(op, WhileOp) for op in module.walk()) == 1
    assert oracle.evaluate(module, 2.0, 10, 1.0) == [16.0]


def test_forward_mode_leaves_a_loop_with_a_bound_as_it_is() -> None:
    g = rlx.Graph("g")
    x = g.param("x", (3,), "f64")
    g.set_outputs(g.while_loop(lambda c: g.reduce_sum(c) < 10.0, lambda c: c * c, x, max_iterations=3))
    for made in (rlx.jvp(g, ["x"]), rlx.jacfwd(g, "x")):
        assert [op.most for op in made.module.walk() if isinstance(op, WhileOp)] == [3]
    (jacobian,) = oracle.evaluate(made.module, [1.0, 2.0, 0.5])
    np.testing.assert_allclose(jacobian, np.diag([2.0, 2.0 * 2.0, 2.0 * 0.5]) @ np.diag([2, 8, 0.5]), rtol=1e-12)


FOREIGN = """
func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"},
             %p: tensor<i1> {mir.name = "p", mir.kind = "input"}) -> tensor<3xf32> {
  %y = mir.if %p : tensor<i1> captured(%x : tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%z: tensor<3xf32>):
    BODY
    mir.yield %w : tensor<3xf32>
  } else {
  ^bb1(%z: tensor<3xf32>):
    mir.yield %z : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}"""
FOR = """%a = "test.op"() : () -> index
    %w = scf.for %i = %a to %a step %a iter_args(%u = %z) -> (tensor<3xf32>) {
      %v = mir.sin %u : tensor<3xf32>
      scf.yield %v : tensor<3xf32>
    }"""


@pytest.mark.parametrize("body", [FOR, "%w = math.sin %z : tensor<3xf32>"], ids=["scf.for", "math.sin"])
def test_a_foreign_op_in_a_body_is_named(body: str) -> None:
    module = rlx.parse(FOREIGN.replace("BODY", body))
    for transform in (
        lambda: rlx.compile(module),
        lambda: rlx.grad(module, ["x"]).module,
        lambda: rlx.jvp(module, ["x"]).module,
        lambda: rlx.vmap(module, ["x"], 2).module,
    ):
        with pytest.raises(rlx.GraphError, match=r"(scf\.for|math\.sin|test\.op)"):
            transform()
