"""The pass `mir-jvp`: from a function to the function of its outputs and their tangents.
The rules are rows of the table JVP in `rules/`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import dce
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.reverse import has_derivative
from xdsl_rlx.transforms.rules import DECOMPOSE, INERT, JVP
from xdsl_rlx.transforms.rules.wide import define, rounded, wide, widened
from xdsl_rlx.transforms.signature import graph_of, named


@dataclass(frozen=True)
class MirJvpPass(ModulePass):
    """
    Turn the function into `@name_jvp`, which returns its results and then a tangent for each.

    ```
    func.func @f(%x, %w) -> (y)
    // becomes, with wrt=x
    func.func @f_jvp(%x, %w, %tangent_x) -> (y, dy)
    ```

    The tangent of a result that does not depend differentiably on `wrt` is zeros.
    """

    name = "mir-jvp"

    wrt: tuple[str, ...]
    """Names of arguments that get a tangent input `tangent_<name>`, in that order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        forward = _Forward()
        for argument in named(graph, self.wrt, self.name):
            if not has_derivative(argument.value):
                type_ = argument.value.type
                raise PassFailedException(f'{self.name}: "{argument.name}" of type {type_} is not floating-point')
            if argument.value in forward.tangents:
                raise PassFailedException(f'{self.name}: "{argument.name}" is named twice')
            forward.tangents[argument.value] = graph.add_input(f"tangent_{argument.name}", argument.value.type)
        forward.push_through(list(graph.block.ops)[:-1])
        last = graph.block.last_op
        assert last is not None
        b = MirBuilder(Builder(InsertPoint.before(last)))
        outputs = graph.outputs
        found = [forward.tangents.get(output) for output in outputs]
        tangents = [b.zeros_like(y).ssa if t is None else t for y, t in zip(outputs, found, strict=True)]
        graph.set_outputs([*outputs, *tangents])
        graph.rename(f"{graph.name}_jvp")
        dce(op)


@dataclass
class _Forward:
    """Puts the tangent of each op right behind it; a value without an entry has the tangent zero."""

    tangents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def push_through(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            inert = INERT.of(op)
            arriving = [None if i in inert else self.tangents.get(x) for i, x in enumerate(op.operands)]
            if JVP.reason(type(op)) is not None or all(t is None for t in arriving):
                continue
            if JVP.get(type(op)) is None and DECOMPOSE.get(type(op)) is not None:
                self._through_decomposition(op)
            else:
                self._by_rule(op, arriving)

    def _by_rule(self, op: Operation, arriving: Sequence[SSAValue | None]) -> None:
        b = MirBuilder(Builder(InsertPoint.after(op)))
        with wide(op, b, op.results) as seen:
            taken = widened if seen is not op else MirBuilder.value
            arguments = [None if t is None else taken(b, t) for t in arriving]
            leaving: Sequence[Value | None] = JVP.lookup(op)(seen, b, *arguments)
        if seen is not op:
            leaving = [t and rounded(b, t, y) for t, y in zip(leaving, op.results, strict=True)]
        _locate(op, b)
        for result, tangent in zip(op.results, leaving, strict=True):
            if tangent is not None and has_derivative(result):
                if tangent.ssa.name_hint is None and result.name_hint:
                    tangent.ssa.name_hint = f"t_{result.name_hint}"
                self.tangents[result] = tangent.ssa

    def _through_decomposition(self, op: Operation) -> None:
        """Replace `op` by its decomposition: the tangent shares what that computes."""
        block = Block()
        b = MirBuilder(Builder(InsertPoint.at_end(block)))
        values = define(op, b)
        parts = list(block.ops)
        for part in parts:
            part.detach()
            part.location = op.location
        assert op.parent is not None
        op.parent.insert_ops_before(parts, op)
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value.ssa)
        op.detach()
        op.erase()
        self.push_through(parts)


def _locate(op: Operation, b: MirBuilder) -> None:
    """Give what was inserted behind `op` its location."""
    end = b.builder.insertion_point.insert_before
    after = op.next_op
    while after is not None and after is not end:
        if after.location == UNKNOWN_LOC:
            after.location = op.location
        after = after.next_op
