"""The chart of README.md: our step time over the best peer's, one bar per workload, from results.json.

`python benchmarks/chart.py` writes docs/benchmarks.svg, and prints a row of numbers per workload.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt
from run import PEERS, best, ratio

HERE = Path(__file__).resolve().parent
RESULTS, CHART = HERE / "results.json", HERE.parent / "docs" / "benchmarks.svg"
STATISTIC = "median"
COLOURS = {"jax": "#3b6fb6", "torch": "#d9632b", "torch.compile": "#8e5bb0"}
NAMES = {"jax": "JAX", "torch": "PyTorch", "torch.compile": "torch.compile"}


def rows(results: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Each workload with our median step time over the best peer's, and that peer; the fastest of ours first."""
    found: list[tuple[str, float, str]] = []
    for key, result in results.items():
        value = ratio(result, STATISTIC)
        peers = {kind: own[STATISTIC] for kind in PEERS if (own := best(result, kind, STATISTIC))}
        if value is not None:
            found.append((_label(key, result["title"]), value, min(peers, key=peers.__getitem__)))
    return sorted(found, key=lambda row: row[1])


def _label(key: str, title: str) -> str:
    """A short name: the key where it is a word, else the title up to its first comma."""
    return key if len(key) > 1 else title.split(",")[0]


def draw(found: list[tuple[str, float, str]], path: Path) -> None:
    """The bars, coloured by the fastest peer; a line marks where we would be as fast."""
    # without a date and random ids, the file changes only with the numbers
    mpl.rcParams.update({"svg.hashsalt": "chart", "font.size": 9, "font.family": "sans-serif"})
    figure, axes = plt.subplots(figsize=(8.0, 0.2 * len(found) + 1.0))
    labels, values, peers = zip(*found[::-1], strict=True)
    bars = axes.barh(labels, values, color=[COLOURS[peer] for peer in peers], height=0.72)
    axes.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=8)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlim(0, 1.1)
    axes.set_xlabel("our step time / step time of the fastest of JAX, PyTorch and torch.compile (less is faster)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[kind]) for kind in PEERS]
    legend = [f"fastest peer: {NAMES[kind]}" for kind in PEERS]
    axes.legend(handles, legend, loc="center right", bbox_to_anchor=(0.9, 0.45), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.01)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=CHART)
    found = rows(json.loads(RESULTS.read_text())["results"])
    draw(found, parser.parse_args().out)
    for label, value, peer in found:
        print(f"{value:5.2f}  {label} (best peer: {NAMES[peer]})")


if __name__ == "__main__":
    main()
