"""The nest of a rotary embedding."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads
from xdsl_rlx.dialects.mir.rope import Pairing, RopeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, nest
from xdsl_rlx.lowering.nests.attention import of_heads
from xdsl_rlx.lowering.nests.work import NEST, Work


def _table(work: Work, value: SSAValue, e: Heads) -> Argument:
    """A table as `[B, S, D/2]`, with stride 0 where all batches share it."""
    found = work.read(value)
    strides = (0, *found.strides) if len(shape_of(value)) == 2 else found.strides
    return Argument(found.buffer, (e.batch, *found.shape[-2:]), strides, found.name)


@NEST.rule(RopeOp)
def rope_nest(op: RopeOp, work: Work) -> None:
    """An iteration turns the heads of one position, or of a layout of heads the positions of one head."""
    e, layout, n = op.heads, op.layout.data, op.n_rot.value.data // 2
    x, result = of_heads(work, op.x, layout, e), of_heads(work, op.result, layout, e, write=True)
    cos, sin = _table(work, op.cos, e), _table(work, op.sin, e)
    by_head = layout == HeadLayout.BHSD
    count, inner = (e.heads, e.length) if by_head else (e.length, e.heads)
    halves = op.pairing.data == Pairing.HALVES

    @nest
    def rope(it: Iteration, x: Array, cos: Array, sin: Array, result: Array) -> None:
        b, mine = it.unravel(e.batch, count)
        for i in range(inner):
            h, p = (mine, i) if by_head else (i, mine)
            head, turned = x[b, h, p], result[b, h, p]
            for j in range(n):
                one, other = (j, j + n) if halves else (j * 2, j * 2 + 1)
                first, second, c, s = head[one], head[other], cos[b, p, j], sin[b, p, j]
                turned[one] = first * c - second * s
                turned[other] = second * c + first * s
            for j in range(2 * n, e.width):
                turned[j] = head[j]

    work.launch(e.batch * count, inner * e.width * 4, [x, cos, sin], [result], rope)
