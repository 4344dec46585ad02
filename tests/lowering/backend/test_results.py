"""Memory of large results: used again when nobody holds it, and never while somebody does."""

import ctypes
import gc
import mmap
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.arena import touch
from xdsl_rlx.lowering.backend.runtime import binding, results
from xdsl_rlx.lowering.backend.runtime.results import KEPT_BYTES, SINGLE_BYTES, Results

SINGLE = SINGLE_BYTES[-1] // 4
SIZE = SINGLE + 4
X = np.arange(SIZE, dtype=np.float32)
LARGE = 10 * SINGLE
"""More bytes than an allocator keeps of what was freed (32 MB in glibc): pages that nobody has touched."""
Add = Callable[..., tuple[NDArray[Any], ...]]


@pytest.fixture(params=["fast", "slow"])
def add(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, build, make) -> Add:
    """y = x + w of the least size of a single result that is kept, by either way of calling."""
    if request.param == "slow":
        monkeypatch.setattr(binding, "layout_is_known", lambda: False)
    return build(make.add(SIZE))


def place(array: NDArray[Any]) -> int:
    return array.ctypes.data


def test_memory_that_was_let_go_is_used_again(add: Add):
    assert len({place(add(X, X)[0]) for _ in range(5)}) == 1


def test_callers_that_hold_one_result_take_turns_between_two_buffers(add: Add):
    held, places = add(X, X)[0], list[int]()
    for _ in range(6):
        held = add(X, X)[0]
        places.append(place(held))
    assert len(set(places)) == 2 and places[0::2] == [places[0]] * 3


@pytest.mark.sampled
@pytest.mark.parametrize(
    "hold",
    [
        lambda y: y,
        lambda y: y[:5],
        lambda y: y.view(np.int32)[::2].reshape(2, -1).T.view(np.float32),
        lambda y: memoryview(y),
        lambda y: np.asarray(y),
    ],
    ids=["result", "slice", "views", "memoryview", "asarray"],
)
def test_memory_in_use_is_left_alone(add: Add, hold: Callable[[NDArray[Any]], Any]):
    held = [hold(add(X, np.full(SIZE, number, np.float32))[0]) for number in range(4)]
    add(X, X)
    assert [float(np.asarray(one).flat[0]) for one in held] == [0, 1, 2, 3]


def test_a_result_is_an_array_like_any_other(add: Add):
    (y,) = add(X, X)
    assert np.array_equal(y, X + X) and y.dtype == np.float32 and y.shape == (SIZE,)
    assert y.flags.c_contiguous and y.flags.writeable and y.flags.aligned and place(y) % 64 == 0
    y[:] = 1


def test_references_stay(add: Add):
    buffers = add._binding._results._kept[0]
    gc.collect()
    before = [sys.getrefcount(one) for one in (*buffers, X.dtype)]
    for _ in range(50):
        held = add(X, X), add(X, X), add(X, X)
        del held
    assert [sys.getrefcount(one) for one in (*buffers, X.dtype)] == before


def test_a_result_outlives_its_graph(build, make):
    graph = build(make.add(SIZE))
    (y,) = graph(X, X)
    del graph
    gc.collect()
    assert np.array_equal(y, X + X)


def test_threads_never_share_a_result(add: Add):
    wrong = list[int]()

    def work(number: int) -> None:
        w = np.full(SIZE, number, np.float32)
        for _ in range(50):
            (y,) = add(X, w)
            wrong.extend([number] if y[0] != number or y[-1] != X[-1] + number else [])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_small_results_and_single_ones_are_not_kept(build, make):
    graph = build(make.add(SINGLE))
    assert graph._binding._results.tables == [None]
    (y,) = graph(X[:SINGLE], X[:SINGLE])
    assert y.flags.owndata
    small, large = make.spec("y", KEPT_BYTES // 4 - 1), make.spec("y", KEPT_BYTES // 4)
    single = make.spec("y", SINGLE_BYTES[0] // 4)
    for specs, kept in (
        ((small, small), (0, 0)),
        ((small, large), (0, 1)),
        ((small, single), (0, 0)),
        ((single, large), (1, 1)),
    ):
        assert [table is not None for table in Results(specs).tables] == [bool(one) for one in kept]


def present(array: NDArray[Any]) -> bool:
    """Whether all pages of an array are in memory."""
    first = place(array) // mmap.PAGESIZE * mmap.PAGESIZE
    size = place(array) + array.nbytes - first
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(first), ctypes.c_size_t(size), pages) == 0
    return all(page & 1 for page in pages)


def test_the_first_call_finds_its_pages(build, make, monkeypatch: pytest.MonkeyPatch):
    touched = list[NDArray[np.uint8]]()
    monkeypatch.setattr(binding, "touch", lambda arrays: touched.extend(arrays))
    graph = build(make.add(LARGE))
    (buffers,) = graph._binding._results._kept
    assert [one is other for one, other in zip(touched, (buffers[0],), strict=True)] == [True]
    assert not present(buffers[0])
    touch(touched)
    assert present(buffers[0]) and not present(buffers[1])
    touched.clear()
    (y,) = graph(np.zeros(LARGE, np.float32), np.zeros(LARGE, np.float32))
    assert place(buffers[0]) <= place(y) < place(buffers[0]) + buffers[0].nbytes


def test_results_of_every_dtype(make):
    for dtype in ("f64", "bf16", "i1", "c128"):
        spec = make.spec("y", 2, KEPT_BYTES, dtype=dtype)
        array = Results([spec, spec]).new(0)
        assert array.shape == spec.shape and array.dtype == results.dtype_of(dtype) and array.base is not None
