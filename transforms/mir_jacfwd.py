"""The pass `mir-jacfwd`: whole Jacobians by forward mode, all unit vectors at once.
Forward mode is `mir_jvp.py`, the batch of unit vectors `mir_vmap.py`."""

from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.mir_jvp import MirJvpPass
from xdsl_rlx.transforms.mir_vmap import MirVmapPass
from xdsl_rlx.transforms.rules.rows import move_axis
from xdsl_rlx.transforms.signature import graph_of
from xdsl_rlx.transforms.unit_vectors import put_unit_vectors, rows


@dataclass(frozen=True)
class MirJacfwdPass(ModulePass):
    """
    Replace the function by `@name_jacfwd`: the Jacobian of each result by each argument in `wrt`, in forward mode.

    ```
    func.func @f(%x : tensor<3xf32>) -> tensor<4x2xf32>
    // becomes, with wrt=x
    func.func @f_jacfwd(%x : tensor<3xf32>) -> tensor<4x2x3xf32>
    ```

    Element `[i.., j..]` is the derivative of result element `[i..]` by argument element `[j..]`. Values that depend on
    the arguments are computed for all unit tangents at once; others are computed once.
    """

    name = "mir-jacfwd"

    wrt: tuple[str, ...]
    """Names of the arguments, in the order of the Jacobians of one result."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name = graph_of(op, self.name).name
        if not self.wrt:
            raise PassFailedException(f"{self.name}: name the arguments of @{name} to differentiate by")
        MirJvpPass(self.wrt).apply(ctx, op)
        graph = graph_of(op, self.name)
        graph.set_outputs(graph.outputs[len(graph.outputs) // 2 :])
        tangents = graph.arguments[len(graph.arguments) - len(self.wrt) :]
        shapes = [shape_of(tangent.value) for tangent in tangents]
        MirVmapPass(tuple(tangent.name for tangent in tangents), sum(map(prod, shapes))).apply(ctx, op)
        put_unit_vectors(graph, shapes)
        last = graph.block.last_op
        assert last is not None
        b = MirBuilder(Builder(InsertPoint.before(last)))
        found: list[SSAValue] = []
        for y in map(b.value, graph.outputs):
            for shape, columns in zip(shapes, rows(b, y, shapes), strict=True):
                found.append(_jacobian(b, columns, shape).ssa)
        graph.set_outputs(found)
        graph.rename(f"{name}_jacfwd")
        remove_dead(op.body)


def _jacobian(b: MirBuilder, columns: Value, shape: tuple[int, ...]) -> Value:
    """The axis of the unit vectors behind the others, in the shape of the argument."""
    return b.reshape(move_axis(b, columns, 0, columns.rank - 1), (*columns.shape[1:], *shape))
