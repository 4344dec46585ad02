"""`Weights` under threads: in which order a first value becomes known, and that there is one memory of it."""

import threading
from collections.abc import Callable

import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.backend.runtime.weights import Weights

SPEC = TensorSpec("w", (4,), "f32")


class Reader:
    """Writes down where a param lies, and does something when it is told."""

    def __init__(self, when_told: Callable[[], object] = lambda: None) -> None:
        self.told: list[int] = []
        self._when_told = when_told

    def found(self, name: str, place: int) -> None:
        self.told.append(place)
        self._when_told()


def test_readers_know_where_a_value_lies_before_anybody_is_told_that_there_is_one():
    weights, seen = Weights(), list[bool]()
    readers = [Reader(lambda: seen.append("w" in weights)) for _ in range(3)]
    for reader in readers:
        weights.declare([SPEC], reader)
    weights["w"] = np.ones(4, np.float32)
    assert seen == [False] * 3 and "w" in weights
    assert {(*reader.told,) for reader in readers} == {(weights.address("w"),)}


def test_a_second_first_set_and_a_late_reader_meet_the_one_memory():
    """Both come while the first set is half done, from other threads."""
    weights, begun = Weights(), threading.Event()
    late = Reader()
    others = [
        threading.Thread(target=weights.__setitem__, args=("w", np.full(4, 2.0, np.float32))),
        threading.Thread(target=weights.declare, args=([SPEC], late)),
    ]

    def begin_others() -> None:
        if not begun.is_set():
            begun.set()
            for thread in others:
                thread.start()
            # as long as it takes others that do not wait
            for thread in others:
                thread.join(0.1)

    early = Reader(begin_others)
    weights.declare([SPEC], early)
    weights["w"] = np.ones(4, np.float32)
    for thread in others:
        thread.join()
    assert early.told == late.told == [weights.address("w")]
    assert weights["w"].tolist() == [2.0] * 4


def test_what_is_declared_meanwhile_does_not_end_an_iteration():
    weights = rlx.Weights()
    for n in range(3):
        weights.declare([TensorSpec(f"w{n}", (4,), "f32")])
        weights[f"w{n}"] = np.ones(4, np.float32)
    seen = list[str]()
    for name in weights:
        seen.append(name)
        weights.declare([TensorSpec(f"more{name}", (4,), "f32")])
    assert seen == ["w0", "w1", "w2"]
