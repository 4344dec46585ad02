"""Nests of ops that read and write by indices held in tensors, of topk, and of running sums."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat, MemRefType, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

import xdsl_rlx.lowering.nest as nl
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, int_width
from xdsl_rlx.dialects.mir.index import CumsumOp, GatherOp, ScatterAddOp, TopkOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Number, cast, clamp, nest
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.transforms.rules.elementwise import is_unsigned


def clamped_index(nest: Nest, indices: SSAValue, at: Sequence[SSAValue], extent: int) -> SSAValue:
    """The index stored at `at`, clamped to `[0, extent)`."""
    b = nest.scalars
    signed = not is_unsigned(memref_of(indices).element_type)
    wide = b.cast(nest.load(indices, at), i64, signed=signed)
    return b.cast(b.minimum(b.maximum(wide, 0), extent - 1), INDEX).value


def clamped(index: Number, extent: int) -> Number:
    """An index of any integer type as one of an axis: the nearest, where it is outside."""
    return cast(clamp(cast(index, i64), 0, extent - 1), INDEX)


@NEST.rule(GatherOp)
def gather_nest(op: GatherOp, work: Work) -> None:
    """An iteration copies the slice of one index."""
    batches, outer, extent, count, inner = op.extents
    reads = [work.read(op.table, (batches, outer, extent, inner)), work.read(op.indices, (batches, count))]
    result = work.write(op.result, (batches, outer, count, inner))

    @nest
    def gather(it: nl.Iteration, table: Array, indices: Array, result: Array) -> None:
        b, o, k = it.unravel(batches, outer, count)
        source = clamped(indices[b, k], extent)
        for j in range(inner):
            result[b, o, k, j] = table[b, o, source, j]

    work.launch(batches * outer * count if inner else 0, 4 + inner, reads, [result], gather)


COLUMNS = 64
"""Columns of a scatter that one iteration goes through."""


@NEST.rule(ScatterAddOp)
def scatter_add_nest(op: ScatterAddOp, work: Work) -> None:
    """An iteration clears and sums a block of columns, index by index: equal indices never meet in two threads."""
    batches, outer, extent, count, inner = op.extents
    updates = work.read(op.updates, (batches, outer, count, inner))
    indices = work.read(op.indices, (batches, count))
    result = work.write(op.result, (batches, outer, extent, inner))
    blocks = -(-inner // COLUMNS)

    @nest
    def scatter_add(it: nl.Iteration, updates: Array, indices: Array, result: Array) -> None:
        b, o, block = it.unravel(batches, outer, blocks)
        columns = range(block * COLUMNS, min((block + 1) * COLUMNS, inner))
        for v in range(extent):
            for j in columns:
                result[b, o, v, j] = 0
        for k in range(count):
            target = clamped(indices[b, k], extent)
            for j in columns:
                result[b, o, target, j] += updates[b, o, k, j]

    width = min(inner, COLUMNS)
    launches = batches * outer * blocks if extent else 0
    work.launch(launches, (extent + 2 * count) * max(width, 1), [updates, indices], [result], scatter_add)


class _Heap:
    """
    The best entries so far of a row, as a heap whose root is the worst of them: keys in `keys[piece]`, positions in
    `ids[row]`. Of two entries the one of larger key is better, of equal keys the one of smaller position.
    """

    def __init__(self, it: Iteration, keys: SSAValue, ids: SSAValue):
        self.keys, self.ids, self.row, self.piece = keys, ids, it.index, it.piece

    def get(self, nest: Nest, at: SSAValue) -> tuple[Scalar, Scalar]:
        return nest.load(self.keys, (self.piece, at)), nest.load(self.ids, (self.row, at))

    def put(self, nest: Nest, at: SSAValue, entry: tuple[Scalar, Scalar]) -> None:
        nest.store(entry[0], self.keys, (self.piece, at))
        nest.store(entry[1], self.ids, (self.row, at))

    def sink(self, nest: Nest, hole: SSAValue, size: SSAValue, entry: tuple[Scalar, Scalar]) -> None:
        """Place `entry` at `hole` of a heap of `size`, or below: worse children move up."""
        s = nest.scalars
        last = s.of(size) - 1

        def test(inside: Nest, values: tuple[SSAValue, ...]) -> tuple[SSAValue, Sequence[SSAValue]]:
            t = inside.scalars
            child = t.of(values[0]) * 2 + 1
            left, right = t.minimum(child, last).value, t.minimum(child + 1, last).value
            first, second = self.get(inside, left), self.get(inside, right)
            other = _worse(second, first)
            chosen = t.select(other, t.of(right), t.of(left)).value
            worst = t.select(other, second[0], first[0]), t.select(other, second[1], first[1])
            return ((child <= last) & _worse(worst, entry)).value, [values[0], chosen]

        def move(inside: Nest, values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            self.put(inside, values[0], self.get(inside, values[1]))
            return [values[1]]

        place, _ = nest.repeat([hole], test, move)
        self.put(nest, place, entry)


def _worse(a: tuple[Scalar, Scalar], b: tuple[Scalar, Scalar]) -> Scalar:
    s = a[0].b
    return (a[0] < b[0]) | (s.eq(a[0], b[0]) & (a[1] > b[1]))


def _key(nest: Nest, x: Scalar, element: Attribute) -> Scalar:
    """A signed integer in the order of the numbers: the bits of a float, turned round where it is negative."""
    s = nest.scalars
    if (digits := int_width(x.type)) is not None:
        signed = x ^ -(1 << (digits - 1)) if is_unsigned(element) else x
        return s.cast(signed, i64 if digits == 64 else i32)
    wide, digits = (i64, 64) if x.type == f64 else (i32, 32)
    bits, mask = s.bitcast(x + 0.0, wide), (1 << (digits - 1)) - 1
    return s.select(s.is_nan(x), mask, bits ^ ((bits >> (digits - 1)) & mask))


@NEST.rule(TopkOp)
def topk_nest(op: TopkOp, work: Work) -> None:
    """An iteration is a row: a heap of the best `k` as the row goes by, from which the worst is then taken last."""
    *outer, extent = shape_of(op.operand)
    rows, k, element = prod(outer), op.k.value.data, element_of(op.operand)
    result = work.write(op.result, (rows, k))
    if not rows * k:
        return
    wide = i64 if element in (f64, i64) else i32
    each = 4 * extent + 16 * k
    keys = work.scratch_per_piece(rows, each, (k,), wide, "keys")

    def body(it: Iteration, x: SSAValue, ids: SSAValue, keys: SSAValue) -> None:
        nest, heap, index = it.nest, _Heap(it, keys, ids), it.nest.kernel.index

        def entry(n: Nest, at: SSAValue) -> tuple[Scalar, Scalar]:
            return _key(n, n.load(x, (it.index, at)), element), n.scalars.cast(n.scalars.of(at), i64)

        def fill(n: Nest, at: SSAValue) -> None:
            heap.put(n, at, entry(n, at))

        def order(n: Nest, step: SSAValue) -> None:
            hole = (n.scalars.const(k // 2 - 1, INDEX) - n.scalars.of(step)).value
            heap.sink(n, hole, index(k), heap.get(n, hole))

        def offer(n: Nest, at: SSAValue) -> None:
            new = entry(n, at)
            better = new[0] > n.load(keys, (it.piece, index(0)))
            n.guard(better.value, lambda m: heap.sink(m, index(0), index(k), new))

        def take(n: Nest, step: SSAValue) -> None:
            last = (n.scalars.const(k - 1, INDEX) - n.scalars.of(step)).value
            moved, worst = heap.get(n, last), heap.get(n, index(0))
            heap.put(n, last, worst)
            heap.sink(n, index(0), last, moved)

        nest.each((index(0), index(k)), "i", fill)
        nest.each((index(0), index(k // 2)), "i", order)
        nest.each((index(k), index(extent)), "i", offer)
        nest.each((index(0), index(k - 1)), "i", take)

    reads = [work.read(op.operand, (rows, extent))]
    work.launch(rows, each, reads, [result, keys], body)


LENGTH = 4096
"""Positions of a long row that one iteration sums up: fixed, so that results do not depend on threads."""

STARTS = 8
"""Sums side by side in which such a block is added up."""

FEW_ROWS = 8
"""Rows below which a long one is taken apart."""


@NEST.rule(CumsumOp)
def cumsum_nest(op: CumsumOp, work: Work) -> None:
    """Rows one by one, columns in blocks of neighbours."""
    shape, axis = shape_of(op.operand), op.axis_index
    outer, extent, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    if not outer * extent * inner:
        work.write(op.result)
    elif inner == 1:
        _running_rows(op, work, outer, extent)
    else:
        _running_columns(op, work, outer, extent, inner)


def _position(nest: Nest, op: CumsumOp, at: SSAValue, extent: int) -> SSAValue:
    """Where along the axis the summation is after `at` steps."""
    s = nest.scalars
    return (s.const(extent - 1, INDEX) - s.of(at)).value if op.is_reverse else at


def _running_type(op: CumsumOp) -> Attribute:
    """What a sum is continued in: f64 for floats, so that rounding errors of long ones do not add up."""
    element = compute_type(element_of(op.result))
    return f64 if isinstance(element, AnyFloat) else element


def _running_columns(op: CumsumOp, work: Work, outer: int, extent: int, inner: int) -> None:
    """An iteration goes down a block of columns, with their running sums on the stack."""
    x, result = (f(v, (outer, extent, inner)) for f, v in ((work.read, op.operand), (work.write, op.result)))
    blocks = -(-inner // COLUMNS)
    type_ = _running_type(op)

    def body(it: Iteration, x: SSAValue, result: SSAValue) -> None:
        nest, s = it.nest, it.nest.scalars
        sums = nest.kernel.scratch(MemRefType(type_, [min(inner, COLUMNS)]), "sums")
        o, first = nest.quotient(it.index, blocks), s.of(nest.remainder(it.index, blocks)) * COLUMNS
        columns = nest.kernel.index(0), (s.minimum(first + COLUMNS, inner) - first).value
        nest.each(columns, "j", lambda n, j: n.store(n.scalars.const(0, type_), sums, (j,)))

        def step(n: Nest, p: SSAValue) -> None:
            at = _position(n, op, p, extent)

            def column(m: Nest, j: SSAValue) -> None:
                place = (o, at, (m.scalars.of(first.value) + m.scalars.of(j)).value)
                before = m.load(sums, (j,))
                total = before + m.scalars.cast(m.load(x, place), type_)
                m.store(before if op.is_exclusive else total, result, place)
                m.store(total, sums, (j,))

            n.each(columns, "j", column)

        nest.each((nest.kernel.index(0), nest.kernel.index(extent)), "step", step)

    work.launch(outer * blocks, 2 * extent * min(inner, COLUMNS), [x], [result], body)


def _running_rows(op: CumsumOp, work: Work, outer: int, extent: int) -> None:
    """An iteration is a row, or a block of a long one, which begins with the sum of the blocks before."""
    x, result = (f(v, (outer, extent)) for f, v in ((work.read, op.operand), (work.write, op.result)))
    type_ = _running_type(op)
    blocks = -(-extent // LENGTH) if outer < FEW_ROWS else 1
    length = LENGTH if blocks > 1 else extent
    starts = [_block_starts(op, work, x, blocks)] if blocks > 1 else []

    def body(it: Iteration, x: SSAValue, *rest: SSAValue) -> None:
        nest, result = it.nest, rest[-1]
        o, block = nest.quotient(it.index, blocks), nest.remainder(it.index, blocks)
        start = nest.load(rest[0], (o, block)) if starts else nest.scalars.const(0, type_)

        def step(n: Nest, p: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            at, before = _position(n, op, p, extent), n.scalars.of(carried[0])
            total = before + n.scalars.cast(n.load(x, (o, at)), type_)
            n.store(before if op.is_exclusive else total, result, (o, at))
            return [total.value]

        nest.loop(_block_bounds(nest, block, length, extent), [start.value], step, "p")

    work.launch(outer * blocks, 4 * length, [x, *starts], [result], body)


def _block_bounds(nest: Nest, block: SSAValue, length: int, extent: int) -> tuple[SSAValue, SSAValue]:
    first = nest.scalars.of(block) * length
    return first.value, nest.scalars.minimum(first + length, extent).value


def _block_starts(op: CumsumOp, work: Work, x: Argument, blocks: int) -> Argument:
    """
    The sum of what comes before each block of each row: first the sums of the blocks, then those run up.

    Added up in lanes of our own, without leave to reassociate: a vectoriser's lanes are as many as the processor has.
    """
    outer, extent = x.shape
    type_ = _running_type(op)
    starts = work.scratch((outer, blocks), type_, "starts")

    def add_up(it: Iteration, x: SSAValue, starts: SSAValue) -> None:
        nest, s = it.nest, it.nest.scalars
        o, block = nest.quotient(it.index, blocks), nest.remainder(it.index, blocks)
        first, end = _block_bounds(nest, block, LENGTH, extent)
        whole = (s.of(end) - s.rem(s.of(end) - s.of(first), STARTS)).value

        def element(n: Nest, p: SSAValue) -> Scalar:
            return n.scalars.cast(n.load(x, (o, _position(n, op, p, extent))), type_)

        def lanes(n: Nest, p: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            places = [(n.scalars.of(p) + lane).value for lane in range(STARTS)]
            return [(n.scalars.of(c) + element(n, at)).value for c, at in zip(carried, places, strict=True)]

        def rest(n: Nest, p: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            return [(n.scalars.of(carried[0]) + element(n, p)).value]

        zero = s.const(0, type_).value
        sums = [s.of(v) for v in nest.loop((first, whole), [zero] * STARTS, lanes, "p", step=STARTS)]
        while len(sums) > 1:
            sums = [a + b for a, b in zip(sums[::2], sums[1::2], strict=True)]
        (total,) = nest.loop((whole, end), [sums[0].value], rest, "p")
        nest.store(s.of(total), starts, (o, block))

    def run_up(it: Iteration, starts: SSAValue) -> None:
        def step(n: Nest, block: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            total = n.scalars.of(carried[0])
            own = n.load(starts, (it.index, block))
            n.store(total, starts, (it.index, block))
            return [(total + own).value]

        zero = it.nest.scalars.const(0, type_).value
        it.nest.loop((it.nest.kernel.index(0), it.nest.kernel.index(blocks)), [zero], step, "block")

    work.launch(outer * blocks, LENGTH, [x], [starts], add_up)
    work.launch(outer, 4 * blocks, [], [starts], run_up)
    return starts
