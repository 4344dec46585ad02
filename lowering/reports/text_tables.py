"""Tables of reports, as text and as HTML, and how they write numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class TextTable:
    """A header and rows of cells. The columns in `words` are left-aligned, the others right-aligned."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int] = frozenset()

    def lines(self) -> list[str]:
        """Return the header and a line per row, in aligned columns."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        return ["  ".join(self._cells(row, widths)).rstrip() for row in (self.head, *self.rows)]

    def _cells(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.ljust(width) if number in self.words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]

    def html(self) -> str:
        """Return a `table` element."""
        rows = "".join(f"<tr>{self._html_cells('td', row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{self._html_cells('th', self.head)}</tr></thead><tbody>{rows}</tbody></table>"

    def _html_cells(self, tag: str, row: Sequence[str]) -> str:
        sides = ("left" if number in self.words else "right" for number in range(len(row)))
        cells = zip(sides, row, strict=True)
        return "".join(f'<{tag} style="text-align:{side}">{escape(x)}</{tag}>' for side, x in cells)


_PREFIXES = ("", "k", "M", "G", "T", "P")


def short(number: float, unit: str = "") -> str:
    """A number in three digits with a decimal prefix: `short(12_345_678, "B")` is `12.3 MB`."""
    place = 0
    while abs(number) >= 999.5 and place < len(_PREFIXES) - 1:
        number, place = number / 1000, place + 1
    decimals = 0 if not place or abs(number) >= 99.95 else 1 if abs(number) >= 9.995 else 2
    return f"{number:.{decimals}f} {_PREFIXES[place]}{unit}".rstrip()


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.9995:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 999.5 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
