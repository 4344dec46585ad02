"""`canonicalize` and `cse` for modules of `mir`, with what upstream's passes do and leave.

They ask each op by its traits whether it may go, and hash the types of every op several times, which took a third of
`mir-fuse`. Here the class of an op answers the first question, and no more is hashed than tells ops apart.
"""

from collections.abc import Container, Hashable, Sequence
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, MemoryEffect, NoMemoryEffect, SymbolOpInterface
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce, would_be_trivially_dead

from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.core import Elementwise, MirOp
from xdsl_rlx.dialects.mir.reduce import ReduceOp
from xdsl_rlx.dialects.mir.shape import ReshapeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.canonicalize.mir import patterns_of
from xdsl_rlx.transforms.located import replace


def canonicalize(ctx: Context, module: ModuleOp) -> None:
    """Apply the canonicalization patterns of all ops, and remove dead ones, until nothing changes."""
    PatternRewriteWalker(_Canonicalize(ctx), post_walk_func=_remove_dead).rewrite_module(module)


@cache
def _is_pure(kind: type[Operation]) -> bool:
    """Whether every op of a class may go where nothing reads its results, and be shared with one like it."""
    effects = [trait for trait in kind.traits if isinstance(trait, MemoryEffect)]
    if not effects or not all(isinstance(trait, NoMemoryEffect) for trait in effects):
        return False
    return not kind.has_trait(IsTerminator) and not kind.has_trait(SymbolOpInterface)


@cache
def _is_isolated(kind: type[Operation]) -> bool:
    return kind.has_trait(IsolatedFromAbove)


@cache
def _is_elementwise(kind: type[Operation]) -> bool:
    return kind.has_trait(Elementwise)


def _is_dead(op: Operation) -> bool:
    if any(result.first_use is not None for result in op.results):
        return False
    return _is_pure(type(op)) or would_be_trivially_dead(op)


class _Canonicalize(RewritePattern):
    """The patterns of an op's class, in their order."""

    def __init__(self, ctx: Context):
        self.others = GreedyRewritePatternApplier([CanonicalizationRewritePattern()], ctx=ctx, folding_enabled=True)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, MirOp | BodyOp):
            self.others.match_and_rewrite(op, rewriter)
        elif _is_dead(op):
            rewriter.erase(op)
        else:
            for pattern in patterns_of(type(op)):
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    return


def _remove_dead(region: Region, listener: PatternRewriterListener) -> bool:
    """Erase what nothing reads, users first. Whether anything was."""
    block = region.first_block
    if block is None:
        return False
    if block.next_block is not None:
        return region_dce(region, listener)
    changed = False
    for op in reversed(block.ops):
        if _is_dead(op):
            listener.handle_operation_removal(op)
            block.erase_op(op, safe_erase=False)
            changed = True
        else:
            for inner in op.regions:
                changed |= _remove_dead(inner, listener)
    return changed


def share_common(module: ModuleOp) -> None:
    """Compute once what several ops without side effects compute in one block, and remove what nothing reads."""
    gone: list[Operation] = []
    for op in module.ops:
        for region in op.regions:
            _share_in(region, {}, gone)
    for op in gone:
        if op.parent is None:
            # gone with the op around it
            continue
        owners = dict.fromkeys(x.owner for x in op.operands if isinstance(x.owner, Operation))
        op.detach()
        op.erase()
        # what only ops that go have read goes as well
        gone += [owner for owner in owners if _is_dead(owner)]


def _share_in(region: Region, known: dict[Hashable, list[Operation]], gone: list[Operation]) -> None:
    """Share what a region of one block computes, or what is `known` there already."""
    block = region.first_block
    if block is not None and block.next_block is None:
        _share_in_block(block, known, gone)


def _share_in_block(block: Block, known: dict[Hashable, list[Operation]], gone: list[Operation]) -> None:
    for op in block.ops:
        kind = type(op)
        for region in op.regions:
            seen = {} if _is_isolated(kind) else {key: [*same] for key, same in known.items()}
            _share_in(region, seen, gone)
        if not _is_pure(kind):
            continue
        if all(result.first_use is None for result in op.results):
            gone.append(op)
            continue
        if any(len(region.blocks) > 1 for region in op.regions):
            continue
        same = known.setdefault(_key(op), [])
        for earlier in same:
            if _is_equal(earlier, op):
                for result, other in zip(op.results, earlier.results, strict=True):
                    result.replace_all_uses_with(other)
                gone.append(op)
                break
        else:
            same.append(op)


def share_reductions(module: ModuleOp) -> None:
    """
    Compute reductions of a value once that differ in `keep_dim` only: all but the first are reshaped from it.

    A loss sums exponentials without, its gradient with the axis.
    """
    first: dict[Hashable, ReduceOp] = {}
    for op in [op for op in module.walk() if isinstance(op, ReduceOp)]:
        earlier = first.setdefault((type(op), op.parent, op.operand, op.axes, frozenset(op.attributes.items())), op)
        if earlier is not op and op.parent is not None:
            shared = ReshapeOp(earlier.result, shape_of(op.result))
            shared.location = op.location
            op.parent.insert_op_before(shared, op)
            replace(op, shared.results)


def _key(op: Operation) -> Hashable:
    """What ops that are equal have in common. The type of an elementwise op's result follows from the rest."""
    kind = type(op)
    types = () if _is_elementwise(kind) else op.result_types
    operands = tuple(id(operand) for operand in op.operands)
    return kind, operands, frozenset(op.properties.items()), frozenset(op.attributes.items()), types


def _is_equal(op: Operation, other: Operation) -> bool:
    """Whether ops of one key compute the same."""
    return op.result_types == other.result_types and all(
        region.is_structurally_equivalent(twin) for region, twin in zip(op.regions, other.regions, strict=True)
    )


def structure_of_region(region: Region, apart: Container[Operation] = ()) -> tuple[object, ...]:
    """
    Everything in a region but names and locations: equal for structurally equivalent regions, and only for them.

    The attributes of the ops `apart` do not count.
    """
    parts: list[object] = []
    numbers: dict[SSAValue, int] = {}
    blocks: dict[Block, int] = {}

    def define(values: Sequence[SSAValue]) -> None:
        for value in values:
            numbers[value] = len(numbers)
            parts.append(value.type)

    def add(region: Region) -> None:
        for block in region.blocks:
            blocks[block] = len(blocks)
        for block in region.blocks:
            parts.append(len(block.args))
            define(block.args)
            for op in block.ops:
                parts.extend((op.name, len(op.operands), len(op.results), len(op.regions), len(op.successors)))
                # what is defined outside, or further down, stands for itself
                parts.extend([numbers.get(operand, operand) for operand in op.operands])
                parts.extend([blocks.get(successor, successor) for successor in op.successors])
                for attributes in () if op in apart else (op.properties, op.attributes):
                    parts.append(len(attributes))
                    for name in sorted(attributes):
                        parts.extend((name, attributes[name]))
                for inner in op.regions:
                    add(inner)
                define(op.results)
            parts.append(None)

    add(region)
    return tuple(parts)
