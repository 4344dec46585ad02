"""Transforms along axes, spectra and frames of signals; those of `numpy.fft` have its factors and lengths."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.complex import complex_type
from xdsl_rlx.dialects.mir.compositions import frames, resized, signal
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.spectral import FftNorm, RfftOp
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, normalize_axis


def fft_axis(
    m: MirBuilder, x: Operand, axis: int, inverse: bool = False, norm: FftNorm | str = FftNorm.BACKWARD
) -> Value:
    """`mir.fft` along any axis."""
    value = m.value(m.operand(x))
    perm = list(range(value.rank))
    axis = normalize_axis(axis, value.rank)
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return m.transpose(m.fft(m.transpose(value, perm), inverse, norm), perm)


def fftn(m: MirBuilder, x: Operand, axes: Sequence[int] | None = None) -> Value:
    """Return the transform along `axes`, by default all, of a complex or real tensor."""
    return _along(m, x, axes, False)


def ifftn(m: MirBuilder, x: Operand, axes: Sequence[int] | None = None) -> Value:
    """Return the inverse of `fftn`."""
    return _along(m, x, axes, True)


def _along(m: MirBuilder, x: Operand, axes: Sequence[int] | None, inverse: bool) -> Value:
    value = m.value(m.operand(x))
    if element_of(value.ssa) not in COMPLEXES:
        value = m.cast(value, complex_type(element_of(value.ssa)))
    for axis in sorted(normalize_axis(a, value.rank) for a in (range(value.rank) if axes is None else axes)):
        value = fft_axis(m, value, axis, inverse, FftNorm.FORWARD)
    return value


def fft_real(m: MirBuilder, x: Operand, n: int | None = None) -> tuple[Value, Value]:
    """Return real and imaginary parts of all `n` bins of a real signal: `rfft` with the mirrored bins."""
    value = m.value(m.operand(x)) if n is None else resized(m, x, n)
    bins = m.op(RfftOp, value.ssa, True)
    return m.real(bins), m.imag(bins)


def stft(m: MirBuilder, x: Operand, frame_len: int, hop: int, window: Operand | None = None) -> Value:
    """Return the `rfft` of each frame of `x` `[.., t]` times `window`: complex `[.., frames, frame_len/2 + 1]`."""
    framed = frames(m, x, frame_len, hop)
    return m.rfft(framed if window is None else framed * window)


def fft_conv1d(m: MirBuilder, x: Operand, kernel: Operand) -> Value:
    """The convolution of `x` `[.., n]` and `kernel` `[.., m]` along the last axis: `[.., n + m - 1]`."""
    value, taps = (signal(m, v) for v in m.operands(x, kernel))
    length = value.shape[-1] + taps.shape[-1] - 1
    fast = _fast_length(length)
    return resized(m, m.irfft(m.rfft(value, fast) * m.rfft(taps, fast), fast), length)


def _fast_length(n: int) -> int:
    """The least length from `n` on whose transform takes two products with small matrices, or a power of two."""
    if n <= 64:
        return n
    if n > 64 * 64:
        return 1 << (n - 1).bit_length()
    return min(first * -(-n // first) for first in range(-(-n // 64), 65))


def psd(m: MirBuilder, x: Operand) -> Value:
    """`|X|^2 / n` for the transform `X` of `n` points: all bins of a complex `x`, `n/2 + 1` of a real one."""
    value = signal(m, x)
    whole = element_of(value.ssa) in COMPLEXES
    return m.complex_norm_sq(m.fft(value) if whole else m.rfft(value)) / float(value.shape[-1])


def fftfreq(m: MirBuilder, n: int, d: float = 1.0, dtype: object = "f32") -> Value:
    """
    Return the bin frequencies of `fft` for `n` points with spacing `d`; the middle bin of an even `n` is negative.
    """
    return m.constant([(k if 2 * k < n else k - n) / (n * d) for k in range(_points(n, d))], dtype)


def rfftfreq(m: MirBuilder, n: int, d: float = 1.0, dtype: object = "f32") -> Value:
    """Return the bin frequencies of `rfft` for `n` points with spacing `d`."""
    return m.constant([k / (n * d) for k in range(_points(n, d) // 2 + 1)], dtype)


def _points(n: int, d: float) -> int:
    """`n`; GraphError unless a constant can have an element for each of so many points at such a distance."""
    if not 1 <= n <= 1 << 28 or not d:
        raise GraphError(f"expected 1 to 2^28 points at a distance that is not 0, got {n} at {d}")
    return n
