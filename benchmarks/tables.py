"""The results of run.py as the tables of docs/benchmarks.md, and the statistics that the tables and the chart share."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any

PEERS = ("jax", "torch", "torch.compile")
STATISTICS = ("min", "median")
LABELS = {"c": "elementwise chain", "d": "layer norm", "e": "200 small ops"}
"""Short names of workloads whose key is no word, and whose title has none before its first comma."""


def label(key: str, title: str) -> str:
    """A short name: the key where it is a word, else the title up to its first comma."""
    return LABELS.get(key, key if len(key) > 1 else title.split(",")[0])


def best(result: dict[str, Any], kind: str, statistic: str) -> dict[str, Any] | None:
    """The contestant of `kind` at its best thread count."""
    return min((c for c in result["contestants"] if c["kind"] == kind), key=lambda c: c[statistic], default=None)


def ratio(result: dict[str, Any], statistic: str, mine: str = "ours", others: tuple[str, ...] = PEERS) -> float | None:
    """Our time over the best peer's: the middle of the ratios taken round by round."""
    ours = best(result, mine, statistic)
    peers = [peer for kind in others if (peer := best(result, kind, statistic))]
    if ours is None or not peers:
        return None
    peer = min(peers, key=lambda c: c[statistic])
    pairs = zip(ours["rounds"], peer["rounds"], strict=True)
    return statistics.median(one[statistic] / other[statistic] for one, other in pairs)


def step_times(results: dict[str, dict[str, Any]]) -> str:
    """Milliseconds per step, and our time over the best peer's, each by minimum / by median."""
    rows = list[list[str]]()
    for key, result in results.items():
        cells = [f"({key}) {result['title']}", *(_times(result, kind) for kind in ("ours", *PEERS))]
        cells.append(" / ".join(_number(ratio(result, statistic)) for statistic in STATISTICS))
        cells.append(" / ".join(_number(ratio(result, s, "ours-numba", ("ours",))) for s in STATISTICS))
        rows.append(cells)
    return _table(["workload", "ours", "JAX", "PyTorch", "torch.compile", "ours/best", "numba/ours"], rows)


def compile_times(results: dict[str, dict[str, Any]]) -> str:
    """Seconds to the end of the first step, and milliseconds of our first step after compilation."""
    rows = list[list[str]]()
    for key, result in results.items():
        ours, jax, compiled = (best(result, kind, "min") for kind in ("ours", "jax", "torch.compile"))
        cells = [label(key, result["title"]), *(_number(c and c["start"]["ready"]) for c in (ours, jax, compiled))]
        cells.append(_number(result["warm"], digits=3))
        cells.append(_number(ours and ours["start"]["first"], 1e3))
        rows.append(cells)
    return _table(["workload", "ours", "JAX", "torch.compile", "ours, cached", "ours, first step (ms)"], rows)


def memory(results: dict[str, dict[str, Any]]) -> str:
    """Megabytes: peaks of the processes, and temporary buffers."""
    rows = list[list[str]]()
    for key, result in results.items():
        ours, jax, torch = (best(result, kind, "min") for kind in ("ours", "jax", "torch"))
        cells = [label(key, result["title"])]
        cells += [_number(c and c["facts"]["peak_mb"], digits=0) for c in (ours, jax, torch)]
        cells += [_number(c and c["facts"]["arena"], 2**-20, 3) for c in (ours, jax)]
        rows.append(cells)
    return _table(["workload", "ours", "JAX", "PyTorch", "buffers: ours", "buffers: XLA"], rows)


def _times(result: dict[str, Any], kind: str) -> str:
    found = (best(result, kind, statistic) for statistic in STATISTICS)
    pairs = zip(found, STATISTICS, strict=True)
    return " / ".join(_three_digits(one[statistic] * 1e3) for one, statistic in pairs if one) or "-"


def _three_digits(value: float) -> str:
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def _number(value: float | None, scale: float = 1.0, digits: int = 2) -> str:
    return "-" if value is None else f"{value * scale:.{digits}f}"


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
