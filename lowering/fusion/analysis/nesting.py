"""How the loops of a group are nested: what its reductions and matrix products ask for, and whether they agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.bodies import end_of
from xdsl_rlx.dialects.mir.control import FusionLoopsAttr, FusionOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.fusion.analysis.iteration_space import AxisMap, Space
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT, REDUCTION
from xdsl_rlx.lowering.target import LoopNestCosts


class Reduces(StrEnum):
    """What a reduction of a group does to the group's loops."""

    ROW = "row"
    """Over the inner loops: a value per row, of use later in the same row."""
    COLUMN = "column"
    """Over the outer (or middle) loops: a value per column, complete after the last row."""
    ALL = "all"
    """Over every loop: complete after the last row."""


@dataclass(frozen=True)
class Structure:
    """
    How a group's loops are nested: `outer` loops, then `inner` ones.

    With a row reduction or none, `outer` are the rows and `inner` runs within a row. In a column group (`middle`), the
    outer loops are [0, middle start) and the loops of `middle` run sequentially outside the inner ones.
    """

    split: int
    middle: tuple[int, int] | None
    kinds: Mapping[Operation, Reduces]


def structure_of(
    space: Space, ops: Collection[Operation], row_split: int | None, costs: LoopNestCosts
) -> Structure | None:
    """
    The nesting of a group, or None when its reductions want different ones.

    `row_split` fixes the number of outer loops from outside (a matrix product computes whole rows).
    """
    demands = _demands(space, ops, costs)
    place = agree(demands.values(), row_split)
    if place is None:
        return None
    split, middle = place
    return Structure(max(len(space.extents) - 1, 0) if split is None else split, middle, _kinds(demands))


def _demands(space: Space, ops: Collection[Operation], costs: LoopNestCosts) -> dict[Operation, Demand | None]:
    inside = set(ops)
    reductions = [op for op in ops if REDUCTION.get(type(op)) is not None]
    return {
        op: demand_of(space, op, any(use.operation in inside for use in op.results[0].uses), costs) for op in reductions
    }


def _kinds(demands: Mapping[Operation, Demand | None]) -> dict[Operation, Reduces]:
    """What the reductions are to the group; sums of values per row come last."""
    return {
        op: demand.kind
        for of_rows in (False, True)
        for op, demand in demands.items()
        if demand is not None and demand.kind is not None and demand.is_of_rows == of_rows
    }


class Demand(NamedTuple):
    """What a reduction is to a group, and the nesting that it needs for that: a split, or loops in the middle, if any.

    Without a kind it reduces nothing here.
    """

    kind: Reduces | None
    split: int | None = None
    middle: tuple[int, int] | None = None

    @property
    def is_of_rows(self) -> bool:
        """Whether what is reduced is a value per row."""
        return self.kind is Reduces.ALL and self.split is not None


def demand_of(space: Space, op: Operation, used_inside: bool, costs: LoopNestCosts) -> Demand | None:
    """The demand of a reduction whose result its group uses itself or not; None if there is no nesting for it."""
    rank = len(space.extents)
    operand, result = space.loops(op.operands[0]), space.loops(op.results[0])
    gone = sorted(operand - result)
    if not gone:
        return Demand(None)
    if len(gone) == rank:
        if not used_inside:
            return Demand(Reduces.ALL)
        return None if prod(space.extents) > costs.max_single_row_elements else Demand(Reduces.ROW, 0)
    first, last = gone[0], gone[-1] + 1
    if last - first != len(gone):
        return None
    if last == rank and len(operand) == rank:
        return Demand(Reduces.ROW, first)
    if used_inside:
        return None
    if len(operand) == rank:
        return Demand(Reduces.COLUMN, None, (first, last)) if first else Demand(Reduces.COLUMN, last)
    # A value per row, summed over all rows: the loops it lacks are exactly the inner ones.
    if result or operand != frozenset(range(len(operand))):
        return None
    return Demand(Reduces.ALL, len(operand))


def agree(demands: Iterable[Demand | None], row_split: int | None) -> tuple[int | None, tuple[int, int] | None] | None:
    """The split (None: any) and the middle loops that suit all demands, or None if they contradict each other."""
    distinct = set(demands)
    splits = {demand.split for demand in distinct if demand is not None} | {row_split}
    middles = {demand.middle for demand in distinct if demand is not None}
    splits.discard(None)
    middles.discard(None)
    if None in distinct or len(splits) > 1 or len(middles) > 1:
        return None
    if not middles:
        return (splits.pop() if splits else None), None
    if splits or any(demand is not None and demand.kind not in (None, Reduces.COLUMN) for demand in distinct):
        return None
    middle = middles.pop()
    return (None, None) if middle is None else (middle[0], middle)


