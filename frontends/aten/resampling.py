"""Rows that resample images and pad their borders, and of the gradients of these."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any

from xdsl_rlx import nn
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.aten.backward import asked, gradients
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import dtype_of
from xdsl_rlx.op_functions import function

_MODES = {
    "upsample_nearest1d": ("nearest", False),
    "upsample_nearest2d": ("nearest", False),
    "upsample_nearest3d": ("nearest", False),
    "_upsample_nearest_exact1d": ("nearest-exact", False),
    "_upsample_nearest_exact2d": ("nearest-exact", False),
    "_upsample_nearest_exact3d": ("nearest-exact", False),
    "upsample_linear1d": ("linear", True),
    "upsample_bilinear2d": ("bilinear", True),
    "upsample_trilinear3d": ("trilinear", True),
    "upsample_bicubic2d": ("bicubic", True),
    "_upsample_bilinear2d_aa": ("bilinear", True),
    "_upsample_bicubic2d_aa": ("bicubic", True),
}
"""Modes of `nn.interpolate`, and whether the operator has the argument `align_corners`."""


def _rows_of(name: str, mode: str, has_corners: bool) -> None:
    antialias = name.endswith("_aa")

    def resampled(x: Any, size: Sequence[int] | None, corners: bool, scales: Any) -> Any:
        if scales and None not in scales:
            found = [floor(n * factor) for n, factor in zip(x.shape[2:], scales, strict=True)]
            if size and found != list(size):
                raise GraphError(f"scales {list(scales)} give the size {found}, not {list(size)}")
            return nn.interpolate(x, None, list(scales), mode, corners, False, antialias)
        return nn.interpolate(x, list(size or ()), None, mode, corners, False, antialias)

    def split(args: Sequence[Any]) -> tuple[bool, Sequence[Any]]:
        return (bool(args[0]), args[1:]) if has_corners else (False, args)

    def build(c: Call, self: Any, output_size: Sequence[int], *args: Any) -> Any:
        corners, scales = split(args)
        return resampled(self, output_size, corners, scales)

    def of_factors(c: Call, input: Any, output_size: Sequence[int] | None, *args: Any) -> Any:
        corners, (factors,) = split(args)
        return resampled(input, output_size, corners, factors)

    def backward(c: Call, grad_output: Any, output_size: Any, input_size: Sequence[int], *args: Any) -> Any:
        corners, scales = split(args)
        image = function("full")(tuple(input_size), 0, dtype_of(grad_output))
        return gradients(lambda x: resampled(x, output_size, corners, scales), (image,), grad_output)[0]

    ROWS.add(f"{name}.default")(build)
    ROWS.add(f"{name}.vec")(of_factors)
    ROWS.add(f"{name}_backward.default")(backward)


for _name, (_mode, _has_corners) in _MODES.items():
    _rows_of(_name, _mode, _has_corners)


def _bordered(x: Any, padding: Sequence[int], mode: str) -> Any:
    """Padding by a mode; negative numbers cut elements off afterwards."""
    y = nn.pad(x, [max(one, 0) for one in padding], mode)
    if min(padding) >= 0:
        return y
    pairs = [(padding[k], padding[k + 1]) for k in range(len(padding) - 2, -1, -2)]
    cut = [slice(max(-low, 0), n - max(-high, 0)) for (low, high), n in zip(pairs, y.shape[-len(pairs) :], strict=True)]
    return y[(..., *cut)]


def _padded(mode: str) -> Callable[..., Any]:
    def build(c: Call, self: Any, padding: Sequence[int]) -> Any:
        return _bordered(self, padding, mode)

    return build


def _padded_backward(mode: str) -> Callable[..., Any]:
    def build(c: Call, grad_output: Any, self: Any, padding: Sequence[int]) -> Any:
        return gradients(lambda x: _bordered(x, padding, mode), (self,), grad_output)[0]

    return build


for _axes in (1, 2, 3):
    for _name, _mode in (("reflection", "reflect"), ("replication", "replicate")):
        ROWS.add(f"{_name}_pad{_axes}d.default")(_padded(_mode))
        ROWS.add(f"{_name}_pad{_axes}d_backward.default")(_padded_backward(_mode))
ROWS.add("_pad_circular.default")(_padded("circular"))


@ROWS.add("pad.default")
def _pad(c: Call, self: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    return nn.pad(self, list(pad), mode, 0 if value is None else value)


_INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@ROWS.add("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default", composite=True)
def _grid_sampler(
    c: Call, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    return nn.grid_sample(input, grid, _INTERPOLATIONS[interpolation_mode], _PADDINGS[padding_mode], align_corners)


@ROWS.add("grid_sampler_2d_backward.default", "grid_sampler_3d_backward.default", composite=True)
def _grid_sampler_backward(
    c: Call,
    grad_output: Any,
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> Any:
    def of(x: Any, at: Any) -> Any:
        return _grid_sampler(c, x, at, interpolation_mode, padding_mode, align_corners)

    return asked(of, (input, grid), grad_output, output_mask)


@ROWS.add("affine_grid_generator.default", composite=True)
def _affine_grid(c: Call, theta: Any, size: Sequence[int], align_corners: bool) -> Any:
    return nn.affine_grid(theta, tuple(size), align_corners)


@ROWS.add("pixel_shuffle.default")
def _pixel_shuffle(c: Call, self: Any, upscale_factor: int) -> Any:
    return nn.pixel_shuffle(self, upscale_factor)


@ROWS.add("pixel_unshuffle.default")
def _pixel_unshuffle(c: Call, self: Any, downscale_factor: int) -> Any:
    return nn.pixel_unshuffle(self, downscale_factor)


@ROWS.add("channel_shuffle.default")
def _channel_shuffle(c: Call, self: Any, groups: int) -> Any:
    return nn.channel_shuffle(self, groups)


@ROWS.add("im2col.default")
def _im2col(c: Call, self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return nn.unfold(self, *(list(x) for x in (kernel_size, dilation, padding, stride)))


@ROWS.add("col2im.default")
def _col2im(c: Call, self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return nn.fold(self, *(list(x) for x in (output_size, kernel_size, dilation, padding, stride)))
