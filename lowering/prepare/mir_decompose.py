"""The pass `mir-decompose`: composite ops become ops that have loops, or a nest of their own.
Their definitions are rows of the table DECOMPOSE in `rules/`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, WhileOp
from xdsl_rlx.dialects.mir.core import HasKernel
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PLACE, VIEW
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


class MirDecomposePass(RewritingPass):
    """
    Decompose ops that have neither a loop form nor a kernel of their own.

    ```
    %y = mir.fused_swiglu %x : tensor<2x4xf32> to tensor<2x2xf32>
    // becomes
    %0 = mir.narrow %x axis -1 start 0 len 2
    %1 = mir.narrow %x axis -1 start 2 len 2
    %2 = mir.silu %1
    %y = mir.mul %2, %0
    ```

    Loops and branches stay, except scans of one iteration, which are replaced by their bodies.
    """

    name = "mir-decompose"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(_is_composite))


def _is_composite(op: Operation) -> bool:
    kind = type(op)
    if op.has_trait(HasKernel) or _keeps_bodies(op):
        return False
    return LOOPS.get(kind) is None and VIEW.get(kind) is None and PLACE.get(kind) is None


def _keeps_bodies(op: Operation) -> bool:
    """Whether an op is run as what it is, a loop or a branch."""
    return isinstance(op, IfOp | WhileOp | RematOp) or (isinstance(op, ScanOp) and op.times > 1)
