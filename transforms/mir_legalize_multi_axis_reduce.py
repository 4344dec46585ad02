"""The pass `mir-legalize-multi-axis-reduce`: reductions over several axes that are better taken one axis at a time.
Sum, mean, max and min are not: their rules take all axes at once."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.reduce import ReduceProdOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.driver import RewritingPass, rewrite


class SplitProduct(RewritePattern):
    """A product over several axes, the last first: each derivative then reuses the products further in."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceProdOp, rewriter: PatternRewriter) -> None:
        if len(op.axis_list) < 2:
            return
        b = MirBuilder(rewriter)
        value = b.value(op.operand)
        for axis in reversed(op.axis_list):
            value = b.reduce_prod(value, [axis], keep_dim=True, dtype=value.dtype)
        rewriter.replace(op, [], [b.reshape(value, shape_of(op.result)).ssa])


class MirLegalizeMultiAxisReducePass(RewritingPass):
    """
    Split `mir.reduce_prod` over several axes into one per axis.

    ```
    %y = mir.reduce_prod %x axes [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
    // becomes
    %0 = mir.reduce_prod %x axes [1] keep_dim : (tensor<4x3xf32>) -> tensor<4x1xf32>
    %1 = mir.reduce_prod %0 axes [0] keep_dim : (tensor<4x1xf32>) -> tensor<1x1xf32>
    %y = mir.reshape %1 : tensor<1x1xf32> to tensor<f32>
    ```

    Maxima are not split: that would change how ties share the gradient.
    """

    name = "mir-legalize-multi-axis-reduce"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, SplitProduct())
