"""The pass `mir-unfuse-elementwise-regions`: regions of elementwise ops as these ops.
What they become is a row of DECOMPOSE in `rules/region.py`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.region import ElementwiseRegionOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


class MirUnfuseElementwiseRegionsPass(RewritingPass):
    """
    Inline every `mir.elementwise_region`; its ops broadcast as they did inside.

    ```
    %y = mir.elementwise_region (%x, %b) -> T {mir.tanh (mir.add %x, %b)}
    // becomes
    %0 = mir.add %x, %b
    %y = mir.tanh %0
    ```
    """

    name = "mir-unfuse-elementwise-regions"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(_is_wanted))


def _is_wanted(op: Operation) -> bool:
    return isinstance(op, ElementwiseRegionOp)
