"""Matrix products of i8 with sums in i32: what tiles of packed bytes start from, and loops where there are none."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.tile_blocks.factors import Factors, Offsets


def with_offsets(packed: Factors, nest: Nest, rows: tuple[SSAValue, SSAValue], most: int) -> Factors:
    """
    Packed factors with the offsets of at most so many rows, which are computed here.

    The bytes of the RHS are 128 more than they should be: `sum a b = sum a (b + 128) - 128 sum a`.
    """
    kernel, left = nest.kernel, replace(packed.left, packed=None)
    offsets = Offsets(kernel.scratch(MemRefType(i32, [most]), "offsets"), rows[0])
    terms = kernel.index(0), kernel.index(packed.depth * packed.left.each)

    for inside, i in nest.over(rows, "i"):
        s = inside.scalars
        total = {"sum": s.const(0, i32).value}
        for deep, k in inside.over(terms, "k", total):
            total["sum"] = (deep.scalars.of(total["sum"]) + left.load(deep, i, k)).value
        inside.store(s.of(total["sum"]) * -128, offsets.buffer, [(s.of(i) - s.of(rows[0])).value])
    return replace(packed, offsets=offsets)


def emit_integer_sums(
    factors: Factors,
    nest: Nest,
    rows: tuple[SSAValue, SSAValue],
    columns: tuple[SSAValue, SSAValue],
    together: int,
) -> None:
    """The product row by row, `together` lines of the RHS at a time: for processors without an instruction for it."""
    kernel, into, whole = nest.kernel, factors.into, factors.depth - factors.depth % together

    def add(row: Nest, i: SSAValue, first: SSAValue, count: int) -> None:
        s = row.scalars
        lines = [(s.of(first) + n).value for n in range(count)]
        terms = [(line, factors.left.load(row, i, line)) for line in lines]
        for deep, j in row.over(columns, "j", rolled=True):
            at = into.at(deep, i, j)
            total: Scalar = deep.load(into.buffer, at)
            for line, factor in terms:
                total = factors.multiply_add(
                    deep, deep.scalars.of(factor.value), factors.right.load(deep, line, j), total
                )
            deep.store(total, into.buffer, at)

    for row, i in nest.over(rows, "i"):
        for at, j in row.over(columns, "j", rolled=True):
            at.store(at.scalars.const(0, i32), into.buffer, into.at(at, i, j))
        for inside, n in row.times(whole // together, "k"):
            add(inside, i, (inside.scalars.of(n) * together).value, together)
        if rest := factors.depth - whole:
            add(row, i, kernel.index(whole), rest)
