"""The pass `mir-fuse-batch-preprocess`: one computation on several slices of a batch becomes a region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.bodies import end_of
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.region import ELEMENTWISE, BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.dialects.mir.shape import ConcatOp, NarrowOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.marking import RegionBody, in_closed_body, is_free, is_number, users_of

Values: TypeAlias = tuple[SSAValue, ...]
"""A value of each part of a concatenation, at one place of the computation that the parts have in common."""

Key: TypeAlias = tuple[object, ...]
"""Equal for values that are known to be equal: the same value, equal numbers, equal slices."""


class FuseSlices(RewritePattern):
    """Replace a concatenation of one computation on slices of a value by a region of that computation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter) -> None:
        if op.axis_index != 0 or len(op.parts) < 2 or in_closed_body(op):
            return
        common = CommonComputation()
        if not common.compare(tuple(op.parts)) or not common.slices or not common.is_only_for(op):
            return
        body = RegionBody()
        argument = body.enter(common.slices[0])
        for value in common.leaves:
            body.set(value, argument if key_of(value) == key_of(common.slices[0]) else body.enter(value))
        for step in common.steps:
            body.copy(step, {x: body.enter(seen_through(x)) for x in step.operands})
        block = body.end(seen_through(op.parts[0]))
        rewriter.replace(op, BatchElementwiseRegionOp(common.slices, body.inputs[1:], block))


@dataclass
class CommonComputation:
    """The computation that the parts of a concatenation share, found by comparing them op by op, also in regions."""

    slices: Values = ()
    """The slices, one for each part; none if there are none."""
    leaves: list[SSAValue] = field(default_factory=list[SSAValue])
    """The values of the first part that are its slice, or that all parts share."""
    steps: list[Operation] = field(default_factory=list[Operation])
    """The ops of the first part, each behind those whose results it uses."""
    members: set[Operation] = field(default_factory=set[Operation])
    """The ops of all parts."""

    def compare(self, parts: Values) -> bool:
        """Whether all parts are the same computation, each of a slice and of values that all of them share."""
        waiting: list[Values | Operation] = [parts]
        columns: dict[Key, tuple[Key, ...]] = {}
        while waiting:
            found = waiting.pop()
            if isinstance(found, Operation):
                self.steps.append(found)
                continue
            values = tuple(seen_through(value, self.members) for value in found)
            column = tuple(key_of(value) for value in values)
            known = columns.setdefault(column[0], column)
            if known != column:
                # a slice that all parts use is one of them elsewhere, or a part computes something twice
                return False
            if known is not column:
                continue
            if len(set(column)) == 1 or self._are_slices(values):
                self.leaves.append(values[0])
            elif _are_one_step(values):
                owners = [value.owner for value in values if isinstance(value.owner, Operation)]
                self.members.update(owners)
                waiting.append(owners[0])
                waiting += zip(*(owner.operands for owner in owners), strict=True)
            else:
                return False
        leaves = {key_of(value) for value in self.leaves}
        resizes = [op for op in self.steps if isinstance(op, ResizeNearest2xOp)]
        return bool(self.steps) and all(_is_source(seen_through(op.x), leaves) for op in resizes)

    def _are_slices(self, values: Values) -> bool:
        """Whether values are the slices: equally long, of one value along axis 0."""
        keys = [key_of(value) for value in values]
        if not all(_is_slice(value) and value.type == values[0].type for value in values):
            return False
        if len({key[0] for key in keys}) > 1 or (self.slices and keys != [key_of(value) for value in self.slices]):
            return False
        self.slices = self.slices or values
        return True

    def is_only_for(self, concat: ConcatOp) -> bool:
        """Whether nothing but a concatenation uses results of the ops, and each part once."""
        outside = [op for op in self.members if op.parent is concat.parent]
        users = {user for op in outside for user in users_of(op.results[0])} - self.members
        return users <= {concat} and all(part.has_one_use() for part in concat.parts)


def seen_through(value: SSAValue, passed: set[Operation] | None = None) -> SSAValue:
    """Return the value that a region yields, or takes, in place of its result, or argument; add it to `passed`."""
    while True:
        owner = value.owner
        region = owner.parent_op() if isinstance(owner, Block) else owner
        if not isinstance(region, ElementwiseRegionOp | TransformRegionOp) or not is_free(region):
            return value
        if passed is not None:
            passed.add(region)
        value = (
            region.operands[value.index] if isinstance(value, BlockArgument) else end_of(region.body.block).values[0]
        )


def key_of(value: SSAValue) -> Key:
    """Return the key of a value that is in no region, or in one that is looked into."""
    owner = value.owner
    if is_number(value) and isinstance(owner, ConstantOp):
        return (owner.value,)
    return (owner.operand, owner.bounds) if isinstance(owner, NarrowOp) else (value,)


def _is_slice(value: SSAValue) -> bool:
    return isinstance(value.owner, NarrowOp) and value.owner.bounds[0] == 0


def _are_one_step(values: Values) -> bool:
    """Whether values are results of one op, on other operands."""
    first = values[0].owner
    if not isinstance(first, (ResizeNearest2xOp, *ELEMENTWISE)):
        return False
    return all(
        type(op) is type(first)
        and is_free(op)
        and op.properties == first.properties
        and op.result_types == first.result_types
        and [x.type for x in op.operands] == [x.type for x in first.operands]
        for op in (value.owner for value in values)
        if isinstance(op, Operation)
    ) and all(isinstance(value.owner, Operation) for value in values)


def _is_source(value: SSAValue, leaves: set[Key]) -> bool:
    """Whether a body may resize a value."""
    return key_of(value) in leaves or isinstance(value.owner, ResizeNearest2xOp)


class MirFuseBatchPreprocessPass(RewritingPass):
    """
    Replace a concatenation along axis 0 of one computation on several slices by a `mir.batch_elementwise_region`.

    ```
    %0 = mir.narrow %x axis 0 start 0 len 1
    %1 = mir.relu %0
    %2 = mir.narrow %x axis 0 start 1 len 1
    %3 = mir.relu %2
    %y = mir.concat %1, %3 axis 0
    // becomes
    %0 = mir.narrow %x axis 0 start 0 len 1
    %2 = mir.narrow %x axis 0 start 1 len 1
    %y = mir.batch_elementwise_region (%0, %2) -> T {mir.relu}
    ```

    The slices have one length and one source, and stay in the order of the concatenation. The computation consists of
    elementwise ops, behind resizes of the slice, also in regions that other passes have marked. Other values that it
    uses must be the same for all slices, and its results may have no other users. Slices of consecutive indices are
    one kernel: `mir-lower-regions`. `mir-decompose-fusion-regions` is the inverse.
    """

    name = "mir-fuse-batch-preprocess"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        # compile runs this pass, on modules most of which have no such concatenation
        if not any(isinstance(op, ConcatOp) and op.axis_index == 0 for op in module.walk()):
            return False
        return rewrite(module, FuseSlices())
