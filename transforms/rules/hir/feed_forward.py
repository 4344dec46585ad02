"""Dense layers one after the other."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.feed_forward import MlpOp, SwigluOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Operand, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy
from xdsl_rlx.transforms.rules.hir.linear import dense


def gated(b: MirBuilder, policy: FusionPolicy, x: Operand, up_w: Operand, gate_w: Operand, down_w: Operand) -> Value:
    """
    `(silu(x @ gate_w) * (x @ up_w)) @ down_w`.

    The composite op takes both products in one tensor. They are put together, not the weights: that of the products is
    gone when the op is taken apart again for fusion, that of the weights would be copied in every call.
    """
    up, gate = b.matmul(x, up_w), b.matmul(x, gate_w)
    hidden = b.fused_swiglu(b.concat([up, gate], -1)) if policy.composite else b.silu(gate) * up
    return b.matmul(hidden, down_w)


@BLOCKS.rule(SwigluOp)
def swiglu(op: SwigluOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    return [gated(b, policy, op.x, op.up_w, op.gate_w, op.down_w)]


@BLOCKS.rule(MlpOp)
def mlp(op: MlpOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    h, last = b.value(op.x), len(op.weights) - 1
    behind = None if op.last_activation is None else op.last_activation.data
    for number, w in enumerate(op.weights):
        bias = op.biases[number] if op.biases else None
        h = dense(b, policy, h, w, bias, op.activation.data if number < last else behind)
    return [h]
