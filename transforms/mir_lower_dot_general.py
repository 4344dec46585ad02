"""The pass `mir-lower-dot-general`: contractions become matrix products, with what lays their operands out.
How is the row of `mir.dot_general` in the table DECOMPOSE."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.builder import MirBuilder
from xdsl_rlx.dialects.mir.linalg import DotGeneralOp
from xdsl_rlx.transforms.driver import rewrite
from xdsl_rlx.transforms.rules import DECOMPOSE


class LowerDotGeneral(RewritePattern):
    """Transposes and reshapes to matrices, one matrix product, a reshape of the result."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotGeneralOp, rewriter: PatternRewriter) -> None:
        values = DECOMPOSE.lookup(op)(op, MirBuilder(rewriter))
        rewriter.replace(op, [], [value.ssa for value in values])


class MirLowerDotGeneralPass(ModulePass):
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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, LowerDotGeneral())
