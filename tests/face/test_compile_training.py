"""`compile_training`: a step, or its two halves, on one store of weights; budgets, and what reports say."""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
B, D, H = 12, 128, 320


def _layers(depth: int, D: int = D, H: int = H) -> rlx.Graph:
    """A residual stack whose inner layers are wide, with the number of right answers beside the loss."""
    g = rlx.Graph("stack")
    x, labels = g.input("x", (B, D), "f64"), g.input("labels", (B,), "i32")
    h = x
    for n in range(depth):
        up, down = g.param(f"up{n}", (D, H), "f64"), g.param(f"down{n}", (H, D), "f64")
        h = h + g.gelu(g.layer_norm(h, g.full((D,), 1.0, "f64"), g.full((D,), 0.0, "f64")) @ up) @ down
    loss = g.reduce_mean(g.softmax_cross_entropy_with_logits(h, labels), axes=[0])
    g.set_outputs([loss, h])
    return g


def _arrays(depth: int, D: int = D, H: int = H) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    weights = {
        f"{kind}{n}": 0.05 * rng.standard_normal(shape)
        for n in range(depth)
        for kind, shape in (("up", (D, H)), ("down", (H, D)))
    }
    return {"x": rng.standard_normal((B, D)), "labels": rng.integers(0, D, B, dtype=np.int32)} | weights


@pytest.fixture(scope="module")
def program() -> Any:
    found = rlx.compile_training(_layers(2), threads=1)
    arrays = _arrays(2)
    found.weights.update({name: array for name, array in arrays.items() if name not in ("x", "labels")})
    return found


def test_both_halves_are_the_step_and_the_step_is_the_gradient(program: Any) -> None:
    arrays = _arrays(2)
    given = {name: arrays[name] for name in ("x", "labels")}
    expected = rlx.compile(rlx.grad_with_loss(_layers(2)), threads=1)(**arrays)
    for seed in (None, 0.5):
        step = program.step(**given, **({} if seed is None else {"d_output": seed}))
        halves = (*program.forward(**given), *program.backward(seed))
        for one, other, wanted in zip(step, halves, expected, strict=True):
            np.testing.assert_allclose(one, other, 1e-12, 1e-14)
            if seed is None:
                np.testing.assert_allclose(one, wanted, 1e-12, 1e-14)


def test_weights_exist_once(program: Any) -> None:
    programs = (program.step, program.forward.compiled, program.backward.compiled)
    assert all(one.weights is program.weights for one in programs)
    arrays = _arrays(2)
    where = {name: program.weights.address(name) for name in program.weights}
    before = program.forward(x=arrays["x"], labels=arrays["labels"])
    program.weights["up0"] = 2 * arrays["up0"]
    after = program.forward(x=arrays["x"], labels=arrays["labels"])
    np.testing.assert_allclose(after[1], program.step(x=arrays["x"], labels=arrays["labels"])[1], 1e-12, 1e-14)
    assert not np.array_equal(before[1], after[1])
    program.weights["up0"] = arrays["up0"]
    assert where == {name: program.weights.address(name) for name in program.weights}
    assert program.memory.weights == program.weights.nbytes == sum(arrays[name].nbytes for name in where)


def test_forward_keeps_what_it_costs_more_to_compute_again(program: Any) -> None:
    """Not every value of the forward pass: a layer norm's results follow from the stream."""
    kept = sum(array.nbytes for array in program.forward.residuals)
    wide, narrow = B * H * 8, B * D * 8
    assert program.memory.residuals == kept
    assert kept <= 2 * (2 * wide + 3 * narrow) + 4 * narrow
    # the products run once in each half, and not again in the other one
    products = [text.count("mir.matmul") for text in map(str, (program.graphs.forward, program.graphs.backward))]
    assert products == [4, 7]


def test_a_step_takes_no_more_memory_than_its_halves(program: Any) -> None:
    """What is kept between the halves lives inside of the step, which need not hold all of it at once."""
    memory = program.memory
    assert memory.step.arena == program.step.arena_bytes
    assert 0 < memory.step.arena <= memory.forward.arena + memory.residuals + memory.backward.arena


