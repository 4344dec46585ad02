"""The pass `mir-hvp`: products of the Hessian with a vector, forward mode over reverse mode.
The two modes are `mir_grad.py` and `mir_jvp.py`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.transforms.driver import run_in_order
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_jvp import MirJvpPass
from xdsl_rlx.transforms.signature import graph_of


@dataclass(frozen=True)
class MirHvpPass(ModulePass):
    """
    Replace the function by `@name_hvp`: `mir-grad`, then `mir-jvp` of all its results.

    ```
    func.func @f(%x, %w) -> (loss)
    // becomes, with wrt=x
    func.func @f_hvp(%x, %w, %d_output, %tangent_x) -> (loss, dx, t_loss, Hv)
    ```

    With several arguments in `wrt`, `H` is the joint Hessian: the tangent of each gradient sums the products of its
    blocks with all tangents.
    """

    name = "mir-hvp"

    wrt: tuple[str, ...]
    """Names of the arguments to differentiate twice; each gets a tangent input `tangent_<name>`."""

    zero_missing_wrt: bool = False
    """Return zeros for an argument that the loss does not depend on, instead of failing."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name = graph_of(op, self.name).name
        gradient = MirGradPass(self.wrt, zero_missing_wrt=self.zero_missing_wrt)
        run_in_order(ctx, op, [gradient, MirJvpPass(self.wrt)])
        graph_of(op, self.name).rename(f"{name}_hvp")
