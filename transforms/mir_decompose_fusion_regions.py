"""The pass `mir-decompose-fusion-regions`: fusions, and regions of resizes and of batches, as the ops inside of them.
What they become are rows of DECOMPOSE in `rules/control.py` and `rules/region.py`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


class MirDecomposeFusionRegionsPass(RewritingPass):
    """
    Inline every `mir.fusion`, `mir.transform_region` and `mir.batch_elementwise_region`.

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
        return rewrite(module, Decompose(_is_wanted))


def _is_wanted(op: Operation) -> bool:
    return isinstance(op, FusionOp | TransformRegionOp | BatchElementwiseRegionOp)
