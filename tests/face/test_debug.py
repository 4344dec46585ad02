"""The op that made a NaN is found by name, line, position and iteration; eager mode runs Python on arrays."""

import inspect
import sys
import threading
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

LAYERS = 12


def line_of(function: Any, text: str) -> str:
    """The file and line of a piece of a function."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [first + n for n, line in enumerate(lines) if text in line]
    return f"{__file__}:{number}"


def layer(h: Any, w: Any) -> Any:
    h = np.tanh(h @ w)
    return h + np.log(w[0, 0] + h * 0)


def model(params: Any, x: Any) -> Any:
    h, sums = rlx.scan(lambda h, w: (layer(h, w), h.sum()), x, params)
    return (h * sums.sum()).mean()


def params_with(number: int, value: float) -> Any:
    params = np.random.default_rng(0).uniform(0.1, 0.5, (LAYERS, 4, 4))
    params[number, 0, 0] = value
    return params


@pytest.mark.parametrize("transform", [lambda f: f, rlx.grad, rlx.value_and_grad], ids=["value", "grad", "both"])
def test_a_nan_in_a_scan_is_found_in_one_run(transform: Any) -> None:
    run = rlx.compile(transform(model))
    with rlx.debug.check_nans():
        run(params_with(7, 0.3), np.ones((2, 4)))
        with pytest.raises(rlx.NanError) as caught:
            run(params_with(7, -1.0), np.ones((2, 4)))
    message = str(caught.value)
    assert f"mir.log at {line_of(layer, 'np.log')} gives NaN" in message
    assert f"in iteration 7 of the scan at {line_of(model, 'rlx.scan')}" in message


def test_positions_arguments_branches_and_loops_are_named() -> None:
    def program(x: Any, n: Any) -> Any:
        def body(carry: Any) -> Any:
            i, h = carry
            return i + 1, rlx.cond(i == 2, lambda h: np.sqrt(h - 2.5), lambda h: h + 0.5, h)

        return rlx.while_loop(lambda carry: carry[0] < n, body, (np.int32(0), x), max_iterations=9)[1]

    x = np.array([[1.0, 5.0], [9.0, 1.5]])
    run = rlx.compile(program)
    with rlx.debug.check_nans():
        assert np.isfinite(run(x, np.int32(2))).all()
        with pytest.raises(rlx.NanError, match=r"mir\.sqrt at .* NaN at \[0, 0\] of shape \(2, 2\), in iteration 2"):
            run(x, np.int32(4))
        x[1, 0] = np.nan
        with pytest.raises(rlx.NanError, match=r"argument 'x' gives NaN at \[1, 0\] of shape \(2, 2\)"):
            run(x, np.int32(1))


def field(y: Any, t: Any, rate: Any) -> Any:
    return rate * np.log(y) + rate * y


def placeholders(x: Any, mode: Any) -> Any:
    """Constants that are NaN, chosen by comparisons with a value that may be NaN."""
    root = np.sqrt(x)
    masked = np.where(x < 0, 0.0, root) < 10.0
    return rlx.switch(
        mode,
        [
            lambda: np.where(root > 0, x, np.nan),
            lambda: rlx.cond(root > 0, lambda: x, lambda: x * np.nan),
            lambda: rlx.while_loop(lambda c: (root > 0) & (c[0] < 1), lambda c: (c[0] + 1, x), (0, x * np.nan))[1],
            lambda: np.where(masked, np.nan, x),
            lambda: np.full((), np.nan) * np.log(x),
            lambda: np.sqrt(np.stack([x, x * 0 + np.nan])).sum(),
        ],
    )


def test_a_constant_nan_is_not_reported_for_the_op_that_made_the_program_choose_it() -> None:
    run = rlx.compile(placeholders)
    line = line_of(placeholders, "np.sqrt(x)")
    expected = [
        *[rf"mir\.sqrt at {line} gives NaN"] * 3,
        r"mir\.where at .* takes NaN from a constant",
        r"mir\.log at .* gives NaN",
        r"mir\.sqrt at .* gives NaN at \[0\]",
    ]
    with rlx.debug.check_nans():
        for mode, words in enumerate(expected):
            with pytest.raises(rlx.NanError, match=words):
                run(-1.0, mode)


def solve(y: Any, rate: Any) -> Any:
    return rlx.solvers.odeint(field, y, np.array([0.0, 1.0]), rate, rtol=1e-3, atol=1e-3, mxstep=3)[-1]


def test_a_nan_of_a_solver_is_found_in_the_users_function_or_explained() -> None:
    run = rlx.compile(solve)
    with rlx.debug.check_nans():
        with pytest.raises(rlx.NanError, match=rf"mir\.log at {line_of(field, 'np.log')} gives NaN"):
            run(-1.0, -1.0)
        with pytest.raises(rlx.NanError, match=r"odeint: mxstep=3 .* in iteration 0 of the scan"):
            run(1.0, 1e2)


def test_what_no_result_has_is_no_error_and_ops_called_alone_are_checked() -> None:
    with rlx.debug.check_nans():
        masked = rlx.compile(lambda x: np.where(x > 0, np.log(x), 0.0))(np.array([-1.0, 1.0]))
        np.testing.assert_array_equal(masked, [0, 0])
        with pytest.raises(FloatingPointError, match=r"mir\.sqrt"):
            rlx.sqrt(np.array([-1.0]))
        with rlx.debug.check_nans(False):
            assert np.isnan(rlx.sqrt(np.array([-1.0])))
    assert np.isnan(rlx.sqrt(np.array([-1.0])))


def test_scopes_are_named_and_other_threads_are_not_checked() -> None:
    g = rlx.Graph("scoped")
    x = g.input("x", (2,), "f64")
    with g.named("encoder"), g.named("layer3"):
        y = g.log(x)
    g.set_outputs(y)
    run, found = rlx.compile(g), list[Any]()
    with rlx.debug.check_nans():
        with pytest.raises(rlx.NanError, match=r"mir\.log in .*layer3.* at .*test_debug\.py:\d+ gives NaN at \[1\]"):
            run(np.array([1.0, -1.0]))
        thread = threading.Thread(target=lambda: found.append(run(np.array([1.0, -1.0]))))
        thread.start()
        thread.join()
    assert np.isnan(found[0][0][1])


def test_donated_arguments_are_checked_as_they_were() -> None:
    step = rlx.compile(lambda p, g: p - np.sqrt(g), donate={"p": 0})
    with rlx.debug.check_nans():
        np.testing.assert_array_equal(step(np.ones(2), np.ones(2)), 0)
        state = np.ones(2)
        with pytest.raises(rlx.NanError, match=r"mir\.sqrt at .* gives NaN at \[0\]"):
            step(state, np.array([-1.0, 1.0]))
        np.testing.assert_array_equal(state, 1.0)


def loops(x: Any, n: Any) -> Any:
    total, rows = rlx.scan(lambda c, row: (c + row, {"y": c * row}), np.zeros(3), x, reverse=True)
    total = rlx.fori_loop(0, n, lambda i, c: c * 0.5 + i, total)
    count, last = rlx.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 0.9), (np.int32(0), total))
    return rlx.cond(x[0, 0] > 0, lambda a: a + 1, lambda a: a - 1, last), rows["y"], count


def test_eager_loops_and_branches_give_the_compiled_results() -> None:
    x = np.random.default_rng(1).normal(size=(4, 3))
    compiled = rlx.compile(loops, static="n")
    expected = compiled(x, 3)
    with rlx.eager():
        found = compiled(x, 3)
        with rlx.eager(False):
            for one, other in zip(compiled(x, 3), expected, strict=True):
                np.testing.assert_array_equal(one, other)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)


def test_eager_functions_see_arrays_and_stop_in_a_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        w = np.ones(2)

        @rlx.compile
        def step(self, x: Any) -> Any:
            seen.append(type(x))
            rlx.debug.breakpoint()
            return x @ self.w

    seen, stops = list[Any](), list[str]()
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append("here"))
    with rlx.eager():
        assert Model().step(np.ones(2)) == 2
    assert seen == [np.ndarray] and stops == ["here"]
    with pytest.raises(rlx.GraphError, match=r"debug\.breakpoint: .* run it in rlx\.eager\(\)"):
        Model().step(np.ones(2))


def test_eager_mode_runs_ops_and_functions_with_rules() -> None:
    """Functions that compile themselves for arrays are compiled; those with rules of their own run in Python."""
    seen = list[type]()

    @rlx.custom_vjp
    def square(x: Any) -> Any:
        seen.append(type(x))
        return x * x

    square.defvjp(lambda x: (square(x), x), lambda x, g: (2 * x * g,))

    @rlx.compile
    def step(x: Any) -> Any:
        x = rlx.remat(lambda x: rlx.relu(x) + square(x))(x)
        return rlx.switch(1, [lambda x: x, lambda x: -x], x)

    x = np.array([-1.0, 2.0])
    with rlx.eager():
        np.testing.assert_array_equal(step(x), [-1.0, -6.0])
    assert seen == [np.ndarray]
