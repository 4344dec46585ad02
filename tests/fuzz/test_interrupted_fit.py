"""Ctrl-C in `fit` at random places, in steps that write over their state and in steps that do not: the file is whole,
and a loop that goes on from it ends in the same bits."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import tree as trees
from xdsl_rlx.compiled_function import CompiledFunction

X = np.random.default_rng(1).standard_normal((22, 3))
EPOCHS, SIZE = 4, 4
BATCHES = rlx.Batches({"x": X, "y": X @ [1.0, -2.0, 0.5]}, SIZE, seed=3)
MOST_RUNS = 40

WHERE = ("before", "inside", "after", "first signal", "second signal", "batches", "save", "rename", "evaluate")


def start() -> Any:
    return {"w": np.zeros(3), "m": np.zeros(3), "step": np.zeros((), np.int64), "decay": 0.9}


def moved(state: Any, batch: Any) -> tuple[float, Any]:
    """A step of gradient descent with momentum; the parts of the next state."""
    error = batch["x"] @ state["w"] - batch["y"]
    m = state["decay"] * state["m"] + 2 / len(error) * (batch["x"].T @ error)
    return float(error @ error), {"w": state["w"] - 0.05 * m, "m": m, "step": state["step"] + 1}


class Steps:
    """Steps that are interrupted when a number of them is over, at a place of `WHERE`."""

    def __init__(self, where: str, after: int, donated: bool):
        self.where, self.left, self.donated = where, after, donated

    def interrupt(self, where: str) -> None:
        if self.where == where and self.left <= 0:
            self.left = 1 << 30
            raise KeyboardInterrupt

    def __call__(self, state: Any, batch: Any) -> tuple[float, Any]:
        self.left -= 1
        self.interrupt("before")
        if self.left <= 0 and self.where.endswith("signal"):
            self.left = 1 << 30
            signal.raise_signal(signal.SIGINT)
        loss, new = moved(state, batch)
        if not self.donated:
            self.interrupt("inside")
            return loss, {**state, **new}
        state["w"][...] = new["w"]
        self.interrupt("inside")
        if self.left > 1 << 20 and self.where == "second signal":
            self.where = ""
            signal.raise_signal(signal.SIGINT)
        state["m"][...] = new["m"]
        state["step"][...] = new["step"]
        self.interrupt("after")
        return loss, state

    def batches(self, epoch: int) -> Iterator[Any]:
        for batch in BATCHES.of_epoch(epoch):
            self.interrupt("batches")
            yield batch

    def evaluate(self, state: Any) -> str:
        self.interrupt("evaluate")
        return ""


class Plain(CompiledFunction):
    """Counts as a compiled function that donates nothing."""

    def __init__(self, steps: Steps):
        super().__init__(moved_step)
        self._steps = steps

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._steps(*args, **kwargs)


def same(found: Any, expected: Any) -> bool:
    pairs = zip(trees.flatten(found)[0], trees.flatten(expected)[0], strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def whole_states() -> list[bytes]:
    """The parameters after each number of steps."""
    state, found = start(), [start()["w"].tobytes()]
    for epoch in range(EPOCHS):
        for batch in BATCHES.of_epoch(epoch):
            state = {**state, **moved(state, batch)[1]}
            found.append(state["w"].tobytes())
    return found


@pytest.fixture(autouse=True)
def _default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_a_loop_that_is_interrupted_anywhere_ends_in_the_same_bits(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    expected = rlx.fit(moved_step, start(), BATCHES, EPOCHS, quiet=True)
    states = whole_states()
    path, donated, through = tmp_path / "state.safetensors", bool(rng.integers(2)), bool(rng.integers(2))
    every = None if rng.random() < 0.5 else int(rng.integers(1, 4))
    given, current = start(), Steps("", 0, donated)
    sync, replace = os.fsync, os.replace

    def interrupted(place: str, call: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            current.interrupt(place)
            call(*args)
            current.interrupt(place)

        return run

    monkeypatch.setattr(os, "fsync", interrupted("save", sync))
    monkeypatch.setattr(os, "replace", interrupted("rename", replace))
    found = None
    for run in range(MOST_RUNS):
        # a program that starts anew has a fresh state, one that goes on has what the interrupt left
        given = start() if rng.random() < 0.5 else given
        current = Steps(
            WHERE[rng.integers(len(WHERE))] if run < MOST_RUNS - 1 else "", int(rng.integers(1, 9)), donated
        )
        step: Any = current if donated or rng.random() < 0.5 else Plain(current)
        batches: Any = current.batches if through else BATCHES
        try:
            found = rlx.fit(
                step, given, batches, EPOCHS, current.evaluate, path, 0, True, resume=True, checkpoint_every=every
            )
            break
        except KeyboardInterrupt:
            left = [one for one in os.listdir(tmp_path) if one != path.name]
            assert not left, f"run {run}: {left}"
            if path.exists():
                arrays, texts = rlx.load(path), rlx.metadata(path)
                behind = int(texts["epoch"]) * len(BATCHES) + int(texts.get("batch", "0"))
                assert arrays["step"] == behind and arrays["w"].tobytes() == states[behind], (run, current.where)
    assert found is not None and same(found, expected), seed
    assert rlx.metadata(path) == {"epoch": str(EPOCHS)}


def moved_step(state: Any, batch: Any) -> tuple[float, Any]:
    loss, new = moved(state, batch)
    return loss, {**state, **new}


def compiled(donated: bool) -> Any:
    def step(state: Any, batch: Any) -> Any:
        error = batch["x"] @ state["w"] - batch["y"]
        m = 0.9 * state["m"] + 2 / len(error) * (batch["x"].T @ error)
        # long enough to be interrupted within
        m = rlx.fori_loop(0, 2_000, lambda i, m: 0.5 * (m + m), m)
        return (error * error).sum(), {"w": state["w"] - 0.05 * m, "m": m, "step": state["step"] + 1}

    return rlx.compile(step, donate={"state": 1} if donated else None)


STEPS = {donated: compiled(donated) for donated in (False, True)}


def test_signals_at_random_moments_leave_the_same_bits(rare_seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(rare_seed)
    donated, path = bool(rare_seed // 5 % 2), tmp_path / "state.safetensors"

    def fresh() -> Any:
        return {"w": np.zeros(3), "m": np.zeros(3), "step": np.zeros((), np.int64)}

    expected = rlx.fit(STEPS[donated], fresh(), BATCHES, EPOCHS, quiet=True)
    main = threading.main_thread().ident
    assert main is not None

    def strike(moments: list[float], end: threading.Event) -> None:
        for moment in moments:
            if not end.wait(moment):
                signal.pthread_kill(main, signal.SIGINT)

    found = None
    for run in range(MOST_RUNS):
        moments = [float(rng.exponential(0.004)), float(rng.exponential(0.0005))][: int(rng.integers(1, 3))]
        end = threading.Event()
        striker = threading.Thread(target=strike, args=(moments if run < MOST_RUNS - 1 else [], end))
        try:
            try:
                striker.start()
                found = rlx.fit(STEPS[donated], fresh(), BATCHES, EPOCHS, checkpoint=path, quiet=True, resume=True)
            finally:
                # the second signal may be on its way
                signal.signal(signal.SIGINT, lambda *_: None)
        except KeyboardInterrupt:
            pass
        signal.signal(signal.SIGINT, lambda *_: None)
        end.set()
        striker.join()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if found is not None:
            break
    assert found is not None and same(found, expected), rare_seed
