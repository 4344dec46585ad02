"""Discrete Fourier transforms of any length as products with small constant matrices.

A transform is a matrix product, and one of `n1 n2` points is two, with a factor per element in between (Cooley and
Tukey). BLAS runs the products, fusion puts the factors behind the first, and derivatives, batching and both emitters
need nothing new. Lengths whose prime factors are all large go by a convolution of a fast length (Bluestein).
"""

from __future__ import annotations

from math import cos, pi, prod, sin
from typing import TYPE_CHECKING, Any

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, Any]

APART, CROWDED = 512, 1.3
"""Points whose multiples, as lengths of transforms, take a third longer than other lengths."""

LARGEST = 64
"""Points of the largest transform that is one product."""


def transform(b: MirBuilder, x: Value, sign: int, factor: float = 1.0, keep: int | None = None) -> Value:
    """
    `result[.., k] = factor sum_j x[.., j] e^(sign 2 pi i jk/n)`, for `k < keep` (by default all `n`).

    `x` is `[.., 2, n]`, real and imaginary parts, or `[.., 1, n]`, real numbers; the result `[.., 2, keep]`.
    """
    *batch, parts, n = x.shape
    keep = n if keep is None else keep
    flat = b.reshape(x, (prod(batch), parts, n))
    return b.reshape(_transform(b, flat, sign, factor, keep), (*batch, 2, keep))


def _transform(b: MirBuilder, x: Value, sign: int, factor: float, keep: int) -> Value:
    frames, parts, n = x.shape
    if n <= LARGEST:
        matrix = _matrix(b, sign, n, keep, factor, parts, x.dtype)
        rows = b.reshape(x, (frames, parts * n))
        return b.reshape(b.matmul(rows, b.transpose(matrix, (1, 0))), (frames, 2, keep))
    split = split_of(n)
    if split is None:
        return _bluestein(b, x, sign, factor, keep)
    first, second = split
    columns = _columns(b, x, sign, first, second)
    last = (keep - 1) // first + 1
    if second <= LARGEST:
        matrix = _matrix(b, sign, second, last, factor, 2, x.dtype)
        rows = b.reshape(columns, (frames, first, 2 * second))
        done = b.matmul(matrix, b.transpose(rows, (0, 2, 1)))
    else:
        rows = b.reshape(columns, (frames * first, 2, second))
        inner = b.reshape(_transform(b, rows, sign, factor, last), (frames, first, 2, last))
        done = b.transpose(inner, (0, 2, 3, 1))
    done = b.reshape(done, (frames, 2, last * first))
    return done if keep == last * first else b.narrow(done, -1, 0, keep)


