"""Fourier transforms and log-mel features."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

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

from xdsl_rlx.dialects.mir.complex import complex_type, part_type
from xdsl_rlx.dialects.mir.compositions import resized, signal
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Flag, Integer, Tensor, Word, flag, integer, tensor, word
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    check_element,
    dims,
    element_of,
    same_element_type,
    shape_of,
)

if TYPE_CHECKING:
    pass

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


class SpectralBuilder(BuilderCore):
    """Builder methods of this family, with the factors and lengths of `numpy.fft`."""

    fft = method(FftOp)

    def rfft(self, x: Operand, n: int | None = None) -> Value:
        """`mir.rfft` of the first `n` points along the last axis, zero-padded if there are fewer."""
        return self.op(RfftOp, (self.value(self.operand(x)) if n is None else resized(self._this, x, n)).ssa)

    def irfft(self, z: Operand, n: int | None = None) -> Value:
        """The inverse of `rfft` for a real result of `n` points, by default `2 (bins - 1)`."""
        value = signal(self._this, z)
        n = 2 * (value.shape[-1] - 1) if n is None else n
        value = resized(self._this, value, n // 2 + 1)
        return self.op(IrfftOp, value.ssa, n) * (1 / n)

    log_mel = method(LogMelOp)
    log_mel_backward = method(LogMelBackwardOp)
