"""The pass `mir-unfuse-for-ad`: composite ops without a derivative rule of their own become simpler ops.
Their definitions are rows of the table DECOMPOSE in `rules/`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.builder import MirBuilder
from xdsl_rlx.transforms.driver import rewrite
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.rules import DECOMPOSE, VJP


class DecomposeWithoutVjp(RewritePattern):
    """Replace an op that has a decomposition and no vjp rule by its decomposition."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if DECOMPOSE.get(type(op)) is None or VJP.get(type(op)) is not None or VJP.reason(type(op)) is not None:
            return
        values = define(op, MirBuilder(rewriter))
        rewriter.replace(op, [], [value.ssa for value in values])


class MirUnfuseForAdPass(ModulePass):
    """
    Replace composite ops by simpler ones, except those that are differentiated as they are (softmax, layer norm).

    ```
    %y = mir.fused_matmul_bias_act %x, %w, %b activation relu
    // becomes
    %0 = mir.matmul %x, %w
    %1 = mir.add %0, %b
    %y = mir.relu %1
    ```
    """

    name = "mir-unfuse-for-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, DecomposeWithoutVjp())
