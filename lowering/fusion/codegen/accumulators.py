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
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION, Reduction
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.target import ReductionCosts


@dataclass(frozen=True)
class Accumulator:
    """
    A reduction that is complete only after the last row: where its (partial) results go.

    If it is long, the columns of at most `sum_steps` rows are summed by themselves, in `block` or in a buffer of the
    kernel's `own` of that shape, and then added to the totals, of type `wide`. Where one piece has all rows, these are
    in a buffer of the kernel's own too, of the shape `own_totals`, until they are complete.
    """

    op: Operation
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
    def rule(self) -> Reduction:
        """Identity and step."""
        return REDUCTION.lookup(self.op)

    @property
    def element(self) -> Attribute:
        """The type that is accumulated."""
        return compute_type(element_of(self.op.results[0]))

    @property
    def wide(self) -> Attribute:
        """The type of the totals."""
        return wide_type(self.op) if self.long else self.element

    def identity(self, nest: Nest) -> Scalar:
        """The value to start from."""
        return identity(nest, self.op, self.element)

    def start(self, nest: Nest) -> Scalar:
        """The total to start from."""
        return identity(nest, self.op, self.wide)


def identity(nest: Nest, op: Operation, element: Attribute) -> Scalar:
    """What a reduction starts from, as a scalar of this type."""
    return nest.scalars.const(REDUCTION.lookup(op).identity(element), element)


def narrow_identity(nest: Nest, op: Operation) -> Scalar:
    """What a reduction starts from, as a scalar of the type it is computed in."""
    return identity(nest, op, compute_type(element_of(op.results[0])))


def wide_type(op: Operation) -> Attribute:
    """The type of the totals of a long reduction."""
    element = compute_type(element_of(op.results[0]))
    return f64 if REDUCTION.lookup(op).rounds and isinstance(element, AnyFloat) else element


def most_steps(sizes: Sequence[int], costs: ReductionCosts) -> int:
    """Elements that one narrow sum may have in a nest of loops of these sizes, of which the innermost is vectorised."""
    return costs.sum_steps * max(1, min(costs.sum_lanes, sizes[-1] if sizes else 1))


def fill_kernel(acc: Accumulator) -> Launch:
    """The kernel for a reduction over nothing: its result is the identity throughout."""
    count = prod(acc.shape)
    target = Argument(acc.target, (count,), (1,), acc.op.results[0].name_hint)
    kernel = Kernel([target.type], [target.name], count)

    def column(nest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        nest.store(acc.identity(nest), kernel.block.args[0], [j])
        return ()

    kernel.entry.loop(kernel.bounds, (), column, "j")
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

    def column(nest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        def step(inner: Nest, p: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            scalars = inner.scalars
            piece = scalars.cast(inner.load(arg, [p, j]), acc.wide)
            return [acc.rule.combine(scalars, scalars.of(carried[0]), piece).value]

        (total,) = nest.loop((kernel.index(0), kernel.index(pieces)), [acc.start(nest).value], step, "p")
        nest.store(nest.scalars.of(total), out, [j])
        return ()

    kernel.entry.loop(kernel.bounds, (), column, "j")
    return Launch(kernel.finish(), count, max(count, 1), (source,), (target,))
