"""The nest of a rotary embedding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.heads import HeadLayout
from xdsl_rlx.dialects.mir.rope import Pairing, RopeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests.attention import of_heads
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work


def _table(work: Work, value: SSAValue) -> Argument:
    """A table as `[B, S, D/2]`, with stride 0 where all batches share it."""
    found = work.read(value)
    shared = len(shape_of(value)) == 2
    shape, strides = ((1, *found.shape), (0, *found.strides)) if shared else (found.shape, found.strides)
    return Argument(found.buffer, shape, strides, found.name)


@NEST.rule(RopeOp)
def rope_nest(op: RopeOp, work: Work) -> None:
    """An iteration turns the heads of one position, or of a layout of heads the positions of one head."""
    e, layout, n = op.heads, op.layout.data, op.n_rot.value.data // 2
    x, result = of_heads(work, op.x, layout, e), of_heads(work, op.result, layout, e, write=True)
    cos, sin = _table(work, op.cos), _table(work, op.sin)
    shared = len(shape_of(op.cos)) == 2
    by_head = layout == HeadLayout.BHSD
    count, inner = (e.heads, e.length) if by_head else (e.length, e.heads)
    halves = op.pairing.data == Pairing.HALVES

    def body(it: Iteration, x: SSAValue, cos: SSAValue, sin: SSAValue, result: SSAValue) -> None:
        nest = it.nest
        mine, b = nest.remainder(it.index, count), nest.quotient(it.index, count)

        def one(inside: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            h, p = (mine, i[0]) if by_head else (i[0], mine)
            at, row = (b, h, p), (inside.kernel.index(0) if shared else b, p)

            def pair(deepest: Nest, j: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                s = deepest.scalars
                k = s.of(j[0])
                places = (j[0], (k + n).value) if halves else ((k * 2).value, (k * 2 + 1).value)
                first, second = (deepest.load(x, (*at, place)) for place in places)
                c, d = deepest.load(cos, (*row, *j)), deepest.load(sin, (*row, *j))
                deepest.store(first * c - second * d, result, (*at, places[0]))
                deepest.store(second * c + first * d, result, (*at, places[1]))
                return ()

            def copy(deepest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                deepest.store(deepest.load(x, (*at, j)), result, (*at, j))
                return ()

            inside.loops([n], (), pair, "j")
            if 2 * n < e.width:
                inside.loop((inside.kernel.index(2 * n), inside.kernel.index(e.width)), (), copy, "j")
            return ()

        nest.loops([inner], (), one, "i")

    work.launch(e.batch * count, inner * e.width * 4, [x, cos, sin], [result], body)
