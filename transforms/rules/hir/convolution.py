"""Convolutions with what stands behind them."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.hir.block import int_of
from xdsl_rlx.dialects.hir.convolution import ConvBlockOp, DepthwiseConv1dCausalOp, ResidualConvBlockOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy


def _normalized(b: MirBuilder, x: Value, norm: Sequence[SSAValue], op: ConvBlockOp | ResidualConvBlockOp) -> Value:
    """The batch norm of four vectors, the group norm of two, or `x` itself."""
    eps, groups = op.eps.value.data, int_of(op.num_groups)
    if not norm:
        return x
    if groups is None:
        gamma, beta, mean, var = norm
        return b.batch_norm_inference(x, gamma, beta, mean, var, 1, eps)
    return b.group_norm(x, norm[0], norm[1], groups, eps)


@BLOCKS.rule(ConvBlockOp)
def conv_block(op: ConvBlockOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    stride, padding, dilation, groups = op.windows
    y = _normalized(b, b.conv(op.x, op.w, stride, padding, dilation, groups, op.b), op.norm, op)
    return [b.activation(y, None if op.activation is None else op.activation.data)]


@BLOCKS.rule(ResidualConvBlockOp)
def residual_conv_block(op: ResidualConvBlockOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    activation = op.activation.data
    h = _normalized(b, b.conv(op.x, op.w1, op.strides, op.padding(op.w1)), op.norm1, op)
    y = _normalized(b, b.conv(b.activation(h, activation), op.w2, 1, op.padding(op.w2)), op.norm2, op)
    x = b.value(op.x)
    if op.shortcut_w is not None:
        x = _normalized(b, b.conv(x, op.shortcut_w, op.strides), op.shortcut_norm, op)
    return [b.activation(y + x, activation)]


@BLOCKS.rule(DepthwiseConv1dCausalOp)
def depthwise_conv1d_causal(op: DepthwiseConv1dCausalOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    (batch, _, channels), taps = shape_of(op.x), op.taps
    before = b.full((batch, taps - 1, channels), 0, element_of(op.x)) if op.left_pad is None else b.value(op.left_pad)
    past = b.concat([before, op.x], 1) if taps > 1 else b.value(op.x)
    weight = b.reshape(op.w, (channels, 1, taps))
    return [b.transpose(b.conv(b.transpose(past, (0, 2, 1)), weight, groups=channels), (0, 2, 1))]
