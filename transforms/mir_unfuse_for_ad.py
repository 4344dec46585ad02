"""The pass `mir-unfuse-for-ad`: composite ops without a derivative rule of their own become simpler ops.
Their definitions are rows of the table DECOMPOSE in `rules/`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose
from xdsl_rlx.transforms.engines.reverse import taken_apart


class MirUnfuseForAdPass(RewritingPass):
    """
    Decompose composite ops that have no derivative rule of their own (softmax and layer norm have one).

    ```
    %y = mir.fused_matmul_bias_act %x, %w, %b activation relu
    // becomes
    %0 = mir.matmul %x, %w
    %1 = mir.add %0, %b
    %y = mir.relu %1
    ```
    """

    name = "mir-unfuse-for-ad"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(taken_apart))
