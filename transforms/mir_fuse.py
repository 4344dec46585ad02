"""`mir-fuse`: composite ops into parts, and the parts into groups that run as one kernel each (`mir.fusion`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike, IsTerminator
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from xdsl_rlx.dialects.constants import splat_value
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.decompose import decompose_composites
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.iteration_space import Reduces, Space, Structure, nesting, rows_of
from xdsl_rlx.transforms.rules.lowering import PRODUCT, REDUCTION, VIEW, scalar_cost

MOST_OPS = 1000
"""Ops in one group: beyond this the loop body no longer pays for what it saves."""

MOST_BUFFERS = 96
"""Values read and written by one group."""


class MirFusePass(ModulePass):
    """
    Group ops into `mir.fusion`s: elementwise ops and the reductions along their rows, and matrix products with what
    follows them row by row.

    ```mlir
    %0 = mir.matmul %x, %w                      %1 = mir.fusion (%x, %w, %b) {
    %1 = mir.add %0, %b                 ->        %0 = mir.matmul %x, %w
                                                  %1 = mir.add %0, %b
                                                  mir.yield %1 }
    ```
    """

    name = "mir-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        decompose_composites(ctx, op)
        for func in list(op.walk()):
            if isinstance(func, FuncOp) and func.body.blocks:
                for block in func.body.blocks:
                    fuse_block(block)
        CommonSubexpressionElimination().apply(ctx, op)


@dataclass
class Cluster:
    """
    Ops that are to share a kernel, and what merging asks of them.

    `members`, `before` and `after` are bit sets of numbers of ops: its own, and all of the clusters that it depends on
    and that depend on it, directly or not. `outputs` are the results with a use outside, `reads` the values that come
    from outside.
    """

    ops: set[Operation]
    space: Space | None
    members: int
    before: int = 0
    after: int = 0
    reductions: list[Operation] = field(default_factory=list[Operation])
    products: list[Operation] = field(default_factory=list[Operation])
    outputs: list[SSAValue] = field(default_factory=list[SSAValue])
    reads: set[SSAValue] = field(default_factory=set[SSAValue])

    @staticmethod
    def of(op: Operation, number: int, before: int) -> Cluster:
        """The cluster of one op."""
        return Cluster(
            {op},
            None if _stays_outside(op) else Space.of(op),
            1 << number,
            before,
            0,
            [op] if REDUCTION.get(type(op)) is not None else [],
            [op] if PRODUCT.get(type(op)) is not None else [],
            list(op.results),
            set(op.operands),
        )

    def union(self, other: Cluster, space: Space) -> Cluster:
        """Both clusters as one over `space`; its place among the others is not set."""
        small, large = sorted((self, other), key=lambda c: len(c.ops))
        merged = Cluster(large.ops | small.ops, space, large.members | small.members)
        merged.reductions = [*large.reductions, *small.reductions]
        merged.products = [*large.products, *small.products]
        merged.outputs = [
            value
            for value in (*large.outputs, *small.outputs)
            if any(use.operation not in merged.ops for use in value.uses)
        ]
        merged.reads = {value for value in (*large.reads, *small.reads) if value.owner not in merged.ops}
        return merged

    def is_possible(self) -> bool:
        """Whether the ops can share a nest, with what is needed outside of it written by each row once."""
        assert self.space is not None
        if len(self.ops) > MOST_OPS or len(self.reads) + len(self.outputs) > MOST_BUFFERS:
            return False
        rows = rows_of(self.products, self.space)
        if self.products and rows is None:
            return False
        if any(operand.owner in self.ops for op in self.products for operand in op.operands):
            return False
        if self.space.extents and any(not self.space.loops(op.results[0]) for op in self.products):
            return False
        structure = nesting(self.space, self.reductions, self.ops, rows and rows.split)
        return structure is not None and self._outputs_cover_rows(structure)

    def _outputs_cover_rows(self, structure: Structure) -> bool:
        assert self.space is not None
        rank = len(self.space.extents)
        row_kernel = any(kind is Reduces.ROW for kind in structure.kinds.values())
        required = frozenset(range(structure.split if row_kernel else rank))
        for value in self.outputs:
            if structure.kinds.get(value.owner) in (Reduces.COLUMN, Reduces.ALL):  # pyright: ignore
                continue
            loops = self.space.loops(value)
            if not required <= loops or (rank and not loops):
                return False
        return True


def fuse_block(block: Block) -> None:
    """Replace the ops of a block by fusions of them."""
    _sink_constants(block)
    clusters = _Clusters(block)
    clusters.grow()
    clusters.recompute_cheap_values()
    clusters.outline()


def _sink_constants(block: Block) -> None:
    """Give every user its own copy of splat constants and of one-element ops on arguments: no group waits for them."""
    for op in reversed(list(block.ops)):
        if not _is_cheap_scalar(op):
            continue
        (result,) = op.results
        uses = [use for use in result.uses if not use.operation.has_trait(IsTerminator)]
        for use in uses[1:]:
            copy = op.clone()
            block.insert_op_before(copy, use.operation)
            copy.results[0].name_hint = result.name_hint
            use.operation.operands[use.index] = copy.results[0]
        if uses and not any(use.operation.has_trait(IsTerminator) for use in result.uses):
            op.detach()
            block.insert_op_before(op, uses[0].operation)


def _is_cheap_scalar(op: Operation) -> bool:
    if op.has_trait(ConstantLike):
        return len(op.results) == 1 and is_splat(op)
    return (
        len(op.results) == 1
        and Space.of(op) is not None
        and PRODUCT.get(type(op)) is None
        and REDUCTION.get(type(op)) is None
        and all(n == 1 for n in shape_of(op.results[0]))
        and all(not isinstance(operand.owner, Operation) or _is_cheap_scalar(operand.owner) for operand in op.operands)
    )


def dense_of(op: Operation) -> DenseIntOrFPElementsAttr[AnyDenseElement] | None:
    """The elements of a constant; None for another op."""
    value = op.properties.get("value")
    return (
        cast(DenseIntOrFPElementsAttr[AnyDenseElement], value) if isinstance(value, DenseIntOrFPElementsAttr) else None
    )


def is_splat(op: Operation) -> bool:
    """Whether a constant has one value throughout."""
    value = dense_of(op)
    return value is not None and splat_value(value) is not None


class _Clusters:
    """The clusters of a block, and the merging of them."""

    def __init__(self, block: Block):
        self.block = block
        self.ops = list(block.ops)
        self.order = {op: index for index, op in enumerate(self.ops)}
        self.all: dict[int, Cluster] = {}
        self.of: dict[Operation, int] = {}
        for op, index in self.order.items():
            if op.has_trait(IsTerminator):
                continue
            before = 0
            for operand in op.operands:
                if isinstance(operand.owner, Operation):
                    producer = self.of[operand.owner]
                    before |= self.all[producer].before | 1 << producer
            self.all[index] = Cluster.of(op, index, before)
            self.of[op] = index
        for index, cluster in reversed(self.all.items()):
            for result in self.ops[index].results:
                for use in result.uses:
                    if (user := self.of.get(use.operation)) is not None:
                        cluster.after |= self.all[user].after | 1 << user

    def grow(self) -> None:
        """Merge each op with its users, from the last op to the first; then clusters that read the same values."""
        for op in reversed(self.order):
            if op in self.of and self.all[self.of[op]].space is not None:
                for result in op.results:
                    for user in sorted({use.operation for use in result.uses}, key=lambda u: self.order[u]):
                        if user in self.of:
                            self.merge(self.of[op], self.of[user])
        readers: dict[SSAValue, list[Operation]] = {}
        for op in self.order:
            if op in self.of:
                for operand in op.operands:
                    if not isinstance(operand.owner, Operation) or not operand.owner.has_trait(ConstantLike):
                        readers.setdefault(operand, []).append(op)
        for users in readers.values():
            for first, second in pairwise(users):
                self.merge(self.of[first], self.of[second])

    def merge(self, a: int, b: int) -> bool:
        """Make one cluster of two if they can share a nest and nothing between them has to run in the middle."""
        if a == b:
            return False
        first, second = self.all[a], self.all[b]
        if first.space is None or second.space is None:
            return False
        both = first.members | second.members
        if (first.after & second.before | second.after & first.before) & ~both:
            return False
        space = first.space.join(second.space)
        if space is None:
            return False
        merged = first.union(second, space)
        if not merged.is_possible():
            return False
        merged.before = (first.before | second.before) & ~both
        merged.after = (first.after | second.after) & ~both
        self._replace(a, b, merged)
        return True

    def _replace(self, a: int, b: int, merged: Cluster) -> None:
        first, second = self.all[a], self.all.pop(b)
        for op in second.ops:
            self.of[op] = a
        self.all[a] = merged
        # What comes before (or after) both has nothing to learn: each of them has told it all it knows.
        for other in self._owners((first.before ^ second.before) & merged.before):
            self.all[other].after |= merged.after | merged.members
        for other in self._owners((first.after ^ second.after) & merged.after):
            self.all[other].before |= merged.before | merged.members

    def _owners(self, numbers: int) -> set[int]:
        return {self.of[self.ops[number]] for number in _bits(numbers)}

    def recompute_cheap_values(self) -> None:
        """Compute a cheap value again in every cluster that uses it, rather than store it, if it has the operands."""
        for op in reversed(list(self.order)):
            if op not in self.of or self.all[self.of[op]].space is None or not _is_cheap(op):
                continue
            (result,) = op.results
            own = self.of[op]
            outside: dict[int, list[Use]] = {}
            for use in result.uses:
                other = self.of.get(use.operation, -1)
                if other != own:
                    outside.setdefault(other, []).append(use)
            if not outside or not all(self._is_stored(operand, own) for operand in op.operands):
                continue
            copies = {number: self._taken_in(op, number, uses) for number, uses in outside.items()}
            if any(cluster is None for cluster in copies.values()):
                continue
            for number, uses in outside.items():
                self._take_in(op, number, uses)
            self.all[own].outputs.remove(result)

    def _is_stored(self, value: SSAValue, cluster: int) -> bool:
        """Whether a value is in memory whatever a cluster does: an argument, a constant, or needed outside."""
        owner = value.owner
        if not isinstance(owner, Operation) or owner.has_trait(ConstantLike) or self.of[owner] != cluster:
            return True
        return value in self.all[cluster].outputs

    def _taken_in(self, op: Operation, number: int, uses: Sequence[Use]) -> Cluster | None:
        """The cluster as it would be with a copy of `op`, or None if it cannot be."""
        target = self.all.get(number)
        space = Space.of(op)
        if target is None or target.space is None or space is None:
            return None
        if any(use.operation in target.products for use in uses):
            return None
        joined = target.space.join(space)
        if joined is None or len(joined.extents) != len(target.space.extents):
            return None
        grown = Cluster(set(target.ops), joined, target.before, target.after)
        grown.reductions, grown.products, grown.outputs = target.reductions, target.products, target.outputs
        grown.reads = target.reads | set(op.operands)
        return grown if grown.is_possible() else None

    def _take_in(self, op: Operation, number: int, uses: Sequence[Use]) -> None:
        copy = op.clone()
        copy.results[0].name_hint = op.results[0].name_hint
        self.block.insert_op_after(copy, op)
        target = self.all[number]
        self.order[copy] = self.order[op]
        self.of[copy] = number
        for use in uses:
            use.operation.operands[use.index] = copy.results[0]
        space = Space.of(copy)
        assert target.space is not None and space is not None
        maps = dict(target.space.maps)
        maps[copy.results[0]] = maps.pop(op.results[0])
        target.space = Space(target.space.extents, maps).join(space)
        assert target.space is not None
        target.ops.add(copy)
        target.reads.discard(op.results[0])
        target.reads |= {operand for operand in op.operands if operand.owner not in target.ops}

    def outline(self) -> None:
        """Put the ops of each cluster into a `mir.fusion`, in an order that respects the clusters' dependences."""
        terminator = self.block.last_op
        assert terminator is not None
        done = 0
        waiting = sorted(self.all, key=lambda index: min(self.order[op] for op in self.all[index].ops))
        ordered: list[int] = []
        while waiting:
            rest: list[int] = []
            for index in waiting:
                if not self.all[index].before & ~done:
                    done |= self.all[index].members
                    ordered.append(index)
                else:
                    rest.append(index)
            assert len(rest) < len(waiting), "clusters depend on each other in a circle"
            waiting = rest
        for index in ordered:
            cluster = self.all[index]
            ops = sorted(cluster.ops, key=lambda op: self.order[op])
            for op in ops:
                op.detach()
                self.block.insert_op_before(op, terminator)
            if cluster.space is not None:
                _outline(self.block, ops)


