"""Matrix products whose sums have more digits than their result: of bf16, added up in f32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.tile_blocks.factors import Matrix
from xdsl_rlx.lowering.tiles.tiled_product import TiledProduct


@dataclass(frozen=True)
class RoundedProduct:
    """A product whose tiles round their sums, unless these go on."""

    product: TiledProduct

    def emit(self) -> None:
        """
        The loops.

        Tiles whose sums are complete round them. Others go on from sums in f32, of as many rows and columns at a time
        as stay in cache, which are rounded at the end.
        """
        product = self.product
        if not product.is_cut:
            product.emit()
            return
        kernel, tile = product.nest.kernel, product.tile
        parts = -(-product.columns // product.costs.rounded_block_columns)
        width = min(product.columns, _up(-(-product.columns // parts), tile.columns))
        sums = product.costs.l2_operand_bytes // element_bytes(product.factors.element)
        height = max(tile.rows, sums // width // tile.rows * tile.rows)
        if product.rows is not None:
            height = min(product.rows, _up(-(-product.rows // -(-product.rows // height)), tile.rows))
        buffer = kernel.scratch(MemRefType(product.factors.element, [height, width]), "sums")

        def block(nest: Nest, rows: tuple[SSAValue, SSAValue], column: SSAValue) -> None:
            count = None if product.rows is None else height
            part = replace(product, nest=nest, ends=rows, rows=count, first_column=column, columns=width)
            self._block(part, buffer)

        _spread(
            product.nest,
            product.first_column,
            product.columns,
            width,
            lambda nest, column: self._rows(nest, height, lambda at, rows: block(at, rows, column)),
        )

    def _rows(self, nest: Nest, height: int, body: Callable[[Nest, tuple[SSAValue, SSAValue]], None]) -> None:
        """`body` for blocks of rows: of one height, where their number is known."""
        product = self.product
        if product.rows is None:
            for inside, ends in nest.blocks(product.ends, height):
                body(inside, ends)
            return

        def all_of(inside: Nest, first: SSAValue) -> None:
            body(inside, (first, (inside.scalars.of(first) + height).value))

        _spread(nest, product.ends[0], product.rows, height, all_of)

    def _block(self, part: TiledProduct, sums: SSAValue) -> None:
        """The sums of a block, and what is stored of them."""
        nest, column, (first, end) = part.nest, part.first_column, part.ends
        kernel, s = nest.kernel, nest.scalars
        zero = s.of(kernel.index(0))
        total = Matrix(sums, (), ((zero - s.of(first)).value, (zero - s.of(column)).value))
        replace(part, factors=replace(part.factors, into=total, last=None)).emit()
        into, last = part.factors.into, part.factors.last

        columns = column, (s.of(column) + part.columns).value
        for row, i in nest.over((first, end), "i"):
            for at, j in row.over(columns, "j", rolled=True):
                found = total.load(at, i, j)
                for k in map(kernel.index, range(last.depth)) if last is not None else ():
                    assert last is not None
                    found = last.multiply_add(at, last.left.load(at, i, k), last.right.load(at, k, j), found)
                at.store(found, into.buffer, into.at(at, i, j))


def _up(count: int, step: int) -> int:
    """The next multiple."""
    return -(-count // step) * step


def _spread(nest: Nest, first: SSAValue, count: int, size: int, body: Callable[[Nest, SSAValue], None]) -> None:
    """`body` for the starts of blocks of `size` that cover `count` places, of which the last two may overlap."""
    if count <= size:
        body(nest, first)
        return
    for inside, n in nest.times(-(-count // size), "part"):
        s = inside.scalars
        start = s.minimum(s.of(n) * size, s.of(nest.kernel.index(count - size)))
        body(inside, (s.of(first) + start).value)
