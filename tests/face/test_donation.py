"""Training steps that update their arguments in place: what is donated, copied, refused, and left by overlaps."""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
Params = dict[str, Any]


def _normalised(p: Params, x: Any) -> Any:
    """A convolution with batch norm in training mode."""
    y = rlx.conv(x, p["w"], padding=1)
    mean, var = y.mean((0, 2, 3), keepdims=True), y.var((0, 2, 3), keepdims=True)
    g, b = p["g"].reshape(1, -1, 1, 1), p["b"].reshape(1, -1, 1, 1)
    return (y - mean) / np.sqrt(var + 1e-5) * g + b


def _sgd(x: Any, p: Params) -> tuple[Any, Params]:
    loss, d = rlx.value_and_grad(lambda p: (np.tanh(_normalised(p, x)) ** 2).mean())(p)
    return loss, {name: p[name] - 0.1 * d[name] for name in p}


def _params() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    shapes = {"w": (4, 3, 3, 3), "g": (4,), "b": (4,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_sgd_through_a_batch_norm_updates_its_parameters_in_place() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 6, 6)).astype(np.float32)
    step, plain = rlx.compile(_sgd, donate={"p": 1}), rlx.compile(_sgd)
    given, expected = _params(), _params()
    for _ in range(3):
        loss, new = step(x, given)
        wanted, expected = plain(x, expected)
        assert all(new[name] is given[name] for name in given)
        for one, other in ((loss, wanted), *((given[name], expected[name]) for name in given)):
            np.testing.assert_allclose(one, other, 2e-6, 2e-6)


def test_a_target_network_is_exchanged_in_place() -> None:
    def exchange(nets: Params) -> Params:
        return {"online": nets["target"], "target": nets["online"]}

    nets = {name: {"w": np.full((3, 2), n), "b": np.full(2, n)} for n, name in enumerate(("online", "target"), 1)}
    before = {name: dict(net) for name, net in nets.items()}
    after = rlx.compile(exchange, donate={"nets": 0})(nets)
    assert all(after[name][leaf] is before[name][leaf] for name in nets for leaf in ("w", "b"))
    assert {name: [net["w"][0, 0], net["b"][0]] for name, net in nets.items()} == {"online": [2, 2], "target": [1, 1]}


def _copies(outputs: Any) -> tuple[rlx.Graph, str]:
    """A graph whose outputs are given by its arguments a, b, c, and the line on donation of its report."""
    g = rlx.Graph("step")
    arguments = [g.input(name, (8, 8)) for name in "abc"]
    others, new = outputs(g, *arguments)
    g.set_outputs(others, donate=new)
    return g, str(rlx.memory_report(g, threads=1)).splitlines()[1]


@pytest.mark.parametrize(
    ("outputs", "donated", "copied", "why"),
    [
        (lambda g, a, b, c: ([], {"a": a * 2.0, "b": b}), 2, 0, ""),
        (lambda g, a, b, c: ([], {"a": b, "b": a}), 2, 2, "it is an argument itself"),
        (lambda g, a, b, c: ([a], {"a": a * 2.0}), 1, 1, '"a" is returned as it was, too'),
        (lambda g, a, b, c: ([], {"a": a @ b}), 1, 1, r'mir.fusion.* reads more of "a" than the element'),
        (lambda g, a, b, c: ([], {"a": b @ c, "b": a @ c}), 2, 1, r'mir.fusion.* reads "[ab]", and needs the result'),
        (lambda g, a, b, c: ([], {"a": g.zeros_like(a)}), 1, 1, "its producer does not write to that buffer"),
    ],
)
def test_a_report_counts_the_donations_that_are_copied(outputs: Any, donated: int, copied: int, why: str) -> None:
    graph, line = _copies(outputs)
    assert line == f"donated arguments {donated}, of which {copied} copied at the end ({copied * 256:,} bytes)"
    report = rlx.memory_report(graph, threads=1)
    assert (report.donated, report.copied, report.copied_bytes) == (donated, copied, copied * 256)
    rlx.compile(graph, threads=1)
    if not copied:
        rlx.compile(graph, threads=1, strict_donation=True)
        return
    with pytest.raises(rlx.GraphError, match=rf'^result \d of @step cannot be computed in place in "[ab]": {why}'):
        rlx.compile(graph, threads=1, strict_donation=True)


def test_functions_may_ask_for_strict_donation() -> None:
    a, b = np.ones((2, 3)), np.zeros((2, 3))
    assert rlx.compile(lambda a, b: a + b, donate={"a": 0}, strict_donation=True)(a, b) is a
    swap = rlx.compile(lambda p: {"a": p["b"], "b": p["a"]}, donate={"p": 0}, strict_donation=True)
    with pytest.raises(rlx.GraphError, match="it is an argument itself; donate without strict"):
        swap({"a": a, "b": b})


