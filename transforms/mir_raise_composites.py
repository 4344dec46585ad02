"""The pass `mir-raise-composites`: simpler ops become the composite ones that they are the definition of.
What they look like is in the rows of the table RAISE in `rules/`, beside the definitions."""

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.core import HasKernel
from xdsl_rlx.transforms.driver import RewritingPass, is_elementwise
from xdsl_rlx.transforms.engines.compose import compose
from xdsl_rlx.transforms.rules.rule_table import VJP


@dataclass(frozen=True)
class MirRaiseCompositesPass(RewritingPass):
    """
    Recognise composite ops that are spelled out in simpler ops, in all bodies.

    ```
    %0 = mir.matmul %x, %w
    %1 = mir.add %0, %b
    %y = mir.relu %1
    // becomes
    %y = mir.fused_matmul_bias_act %x, %w, %b activation relu
    ```

    The inverse of `mir-unfuse-for-ad`. A match follows the definition, up to the order of commutative operands, views
    and the rounding of constants. A pattern whose inner values have other users, or are outputs, is left alone. Equal
    operands of the remaining reductions are merged.
    """

    name = "mir-raise-composites"

    kind: Literal["all", "differentiated", "kernels"] = "all"
    """
    Ops to recognise: `all`; those with a derivative rule of their own (`differentiated`); or those with a kernel or
    scalar function of their own (`kernels`).

    Other composites are decomposed again before differentiation or fusion. `differentiated` and `kernels` leave
    attention over few keys alone, which is faster decomposed.
    """

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        found = compose(module, self._is_wanted, self.kind != "all")
        return bool(found.raised) or found.is_tidier

    def _is_wanted(self, op: type[Operation]) -> bool:
        if self.kind == "kernels":
            return op.has_trait(HasKernel) or is_elementwise(op)
        return self.kind == "all" or VJP.get(op) is not None
