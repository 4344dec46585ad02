"""Convolutions beside those of JAX, and rearrangements beside their definitions."""

from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn

RNG = np.random.default_rng(0)
LINE, PLANE, SPACE = RNG.normal(size=(2, 4, 9)), RNG.normal(size=(2, 4, 6, 7)), RNG.normal(size=(1, 4, 5, 4, 6))
LETTERS = "DHW"
both = (0, 1)


def _filter(*shape: int) -> Any:
    return RNG.normal(size=shape)


def _many(x: Any, one: Any) -> Any:
    return (one,) * (np.ndim(x) - 2) if isinstance(one, int) else one


def _numbers(x: Any) -> tuple[str, str, str]:
    axes = LETTERS[5 - np.ndim(x) :]
    return "NC" + axes, "OI" + axes, "NC" + axes


def _conv(x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    pads = padding if isinstance(padding, str) else [p if isinstance(p, tuple) else (p, p) for p in _many(x, padding)]
    pads = pads.upper() if isinstance(pads, str) else pads
    y = lax.conv_general_dilated(
        x, w, _many(x, stride), pads, None, _many(x, dilation), _numbers(x), feature_group_count=groups
    )
    return y if b is None else y + b.reshape(-1, *(1,) * (x.ndim - 2))


def _transposed(
    x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, more: Any = 0, groups: int = 1, dilation: Any = 1
) -> Any:
    """A convolution of the image with zeros between its elements and the reversed weight."""
    stride, padding, more, dilation = (_many(x, one) for one in (stride, padding, more, dilation))
    pads = [
        (d * (k - 1) - p, d * (k - 1) - p + extra)
        for k, p, extra, d in zip(w.shape[2:], padding, more, dilation, strict=True)
    ]
    w = jnp.flip(w, tuple(range(2, w.ndim)))
    parts = w.reshape(groups, -1, *w.shape[1:])
    w = jnp.swapaxes(parts, 1, 2).reshape(-1, parts.shape[1], *w.shape[2:])
    y = lax.conv_general_dilated(
        x, w, (1,) * (x.ndim - 2), pads, stride, dilation, _numbers(x), feature_group_count=groups
    )
    return y if b is None else y + b.reshape(-1, *(1,) * (x.ndim - 2))


def _columns(x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    x = jnp.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], kernel, dilation, stride, strict=True)]
    taps = []
    for tap in product(*map(range, kernel)):
        at = zip(tap, dilation, stride, counts, strict=True)
        taps.append(x[(..., *(slice(t * d, t * d + (count - 1) * s + 1, s) for t, d, s, count in at))])
    stacked = jnp.stack(taps, 2)
    return stacked.reshape(x.shape[0], x.shape[1] * len(taps), -1)


def _folded(y: Any, shape: tuple[int, ...], *options: Any) -> Any:
    return jax.linear_transpose(lambda x: _columns(x, *options), jax.ShapeDtypeStruct(shape, y.dtype))(y)[0]


WINDOWS = ((2, 3), (2, 1), (1, 0), (1, 2))
COLUMNS = RNG.normal(size=_columns(PLANE, *WINDOWS).shape)

