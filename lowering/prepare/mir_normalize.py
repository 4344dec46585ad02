"""The pass `mir-normalize`: cases of ops that have no loops become other ops.
What they become are rows of the table NORMALIZE in `normal_forms.py`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.lowering.prepare.normal_forms import NORMALIZE, is_product_of_bf16
from xdsl_rlx.lowering.target import NormalizeCosts
from xdsl_rlx.transforms.driver import RewritingPass, rewrite


@dataclass
class Normalize(RewritePattern):
    """An op becomes what its row says, in the cases that this is for."""

    costs: NormalizeCosts

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if self.costs.bf16 and is_product_of_bf16(op, self.costs):
            return
        rule = NORMALIZE.get(type(op))
        values = None if rule is None else rule(op, MirBuilder(rewriter), self.costs)
        if values is not None:
            rewriter.replace(op, [], [value.ssa for value in values])


@dataclass(frozen=True)
class MirNormalizePass(NormalizeCosts, RewritingPass):
    """
    Rewrite cases of ops without a loop form into ops that have one.

    Such cases include reductions over separated axes, matmuls of integers or half floats, and bounded while loops. With
    `bf16`, for processors with dot products of bf16, matmuls of bf16 stay.

    ```
    %y = mir.reduce_sum %x axes [0, 2] : (tensor<4x3x2xf32>) -> tensor<3xf32>
    // becomes
    %0 = mir.reduce_sum %x axes [2] keep_dim : (tensor<4x3x2xf32>) -> tensor<4x3x1xf32>
    %1 = mir.reduce_sum %0 axes [0] keep_dim : (tensor<4x3x1xf32>) -> tensor<1x3x1xf32>
    %y = mir.reshape %1 : tensor<1x3x1xf32> to tensor<3xf32>
    ```
    """

    name = "mir-normalize"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Normalize(self))
