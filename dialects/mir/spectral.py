"""Fourier transforms and log-mel features, and builder methods with the semantics of NumPy composed from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_attr_definition,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.complex import complex_type, part_type
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Flag, Integer, Tensor, Word, flag, integer, tensor, word
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    check_element,
    dims,
    element_of,
    normalize_axis,
    same_element_type,
    shape_of,
)

REALS: tuple[Attribute, ...] = (f32, f64)


class FftNorm(StrEnum):
    """The factor of a transform of `n` points: none; `1/n` of the inverse only; `1/sqrt(n)`."""

    BACKWARD = "backward"
    FORWARD = "forward"
    ORTHO = "ortho"


@irdl_attr_definition
class FftNormAttr(EnumAttribute[FftNorm], SpacedOpaqueSyntaxAttribute):
    """The factor of a Fourier transform as a property."""

    name = "mir.fft_norm"


class FftOp(MirOp, name="mir.fft"):
    """
    `result[k] = s sum_j operand[j] e^(-2 pi i jk/n)` along the last axis; `inverse`: with `+` in the exponent.

    The factor `s` is 1 (norm `backward`, in both directions), `1/n` of the inverse only (`forward`), or `1/sqrt(n)` in
    both (`ortho`). A complex operand has `n` points; a real one has `2n` numbers along the axis, `n` real parts and
    then `n` imaginary parts, and so has the result. Any `n` of at least 1. The other axes are batch.
    """

    traits = traits_def(HasKernel())

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T, alias="x")
    inverse: Flag = flag(default=False)
    norm: Word[FftNorm] = word(FftNormAttr, "norm", default=FftNorm.BACKWARD)
    result = result_def(T)

    assembly_format = "$operand (`inverse` $inverse^)? `norm` $norm attr-dict `:` type($result)"

    @property
    def points(self) -> int:
        """The number of points `n`."""
        extent = shape_of(self.operand)[-1]
        return extent if element_of(self.operand) in COMPLEXES else extent // 2

    @property
    def factor(self) -> float:
        """The factor `s`."""
        norm = self.norm.data
        if norm is FftNorm.ORTHO:
            return self.points**-0.5
        return 1 / self.points if norm is FftNorm.FORWARD and self.inverse is not None else 1.0

    def infer_types(self) -> tuple[Attribute]:
        type_, shape = element_of(self.operand), shape_of(self.operand)
        check_element(type_, (*REALS, *COMPLEXES))
        if not shape or not shape[-1]:
            raise VerifyException(f"expected at least one point along the last axis, got {dims(shape)}")
        if type_ in REALS and shape[-1] % 2:
            raise VerifyException(f"expected real and imaginary parts along the last axis, got {shape[-1]} numbers")
        return (self.operand.type,)


def bins_of(points: int, full: bool) -> int:
    """The bins of so many real points: all, or those up to the middle."""
    return points if full else points // 2 + 1


class RfftOp(MirOp, name="mir.rfft"):
    """
    `result[k] = sum_j operand[j] e^(-2 pi i jk/n)` of a real operand along the last axis, for `k` up to `n/2`.

    The result is complex, with `n/2 + 1` elements (rounded down) along the axis. The others are their conjugates: with
    `full`, the result has them too, `n` elements in all.
    """

    traits = traits_def(HasKernel())

    operand: Tensor = tensor(alias="x")
    full: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        shape = shape_of(self.operand)
        if not shape or not shape[-1]:
            raise VerifyException(f"expected at least one point along the last axis, got {dims(shape)}")
        bins = bins_of(shape[-1], self.full is not None)
        return (TensorType(complex_type(element_of(self.operand)), (*shape[:-1], bins)),)


class IrfftOp(MirOp, name="mir.irfft"):
    """
    `result[j] = sum_k z[k] e^(2 pi i jk/n)` along the last axis, real, for the `n = points` bins of a real signal.

    The operand has the first `n/2 + 1` (rounded down), the others are their conjugates. The imaginary parts of the
    first bin and of that in the middle of an even `n` are not read. `n` times the inverse of `mir.rfft`. With `full`,
    the operand has all `n` bins, of any signal: the result is the real part of its transform.
    """

    traits = traits_def(HasKernel())

    operand: Tensor = tensor(alias="z")
    points: Integer = integer()
    full: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        points = self.points.value.data
        shape = shape_of(self.operand)
        bins = bins_of(max(points, 0), self.full is not None)
        if points < 1 or not shape or shape[-1] != bins:
            raise VerifyException(f"expected {bins} bins for {points} points, got {dims(shape)}")
        return (TensorType(part_type(element_of(self.operand)), (*shape[:-1], points)),)


def _mel_shape(spectrum: SSAValue, filters: SSAValue, clip: bool) -> tuple[int, ...]:
    check_element(same_element_type(spectrum, filters), REALS)
    shape, bands = shape_of(spectrum), shape_of(filters)
    if not shape or not shape[-1] or shape[-1] % 2:
        raise VerifyException(f"expected real and imaginary parts along the last axis, got {dims(shape)}")
    if len(bands) != 2 or bands[1] != shape[-1] // 4 + 1:
        raise VerifyException(f"expected filters of [bands, {shape[-1] // 4 + 1}], got {dims(bands)}")
    if clip and len(shape) < 2:
        raise VerifyException("a clip has at least two axes, frames and the spectrum of each")
    return (*shape[:-1], bands[0])


class LogMelOp(MirOp, name="mir.log_mel"):
    """
    The log-mel features of speech recognisers: `result = (max(l, M - 8) + 4) / 4` with `l = log10(max(F p, 1e-10))`.

    `spectrum` is `[.., 2 n]`, the transform of each frame as `mir.fft` gives it for real tensors, `p` the squared
    magnitudes of its first `n/2 + 1` bins, `filters` is `F` `[bands, n/2 + 1]`, the result `[.., bands]`. `M` is the
    greatest `l` of the frame, or with `clip` of all frames, the axis in front of the last.
    """

    spectrum: Tensor = tensor()
    filters: Tensor = tensor()
    clip: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        clip = self.clip is not None
        return (TensorType(element_of(self.spectrum), _mel_shape(self.spectrum, self.filters, clip)),)


class LogMelBackwardOp(MirOp, name="mir.log_mel_backward"):
    """
    The cotangent of `spectrum` in `mir.log_mel`, for the cotangent `dy` of its result.

    The cotangent of bands below the floor `M - 8` flows to the band with the greatest `l`, as the floor depends on it;
    ties share it evenly.
    """

    spectrum: Tensor = tensor()
    filters: Tensor = tensor()
    dy: Tensor = tensor()
    clip: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        shape = _mel_shape(self.spectrum, self.filters, self.clip is not None)
        same_element_type(self.spectrum, self.dy)
        if shape_of(self.dy) != shape:
            raise VerifyException(f"expected a cotangent of shape {dims(shape)}, got {dims(shape_of(self.dy))}")
        return (self.spectrum.type,)


def fast_length(n: int) -> int:
    """The least length from `n` on whose transform takes two products with small matrices, or a power of two."""
    if n <= 64:
        return n
    if n > 64 * 64:
        return 1 << (n - 1).bit_length()
    return min(first * -(-n // first) for first in range(-(-n // 64), 65))


class SpectralBuilder(BuilderCore):
    """Builder methods of this family. Those that are no ops follow `numpy.fft`, its factors and lengths included."""

    fft = method(FftOp)

    def fft_axis(self, x: Operand, axis: int, inverse: bool = False, norm: FftNorm | str = FftNorm.BACKWARD) -> Value:
        """`mir.fft` along any axis."""
        value = self.value(self.operand(x))
        perm = list(range(value.rank))
        axis = normalize_axis(axis, value.rank)
        perm[axis], perm[-1] = perm[-1], perm[axis]
        return self._this.transpose(self.fft(self._this.transpose(value, perm), inverse, norm), perm)

    def fftn(self, x: Operand, axes: Sequence[int] | None = None) -> Value:
        """Return the transform along `axes`, by default all, of a complex or real tensor."""
        return self._along(x, axes, False)

    def ifftn(self, x: Operand, axes: Sequence[int] | None = None) -> Value:
        """Return the inverse of `fftn`."""
        return self._along(x, axes, True)

    def fft_real(self, x: Operand, n: int | None = None) -> tuple[Value, Value]:
        """Return real and imaginary parts of all `n` bins of a real signal: `rfft` with the mirrored bins."""
        value = self.value(self.operand(x)) if n is None else self._resized(x, n)
        bins = self.op(RfftOp, value.ssa, True)
        return self._this.real(bins), self._this.imag(bins)

    def _along(self, x: Operand, axes: Sequence[int] | None, inverse: bool) -> Value:
        value = self.value(self.operand(x))
        if element_of(value.ssa) not in COMPLEXES:
            value = self._this.cast(value, complex_type(element_of(value.ssa)))
        for axis in sorted(normalize_axis(a, value.rank) for a in (range(value.rank) if axes is None else axes)):
            value = self.fft_axis(value, axis, inverse, FftNorm.FORWARD)
        return value

    def rfft(self, x: Operand, n: int | None = None) -> Value:
        """`mir.rfft` of the first `n` points along the last axis, zero-padded if there are fewer."""
        return self.op(RfftOp, (self.value(self.operand(x)) if n is None else self._resized(x, n)).ssa)

    def irfft(self, z: Operand, n: int | None = None) -> Value:
        """The inverse of `rfft` for a real result of `n` points, by default `2 (bins - 1)`."""
        value = self._signal(z)
        n = 2 * (value.shape[-1] - 1) if n is None else n
        value = self._resized(value, n // 2 + 1)
        return self.op(IrfftOp, value.ssa, n) * (1 / n)

    def _signal(self, x: Operand) -> Value:
        value = self.value(self.operand(x))
        if not value.rank:
            raise GraphError("expected an array to transform, got a scalar")
        return value

    def _resized(self, x: Operand, n: int) -> Value:
        value = self._signal(x)
        have = value.shape[-1]
        if n < 1:
            raise GraphError(f"expected at least one point, got {n}")
        if have >= n:
            return value if have == n else self._this.narrow(value, -1, 0, n)
        return self._this.concat([value, self.full((*value.shape[:-1], n - have), 0, value.dtype)], -1)

    def frames(self, x: Operand, length: int, hop: int) -> Value:
        """Return all windows of `length` elements with stride `hop`: `result[.., f, j] = x[.., f hop + j]`."""
        value = self._signal(x)
        if length < 1 or hop < 1 or value.shape[-1] < length:
            raise GraphError(f"frames: expected 1 <= length <= {value.shape[-1]} and hop >= 1, got {length} and {hop}")
        count = 1 + (value.shape[-1] - length) // hop
        blocks = -(-length // hop)
        value = self._resized(value, (count - 1 + blocks) * hop)
        rows = value.reshape(*value.shape[:-1], count - 1 + blocks, hop)
        if blocks == 1:
            return self._this.narrow(rows, -1, 0, length)
        parts: list[Operand] = []
        for block in range(blocks):
            shifted = self._this.narrow(rows, -2, block, count)
            rest = length - block * hop
            parts.append(shifted if rest >= hop else self._this.narrow(shifted, -1, 0, rest))
        return self._this.concat(parts, -1)

    def stft(self, x: Operand, frame_len: int, hop: int, window: Operand | None = None) -> Value:
        """Return the `rfft` of each frame of `x` `[.., t]` times `window`: complex `[.., frames, frame_len/2 + 1]`."""
        frames = self.frames(x, frame_len, hop)
        return self.rfft(frames if window is None else frames * window)

    def fft_conv1d(self, x: Operand, kernel: Operand) -> Value:
        """The convolution of `x` `[.., n]` and `kernel` `[.., m]` along the last axis: `[.., n + m - 1]`."""
        value, taps = (self._signal(v) for v in self.operands(x, kernel))
        length = value.shape[-1] + taps.shape[-1] - 1
        fast = fast_length(length)
        return self._resized(self.irfft(self.rfft(value, fast) * self.rfft(taps, fast), fast), length)

    def psd(self, x: Operand) -> Value:
        """`|X|^2 / n` for the transform `X` of `n` points: all bins of a complex `x`, `n/2 + 1` of a real one."""
        value = self._signal(x)
        whole = element_of(value.ssa) in COMPLEXES
        return self._this.complex_norm_sq(self.fft(value) if whole else self.rfft(value)) / float(value.shape[-1])

    def fftfreq(self, n: int, d: float = 1.0, dtype: object = "f32") -> Value:
        """
        Return the bin frequencies of `fft` for `n` points with spacing `d`; the middle bin of an even `n` is negative.
        """
        return self.constant([(k if 2 * k < n else k - n) / (n * d) for k in range(_points(n, d))], dtype)

    def rfftfreq(self, n: int, d: float = 1.0, dtype: object = "f32") -> Value:
        """Return the bin frequencies of `rfft` for `n` points with spacing `d`."""
        return self.constant([k / (n * d) for k in range(_points(n, d) // 2 + 1)], dtype)

    log_mel = method(LogMelOp)
    log_mel_backward = method(LogMelBackwardOp)


def _points(n: int, d: float) -> int:
    """`n`; GraphError unless a constant can have an element for each of so many points at such a distance."""
    if not 1 <= n <= 1 << 28 or not d:
        raise GraphError(f"expected 1 to 2^28 points at a distance that is not 0, got {n} at {d}")
    return n
