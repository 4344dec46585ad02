"""Results that are written over arguments: their numbers, the memory they take, and what callers may pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
Build = Callable[[Any, Any], tuple[list[Any], dict[str, Any]]]
"""From operations and the values w, v, x to the other results and what replaces w and v."""

N = 24


class _Numpy:
    exp, sin = np.exp, np.sin

    @staticmethod
    def softmax(x: Array, axis: int) -> Array:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    @staticmethod
    def transpose(x: Array, perm: tuple[int, ...]) -> Array:
        return x.transpose(perm)

    @staticmethod
    def concat(parts: list[Array], axis: int) -> Array:
        return np.concatenate(parts, axis)

    @staticmethod
    def reduce_sum(x: Array, axes: list[int], keep_dim: bool = False) -> Array:
        return np.sum(x, tuple(axes), keepdims=keep_dim)


def plain(o: Any, w: Any, v: Any, x: Any) -> Any:
    return [], {"w": w - 0.1 * x}


def momentum(o: Any, w: Any, v: Any, x: Any) -> Any:
    """A product that is made for the update and may not lie where the momentum is."""
    m = 0.9 * v + x @ x
    return [], {"w": w - 0.1 * m, "v": m}


def read_behind(o: Any, w: Any, v: Any, x: Any) -> Any:
    """What reads w stands behind the update, and comes first."""
    new = w - 0.1 * x
    return [x @ w, o.reduce_sum(new, [0, 1])], {"w": new}


def all_of_it(o: Any, w: Any, v: Any, x: Any) -> Any:
    """Each element needs all of w."""
    return [], {"w": w @ w}


def turned(o: Any, w: Any, v: Any, x: Any) -> Any:
    return [], {"w": o.transpose(w, (1, 0)) * 2.0}


def rows(o: Any, w: Any, v: Any, x: Any) -> Any:
    """A pass over a row reads what a later one replaces; and one reads it again."""
    return [o.reduce_sum(w * w, [1])], {"w": o.softmax(w, -1), "v": v - v / (o.reduce_sum(v * v, [1], True) + 1.0)}


def read_again(o: Any, w: Any, v: Any, x: Any) -> Any:
    """A first pass over a row has the new element at hand, a second one needs the old one."""
    return [w / (o.reduce_sum(w * w, [1], True) + 1.0)], {"w": w * 0.5 + x}


def given_twice(o: Any, w: Any, v: Any, x: Any) -> Any:
    """The same, of a new element that is a result, too: a kernel cannot store that in both places at once."""
    new = w * 0.5
    return [new, w / (o.reduce_sum(w * w, [1], True) + 1.0)], {"w": new}


def run_twice(o: Any, w: Any, v: Any, x: Any) -> Any:
    """A loop that begins anew where an argument is large."""
    return [], {"w": w + o.sin(w * 1e5), "v": o.sin(v) * x}


def moved(o: Any, w: Any, v: Any, x: Any) -> Any:
    return [], {"w": o.concat([w[5:], w[:5] * 0.5], 0), "v": o.concat([x[:7], v[7:] + 1.0], 0)}


def shifted(o: Any, w: Any, v: Any, x: Any) -> Any:
    """The first part of a result is where it has to be when the second one turns out to be read elsewhere."""
    new = o.concat([x[5:], w[:5]], 0)
    return [new], {"w": new, "v": o.concat([w[:7], v[:-7]], 0)}


def picked(o: Any, w: Any, v: Any, x: Any) -> Any:
    """Equal loops of their own, of which only the second one writes first to what it reads."""
    rows = np.arange(N)[::-1] // 2
    new = v[rows]
    return [new], {"v": new, "w": w[rows]}


def both(o: Any, w: Any, v: Any, x: Any) -> Any:
    """One replaces the other's value, too, once it has been read."""
    s = o.exp(x * 0.1)
    return [w + v], {"w": s * w, "v": s + v}


def exchange(o: Any, w: Any, v: Any, x: Any) -> Any:
    return [], {"w": v, "v": w}


def exchange_later(o: Any, w: Any, v: Any, x: Any) -> Any:
    """Each needs the other one as it was."""
    return [w @ v], {"w": v @ x, "v": w @ x}


