"""The pass `rlx-grad`: the pipeline `gradient_passes` of `pipelines.py`, under one name."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.lowering.pipelines import gradient_passes
from xdsl_rlx.transforms.driver import run_in_order


@dataclass(frozen=True)
class RlxGradPass(ModulePass):
    """
    Differentiate a function of blocks or tensor operations in reverse mode: `rlx.grad_with_loss`.

    Runs `mir-pin-taps`, `convert-hir-to-mir`, `mir-prepare-for-ad` and `mir-grad`.
    """

    name = "rlx-grad"

    wrt: tuple[str, ...] = ()
    """Names of arguments or taps, in the order of their gradients; empty: every floating-point parameter."""

    zero_missing_wrt: bool = False
    """Return zeros for an argument on which the loss does not depend differentiably, rather than fail."""

    loss: bool = True
    """Return the function's own results in front of the gradients; without, the gradients alone (`rlx.grad`)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        run_in_order(ctx, op, gradient_passes(self.wrt, self.zero_missing_wrt, self.loss))
