"""Loop nests of elementwise groups and of reductions over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.lowering.group import Group
from xdsl_rlx.lowering.group_kernel import Accumulator, Frame, GroupKernel
from xdsl_rlx.lowering.nest import Nest
from xdsl_rlx.transforms.iteration_space import Reduces


class ColumnKernel(GroupKernel):
    """
    Elementwise groups and reductions over outer or middle loops: pieces of the columns (or of the loops in front of the
    reduced ones), and inside them the reduced loops around the columns.
    """

    row_linear = False

    def __init__(
        self,
        group: Group,
        chunk: int,
        accumulators: Sequence[Accumulator],
        cut: int | None,
    ):
        """`cut` is the loop whose iterations a launch is given pieces of."""
        self.cut = cut
        super().__init__(group, chunk, accumulators, ())

    def build(self) -> None:
        """Emit the loops in front, then the sequential ones, then the columns."""
        group, entry = self.group, self.kernel.entry
        top = Frame(entry, {})
        for op in group.ops:
            for result in op.results:
                if not group.loops_of[result] and op not in self.accumulators:
                    self.value(top, result)
        kinds = group.structure.kinds
        totals = [op for op in self.accumulators if kinds[op] is Reduces.ALL]
        columns = [op for op in self.accumulators if kinds[op] is Reduces.COLUMN]
        start = [self.accumulators[op].identity(entry).value for op in totals]
        front, sequential = ((), group.outer) if group.structure.middle is None else (group.outer, group.middle)
        pieces = {op: self.piece(entry) for op, acc in self.accumulators.items() if acc.partial is not None}

        def clear(nest: Nest, known: Mapping[int, SSAValue]) -> None:
            if not columns:
                return
            identity = {op: self.accumulators[op].identity(nest) for op in columns}

            def one(inner: Nest, at: Mapping[int, SSAValue], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                for op in columns:
                    inner.store(inner.scalars.of(identity[op].value), self.targets[op], self._column(op, at))
                return ()

            self._over(nest, group.inner, known, (), one)

        def element(nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            frame = Frame(nest, at, top)
            for value in self.store_at:
                self.write(frame, value)
            for op in columns:
                self.accumulate_column(frame, op, None, self._column(op, at))
            return [
                self.combine(nest, op, acc, self.value(frame, op.operands[0]))
                for op, acc in zip(totals, carried, strict=True)
            ]

        def block(nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            clear(nest, at)
            return self._over(nest, [*sequential, *group.inner], at, carried, element)

        ends = self._over(entry, front, {}, start, block)
        for op, end in zip(totals, ends, strict=True):
            at = [pieces[op]] if op in pieces else []
            entry.store(entry.scalars.of(end), self.targets[op], at)

    def _column(self, op: Operation, at: Mapping[int, SSAValue]) -> list[SSAValue]:
        first = [self.kernel.index(0)] if self.accumulators[op].partial is not None else []
        return [*first, *(at[loop] for loop in self.group.space.maps[op.results[0]] if loop is not None)]

    def _over(
        self,
        nest: Nest,
        loops: Sequence[int],
        known: Mapping[int, SSAValue],
        carried: Sequence[SSAValue],
        body: Callable[[Nest, Mapping[int, SSAValue], tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A nest over `loops`, of which the cut one runs over the piece only."""
        if not loops:
            return body(nest, known, tuple(carried))
        loop, rest = loops[0], loops[1:]
        whole = (self.kernel.index(0), self.kernel.index(self.group.space.extents[loop]))
        bounds = self.kernel.bounds if loop == self.cut else whole
        return nest.loop(
            bounds,
            carried,
            lambda inner, i, values: self._over(inner, rest, {**known, loop: i}, values, body),
            f"i{loop}",
        )