def turn_itself(o: Any, w: Any, v: Any, x: Any) -> Any:
    """An argument seen otherwise, which is the other one's, too."""
    turned = o.transpose(w, (1, 0))
    return [w], {"w": turned, "v": turned}


def one_for_both(o: Any, w: Any, v: Any, x: Any) -> Any:
    new = w * 2.0 + v
    return [new, v], {"w": new, "v": new}


def stay(o: Any, w: Any, v: Any, x: Any) -> Any:
    return [v], {"w": w, "v": w}


def part_first(o: Any, w: Any, v: Any, x: Any) -> Any:
    """A part of what replaces an argument could be there before that is read."""
    part = x[:12] * 2.0
    return [o.reduce_sum(w @ x, [0])], {"w": o.concat([part, w[:12]], 0), "v": o.concat([part, part], 0)}


CASES = (
    *(plain, momentum, read_behind, all_of_it, turned, rows, read_again, given_twice, run_twice, moved),
    *(shifted, picked, both),
)
COPIED = (exchange, exchange_later, turn_itself, one_for_both, stay, part_first)
"""Of these, not all can be computed in place."""


def branch_reads(g: Any, a: Any, b: Any) -> tuple[list[Any], Any]:
    """One branch moves elements, the other computes a second result of what the first one replaces."""
    first, second = g.cond(g.reduce_sum(b) > 0.0, lambda: (a.T, b), lambda: (a * 2.0, a + b))
    return [second], first


def body_reads(g: Any, a: Any, b: Any) -> tuple[list[Any], Any]:
    """Each iteration reads all of the argument, and stores a row of what replaces it; another result is stacked."""
    last, (rows, others) = g.scan(lambda c, x: (c @ a, (c + x, c * x)), b[0], b)
    return [last, others], rows


def loop_reads(g: Any, a: Any, b: Any) -> tuple[list[Any], Any]:
    """A loop begins with the argument, and its body reads it."""
    return [], g.while_loop(lambda c: g.reduce_sum(c * c) < 1e4, lambda c: c @ c + a, a)


def loop_turns(g: Any, a: Any, b: Any) -> tuple[list[Any], Any]:
    """It begins with the argument seen otherwise."""
    return [], g.while_loop(lambda c: g.reduce_sum(c * c) < 1e4, lambda c: c * 2.0, a.T)


def loop_carries(g: Any, a: Any, b: Any) -> tuple[list[Any], Any]:
    """It begins with the argument, which nothing else reads."""
    return [], g.while_loop(lambda c: g.reduce_sum(c * c) < 1e4, lambda c: c @ c + b, a)


@pytest.mark.parametrize("case", [branch_reads, body_reads, loop_reads, loop_turns, loop_carries])
def test_what_a_body_reads_is_kept_until_it_has_run(case: Any) -> None:
    def compiled(donate: bool) -> Any:
        g = rlx.Graph(case.__name__)
        a, b = g.input("a", (4, 4)), g.input("b", (4, 4))
        others, new = case(g, a, b)
        g.set_outputs(others, donate={"a": new}) if donate else g.set_outputs([*others, new])
        return rlx.compile(g, threads=1)

    for sign in (1, -1):
        a, b = sign * np.linspace(-1.0, 2.0, 32, dtype=np.float32).reshape(2, 4, 4)
        expected = compiled(False)(a, b)
        given = a.copy()
        for found, wanted in zip((*compiled(True)(given, b), given), expected, strict=True):
            np.testing.assert_allclose(found, wanted, 1e-5)


def _graph(case: Build | Any, dtype: str, donate: bool) -> rlx.Graph:
    g = rlx.Graph(case.__name__)
    w, v = g.param("w", (N, N), dtype), g.input("v", (N, N), dtype)
    others, new = case(g, w, v, g.input("x", (N, N), dtype))
    g.set_outputs(others, donate=new) if donate else g.set_outputs([*others, *new.values()])
    return g