FAMILY = Family(
    [
        Row("conv1d", nn.conv1d, _conv, [LINE, _filter(3, 4, 3), _filter(3)], (0, 1, 2), half=4e-2),
        Row("conv1d-pairs", partial(nn.conv, stride=2, padding=((2, 1),), groups=2),
            partial(_conv, stride=2, padding=((2, 1),), groups=2), [LINE, _filter(6, 2, 4)], both, half=4e-2),
        Row("conv2d", partial(nn.conv2d, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
            partial(_conv, stride=(2, 1), padding=(1, 2), dilation=(1, 2)), [PLANE, _filter(3, 4, 3, 2), _filter(3)],
            both, half=4e-2),
        Row("conv2d-same", partial(nn.conv, padding="SAME", stride=2), partial(_conv, padding="SAME", stride=2),
            [PLANE, _filter(2, 4, 3, 2)], both, half=4e-2),
        Row("conv2d-lower", partial(nn.conv, padding="same_lower"), partial(_conv, padding="SAME_LOWER"),
            [PLANE, _filter(2, 4, 2, 4)], half=4e-2),
        Row("conv2d-depthwise", partial(nn.conv, padding="valid", groups=4), partial(_conv, padding="VALID", groups=4),
            [PLANE, _filter(8, 1, 2, 2)], both, half=4e-2),
        Row("conv2d-one", lambda x, w: nn.conv2d(x[0], w), lambda x, w: _conv(x[:1], w)[0],
            [PLANE, _filter(2, 4, 1, 1)], half=4e-2),
        Row("conv3d", partial(nn.conv3d, stride=(2, 1, 1), padding=(1, 0, 2), dilation=(1, 2, 1), groups=2),
            partial(_conv, stride=(2, 1, 1), padding=(1, 0, 2), dilation=(1, 2, 1), groups=2),
            [SPACE, _filter(4, 2, 3, 2, 2), _filter(4)], both, half=6e-2),
        Row("conv3d-dilation", partial(nn.conv, padding="same", dilation=(2, 1, 1)),
            partial(_conv, padding="SAME", dilation=(2, 1, 1)), [SPACE, _filter(2, 4, 2, 3, 1)], both, half=6e-2),
        Row("conv_transpose1d", partial(nn.conv_transpose1d, stride=3, padding=1, output_padding=2),
            partial(_transposed, stride=3, padding=1, more=2), [LINE, _filter(4, 3, 4), _filter(3)], (0, 1, 2),
            half=4e-2),
        Row("conv_transpose2d", partial(nn.conv_transpose2d, stride=(2, 1), dilation=(1, 2), groups=2),
            partial(_transposed, stride=(2, 1), dilation=(1, 2), groups=2), [PLANE, _filter(4, 3, 2, 3), _filter(6)],
            both, half=4e-2),
        Row("conv_transpose3d",
            partial(nn.conv_transpose3d, stride=(2, 1, 3), padding=(1, 0, 1), output_padding=(1, 0, 0), groups=2),
            partial(_transposed, stride=(2, 1, 3), padding=(1, 0, 1), more=(1, 0, 0), groups=2),
            [SPACE[:, :, :3], _filter(4, 2, 3, 2, 2), _filter(4)], both, half=6e-2),
        Row("conv_transpose3d-dilation", partial(nn.conv_transpose, dilation=(2, 1, 1)),
            partial(_transposed, dilation=(2, 1, 1)), [SPACE[:, :, :2], _filter(4, 2, 2, 1, 2)], both, half=6e-2),
        Row("unfold", partial(nn.unfold, kernel_size=(2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)),
            lambda x: _columns(x, *WINDOWS), [PLANE]),
        Row("fold", partial(nn.fold, output_size=(6, 7), kernel_size=(2, 3), dilation=(2, 1), padding=(1, 0),
            stride=(1, 2)), lambda y: _folded(y, PLANE.shape, *WINDOWS), [COLUMNS]),
        Row("pixel_shuffle", lambda x: nn.pixel_shuffle(x, 2), lambda x: jnp.stack(
            [x[:, 2 * (i % 2) + j % 2, i // 2, j // 2] for i in range(12) for j in range(14)], 1).reshape(2, 1, 12, 14),
            [PLANE]),
        Row("pixel_unshuffle", lambda x: nn.pixel_unshuffle(nn.pixel_shuffle(x, 2), 2), lambda x: 1 * x, [PLANE]),
        Row("channel_shuffle", lambda x: nn.channel_shuffle(x, 2), lambda x: x[:, np.array([0, 2, 1, 3])], [PLANE]),
        Row("empty", nn.conv2d, lambda x, w: jnp.zeros((0, 3, 5, 6)), [PLANE[:0], _filter(3, 4, 2, 2)], both, 0),
    ]
)  # fmt: skip


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_convolution_is_that_of_jax(name: str) -> None:
    FAMILY.check(name)


FILTER = np.ones((2, 4, 3, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.conv2d(LINE, np.ones((2, 4, 3))), "conv2d: weight: expected rank 4"),
        (lambda: nn.conv(SPACE, FILTER), r"conv: x: expected \[N, C, ...\]"),
        (lambda: nn.conv(PLANE, FILTER[:, :3]), "weight: expected .* for 4 channels in 1 groups"),
        (lambda: nn.conv(PLANE, FILTER, padding="some"), "padding: expected 'same', 'same_lower', 'valid'"),
        (lambda: nn.conv(PLANE, FILTER, padding=((1, 1),)), "padding: expected 2 pairs"),
        (lambda: nn.conv(PLANE, FILTER, stride=0), "stride: expected an integer of at least 1"),
        (lambda: nn.conv(PLANE, FILTER, dilation=4), "does not fit an image"),
        (lambda: nn.conv(PLANE, FILTER, np.ones(3)), r"bias: expected shape \[2\]"),
        (lambda: nn.conv2d(PLANE, np.float32(FILTER)), "conv2d: .* x is f64, weight is f32; cast one"),
        (lambda: nn.conv_transpose(PLANE, FILTER), "weight: expected .* for C = 4 channels"),
        (lambda: nn.conv_transpose(PLANE[:, :2], FILTER, output_padding=1), "output_padding: expected less than"),
        (lambda: nn.conv_transpose(PLANE[:, :2, :1, :1], FILTER, padding=2), "reduce padding"),
        (lambda: nn.unfold(PLANE, 8), "kernel_size: windows of"),
        (lambda: nn.fold(COLUMNS, 9, 2), "fold: x: expected"),
        (lambda: nn.pixel_shuffle(PLANE, 3), "a multiple of 9"),
        (lambda: nn.pixel_unshuffle(PLANE, 2), "multiples of 2"),
        (lambda: nn.channel_shuffle(PLANE, 3), "groups: expected a divisor of 4"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
