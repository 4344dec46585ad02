"""Drawings as SVG: the groups of a program, its arena over time, and who ran what when. The page is put together in
`page.py`; colours are its style sheet's, by the hue of a kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir import LaunchOp, ViewOp
from xdsl_rlx.lowering.reports.memory_report import MemoryReport
from xdsl_rlx.lowering.reports.page.stages import OpGroup
from xdsl_rlx.lowering.reports.text_tables import short

BOX, GAP, LINE = 190, 24, 15
IN_A_ROW = 14
"""Boxes beside each other; a layer of more has several rows."""
MOST_NAMES = 8
WIDE, TRACK = 1000, 34


def hue(kernel: str) -> int:
    """An angle of the colour circle for a kernel, far from that of the next one."""
    digits = "".join(c for c in kernel.partition("_")[0] if c.isdigit())
    return (int(digits or 0) * 137 + 200) % 360


def graph_svg(groups: Sequence[OpGroup]) -> str:
    """The groups that have kernels as boxes with their ops, below what they read, be it through views."""
    reads = _edges(groups)
    shown = [number for number, group in enumerate(groups) if group.kernels]
    places = dict[int, tuple[float, float, int]]()
    top = 0.0
    for row in _rows(shown, reads):
        left = -(len(row) * (BOX + GAP) - GAP) / 2
        heights = [_height(groups[number]) for number in row]
        for place, number in enumerate(row):
            places[number] = (left + place * (BOX + GAP), top, heights[place])
        top += max(heights) + 2.2 * GAP
    lines = "".join(_line(places[a], places[b]) for b in shown for a in reads[b])
    boxes = "".join(_box(number, groups[number], *places[number][:2]) for number in places)
    left = min((x for x, _, _ in places.values()), default=0) - GAP
    box = f"{left:.0f} {-GAP} {-2 * left:.0f} {top + GAP:.0f}"
    return f'<svg id="graph" viewBox="{box}" role="img" aria-label="groups of ops">{lines}{boxes}</svg>'


def _edges(groups: Sequence[OpGroup]) -> list[list[int]]:
    """The groups with kernels that each group reads, all of them before it."""
    made: dict[Operation, int] = {group.within: number for number, group in enumerate(groups)}
    written = dict[SSAValue, int]()
    found = list[list[int]]()
    for number, group in enumerate(groups):
        op, reads = group.within, dict[int, None]()
        for value in op.reads if isinstance(op, LaunchOp) else op.operands:
            maker = written.get(_root(value)) if isinstance(op, LaunchOp) else _maker(value, made)
            if maker is not None and maker < number:
                reads |= dict.fromkeys([maker] if groups[maker].kernels else found[maker])
        if isinstance(op, LaunchOp):
            written |= {_root(value): number for value in op.writes}
        found.append(list(reads))
    return found


def _maker(value: SSAValue, made: Mapping[Operation, int]) -> int | None:
    return made.get(value.owner) if isinstance(value.owner, Operation) else None


def _root(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ViewOp):
        value = value.owner.source
    return value


def _rows(shown: Sequence[int], reads: Sequence[Sequence[int]]) -> list[list[int]]:
    """The groups in layers, each below all that it reads, near the middle of what it reads."""
    depth, place = dict[int, int](), dict[int, float]()
    layers: dict[int, list[int]] = {}
    for number in shown:
        depth[number] = 1 + max((depth[x] for x in reads[number]), default=-1)
        layers.setdefault(depth[number], []).append(number)
    rows = list[list[int]]()
    for layer in (layers[key] for key in sorted(layers)):
        layer.sort(key=lambda n: sum(place[x] for x in reads[n]) / max(len(reads[n]), 1))
        for position, number in enumerate(layer):
            place[number] = position - len(layer) / 2
        rows += [layer[first : first + IN_A_ROW] for first in range(0, len(layer), IN_A_ROW)]
    return rows


def _names(group: OpGroup) -> list[str]:
    counts = Counter(op.name.partition(".")[2] for op in group.ops)
    names = [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]
    return names if len(names) <= MOST_NAMES else [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} more"]


def _height(group: OpGroup) -> int:
    return 30 + LINE * len(_names(group))


def _box(number: int, group: OpGroup, x: float, y: float) -> str:
    kernels = ", ".join(group.kernels)
    marks = " ".join(map(str, group.sources))
    head = group.kernels[0] if len(group.kernels[0]) <= 26 else f"{group.kernels[0][:25]}…"
    texts = "".join(
        f'<text x="10" y="{38 + LINE * place}">{escape(name[:26])}</text>' for place, name in enumerate(_names(group))
    )
    return (
        f'<g class="group" data-group="{number}" data-sources="{marks}" transform="translate({x:.0f} {y:.0f})">'
        f"<title>{escape(kernels)}</title>"
        f'<g style="--hue:{hue(group.kernels[0])}"><rect width="{BOX}" height="{_height(group)}" rx="7"/>'
        f'<text class="head" x="10" y="19">{escape(head)}</text>{texts}</g></g>'
    )


def _line(above: tuple[float, float, int], below: tuple[float, float, int]) -> str:
    x, y, bend = above[0] + BOX / 2, above[1] + above[2], GAP * 1.4
    to, end = below[0] + BOX / 2, below[1]
    return (
        f'<path class="edge" d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to:.0f} {end - bend:.0f} {to:.0f} {end:.0f}"/>'
    )


def memory_svg(report: MemoryReport) -> str:
    """The slots of the arena: launches from left to right, addresses from the bottom up."""
    launches = 1 + max((slot.last for slot in report.slots), default=0)
    height, arena = 320, max(report.arena, 1)
    rects = list[str]()
    for slot in report.slots:
        x, width = slot.first / launches * WIDE, (slot.last - slot.first + 1) / launches * WIDE
        tall = slot.size / arena * height
        y = height - slot.at / arena * height - tall
        words = f"{slot.name} {slot.type}: {short(slot.size, 'B')} at {slot.at:,}, launches {slot.first} to {slot.last}"
        rects.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{tall:.2f}" '
            f'style="--hue:{hue(slot.computed)}"><title>{escape(words)}, by {escape(slot.computed)}</title></rect>'
        )
    peak = (report.fullest + 0.5) / launches * WIDE
    mark = f'<path class="peak" d="M{peak:.1f} 0V{height}"/>' if report.slots else ""
    return (
        f'<svg class="memory" viewBox="0 0 {WIDE} {height}" preserveAspectRatio="none" role="img" '
        f'aria-label="arena over time">{"".join(rects)}{mark}</svg>'
    )


def timeline_svg(pieces: Sequence[tuple[str, int, float, float]], threads: int, step: float) -> str:
    """Who ran what when: (kernel, thread, begin, seconds), a track per thread."""
    scale = WIDE / max(step, 1e-12)
    rects = "".join(
        f'<rect x="{began * scale:.3f}" y="{thread * TRACK + 2}" width="{took * scale:.3f}" height="{TRACK - 4}" '
        f'style="--hue:{hue(kernel)}"><title>{escape(kernel)}: {took * 1e6:.1f} µs, thread {thread}</title></rect>'
        for kernel, thread, began, took in pieces
    )
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDE} {threads * TRACK}" preserveAspectRatio="none" role="img" '
        f'style="height:{threads * TRACK}px" aria-label="timeline of threads">{rects}</svg>'
    )
