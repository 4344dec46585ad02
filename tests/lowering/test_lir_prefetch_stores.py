"""Prefetches of what is stored: loops that are cut compute what they did, within all bounds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cost_models import costs

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

SIZES = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 130, 1000]

LINES: dict[str, Callable[[Array], Any]] = {
    "scaled": lambda x: x * 2 + 1,
    "two results": lambda x: (x * 2, x + 1),
    "of two widths": lambda x: (x * 2, x > 1),
    "total and line": lambda x: (x + 1, (x * 2).sum()),
}
ROWS: dict[str, Callable[[Array, Array], Any]] = {
    "by column": lambda x, v: x + v,
    "by row": lambda x, v: x * x[:, :1],
    "softmax": lambda x, v: (
        np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
    ),
    "mean and rows": lambda x, v: x - x.mean(1, keepdims=True),
    "total": lambda x, v: (x + v, (x + v).sum()),
    "columns": lambda x, v: (x + v, (x * v).sum(0)),
}
SMALL = {
    "min_streamed_store_bytes": 64,
    "store_block_bytes": 128,
    "store_distance_bytes": 256,
    "prefetches_stores": True,
}


def check(function: Callable[..., Any], *xs: Array, threads: int = 1, **changed: int) -> None:
    with costs(**(SMALL | changed)):
        if min(x.nbytes for x in xs) >= 1000:
            assert "lir.prefetch" in str(rlx.lower(rlx.trace(function, *xs)))
        found = rlx.compile(function, threads=threads)(*xs)
    expected = function(*xs)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype or theirs.dtype == np.float64
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


def test_processors_that_are_slower_with_prefetches_have_none() -> None:
    x = np.zeros(1000, np.float32)
    with costs(**(SMALL | {"prefetches_stores": False})):
        assert "lir.prefetch" not in str(rlx.lower(rlx.trace(LINES["scaled"], x)))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4"])
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("n", SIZES)
def test_lines(n: int, kind: str, dtype: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    x = (np.random.default_rng(n).standard_normal(n) * 5).astype(dtype)
    check(LINES[kind], x, threads=2 if n > 99 else 1)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("columns", [7, 16, 17, 32, 33, 65, 100, 1000])
@pytest.mark.parametrize("rows", [1, 2, 5, 40])
def test_rows(rows: int, columns: int, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    rng = np.random.default_rng(rows)
    x, v = rng.standard_normal((rows, columns), np.float32), rng.standard_normal(columns, np.float32)
    for l1_bytes in (1 << 15, 300):
        check(ROWS[kind], x, v, threads=2 if rows > 9 else 1, l1_bytes=l1_bytes)


@pytest.mark.parametrize(
    ("shape", "count"), [((1 << 18,), 0), ((1 << 20,), 16), ((1 << 14, 64), 4), ((1 << 10, 1500), 16)]
)
def test_what_is_prefetched(shape: tuple[int, ...], count: int):
    """Of results that caches hold, nothing; else a block, or a line that is shorter."""
    x, v = np.zeros(shape, np.float32), np.zeros(shape[-1:], np.float32)
    with costs(prefetches_stores=True):
        text = str(rlx.lower(rlx.trace(lambda x, v: x + v, x, v)))
    lines = [line for line in text.splitlines() if "lir.prefetch" in line]
    assert len(lines) == count
    assert all("] write :" in line for line in lines)
