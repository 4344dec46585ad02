"""The pass `mir-sink-copies`: elementwise ops on what a concat or a gather copies, which saves reading the copy.

A transpose moves the other way: elementwise ops read what is transposed, which saves writing it in the first order.
Small operands of pairs that are reduced are transposed, too: see `pairs.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator

from xdsl_rlx.dialects.mir.index import GatherOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.reduce import ReduceOp
from xdsl_rlx.dialects.mir.shape import ConcatOp, ExpandOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS
from xdsl_rlx.lowering.prepare.elementwise_chains import computing, transposed
from xdsl_rlx.lowering.prepare.pairs import ReduceAcrossPairs
from xdsl_rlx.lowering.target import SinkCosts
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import RewritingPass, is_constant, is_elementwise, rewrite
from xdsl_rlx.transforms.scalar_cost import scalar_cost


@dataclass(frozen=True)
class MirSinkCopiesPass(SinkCosts, RewritingPass):
    """
    Move a concat or a gather behind the elementwise ops that alone read it, where nothing else would fuse with these.

    The parts of a concat are then computed right into their windows of the result. A gather moves if its table has at
    most half as many elements as its result. A transpose whose result is stored, or read by an elementwise op, moves in
    front of the elementwise ops that compute its operand from values in memory.

    A reduction over the last axis of what is computed of `x[.., 1, j]` and a small `y[k, j]` becomes one over the axis
    before, of transposed operands, if there are at least `min_pairs` of `k`.

    ```mlir
    %0 = mir.concat %x, %y axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    %1 = mir.exp %0 : tensor<6x3xf32>
    // becomes
    %0 = mir.exp %x : tensor<2x3xf32>
    %1 = mir.exp %y : tensor<4x3xf32>
    %2 = mir.concat %0, %1 axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    ```
    """

    name = "mir-sink-copies"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        if not any(isinstance(op, ConcatOp | GatherOp | TransposeOp | ReduceOp) for op in ops_within(module)):
            return False
        # what nothing reads any more reads copies, too
        remove_dead(module.body, PatternRewriterListener())
        changed = False
        # again when what nothing reads any more is gone: a part may be a concat that only one op reads then
        while rewrite(module, SinkCopy(self)):
            changed = True
        changed |= rewrite(module, ReduceAcrossPairs(self))
        return rewrite(module, RaiseTranspose(self)) or changed


@dataclass
class SinkCopy(RewritePattern):
    """A concat or a gather and the elementwise op that alone reads it change places."""

    costs: SinkCosts

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, ConcatOp) and len(op.parts) <= self.costs.max_sunk_parts:
            axis, user = op.axis_index, _reader(op.result)
            if user is not None and _ends_there(op.result, axis, self.costs.max_moved_ops):
                self._sink_concat(op, axis, user, rewriter)
        elif isinstance(op, GatherOp) and 2 * prod(shape_of(op.table)) <= prod(shape_of(op.result)):
            user = _reader(op.result)
            if user is not None and _ends_there(op.result, None, self.costs.max_moved_ops):
                self._sink_gather(op, user, rewriter)

    @staticmethod
    def _sink_gather(op: GatherOp, user: Operation, rewriter: PatternRewriter) -> None:
        """Compute the elements of the table, and take those."""
        rewriter.insertion_point = InsertPoint.before(user)
        (result,) = user.results
        copy = type(user).create(
            operands=[op.table if x is op.result else _number(x) for x in user.operands],
            result_types=[TensorType(element_of(result), shape_of(op.table))],
            properties=dict(user.properties),
        )
        table = rewriter.insert(copy).results[0]
        b = MirBuilder(rewriter)
        rewriter.replace(user, [], [b.gather(table, op.indices, op.axis_index, op.batch_dims.value.data).ssa])

    @staticmethod
    def _sink_concat(op: ConcatOp, axis: int, user: Operation, rewriter: PatternRewriter) -> None:
        """Compute the parts, and put those together."""
        rewriter.insertion_point = InsertPoint.before(user)
        b = MirBuilder(rewriter)
        (result,) = user.results
        start, parts = 0, list[SSAValue]()
        for part in op.parts:
            shape = shape_of(part)
            operands = [
                part if x is op.result else _window(b, x, axis - len(shape), start, shape[axis]) for x in user.operands
            ]
            types = [TensorType(element_of(result), shape)]
            copy = type(user).create(operands=operands, result_types=types, properties=dict(user.properties))
            parts.append(rewriter.insert(copy).results[0])
            start += shape[axis]
        rewriter.replace(user, [], [b.concat([b.value(part) for part in parts], axis).ssa])


@dataclass
class RaiseTranspose(RewritePattern):
    """A transpose and the elementwise ops that compute its operand change places."""

    costs: SinkCosts

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, TransposeOp) or not _moves(op) or not _is_stored_or_computed_with(op.result):
            return
        chain = _chain(op.operand, self.costs.max_moved_ops)
        if chain is None or not chain.ops or sum(map(scalar_cost, chain.ops)) > self.costs.max_transposed_additions:
            return
        if len(chain.reads) <= self.costs.max_transposed_reads:
            rewriter.replace(op, [], [transposed(MirBuilder(rewriter), op.operand, op.perm_list)])


def _moves(op: TransposeOp) -> bool:
    """Whether a transpose changes the order of elements: more than axes of extent 1 move."""
    shape = shape_of(op.operand)
    axes = [axis for axis in op.perm_list if shape[axis] != 1]
    return axes != sorted(axes)


def _is_stored_or_computed_with(value: SSAValue) -> bool:
    """Whether all users store a value, or read it element by element."""

    def computes(user: Operation) -> bool:
        if isinstance(user, ReshapeOp):
            return _is_stored_or_computed_with(user.result)
        return user.has_trait(IsTerminator) or (is_elementwise(type(user)) and not isinstance(user, ExpandOp))

    return value.first_use is not None and all(computes(use.operation) for use in value.uses)


@dataclass
class _Chain:
    """Elementwise ops, and the values of as many elements as their result that they read."""

    ops: list[Operation] = field(default_factory=list[Operation])
    reads: set[SSAValue] = field(default_factory=set[SSAValue])


def _chain(value: SSAValue, depth: int) -> _Chain | None:
    """The elementwise ops, so many in a row, that compute a value from values in memory; None if there are others."""
    chain = _Chain()
    waiting = [(value, depth)]
    while waiting:
        one, left = waiting.pop()
        if prod(shape_of(one)) == 1:
            # computed once, in whatever order
            continue
        if (op := computing(one)) is not None:
            if not left or not one.has_one_use():
                return None
            chain.ops.append(op)
            waiting += [(x, left - 1) for x in op.operands]
            continue
        source = _source(one)
        if prod(shape_of(source)) == 1:
            continue
        if computing(source) is not None or not _lies_in_memory(source):
            return None
        if prod(shape_of(source)) == prod(shape_of(value)):
            chain.reads.add(source)
    return chain


def _source(value: SSAValue) -> SSAValue:
    """The value that others are views of."""
    while isinstance(value.owner, ExpandOp | TransposeOp | ReshapeOp):
        value = value.owner.operands[0]
    return value


def _lies_in_memory(value: SSAValue) -> bool:
    owner = value.owner
    return not isinstance(owner, Operation) or is_constant(owner) or LOOPS.get(type(owner)) is None


def _reader(value: SSAValue) -> Operation | None:
    """The one op that reads a value, if it is elementwise and computes as many elements."""
    users = {use.operation for use in value.uses}
    if len(users) != 1:
        return None
    (user,) = users
    if not is_elementwise(type(user)) or isinstance(user, ReshapeOp | ExpandOp) or len(user.results) != 1:
        return None
    return user if shape_of(user.results[0]) == shape_of(value) else None


def _ends_there(value: SSAValue, axis: int | None, depth: int) -> bool:
    """
    Whether elementwise ops lead from a value to what is in memory in any case.

    Their other operands are in memory, so that windows along the axis cost nothing; without an axis, they are numbers.
    """
    user = _reader(value)
    if user is None or not depth:
        return False
    others = [x for x in user.operands if x is not value]
    rank = len(shape_of(value))
    if not all(not shape_of(_number(x)) if axis is None else _is_in_memory(x, axis - rank) for x in others):
        return False
    (result,) = user.results
    if all(_is_stored_for(use.operation) for use in result.uses):
        return True
    return _ends_there(result, axis, depth - 1)


def _number(value: SSAValue) -> SSAValue:
    """What a value expands, if that is one element of no axes."""
    owner = value.owner
    return owner.operand if isinstance(owner, ExpandOp) and not shape_of(owner.operand) else value


def _is_stored_for(user: Operation) -> bool:
    return user.has_trait(IsTerminator) or LOOPS.get(type(user)) is None


def _is_in_memory(value: SSAValue, axis: int) -> bool:
    """Whether windows along an axis, counted from the back, of a value cost nothing."""
    owner, shape = value.owner, shape_of(value)
    if len(shape) < -axis or shape[axis] == 1 or not isinstance(owner, Operation) or is_constant(owner):
        return True
    if isinstance(owner, ExpandOp):
        given = shape_of(owner.operand)
        return (len(given) < -axis or given[axis] == 1) and _is_in_memory(owner.operand, axis)
    return LOOPS.get(type(owner)) is None


def _window(b: MirBuilder, value: SSAValue, axis: int, start: int, length: int) -> SSAValue:
    """The part of an operand that belongs to a part of the concat."""
    shape: Sequence[int] = shape_of(value)
    if len(shape) < -axis or shape[axis] == 1:
        return value
    if isinstance(value.owner, ExpandOp):
        return b.expand(value.owner.operand, (*shape[:axis], length, *shape[len(shape) + axis + 1 :])).ssa
    return b.narrow(value, axis, start, length).ssa
