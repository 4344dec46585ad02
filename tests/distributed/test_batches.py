"""Parts of batches, for processes that an engine without a network stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.collectives import Engine, connect


class Alone(Engine):
    """One of several processes, whose others do not exist."""

    def __init__(self, rank: int, size: int):
        self.rank, self.size = rank, size

    @property
    def table(self) -> int:
        raise AssertionError("batches call no collective")

    def function(self) -> int:
        raise AssertionError("batches call no collective")

    def starting(self) -> tuple[int, int, int]:
        raise AssertionError("batches call no collective")

    def failure(self) -> str | None:
        return None

    def settle(self) -> None:
        """None is begun."""


@contextmanager
def process(rank: int, size: int) -> Iterator[None]:
    connect(Alone(rank, size))
    try:
        yield
    finally:
        connect(None)


def parts(batches: rlx.Batches, size: int, epoch: int, first: int) -> list[list[Any]]:
    """The batches of each process."""
    found: list[list[Any]] = []
    for rank in range(size):
        with process(rank, size):
            found.append(list(batches.of_epoch(epoch, first)))
    return found


@hypothesis.settings(max_examples=200, deadline=None)
@hypothesis.given(st.data())
def test_parts_are_those_of_the_batches_of_one_process(data: st.DataObject) -> None:
    processes = data.draw(st.integers(1, 9))
    size = processes * data.draw(st.integers(1, 9))
    drop_last = data.draw(st.booleans())
    rest = (
        data.draw(st.integers(0, size - 1)) if drop_last else processes * data.draw(st.integers(0, size // processes))
    )
    count = size * data.draw(st.integers(1, 5)) + rest
    seed, epoch = data.draw(st.none() | st.integers(0, 9)), data.draw(st.integers(0, 3))
    arrays = {"x": np.arange(2 * count).reshape(count, 2), "y": np.arange(count)}
    whole, shared = (rlx.Batches(arrays, size, seed, drop_last, shard) for shard in (False, True))
    assert whole.order == shared.order
    first = data.draw(st.integers(0, len(whole)))
    expected = list(whole.of_epoch(epoch, first))
    found = parts(shared, processes, epoch, first)
    assert {len(one) for one in found} == {len(expected)}
    for number, batch in enumerate(expected):
        mine = [one[number] for one in found]
        assert len({len(one["y"]) for one in mine}) == 1
        for name in arrays:
            assert np.array_equal(np.concatenate([one[name] for one in mine]), batch[name])


def test_batches_that_are_not_sharded_are_whole_on_all() -> None:
    batches = rlx.Batches(np.arange(12), 5)
    assert all(len(one) == len(batches) and len(one[0]) == 5 for one in parts(batches, 3, 0, 0))


@pytest.mark.parametrize(
    ("count", "size", "drop_last", "message"),
    [
        (12, 5, True, "2 processes cannot have equal parts of batches of 5 rows; take a size that is a multiple of 2"),
        (13, 4, False, "equal parts of the last batch of 1 rows; pass drop_last=True, or take a multiple of 2 rows"),
    ],
)
def test_batches_that_cannot_be_divided_are_refused(count: int, size: int, drop_last: bool, message: str) -> None:
    # made before `init` they are refused when they are read
    before = rlx.Batches(np.arange(count), size, drop_last=drop_last, shard=True)
    with process(0, 2):
        with pytest.raises(rlx.GraphError, match=message):
            rlx.Batches(np.arange(count), size, drop_last=drop_last, shard=True)
        with pytest.raises(rlx.GraphError, match=message):
            next(before.of_epoch(0))


def test_shard_is_true_or_false() -> None:
    with pytest.raises(rlx.GraphError, match="shard: expected True or False, got 2"):
        rlx.Batches(np.arange(4), 2, shard=2)  # pyright: ignore[reportArgumentType]
