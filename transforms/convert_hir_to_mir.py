"""The pass `convert-hir-to-mir`: blocks become the mir ops they mean. What a block means is in `rules/hir/`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.hir.block import HirOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.rules.block_table import FusionPolicy
from xdsl_rlx.transforms.rules.hir import BLOCKS


@dataclass(frozen=True)
class ConvertBlock(RewritePattern):
    """A block becomes what its row says."""

    policy: FusionPolicy

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, HirOp):
            return
        with located(rewriter, NameLoc(StringAttr(op.name), op.location)):
            values = BLOCKS.lookup(op)(op, MirBuilder(rewriter), self.policy)
        for result, value in zip(op.results, values, strict=True):
            value.ssa.name_hint = result.name_hint or value.ssa.name_hint
        rewriter.replace(op, [], [value.ssa for value in values])


@dataclass(frozen=True)
class ConvertHirToMirPass(RewritingPass):
    """
    Replace every `hir` block by its definition in mir ops.

    The new ops are located at `"hir.block"(location of the block)`.

    ```
    %y = hir.linear %x, %w bias %b activation relu : ...
    // becomes, with fusion-policy=direct
    %y = mir.fused_matmul_bias_act %x, %w, %b activation relu : ...
    // becomes, with fusion-policy=fusable
    %0 = mir.matmul %x, %w : ...
    %1 = mir.add %0, %b : ...
    %y = mir.relu %1 : ...
    ```
    """

    name = "convert-hir-to-mir"

    fusion_policy: str = FusionPolicy.DIRECT
    """`direct`: composite mir ops where possible. `fusable` (alias `for_autodiff`): primitive ops."""

    def __post_init__(self) -> None:
        if self.fusion_policy not in set(FusionPolicy):
            raise ValueError(f"fusion-policy: expected one of {', '.join(FusionPolicy)}, got '{self.fusion_policy}'")

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, ConvertBlock(FusionPolicy(self.fusion_policy)))
