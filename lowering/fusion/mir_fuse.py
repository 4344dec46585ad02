"""`mir-fuse`: ops into groups that run as one kernel each (`mir.fusion`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from xdsl_rlx.dialects.dense_text import is_splat
from xdsl_rlx.dialects.effects import with_effects
from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.control import FusionLoopsAttr, FusionOp, YieldOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.fusion.analysis.clusters import Cluster, Clusters
from xdsl_rlx.lowering.fusion.analysis.equal_parts import equal_parts
from xdsl_rlx.lowering.fusion.analysis.iteration_space import Space
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT, REDUCTION, VIEW
from xdsl_rlx.lowering.fusion.analysis.nesting import GroupLoops, decided_loops
from xdsl_rlx.lowering.fusion.analysis.update_order import put_readers_first, updates_of
from xdsl_rlx.lowering.fusion.share_bodies import share_bodies
from xdsl_rlx.lowering.prepare.mir_normalize import Normalize
from xdsl_rlx.lowering.target import FusionCosts, NormalizeCosts
from xdsl_rlx.transforms.driver import is_constant, rewrite, verify_dominance
from xdsl_rlx.transforms.mir_cse import share_common


@dataclass(frozen=True)
class MirFusePass(FusionCosts, NormalizeCosts, ModulePass):
    """
    Group ops into `mir.fusion`s of one kernel each: elementwise ops, reductions, and matmuls with their epilogues.

    ```mlir
    %0 = mir.matmul %x, %w
    %1 = mir.add %0, %b
    // becomes
    %1 = mir.fusion (%x, %w, %b) {
      %0 = mir.matmul %x, %w
      %1 = mir.add %0, %b
      mir.yield %1
    }
    ```

    Groups that differ only in constants get these as inputs, so that they share a kernel. Views of one operand form no
    group: they need no kernel. Ops without a loop form are in no group. Cases of `mir-normalize` are rewritten first.
    """

    name = "mir-fuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        rewrite(op, Normalize(self))
        for inner in list(op.walk(reverse=True)):
            if isinstance(inner, FuncOp | BodyOp):
                for block in (block for region in inner.regions for block in region.blocks):
                    fuse_block(block, self)
        share_bodies(op)
        share_common(op)


def fuse_block(block: Block, costs: FusionCosts) -> None:
    """Replace the ops of a block by fusions of them."""
    _sink_scalars(block, costs)
    _sink_constants(block)
    func = block.parent_op()
    waits: dict[Operation, Sequence[Operation]] = {}
    if isinstance(func, FuncOp):
        waits.update(put_readers_first(func, updates_of(func)).waits)
    for before, op in pairwise(with_effects(block.ops)):
        waits[op] = [*waits.get(op, ()), before]
    clusters = Clusters(block, waits, costs, equal_parts(block, waits))
    clusters.grow()
    if not clusters.keep_to_parts():
        clusters = Clusters(block, waits, costs)
        clusters.grow()
    clusters.recompute_cheap_values()
    clusters.repeat()
    outline(clusters)


def _sink_scalars(block: Block, costs: FusionCosts) -> None:
    """
    Give users their own copies of small trees of one-element ops on arguments, so that no group waits for them.

    What is larger is computed once, and the one-element ops on arguments that use it share what it is made of.
    """
    trees: dict[Operation, dict[Operation, None]] = {}
    scalars: set[Operation] = set()
    for op in list(block.ops):
        if is_constant(op) or op.has_trait(IsTerminator):
            continue
        owners = [x.owner for x in op.operands if isinstance(x.owner, Operation) and not is_constant(x.owner)]
        if _is_scalar(op) and all(owner in scalars for owner in owners):
            scalars.add(op)
            tree = {inner: None for owner in owners for inner in trees.get(owner, {})} | {op: None}
            users = sum(not _is_scalar(use.operation) for use in op.results[0].uses)
            is_small = len(tree) <= costs.max_copied_scalar_ops
            few = is_small and users * len(tree) <= costs.max_copies_of_scalar_ops
            if few and all(owner in trees for owner in owners):
                trees[op] = tree
        elif any(owner in trees for owner in owners):
            _copy_for(op, {inner: None for owner in owners for inner in trees.get(owner, {})}, block)
    for op in reversed(trees):
        if op.results[0].first_use is None:
            op.detach()
            op.erase()


def _copy_for(user: Operation, tree: Iterable[Operation], block: Block) -> None:
    """Let an op use copies of the ops of a tree, which come in their order."""
    copies: dict[SSAValue, SSAValue] = {}
    for op in tree:
        copy = op.clone(copies)
        copy.results[0].name_hint = op.results[0].name_hint
        block.insert_op_before(copy, user)
    user.operands = [copies.get(operand, operand) for operand in user.operands]


def _is_scalar(op: Operation) -> bool:
    """Whether an op computes one element from elements."""
    return (
        len(op.results) == 1
        and isinstance(op.results[0].type, TensorType)
        and all(n == 1 for n in shape_of(op.results[0]))
        and PRODUCT.get(type(op)) is None
        and REDUCTION.get(type(op)) is None
        and Space.of(op) is not None
    )


def _sink_constants(block: Block) -> None:
    """Give every user its own copy of splat constants: no group waits for them."""
    for op in list(block.ops):
        if not is_constant(op) or not is_splat(op):
            continue
        (result,) = op.results
        uses = [use for use in result.uses if not use.operation.has_trait(IsTerminator)]
        returned = len(uses) < result.uses.get_length()
        for use in uses[1:]:
            copy = op.clone()
            block.insert_op_before(copy, use.operation)
            copy.results[0].name_hint = result.name_hint
            use.operation.operands[use.index] = copy.results[0]
        if uses and not returned:
            op.detach()
            block.insert_op_before(op, uses[0].operation)


def outline(clusters: Clusters) -> None:
    """Put the ops of each cluster into a `mir.fusion`, in an order that respects the clusters' dependences."""
    terminator = clusters.block.last_op
    assert terminator is not None
    block = clusters.block
    ordered = clusters.in_order()
    for cluster in ordered:
        for op in sorted(cluster.ops, key=clusters.order.__getitem__):
            op.detach()
            block.insert_op_before(op, terminator)
    # the last one first: the space of a cluster knows the values that it reads, not the fusions that will give them
    decided: dict[Cluster | None, FusionLoopsAttr] = {}
    for cluster in reversed(ordered):
        if cluster.like is None and (ops := _ops_of_kernel(cluster, clusters)):
            assert cluster.space is not None
            loops = GroupLoops.over(cluster.space, _used(ops), clusters.costs)
            names = ", ".join(op.name for op in ops)
            assert loops is not None, f"{names}: no loops that all have; see NORMALIZE and LOOPS"
            decided[cluster] = _outline(block, ops, loops)
    for cluster in reversed(ordered):
        if cluster.like in decided:
            _outline(block, _ops_of_kernel(cluster, clusters), decided[cluster.like])


