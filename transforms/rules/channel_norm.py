"""Rows of group norm, layer norm over channels and batch norm for inference, and of their backward ops."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.channel_norm import (
    BatchNormInferenceBackwardBetaOp,
    BatchNormInferenceBackwardGammaOp,
    BatchNormInferenceBackwardInputOp,
    BatchNormInferenceOp,
    GroupNormBackwardBetaOp,
    GroupNormBackwardGammaOp,
    GroupNormBackwardInputOp,
    GroupNormOp,
    LayerNorm2dOp,
    grouped_shape,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.norm import along, other_axes
from xdsl_rlx.transforms.rules.rows import decompose, leading
from xdsl_rlx.transforms.rules.rule_table import VJP, Cotangent

leading(BatchNormInferenceOp, "axis", shared=("gamma", "beta", "mean", "var"))
leading(BatchNormInferenceBackwardInputOp, "axis", shared=("gamma", "mean", "var"))

_GROUP = (2, 3)
"""The axes of a group in `[N, G, C/G, positions]`."""


def _grouped(b: MirBuilder, x: Value, num_groups: int, eps: float) -> tuple[Value, Value]:
    """`(x - mean) inv` and `inv = 1 / sqrt(var + eps)`, as `[N, G, C/G, positions]` and `[N, G, 1, 1]`."""
    parts = b.reshape(x, grouped_shape(x.shape, num_groups))
    centred = parts - b.reduce_mean(parts, _GROUP, keep_dim=True)
    inv = b.rsqrt(b.reduce_mean(centred * centred, _GROUP, keep_dim=True) + eps)
    return centred * inv, inv


def _per_channel(b: MirBuilder, vector: Value, num_groups: int) -> Value:
    """`[C]` as `[G, C/G, 1]`."""
    return b.reshape(vector, (num_groups, vector.shape[0] // num_groups, 1))


@decompose(GroupNormOp)
def group_norm_decompose(op: GroupNormOp, b: MirBuilder) -> Sequence[Value]:
    x, groups = b.value(op.x), op.num_groups.value.data
    n, _ = _grouped(b, x, groups, op.eps.value.data)
    gamma, beta = (_per_channel(b, b.value(v), groups) for v in (op.gamma, op.beta))
    return [b.reshape(n * gamma + beta, x.shape)]


@VJP.rule(GroupNormOp)
def group_norm_vjp(op: GroupNormOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    groups, eps = op.num_groups.value.data, op.eps.value.data
    return (
        lambda: b.group_norm_backward_input(op.x, op.gamma, op.beta, g, groups, eps),
        lambda: b.group_norm_backward_gamma(op.x, g, groups, eps),
        lambda: b.group_norm_backward_beta(op.x, g, groups, eps),
    )


@decompose(GroupNormBackwardInputOp)
def group_norm_backward_input_decompose(op: GroupNormBackwardInputOp, b: MirBuilder) -> Sequence[Value]:
    x, groups = b.value(op.x), op.num_groups.value.data
    n, inv = _grouped(b, x, groups, op.eps.value.data)
    s = b.reshape(op.dy, n.shape) * _per_channel(b, b.value(op.gamma), groups)
    mean_s, mean_sn = (b.reduce_mean(v, _GROUP, keep_dim=True) for v in (s, s * n))
    return [b.reshape(inv * (s - mean_s - n * mean_sn), x.shape)]


@decompose(GroupNormBackwardGammaOp)
def group_norm_backward_gamma_decompose(op: GroupNormBackwardGammaOp, b: MirBuilder) -> Sequence[Value]:
    x = b.value(op.x)
    n, _ = _grouped(b, x, op.num_groups.value.data, op.eps.value.data)
    return [b.reshape(b.reduce_sum(b.reshape(op.dy, n.shape) * n, (0, 3)), (x.shape[1],))]


@decompose(GroupNormBackwardBetaOp)
def group_norm_backward_beta_decompose(op: GroupNormBackwardBetaOp, b: MirBuilder) -> Sequence[Value]:
    dy = b.value(op.dy)
    return [b.reduce_sum(dy, other_axes(dy, 1))]


@decompose(LayerNorm2dOp)
def layer_norm_2d_decompose(op: LayerNorm2dOp, b: MirBuilder) -> Sequence[Value]:
    return [b.layer_norm(op.x, op.gamma, op.beta, 1, op.eps.value.data)]


def _inv(b: MirBuilder, var: Value, eps: float) -> Value:
    """`1 / sqrt(var + eps)`."""
    return b.rsqrt(var + eps)


@decompose(BatchNormInferenceOp)
def batch_norm_inference_decompose(op: BatchNormInferenceOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    factor = b.value(op.gamma) * _inv(b, b.value(op.var), op.eps.value.data)
    centred = x - along(b, b.value(op.mean), x, axis)
    return [centred * along(b, factor, x, axis) + along(b, b.value(op.beta), x, axis)]


@VJP.rule(BatchNormInferenceOp)
def batch_norm_inference_vjp(op: BatchNormInferenceOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """With `inv = 1 / sqrt(var + eps)`: `mean` gets `-gamma inv dbeta`, `var` gets `-gamma inv^2 dgamma / 2`."""
    axis, eps = op.axis_index, op.eps.value.data

    def gamma() -> Value:
        return b.batch_norm_inference_backward_gamma(op.x, op.mean, op.var, g, axis, eps)

    def beta() -> Value:
        return b.batch_norm_inference_backward_beta(g, axis)

    def factor() -> tuple[Value, Value]:
        inv = _inv(b, b.value(op.var), eps)
        return b.value(op.gamma) * inv, inv

    def var() -> Value:
        scale, inv = factor()
        return scale * inv * gamma() * -0.5

    return (
        lambda: b.batch_norm_inference_backward_input(op.x, op.gamma, op.mean, op.var, g, axis, eps),
        gamma,
        beta,
        lambda: -(factor()[0] * beta()),
        var,
    )


@decompose(BatchNormInferenceBackwardInputOp)
def batch_norm_inference_backward_input_decompose(
    op: BatchNormInferenceBackwardInputOp, b: MirBuilder
) -> Sequence[Value]:
    dy = b.value(op.dy)
    factor = b.value(op.gamma) * _inv(b, b.value(op.var), op.eps.value.data)
    return [dy * along(b, factor, dy, op.axis_index)]


@decompose(BatchNormInferenceBackwardGammaOp)
def batch_norm_inference_backward_gamma_decompose(
    op: BatchNormInferenceBackwardGammaOp, b: MirBuilder
) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    centred = x - along(b, b.value(op.mean), x, axis)
    total = b.reduce_sum(b.value(op.dy) * centred, other_axes(x, axis))
    return [total * _inv(b, b.value(op.var), op.eps.value.data)]


@decompose(BatchNormInferenceBackwardBetaOp)
def batch_norm_inference_backward_beta_decompose(
    op: BatchNormInferenceBackwardBetaOp, b: MirBuilder
) -> Sequence[Value]:
    dy = b.value(op.dy)
    return [b.reduce_sum(dy, other_axes(dy, op.axis_index))]
