"""Tables that say how an op becomes loops, and constructors of rows.
The rows are in `loop_rows.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rule_table import RuleTable

Axes: TypeAlias = tuple[int | None, ...]
"""The loop of each axis of a value; None where the value does not move along with a loop."""

Loops: TypeAlias = tuple[tuple[int, ...], Mapping[SSAValue, Axes]]
"""The extents of an op's loops, and the axes of the operands and results that it reads or writes along them."""


@dataclass(frozen=True)
class StridedLayout:
    """
    Where the elements of a buffer lie: offset and strides in elements from the start of what it is a view of.

    Along an axis of a stride below 0, the elements lie backwards. Kernels of groups of ops read such a buffer by
    indices from the last to the first; others are given a copy.
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Reduction:
    """
    An associative and commutative reduction: its identity for an element type, one step, and whether a step on floats
    rounds, so that long reductions want more digits.
    """

    identity: Callable[[Attribute], float | int]
    combine: Callable[[ScalarBuilder, Scalar, Scalar], Scalar]
    rounds: bool = False


LOOPS: RuleTable[Callable[[Operation], Loops | None]] = RuleTable("loops")
"""An op that is a loop over its elements; None when this one is not (a general reshape)."""

REDUCTION: RuleTable[Reduction] = RuleTable("reduction")
"""An op that reduces its operand along the loops that its result lacks."""

VIEW: RuleTable[Callable[[Operation, StridedLayout], StridedLayout | None]] = RuleTable("view")
"""An op whose result aliases its operand; None when that needs a copy first."""

PRODUCT: RuleTable[Callable[[Operation], tuple[SSAValue, SSAValue]]] = RuleTable("product")
"""An op that is a (batched) matrix product of two whole operands."""

PLACE: RuleTable[Callable[[Operation, StridedLayout], Sequence[tuple[SSAValue, StridedLayout]]]] = RuleTable("place")
"""An op whose operands are copied into windows of its result."""

UPDATED: RuleTable[Callable[[Operation], SSAValue]] = RuleTable("updated")
"""The operand of which the kernel of an op finds a copy in its result, to change elements of it."""


def pointwise_loops(op: Operation) -> Loops:
    """The loops of an elementwise op: its result's shape, the operands aligned on the right."""
    (result,) = op.results
    shape = shape_of(result)
    maps: dict[SSAValue, Axes] = {}
    for operand in op.operands:
        own = shape_of(operand)
        shift = len(shape) - len(own)
        maps[operand] = tuple(
            axis + shift if extent == shape[axis + shift] else None for axis, extent in enumerate(own)
        )
    maps[result] = tuple(range(len(shape)))
    return shape, maps


def result_loops(op: Operation) -> Loops:
    """Loops over the result only: the operands are needed whole."""
    (result,) = op.results
    shape = shape_of(result)
    return shape, {result: tuple(range(len(shape)))}
