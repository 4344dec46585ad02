"""How large the tiles of a matrix product are, by the processor's registers and caches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import AnyFloat, f64

from xdsl_rlx.dialects.lir.memory import element_bytes

MOST_ROWS = 14
"""Rows of a tile at most: with two vectors in each, their sums and what they are of fill 32 registers."""

MOST_VECTORS = 8
"""Vectors in a row of a tile at most."""

DEPTH = 256
"""Lines of a panel of the right factor that stay in a core's own cache."""

DEPTH_OF_PACKED = 2 * DEPTH
"""The same of packed bf16 or i8, whose panel may be in the second level: each line is of two or four terms."""

ONE_PART = DEPTH + DEPTH // 2
"""Lines up to which a panel is not cut, for the digits' sake by the inner dimension alone."""

FIRST = 1 << 15
"""Bytes of the first level of a core's cache, for which a panel that is copied is made."""

FAR = 5
"""Multiplications in the time that a line takes from the second level of the cache."""

LINE = 64
"""Bytes of such a line."""

FEW = 16
"""Registers with which a tile is so small that its loads count."""

LOAD = 0.25
"""Multiplications that a load delays the others by, then."""

EDGE = 2
"""Multiplications that tiles of another height or width cost at each edge, then, if only in the time to compile."""

HIGH = 4
"""Rows whose sums, of three vectors each, fill as many: more vectors are not needed."""

LATENCY = 8
"""Multiplications that can be under way at once; with fewer sums, processors wait."""

COPIED_ROWS = 24
"""Rows from which on it pays to copy panels of a right factor that lies in lines: these no longer fall on few places
of the cache, and are read from its first level."""


@dataclass(frozen=True)
class Registers:
    """
    The vector registers of a processor: `lanes` numbers of 32 bits in each of `count`.

    `bf16`: it has the dot products of AVX512-BF16; `int8`: those of AVX512-VNNI.
    """

    lanes: int = 8
    count: int = 16
    bf16: bool = False
    int8: bool = False

    def lanes_of(self, element: AnyFloat) -> int:
        """Numbers of a type in one register."""
        return self.lanes // 2 if element == f64 else self.lanes


COMMON = Registers()
"""Those of AVX2, which most processors have at least."""


@dataclass(frozen=True)
class TileSize:
    """Sums that are computed side by side."""

    rows: int
    columns: int
    lanes: int


def best_tile(
    rows: int, columns: int, registers: Registers, element: AnyFloat, vectors: int = MOST_VECTORS
) -> TileSize:
    """
    The tile that a product of so many rows and columns takes the least time with, of at most so many vectors a row.

    One step along the inner dimension takes as long as its multiplications, as its lines of the right factor take to
    come from the second level of the cache, or until the sums of the last step are there; with few registers there are
    nearly as many loads, which count too. Among equals it is a tile without others at the edges, and of those the one
    that loads least. Its sums are in registers, and so are a number of the left factor and, if several rows share it, a
    line of the right one.
    """
    lanes = registers.lanes_of(element)
    far = FAR * lanes * element_bytes(element) / LINE
    few = registers.count <= FEW
    if few and rows >= HIGH:
        vectors = min(vectors, 3)

    def step(r: int, w: int) -> float:
        loads = (r + w) * LOAD if few else 0
        return max(r * w + loads, far * w, LATENCY) if r and w else 0

    def cost(shape: tuple[int, int]) -> tuple[float, int, float]:
        r, w = shape
        whole, rest = divmod(columns, w * lanes)
        widths = [(whole, w), (1, -(-rest // lanes))]
        heights = [(rows // r, r), (1, rows % r)]
        total = sum(n * m * step(height, width) for n, height in heights for m, width in widths)
        if few:
            total += EDGE * ((rows % r > 0) * whole + (rest > 0) * (rows // r))
        return total, (rest > 0 and whole > 0) + (rows % r > 0), 1 / r + 1 / w

    shapes = product(
        range(1, max(1, min(rows, MOST_ROWS)) + 1), range(1, max(1, min(-(-columns // lanes), vectors)) + 1)
    )
    r, w = min((x for x in shapes if x[0] * x[1] + (x[1] if x[0] > 1 else 0) < registers.count), key=cost)
    return TileSize(r, w * lanes, lanes)


def vectors_of_panel(depth: int, lanes: int, element: AnyFloat) -> int:
    """Vectors in a line of a panel, so that it is in the first level of the cache."""
    return max(1, min(MOST_VECTORS, FIRST // (max(1, min(depth, DEPTH)) * lanes * element_bytes(element))))
