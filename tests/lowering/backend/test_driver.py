"""The pool and the launch walker: every chunk once, in order where order counts, at any number of threads."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import xdsl_rlx
from xdsl_rlx.lowering.backend.driver import scheduler
from xdsl_rlx.lowering.backend.driver.manifest import FIRST_BUFFER, ScheduledLaunch
from xdsl_rlx.lowering.backend.driver.phases import phases
from xdsl_rlx.lowering.backend.driver.process import address, driver, make_plan, pool, thread_count
from xdsl_rlx.lowering.backend.machine import blas_library
from xdsl_rlx.lowering.backend.machine.llvm import compile_llvm, load_object, processor
from xdsl_rlx.lowering.backend.machine.workers import cores
from xdsl_rlx.lowering.run_errors import ConfigurationError


def launch(kernel: str, chunks: int, independent: bool = False) -> ScheduledLaunch:
    return ScheduledLaunch(kernel, chunks, 1, (), independent)


def test_serial_launches_in_a_row_are_one_phase():
    split = phases([launch(name, count) for name, count in (("a", 1), ("b", 1), ("c", 4), ("d", 2), ("e", 1))])
    assert [("".join(one.kernel for one in phase.launches), phase.serial) for phase in split] == [
        ("ab", True),
        ("c", False),
        ("d", False),
        ("e", True),
    ]


def test_independent_launches_are_shared_out_together():
    split = phases([launch("a", 1), launch("b", 3, True), launch("c", 1, True), launch("d", 1), launch("e", 1)])
    assert [("".join(one.kernel for one in phase.launches), phase.serial) for phase in split] == [
        ("abc", False),
        ("de", True),
    ]


def test_a_launch_independent_of_only_the_last_of_several_waits_for_them():
    split = phases([launch("a", 1), launch("b", 1), launch("c", 2, True), launch("d", 1)])
    assert [("".join(one.kernel for one in phase.launches), phase.serial) for phase in split] == [
        ("ab", True),
        ("c", False),
        ("d", True),
    ]


def test_empty_launches_are_left_out():
    assert phases([launch("a", 0)]) == []


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
def test_many_phases_give_the_exact_sum_at_any_thread_count(build, make, threads: int):
    x = np.arange(1000, dtype=np.float32)
    graph = build(make.sum(1000, repeats=300), threads)
    assert all(graph(x)[0] == 499500 for _ in range(20))


@pytest.mark.usefixtures("eight_cores")
def test_results_have_the_same_bits_at_any_thread_count(build, make):
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    results = {graph(x)[0].tobytes() for graph in (build(make.sum(5000), n) for n in (1, 2, 4)) for _ in range(50)}
    assert len(results) == 1


def test_more_chunks_than_tickets(build, make):
    size = 200_000
    x = np.arange(size, dtype=np.float32)
    (y,) = build(make.add(size, chunk=1), 2)(x, x)
    assert np.array_equal(y, x + x)


@pytest.mark.usefixtures("eight_cores")
def test_independent_launches_run(build, make):
    size = 64
    launches = [
        ScheduledLaunch(
            "add", size, 16, ((FIRST_BUFFER, 0), (FIRST_BUFFER, 0), (FIRST_BUFFER + 1 + n, 0)), independent=n > 0
        )
        for n in range(3)
    ]
    specs = [make.spec(f"y{n}", size) for n in range(3)]
    x = np.arange(size, dtype=np.float32)
    for threads in (1, 2, 4):
        results = build(make.program([make.spec("x", size)], specs, launches), threads)(x)
        assert all(np.array_equal(result, 2 * x) for result in results)


def test_workers_wake_after_sleeping(build, make):
    size = 1 << 18
    graph = build(make.add(size, chunk=1 << 12), 2)
    x = np.ones(size, np.float32)
    for _ in range(5):
        time.sleep(0.002)
        assert (graph(x, x)[0] == 2).all()


def test_a_program_without_chunks_starts_no_worker_and_none_has_more_than_the_cores(build, make):
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from conftest import TEXT, add_program
from xdsl_rlx.lowering.backend.machine.llvm import compile_llvm, load_object
from xdsl_rlx.lowering.backend.driver.process import pool
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
x = np.ones(8, np.float32)
code = load_object(compile_llvm(TEXT), ["add"])
CompiledGraph(add_program(8), code, 4)(x, x)
print(pool().workers)
CompiledGraph(add_program(8, 1), code, 64)(x, x)
print(pool().workers)
"""
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": str(Path(xdsl_rlx.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=True)
    # and the process ends in peace while workers sleep
    assert done.stdout.split() == ["0", str(min(64, cores()) - 1)] and done.stderr == ""


