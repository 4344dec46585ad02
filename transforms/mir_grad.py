"""The pass `mir-grad`: from a function to the function of its outputs and the gradient of the first.
Which ops are differentiated is in `engines/reverse.py`, their rules in `rules/`."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import where
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.engines.reverse import active_operands, has_derivative, lay_out_reverse, varying
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.rules import INERT, VJP
from xdsl_rlx.transforms.signature import Signature, graph_of
from xdsl_rlx.transforms.taps import values_named

SEED = "d_output"


@dataclass(frozen=True)
class MirGradPass(ModulePass):
    """
    Replace the function by `@name_grad`, which returns the results and the gradients of the first one.

    ```
    func.func @f(%x, %w) -> (loss, aux)
    // becomes, with wrt=w
    func.func @f_grad(%x, %w, %d_output) -> (loss, aux, dw)
    ```

    The first result may have any shape: the gradient is its vector-Jacobian product with the new input `d_output`, ones
    by default. Other results are returned unchanged.
    """

    name = "mir-grad"

    wrt: tuple[str, ...] = ()
    """
    Names of the arguments, or tapped values, to differentiate with respect to, in the order of their gradients; empty:
    all floating-point params.
    """

    zero_missing_wrt: bool = False
    """Return zeros for an argument that the loss does not depend on, instead of failing."""

    loss: bool = True
    """Return the function's results in front of the gradients. Otherwise ops that only they need are erased."""

    emit: bool = True
    """Apply the VJP rules; otherwise the gradient of each op stays a `mir.vjp`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        wrt = self._wanted(graph)
        graph.forget_kept()
        if not graph.outputs:
            raise PassFailedException(
                f"{self.name}: @{graph.name} has no results; expected the loss as its first result"
            )
        loss = graph.outputs[0]
        if not has_derivative(loss):
            raise PassFailedException(f"{self.name}: the loss of type {loss.type} is not floating-point")
        ops = list(graph.block.ops)[:-1]
        seed = graph.add_cotangent(SEED, 0, optional=True)
        last = graph.block.last_op
        assert last is not None
        b = MirBuilder(Builder(InsertPoint.before(last)))
        found = lay_out_reverse(ops, {loss: seed}, [value for _, value in wrt], b.builder)
        grads: list[SSAValue] = []
        for (name, value), grad in zip(wrt, found, strict=True):
            if grad is None and not self.zero_missing_wrt:
                raise PassFailedException(
                    f'{self.name}: no gradient flows from the loss to "{name}": '
                    f"{_why_nothing_flows(value, ops, loss)} (with zero_missing_wrt it is zeros)"
                )
            grads.append(b.zeros_like(value).ssa if grad is None else grad)
        own = graph.outputs if self.loss else ()
        graph.set_outputs([*own, *grads])
        graph.mark_gradients(len(own), [name for name, _ in wrt])
        graph.rename(f"{graph.name}_grad")
        if self.emit:
            MirEmitVjpPass().apply(ctx, op)
        if not self.loss:
            remove_dead(op.body)

    def _wanted(self, graph: Signature) -> Sequence[tuple[str, SSAValue]]:
        """The values to differentiate with respect to, with their names."""
        if self.wrt:
            return list(zip(self.wrt, values_named(graph, self.wrt, self.name), strict=True))
        params = [argument for argument in graph.arguments if argument.kind == "param"]
        found = [(param.name, param.value) for param in params if has_derivative(param.value)]
        if not found:
            raise PassFailedException(f"{self.name}: @{graph.name} has no floating-point parameter; name some with wrt")
        return found


def _why_nothing_flows(wrt: SSAValue, ops: Sequence[Operation], loss: SSAValue) -> str:
    """What stops the paths from `wrt` to `loss`, in words."""
    if not has_derivative(wrt):
        return f"its type {wrt.type} is not floating-point"
    dependent: set[SSAValue] = {wrt}
    for op in ops:
        if not dependent.isdisjoint(op.operands):
            dependent.update(op.results)
    if loss not in dependent:
        return "the loss does not depend on it"
    leads = {loss}
    for op in reversed(ops):
        if not leads.isdisjoint(op.results):
            leads.update(op.operands)
    varied = varying(ops, [wrt])
    places: dict[tuple[str, str], str] = {}
    for op in ops:
        touched = [index for index, x in enumerate(op.operands) if x in varied]
        if touched and not leads.isdisjoint(op.results) and varied.isdisjoint(op.results):
            active = active_operands(op, varied)
            inert = [reason for index, reason in INERT.of(op).items() if index in touched]
            floating = any(map(has_derivative, op.results))
            what = "no result of it depends on that differentiably" if floating else "its result is not floating-point"
            reason = VJP.reason(type(op)) or (what if active else ", ".join(inert))
            places.setdefault((op.name, reason), where(op))
    stops = [f"{name}{place} stops it, because {reason}" for (name, reason), place in places.items()]
    return "; ".join(stops) or "the results that depend on it are not those that the loss is computed from"
