"""All unit vectors of some arguments as one batch, and the part of a batched value that belongs to each argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod

from xdsl.builder import Builder
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.signature import Signature


def put_unit_vectors(graph: Signature, shapes: Sequence[tuple[int, ...]]) -> None:
    """
    Give the last arguments, which have a leading axis in front of these shapes, all unit vectors of all of them.

    The leading axis counts the elements of the first of them, then those of the second, and so on: where it counts
    those of one, the others are zeros. The arguments go.
    """
    first = graph.block.first_op
    assert first is not None
    b = MirBuilder(Builder(InsertPoint.before(first)))
    batches = graph.block.args[len(graph.block.args) - len(shapes) :]
    total = sum(map(prod, shapes))
    position = b.constant(list(range(total)), "i64")
    made: list[Value] = []
    for batch, shape, start in zip(batches, shapes, _starts(shapes), strict=True):
        size = prod(shape)
        own = position if size == total else b.constant(list(range(start, start + size)), "i64")
        same = b.eq(b.reshape(position, (total, 1)), own)
        made.append(b.reshape(b.cast(same, element_of(batch)), (total, *shape)))
    for units in reversed(made):
        graph.drop_last_argument(units.ssa)


def rows(b: MirBuilder, batched: Value, shapes: Sequence[tuple[int, ...]]) -> Iterator[Value]:
    """The parts of a value with that leading axis for each of the arguments."""
    for shape, start in zip(shapes, _starts(shapes), strict=True):
        size = prod(shape)
        yield batched if size == batched.shape[0] else b.narrow(batched, 0, start, size)


def _starts(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    return list(accumulate(map(prod, shapes), initial=0))[:-1]
