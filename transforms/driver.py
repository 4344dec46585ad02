"""How passes rewrite a module: the driver of patterns, which keeps locations, fixpoints, the order of definitions.
No patterns are here."""

import abc
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.irdl.dominance import DominanceInfo
from xdsl.passes import ModulePass, PassPipeline
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.control import VjpOp
from xdsl_rlx.dialects.mir.core import Elementwise, View
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.located import locate

ROUNDS = 64
"""Rewrites nest far less deep than this; a pattern that still fires is one that undoes itself."""


class RewritingPass(ModulePass, abc.ABC):
    """A pass that says whether it changed anything, by which a pipeline knows when it is at rest."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(ctx, op)

    @abc.abstractmethod
    def run(self, ctx: Context, module: ModuleOp) -> bool:
        """Rewrite the module. Whether anything changed."""


@dataclass
class _Driven(RewritePattern):
    """A pattern on its way over a module: it leaves alone what a `mir.vjp` holds."""

    pattern: RewritePattern
    op: Operation
    """The op that it looks at."""
    last: str = ""
    """The name of the op that it rewrote last."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if is_differentiated(op):
            return
        self.op = op
        self.pattern.match_and_rewrite(op, rewriter)
        if rewriter.has_done_action:
            self.last = op.name

    def locate(self, inserted: Operation) -> None:
        """What is inserted stands where the op stood that is rewritten."""
        locate(inserted, self.op.location)


def is_differentiated(op: Operation) -> bool:
    """Whether an op is in a `mir.vjp`, at any depth: it says what is differentiated, and is not code to rewrite."""
    block = op.parent
    while block is not None and (region := block.parent) is not None and (holder := region.parent) is not None:
        if type(holder) is VjpOp:
            return True
        block = holder.parent
    return False


def is_behind_a_rule(op: Operation) -> bool:
    """Whether an op is in a function with a derivative rule of its own, where no gradient goes back over it."""
    region = op.parent_region()
    while region is not None:
        holder = region.parent
        if isinstance(holder, CustomFnOp) and holder.has_rules and (region is not holder.jvp or holder.vjp is not None):
            return True
        region = None if holder is None else holder.parent_region()
    return False


def sweep(module: ModuleOp, pattern: RewritePattern, inner_first: bool = False) -> bool:
    """
    Try a pattern on every op once, not on what it inserts. Whether it acted.

    Ops come in their order, or `inner_first`: backwards, and behind those in their regions. What the pattern inserts
    has the location of the op that it rewrites.
    """
    return _sweep(module, _Driven(pattern, module), inner_first)


def _sweep(module: ModuleOp, driven: _Driven, inner_first: bool = False) -> bool:
    """As xDSL's `PatternRewriteWalker` does that is not recursive, which takes twice the time to find the ops."""
    ops = ops_within(module)[1:]
    if not ops:
        return False
    gone: set[Operation] = set()
    rewriter, acted = PatternRewriter(ops[0]), False
    rewriter.operation_insertion_handler = [driven.locate]
    rewriter.operation_removal_handler = [lambda op: gone.update(op.walk())]
    for op in reversed(ops) if inner_first else ops:
        if op in gone:
            continue
        rewriter.has_done_action = False
        rewriter.current_operation = op
        rewriter.insertion_point = InsertPoint.before(op)
        rewriter.name_hint = None
        try:
            driven.match_and_rewrite(op, rewriter)
        except Exception as error:
            op.emit_error(f"Error while applying pattern: {error}", underlying_error=error)
        acted |= rewriter.has_done_action
    return acted


def rewrite(module: ModuleOp, pattern: RewritePattern) -> bool:
    """
    Sweep with a pattern until it does not act; then remove what became dead. Whether it acted.

    PassFailedException if it does not come to rest, naming an op to which it leads back.
    """
    driven = _Driven(pattern, module)
    for rounds in range(ROUNDS):
        if not _sweep(module, driven):
            if rounds:
                remove_dead(module.body)
            return rounds > 0
    name = type(pattern).__name__
    raise PassFailedException(f"{name} did not converge in {ROUNDS} rounds, but led back to {driven.last}")


