"""Nests of ops that move elements to places that no view has."""

from math import prod

from xdsl_rlx.dialects.mir.shape import FlipOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.nest import Array, Iteration
from xdsl_rlx.lowering.nests.work import NEST, Work

LENGTH = 4096
"""Positions of a row that one iteration goes through."""


@NEST.rule(FlipOp)
def flip_nest(op: FlipOp, work: Work) -> None:
    """An iteration copies a block of a row, or the slice of one position."""
    given, axis = shape_of(op.operand), op.axis_index
    outer, extent, inner = prod(given[:axis]), given[axis], prod(given[axis + 1 :])
    if inner != 1:
        slices = (outer, extent, inner)

        @work.over(
            outer * extent if inner else 0, inner, [work.read(op.operand, slices)], [work.write(op.result, slices)]
        )
        def flip_slices(it: Iteration, x: Array, result: Array) -> None:
            o, at = it.unravel(outer, extent)
            result[o, at] = x[o, extent - 1 - at]

        return
    blocks, rows = -(-extent // LENGTH), (outer, extent)

    @work.over(outer * blocks, min(extent, LENGTH), [work.read(op.operand, rows)], [work.write(op.result, rows)])
    def flip_rows(it: Iteration, x: Array, result: Array) -> None:
        o, block = it.unravel(outer, blocks)
        for at in range(block * LENGTH, min((block + 1) * LENGTH, extent)):
            result[o, at] = x[o, extent - 1 - at]