def _arrays(dtype: str) -> dict[str, Array]:
    rng = np.random.default_rng(4)
    return {
        name: rng.standard_normal((N, N)).astype(dtype.replace("f32", "f4").replace("f64", "f8"))
        for name in ("w", "v", "x")
    }


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", (*CASES, *COPIED), ids=lambda case: case.__name__)
def test_in_place_is_what_it_is_elsewhere(case: Any, threads: int) -> None:
    compiled = rlx.compile(_graph(case, "f64", True), threads=threads)
    arrays = _arrays("f64")
    expected = {name: array.copy() for name, array in arrays.items()}
    compiled.set_param("w", arrays["w"])
    for _ in range(2):
        results = compiled(v=arrays["v"], x=arrays["x"])
        others, new = case(_Numpy, *expected.values())
        expected |= new
        for found, value in zip(
            (*results, compiled.weights["w"], arrays["v"]), (*others, *list(expected.values())[:2]), strict=True
        ):
            np.testing.assert_allclose(found, value, 1e-10, 1e-10)


def test_the_printed_module_updates_arrays_too() -> None:
    arrays = _arrays("f64")
    expected = {name: array.copy() for name, array in arrays.items()}
    names: dict[str, Any] = {}
    exec(rlx.numba_source(_graph(momentum, "f64", True)), names)
    assert names["momentum"](**arrays) == ()
    _, new = momentum(_Numpy, *expected.values())
    for name, value in new.items():
        np.testing.assert_allclose(arrays[name], value, 1e-12)
    with pytest.raises(TypeError, match="'w', which is donated: expected an array of float64"):
        names["momentum"](**arrays | {"w": arrays["w"].tolist()})


def test_an_update_takes_no_memory() -> None:
    size = N * N * 8
    donated, copied = (rlx.compile(_graph(momentum, "f64", donate), threads=1) for donate in (True, False))
    # the product, which else lies where the new momentum is to be
    assert donated.arena_bytes == size and not donated.outputs
    assert [spec.nbytes for spec in copied.outputs] == [size, size]


def test_what_replaces_an_argument_can_be_said_of_a_graph_that_is_there() -> None:
    arrays = _arrays("f32")
    compiled = rlx.compile(_graph(plain, "f32", False), donate={"w": 0})
    compiled.set_param("w", arrays["w"])
    assert compiled(v=arrays["v"], x=arrays["x"]) == ()
    np.testing.assert_allclose(compiled.weights["w"], arrays["w"] - np.float32(0.1) * arrays["x"], 1e-6)


@pytest.mark.parametrize(
    ("donate", "message"),
    [
        ({"u": 0}, "no such argument; arguments are w, v, x"),
        ({"w": 3}, "has 1 results, got result number 3"),
        ({"w": "0"}, "donate: expected integers, got"),
        ({0: 0}, "donate: expected the name of an argument, got 0"),
        (["w"], "donate: expected a dict from argument names to result numbers, got"),
    ],
)
def test_what_cannot_be_donated_is_an_error(donate: Any, message: str) -> None:
    with pytest.raises(rlx.RlxError, match=message):
        rlx.compile(_graph(plain, "f32", False), donate=donate)
    # what a function returns is known when it is called; its arguments have positions, and a list may name them
    if donate not in ({"w": 3}, {0: 0}, ["w"]):
        with pytest.raises(rlx.RlxError, match="donate: "):
            rlx.compile(lambda w, v, x: w - x, donate=donate)


def test_who_updates_an_array_has_to_be_given_that_array() -> None:
    compiled = rlx.compile(_graph(momentum, "f32", True))
    arrays = _arrays("f32")
    compiled.set_param("w", arrays["w"])
    before = arrays["v"].copy()
    wrong = {
        "expected f32": arrays["v"].astype("f8"),
        "expected an array": arrays["v"].tolist(),
        "C-contiguous": arrays["v"].T,
        "overlaps another argument": arrays["x"],
    }
    for message, value in wrong.items():
        with pytest.raises(rlx.ArgumentError, match=message):
            compiled(v=value, x=arrays["x"])
    arrays["v"].flags.writeable = False
    with pytest.raises(rlx.ArgumentError, match="read-only"):
        compiled(v=arrays["v"], x=arrays["x"])
    np.testing.assert_array_equal(arrays["v"], before)
    np.testing.assert_array_equal(compiled.weights["w"], arrays["w"])


