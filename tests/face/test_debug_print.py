"""Lines of `debug.print` from compiled code: those of the Python function, in its order, once each."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

import xdsl_rlx as rlx

X = np.array([0.5, 1.5, -0.5])
show = rlx.debug.print


def lines(function: Callable[..., Any], *args: Any) -> list[str]:
    """What a call prints."""
    with redirect_stdout(io.StringIO()) as text:
        function(*args)
    return text.getvalue().splitlines()


def eager(function: Callable[..., Any], *args: Any) -> list[str]:
    """What the Python function prints."""
    with rlx.eager():
        return lines(rlx.compile(function), *args)


def printed(word: str, x: Any, result: Any) -> Any:
    show(word + " {:.4f}", x)
    return result


def loops(x: Any) -> Any:
    """Loops in loops and branches, of which some give nothing that anybody reads."""
    show("start")

    def step(carry: Any, e: Any) -> Any:
        show("carry {:.4f}, e {:.4f}", carry, e)
        inner = rlx.fori_loop(0, 2, lambda i, v: printed("inner", v, np.sin(v) + i), carry)
        twice = rlx.cond(inner > 0.8, lambda v: printed("above", v, v * 0.5), lambda v: printed("below", v, v), inner)
        rlx.switch((e > 0).astype("i4"), [lambda: printed("e <= 0", e, e), lambda: printed("e > 0", e, e)])
        return twice + e, rlx.remat(lambda v: printed("remat", v, v * v))(inner)

    carry, ys = rlx.scan(step, x.sum(), x, reverse=True)
    rlx.map(lambda e: printed("unused", e, e), x)
    rlx.scan(lambda c, e: (printed("unused carry", c, c + e), None), carry, x)
    more = rlx.while_loop(
        lambda c: c[1] < 2, lambda c: (printed("while", c[0], c[0] * 0.9), c[1] + 1), (carry, 0), max_iterations=3
    )[0]
    wide = np.tanh(np.outer(x, np.ones(4000))).sum() * 1e-6
    show("end {:.4f}", more)
    return more + ys.sum() + wide


def near(found: list[str], expected: list[str]) -> bool:
    """Whether lines have the same words in the same order, and numbers that differ in the last digit at most."""
    number = re.compile(r"-?\d+\.\d+")
    if [number.sub("#", line) for line in found] != [number.sub("#", line) for line in expected]:
        return False
    both = zip(number.findall("\n".join(found)), number.findall("\n".join(expected)), strict=True)
    return all(abs(float(a) - float(b)) < 2e-4 for a, b in both)


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "grad": rlx.grad,
    "jvp": lambda f: lambda x: rlx.jvp(f)((x,), (x,)),
    "hvp": lambda f: lambda x: rlx.hvp(f)((x,), x),
    "jacfwd": rlx.jacfwd,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_lines_are_those_of_the_python_function_once_and_in_order(name: str) -> None:
    expected = eager(loops, X)
    assert len(expected) > 25
    assert near(lines(rlx.compile(TRANSFORMS[name](loops), threads=2), X), expected)


def test_a_batch_prints_the_examples_that_get_there_in_their_order() -> None:
    def function(x: Any, k: Any) -> Any:
        show("shared {}", k)
        y = rlx.cond(x > 1.0, lambda: printed("big", x, x * 2), lambda: printed("small", x, x))
        return rlx.while_loop(lambda c: c < 3.0, lambda c: printed("while", c, c + 1.0), y)

    batch = rlx.compile(rlx.vmap(function, in_axes=(0, None)))
    assert lines(batch, np.array([0.5, 2.0, 1.5]), 7) == [
        "shared 7",
        *("big 2.0000", "big 1.5000", "small 0.5000"),
        *("while 0.5000", "while 1.5000", "while 2.5000"),
    ]
    both = rlx.vmap(rlx.vmap(lambda a, b: printed("a", a, a * b), (0, None)), (None, 0))
    assert lines(rlx.compile(both), np.array([1.0, 2.0]), np.ones(2)) == ["a 1.0000", "a 2.0000"]
    assert lines(rlx.compile(rlx.vmap(function, in_axes=(0, None))), np.zeros(0), 7) == ["shared 7"]


def test_fields_show_what_str_format_shows() -> None:
    def function(x: Any, n: Any, half: Any, z: Any) -> Any:
        show("{} {0.shape}".replace("{}", "{0}"), x)
        show('{n:>4d}|{n!r}|{h:.2f}|{h}|{z}|{w:{d}}|{{}}|ü "\\', n=n, h=half, z=z, w="w", d=3)
        show("{tree}", tree={"a": (x[0],), "b": [x[1], None]})
        show("{} {}", x.T, np.ones(1))
        return x

    found = lines(rlx.compile(function), X, np.int64(7), np.float16(0.1), np.complex64(1 + 2j))
    assert found == [
        "[ 0.5  1.5 -0.5] (3,)",
        '   7|np.int64(7)|0.10|0.1|(1+2j)|w  |{}|ü "\\',
        "{'a': (0.5,), 'b': [1.5, None]}",
        "[ 0.5  1.5 -0.5] [1.]",
    ]
    assert lines(show, "now {:.1f} {}", 0.25, X) == ["now 0.2 [ 0.5  1.5 -0.5]"]


@pytest.mark.parametrize(
    ("fmt", "args", "kwargs", "message"),
    [
        ("{", 0, {}, r"expected a format string of str\.format, got '\{': .*; write \{\{ and \}\} for braces"),
        ("{} {}", 1, {}, r"field \{\}: expected one of the arguments 0.*; pass the value"),
        ("{y}", 0, {"x": X}, r"field \{y\}: expected one of the arguments x"),
        ("a", 1, {}, r"no field of 'a' shows positional argument 0; add \{\}"),
        ("a", 0, {"x": X}, r"no field of 'a' shows argument 'x'; add \{x\}"),
        ("{:.3f}", 1, {}, r"field \{:\.3f\}: .* shape \(3,\) and dtype float64, got '\.3f'.*or index the array"),
        ("{} {0}", 1, {}, r"field \{0\}: expected all fields with numbers, or none"),
        ("{!z}", 1, {}, r"field \{!z\}: expected the conversion r, s or a, got 'z'"),
        ("{0.nothing}", 1, {}, r"field \{0\.nothing\}: .*no attribute"),
        ("{1:{0}}", 2, {}, r"expected widths and precisions known at trace time, got a traced value; pass a Python"),
        (3, 0, {}, r"expected a format string such as 'x = \{\}', got 3"),
    ],
)
def test_a_wrong_format_is_refused_while_tracing(fmt: Any, args: int, kwargs: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        rlx.trace(lambda x: (show(fmt, *[x] * args, **kwargs), x)[1], X)


def test_donated_arguments_are_printed_before_they_are_overwritten() -> None:
    @rlx.compile(donate="state", threads=2)
    def step(state: Any, g: Any) -> Any:
        new = state - g
        show("new {}", new)
        show("old {}", state)
        return new

    for _ in range(2):
        assert lines(step, np.ones(2), np.full(2, 0.5)) == ["new [0.5 0.5]", "old [1. 1.]"]


def test_memory_saving_gradients_and_training_halves_print_once() -> None:
    def loss(w: Any, xs: Any) -> Any:
        c, ys = rlx.scan(lambda c, x: (np.tanh(printed("e", x.sum(), c @ w)) + x, c.sum()), xs[0], xs, checkpoints=2)
        return (c * c).sum() + ys.sum()

    w, xs = np.eye(3), np.arange(24.0).reshape(8, 3)
    assert lines(rlx.compile(rlx.value_and_grad(loss)), w, xs) == eager(loss, w, xs)

    g = rlx.Graph("halves")
    x, v = g.input("x", (3,)), g.param("v", (3,))
    h, _ = g.scan(lambda c, _: ((g.debug_print("c {0}", g.reduce_sum(c)), g.tanh(c * v))[1], None), x, None, 2)
    g.debug_print("h {0:.3f}", g.reduce_sum(h))
    g.set_outputs([g.reduce_sum(h * h)])
    program = rlx.compile_training(g)
    program.weights["v"] = np.ones(3, np.float32)
    given = np.zeros(3, np.float32)
    expected = ["c 0.0", "c 0.0", "h 0.000"]
    assert lines(program.step, given) == lines(program.forward, given) == expected
    assert lines(program.backward) == []


def test_children_threads_and_nan_checks_print() -> None:
    run = rlx.compile(lambda x: printed("x", x[0], np.sqrt(x)))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, "\n".join(lines(run, X)).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == "x 0.5000"
    with redirect_stdout(io.StringIO()) as text:
        threads = [threading.Thread(target=run, args=(X,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert text.getvalue().splitlines() == ["x 0.5000"] * 3
    with redirect_stdout(io.StringIO()) as text, rlx.debug.check_nans(), pytest.raises(rlx.NanError, match="sqrt"):
        run(X)
    assert text.getvalue() == "x 0.5000\n"


@pytest.mark.optimised
def test_machine_code_of_another_process_prints() -> None:
    name = uuid4().hex
    run = rlx.compile(rlx.trace(lambda x: (show(name + " {}", x), x + 1)[1], np.zeros(2)))
    assert not run.from_cache and lines(run, np.ones(2)) == [f"{name} [1. 1.]"]
    text = (
        "import numpy as np, xdsl_rlx as rlx\n"
        f"run = rlx.compile(rlx.trace(lambda x: (rlx.debug.print('{name} {{}}', x), x + 1)[1], np.zeros(2)))\n"
        "run(np.ones(2))\n"
        "print(run.from_cache)\n"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    assert found == f"{name} [1. 1.]\nTrue\n"


def test_errors_and_interrupts_in_a_print_leave_the_process_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(io.StringIO):
        def write(self, text: str, /) -> int:
            raise ValueError("no console")

    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: seen.append(event.exc_value))
    run = rlx.compile(lambda x: printed("x", x[0], x * 2))
    with redirect_stdout(Refusing()):
        np.testing.assert_array_equal(run(X), X * 2)
    assert [str(error) for error in seen] == ["no console"]

    class Interrupting(io.StringIO):
        def write(self, text: str, /) -> int:
            if text.startswith("c 5"):
                os.kill(os.getpid(), signal.SIGINT)
            return super().write(text)

    long = rlx.compile(lambda x: rlx.while_loop(lambda c: c < 100_000, lambda c: (show("c {}", c), c + 1)[1], x))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background begin without
    try:
        with redirect_stdout(Interrupting()), pytest.raises(KeyboardInterrupt):
            long(np.int64(0))
    finally:
        signal.signal(signal.SIGINT, before)
    assert lines(run, X) == ["x 0.5000"]


def test_printed_modules_and_programs_without_prints() -> None:
    graph = rlx.trace(lambda x: printed("x", x[0], x), X)
    with pytest.raises(rlx.GraphError, match=r"debug_print .*has no form in a printed module: remove debug\.print"):
        rlx.compile(graph, backend="numba")
    quiet = rlx.compile(rlx.trace(lambda x: x * 2, X))
    assert not quiet.program.prints and quiet.program.repeatable
    with rlx.eager():
        np.testing.assert_array_equal(rlx.switch(5, [lambda x: x, lambda x: x + 1], X), X + 1)
        np.testing.assert_allclose(rlx.relu(X), np.maximum(X, 0))
