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
from xdsl.transforms.dead_code_elimination import dce

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.mir_jvp import MirJvpPass
from xdsl_rlx.transforms.mir_vmap import MirVmapPass
from xdsl_rlx.transforms.rules.rows import move_axis
from xdsl_rlx.transforms.signature import graph_of


@dataclass(frozen=True)
class MirJacfwdPass(ModulePass):
    """
    Turn the function into `@name_jacfwd`, which returns the Jacobian of each result.

    ```
    func.func @f(%x : tensor<3xf32>) -> tensor<4x2xf32>
    // becomes, with wrt=x
    func.func @f_jacfwd(%x : tensor<3xf32>) -> tensor<4x2x3xf32>
    ```

    Element `[i.., j..]` is the derivative of element `[i..]` of the result by element `[j..]` of the argument. What
    the tangent reaches is computed for all elements of the argument at once, the rest one time.
    """

    name = "mir-jacfwd"

    wrt: str
    """The name of the argument."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name = graph_of(op, self.name).name
        MirJvpPass((self.wrt,)).apply(ctx, op)
        graph = graph_of(op, self.name)
        graph.set_outputs(graph.outputs[len(graph.outputs) // 2 :])
        tangent = graph.arguments[-1]
        shape = shape_of(tangent.value)
        MirVmapPass((tangent.name,), prod(shape)).apply(ctx, op)
        first, last = graph.block.first_op, graph.block.last_op
        assert first is not None and last is not None
        units = _unit_vectors(MirBuilder(Builder(InsertPoint.before(first))), graph.block.args[-1])
        graph.drop_last_argument(units.ssa)
        b = MirBuilder(Builder(InsertPoint.before(last)))
        columns = [b.value(output) for output in graph.outputs]
        graph.set_outputs([b.reshape(move_axis(b, y, 0, y.rank - 1), (*y.shape[1:], *shape)).ssa for y in columns])
        graph.rename(f"{name}_jacfwd")
        dce(op)


def _unit_vectors(b: MirBuilder, batch: SSAValue) -> Value:
    """`[n, ..]`: for each of the n positions in `..`, in their order, 1 there and 0 elsewhere."""
    size, *shape = shape_of(batch)
    position = b.constant(list(range(size)), "i64")
    same = b.eq(b.reshape(position, (size, 1)), position)
    return b.reshape(b.cast(same, element_of(batch)), (size, *shape))