def test_a_result_may_not_lie_in_what_is_updated() -> None:
    compiled = rlx.compile(_graph(both, "f32", True))
    arrays = _arrays("f32")
    compiled.set_param("w", arrays["w"])
    with pytest.raises(rlx.ArgumentError, match=r"out\[0\] of graph 'both' overlaps 'v', which is donated"):
        compiled(v=arrays["v"], x=arrays["x"], out=(arrays["v"],))


def test_weights_are_those_of_all_graphs_compiled_with_them() -> None:
    weights = rlx.Weights({"w": np.ones((N, N))})
    step = rlx.compile(_graph(plain, "f64", True), weights=weights)
    g = rlx.Graph("norm")
    w = g.param("w", (N, N), "f64")
    g.set_outputs(g.reduce_sum(w) + g.param("b", (), "f64"))
    norm = rlx.compile(g, weights=weights)
    where = weights.address("w")
    with pytest.raises(rlx.ArgumentError, match="'b' of graph 'norm' has no value"):
        norm()
    assert weights.get("b") is None and weights.pop("c", 1) == 1
    with pytest.raises(rlx.ArgumentError, match=r"^param 'b' has no value: expected f64\[\]; set weights\['b'\]$"):
        weights["b"]
    weights["b"] = 2.0
    arrays = _arrays("f64")
    for _ in range(2):
        step(v=arrays["v"], x=arrays["x"])
    np.testing.assert_allclose(norm()[0], N * N - 0.2 * arrays["x"].sum() + 2.0)
    assert weights.address("w") == where and sorted(weights) == ["b", "w"] and weights.nbytes == 8 * (N * N + 1)
    weights["w"] = np.zeros((N, N))
    assert norm()[0] == 2.0
    with pytest.raises(rlx.ArgumentError, match=r"param .w. is f32.*, and f64.* in another graph"):
        rlx.compile(_graph(plain, "f32", True), weights=weights)
    with pytest.raises(rlx.GraphError, match=r"weights: expected rlx.Weights, got"):
        rlx.compile(g, weights={"b": 2.0})  # pyright: ignore
    with pytest.raises(rlx.ArgumentError, match="no graph of these weights has a param 'bb': did you mean 'b'"):
        weights["bb"] = 1.0


def test_a_graph_whose_params_do_not_fit_declares_none() -> None:
    g = rlx.Graph("two")
    g.set_outputs(g.param("a", ()) + g.param("b", ()))
    weights = rlx.Weights({"b": np.ones(3)})
    with pytest.raises(rlx.ArgumentError, match="param 'b'"):
        rlx.compile(g, weights=weights)
    assert repr(weights) == "Weights()"


def test_a_loop_that_turns_out_to_be_long_does_not_begin_anew_from_what_it_has_updated() -> None:
    """A run that was short so far is given up when it takes long, and begins anew where it may be interrupted."""
    g = rlx.Graph("count")
    total, n = g.input("total", (64,)), g.input("n", (), "i64")
    count, new = g.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + 1.0), (g.constant(np.int64(0)), total))
    g.set_outputs([count], donate={"total": new})
    # one kernel, which has the loop and writes to the argument
    assert "lir.poll" in str(rlx.lower(g))
    compiled = rlx.compile(g, threads=1)
    for turns in (3, 3, 3, 3, 400_000, 3):
        array = np.zeros(64, np.float32)
        compiled(array, np.array(turns))
        assert (array == turns).all()
    assert not compiled.program.repeatable


def test_a_step_that_updates_behind_its_loops_may_begin_anew() -> None:
    g = rlx.Graph("behind")
    w, n = g.input("w", (64,)), g.input("n", (), "i64")
    _, found = g.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + w), (g.constant(np.int64(0)), w))
    g.set_outputs([], donate={"w": w - g.sin(found)})
    compiled = rlx.compile(g, threads=1)
    assert compiled.program.repeatable
    for turns in (3, 3, 3, 3, 400_000, 3):
        array = np.ones(64, np.float32)
        compiled(array, np.array(turns))
        np.testing.assert_allclose(array, 1 - np.sin(turns + 1.0), rtol=1e-3)