def test_denormals_are_kept_whatever_mode_the_caller_is_in(build, make):
    modes = """
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
define void @load(ptr %p) { call void @llvm.x86.sse.ldmxcsr(ptr %p)  ret void }
define void @save(ptr %p) { call void @llvm.x86.sse.stmxcsr(ptr %p)  ret void }"""
    x = np.full(64, 1e-41, np.float32)
    graph = build(make.add(64, chunk=4), 2)
    expected = x + x
    # numbers are made here, and compared by their bits: in the mode below NumPy takes them for zeros too
    many = np.full(1 << 21, x[0])
    bits = many.view(np.int32)
    if processor() != "x86_64":
        assert np.array_equal(graph(x, x)[0], expected)
        return
    loaded = load_object(compile_llvm(modes), ["load", "save"])
    load, save = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded[name]) for name in ("load", "save"))
    word = ctypes.c_uint32(0x1F80 | 0x8040)
    load(ctypes.byref(word))
    try:
        results = [graph(x, x)[0].tobytes() for _ in range(50)]
        # with workers that are started in this mode, which threads inherit; runs are long enough for them to wake
        pool().ensure_workers(pool().workers + 2)
        more = build(make.add(len(many), chunk=1 << 10), pool().workers + 1)
        right = [np.array_equal(more(many, many)[0].view(np.int32), 2 * bits) for _ in range(50)]
        save(ctypes.byref(word))
    finally:
        load(ctypes.byref(ctypes.c_uint32(0x1F80)))
    assert set(results) == {expected.tobytes()} and all(right) and word.value & 0x8040 == 0x8040


def test_calls_from_many_threads(build, make):
    graphs = [build(make.sum(1000, repeats=20), threads) for threads in (1, 2, 4)]
    inputs = [np.full(1000, value, np.float32) for value in range(8)]
    wrong = list[float]()

    def work(value: int) -> None:
        for _ in range(100):
            wrong.extend(y for graph in graphs if (y := graph(inputs[value])[0]) != 1000 * value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_its_own_workers(build, make):
    x = np.arange(1000, dtype=np.float32)
    graph = build(make.sum(1000, repeats=50), 2)
    stop = threading.Event()

    def keep_running() -> None:
        while not stop.is_set():
            graph(x)

    thread = threading.Thread(target=keep_running)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                ok = pool().workers == 0 and all(graph(x)[0] == 499500 for _ in range(20))
                ok = ok and pool().workers == min(2, cores()) - 1
                os._exit(0 if ok else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert graph(x)[0] == 499500


def test_blas_runs_in_the_table_and_gets_its_threads_back(build, make):
    size = 64
    launches = [ScheduledLaunch("gemm", size, 4, tuple((FIRST_BUFFER + n, 0) for n in range(3)))]
    specs = [make.spec("a", size, 8), make.spec("b", 8, 8)]
    graph = build(make.program(specs, [make.spec("c", size, 8)], launches, needs_blas=True), 2)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, shape).astype(np.float32) for shape in ((size, 8), (8, 8)))
    library = blas_library.provider()
    if not library.get_threads:
        assert np.array_equal(graph(a, b)[0], a @ b)
        return
    get = ctypes.CFUNCTYPE(ctypes.c_int)(library.get_threads)
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(library.set_threads)
    before = get()
    try:
        put(2)
        assert np.array_equal(graph(a, b)[0], a @ b)
        assert get() == 2
    finally:
        put(before)