def run_once(ctx: Context, module: ModuleOp, passes: Sequence[RewritingPass]) -> bool:
    """Run the passes in order. Whether one of them changed anything."""
    changed = False
    for step in passes:
        if step.run(ctx, module):
            changed = True
            _verify_behind(step, module, None)
    return changed


def run_in_order(ctx: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """
    Run the passes of a pipeline.

    With `XDSL_RLX_CHECK=1` the module is verified behind each of them, and an AssertionError names the first pass that
    breaks it: that is a fault of this package, and no diagnostic.
    """
    PassPipeline(tuple(passes), _verify_behind).apply(ctx, module)


def _verify_behind(step: ModulePass | None, module: ModuleOp, _: ModulePass | None) -> None:
    if step is None or os.environ.get("XDSL_RLX_CHECK") != "1":
        return
    try:
        module.verify()
        verify_dominance(module)
    except VerifyException as error:
        raise AssertionError(f"{step.name} leaves a module that does not verify: {error}") from error


def run_to_fixpoint(ctx: Context, module: ModuleOp, passes: Sequence[RewritingPass]) -> None:
    """Run the passes in order, again and again, until none of them changes anything; PassFailedException if they do
    not come to rest."""
    for _ in range(ROUNDS):
        if not run_once(ctx, module, passes):
            return
    raise PassFailedException(f"{', '.join(step.name for step in passes)} did not converge in {ROUNDS} rounds")


def expect_gone(module: ModuleOp, ops: tuple[type[Operation], ...], by: str) -> None:
    """PassFailedException naming the first op of the given classes that pass `by` left behind."""
    for op in ops_within(module):
        if isinstance(op, ops):
            raise PassFailedException(f"{by} left {named(op)}")


def is_constant(op: Operation) -> bool:
    """Whether an op is a constant."""
    return _is_constant(type(op))


@cache
def _is_constant(kind: type[Operation]) -> bool:
    return kind.has_trait(ConstantLike)


def is_view(op: Operation) -> bool:
    """Whether the result of an op is elements of its operand."""
    return _is_view(type(op))


@cache
def is_elementwise(kind: type[Operation]) -> bool:
    """Whether ops of a class compute each element of their results from one of each operand."""
    return kind.has_trait(Elementwise, value_if_unregistered=False)


@cache
def _is_view(kind: type[Operation]) -> bool:
    return kind.has_trait(View, value_if_unregistered=False)


def verify_dominance(module: ModuleOp) -> None:
    """
    VerifyException naming the first op that uses a value which is not defined before it.

    Upstream verification leaves this out, and a pass that walks a block in order relies on it.
    """
    for op in module.ops:
        for region in op.regions:
            _verify_region(region, set())


def _verify_region(region: Region, visible: set[int]) -> None:
    """
    Check a region that sees the values `visible`, which is the same set again afterwards.

    Values are known by their `id`, which is what they hash by, in Python.
    """
    dominance = DominanceInfo(region) if len(region.blocks) > 1 else None
    for block in region.blocks:
        local: list[int] = []
        if dominance is not None:
            for other in region.blocks:
                if dominance.strictly_dominates(other, block):
                    local += _definitions(other)
        local += map(id, block.args)
        visible.update(local)
        for op in block.ops:
            for number, operand in enumerate(op.operands):
                if id(operand) not in visible:
                    raise VerifyException(_undefined(op, number))
            for inner in op.regions:
                _verify_region(inner, visible)
            results = [id(result) for result in op.results]
            visible.update(results)
            local += results
        visible.difference_update(local)


def _definitions(block: Block) -> list[int]:
    return [id(value) for value in (*block.args, *(result for op in block.ops for result in op.results))]


def _undefined(op: Operation, number: int) -> str:
    operand = op.operands[number]
    name = f" %{operand.name_hint}" if operand.name_hint else ""
    origin = f"a result of {operand.owner.name}" if isinstance(operand.owner, Operation) else "an argument of a block"
    return f"{named(op)}: operand {number}{name} ({origin}) is used before it is defined"
