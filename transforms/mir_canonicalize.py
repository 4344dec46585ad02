"""The pass `mir-canonicalize`: the patterns of `canonicalize/`, and what nothing reads goes.

Upstream's `canonicalize` asks each op by its traits whether it may go and which patterns it has. Here the class of an
op of `mir` answers.
"""

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern

from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.transforms.canonicalize.mir import patterns_of
from xdsl_rlx.transforms.dead_ops import is_dead, remove_dead
from xdsl_rlx.transforms.driver import RewritingPass


class MirCanonicalizePass(RewritingPass):
    """
    Apply all canonicalization patterns and remove dead ops, to a fixpoint.

    ```
    %0 = mir.neg %x
    %1 = mir.neg %0
    %y = mir.exp %1
    // becomes
    %y = mir.exp %x
    ```

    Equivalent to xDSL's `canonicalize`, but faster.
    """

    name = "mir-canonicalize"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return PatternRewriteWalker(_Canonicalize(ctx), post_walk_func=remove_dead).rewrite_module(module)


@cache
def _pattern_of(kind: type[Operation]) -> RewritePattern:
    """The patterns of an op class, the first that acts winning."""
    return GreedyRewritePatternApplier([*patterns_of(kind)], dce_enabled=False)


class _Canonicalize(RewritePattern):
    """The patterns of an op's class."""

    def __init__(self, ctx: Context):
        self.others = GreedyRewritePatternApplier([CanonicalizationRewritePattern()], ctx=ctx, folding_enabled=True)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, MirOp | BodyOp):
            self.others.match_and_rewrite(op, rewriter)
        elif is_dead(op):
            rewriter.erase(op)
        else:
            _pattern_of(type(op)).match_and_rewrite(op, rewriter)
