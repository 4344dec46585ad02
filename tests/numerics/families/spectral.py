"""Fourier transforms and log-mel features."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import Build, Operand, Sample, Sampler, complex_normal, normal
from oracle import Array, widen

from xdsl_rlx.dialects.mir import spectral
from xdsl_rlx.dialects.mir.spectral import FftNorm

NORMS = tuple(FftNorm)
LENGTHS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((), 1),
    ((3,), 2),
    ((2, 3), 3),
    ((9,), 4),
    ((16,), 12),
    ((2,), 15),
    ((9,), 10),
    ((2,), 17),
    ((2,), 34),
)
"""Batches and numbers of points: even and odd, with small factors and without."""


def _ffts() -> list[Sample]:
    """Lengths whose factors are small, that are one product, two, a transform of another length; blocks half full."""
    rows: list[Sample] = []
    op = spectral.FftOp
    for number, (batch, n) in enumerate(
        (
            ((), 1),
            ((3,), 2),
            ((2, 3), 3),
            ((9,), 4),
            ((), 5),
            ((16,), 12),
            ((2,), 15),
            ((11,), 16),
            ((2,), 17),
            ((0,), 4),
        )
    ):
        norm, inverse = NORMS[number % 3], number % 2 == 1
        build: Build = lambda m, x, i=inverse, s=norm: m.fft(x, i, s)  # noqa: E731
        name = f"fft-{norm}{'-inverse' if inverse else ''}-{'x'.join(map(str, (*batch, n)))}"
        pair, block = Operand((*batch, n), complex_normal(), "complex"), Operand((*batch, 2 * n))
        rows.append(Sample(f"{name}-complex", op, build, (pair,), differentiable=(0,), tol=16))
        rows.append(Sample(f"{name}-parts", op, build, (block,), differentiable=(0,), tol=16))
    for n, why in ((13 * 11, "large-radices"), (68, "split"), (67, "prime"), (268, "split-prime"), (400, "frame")):
        build = lambda m, x: m.fft(x)  # noqa: E731
        operands = (Operand((2, 2 * n)),)
        rows.append(Sample(f"fft-{why}", op, build, operands, differentiable=(0,) if n < 100 else (), tol=32))
    build = lambda m, x: m.fft(m.conjugate(m.fft(x)) * 2j, inverse=True)  # noqa: E731
    rows.append(Sample("fft-twice", op, build, (Operand((3, 8), complex_normal(), "complex"),), tol=32))
    return rows


def _rffts() -> list[Sample]:
    rows: list[Sample] = []
    for batch, n in LENGTHS:
        build: Build = lambda m, x: m.rfft(x)  # noqa: E731
        name = f"rfft-{'x'.join(map(str, (*batch, n)))}"
        rows.append(Sample(name, spectral.RfftOp, build, (Operand((*batch, n)),), differentiable=(0,), tol=16))
        build = lambda m, x: m.op(spectral.RfftOp, m.operand(x), True)  # noqa: E731
        name = f"{name}-full"
        rows.append(Sample(name, spectral.RfftOp, build, (Operand((*batch, n)),), differentiable=(0,), tol=16))
    return rows


def _irffts() -> list[Sample]:
    rows: list[Sample] = []
    for batch, n in LENGTHS:
        build: Build = lambda m, z, n=n: m.irfft(z, n) * float(n)  # noqa: E731
        name = f"irfft-{'x'.join(map(str, (*batch, n)))}"
        operands = (Operand((*batch, n // 2 + 1), complex_normal(), "complex"),)
        rows.append(Sample(name, spectral.IrfftOp, build, operands, differentiable=(0,), tol=16))
        build = lambda m, z, n=n: m.op(spectral.IrfftOp, m.operand(z), n, True)  # noqa: E731
        operands = (Operand((*batch, n), complex_normal(), "complex"),)
        rows.append(Sample(f"{name}-full", spectral.IrfftOp, build, operands, differentiable=(0,), tol=16))
    return rows


def _composed() -> list[Sample]:
    """Builder methods, as samples of the ops that they are made of."""
    z: Sampler = complex_normal()
    fft, rfft, irfft = spectral.FftOp, spectral.RfftOp, spectral.IrfftOp
    pair = (Operand((3, 4), z, "complex"),)
    return [
        Sample("fft_axis", fft, lambda m, x: m.fft_axis(x, 0), pair, differentiable=(0,), tol=16),
        Sample("fftn", fft, lambda m, x: m.fftn(x), (Operand((3, 4)),), differentiable=(0,), tol=16),
        Sample("ifftn", fft, lambda m, x: m.ifftn(x, (0, -1)), pair, differentiable=(0,), tol=16),
        Sample("irfft", irfft, lambda m, x: m.irfft(x), pair, differentiable=(0,), tol=16),
        Sample("irfft-longer", irfft, lambda m, x: m.irfft(x, 7), pair, differentiable=(0,), tol=16),
        Sample("rfft-longer", rfft, lambda m, x: m.rfft(x, 9), (Operand((3, 4)),), differentiable=(0,), tol=16),
        Sample("rfft-shorter", rfft, lambda m, x: m.rfft(x, 3), (Operand((3, 4)),), differentiable=(0,), tol=16),
        Sample(
            "stft",
            rfft,
            lambda m, x, w: m.stft(x, 6, 4, w),
            (Operand((2, 19)), Operand((6,))),
            differentiable=(0, 1),
            tol=16,
        ),
        Sample(
            "fft_conv1d",
            rfft,
            lambda m, x, k: m.fft_conv1d(x, k),
            (Operand((2, 9)), Operand((4,))),
            differentiable=(0, 1),
            tol=32,
        ),
        Sample("psd", rfft, lambda m, x: m.psd(x), (Operand((2, 9)),), differentiable=(0,), tol=32),
        Sample("psd-complex", fft, lambda m, x: m.psd(x), pair, differentiable=(0,), tol=32),
    ]


def _bands(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Filters, some of them so weak that their bands are below the floor."""
    weak = np.where(np.arange(shape[0]) % 3 == 1, 1e-9, 1.0)[:, None]
    return np.abs(rng.standard_normal(shape)) * weak


