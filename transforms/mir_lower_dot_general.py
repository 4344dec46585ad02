"""The pass `mir-lower-dot-general`: contractions become matrix products, with what lays their operands out.
How is the row of `mir.dot_general` in the table DECOMPOSE."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.dialects.mir.linalg import DotGeneralOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


class MirLowerDotGeneralPass(RewritingPass):
    """
    Replace `mir.dot_general` by `mir.matmul`, with transposes and reshapes around it.

    ```
    %y = mir.dot_general %a, %b contracting [0] x [1] batch [] x []
    // becomes
    %0 = mir.transpose %a perm [1, 0]
    %1 = mir.transpose %b perm [1, 0]
    %y = mir.matmul %0, %1
    ```

    Transposes cost nothing where BLAS reads the operand's layout.
    """

    name = "mir-lower-dot-general"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(lambda op: isinstance(op, DotGeneralOp)))
