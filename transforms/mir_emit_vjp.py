"""The pass `mir-emit-vjp`: every `mir.vjp` becomes what the rule of the op inside it emits.
The rules are rows of the table VJP in `rules/`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.control import VjpOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.driver import RewritingPass, expect_gone, rewrite, sweep
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.engines.reverse import add_seeds, cotangents_by_rule, lay_out_reverse, taken_apart
from xdsl_rlx.transforms.sum_of_products import MergeProducts
from xdsl_rlx.transforms.sum_of_shifts import MergeShifts
from xdsl_rlx.transforms.sum_of_windows import MergeWindows


class ApplyVjpRule(RewritePattern):
    """Replace a `mir.vjp` by its op's rule, or by the reverse structure of its op's decomposition."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: VjpOp, rewriter: PatternRewriter) -> None:
        if taken_apart(op.op):
            _through_decomposition(op, rewriter)
        else:
            _by_rule(op, rewriter)


def _by_rule(vjp: VjpOp, rewriter: PatternRewriter) -> None:
    op = vjp.op
    # The rule is to see the program's values, so the op takes them for the time of the rule.
    op.operands = vjp.primals
    grads = cotangents_by_rule(op, MirBuilder(rewriter), vjp.outputs, vjp.result_cotangents, vjp.wrt_indices)
    for result, output in zip(op.results, vjp.outputs, strict=True):
        result.replace_all_uses_with(output)
    rewriter.replace(vjp, [], grads)


def _through_decomposition(vjp: VjpOp, rewriter: PatternRewriter) -> None:
    """
    Decompose the op inside the body, differentiate there, and inline the body.

    The block arguments keep operands apart that are one value outside.
    """
    block, op = vjp.body.block, vjp.op
    assert block.last_op is not None
    rewriter.erase(block.last_op)
    rewriter.insertion_point = InsertPoint.at_end(block)
    b = MirBuilder(rewriter)
    seeds = add_seeds(b, define(op, b), vjp.result_cotangents)
    wrt = [block.args[index] for index in vjp.wrt_indices]
    found = lay_out_reverse(list(block.ops)[1:], seeds, wrt, b.builder)
    grads = [b.zeros_like(x).ssa if grad is None else grad for x, grad in zip(wrt, found, strict=True)]
    for result, output in zip(op.results, vjp.outputs, strict=True):
        result.replace_all_uses_with(output)
    rewriter.erase(op)
    rewriter.inline_block(block, InsertPoint.before(vjp), vjp.primals)
    rewriter.replace(vjp, [], grads)


class MirEmitVjpPass(RewritingPass):
    """
    Expand every `mir.vjp` by the VJP rule of its op, and merge the cotangents of slices of one value, and those of
    products that share a factor.

    ```
    %dx = mir.vjp primals(%x : T) outputs(%y : T) cotangents(%g : T) of [0] wrt [0] -> T {mir.exp ...}
    // becomes
    %dx = mir.mul %g, %y
    ```
    """

    name = "mir-emit-vjp"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        emitted = rewrite(module, ApplyVjpRule())
        expect_gone(module, (VjpOp,), self.name)
        # backwards, so that a sum in a window of another is part of that one
        shifted = sweep(module, MergeShifts(), inner_first=True)
        merged = sweep(module, MergeProducts())
        return sweep(module, MergeWindows()) or merged or shifted or emitted
