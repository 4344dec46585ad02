"""Triangular solves by register tiles, for the blocks of factorisations and solves."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from xdsl_rlx.lowering.kernel_dsl import Array, Number, fma, lanes, rolled, scratch

ROWS = 4
"""Rows of a tile, of which each has four vectors: 16 sums in registers, four loads for 16 multiplications. Benchmark:
`inv 500` of breadth.py."""


def columns_of(element: Attribute) -> int:
    """Columns of a tile: four vectors of 64 bytes."""
    return 64 if element == f32 else 32


def padded(n: int, multiple: int) -> int:
    """The next multiple."""
    return -(-n // multiple) * multiple


def substitute(
    t: Array,
    x: Array,
    tiles: Number,
    element: Attribute,
    *,
    backwards: bool = False,
    divides: bool = True,
    negates: bool = False,
) -> None:
    """
    `x := t^-T x` in place, for the first `tiles` tiles of columns: `t` is upper triangular, or lower (`backwards`).

    The rows of both are a multiple of `ROWS`. Without `divides`, the diagonal counts as ones. With `negates`, `x`
    becomes the negative of the solution.
    """
    rows, _ = t.shape
    size, width = rows // ROWS, columns_of(element)
    for c in rolled(range(tiles)):
        start, sums = c * width, scratch((ROWS, width), element)
        for step in rolled(range(size)):
            first = ((size - 1) - step if backwards else step) * ROWS
            for r in tuple(range(ROWS)):
                for j in lanes(range(width)):
                    sums[r, j] = x[first + r, start + j]
            for p in rolled(range(first + ROWS, rows) if backwards else range(first)):
                for r in tuple(range(ROWS)):
                    factor = t[p, first + r] if negates else -t[p, first + r]
                    for j in lanes(range(width)):
                        sums[r, j] = fma(factor, x[p, start + j], sums[r, j])
            _finish(t, sums, first, backwards, divides)
            for r in tuple(range(ROWS)):
                for j in lanes(range(width)):
                    x[first + r, start + j] = -sums[r, j] if negates else sums[r, j]


def _finish(t: Array, sums: Array, first: Number, backwards: bool, divides: bool) -> None:
    """The same of the rows of a tile, from which the known rows are subtracted."""
    rows, width = sums.shape
    order = [rows - 1 - r if backwards else r for r in tuple(range(rows))]
    for place, r in enumerate(order):
        for q in order[:place]:
            factor = -t[first + q, first + r]
            for j in lanes(range(width)):
                sums[r, j] = fma(factor, sums[q, j], sums[r, j])
        if divides:
            pivot = t[first + r, first + r]
            for j in lanes(range(width)):
                sums[r, j] = sums[r, j] / pivot
