"""The pass `mir-jvp`: from a function to the function of its outputs and their tangents.
Where the tangents come from is in `engines/forward.py`, the rules are rows of the table JVP in `rules/`."""

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.engines.forward import push_forward
from xdsl_rlx.transforms.engines.reverse import has_derivative
from xdsl_rlx.transforms.signature import graph_of, named


@dataclass(frozen=True)
class MirJvpPass(ModulePass):
    """
    Replace the function by `@name_jvp`, which returns the results and a tangent for each.

    ```
    func.func @f(%x, %w) -> (y)
    // becomes, with wrt=x
    func.func @f_jvp(%x, %w, %tangent_x) -> (y, dy)
    ```

    Results that do not depend differentiably on `wrt` have zero tangents.
    """

    name = "mir-jvp"

    wrt: tuple[str, ...]
    """Names of the arguments to differentiate; each gets a tangent input `tangent_<name>`, in this order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        pushed: dict[SSAValue, SSAValue] = {}
        wrt = named(graph, self.wrt, self.name)
        graph.forget_tangents()
        for argument in wrt:
            if not has_derivative(argument.value):
                type_ = argument.value.type
                raise PassFailedException(f'{self.name}: "{argument.name}" of type {type_} is not floating-point')
            if argument.value in pushed:
                raise PassFailedException(f'{self.name}: "{argument.name}" is named twice')
            pushed[argument.value] = graph.add_tangent(argument)
        push_forward(list(graph.block.ops)[:-1], pushed)
        last = graph.block.last_op
        assert last is not None
        b = MirBuilder(Builder(InsertPoint.before(last)))
        outputs = graph.outputs
        found = [pushed.get(output) for output in outputs]
        tangents = [b.zeros_like(y).ssa if t is None else t for y, t in zip(outputs, found, strict=True)]
        graph.set_outputs([*outputs, *tangents])
        graph.rename(f"{graph.name}_jvp")
        remove_dead(op.body)
