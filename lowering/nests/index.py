"""Nests of ops that read and write by indices held in tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.index import GatherOp, ScatterAddOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.nest import INDEX, Nest
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.transforms.rules.lowering import compute_type
from xdsl_rlx.transforms.scalar import Scalar


def clamped_index(nest: Nest, indices: SSAValue, at: Sequence[SSAValue], extent: int) -> SSAValue:
    """The index stored at `at`, clamped to `[0, extent)`."""
    b = nest.scalars
    wide = b.cast(nest.load(indices, at), i64)
    return b.cast(b.minimum(b.maximum(wide, 0), extent - 1), INDEX).value


@NEST.rule(GatherOp)
def gather_nest(op: GatherOp, work: Work) -> None:
    """An iteration copies the slice of one index."""
    batches, outer, extent, count, inner = op.extents
    table = work.read(op.table, (batches, outer, extent, inner))
    indices = work.read(op.indices, (batches, count))
    result = work.write(op.result, (batches, outer, count, inner))

    def body(it: Iteration, table: SSAValue, indices: SSAValue, result: SSAValue) -> None:
        nest = it.nest
        k, rest = nest.remainder(it.index, count), nest.quotient(it.index, count)
        o, b = nest.remainder(rest, outer), nest.quotient(rest, outer)
        source = clamped_index(nest, indices, (b, k), extent)

        def copy(inside: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inside.store(inside.load(table, (b, o, source, *i)), result, (b, o, k, *i))
            return ()

        nest.loops([inner], (), copy, "j")

    work.launch(batches * outer * count if inner else 0, 4 + inner, [table, indices], [result], body)


COLUMNS = 64
"""Columns of a scatter that one iteration goes through."""


@NEST.rule(ScatterAddOp)
def scatter_add_nest(op: ScatterAddOp, work: Work) -> None:
    """An iteration clears and sums a block of columns, index by index: equal indices never meet in two threads."""
    batches, outer, extent, count, inner = op.extents
    updates = work.read(op.updates, (batches, outer, count, inner))
    indices = work.read(op.indices, (batches, count))
    result = work.write(op.result, (batches, outer, extent, inner))
    blocks = -(-inner // COLUMNS)

    def body(it: Iteration, updates: SSAValue, indices: SSAValue, result: SSAValue) -> None:
        nest = it.nest
        block, rest = nest.remainder(it.index, blocks), nest.quotient(it.index, blocks)
        o, b = nest.remainder(rest, outer), nest.quotient(rest, outer)
        s = nest.scalars
        first = s.of(block) * COLUMNS
        columns = (first.value, s.minimum(first + COLUMNS, inner).value)
        zero = s.const(0, compute_type(element_of(op.result)))

        def clear(inside: Nest, v: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inside.loop(columns, (), partial(_store_zero, zero, result, (b, o, v)), "j")
            return ()

        def add(inside: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            target = clamped_index(inside, indices, (b, k), extent)

            def one(deepest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                total = deepest.load(result, (b, o, target, j)) + deepest.load(updates, (b, o, k, j))
                deepest.store(total, result, (b, o, target, j))
                return ()

            inside.loop(columns, (), one, "j")
            return ()

        c0 = nest.kernel.index(0)
        nest.loop((c0, nest.kernel.index(extent)), (), clear, "v")
        nest.loop((c0, nest.kernel.index(count)), (), add, "k")

    width = min(inner, COLUMNS)
    launches = batches * outer * blocks if extent else 0
    work.launch(launches, (extent + 2 * count) * max(width, 1), [updates, indices], [result], body)


def _store_zero(
    zero: Scalar, result: SSAValue, at: Sequence[SSAValue], nest: Nest, j: SSAValue, _: tuple[SSAValue, ...]
) -> Sequence[SSAValue]:
    nest.store(zero, result, (*at, j))
    return ()
