"""Rows of Fourier transforms and log-mel features. How a transform is computed is in `dft.py`."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod
from typing import NamedTuple

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.spectral import FftNorm, FftOp, IrfftOp, LogMelBackwardOp, LogMelOp, RfftOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.transforms.rules.dft import transform
from xdsl_rlx.transforms.rules.rows import decompose, leading, linear
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent

LEAST_ENERGY = 1e-10
DECADES = 8.0
"""The floor of log-mel features is that far below the greatest."""


def _fft_transpose(op: FftOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The adjoint, `s` times the conjugate matrix: the transform in the other direction."""
    if op.norm.data is FftNorm.ORTHO:
        return [b.fft(g, op.inverse is None, FftNorm.ORTHO)]
    other = b.fft(g, op.inverse is None)
    return [other if op.factor == 1.0 else other * op.factor]


linear(FftOp, _fft_transpose)
leading(FftOp)


@decompose(FftOp)
def fft_decompose(op: FftOp, b: MirBuilder) -> Sequence[Value]:
    sign, n = -1 if op.inverse is None else 1, op.points
    x = b.value(op.operand)
    if element_of(op.operand) not in COMPLEXES:
        batch = x.shape[:-1]
        done = transform(b, b.reshape(x, (*batch, 2, n)), sign, op.factor)
        return [b.reshape(done, x.shape)]
    done = transform(b, _stacked(b, b.real(x), b.imag(x)), sign, op.factor)
    return [_joined(b, done)]


def _stacked(b: MirBuilder, re: Value, im: Value) -> Value:
    """Both parts `[.., n]` as `[.., 2, n]`."""
    shape = (*re.shape[:-1], 1, re.shape[-1])
    return b.concat([b.reshape(re, shape), b.reshape(im, shape)], -2)


def _joined(b: MirBuilder, x: Value) -> Value:
    """The complex numbers whose parts are `[.., 2, n]`."""
    shape = (*x.shape[:-2], x.shape[-1])
    re, im = (b.reshape(b.narrow(x, -2, part, 1), shape) for part in (0, 1))
    return b.complex(re, im)


leading(RfftOp)


