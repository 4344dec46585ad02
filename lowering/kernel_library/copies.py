"""Functions of the library that copy matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Nested, Number, cast, rolled
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernel_library.called import CalledFunction, IteratedFunction, Work

TOGETHER = 4
"""Lines that are merged at a time, or elements of a short line: LLVM has good shuffles for as many."""


def transpose(it: Iteration, plan: Array, x: Array, between: Array, y: Array) -> None:
    """Copy a matrix whose columns are lines of `x`."""
    rows, columns, apart, size = (cast(plan[n], INDEX) for n in range(4))
    start, to = it.index * size, it.index * rows * columns
    if rows <= TOGETHER and rows == apart:
        for few in tuple(range(2, TOGETHER + 1)):
            if rows == few:
                for column in rolled(range(columns)):
                    for row in tuple(range(few)):
                        y[to + row * columns + column] = x[start + column * few + row]
    else:
        for block in rolled(range((columns + TOGETHER - 1) // TOGETHER)):
            # the last lines again, if there are no more
            first = min(block * TOGETHER, columns - TOGETHER)
            _merge(x, start + first * apart, apart, between, rows)
            for row in rolled(range(rows)):
                for n in tuple(range(TOGETHER)):
                    y[to + row * columns + first + n] = between[row * TOGETHER + n]


def _merge(x: Array, start: Number, apart: Number, between: Array, rows: Number) -> None:
    for row in rolled(range(rows)):
        for n in tuple(range(TOGETHER)):
            between[row * TOGETHER + n] = x[start + n * apart + row]


@dataclass(frozen=True)
class TransposeFunction(IteratedFunction):
    """Write matrices row by row whose columns, at least `TOGETHER`, are lines in memory: a matrix an iteration."""

    FORM = "transpose_{element}"
    ELEMENTS: ClassVar[tuple[str, ...]] = tuple(DTYPES)
    WORDS, READS, WRITES = 4, ("x",), ("between", "y")
    """Words: rows, columns, and elements from column to column and from matrix to matrix of what is read. There are
    `rows * TOGETHER` elements between."""

    def work(self, words: Sequence[int], length: int) -> Work:
        elements = words[0] * words[1] * length
        return Work(0, (elements,), (elements, elements))

    @property
    def body(self) -> Nested:
        return Nested(transpose, {})


COPIES: tuple[type[CalledFunction], ...] = (TransposeFunction,)
