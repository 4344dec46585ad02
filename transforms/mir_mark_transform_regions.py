"""The pass `mir-mark-transform-regions`: chains of resizes become regions."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.region import TransformRegionOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.marking import RegionBody, in_closed_body, is_free


class OutlineResizes(RewritePattern):
    """Replace the last resize of a chain by a region of the chain."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ResizeNearest2xOp | TransformRegionOp, rewriter: PatternRewriter) -> None:
        if in_closed_body(op) or not is_free(op) or _continues(op):
            return
        chain: list[ResizeNearest2xOp | TransformRegionOp] = [op]
        while (before := _link(chain[0])) is not None:
            chain.insert(0, before)
        if len(chain) < 2:
            return
        body = RegionBody()
        for link in chain:
            body.add(link)
        rewriter.replace(op, TransformRegionOp(body.inputs[0], body.end(op.result)))
        for link in reversed(chain[:-1]):
            rewriter.erase(link)


def _link(op: ResizeNearest2xOp | TransformRegionOp) -> ResizeNearest2xOp | TransformRegionOp | None:
    """The resize whose result `op` alone uses, as what it resizes."""
    before = op.operands[0].owner
    if not isinstance(before, ResizeNearest2xOp | TransformRegionOp) or not is_free(before):
        return None
    return before if before.result.has_one_use() else None


def _continues(op: ResizeNearest2xOp | TransformRegionOp) -> bool:
    """Whether the only user of a resize is another one of the same chain."""
    users = [use.operation for use in op.result.uses]
    return len(users) == 1 and isinstance(users[0], ResizeNearest2xOp | TransformRegionOp) and is_free(users[0])


class MirMarkTransformRegionsPass(RewritingPass):
    """
    Outline a chain of resizes, at least two, into a `mir.transform_region`.

    ```
    %0 = mir.resize_nearest_2x %x
    %y = mir.resize_nearest_2x %0
    // becomes
    %y = mir.transform_region %x -> T {mir.resize_nearest_2x (mir.resize_nearest_2x %x)}
    ```

    A resize with several users ends a chain. `mir-decompose-fusion-regions` is the inverse.
    """

    name = "mir-mark-transform-regions"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, OutlineResizes())
