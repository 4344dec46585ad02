"""Launches over the same iterations that become one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

Array = np.ndarray[Any, Any]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(0, keepdims=True))
    return e / e.sum(0, keepdims=True)


def spread(x: Any) -> Any:
    centred = x - x.mean(0)
    return (centred * centred).mean(0), centred.max(0)


def neighbours(x: Any) -> Any:
    """The second reduction reads what the first has of other columns."""
    best = x.max(0)
    return (x + np.roll(best, 1)).min(0), (x[:, 1:] * best[:-1]).sum(0), x * best[::-1]


def middle(x: Any) -> Any:
    y = np.stack([x, x * x], 0)
    best = y.max(1, keepdims=True)
    return np.log(np.exp(y - best).sum(1)) + best[:, 0]


def loss(x: Any) -> Any:
    return (softmax(x) * x).sum()


def largest(x: Any) -> Any:
    return np.argmax(x, 0)


def smallest(x: Any) -> Any:
    return np.argmin(x, 0)


MERGED: dict[str, tuple[Callable[[Any], Any], int]] = {
    "softmax": (softmax, 1),
    "argmax": (largest, 1),
    "argmin": (smallest, 1),
    "spread": (spread, 1),
    "gradient": (rlx.grad(loss), 1),
    "middle": (middle, 0),
    "neighbours": (neighbours, 0),
}
"""Functions of a matrix, and how many launches fewer they have at least."""


@pytest.fixture
def small_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches of which small matrices are several, so that they are cut and merged as large ones are."""
    costs = tmp_path / "costs.toml"
    costs.write_text("l1_bytes = 512\nl2_bytes = 8192\nnear_sums = 32\nmin_merged_bytes = 64\n")
    monkeypatch.setenv("XDSL_RLX_COSTS", str(costs))


def parts(results: Any) -> list[Array]:
    return [np.asarray(one) for one in (cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,))]


def launches(f: Callable[..., Any], x: Array, threads: int, **costs: Any) -> int:
    module = lower_to_lir(
        rlx.compile(f, threads=threads).trace(x).module, threads, model=replace(cost_model(), **costs)
    )
    return sum(isinstance(op, LaunchOp) for top in module.ops for op in ops_within(top))


@pytest.mark.sampled
@pytest.mark.usefixtures("small_caches")
@pytest.mark.parametrize("name", MERGED)
@pytest.mark.parametrize("threads", [1, 2])
def test_merged_launches_compute_the_same(name: str, threads: int) -> None:
    f, fewer = MERGED[name]
    for rows, columns in [(1, 4001), (2, 2130), (5, 997), (16, 200), (16, 1001), (33, 130), (16, 1)]:
        for dtype in (np.float32, np.float64):
            x = np.random.default_rng(rows * columns).standard_normal((rows, columns)).astype(dtype)
            atol = 1e-4 if dtype is np.float32 else 1e-12
            for one, other in zip(
                parts(rlx.compile(f, threads=threads)(x)), parts(f(x.astype(np.float64))), strict=True
            ):
                np.testing.assert_allclose(one, other, rtol=0, atol=atol)
    x = np.zeros((16, 2000), np.float32)
    apart, together = (launches(f, x, threads, min_merged_bytes=n) for n in (1 << 40, 64))
    assert apart - together >= fewer


@pytest.mark.usefixtures("small_caches")
def test_launches_that_share_less_than_the_cache_holds_stay_apart() -> None:
    counts = [launches(softmax, np.zeros((16, 2000), np.float32), 1, l2_bytes=n) for n in (8192, 1 << 24)]
    assert counts[0] < counts[1]


@pytest.mark.usefixtures("small_caches")
def test_nan_and_ties_of_merged_positions() -> None:
    x = np.random.default_rng(0).integers(0, 3, (16, 300)).astype(np.float32)
    x[3, ::7] = np.nan
    np.testing.assert_array_equal(np.asarray(rlx.compile(largest)(x)), np.argmax(x, 0))
