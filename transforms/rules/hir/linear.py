"""Dense layers."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.linear import LinearOp, SharedLinearPairOp
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Operand, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy


def dense(
    b: MirBuilder,
    policy: FusionPolicy,
    x: Operand,
    w: Operand,
    bias: Operand | None = None,
    activation: Activation | None = None,
) -> Value:
    """`f(x @ w + bias)`."""
    if bias is not None and policy.composite:
        return b.fused_matmul_bias_act(x, w, bias, activation)
    product = b.matmul(x, w)
    return b.activation(product if bias is None else product + bias, activation)


@BLOCKS.rule(LinearOp)
def linear(op: LinearOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    return [dense(b, policy, op.x, op.w, op.b, None if op.activation is None else op.activation.data)]


@BLOCKS.rule(SharedLinearPairOp)
def shared_linear_pair(op: SharedLinearPairOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    return [dense(b, policy, op.x, op.w1, op.b1), dense(b, policy, op.x, op.w2, op.b2)]
