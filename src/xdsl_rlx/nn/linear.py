"""Linear and bilinear maps, and padding."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import check_choice, check_shape, floating
from xdsl_rlx.op_functions import function


@composite
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """
    Return `x weight^T + bias`: `[..., O]` from `x` `[..., I]`, `weight` `[O, I]` and `bias` `[O]`, as in PyTorch.

    `rlx.linear` takes the transposed weight `[I, O]`.
    """
    if np.ndim(weight) != 2 or np.ndim(x) < 1 or x.shape[-1] != weight.shape[1]:
        raise GraphError(
            f"linear: weight: expected [O, I] for x of shape [..., I], got {list(np.shape(weight))} for "
            f"{list(np.shape(x))}; transpose the weight"
        )
    y = floating(x) @ np.swapaxes(weight, 0, 1)
    if bias is None:
        return y
    check_shape("linear", "bias", bias, weight.shape[:1], "the first axis of weight")
    return y + bias


@composite
def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    """
    Return `sum over i, j of x1[..., i] weight[o, i, j] x2[..., j] + bias[o]`.

    `x1` is `[..., I]`, `x2` is `[..., J]` with the same leading axes, `weight` is `[O, I, J]`, `bias` is `[O]`.
    """
    if np.ndim(weight) != 3 or x1.shape[:-1] != x2.shape[:-1]:
        raise GraphError(
            f"bilinear: expected x1 [..., I], x2 [..., J] and weight [O, I, J], got {list(np.shape(x1))}, "
            f"{list(np.shape(x2))} and {list(np.shape(weight))}"
        )
    check_shape("bilinear", "weight", weight, (weight.shape[0], x1.shape[-1], x2.shape[-1]), "that of x1 and x2")
    y = np.einsum("...i,oij,...j->...o", floating(x1), weight, x2)
    if bias is None:
        return y
    check_shape("bilinear", "bias", bias, weight.shape[:1], "the first axis of weight")
    return y + bias


@composite
def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float = 0) -> Any:
    """
    Return `x` with elements before and after its last axes, as in PyTorch.

    `pad` has pairs of numbers, the first for the last axis: `(left, right, top, bottom)`. `mode` is "constant", which
    adds `value` and removes elements where a number is negative; "reflect", without the border itself; "replicate",
    which repeats the border; or "circular".
    """
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    check_choice("pad", "mode", mode, tuple(modes))
    if len(pad) % 2 or len(pad) > 2 * np.ndim(x):
        raise GraphError(f"pad: pad: expected a pair for each of at most {np.ndim(x)} axes, got {shown(pad)}")
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    widths = [(0, 0)] * (np.ndim(x) - len(pairs)) + pairs[::-1]
    if mode == "constant":
        return function("pad")(x, tuple(widths), constant_values=value)
    for n, pair in zip(x.shape, widths, strict=True):
        most = {"reflect": n - 1, "circular": n}.get(mode, max(pair) if n else 0)
        if min(pair) < 0 or max(pair) > most:
            raise GraphError(
                f"pad: pad: expected numbers from 0 to {most} for an axis of length {n} and the mode {mode!r}, got "
                f"{list(pair)}"
            )
    return np.pad(x, widths, modes[mode])  # pyright: ignore[reportArgumentType, reportCallIssue]
