"""The pass `mir-unroll-while`: loops with a bound as scans, which have a gradient in reverse mode.
What a loop becomes is a row of DECOMPOSE in `rules/branch.py`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.branch import WhileOp
from xdsl_rlx.transforms.driver import RewritingPass, is_behind_a_rule, rewrite
from xdsl_rlx.transforms.engines.define import Decompose
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.rules.rule_table import FLOW


@dataclass(frozen=True)
class MirUnrollWhilePass(RewritingPass):
    """
    Replace every `mir.while` with `max_iterations` by a scan of that length, with the body in a branch.

    ```
    %y, %n = mir.while carries(%x) max_iterations 8 -> (T) {asked} do {body}
    // becomes
    %0 = asked(%x)
    %y, %1, %n = mir.scan 8 carries(%x, %0, 0) -> (T, i1, i32) {mir.if %0 {body, asked, n + 1} else {..}}
    ```

    Iterations after the end cost a branch. Unbounded loops stay.
    """

    name = "mir-unroll-while"

    differentiable: bool = False
    """Replace only loops on a differentiable path."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, Decompose(self._is_wanted))

    def _is_wanted(self, op: Operation) -> bool:
        if not isinstance(op, WhileOp) or op.most is None:
            return False
        if not self.differentiable:
            return True
        numbers = [n for n, x in enumerate(op.operands) if has_derivative(x)]
        return bool(FLOW.of(op, numbers)) and not is_behind_a_rule(op)
