"""The pass `mir-decompose-fusion-regions`: fusions, and regions of resizes and of batches, as the ops inside of them.
What they become are rows of DECOMPOSE in `rules/control.py` and `rules/region.py`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.bodies import end_of, ops_of
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose
from xdsl_rlx.transforms.marking import RegionBody, resized_inputs


class MoveResizesOutside(RewritePattern):
    """Replace a region with resized inputs by one of the inputs resized before."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ElementwiseRegionOp, rewriter: PatternRewriter) -> None:
        if not resized_inputs(op):
            return
        source, body = op.body.block, RegionBody()
        outside: dict[SSAValue, SSAValue] = dict(zip(source.args, op.inputs, strict=True))
        steps: list[Operation] = []
        for step in ops_of(source):
            if isinstance(step, ResizeNearest2xOp):
                outside[step.result] = rewriter.insert(step.clone(outside)).results[0]
            else:
                steps.append(step)
        for step in steps:
            body.copy(step, {x: body.enter(outside[x]) if x in outside else body.enter(x) for x in step.operands})
        (end,) = end_of(source).values
        block = body.end(outside.get(end, end))
        rewriter.replace(op, ElementwiseRegionOp(body.inputs, block))


class MirDecomposeFusionRegionsPass(RewritingPass):
    """
    Inline every `mir.fusion`, `mir.transform_region` and `mir.batch_elementwise_region`.

    Resizes in a `mir.elementwise_region` move in front of it; the region stays.

    ```
    %y = mir.batch_elementwise_region (%a, %b) -> 2xT {mir.relu}
    // becomes
    %0 = mir.relu %a
    %1 = mir.relu %b
    %y = mir.concat %0, %1 axis 0
    ```
    """

    name = "mir-decompose-fusion-regions"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        changed = rewrite(module, Decompose(_is_wanted))
        return rewrite(module, MoveResizesOutside()) or changed


def _is_wanted(op: Operation) -> bool:
    return isinstance(op, FusionOp | TransformRegionOp | BatchElementwiseRegionOp)
