"""The pass `mir-vmap`: from a function to the function of a whole batch of some of its arguments.
What becomes of the ops is in `engines/batch.py`, the rules are rows of the table VMAP in `rules/`."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.shapes import element_of, normalize_axis, shape_of
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.engines.batch import Batch
from xdsl_rlx.transforms.rules.rows import move_axis
from xdsl_rlx.transforms.signature import NamedArgument, graph_of, named


@dataclass(frozen=True)
class MirVmapPass(ModulePass):
    """
    Replace the function by `@name_vmap`, which maps it over a batch of `size` values of the given inputs.

    ```
    func.func @f(%x : tensor<3xf32>, %w : tensor<3x2xf32>) -> tensor<2xf32>
    // becomes, with inputs=x size=8
    func.func @f_vmap(%x : tensor<8x3xf32>, %w : tensor<3x2xf32>) -> tensor<8x2xf32>
    ```

    Every result has a leading axis of extent `size`; results that do not depend on the batched inputs are repeated.
    Params can be batched, too. `in-axes` gives the position of the batch axis in each input, 0 by default.
    """

    name = "mir-vmap"

    inputs: tuple[str, ...]
    """Names of the batched arguments."""

    size: int
    """Extent of the batch axis."""

    in_axes: tuple[int, ...] = ()
    """Position of the batch axis in each of `inputs`; empty: 0."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        axes = self._axes(named(graph, self.inputs, self.name))
        before, after = graph.block, Block()
        rebuild = Batch(self.size, MirBuilder(Builder(InsertPoint.at_end(after))))
        for old in before.args:
            shape = list(shape_of(old))
            if (axis := axes.get(old)) is not None:
                shape.insert(axis, self.size)
            new = after.insert_arg(TensorType(element_of(old), shape), len(after.args), old.location)
            new.name_hint = old.name_hint
            rebuild.values[old] = new
        for old, axis in axes.items():
            rebuild.values[old] = move_axis(rebuild.b, rebuild.b.value(rebuild.values[old]), axis, 0).ssa
        rebuild.batched.update(axes)
        last = before.last_op
        assert last is not None
        rebuild.copy(list(before.ops)[:-1])
        end = ReturnOp(*[rebuild.with_axis(output) for output in graph.outputs])
        end.location = last.location
        after.add_op(end)
        graph.func.body.insert_block(after, 0)
        graph.func.body.erase_block(before, safe_erase=False)
        graph.update_type()
        graph.rename(f"{graph.name}_vmap")
        remove_dead(op.body)

    def _axes(self, arguments: Sequence[NamedArgument]) -> dict[SSAValue, int]:
        """The position of the new axis in each argument named."""
        if self.size < 0:
            raise PassFailedException(f"{self.name}: expected a size of at least 0, got {self.size}")
        if self.in_axes and len(self.in_axes) != len(self.inputs):
            raise PassFailedException(f"{self.name}: {len(self.in_axes)} in-axes for {len(self.inputs)} inputs")
        axes: dict[SSAValue, int] = {}
        for argument, axis in zip(arguments, self.in_axes or [0] * len(arguments), strict=True):
            if argument.value in axes:
                raise PassFailedException(f'{self.name}: "{argument.name}" is named twice')
            try:
                axes[argument.value] = normalize_axis(axis, len(shape_of(argument.value)) + 1)
            except VerifyException as error:
                raise PassFailedException(f'{self.name}: "{argument.name}" with the new axis: {error}') from None
        return axes