def test_a_half_says_what_it_lacks() -> None:
    found = rlx.compile_training(_layers(1), threads=1)
    arrays = _arrays(1)
    with pytest.raises(rlx.ArgumentError, match=r"call forward\(..\) before it"):
        found.backward()
    with pytest.raises(
        rlx.ArgumentError, match=r"forward takes no 'up0', which backward reads too; set weights\['up0'\]"
    ):
        found.forward(**arrays)
    with pytest.raises(rlx.ArgumentError, match="param 'up0' of graph 'stack_forward' has no value"):
        found.forward(x=arrays["x"], labels=arrays["labels"])
    with pytest.raises(rlx.GraphError, match="compile_training takes a graph at stage hir or mir"):
        rlx.compile_training(rlx.lower(_layers(1)))


def test_a_budget_is_kept_and_changes_no_number() -> None:
    size = 6, 8, 40
    arrays = _arrays(*size)
    free = rlx.compile_training(_layers(*size), threads=1)
    budget = free.memory.step.arena * 6 // 10
    tight = rlx.compile_training(_layers(*size), threads=1, memory_budget=budget)
    assert tight.step.arena_bytes <= budget < free.step.arena_bytes
    results: list[Any] = []
    for found in (free, tight):
        found.weights.update({name: array for name, array in arrays.items() if name not in ("x", "labels")})
        results.append(found.step(x=arrays["x"], labels=arrays["labels"]))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, 1e-12, 1e-14)


