"""The pass `mir-scale-loss`: gradients of a loss scaled up, so that those in f16 do not vanish, and scaled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.mir_grad import SEED
from xdsl_rlx.transforms.rules.wide import widened
from xdsl_rlx.transforms.signature import Signature, graph_of, named

LEAST_SCALE = 2.0**-126
"""The least normal f32: a scale does not become 0, by which nothing can be divided."""


@dataclass(frozen=True)
class MirScaleLossPass(ModulePass):
    """
    Scale the loss cotangent of a gradient function, and unscale the gradients.

    ```
    func.func @f_grad(%w, %d_output) -> (loss, dw)
    // becomes
    func.func @f_grad_scaled(%w, %d_output, %loss_scale, %good_steps) -> (loss, dw, finite, next_scale, next_steps)
    ```

    Gradients are the results that depend on `seed`. They are divided in f32 or wider, so half floats become f32.
    `finite` is false if any gradient element is not finite; skip the step then. The f32 scale is multiplied by `growth`
    after `growth-interval` consecutive finite steps, counted in `good_steps` (i32), unless it would become infinite. It
    is multiplied by `backoff` after a step that is not finite. With a fixed `scale`, the function has no extra
    arguments and only the extra result `finite`.
    """

    name = "mir-scale-loss"

    scale: float | None = None
    """Fixed scale; by default the scale is dynamic, an argument of the function."""

    growth: float = 2.0
    """Factor of a dynamic scale after `growth-interval` finite steps."""

    backoff: float = 0.5
    """Factor of a dynamic scale after a step that is not finite."""

    growth_interval: int = 2000
    """Consecutive finite steps before the scale grows."""

    seed: str = SEED
    """Name of the argument that is the loss cotangent."""

    def __post_init__(self) -> None:
        if self.scale is not None and not (isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale: expected a positive number, got {self.scale}")
        if not (isfinite(self.growth) and self.growth > 1):
            raise ValueError(f"growth: expected a number above 1, got {self.growth}")
        if not 0 < self.backoff < 1:
            raise ValueError(f"backoff: expected a number between 0 and 1, got {self.backoff}")
        if self.growth_interval < 1:
            raise ValueError(f"growth_interval: expected at least 1, got {self.growth_interval}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        if self.seed not in (names := [a.name for a in graph.arguments]):
            raise PassFailedException(
                f'{self.name}: @{graph.name} has no argument "{self.seed}", the cotangent of a loss, which a gradient '
                f"graph has (mir-grad, rlx.grad_with_loss); it has {', '.join(names) or 'none'}"
            )
        if "loss_scale" in names:
            raise PassFailedException(f'{self.name}: @{graph.name} is scaled already, by "loss_scale"')
        (argument,) = named(graph, (self.seed,), self.name)
        if not argument.optional:
            # an input of the user's that is called as the cotangent would be, or a param
            others = ", ".join(a.name for a in graph.arguments if a.optional) or "none"
            raise PassFailedException(
                f'{self.name}: "{self.seed}" of @{graph.name} is not a cotangent; optional arguments are {others}'
            )
        seed = argument.value
        gradients = _depending_on(seed, graph)
        if not gradients:
            raise PassFailedException(f'{self.name}: no result of @{graph.name} depends on "{self.seed}"')
        first, last = graph.block.first_op, graph.block.last_op
        assert first is not None and last is not None
        begin, end = MirBuilder(Builder(InsertPoint.before(first))), MirBuilder(Builder(InsertPoint.before(last)))
        before = last.prev_op or last
        with located(begin.builder, first.location), located(end.builder, before.location):
            if self.scale is None:
                scale = begin.value(graph.add_input("loss_scale", TensorType(f32, [])))
                good = begin.value(graph.add_input("good_steps", TensorType(i32, [])))
            else:
                scale, good = begin.scalar(self.scale, f32), None
            self._scale(begin, seed, scale)
            outputs = [end.value(y) for y in graph.outputs]
            for number in gradients:
                outputs[number] = _divided(end, outputs[number], scale)
            finite = _all_finite(end, [outputs[number] for number in gradients])
            outputs += [finite, *([] if good is None else self._next(end, scale, good, finite))]
        graph.set_outputs([y.ssa for y in outputs])
        graph.rename(f"{graph.name}_scaled")

    def _scale(self, b: MirBuilder, seed: SSAValue, scale: Value) -> None:
        scaled = b.mul(seed, b.cast(scale, element_of(seed)))
        seed.replace_uses_with_if(scaled.ssa, lambda use: use.operation is not scaled.ssa.owner)

    def _next(self, b: MirBuilder, scale: Value, good: Value, finite: Value) -> list[Value]:
        """The scale and the count of the next step."""
        scale, count = b.value(scale.ssa), b.where(finite, b.value(good.ssa) + 1, 0)
        larger = scale * self.growth
        enough = count >= self.growth_interval
        kept = b.where(b.and_(enough, larger < inf), larger, scale)
        smaller = b.max(scale * self.backoff, LEAST_SCALE)
        return [b.where(finite, kept, smaller), b.where(enough, 0, count)]


def _depending_on(value: SSAValue, graph: Signature) -> list[int]:
    """The numbers of the results that depend on a value."""
    reached = {value}
    for op in graph.block.ops:
        if not reached.isdisjoint(op.operands):
            reached.update(op.results)
    return [number for number, y in enumerate(graph.outputs) if y in reached]


def _divided(b: MirBuilder, gradient: Value, scale: Value) -> Value:
    wide = widened(b, gradient.ssa)
    return wide / b.cast(scale, element_of(wide.ssa))


def _all_finite(b: MirBuilder, gradients: Sequence[Value]) -> Value:
    """The largest magnitude is infinite if one element is, and NaN, which is not less than anything, if one is."""
    found: list[Value] = []
    for gradient in gradients:
        is_complex = element_of(gradient.ssa) in COMPLEXES
        for part in (b.real(gradient), b.imag(gradient)) if is_complex else (gradient,):
            found.append(b.reduce_max(b.abs(part)) < inf)
    together = found[0]
    for one in found[1:]:
        together = b.and_(together, one)
    return together
