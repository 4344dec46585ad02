"""The pass `mir-inline-custom-fn`: functions with derivative rules of their own as the ops that compute them.
What such a function becomes is a row of DECOMPOSE in `rules/custom_fn.py`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.engines.define import Decompose


@dataclass(frozen=True)
class MirInlineCustomFnPass(RewritingPass):
    """
    Inline every `mir.custom_fn` and drop its derivative rules.

    ```
    %y = mir.custom_fn inputs(%x) -> (T) {mir.mul %x, %x}
    // becomes
    %y = mir.mul %x, %x
    ```

    Derivatives taken afterwards differentiate these ops.
    """

    name = "mir-inline-custom-fn"

    without_rules: bool = False
    """Inline only functions without derivative rules."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(self._is_wanted))

    def _is_wanted(self, op: Operation) -> bool:
        if not isinstance(op, CustomFnOp):
            return False
        return not (self.without_rules and op.has_rules)
