"""The chart of README.md: our step time over the best peer's, one bar per workload, from results.json.

`python benchmarks/chart.py` writes docs/benchmarks.svg, and prints the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tables import PEERS, best, compile_times, label, memory, ratio, step_times

HERE = Path(__file__).resolve().parent
RESULTS, CHART = HERE / "results.json", HERE.parent / "docs" / "benchmarks.svg"
STATISTIC = "median"
NAMES = {"jax": "JAX", "torch": "PyTorch", "torch.compile": "torch.compile"}
WIDTH, LEFT, SCALE, ROW, TOP = 480, 160, 280, 22, 96
"""Pixels of the chart, the labels, a bar of length 1, a row, and above the rows. A phone shows three quarters of it."""
FONTS = "-apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
STYLE = """\
.back { fill: #ffffff; } text { fill: #1f2328; font-size: 14px; } .head { font-size: 16px; font-weight: 600; }
.faint { fill: #59636e; } .number { font-size: 13px; } .grid { stroke: #d1d9e0; } .one { stroke: #1f2328; }
.jax { fill: #0072b2; } .torch { fill: #d55e00; } .torch-compile { fill: #8a5fc0; }
@media (prefers-color-scheme: dark) {
  .back { fill: #131416; } text { fill: #e6e8eb; } .faint { fill: #a5abb3; }
  .grid { stroke: #3d444d; } .one { stroke: #e6e8eb; }
  .jax { fill: #56b4e9; } .torch { fill: #f28c45; } .torch-compile { fill: #b793ea; }
}"""


def rows(results: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Each workload with our median step time over the best peer's, and that peer; the fastest of ours first."""
    found: list[tuple[str, float, str]] = []
    for key, result in results.items():
        value = ratio(result, STATISTIC)
        peers = {kind: own[STATISTIC] for kind in PEERS if (own := best(result, kind, STATISTIC))}
        if value is not None:
            found.append((label(key, result["title"]), value, min(peers, key=peers.__getitem__)))
    return sorted(found, key=lambda row: row[1])


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{text}</text>'


def _bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.4g}" height="{height:g}" class="{kind}"/>'


def drawn(found: list[tuple[str, float, str]]) -> str:
    """The bars as SVG, coloured by the fastest peer; a line marks where we would be as fast. Follows dark mode."""
    bottom = TOP + ROW * len(found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 32}" '
        f'width="{WIDTH}" height="{bottom + 32}" role="img" font-family="{FONTS}">',
        "<title>Step time relative to the fastest of JAX, PyTorch and torch.compile</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect width="{WIDTH}" height="{bottom + 32}" rx="6" class="back"/>',
        _text(16, 28, "Step time relative to the fastest peer", "head"),
        _text(16, 50, "less is faster; at 1, both are equally fast", "faint"),
        _text(16, 76, "fastest peer:"),
    ]
    for kind, x in zip(PEERS, (114, 182, 268), strict=True):
        parts += [_bar(x, 65, 12, 12, _class(kind)), _text(x + 17, 76, NAMES[kind])]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = LEFT + SCALE * tick
        kind = "one" if tick == 1 else "grid"
        parts.append(f'<line x1="{x:g}" y1="{TOP - 4}" x2="{x:g}" y2="{bottom + 4}" class="{kind}"/>')
        parts.append(_text(x, bottom + 20, f"{tick:g}", "number faint", "middle"))
    for number, (name, value, peer) in enumerate(found):
        y = TOP + ROW * number
        parts += [
            _text(LEFT - 8, y + 15, name, anchor="end"),
            _bar(LEFT, y + 3, SCALE * value, ROW - 6, _class(peer)),
            _text(LEFT + SCALE * value + 5, y + 15, f"{value:.2f}", "number"),
        ]
    return "\n".join([*parts, "</svg>\n"])


def _class(kind: str) -> str:
    return kind.replace(".", "-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=CHART)
    out: Path = parser.parse_args().out
    results = json.loads(RESULTS.read_text())["results"]
    out.write_text(drawn(rows(results)))
    print(step_times(results), compile_times(results), memory(results), sep="\n\n")


if __name__ == "__main__":
    main()