def _ops_of_kernel(cluster: Cluster, clusters: Clusters) -> list[Operation]:
    """The ops of a cluster in their order; none if it needs no kernel, as another view of an operand is not copied."""
    if cluster.space is None or all(VIEW.get(type(op)) is not None for op in cluster.ops):
        return []
    return sorted(cluster.ops, key=clusters.order.__getitem__)


def _used(ops: Sequence[Operation]) -> list[Operation]:
    """The ops but for those that others compute again for themselves, which are about to go."""
    gone: set[Operation] = set()
    for op in reversed(ops):
        if all(use.operation in gone for result in op.results for use in result.uses):
            gone.add(op)
    return [op for op in ops if op not in gone]


def _outline(block: Block, ops: Sequence[Operation], loops: GroupLoops | FusionLoopsAttr) -> FusionLoopsAttr:
    """Put ops into a fusion with these loops, or those of a fusion of equal ops; gives its loops."""
    inside = set(ops)
    constants = dict.fromkeys(
        operand.owner
        for op in ops
        for operand in op.operands
        if isinstance(operand.owner, Operation) and is_constant(operand.owner) and is_splat(operand.owner)
    )
    # a product reads its factors from memory
    factors = {factor for op in ops if (rule := PRODUCT.get(type(op))) is not None for factor in rule(op)}
    own = [
        c for c in constants if c.results[0] not in factors and all(u.operation in inside for u in c.results[0].uses)
    ]
    inside |= set(own)
    inputs = list(dict.fromkeys(operand for op in ops for operand in op.operands if operand.owner not in inside))
    outputs = [r for op in ops for r in op.results if any(use.operation not in inside for use in r.uses)]
    decided = decided_loops(loops, inputs, outputs) if isinstance(loops, GroupLoops) else loops
    body = Block(arg_types=[value.type for value in inputs])
    last = ops[-1]
    following = last.next_op
    argument_of = dict(zip(inputs, body.args, strict=True))
    for value, arg in argument_of.items():
        arg.name_hint = value.name_hint
    # the operands of the ops, not the uses of the inputs: what many groups read has a use in each of them
    for op in ops:
        for number, operand in enumerate(op.operands):
            if (arg := argument_of.get(operand)) is not None:
                op.operands[number] = arg
    for op in (*own, *ops):
        op.detach()
        body.add_op(op)
    fusion = FusionOp(inputs, [value.type for value in outputs], Region(), decided)
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
    return decided
