"""Where values are wanted: in outputs, in carries, in stacks, as parts of a concat. A value may be wanted in several
places, which the kernel that computes it fills in one pass where it can; the others get copies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike

from xdsl_rlx.dialects.effects import has_effects
from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.mir.shape import FlipOp, NarrowOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Buffer
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PLACE, PRODUCT, REDUCTION, VIEW, StridedLayout
from xdsl_rlx.lowering.prepare.mir_split_axes import split
from xdsl_rlx.lowering.target import GroupCosts
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import scalar_cost

Key: TypeAlias = tuple[SSAValue, Attribute, int, int]
"""A place: its root, of what elements it is, at which of them it begins there, and how many they are."""


class Destinations:
    """The places in which each value is wanted: it is computed into the first of them."""

    def __init__(self) -> None:
        self._wanted: dict[SSAValue, list[Buffer]] = {}
        self._copies: dict[SSAValue, Buffer] = {}
        self.filled: set[Key] = set()
        """Places that have what is wanted there, of the block that is being lowered and those around it."""

    def of(self, value: SSAValue) -> Sequence[Buffer]:
        """Where a value is wanted, if anywhere."""
        return self._wanted.get(value, ())

    def of_copy(self, view: SSAValue) -> Buffer | None:
        """Where a copy of a view without gaps is wanted, if anywhere."""
        return self._copies.get(view)

    def want(self, value: SSAValue, place: Buffer) -> None:
        """Ask for a value in a place, also through reshapes of it."""
        owner = value.owner
        while isinstance(owner, Operation) and VIEW.get(type(owner)) is not None:
            source = owner.operands[0]
            extents = shape_of(source)
            if place.is_contiguous:
                self._copies.setdefault(value, place)
            elif (window := _split_window(value, place)) is not None:
                value, place = source, window
                owner = value.owner
                continue
            if prod(extents) != prod(place.layout.shape) or place.element != element_of(source):
                return
            before = Buffer(
                place.root, StridedLayout(place.layout.offset, extents, row_major_strides(extents)), place.element
            )
            seen = VIEW.lookup(owner)(owner, before.layout)
            if seen is None or not place.is_contiguous or not _is_same(place, before.part(value, seen)):
                return
            value, place = source, before
            owner = value.owner
        if isinstance(owner, Operation) and not owner.has_trait(ConstantLike):
            self._wanted.setdefault(value, []).append(place)

    def forget(self, value: SSAValue) -> None:
        """Have a value wanted nowhere: it is copied to where it has to be."""
        self._wanted.pop(value, None)

    def fill(self, place: Buffer) -> None:
        """Note that what is wanted in a place is there, too."""
        self.filled.add(_key(place))

    def has(self, place: Buffer, buffer: Buffer) -> bool:
        """Whether a place has got the value that lies in a buffer, or is that buffer."""
        return _key(place) in self.filled or _is_same(place, buffer)


def _key(place: Buffer) -> Key:
    return place.root, place.element, place.layout.offset, prod(place.layout.shape)


def _is_same(one: Buffer, other: Buffer) -> bool:
    """Whether two buffers are the same elements in the same order, perhaps in different shapes."""
    return _key(one) == _key(other) and (one.layout == other.layout or (one.is_contiguous and other.is_contiguous))


def in_time(ops: Sequence[Operation]) -> list[Operation]:
    """
    Ops in an order in which what reads nothing comes in front of its first user: it takes memory from then on.

    Ops with effects keep their places.
    """
    waiting = {op: None for op in ops if not op.operands and not has_effects(op)}
    order: list[Operation] = []
    for op in ops:
        if op in waiting:
            continue
        for operand in op.operands:
            if isinstance(operand.owner, Operation) and operand.owner in waiting:
                order.append(operand.owner)
                del waiting[operand.owner]
        order.append(op)
    return [*order, *waiting]


def can_store_twice(value: SSAValue) -> bool:
    """Whether the kernel that computes a value has every element at hand when it stores it."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.has_trait(ConstantLike) or LOOPS.get(type(owner)) is None:
        return False
    return PRODUCT.get(type(owner)) is None and REDUCTION.get(type(owner)) is None


def fits(value: SSAValue, place: Buffer, costs: GroupCosts) -> bool:
    """
    Whether a value may be computed right into a part of a concat.

    Into one with gaps only element by element, and where what is left over of its lines is little, or cheap: behind the
    last whole vector, elements are computed one by one, at the price of a vector each. A copy moves all of a line.
    """
    owner = value.owner
    if not isinstance(owner, Operation) or owner.has_trait(ConstantLike):
        return False
    if place.is_contiguous:
        return True
    if (window := _split_window(value, place)) is not None:
        return fits(owner.operands[0], window, costs)
    if PLACE.get(type(owner)) is not None:
        return True
    if VIEW.get(type(owner)) is not None:
        return False
    line, ops = _line(place), [owner]
    if isinstance(owner, FusionOp):
        end = owner.body.block.last_op
        assert isinstance(end, YieldOp)
        value, ops = end.values[owner.results.index(value)], [*owner.body.block.ops]
    if not can_store_twice(value):
        return False
    if any(_lies_in_rows(operand) for operand in owner.operands):
        # loops are over rows in any case
        return True
    additions = sum(scalar_cost(op) for op in ops if SCALAR.get(type(op)) is not None)
    return line % costs.sum_lanes * additions <= costs.rest_additions * line


def _lies_in_rows(value: SSAValue) -> bool:
    """Whether an operand is a view whose rows do not follow each other."""
    owner = value.owner
    if isinstance(owner, NarrowOp):
        axis, _, _ = owner.bounds
        return prod(shape_of(value)[:axis]) > 1
    return isinstance(owner, TransposeOp | FlipOp)


def _split_window(value: SSAValue, place: Buffer) -> Buffer | None:
    """The place of the operand of a reshape that merges axes, of which the result is wanted in a place with gaps."""
    owner = value.owner
    if not isinstance(owner, ReshapeOp) or shape_of(value) != tuple(place.layout.shape) or 0 in place.layout.shape:
        return None
    extents = shape_of(owner.operand)
    axes = split(place.layout.shape, extents)
    if axes is None:
        return None
    strides: list[int] = []
    for parts, stride in zip(axes, place.layout.strides, strict=True):
        strides += [step * stride for step in row_major_strides(parts)]
    return Buffer(place.root, StridedLayout(place.layout.offset, extents, tuple(strides)), place.element)


def is_only_placed(value: SSAValue) -> bool:
    """Whether nothing but concats reads a value."""
    return all(PLACE.get(type(use.operation)) is not None for use in value.uses)


def is_read_once(value: SSAValue) -> bool:
    """Whether one op alone reads a value, and what it is a view of."""
    while value.has_one_use():
        owner = value.owner
        if not isinstance(owner, Operation) or VIEW.get(type(owner)) is None:
            return True
        value = owner.operands[0]
    return False


def _line(place: Buffer) -> int:
    """How many elements of a place lie next to each other."""
    line = 1
    for extent, stride in zip(reversed(place.layout.shape), reversed(place.layout.strides), strict=True):
        if extent != 1 and stride != line:
            break
        line *= extent
    return line
