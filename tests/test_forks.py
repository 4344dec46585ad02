"""Forks: of a process in its first compilation, of one whose children register ops, and the steps around a fork."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import forks
from xdsl_rlx.forks import ForkSteps, process_name

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
PATIENCE = 120
"""Seconds after which a process counts as hanging."""


def status_of_child(work: Callable[[], bool]) -> int:
    """0 where `work` is true in a forked child, which is killed when it hangs."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def registered(factor: float) -> Callable[[], bool]:
    """Register a kernel of one name with a factor of its own, and see that it is what runs."""

    def work() -> bool:
        @rlx.custom_op("forks.times", kernel="nest", shape=lambda x: x, iterations=lambda x: x.shape[0], replace=True)
        def times(it: object, x: object, y: object) -> None:
            y[it.index] = factor * x[it.index]  # pyright: ignore

        g = rlx.Graph("scaled")
        g.set_outputs([times(g.input("x", (4,)))])
        (found,) = rlx.compile(g, 1)(np.ones(4, np.float32))
        return found.tolist() == [factor] * 4

    return work


def test_children_register_kernels_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    assert registered(1.0)()
    assert [status_of_child(registered(factor)) for factor in (2.0, 3.0, 4.0)] == [0, 0, 0]


def test_children_compile_what_they_changed_of_a_kernel_of_their_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    settings = {"factor": 0.0}

    @rlx.custom_op("forks.scaled", kernel="nest", shape=lambda x: x, iterations=lambda x: x.shape[0], replace=True)
    def scaled(it: object, x: object, y: object) -> None:
        y[it.index] = settings["factor"] * x[it.index]  # pyright: ignore

    def work(factor: float) -> bool:
        settings["factor"] = factor
        g = rlx.Graph("changed")
        g.set_outputs([scaled(g.input("x", (4,)))])
        return rlx.compile(g, 1)(np.ones(4, np.float32))[0].tolist() == [factor] * 4

    assert [status_of_child(lambda factor=factor: work(factor)) for factor in (2.0, 3.0)] == [0, 0]


def test_a_child_has_another_name_than_its_parent():
    name = process_name()
    assert status_of_child(lambda: process_name() != name) == 0
    assert process_name() == name


def test_a_fork_beside_the_first_compilation(tmp_path: Path):
    """As `tests/fuzz` does often: the child does the same and ends."""
    done = run_attack("first_compile", 1, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def run_attack(name: str, tries: int, folder: Path) -> "subprocess.CompletedProcess[str]":
    script = Path(__file__).with_name("race_texts.py")
    path = os.pathsep.join([str(script.parent), str(Path(rlx.__file__).parents[1])])
    environment = os.environ | {"PYTHONPATH": path, "XDSL_RLX_CACHE_DIR": str(folder)}
    command = [sys.executable, str(script), name, str(tries)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


class _Steps:
    """Steps that write down when they are done."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.steps = ForkSteps()

    def add(self, name: str, also: Callable[[], object] = lambda: None) -> None:
        def before() -> None:
            self.seen.append(f"before {name}")
            also()

        self.steps.add(before, lambda: self.seen.append(f"parent {name}"), lambda: self.seen.append(f"child {name}"))


def test_the_last_step_is_the_first_before_a_fork_and_the_last_after_it():
    made = _Steps()
    made.add("one")
    made.add("two")
    made.steps.before()
    made.steps.after_in_parent()
    assert made.seen == ["before two", "before one", "parent one", "parent two"]
    made.seen.clear()
    made.steps.before()
    made.steps.after_in_child()
    assert made.seen == ["before two", "before one", "child one", "child two"]


def test_a_step_that_is_added_during_a_fork_is_entered_in_its_place():
    made = _Steps()
    late: list[bool] = []

    def add_once() -> None:
        if not late:
            late.append(True)
            made.add("two")

    made.add("one", add_once)
    made.steps.before()
    made.steps.after_in_parent()
    assert made.seen == ["before one", "parent one", "before two", "before one", "parent one", "parent two"]


def test_a_fork_waits_for_the_imports_of_threads_and_not_for_applications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`numpy_like` counts as a package whose import ends, `application_like` runs until the fork is over."""
    text = "import race_events\nrace_events.begun.set()\nrace_events.go_on.wait()\n"
    for name in ("numpy_like", "application_like"):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "race_events.py").write_text("import threading\nbegun, go_on = threading.Event(), threading.Event()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(forks, "_FINISHES", frozenset(("numpy_like",)))
    from importlib import import_module

    for name in ("application_like", "numpy_like"):
        events = import_module("race_events")
        events.begun.clear()
        events.go_on.clear()
        thread = threading.Thread(target=import_module, args=(name,))
        thread.start()
        events.begun.wait()
        steps, ended = ForkSteps(), threading.Event()

        def fork(steps: ForkSteps = steps, ended: threading.Event = ended) -> None:
            steps.before()
            ended.set()
            steps.after_in_parent()

        forking = threading.Thread(target=fork)
        forking.start()
        assert ended.wait(PATIENCE if name == "application_like" else 0.2) == (name == "application_like")
        events.go_on.set()
        forking.join()
        thread.join()
        assert ended.is_set()