def split_of(n: int) -> tuple[int, int] | None:
    """
    Two factors of `n`, the first at most `LARGEST`; None if there is none.

    Both are, and as equal as can be, where that is possible; else the first is as large as possible.
    """
    firsts = [d for d in range(2, LARGEST + 1) if n % d == 0]
    both = [d for d in firsts if n // d <= LARGEST]
    if both:
        first = min(both, key=lambda d: (d + n // d, d))
        return first, n // first
    return (firsts[-1], n // firsts[-1]) if firsts else None


def unit(angles: Numbers) -> Numbers:
    """Return `e^(i angle)`, by the sine and cosine of C: those of NumPy differ between processors."""
    import numpy as np

    flat: list[float] = angles.ravel().tolist()
    found = np.empty(angles.shape, np.complex128)
    found.real, found.imag = (np.reshape([*map(part, flat)], angles.shape) for part in (cos, sin))
    return found


def _roots(sign: int, numerators: Numbers, n: int) -> Numbers:
    """Return `e^(sign 2 pi i numerator/n)`, of angles reduced exactly."""
    import numpy as np

    turns = numerators % n
    return unit(sign * 2 * pi * np.where(8 * turns > 4 * n, turns - n, turns) / n)


def _products(rows: int, columns: int) -> Numbers:
    """Return `row * column` for each place of a matrix."""
    import numpy as np

    return np.outer(np.arange(rows), np.arange(columns))


def _real_matrix(matrix: Numbers, parts: int, part_inner: bool) -> Numbers:
    """
    A complex matrix as one that acts on parts: of a column per part and element, in that order.

    The rows are in the same order, or with `part_inner` those of one element stand together.
    """
    import numpy as np

    re = np.concatenate([matrix.real, -matrix.imag], 1)[:, : parts * matrix.shape[1]]
    im = np.concatenate([matrix.imag, matrix.real], 1)[:, : parts * matrix.shape[1]]
    return np.stack([re, im], 1).reshape(-1, re.shape[1]) if part_inner else np.concatenate([re, im])


def _matrix(b: MirBuilder, sign: int, n: int, keep: int, factor: float, parts: int, dtype: object) -> Value:
    """The transform of `n` points as a matrix `[2 keep, parts n]`, by parts."""
    return b.constant(_real_matrix(factor * _roots(sign, _products(keep, n), n), parts, False), dtype)


def _columns(b: MirBuilder, x: Value, sign: int, first: int, second: int) -> Value:
    """
    `result[f, k, :, j] = e^(sign 2 pi i jk/n) sum_l x[f, :, l second + j] e^(sign 2 pi i lk/first)`.

    The result is `[f, first, 2, second]`.
    The multiplication by a number `c + i s` per element is `c y + s i y`, with a second product for `i y`.
    """
    frames, parts, n = x.shape
    matrix = _roots(sign, _products(first, first), first)
    columns = b.reshape(x, (frames, parts * first, second))
    plain, quarter = (
        b.matmul(b.constant(_real_matrix(m, parts, True), x.dtype), columns) for m in (matrix, 1j * matrix)
    )
    factors = _roots(sign, _products(first, second), n).repeat(2, 0)
    cosines, sines = b.constant(factors.real, x.dtype), b.constant(factors.imag, x.dtype)
    return b.reshape(plain * cosines + quarter * sines, (frames, first, 2, second))


def _times(b: MirBuilder, x: Value, numbers: Numbers) -> Value:
    """`x` `[f, 1 or 2, n]` times a complex number per element: `[f, 2, n]`."""
    cosines, sines = b.constant(numbers.real, x.dtype), b.constant(numbers.imag, x.dtype)
    re = b.narrow(x, 1, 0, 1)
    if x.shape[1] == 1:
        return b.concat([re * cosines, re * sines], 1)
    im = b.narrow(x, 1, 1, 1)
    return b.concat([re * cosines - im * sines, re * sines + im * cosines], 1)


def _bluestein(b: MirBuilder, x: Value, sign: int, factor: float, keep: int) -> Value:
    """`jk = (j^2 + k^2 - (k - j)^2) / 2`: a convolution with `e^(-sign pi i j^2/n)`, by transforms of a fast length."""
    import numpy as np

    frames, _, n = x.shape
    length = fast_length(2 * n - 1)
    chirp, spectrum = np.split(chirp_and_spectrum(n, length, sign), [n])
    padded = b.concat([_times(b, x, chirp), b.full((frames, 2, length - n), 0, x.dtype)], 2)
    product = _times(b, _whole(b, padded, False), spectrum)
    back = b.narrow(_whole(b, product, True), 2, 0, keep)
    return _times(b, back, factor * chirp[:keep])


def chirp_and_spectrum(n: int, length: int, sign: int = -1) -> Numbers:
    """
    Return `e^(sign pi i j^2/n)` for `j < n`, and the transform, over `length`, of what Bluestein's algorithm convolves.
    """
    import numpy as np

    chirp = _roots(sign, np.arange(n) ** 2, 2 * n)
    kernel = np.zeros(length, np.complex128)
    kernel[:n] = kernel[-np.arange(n)] = chirp.conj()
    return np.concatenate([chirp, np.fft.fft(kernel) / length])


def needs_convolution(n: int) -> bool:
    """Whether a transform is no products with small matrices."""
    if n <= LARGEST:
        return False
    split = split_of(n)
    return split is None or needs_convolution(split[1])


def _whole(b: MirBuilder, x: Value, inverse: bool) -> Value:
    """The transform of `[f, 2, n]` as an op."""
    frames, _, n = x.shape
    return b.reshape(b.fft(b.reshape(x, (frames, 2 * n)), inverse), x.shape)


def fast_length(least: int) -> int:
    """
    The length of at least so many points that a transform takes the least time for: points times factors to go by.

    Of a multiple of `APART` points, the frames of a block fall on the same places of a cache.
    """
    most, found = 2 * least, list[tuple[float, int]]()
    for fives, five in enumerate(_powers(5, most)):
        for threes, three in enumerate(_powers(3, most // five)):
            for twos, two in enumerate(_powers(2, most // (five * three))):
                n = five * three * two
                if n >= least:
                    # two twos are one factor
                    steps = fives + threes + (twos + 1) // 2
                    found.append((steps * n * (CROWDED if n % APART == 0 else 1), n))
    return min(found)[1]


def _powers(base: int, most: int) -> list[int]:
    """1, the base, its square and so on, up to `most`."""
    found = [1]
    while found[-1] * base <= most:
        found.append(found[-1] * base)
    return found