def test_a_budget_is_kept_by_gradients_without_the_loss() -> None:
    def loss(weights: list[np.ndarray], x: np.ndarray) -> np.ndarray:
        for into, out in weights:
            x = x + np.tanh(x @ into) @ out
        return (x * x).mean()

    rng = np.random.default_rng(0)
    weights = [(rng.standard_normal((8, 64)), rng.standard_normal((64, 8))) for _ in range(4)]
    x = rng.standard_normal((16, 8))
    graph = rlx.trace(rlx.grad(loss), weights, x)
    free = rlx.compile(graph, threads=1)
    tight = rlx.compile(graph, threads=1, memory_budget=free.arena_bytes * 2 // 3)
    assert tight.arena_bytes <= free.arena_bytes * 2 // 3
    given = [array for pair in weights for array in pair]
    for one, other in zip(free(*given, x), tight(*given, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_budget_that_cannot_be_kept_says_what_the_least_is() -> None:
    with pytest.raises(
        rlx.GraphError, match=r"takes at least (\d|,)+ bytes, even if everything is rematerialised; the budget is 64"
    ):
        rlx.compile_training(_layers(1), memory_budget=64)
    with pytest.raises(rlx.GraphError, match="expected a budget in bytes of at least 0, got -1"):
        rlx.compile(_layers(1), memory_budget=-1)
    for wrong in ("64", 64.5, [64]):
        with pytest.raises(rlx.GraphError, match="memory_budget: expected a whole number of bytes, got"):
            rlx.compile_training(_layers(1), memory_budget=wrong)  # pyright: ignore


def test_a_report_lists_what_is_in_use_when_most_is(program: Any) -> None:
    report = program.memory.step
    held = [sum(s.size for s in report.slots if s.first <= n <= s.last) for n in range(report.fullest + 3)]
    assert max(held) == held[report.fullest] <= report.arena <= report.unshared
    assert {slot.at + slot.size for slot in report.at_fullest} <= set(range(report.arena + 1))
    text = str(report)
    assert f"arena {report.arena:,} bytes" in text and f"f64[{B}, {H}]" in text and "matmul" in text
    assert str(rlx.memory_report(_layers(2), threads=1)).startswith("@stack: arena")


def _taken_names() -> tuple[Any, dict[str, Array]]:
    """Arguments are called what the arguments of the halves would be, and an op is read by nothing."""
    g = rlx.Graph("taken")
    x, w, v = g.input("residual_0", (3,)), g.param("residual_1", (3,)), g.input("d_output", (3,))
    h = g.exp(x * w * v)
    g.sin(x + 1.0)
    g.set_outputs([g.reduce_sum(g.tanh(h)), h, x, w])
    return g, {"residual_0": np.ones(3), "d_output": np.arange(3.0)}


def _of_a_gradient() -> tuple[Any, dict[str, Array]]:
    """The loss hangs on the seed of another gradient, which is a result as well."""
    g = rlx.Graph("inner")
    g.set_outputs([g.exp(g.param("residual_1", (3,)))])
    outer = rlx.Graph("outer")
    y, dy = outer.inline(rlx.grad_with_loss(g))
    outer.set_outputs([outer.reduce_sum(outer.tanh(y * dy)), dy])
    return outer, {"d_output": np.arange(3.0)}


def _gradient_as_result() -> tuple[Any, dict[str, Array]]:
    g = rlx.Graph("again")
    g.set_outputs([g.reduce_sum(g.exp(g.param("residual_1", (3,))))])
    return rlx.grad_with_loss(g), {}


def _donating() -> tuple[Any, dict[str, Array]]:
    """The forward half updates a param that the backward half does not read."""
    g = rlx.Graph("donating")
    w, v = g.param("residual_1", (3,)), g.param("v", (3,))
    g.set_outputs([g.reduce_sum(g.exp(w))], donate={"v": v * 0.5})
    return rlx.grad_with_loss(g, "residual_1"), {}


@pytest.mark.parametrize("build", [_taken_names, _of_a_gradient, _gradient_as_result, _donating])
def test_halves_are_the_step_whatever_arguments_and_results_there_are(build: Any) -> None:
    graph, arrays = build()
    given = {name: array.astype(np.float32) for name, array in arrays.items()}
    found = rlx.compile_training(graph, "residual_1", threads=1)
    for name in found.step.params:
        found.weights[name] = np.full(3, 0.5, np.float32)
    step = found.step(**given)
    halves = (*found.forward(**given), *found.backward())
    assert len(found.backward()) == 1
    for one, other in zip(step, halves, strict=True):
        np.testing.assert_allclose(one, other, 1e-6)


def test_backward_reads_a_param_as_it_was_before_forward_updated_it() -> None:
    g = rlx.Graph("sgd")
    w = g.param("w", (3,))
    g.set_outputs([g.reduce_sum(g.input("x", (3,)) * w)], donate={"w": w * 0.5})
    found = rlx.compile_training(g, "x", threads=1)
    found.weights["w"] = before = np.arange(3, dtype=np.float32)
    found.forward(x=before)
    np.testing.assert_array_equal(found.weights["w"], before * 0.5)
    np.testing.assert_array_equal(found.backward()[0], before)


def test_backward_needs_a_forward_that_came_to_its_end(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = _arrays(2)
    given = {name: arrays[name] for name in ("x", "labels")}
    program.forward(**given)

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(program.forward.compiled, "_call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            program.forward(**given)
    with pytest.raises(rlx.ArgumentError, match=r"call forward\(..\) before it"):
        program.backward()
    with pytest.raises(rlx.ArgumentError, match="forward takes no out=; an input of that name is given by position"):
        program.forward(**given, out=())


def test_halves_name_what_the_step_names() -> None:
    # a keyword may be the name of a graph, as that of any function may
    g = rlx.Graph("lambda")
    y = g.input("x", (3,)) * g.param("w", (3,))
    g.set_outputs({"loss": g.reduce_sum(y * y), "y": y})
    training = rlx.compile_training(g)
    training.weights["w"] = x = np.arange(3, dtype=np.float32)
    step: Any = training.step(x=x)
    forward: Any = training.forward(x=x)
    backward: Any = training.backward()
    assert (step._fields, forward._fields, backward._fields) == (("loss", "y", "d_w"), ("loss", "y"), ("d_w",))
    np.testing.assert_array_equal(step.d_w, backward.d_w)
