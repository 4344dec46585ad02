"""Scales by which numbers can be squared and added."""

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from xdsl_rlx.lowering.kernel_dsl import Array, Number, accumulate_max, rolled

WINDOW: dict[Attribute, float] = {f32: 2.0**20, f64: 2.0**150}
"""Numbers between this and its inverse have squares whose sums neither overflow nor lose digits."""


def largest_of(x: Array) -> Number:
    """The largest magnitude in a matrix; NaN if it has one."""
    rows, columns = x.shape
    largest = 0.0
    for i in rolled(range(rows)):
        for j in rolled(range(columns)):
            largest = accumulate_max(largest, abs(x[i, j]))
    return largest


def scale_of(largest: Number, window: float) -> Number:
    """A power of 2 that brings the largest of some numbers into the window, or near it; NaN if that is not finite."""
    step, one = window * window, 1.0 + largest * 0.0
    down = one / (step * step) if largest >= step * window else one / step
    down = one / (step * step) / step if largest >= step * step * window else down
    up = one * (step * step) if largest < 1.0 / (step * window) else one * step
    up = one * (step * step * step) if largest < 1.0 / (step * step * window) else up
    return down if largest >= window else up if largest < 1.0 / window else one
