"""The pass `mir-inline-if`: branches side by side, and a choice between their results.
What a branch becomes is a row of DECOMPOSE in `rules/branch.py`."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.branch import IfOp, SwitchOp, WhileOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


class MirInlineIfPass(RewritingPass):
    """
    Compute both branches of every `mir.if` and select the results; a `mir.switch` becomes nested branches first.

    ```
    %y = mir.if %p captured(%x) -> (T) {mir.sin %x} else {mir.cos %x}
    // becomes
    %0 = mir.sin %x
    %1 = mir.cos %x
    %y = mir.where %p, %0, %1
    ```

    Useful for small branches, which then fuse with the ops around them. A branch with an unbounded loop stays, because
    the loop might not end where the branch is not taken. A gradient taken afterwards is that of the select: 0 times an
    infinite derivative of the other branch is NaN.
    """

    name = "mir-inline-if"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(_is_wanted))


def _is_wanted(op: Operation) -> bool:
    if not isinstance(op, IfOp | SwitchOp):
        return False
    endless = any(isinstance(inner, WhileOp) and inner.most is None for inner in op.walk())
    return isinstance(op, SwitchOp) or not endless
