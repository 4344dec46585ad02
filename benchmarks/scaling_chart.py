"""The chart of docs/scaling.md: efficiency of simulated steps by the number of processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

WIDTH, HEIGHT, LEFT, TOP, PANEL, GAP, TALL = 720, 330, 56, 84, 296, 40, 190
FONTS = "-apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
STYLE = """\
.back { fill: #ffffff; } text { fill: #1f2328; font-size: 13px; } .head { font-size: 16px; font-weight: 600; }
.faint { fill: #59636e; } .grid { stroke: #d1d9e0; } path { fill: none; stroke-width: 2; }
.loopback { stroke: #0072b2; } .cluster { stroke: #d55e00; } .off { stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
  .back { fill: #131416; } text { fill: #e6e8eb; } .faint { fill: #a5abb3; } .grid { stroke: #3d444d; }
  .loopback { stroke: #56b4e9; } .cluster { stroke: #f28c45; }
}"""
KINDS = {"loopback": "loopback", "100 Gbit/s": "cluster"}
Lines = Mapping[tuple[str, bool], Sequence[float]]


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{text}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="grid"/>'


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<path d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>'


def _panel(left: float, title: str, ranks: Sequence[int], lines: Lines) -> list[str]:
    def at(rank: int, value: float) -> tuple[float, float]:
        return left + PANEL * log2(rank) / log2(ranks[-1]), TOP + TALL * (1 - value)

    parts = [_text(left, TOP - 10, title)]
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        (_, y) = at(1, value)
        parts += [_line(left, y, left + PANEL, y), _text(left - 6, y + 4, f"{value:g}", "faint", "end")]
    parts += [_text(at(rank, 0)[0], TOP + TALL + 18, f"{rank:,}", "faint", "middle") for rank in ranks[::2]]
    for (network, overlap), values in lines.items():
        kind = f"{KINDS[network]} {'on' if overlap else 'off'}"
        parts.append(_path([at(rank, value) for rank, value in zip(ranks, values, strict=True)], kind))
    return parts


def drawn(ranks: Sequence[int], models: Mapping[str, Lines]) -> str:
    """Return a panel for each model as SVG. Follows dark mode."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" font-family="{FONTS}">',
        "<title>Simulated efficiency of training steps on 1 to 1,024 processes</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" class="back"/>',
        _text(16, 28, "Simulated efficiency by the number of processes", "head"),
        _text(16, 50, "1: no time is spent in waiting for reductions", "faint"),
    ]
    for number, (title, lines) in enumerate(models.items()):
        parts += _panel(LEFT + number * (PANEL + GAP), title, ranks, lines)
    x = 16
    for network, kind in KINDS.items():
        for overlap in ("on", "off"):
            parts += [_path([(x, HEIGHT - 24), (x + 28, HEIGHT - 24)], f"{kind} {overlap}")]
            parts.append(_text(x + 34, HEIGHT - 20, f"{network}, overlap {overlap}"))
            x += 172
    return "\n".join([*parts, "</svg>\n"])