def test_an_array_is_donated_once_and_is_no_other_argument() -> None:
    traces: list[Any] = []

    def step(p: Any, x: Any) -> Any:
        traces.append(x)
        return {"a": p["a"] + x, "b": p["b"] * x}

    run = rlx.compile(step, donate={"p": 0})
    memory = np.zeros(12)
    a, b, x = memory[:4], memory[4:8], memory[8:]
    refused = [
        ({"a": a, "b": a}, x, r"p\['a'\] is donated, but overlaps another argument: p\['b'\]"),
        ({"a": a, "b": memory[3:7]}, x, r"p\['a'\] is donated, but overlaps another argument: p\['b'\]"),
        ({"a": a, "b": b}, b, r"p\['b'\] is donated, but overlaps another argument: x; copy one .*tree.map\(np.copy"),
    ]
    for count in range(3):
        for p, y, message in refused:
            with pytest.raises(rlx.ArgumentError, match=message):
                run(p, y)
        assert len(traces) == min(count, 1)
        run({"a": a, "b": b}, x)


def test_what_a_call_copies_may_overlap_a_donated_argument() -> None:
    run = rlx.compile(lambda s, x: s + x.sum(), donate="s")
    memory = np.ones(8)
    assert run(memory[:4], memory[::2]) is not None
    np.testing.assert_array_equal(memory, [5.0] * 4 + [1.0] * 4)


def test_a_tree_behind_a_tree_is_donated_leaf_by_leaf() -> None:
    def step(x: Any, state: Any) -> Any:
        return {"sum": x + state["a"], "more": (x, 2 * x)}, {"a": state["a"] + 1.0, "b": state["b"] * x}

    compiled = rlx.compile(step, donate={"state": 1})
    x, state = np.full(3, 2.0), {"a": np.zeros(3), "b": np.ones(3)}
    wanted = step(x, state)
    found, after = compiled(x, state)
    assert after["a"] is state["a"] and after["b"] is state["b"]
    np.testing.assert_array_equal(after["a"], wanted[1]["a"])
    np.testing.assert_array_equal(after["b"], wanted[1]["b"])
    np.testing.assert_array_equal(found["sum"], wanted[0]["sum"])
    np.testing.assert_array_equal(found["more"], wanted[0]["more"])


def _move(state: Any, x: Any) -> Any:
    position, velocity = state
    return position + velocity * x, velocity - position * x


@pytest.mark.parametrize("donate", ["state", 0, ("state",), ["state"], {"state": 0}, {0: 0}, -2])
def test_a_step_may_return_its_state_as_a_bare_tuple(donate: Any) -> None:
    state, x = (np.ones(3), np.full(3, 2.0)), np.full(3, 0.5)
    wanted = _move(state, x)
    after = rlx.compile(_move, donate=donate)(state, x)
    assert after[0] is state[0] and after[1] is state[1]
    np.testing.assert_array_equal(after, wanted)


def test_a_donated_argument_takes_the_first_result_of_its_tree_and_types() -> None:
    def step(a: Any, b: Any, c: Any) -> Any:
        return a["x"].sum(), {"x": a["x"] + c}, (b["x"] * 2.0, {"x": b["x"] * c}), {"x": c}

    def given() -> list[Any]:
        return [{"x": np.ones(2)}, {"x": np.full(2, 2.0)}, np.full(2, 3.0)]

    wanted = step(*given())
    for donate, taken in ((("a", "b"), {0: 1, 1: 3}), (("b", "a"), {1: 1, 0: 3}), ({"a": 3}, {0: 3})):
        arguments = given()
        found = rlx.compile(step, donate=donate)(*arguments)
        for argument, result in taken.items():
            assert found[result]["x"] is arguments[argument]["x"]
        for one, other in zip(rlx.tree.flatten(found)[0], rlx.tree.flatten(wanted)[0], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("donate", "error"),
    [
        ("x", r"no result can overwrite argument 'x', which is tensor<2xf64>; result 0 is tensor<3xf64>; .* Return a"),
        (
            {"state": 1},
            r"result 1 is PyTreeSpec\(\*\), argument 'state' is .*; donate='state' selects the whole",
        ),
        (("state", "state2"), "no argument 'state2'; arguments are state, x"),
        (1.5, "expected the name or position of an argument, several in a tuple, or a dict .* got 1.5"),
    ],
)
def test_a_donation_that_fits_no_result_is_an_error(donate: Any, error: str) -> None:
    with pytest.raises(rlx.GraphError, match=f"donate: {error}"):
        rlx.compile(lambda state, x: (state[0], state[1]), donate=donate)((np.ones(3), np.ones(3)), np.ones(2))
