"""The pass `mir-fuse-gaussian-splat`: splats that are prepared for one picture become it, by one op.
The ops are in `ops.py`, the derivative rule of the one in `rules.py`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.plugins.splat.ops import GaussianSplatPrepareOp, GaussianSplatRasterizeOp, GaussianSplatRenderOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite


class FuseRasterizeOfPrepare(RewritePattern):
    """Replace a picture of splats, prepared for the same camera and for it alone, by that of the splats themselves."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GaussianSplatRasterizeOp, rewriter: PatternRewriter) -> None:
        prepare = op.origins.owner
        if not isinstance(prepare, GaussianSplatPrepareOp) or prepare.meta != op.meta:
            return
        if op.prepared != tuple(prepare.results) or not all(result.has_one_use() for result in prepare.results):
            return
        scale = prepare.radius_scale.value.data
        rewriter.replace(op, GaussianSplatRenderOp(*prepare.cloud, op.meta, **vars(op.picture), radius_scale=scale))
        rewriter.erase(prepare)


class MirFuseGaussianSplatPass(RewritingPass):
    """
    Fuse `mir.gaussian_splat_prepare` into the only `mir.gaussian_splat_rasterize` that uses it.

    ```
    %u, %a, %c, %o = mir.gaussian_splat_prepare %p, %s, %q, %opacity, %color, %sh, %meta
    %rgba = mir.gaussian_splat_rasterize %u, %a, %c, %o, %meta
    // becomes
    %rgba = mir.gaussian_splat_render %p, %s, %q, %opacity, %color, %sh, %meta
    ```

    The radius scale comes from the preparation, other properties from the rasterisation. Unfused ops are differentiated
    through their definitions, which store a number per splat and pixel.
    """

    name = "mir-fuse-gaussian-splat"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, FuseRasterizeOfPrepare())
