"""The pass `mir-select-outputs`: some results of the function, in another order, and what computes these."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.signature import graph_of


@dataclass(frozen=True)
class MirSelectOutputsPass(ModulePass):
    """
    Return only the selected results of the function, in the given order. Ops that only the others need are erased.

    ```
    func.func @f(%x) -> (y, z, w)
    // becomes, with outputs=2,0
    func.func @f(%x) -> (w, y)
    ```
    """

    name = "mir-select-outputs"

    outputs: tuple[int, ...]
    """Indices of the results, counted from 0, in their new order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph = graph_of(op, self.name)
        results = graph.outputs
        for number in self.outputs:
            if not 0 <= number < len(results):
                raise PassFailedException(
                    f"{self.name}: @{graph.name} has {len(results)} results, got result number {number}"
                )
        graph.set_outputs([results[number] for number in self.outputs])
        remove_dead(op.body)
