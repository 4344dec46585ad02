"""The pass `mir-fuse-region-prologue`: a resize in front of elementwise ops becomes a part of their region."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.region import ELEMENTWISE, ElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.marking import RegionBody, in_closed_body, is_free, users_of


class MoveResizesInside(RewritePattern):
    """Replace a region, or an elementwise op, and the resizes that it alone uses by one region."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, (ElementwiseRegionOp, *ELEMENTWISE)) or in_closed_body(op) or not is_free(op):
            return
        resizes: list[Operation] = []
        for operand in dict.fromkeys(op.operands):
            user, owner = op, operand.owner
            while isinstance(owner, ResizeNearest2xOp | TransformRegionOp) and _is_only_for(owner, user):
                resizes.insert(0, owner)
                user, owner = owner, owner.operands[0].owner
        if not resizes:
            return
        body = RegionBody()
        # inputs stay in their order
        sources: dict[SSAValue, SSAValue] = {resize.results[0]: resize.operands[0] for resize in resizes}
        for operand in op.operands:
            body.enter(_source(operand, sources))
        for step in (*resizes, op):
            body.add(step)
        rewriter.replace(op, ElementwiseRegionOp(body.inputs, body.end(op.results[0])))
        for resize in reversed(resizes):
            rewriter.erase(resize)


def _is_only_for(resize: ResizeNearest2xOp | TransformRegionOp, user: Operation) -> bool:
    return is_free(resize) and users_of(resize.result) == {user}


def _source(value: SSAValue, sources: dict[SSAValue, SSAValue]) -> SSAValue:
    """The value that is resized, once or several times, to this one."""
    while (before := sources.get(value)) is not None:
        value = before
    return value


class MirFuseRegionProloguePass(RewritingPass):
    """
    Move resizes into the `mir.elementwise_region`, or to the elementwise op, that alone uses their result.

    ```
    %0 = mir.resize_nearest_2x %x
    %y = mir.relu %0
    // becomes
    %y = mir.elementwise_region (%x) -> T {mir.relu (mir.resize_nearest_2x %x)}
    ```

    Any input may be resized, and several times: a `mir.transform_region` moves inside too. A resize with several users
    stays outside. `mir-decompose-fusion-regions` is the inverse, but that a single op stays a region.
    """

    name = "mir-fuse-region-prologue"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, MoveResizesInside())
