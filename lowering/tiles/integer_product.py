"""Matrix products of i8 with sums in i32: what tiles of packed bytes start from, and loops where there are none."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.tiles.factors import Factors, Offsets


def with_offsets(packed: Factors, nest: Nest, rows: tuple[SSAValue, SSAValue], most: int) -> Factors:
    """
    Packed factors with the offsets of at most so many rows, which are computed here.

    The bytes of the RHS are 128 more than they should be: `sum a b = sum a (b + 128) - 128 sum a`.
    """
    kernel, left = nest.kernel, replace(packed.left, packed=None)
    offsets = Offsets(kernel.scratch(MemRefType(i32, [most]), "offsets"), rows[0])
    terms = kernel.index(0), kernel.index(packed.depth * packed.left.each)

    def row(inside: Nest, i: SSAValue) -> None:
        def add(deep: Nest, k: SSAValue, carried: tuple[SSAValue, ...]) -> tuple[SSAValue, ...]:
            return ((deep.scalars.of(carried[0]) + left.load(deep, i, k)).value,)

        s = inside.scalars
        (total,) = inside.loop(terms, (s.const(0, i32).value,), add, "k")
        inside.store(s.of(total) * -128, offsets.buffer, [(s.of(i) - s.of(rows[0])).value])

    nest.each(rows, "i", row)
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

    def clear(row: Nest, i: SSAValue, j: SSAValue) -> None:
        row.store(row.scalars.const(0, i32), into.buffer, into.at(row, i, j))

    def add(row: Nest, i: SSAValue, first: SSAValue, count: int) -> None:
        s = row.scalars
        lines = [(s.of(first) + n).value for n in range(count)]
        terms = [(line, factors.left.load(row, i, line)) for line in lines]

        def one(deep: Nest, j: SSAValue) -> None:
            at = into.at(deep, i, j)
            total: Scalar = deep.load(into.buffer, at)
            for line, factor in terms:
                total = factors.multiply_add(
                    deep, deep.scalars.of(factor.value), factors.right.load(deep, line, j), total
                )
            deep.store(total, into.buffer, at)

        row.each(columns, "j", one, rolled=True)

    def row(inside: Nest, i: SSAValue) -> None:
        inside.each(columns, "j", lambda at, j: clear(at, i, j), rolled=True)

        def some(deep: Nest, n: SSAValue) -> None:
            add(deep, i, (deep.scalars.of(n) * together).value, together)

        inside.each((kernel.index(0), kernel.index(whole // together)), "k", some)
        if rest := factors.depth - whole:
            add(inside, i, kernel.index(whole), rest)

    nest.each(rows, "i", row)
