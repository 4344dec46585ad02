"""The nest of a rotary embedding."""

from __future__ import annotations

from xdsl_rlx.dialects.mir.heads import HeadLayout
from xdsl_rlx.dialects.mir.rope import Pairing, RopeOp
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration
from xdsl_rlx.lowering.kernels.attention import by_heads, of_heads
from xdsl_rlx.lowering.kernels.work import NEST, Work


@NEST.rule(RopeOp)
def rope_nest(op: RopeOp, work: Work) -> None:
    """An iteration turns the heads of one position, or of a layout of heads the positions of one head."""
    e, layout, n = op.heads, op.layout.data, op.n_rot.value.data // 2
    tables = [work.read(value) for value in (op.cos, op.sin)]
    reads = [of_heads(work, op.x, layout, e.heads), *(x.repeated((e.batch, *x.shape[-2:])) for x in tables)]
    result = by_heads(work.write(op.result), layout, e.heads)
    by_head = layout == HeadLayout.BHSD
    count, inner = (e.heads, e.length) if by_head else (e.length, e.heads)
    halves = op.pairing.data == Pairing.HALVES

    @work.over(e.batch * count, inner * e.width * 4, reads, [result])
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
