"""How large the tiles of a matrix product are, by the processor's registers and caches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import AnyFloat

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.lowering.target import TileCosts


@dataclass(frozen=True)
class TileSize:
    """Sums that are computed side by side."""

    rows: int
    columns: int
    lanes: int


def best_tile(rows: int, columns: int, costs: TileCosts, element: AnyFloat, vectors: int | None = None) -> TileSize:
    """
    The tile that a product of so many rows and columns takes the least time with, of at most so many vectors a row.

    One step along the inner dimension takes as long as its multiplications, as its lines of the right factor take to
    come from the second level of the cache, or until the sums of the last step are there; with few registers there are
    nearly as many loads, which count too. Among equals it is a tile without others at the edges, and of those the one
    that loads least. Its sums are in registers, and so are a number of the left factor and, if several rows share it, a
    line of the right one.
    """
    lanes = costs.lanes_of(element)
    far = costs.l2_line_multiplications * lanes * element_bytes(element) / costs.line_bytes
    few = costs.registers <= costs.few_registers
    vectors = costs.max_tile_vectors if vectors is None else vectors
    if few and rows >= costs.high_tile_rows:
        vectors = min(vectors, costs.high_tile_vectors)

    def step(r: int, w: int) -> float:
        loads = (r + w) * costs.load_multiplications if costs.loads_count else 0
        return max(r * w + loads, far * w, costs.multiplications_in_flight) if r and w else 0

    def cost(shape: tuple[int, int]) -> tuple[float, int, float]:
        r, w = shape
        whole, rest = divmod(columns, w * lanes)
        widths = [(whole, w), (1, -(-rest // lanes))]
        heights = [(rows // r, r), (1, rows % r)]
        total = sum(n * m * step(height, width) for n, height in heights for m, width in widths)
        if costs.loads_count:
            total += costs.edge_multiplications * ((rows % r > 0) * whole + (rest > 0) * (rows // r))
        return total, (rest > 0 and whole > 0) + (rows % r > 0), 1 / r + 1 / w

    shapes = product(
        range(1, max(1, min(rows, costs.max_tile_rows)) + 1), range(1, max(1, min(-(-columns // lanes), vectors)) + 1)
    )
    r, w = min((x for x in shapes if x[0] * x[1] + (x[1] if x[0] > 1 else 0) < costs.registers), key=cost)
    return TileSize(r, w * lanes, lanes)


def vectors_of_panel(depth: int, costs: TileCosts, element: AnyFloat) -> int:
    """Vectors in a line of a panel, so that it is in the first level of the cache, or not far from it."""
    line_bytes = costs.lanes_of(element) * element_bytes(element)
    lines = max(1, min(depth, depth_of_panel(costs)))
    return max(1, min(costs.max_tile_vectors, costs.l1_bytes // (lines * line_bytes)))


def depth_of_panel(costs: TileCosts, is_far: bool = False) -> int:
    """
    Lines of a panel of a right factor.

    A transposed one that `is_far`, in memory, is read along its rows: longer runs are worth more than loads from L1
    (breadth.py "50x100000x50 nt").
    """
    return costs.panel_depth if is_far or costs.multiplications_at_once == 1 else costs.near_panel_depth


def rows_in_l2(costs: TileCosts) -> int:
    """Rows of a left factor of 4 bytes an element that stay in L2 for a panel."""
    return int(costs.l2_bytes * costs.lhs_l2_share) // (4 * depth_of_panel(costs))