def _mels() -> list[Sample]:
    rows: list[Sample] = []
    for batch, clip in (((), False), ((4,), False), ((4,), True), ((2, 3), True), ((2, 3), False)):
        operands = (Operand((*batch, 16)), Operand((5, 5), _bands))
        name = f"-{'x'.join(map(str, batch)) or 'one'}{'-clip' if clip else ''}"
        build: Build = lambda m, s, f, c=clip: m.log_mel(s, f, c)  # noqa: E731
        rows.append(Sample(f"log_mel{name}", spectral.LogMelOp, build, operands, differentiable=(0,), tol=32))
        positive = (operands[0], Operand((5, 5), lambda rng, n: rng.uniform(0.1, 1, n)))
        rows.append(Sample(f"log_mel-filters{name}", spectral.LogMelOp, build, positive, differentiable=(0, 1), tol=32))
        build = lambda m, s, f, g, c=clip: m.log_mel_backward(s, f, g, c)  # noqa: E731
        op, dy = spectral.LogMelBackwardOp, Operand((*batch, 5))
        rows.append(Sample(f"log_mel_backward{name}", op, build, (*operands, dy), differentiable=(0, 2), tol=64))
        every, of = (*positive, dy), f"log_mel_backward-filters{name}"
        rows.append(Sample(of, op, build, every, differentiable=(0, 1, 2), tol=64))
    quiet = (Operand((3, 12), normal(0.0)), Operand((2, 4), _bands))
    rows.append(Sample("log_mel-silence", spectral.LogMelOp, lambda m, s, f: m.log_mel(s, f), quiet))
    return rows


def _complex_of(np_: Any, op: spectral.FftOp, x: Any) -> tuple[Any, bool]:
    if np_.iscomplexobj(x):
        return x, True
    return x[..., : op.points] + 1j * x[..., op.points :], False


def _fft(np_: Any, op: spectral.FftOp, x: Any) -> Any:
    z, whole = _complex_of(np_, op, x)
    n = op.points
    y = np_.fft.fft(z) if op.inverse is None else np_.fft.ifft(z) * n
    scale = {FftNorm.BACKWARD: 1.0, FftNorm.ORTHO: n**-0.5, FftNorm.FORWARD: 1.0 if op.inverse is None else 1 / n}
    y = y * scale[op.norm.data]
    return y if whole else np_.concatenate([y.real, y.imag], axis=-1)


