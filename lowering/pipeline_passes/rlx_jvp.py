"""The pass `rlx-jvp`: the pipeline `tangent_passes` of `pipelines.py`, under one name."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.lowering.pipelines import tangent_passes
from xdsl_rlx.transforms.driver import run_in_order


@dataclass(frozen=True)
class RlxJvpPass(ModulePass):
    """
    Differentiate a function of blocks or tensor operations in forward mode: `rlx.jvp`.

    Runs `convert-hir-to-mir`, `mir-prepare-for-ad{reverse=false}` and `mir-jvp`.
    """

    name = "rlx-jvp"

    wrt: tuple[str, ...]
    """Names of arguments that get a tangent input `tangent_<name>`, in that order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        run_in_order(ctx, op, tangent_passes(self.wrt))
