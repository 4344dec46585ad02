"""The pass `convert-hir-to-mir`: blocks become the mir ops they mean. What a block means is in `rules/hir.py`."""

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.hir.core import HirOp
from xdsl_rlx.dialects.mir.builder import MirBuilder
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.rules.hir import BLOCKS, FusionPolicy


@dataclass(frozen=True)
class ConvertHirToMirPass(ModulePass):
    """
    Replace every `hir` block by the mir ops it means; they are located at `"hir.block"(location of the block)`.

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
    """`direct`: composite mir ops where there is one; `fusable`: primitive ops, for `mir-fuse` to group."""

    def __post_init__(self) -> None:
        if self.fusion_policy not in set(FusionPolicy):
            raise ValueError(f"fusion-policy is one of {', '.join(FusionPolicy)}, got '{self.fusion_policy}'")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        policy = FusionPolicy(self.fusion_policy)
        for block in [o for o in op.walk() if isinstance(o, HirOp)]:
            _convert(block, policy)


def _convert(block: Operation, policy: FusionPolicy) -> None:
    rule = BLOCKS.get(type(block))
    if rule is None:
        raise PassFailedException(f"no lowering for {block.name}: add one to transforms/rules/hir.py")
    location = NameLoc(StringAttr(block.name), block.location)
    b = MirBuilder(Builder(InsertPoint.before(block)))
    with located(b.builder, location):
        results = rule(block, b, policy)
    for old, new in zip(block.results, results, strict=True):
        new.ssa.name_hint = old.name_hint or new.ssa.name_hint
    replace(block, results)
