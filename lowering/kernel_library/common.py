"""The functions of the library that many programs call, which an installation may hold as machine code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import cast

from xdsl.dialects.builtin import AnyFloat, f64

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_library.copies import TransposeFunction
from xdsl_rlx.lowering.kernel_library.functions import functions
from xdsl_rlx.lowering.kernel_library.products import LinesFunction, RowsFunction, TileFunction, TransposedFunction
from xdsl_rlx.lowering.kernel_library.sorting import SortNetworkFunction, SortReadFunction, SortWriteFunction
from xdsl_rlx.lowering.kernel_library.tile_registers import RegisterBlockFunction
from xdsl_rlx.lowering.target import CostModel
from xdsl_rlx.lowering.tile_blocks.tile_sizes import best_tile

LARGE = 512
"""Rows and columns of a matmul whose tiles are the common ones."""

_ELEMENTS = ("f32", "f64", "i32", "i64")
"""The element types of copies and sorts."""

_RARE = re.compile(r"fourier_(?!stage).*_[567]_.*|fourier_stage_.*_by[57]_.*")
"""Steps of five to seven frames, which only transforms of five to seven frames in all have."""


def common_functions(model: CostModel) -> list[str]:
    """
    The steps of Fourier transforms; transposed copies and sorts of numbers of 32 and 64 bits; products of f32 and f64,
    in tiles of whole vectors; `x.T @ x` of few columns of f64; and blocks of tile registers, if the processor has
    these.

    Names of products have the tile's size: those with columns left over are compiled when a program calls them.
    """
    steps = [name for name in functions() if not _RARE.fullmatch(name)]
    return list(dict.fromkeys([*steps, *_copies(), *_sorts(), *_products(model), *_squares(model), *_blocks(model)]))


def _copies() -> Iterator[str]:
    for element in _ELEMENTS:
        yield TransposeFunction(element).name


def _sorts() -> Iterator[str]:
    for element in _ELEMENTS:
        for is_descending in (False, True):
            read = SortReadFunction(element, is_descending)
            yield from (read.name, SortWriteFunction(element, is_descending).name)
    for element in SortNetworkFunction.ELEMENTS:
        yield SortNetworkFunction(element, SortReadFunction(element).keys.lanes).name


def _products(costs: CostModel) -> Iterator[str]:
    """Tiles of f32 of every height and width; of f64, those of large matmuls and what is left over at their edges."""
    yield from _tiles("f32", costs.max_tile_rows, costs.max_tile_vectors, costs)
    tile = best_tile(LARGE, LARGE, costs, f64)
    yield from _tiles("f64", tile.rows, tile.columns // tile.lanes, costs)


def _tiles(element: str, most_rows: int, most_vectors: int, costs: CostModel) -> Iterator[str]:
    lanes, lines = costs.lanes_of(DTYPES[element]), max(costs.max_uncut_depth, costs.panel_depth)
    yield TransposedFunction(element, lanes, lines).name
    for vectors in range(1, most_vectors + 1):
        yield LinesFunction(element, vectors * lanes, lanes).name
    for rows in range(1, most_rows + 1):
        for beside in range(1, costs.line_bytes // (rows * element_bytes(DTYPES[element])) + 1):
            yield RowsFunction(element, rows, beside).name
        for vectors in range(1, most_vectors + 1):
            if rows * vectors + vectors * (rows > 1) < costs.registers:
                for by_columns in (False, True):
                    yield TileFunction(element, rows, vectors * lanes, lanes, by_columns).name


def _squares(costs: CostModel) -> Iterator[str]:
    # products of f32 have a kernel of their own
    element = "f64"
    for size in range(2, 17):
        tile = best_tile(size, size, costs, cast("AnyFloat", DTYPES[element]))
        yield TileFunction(element, tile.rows, min(size, tile.columns), tile.lanes, by_columns=True).name


def _blocks(costs: CostModel) -> Iterator[str]:
    for element, high, wide, copied in product(RegisterBlockFunction.ELEMENTS, (1, 2), (1, 2), (False, True)):
        if costs.amx:
            yield RegisterBlockFunction(element, high, wide, copied).name
