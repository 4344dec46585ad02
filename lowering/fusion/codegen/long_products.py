"""Matrix products along a long inner dimension, as the gradients of weights are, which is cut into a part for each
thread: these read each line of both factors once, all together, and add up their sums in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.shape import NarrowOp, ReshapeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Buffer
from xdsl_rlx.lowering.fusion.analysis.loop_tables import StridedLayout
from xdsl_rlx.lowering.target import LaunchCosts

Lower: TypeAlias = Callable[[Sequence[Operation], Mapping[SSAValue, Buffer], Mapping[SSAValue, Buffer], str], None]
"""Lowers a group of ops, of what it reads and writes, with words for its name."""
Slot: TypeAlias = Callable[[Sequence[int], Attribute, str | None], Buffer]
"""A new buffer of a shape and element type, with a name."""


@dataclass(frozen=True)
class LongProduct:
    """A group with a product that is cut into `parts` along its inner dimension."""

    product: MatmulOp
    others: tuple[Operation, ...]
    reads: Mapping[SSAValue, Buffer]
    parts: int

    @staticmethod
    def of(
        ops: Sequence[Operation], reads: Mapping[SSAValue, Buffer], threads: int, costs: LaunchCosts
    ) -> LongProduct | None:
        """
        The product of a group, if it is better cut up.

        Its left factor does not lie in lines: where that does, its rows are as many as the lines of a batch, and cut.
        """
        products = [op for op in ops if isinstance(op, MatmulOp)]
        if threads == 1 or len(products) != 1 or any(len(shape_of(x)) != 2 for x in products[0].operands):
            return None
        (op,) = products
        (rows, length), columns = shape_of(op.lhs), shape_of(op.rhs)[1]
        if length % threads or length < threads * costs.min_part_terms:
            return None
        if length < costs.min_terms_per_extent * min(rows, columns) or rows == 1:
            return None
        if rows * columns * length < costs.min_split_multiplications or rows * columns > costs.max_split_elements:
            return None
        if op.lhs not in reads or op.rhs not in reads or reads[op.lhs].layout.strides[1] == 1:
            return None
        return LongProduct(op, tuple(x for x in ops if x is not op), reads, threads)

    def lower(self, writes: Mapping[SSAValue, Buffer], stem: str, lower: Lower, slot: Slot) -> None:
        """The products of all parts, then their sum with what the group does with it."""
        op, count = self.product, self.parts
        (rows, length), columns = shape_of(op.lhs), shape_of(op.rhs)[1]
        left = ReshapeOp(op.lhs, (count, rows, length // count))
        right = ReshapeOp(op.rhs, (count, length // count, columns))
        product = MatmulOp(left.result, right.result)
        partial = slot(shape_of(product.result), element_of(product.result), op.result.name_hint)
        factors: dict[SSAValue, Buffer] = {left.result: self._parts(op.lhs, 1), right.result: self._parts(op.rhs, 0)}
        lower([product], factors, {product.result: partial}, "matmul")
        views: list[Operation] = []
        terms: dict[SSAValue, Buffer] = {}
        for part in range(count):
            one = NarrowOp(product.result, 0, part, 1)
            flat = ReshapeOp(one.result, (rows, columns))
            views += [one, flat]
            at = StridedLayout(partial.layout.offset + part * rows * columns, (rows, columns), (columns, 1))
            terms[flat.result] = partial.part(flat.result, at)
        first, *rest = terms
        sums: list[AddOp] = []
        for term in rest:
            sums.append(AddOp(sums[-1].result if sums else first, term))
        env: dict[SSAValue, SSAValue] = {op.result: sums[-1].result}
        sums[-1].result.name_hint = op.result.name_hint
        copies = [x.clone(env) for x in self.others]
        read = {x for copy in copies for x in copy.operands}
        lower(
            [*sums, *copies],
            {**{x: buffer for x, buffer in self.reads.items() if x in read}, **terms},
            {env.get(value, value): buffer for value, buffer in writes.items()},
            stem,
        )
        for gone in reversed([left, right, product, *views, *sums, *copies]):
            gone.erase()

    def _parts(self, value: SSAValue, axis: int) -> Buffer:
        """A factor, cut along an axis: its parts one behind the other."""
        buffer = self.reads[value]
        shape, strides = list(buffer.layout.shape), buffer.layout.strides
        shape[axis] //= self.parts
        cut = StridedLayout(buffer.layout.offset, (self.parts, *shape), (shape[axis] * strides[axis], *strides))
        return Buffer(buffer.root, cut, buffer.element)