@VJP.rule(RfftOp)
def rfft_vjp(op: RfftOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`sum_k Re(g[k] e^(2 pi i jk/n))`: the inverse transform, which counts bins with a conjugate twice, or of all."""
    n = shape_of(op.operand)[-1]
    if op.full is not None:
        return [b.op(IrfftOp, g.ssa, n, True)]
    return [b.op(IrfftOp, _weighted(b, g, n, 0.5).ssa, n)]


def _weights(n: int, factor: float) -> list[float]:
    return [1.0 if 2 * k in (0, n) else factor for k in range(n // 2 + 1)]


def _weighted(b: MirBuilder, z: Value, n: int, factor: float) -> Value:
    """The bins of a real signal of `n` points, those that have a conjugate among the others times `factor`."""
    re, im = b.real(z), b.imag(z)
    by = b.constant(_weights(n, factor), re.dtype)
    return b.complex(re * by, im * by)


def _irfft_transpose(op: IrfftOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    if op.full is not None:
        return [b.op(RfftOp, g.ssa, True)]
    return [_weighted(b, b.rfft(g), op.points.value.data, 2.0)]


linear(IrfftOp, _irfft_transpose)
leading(IrfftOp)


@decompose(IrfftOp)
def irfft_decompose(op: IrfftOp, b: MirBuilder) -> Sequence[Value]:
    """The real parts of the transform of bins that have a conjugate taken twice, and zeros for those."""
    n = op.points.value.data
    re, im = b.real(op.operand), b.imag(op.operand)
    if op.full is not None:
        return [b.reshape(b.narrow(transform(b, _stacked(b, re, im), 1), -2, 0, 1), shape_of(op.result))]
    weights = _weights(n, 2.0)
    by, rest = b.constant(weights, re.dtype), n - len(weights)
    zeros = [b.full((*re.shape[:-1], rest), 0, re.dtype)] if rest else []
    whole = _stacked(b, b.concat([re * by, *zeros], -1), b.concat([im * by, *zeros], -1))
    return [b.reshape(b.narrow(transform(b, whole, 1), -2, 0, 1), shape_of(op.result))]


@JVP.rule(RfftOp)
def rfft_jvp(op: RfftOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [b.op(RfftOp, t.ssa, op.full is not None)]


@decompose(RfftOp)
def rfft_decompose(op: RfftOp, b: MirBuilder) -> Sequence[Value]:
    x = b.value(op.operand)
    keep = shape_of(op.result)[-1]
    return [_joined(b, transform(b, b.reshape(x, (*x.shape[:-1], 1, x.shape[-1])), -1, keep=keep))]


class Mel(NamedTuple):
    """Parts and squared magnitudes of spectra `[frames, n/2 + 1]`; energies and their logarithms `[.., bands]`."""

    re: Value
    im: Value
    power: Value
    energy: Value
    level: Value
    axes: tuple[int, ...]
    """The axes over which the greatest level is taken."""


def _mel(op: LogMelOp | LogMelBackwardOp, b: MirBuilder) -> Mel:
    spectrum, filters = b.value(op.spectrum), b.value(op.filters)
    *batch, numbers = spectrum.shape
    frames = b.reshape(spectrum, (prod(batch), numbers))
    bins = filters.shape[1]
    re, im = b.narrow(frames, 1, 0, bins), b.narrow(frames, 1, numbers // 2, bins)
    power = re * re + im * im
    energy = b.reshape(power @ filters.T, (*batch, filters.shape[0]))
    level = b.log(b.max(energy, LEAST_ENERGY)) * (1 / log(10))
    rank = level.rank
    return Mel(re, im, power, energy, level, (rank - 2, rank - 1) if op.clip is not None else (rank - 1,))


@decompose(LogMelOp)
def log_mel_decompose(op: LogMelOp, b: MirBuilder) -> Sequence[Value]:
    mel = _mel(op, b)
    floor = b.reduce_max(mel.level, mel.axes, keep_dim=True) - DECADES
    return [(b.max(mel.level, floor) + 4.0) * 0.25]


def _energy_cotangent(b: MirBuilder, mel: Mel, dy: Value) -> Value:
    """The cotangent of the energies: also through the floor, which is the greatest level less 8."""
    greatest = b.reduce_max(mel.level, mel.axes, keep_dim=True)
    floor = greatest - DECADES
    g = dy * 0.25
    above = b.where(mel.level > floor, g, b.where(b.eq(mel.level, floor), g * 0.5, 0.0))
    top = b.cast(b.eq(mel.level, greatest), dy.dtype)
    below = b.reduce_sum(g - above, mel.axes, keep_dim=True) / b.reduce_sum(top, mel.axes, keep_dim=True)
    d_level = above + top * below
    least = b.where(b.eq(mel.energy, LEAST_ENERGY), 0.5, b.cast(mel.energy > LEAST_ENERGY, dy.dtype))
    return d_level * least / (b.max(mel.energy, LEAST_ENERGY) * log(10))


@VJP.rule(LogMelOp)
def log_mel_vjp(op: LogMelOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    def filters() -> Value:
        mel = _mel(op, b)
        d_energy = _energy_cotangent(b, mel, g)
        rows = b.reshape(d_energy, (mel.power.shape[0], d_energy.shape[-1]))
        return rows.T @ mel.power

    return [lambda: b.log_mel_backward(op.spectrum, op.filters, g, op.clip is not None), filters]


@decompose(LogMelBackwardOp)
def log_mel_backward_decompose(op: LogMelBackwardOp, b: MirBuilder) -> Sequence[Value]:
    mel = _mel(op, b)
    d_energy = _energy_cotangent(b, mel, b.value(op.dy))
    frames, bins = mel.power.shape
    twice = (b.reshape(d_energy, (frames, d_energy.shape[-1])) @ op.filters) * 2.0
    rest = shape_of(op.spectrum)[-1] // 2 - bins
    zeros = [b.full((frames, rest), 0, twice.dtype)] if rest else []
    parts = [mel.re * twice, *zeros, mel.im * twice, *zeros]
    return [b.reshape(b.concat(parts, 1), shape_of(op.spectrum))]
