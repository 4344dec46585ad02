"""Signals that come in while a program runs: Python handles them during the run, and an exception ends it."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import branch_texts as branches
import loop_texts as loops
import numpy as np
import pytest
from xdsl.context import Context

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LoopOp, PollOp
from xdsl_rlx.lowering.backend.driver.interrupts import run_interruptibly
from xdsl_rlx.lowering.backend.driver.layout import PlanTable
from xdsl_rlx.lowering.backend.driver.process import LONG_NS, STRAIGHT_LONG_NS
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime import binding
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.loops.lir_outline_loops import LirOutlineLoopsPass

Array = np.ndarray

LONG = 100_000_000
"""Iterations that take half a minute, a thousand times as long as until the first alarm."""
SIDE = 1024
W = np.linspace(-1, 1, loops.WIDTH, dtype=np.float32)
X = np.ones(loops.WIDTH, np.float32)


def compiled(count: int, threads: int = 2, outlined: bool = False) -> CompiledGraph:
    module = rlx.parse(loops.repeated(count, loops.WIDTH if outlined else 16))
    if outlined:
        LirOutlineLoopsPass().apply(Context(), module)
        LirMarkUnrolledPass().apply(Context(), module)
        assert not any(isinstance(op, LoopOp) for op in module.walk())
    graph = compile_module(module, threads, Effort.QUICK)
    graph.set_param("w", W)
    return graph


def is_right(graph: CompiledGraph, count: int) -> bool:
    return np.array_equal(graph(X)[0], loops.carries(X, np.tile(W, (count, 1)))[-1])


def waits(frame: FrameType | None) -> bool:
    """Whether what a handler came into waits for a run."""
    while frame is not None and frame.f_code is not run_interruptibly.__code__:
        frame = frame.f_back
    return frame is not None


@pytest.fixture
def alarm() -> Iterator[Callable[..., None]]:
    """Has SIGALRM come every so many seconds, for a handler that is called during runs only."""
    before = signal.getsignal(signal.SIGALRM)

    def every(handler: Callable[[int, FrameType | None], object], seconds: float = 0.02) -> None:
        signal.signal(signal.SIGALRM, lambda number, frame: handler(number, frame) if waits(frame) else None)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    yield every
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def once(action: Callable[[], object]) -> Callable[..., None]:
    """A handler that stops the clock and does something, at the first signal: a second may have come by then."""
    called = False

    def handler(*_: object) -> None:
        nonlocal called
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not called:
            called = True
            action()

    return handler


def interrupt() -> None:
    raise KeyboardInterrupt


def test_what_a_handler_raises_stops_the_run(alarm: Callable[..., None]):
    stopped, seen = threading.Event(), list[bool]()
    alarm(once(interrupt))
    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(lambda: seen.append(stopped.wait(20)), stopped.set)
    assert seen == [True]


@pytest.mark.parametrize(("threads", "outlined"), [(1, False), (2, False), (2, True)])
def test_an_interrupt_ends_a_loop_and_leaves_params_as_they_were(
    threads: int, outlined: bool, alarm: Callable[..., None]
):
    graph, few = compiled(LONG, threads, outlined), compiled(3, threads, outlined)
    alarm(once(interrupt))
    with pytest.raises(KeyboardInterrupt):
        graph(X)
    assert np.array_equal(graph.weights["w"], W)
    assert is_right(few, 3)


@pytest.fixture(scope="module")
def chain() -> rlx.Graph:
    """Launches one behind the other that take more than a second."""
    g = rlx.Graph("chain")
    x, w, done = g.input("x", (SIDE, SIDE)), g.param("w", (SIDE, SIDE)), g.param("done", (SIDE, SIDE))
    for _ in range(80):
        x = g.tanh(x @ w)
    g.set_outputs([g.reduce_sum(x), done + x])
    return g


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_program_of_many_launches(chain: rlx.Graph, threads: int, alarm: Callable[..., None]):
    graph = rlx.compile(chain, threads=threads, donate={"done": 1})
    w, done = np.eye(SIDE, dtype=np.float32), np.zeros((SIDE, SIDE), np.float32)
    graph.set_param("w", w)
    graph.set_param("done", done)
    alarm(once(interrupt))
    with pytest.raises(KeyboardInterrupt):
        graph(np.zeros((SIDE, SIDE), np.float32))
    # the last launch, which updates it, was never reached
    assert np.array_equal(graph.weights["done"], done) and np.array_equal(graph.weights["w"], w)


def test_a_short_program_of_launches_stays_with_its_thread():
    g = rlx.Graph("short")
    g.set_outputs([g.tanh(g.input("x", (8,)))])
    graph = rlx.compile(g, threads=1)
    for _ in range(2):
        graph(np.zeros(8, np.float32))
    plan = graph._binding.plan
    assert plan.get(PlanTable.NS) < plan.get(PlanTable.LONG_NS) == STRAIGHT_LONG_NS


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_loop_of_which_nothing_said_that_it_is_long(threads: int, alarm: Callable[..., None]):
    graph = compile_module(rlx.parse(branches.counted_down()), threads, Effort.QUICK)
    graph.set_param("w", W)
    few = np.array(3)
    for _ in range(20):
        assert np.array_equal(graph(few, X)[0], loops.carries(X, np.tile(W, (3, 1)))[-1])
    for _ in range(2):
        alarm(once(interrupt))
        with pytest.raises(KeyboardInterrupt):
            graph(np.array(LONG), X)
        assert np.array_equal(graph.weights["w"], W)
        assert np.array_equal(graph(few, X)[0], loops.carries(X, np.tile(W, (3, 1)))[-1])


@pytest.mark.parametrize("backend", Backend)
@pytest.mark.parametrize("inner", [False, True])
def test_an_interrupt_ends_loops_that_are_one_kernel(inner: bool, backend: Backend, alarm: Callable[..., None]):
    """Of two loops in each other that count up to `n`, one goes on for ever where `n` is negative."""

    def f(n: Array, x: Array) -> Array:
        def count(state: Any) -> Any:
            i, x = state
            _, x = rlx.while_loop(lambda s: s[0] != stop, lambda s: (s[0] + 1, np.cos(s[1])), (0 * n, x))
            return i + 1, x

        stop = n if inner else n * 0 + 2
        return rlx.while_loop(lambda s: s[0] != n, count, (0 * n, x))[1]

    few, x = np.array(3), np.ones(3)
    graph = compile_module(rlx.trace(f, few, x).module, 1, Effort.QUICK, backend)
    assert any(isinstance(op, PollOp) for op in lower_to_lir(rlx.trace(f, few, x).module).walk())
    (expected,) = graph(few, x)
    for _ in range(2):
        alarm(once(interrupt))
        with pytest.raises(KeyboardInterrupt):
            graph(np.array(-1), x)
        assert np.array_equal(graph(few, x)[0], expected)


@pytest.mark.parametrize("slow_call", [False, True])
def test_a_loop_that_turns_out_to_be_long_begins_anew_on_a_thread(slow_call: bool, monkeypatch: pytest.MonkeyPatch):
    graph = compile_module(rlx.parse(branches.counted_down()), 1, Effort.QUICK)
    graph.set_param("w", W)
    call, started = graph._binding.call if slow_call else graph, list[int]()
    # at the first call nothing is known
    call(np.array(3), X)
    monkeypatch.setattr(binding, "run_interruptibly", lambda run, stop: (started.append(1), run()))
    found = [call(np.array(n), X)[0] for n in (3, 500_000, 500_000)]
    assert len(started) == 2 and np.array_equal(found[1], found[2])
    assert np.array_equal(found[0], loops.carries(X, np.tile(W, (3, 1)))[-1])
    # until a run is timed again, nothing says that they have become short
    for _ in range(16):
        graph(np.array(3), X)
    started.clear()
    # where the result lies in an argument, that is as it was when the run begins anew
    argument = X.copy()
    graph(np.array(500_000), argument, out=(argument,))
    assert started == [1] and np.array_equal(argument, found[1])


def test_a_run_left_anywhere_in_loops_and_branches_leaves_nothing_to_be_undone(alarm: Callable[..., None]):
    graph = compile_module(rlx.parse(branches.counted_in_turn(5, 3)), 2, Effort.QUICK)
    ns, xs = np.array([3, 0, 4, 1, 2]), np.random.default_rng(3).standard_normal((5, 3, loops.WIDTH)).astype(np.float32)
    expected, rng = branches.in_turn(ns, xs), np.random.default_rng(4)
    for _ in range(10):
        alarm(once(interrupt), rng.uniform(0.001, 0.01))
        with pytest.raises(KeyboardInterrupt):
            graph(np.array([3, 0, LONG, 1, 2]), xs)
        assert np.array_equal(graph(ns, xs)[0], expected)


def test_a_graph_that_was_interrupted_can_be_interrupted_again(alarm: Callable[..., None]):
    graph = compiled(LONG)
    for _ in range(2):
        alarm(once(interrupt))
        with pytest.raises(KeyboardInterrupt):
            graph(X)


def test_the_exception_is_the_handlers_own(alarm: Callable[..., None]):
    def handler() -> None:
        raise TimeoutError("enough")

    alarm(once(handler))
    with pytest.raises(TimeoutError, match="enough"):
        compiled(LONG)(X)


def test_a_handler_that_returns_lets_the_loop_go_on(alarm: Callable[..., None]):
    graph = compiled(500_000)
    seen = list[int]()
    alarm(lambda *_: seen.append(1), 0.001)
    (found,) = graph(X)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert seen and np.array_equal(found, graph(X)[0])


def test_a_handler_that_runs_a_graph_waits_for_the_end_of_the_run(alarm: Callable[..., None]):
    graph, few, right = compiled(500_000), compiled(3), list[bool]()
    expected = graph(X)[0]
    alarm(once(lambda: right.append(is_right(few, 3))), 0.001)
    assert np.array_equal(graph(X)[0], expected)
    assert right == [True]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_handler_that_forks_waits_for_the_end_of_the_run(alarm: Callable[..., None]):
    graph, codes = compiled(500_000), list[int]()

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(7)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    expected = graph(X)[0]
    alarm(once(fork), 0.001)
    assert np.array_equal(graph(X)[0], expected)
    assert codes == [7]


def test_short_runs_and_those_of_other_threads_start_no_thread():
    few, found = compiled(3), list[bool]()
    for _ in range(3):
        assert is_right(few, 3)
    assert few._binding.plan.get(PlanTable.NS) < LONG_NS
    thread = threading.Thread(target=lambda: found.append(is_right(compiled(30), 30)))
    thread.start()
    thread.join()
    assert found == [True]


def test_an_interrupt_at_any_moment_ends_the_run_and_no_other():
    """Around the start of a thread and its end, where a handler may come between any two steps."""
    graph, few = compiled(20_000), compiled(3)
    rng, interrupted = np.random.default_rng(0), 0
    usual = signal.getsignal(signal.SIGALRM)
    try:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for _ in range(200):
            graph._binding.plan.set(PlanTable.NS, 1 << 40)
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 2e-3))
                graph(X)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert interrupted > 20 and is_right(few, 3) and is_right(graph, 20_000)
