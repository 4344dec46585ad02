"""The pass `mir-lower-dot-general`: contractions become matrix products, with what lays their operands out.
How is the row of `mir.dot_general` in the table DECOMPOSE."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.dialects.mir.linalg import DotGeneralOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


class MirLowerDotGeneralPass(RewritingPass):
    """
    Replace contractions by matrix products.

    ```
    %y = mir.dot_general %a, %b contracting [0] x [1] batch [] x []
    // becomes
    %0 = mir.transpose %a perm [1, 0]
    %1 = mir.transpose %b perm [1, 0]
    %y = mir.matmul %0, %1
    ```

    The transposes are not carried out where BLAS reads their operands as they lie.
    """

    name = "mir-lower-dot-general"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(lambda op: isinstance(op, DotGeneralOp)))