@pytest.mark.parametrize(("most", "threads", "found", "calls"), [
    (4, 2, 3, [1, 2, 1, 3]), (2, 4, 3, [1, 2, 1, 3]), (4, 1, 3, [1, 3]), (1, 2, 3, [1, 3]), (4, 2, 1, [])
])  # fmt: skip
def test_a_launch_of_one_chunk_may_have_threads_of_blas(
    build, make, monkeypatch: pytest.MonkeyPatch, most: int, threads: int, found: int, calls: list[int]
):
    """As many as the launch, the program and the process have."""
    seen = list[int]()
    get, put = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: found), ctypes.CFUNCTYPE(None, ctypes.c_int)(seen.append)
    places = [ctypes.cast(x, ctypes.c_void_p).value or 0 for x in (get, put)]
    library = replace(blas_library.provider(), get_threads=places[0], set_threads=places[1])
    monkeypatch.setattr(blas_library, "provider", lambda: library)
    launch = ScheduledLaunch("add", 8, 8, tuple((FIRST_BUFFER + n, 0) for n in range(3)), blas_threads=most)
    specs = [make.spec(name, 8) for name in "abc"]
    graph = build(make.program(specs[:2], specs[2:], [launch], needs_blas=True), threads)
    x = np.ones(8, np.float32)
    assert np.array_equal(graph(x, x)[0], x + x) and seen == calls


def test_a_launch_with_threads_of_blas_is_a_phase_of_its_own():
    split = phases([launch("a", 1), replace(launch("b", 1, independent=True), blas_threads=2), launch("c", 1)])
    assert [one.kernel for phase in split for one in phase.launches] == ["a", "b", "c"] and len(split) == 3


def test_every_function_of_the_table_is_found():
    library = blas_library.provider()
    assert len(library.addresses) == len(blas_library.FUNCTIONS) and all(library.addresses)


def test_scipy_without_a_bundled_openblas_is_enough():
    library = blas_library._cython_blas()
    assert all(library.addresses) and library.set_threads == 0


def test_an_unknown_blas_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_BLAS", "atlas")
    with pytest.raises(ConfigurationError, match="XDSL_RLX_BLAS must be mkl or openblas, got 'atlas'"):
        blas_library.provider.__wrapped__()


@pytest.mark.parametrize("value", [0, -1, 1025, True, 2.0, "2"])
def test_bad_thread_counts_are_errors(value: object):
    with pytest.raises(ConfigurationError, match="threads must be an integer from 1 to 1024"):
        thread_count(value)


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "99999"])
def test_bad_thread_counts_in_the_environment_are_errors(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("XDSL_RLX_NUM_THREADS", value)
    with pytest.raises(ConfigurationError, match=f"XDSL_RLX_NUM_THREADS must be .* got '{value}'"):
        thread_count()


@pytest.mark.usefixtures("eight_cores")
def test_the_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_NUM_THREADS", "3")
    assert (thread_count(), thread_count(5)) == (3, 5)
    monkeypatch.delenv("XDSL_RLX_NUM_THREADS")
    assert thread_count() == 8


def test_threads_are_at_most_the_cores(monkeypatch: pytest.MonkeyPatch):
    most = len(os.sched_getaffinity(0))
    assert [thread_count(n) for n in (1, most, most + 1, 1024)] == [1, most, most, most]
    monkeypatch.setenv("XDSL_RLX_NUM_THREADS", "1024")
    assert thread_count() == thread_count(None) == most
    compiled = xdsl_rlx.compile(lambda x: np.tanh(x @ x), threads=1024)
    x = np.eye(300, dtype=np.float32)
    assert np.array_equal(compiled(x), xdsl_rlx.compile(lambda x: np.tanh(x @ x), threads=most)(x))


def test_the_drivers_python_does_what_its_machine_code_does(code: bytes, make):
    program = make.sum(100)
    loaded = load_object(code, program.kernels)
    x = np.arange(100, dtype=np.float32)
    results = list[float]()
    for run in (driver().run, scheduler.rlx_run):
        plan = make_plan(program, loaded.addresses, 1)
        y = np.zeros((), np.float32)
        plan.set_base(FIRST_BUFFER, address(x))
        plan.set_base(FIRST_BUFFER + 1, address(y))
        block = plan.template.copy()
        run(plan.address, address(block))
        results.append(float(y))
    assert results == [4950, 4950]
