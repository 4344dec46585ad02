"""The pass `mir-partition`: a function and its gradients as two, which run one after the other.
What the second reads of the first is chosen in `engines/residuals.py`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.engines.residuals import PRICE, computed_again, forward_pass, kept_ops
from xdsl_rlx.transforms.signature import Signature, graph_of

RESIDUAL = "residual"


class Part(StrEnum):
    """One of the two functions."""

    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True)
class MirPartitionPass(ModulePass):
    """
    Extract the forward or the backward half of a function made by `mir-grad`.

    ```
    func.func @f_grad(%x, %w, %d_output) -> (loss, dw)
    // becomes, with part=forward
    func.func @f_forward(%x, %w) -> (loss, residuals..)
    // and with part=backward
    func.func @f_backward(%w, %d_output, %residual_0, ..) -> (dw)
    ```

    Residuals are the forward values and inputs that the backward half reads. A minimum cut selects them by the cost of
    keeping and of recomputing. Params are read in place, except those that a result overwrites. Optional arguments that
    no forward result depends on, such as `d_output`, belong to the backward function.
    """

    name = "mir-partition"

    part: str
    """The half to extract: `forward` or `backward`."""

    price: float = PRICE
    """Cost of keeping one byte, in additions of one element."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        try:
            part = Part(self.part)
        except ValueError:
            raise PassFailedException(
                f"{self.name}: part: expected one of {', '.join(Part)}, got {self.part!r}"
            ) from None
        graph = graph_of(op, self.name)
        if not graph.gradients:
            raise PassFailedException(f"{self.name}: no result of @{graph.name} is a gradient; run mir-grad before it")
        # what nothing reads would be an argument of one half and no result of the other
        remove_dead(graph.func.body)
        halves = _Halves.of(graph, self.price)
        stem = graph.name.removesuffix("_grad")
        graph.rename(f"{stem}_{part}")
        if part is Part.FORWARD:
            graph.set_outputs([*halves.results, *halves.residuals])
            _erase_unread(graph, halves.backward)
        else:
            halves.make_backward()
            _erase_unread(graph, halves.forward)
        remove_dead(graph.func.body)
        graph.drop_unused(halves.seeds if part is Part.FORWARD else {a.name for a in graph.arguments})


def _erase_unread(graph: Signature, half: Sequence[Operation]) -> None:
    """Erase the ops of the other half that nothing reads: some would stay for their effects."""
    there = {*half}
    for op in reversed(list(graph.block.ops)):
        if op in there and not any(result.first_use for result in op.results):
            op.detach()
            op.erase()


@dataclass(frozen=True)
class _Halves:
    """
    The names of what is the backward pass's alone, the results, what that pass reads of what is kept, the ops of both,
    and what is computed again before each of the backward pass.
    """

    graph: Signature
    seeds: Container[str]
    results: Sequence[SSAValue]
    residuals: Sequence[SSAValue]
    forward: Sequence[Operation]
    backward: Sequence[Operation]
    again: Mapping[Operation, Sequence[Operation]]

    @staticmethod
    def of(graph: Signature, price: float) -> _Halves:
        results = [value for number, value in enumerate(graph.outputs) if number not in graph.gradients]
        ops = [op for op in graph.block.ops if op is not graph.block.last_op]
        optional = [a.value for a in graph.arguments if a.optional]
        needed = forward_pass(graph.block, results, optional)
        forward, backward = [op for op in ops if op in needed], [op for op in ops if op not in needed]
        kept = kept_ops(forward, backward, price)
        again = computed_again(forward, backward, kept)
        readers = {*backward, *(op for ops in again.values() for op in ops)}
        arguments = graph.arguments
        known = {*results, *(x for op in forward for x in op.operands)}
        seeds = {a.name for a in arguments if a.optional and a.value not in known}
        changing = {a.value for a in graph.replaced.values()}
        inputs = [a.value for a in arguments if (a.kind == "input" and a.name not in seeds) or a.value in changing]
        returned = {graph.outputs[number] for number in graph.gradients}
        values = (*inputs, *(result for op in forward if op in kept for result in op.results))
        read = [x for x in values if x in returned or any(use.operation in readers for use in x.uses)]
        return _Halves(graph, seeds, results, read, forward, backward, again)

    def make_backward(self) -> None:
        """Have the function compute the gradients, from residuals that it is given."""
        graph, gradients = self.graph, sorted(self.graph.gradients)
        names, called = [graph.gradients[number] for number in gradients], graph.output_names
        env: dict[SSAValue, SSAValue] = {}
        for number, value in enumerate(self.residuals):
            env[value] = graph.add_input(f"{RESIDUAL}_{number}", value.type)
        for op in self.backward:
            for inner in self.again.get(op, ()):
                graph.block.insert_op_before(inner.clone(env), op)
            op.operands = [env.get(x, x) for x in op.operands]
        outputs = [graph.outputs[number] for number in gradients]
        graph.set_outputs([env.get(value, value) for value in outputs])
        graph.mark_gradients(0, names)
        if called.keys() >= {*gradients}:
            graph.name_outputs([called[number] for number in gradients])