@dataclass(frozen=True)
class Rows:
    """The outer loops of a matrix product: those of its batch, then at most one over the rows of a matrix."""

    batch: tuple[int, ...]
    row: tuple[int, ...]

    @property
    def split(self) -> int:
        """How many loops they are."""
        return len(self.batch) + len(self.row)


def rows_of(products: Iterable[Operation], space: Space) -> Rows | None:
    """
    The rows of matrix products that are computed together, over the same batch and row by row.

    None if they differ, or are not the outermost loops: each row of the group would need a product, or part of it,
    again.
    """
    found: set[Rows] = set()
    for op in products:
        *batch, row, _ = space.maps[op.results[0]]
        loops = Rows(tuple(b for b in batch if b is not None), () if row is None else (row,))
        if (*loops.batch, *loops.row) != tuple(range(loops.split)):
            return None
        found.add(loops)
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class GroupLoops:
    """The loops of a group of ops, and how they are nested."""

    space: Space
    structure: Structure

    @staticmethod
    def over(space: Space, ops: Sequence[Operation], costs: LoopNestCosts) -> GroupLoops | None:
        """Those of ops in a space that has them all, or None if there is no nesting that suits them."""
        products = [op for op in ops if PRODUCT.get(type(op)) is not None]
        rows = rows_of(products, space)
        if products and rows is None:
            return None
        structure = structure_of(space, ops, rows and rows.split, costs)
        return structure and GroupLoops(space, structure)

    @staticmethod
    def of(ops: Sequence[Operation], costs: LoopNestCosts) -> GroupLoops:
        """Those that ops can share; PassFailedException if there are none."""
        members = _members(ops)
        space = Space.of_group(members) if members else None
        loops = space and GroupLoops.over(space, members, costs)
        if loops is None:
            names = ", ".join(dict.fromkeys(op.name for op in ops))
            raise PassFailedException(f"the ops of a fusion ({names}) do not share one loop nest")
        return loops

    @staticmethod
    def of_fusion(fusion: FusionOp, ops: Sequence[Operation], costs: LoopNestCosts) -> GroupLoops:
        """
        Those that were decided on for a fusion of these ops, or that these can share if nothing was.

        PassFailedException if the ops do not fit what was decided.
        """
        decided = fusion.loops
        if decided is None:
            return GroupLoops.of(ops, costs)
        space = space_of_fusion(fusion, decided, ops)
        found = space and GroupLoops.over(space, _members(ops), costs)
        if found is None or (found.structure.split, found.structure.middle) != (decided.split.data, decided.middle):
            raise PassFailedException(f"the ops of a fusion do not fit its loops {decided}")
        return found


def space_of_fusion(fusion: FusionOp, decided: FusionLoopsAttr, ops: Iterable[Operation]) -> Space | None:
    """The space of a fusion of these ops, from the loops of its inputs and results; None if the ops do not fit."""
    maps: dict[SSAValue, AxisMap] = {}
    for value, loops in zip(fusion.body.block.args, decided.input_loops, strict=True):
        if loops is not None:
            maps[value] = _axes(value, loops)
    for value, loops in zip(end_of(fusion.body.block).values, decided.result_loops, strict=True):
        maps[value] = _axes(value, loops)
    space = Space(decided.sizes, maps)
    return space if space.covers(_members(ops)) else None


def decided_loops(loops: GroupLoops, inputs: Iterable[SSAValue], results: Iterable[SSAValue]) -> FusionLoopsAttr:
    """What a fusion with these loops, which takes and gives these values of them, is told of them."""
    space, structure = loops.space, loops.structure
    return FusionLoopsAttr.of(
        space.extents,
        structure.split,
        None if structure.middle is None else structure.middle[1],
        loops_of_inputs(space, inputs),
        [sorted(space.loops(value)) for value in results],
    )


def loops_of_inputs(space: Space, inputs: Iterable[SSAValue]) -> list[Sequence[int] | None]:
    """The loops of each input; None for one that is no more than a factor of products, and needed whole."""
    return [sorted(space.loops(value)) if value in space.maps else None for value in inputs]


def _members(ops: Iterable[Operation]) -> list[Operation]:
    """The ops that have loops: constants are scalars to a kernel."""
    return [op for op in ops if not op.has_trait(ConstantLike)]


def _axes(value: SSAValue, loops: Iterable[int]) -> AxisMap:
    """The loop of each axis of a value, which has those of extents other than 1."""
    rest = iter(loops)
    return tuple(None if n == 1 else next(rest) for n in shape_of(value))
