"""Normalisations, alone and of sums."""

from typing import Any

from numerics.blocks import layer_norm, rms_norm, sample

from xdsl_rlx.dialects.hir.normalization import (
    GroupNormOp,
    LayerNormOp,
    ResidualLayerNormOp,
    ResidualRmsNormOp,
    RmsNormOp,
)


def group_norm(np_: Any, x: Any, gamma: Any, beta: Any, num_groups: int, eps: float) -> Any:
    shape = (1, -1, *[1] * (x.ndim - 2))
    groups = layer_norm(np_, x.reshape(x.shape[0], num_groups, -1), eps=eps)
    return groups.reshape(x.shape) * gamma.reshape(shape) + beta.reshape(shape)


def _along_second(np_: Any, x: Any, gamma: Any) -> Any:
    return np_.moveaxis(rms_norm(np_, np_.moveaxis(x, 1, -1), gamma, eps=0.1), -1, 1)


def _of_sum(norm: Any) -> Any:
    def reference(np_: Any, x: Any, residual: Any, gamma: Any = 1.0, beta: Any = 0.0, bias: Any = 0.0) -> Any:
        return norm(np_, x + residual + bias, gamma, beta, 0.03)

    return reference


_ROWS = {"x": (2, 3, 5), "gamma": (5,), "beta": (5,)}
_SUM = {"x": (2, 3, 5), "residual": (2, 3, 5)}
_ALL = {**_SUM, "gamma": (5,), "beta": (5,), "bias": (5,)}

SAMPLES = (
    sample("layer_norm", LayerNormOp, layer_norm, _ROWS),
    sample("layer_norm-bare", LayerNormOp, layer_norm, {"x": (3, 4)}),
    sample("rms_norm", RmsNormOp, rms_norm, _ROWS),
    sample("rms_norm-axis", RmsNormOp, _along_second, {"x": (2, 3, 5), "gamma": (3,)}, axis=1, eps=0.1),
    sample(
        "group_norm",
        GroupNormOp,
        lambda np_, x, gamma, beta: group_norm(np_, x, gamma, beta, 3, 0.01),
        {"x": (2, 6, 3, 1), "gamma": (6,), "beta": (6,)},
        num_groups=3,
        eps=0.01,
    ),
    *(
        sample(f"{name}-{number}", op, _of_sum(norm), arrays, eps=0.03)
        for name, op, norm in (
            ("residual_rms_norm", ResidualRmsNormOp, rms_norm),
            ("residual_layer_norm", ResidualLayerNormOp, layer_norm),
        )
        for number, arrays in enumerate((_SUM, _SUM | {"gamma": (5,)}, _ALL))
    ),
)