def _bits(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


CHEAP = 9
"""What computing a value again may cost, in additions, instead of storing and loading it."""


def _is_cheap(op: Operation) -> bool:
    if len(op.results) != 1 or PRODUCT.get(type(op)) is not None or REDUCTION.get(type(op)) is not None:
        return False
    return not op.has_trait(ConstantLike) and scalar_cost(op) <= CHEAP


def _stays_outside(op: Operation) -> bool:
    """Constants that need a buffer, and views of something that has to be in memory anyway."""
    if op.has_trait(ConstantLike):
        return True
    return VIEW.get(type(op)) is not None and not isinstance(op.operands[0].owner, Operation)


def _outline(block: Block, ops: Sequence[Operation]) -> None:
    inside = set(ops)
    constants = dict.fromkeys(
        operand.owner
        for op in ops
        for operand in op.operands
        if isinstance(operand.owner, Operation) and operand.owner.has_trait(ConstantLike) and is_splat(operand.owner)
    )
    own = [c for c in constants if all(u.operation in inside for u in c.results[0].uses)]
    inside |= set(own)
    inputs = list(dict.fromkeys(operand for op in ops for operand in op.operands if operand.owner not in inside))
    outputs = [r for op in ops for r in op.results if any(use.operation not in inside for use in r.uses)]
    body = Block(arg_types=[value.type for value in inputs])
    last = ops[-1]
    following = last.next_op
    for value, arg in zip(inputs, body.args, strict=True):
        arg.name_hint = value.name_hint
        for use in list(value.uses):
            if use.operation in inside:
                use.operation.operands[use.index] = arg
    for op in (*own, *ops):
        op.detach()
        body.add_op(op)
    fusion = FusionOp(inputs, [value.type for value in outputs], Region())
    fusion.location = last.location
    for value, result in zip(outputs, fusion.results, strict=True):
        result.name_hint = value.name_hint
        for use in list(value.uses):
            if use.operation not in inside:
                use.operation.operands[use.index] = result
    body.add_op(YieldOp(*outputs))
    fusion.body.add_block(body)
    assert following is not None
    block.insert_op_before(fusion, following)
