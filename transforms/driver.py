"""How passes rewrite a module: one walker that keeps locations, fixpoints with a limit, the order of definitions.
No patterns are here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern
from xdsl.traits import ConstantLike
from xdsl.transforms.dead_code_elimination import dce
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.control import VjpOp
from xdsl_rlx.dialects.mir.core import View
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp

ROUNDS = 64
"""Rewrites nest far less deep than this; a pattern that still fires is one that undoes itself."""


@dataclass
class _Located(RewritePattern):
    """Tries patterns in order, and remembers where the op that they rewrite stands in the source."""

    patterns: Sequence[RewritePattern]
    location: LocationAttr = UNKNOWN_LOC

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if is_differentiated(op):
            return
        self.location = op.location
        for pattern in self.patterns:
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return

    def locate(self, op: Operation) -> None:
        """Give an inserted op the location of the op being rewritten."""
        if op.location == UNKNOWN_LOC:
            op.location = self.location


def is_differentiated(op: Operation) -> bool:
    """Whether an op is in a `mir.vjp`, at any depth: it says what is differentiated, and is not code to rewrite."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, VjpOp):
        parent = parent.parent_op()
    return parent is not None


def is_behind_a_rule(op: Operation) -> bool:
    """Whether an op is in a function with a derivative rule of its own, where no gradient goes back over it."""
    region = op.parent_region()
    while region is not None:
        holder = region.parent
        if isinstance(holder, CustomFnOp) and holder.has_rules and (region is not holder.jvp or holder.vjp is not None):
            return True
        region = None if holder is None else holder.parent_region()
    return False


def rewrite(module: ModuleOp, *patterns: RewritePattern) -> bool:
    """
    Apply the patterns, the first that acts winning, until none does; then remove what became dead.

    Inserted ops get the location of the op they come from. True if anything was rewritten; PassFailedException if the
    patterns do not come to rest.
    """
    located = _Located(patterns)
    listener = PatternRewriterListener(operation_insertion_handler=[located.locate])
    walker = PatternRewriteWalker(located, apply_recursively=False, listener=listener)
    rounds = repeat(lambda: walker.rewrite_module(module), " and ".join(type(p).__name__ for p in patterns))
    if rounds:
        dce(module)
    return rounds > 0


def repeat(step: Callable[[], bool], what: str) -> int:
    """Repeat `step` until it changes nothing; how often it did. PassFailedException past the limit."""
    for done in range(ROUNDS):
        if not step():
            return done
    raise PassFailedException(f"{what} did not come to rest in {ROUNDS} rounds")


def run_to_fixpoint(ctx: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Apply the passes in order, again and again, until a round leaves the module as it was."""

    def once() -> bool:
        before = module.clone()
        for step in passes:
            step.apply(ctx, module)
        return not module.is_structurally_equivalent(before)

    repeat(once, ", ".join(step.name for step in passes))


def expect_gone(module: ModuleOp, ops: tuple[type[Operation], ...], by: str) -> None:
    """PassFailedException naming the first op of the given classes that pass `by` left behind."""
    for op in module.walk():
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


def _verify_region(region: Region, visible: set[SSAValue]) -> None:
    """Check a region that sees the values `visible`, which is the same set again afterwards."""
    dominance = DominanceInfo(region) if len(region.blocks) > 1 else None
    for block in region.blocks:
        local: list[SSAValue] = []
        if dominance is not None:
            for other in region.blocks:
                if dominance.strictly_dominates(other, block):
                    local += _definitions(other)
        local += block.args
        visible.update(local)
        for op in block.ops:
            for number, operand in enumerate(op.operands):
                if operand not in visible:
                    raise VerifyException(_undefined(op, number))
            for inner in op.regions:
                _verify_region(inner, visible)
            visible.update(op.results)
            local += op.results
        visible.difference_update(local)


def _definitions(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _undefined(op: Operation, number: int) -> str:
    operand = op.operands[number]
    name = f" %{operand.name_hint}" if operand.name_hint else ""
    origin = f"a result of {operand.owner.name}" if isinstance(operand.owner, Operation) else "an argument of a block"
    return f"{named(op)}: operand {number}{name} ({origin}) is used before it is defined"
