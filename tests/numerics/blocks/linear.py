"""Dense layers."""

from typing import Any

import numpy as np
from numerics.blocks import activations, sample

from xdsl_rlx.dialects.hir.linear import DequantMatmulOp, LinearOp, SharedLinearPairOp


def _linear(activation: str | None) -> Any:
    return lambda np_, x, w, b=0.0: activations(np_)[activation](x @ w + b)


def _pair(np_: Any, x: Any, w1: Any, w2: Any, b1: Any = 0.0, b2: Any = 0.0) -> Any:
    return x @ w1 + b1, x @ w2 + b2


def _bytes_times(np_: Any, x: Any, w: Any, scale: Any) -> Any:
    return x @ (w * np_.repeat(scale, 3, axis=0)[: w.shape[0]])


SAMPLES = (
    *(
        sample(f"linear-{activation}", LinearOp, _linear(activation), shapes, activation=activation)
        for activation, shapes in (
            (None, {"x": (5, 3), "w": (3, 4)}),
            ("gelu", {"x": (2, 5, 3), "w": (3, 4), "b": (4,)}),
            ("silu", {"x": (1, 3), "w": (3, 1), "b": (1,)}),
            ("tanh", {"x": (2, 1, 2, 3), "w": (3, 5)}),
        )
    ),
    sample("shared_linear_pair", SharedLinearPairOp, _pair, {"x": (2, 5, 3), "w1": (3, 4), "w2": (3, 7)}),
    sample(
        "shared_linear_pair-biases",
        SharedLinearPairOp,
        _pair,
        {"x": (5, 3), "w1": (3, 4), "w2": (3, 1), "b1": (4,), "b2": (1,)},
    ),
    sample("shared_linear_pair-one", SharedLinearPairOp, _pair, {"x": (5, 3), "w1": (3, 4), "w2": (3, 2), "b2": (2,)}),
    sample(
        "dequant_matmul",
        DequantMatmulOp,
        _bytes_times,
        {
            "x": (2, 3, 7),
            "w": np.random.default_rng(0).integers(-9, 9, (7, 5)).astype(np.int8),
            "scale": np.random.default_rng(1).uniform(0.1, 0.4, (3, 5)),
        },
        fixed=("scale",),
        scheme="int8_block",
        block_size=3,
    ),
)
