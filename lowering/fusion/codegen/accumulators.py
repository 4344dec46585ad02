"""Reductions that end with the last row of a group: their digits on the way, where parts go, what adds these up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import AnyFloat, f64
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.buffers import Argument, Buffer, Launch
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.target import ReductionCosts


@dataclass(eq=False)
class Reducer:
    """A reduction of `operand` to `result` in a kernel, in the type `element`: its identity and step are the `rule`."""

    op: Operation

    def __post_init__(self) -> None:
        (self.operand,), (self.result,) = self.op.operands, self.op.results
        self.rule = REDUCTION.lookup(self.op)
        self.element: Attribute = compute_type(element_of(self.result))

    @property
    def wide(self) -> Attribute:
        """The type of the totals of a long reduction."""
        return f64 if self.rule.rounds and isinstance(self.element, AnyFloat) else self.element

    def start(self, nest: Nest, type_: Attribute) -> Scalar:
        """The total to start from."""
        return nest.scalars.const(self.rule.identity(type_), type_)

    def combine(self, nest: Nest, total: SSAValue, x: SSAValue) -> SSAValue:
        """One step, in the type of the total."""
        s = nest.scalars
        return self.rule.combine(s, s.of(total), s.cast(s.of(x), total.type)).value


@dataclass(eq=False)
class Accumulator(Reducer):
    """
    A reduction that is complete only after the last row: where its (partial) results go.

    If it is long, the columns of at most `sum_steps` rows are summed by themselves, in `block` or in a buffer of the
    kernel's `own` of that shape, and then added to the totals, of type `wide`. Where one piece has all rows, these are
    in a buffer of the kernel's own too, of the shape `own_totals`, until they are complete.
    """

    shape: tuple[int, ...]
    target: Buffer
    partial: Buffer | None
    block: Buffer | None
    own: tuple[int, ...] | None
    own_totals: tuple[int, ...] | None
    long: bool
    turns: int = 1
    """How many copies of the block there are, of the kernel's own: a row adds to that of its number."""

    @property
    def is_result(self) -> bool:
        """Whether rows are added to the result itself."""
        return not self.long and self.partial is None and self.own_totals is None and self.turns == 1

    @property
    def type(self) -> Attribute:
        """The type of the totals."""
        return self.wide if self.long else self.element


def most_steps(sizes: Sequence[int], costs: ReductionCosts) -> int:
    """Elements that one narrow sum may have in a nest of loops of these sizes, of which the innermost is vectorised."""
    return costs.sum_steps * max(1, min(costs.sum_lanes, sizes[-1] if sizes else 1))


def fill_kernel(acc: Accumulator) -> Launch:
    """The kernel for a reduction over nothing: its result is the identity throughout."""
    count = prod(acc.shape)
    target = Argument(acc.target, (count,), (1,), acc.op.results[0].name_hint)
    kernel = Kernel([target.type], [target.name], count)
    for nest, j in kernel.entry.over(kernel.bounds, "j"):
        nest.store(acc.start(nest, acc.element), kernel.block.args[0], [j])
    return Launch(kernel.finish(), count, max(count, 1), (), (target,))


def combine_kernel(acc: Accumulator) -> Launch:
    """The kernel that combines the partial results of all pieces, in the order of the pieces."""
    assert acc.partial is not None
    pieces = acc.partial.layout.shape[0]
    count = prod(acc.shape)
    source = Argument(acc.partial, (pieces, count), (count, 1), "partial")
    target = Argument(acc.target, (count,), (1,), acc.op.results[0].name_hint)
    kernel = Kernel([source.type, target.type], [source.name, target.name], count)
    arg, out = kernel.block.args[0], kernel.block.args[1]
    for nest, j in kernel.entry.over(kernel.bounds, "j"):
        total = {acc: acc.start(nest, acc.type).value}
        for inner, p in nest.times(pieces, "p", total):
            total[acc] = acc.combine(inner, total[acc], inner.load(arg, [p, j]).value)
        nest.store(nest.scalars.of(total[acc]), out, [j])
    return Launch(kernel.finish(), count, max(count, 1), (source,), (target,))