def _oracle_fft(op: spectral.FftOp, x: Array) -> Array:
    return _fft(np, op, widen(x)) if x.size else widen(x)


def _irfft(z: Array, n: int, full: bool) -> Array:
    return (np.fft.ifft(z).real if full else np.fft.irfft(z, n)) * n


def _jax_irfft(z: Any, n: int) -> Any:
    """By the matrix: JAX does not differentiate its own in bins whose imaginary part is not read."""
    angle = 2 * np.pi * np.outer(np.arange(n // 2 + 1), np.arange(n)) / n
    twice = np.where(2 * np.arange(n // 2 + 1)[:, None] % n == 0, 1.0, 2.0)
    return (z @ (twice * np.exp(1j * angle))).real


def _log_mel(np_: Any, op: spectral.LogMelOp | spectral.LogMelBackwardOp, spectrum: Any, filters: Any) -> Any:
    bins, half = filters.shape[1], spectrum.shape[-1] // 2
    power = spectrum[..., :bins] ** 2 + spectrum[..., half : half + bins] ** 2
    level = np_.log10(np_.maximum(power @ filters.T, 1e-10))
    axes = (-2, -1) if op.clip is not None else (-1,)
    return (np_.maximum(level, np_.max(level, axis=axes, keepdims=True) - 8) + 4) / 4


def _jax_log_mel_backward(op: spectral.LogMelBackwardOp, spectrum: Any, filters: Any, dy: Any) -> Any:
    return jax.vjp(lambda x: _log_mel(jnp, op, x, filters), spectrum)[1](dy)[0]


def _log_mel_backward(op: spectral.LogMelBackwardOp, spectrum: Array, filters: Array, dy: Array) -> Array:
    """By hand, without ties other than of the greatest level, which share evenly."""
    spectrum, filters, dy = widen(spectrum), widen(filters), widen(dy)
    bins, half = filters.shape[1], spectrum.shape[-1] // 2
    re, im = spectrum[..., :bins], spectrum[..., half : half + bins]
    energy = (re**2 + im**2) @ filters.T
    level = np.log10(np.maximum(energy, 1e-10))
    axes = (-2, -1) if op.clip is not None else (-1,)
    greatest = np.max(level, axis=axes, keepdims=True)
    kept = np.where(level > greatest - 8, dy / 4, 0.0)
    top = level == greatest
    lost = np.sum(dy / 4 - kept, axis=axes, keepdims=True) / np.sum(top, axis=axes, keepdims=True)
    d_power = np.where(energy > 1e-10, (kept + top * lost) / (energy * np.log(10)), 0.0) @ filters
    result = np.zeros_like(spectrum)
    result[..., :bins], result[..., half : half + bins] = 2 * re * d_power, 2 * im * d_power
    return result


SAMPLES = (*_ffts(), *_rffts(), *_irffts(), *_composed(), *_mels())
ORACLE = {
    spectral.FftOp: _oracle_fft,
    spectral.RfftOp: lambda op, x: (np.fft.rfft if op.full is None else np.fft.fft)(widen(x)),
    spectral.IrfftOp: lambda op, z: _irfft(widen(z), op.points.value.data, op.full is not None),
    spectral.LogMelOp: lambda op, spectrum, filters: _log_mel(np, op, widen(spectrum), widen(filters)),
    spectral.LogMelBackwardOp: _log_mel_backward,
}
JAX = {
    spectral.FftOp: lambda op, x: _fft(jnp, op, x),
    spectral.RfftOp: lambda op, x: (jnp.fft.rfft if op.full is None else jnp.fft.fft)(x),
    spectral.IrfftOp: lambda op, z: (
        _jax_irfft(z, op.points.value.data) if op.full is None else jnp.fft.ifft(z).real * op.points.value.data
    ),
    spectral.LogMelOp: lambda op, spectrum, filters: _log_mel(jnp, op, spectrum, filters),
    spectral.LogMelBackwardOp: _jax_log_mel_backward,
}
