"""Rows of complex numbers and of Fourier transforms."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, dtype_of, traced
from xdsl_rlx.op_functions import function

_PARTS = {"c64": "f32", "c128": "f64"}


def _is_complex(x: Any) -> bool:
    return category(dtype_of(x)) == 3


@ROWS.add("view_as_real.default", "view_as_real_copy.default")
def _view_as_real(c: Call, self: Any) -> Any:
    return np.stack([np.real(self), np.imag(self)], -1)


@ROWS.add("view_as_complex.default", "view_as_complex_copy.default")
def _view_as_complex(c: Call, self: Any) -> Any:
    return function("complex")(self[..., 0], self[..., 1])


@ROWS.add("complex.default")
def _complex(c: Call, real: Any, imag: Any) -> Any:
    return function("complex")(*np.broadcast_arrays(traced(real), traced(imag)))


@ROWS.add("polar.default")
def _polar(c: Call, abs: Any, angle: Any) -> Any:
    return function("complex")(abs * np.cos(angle), abs * np.sin(angle))


@ROWS.add("real.default")
def _real(c: Call, self: Any) -> Any:
    return np.real(self) if _is_complex(self) else self


@ROWS.add("imag.default")
def _imag(c: Call, self: Any) -> Any:
    return np.imag(self)


@ROWS.add("_conj.default", "_conj_physical.default", "conj_physical.default", "_conj_copy.default", "conj.default")
def _conj(c: Call, self: Any) -> Any:
    return np.conj(self) if _is_complex(self) else self


@ROWS.add("resolve_conj.default", "resolve_neg.default")
def _resolved(c: Call, self: Any) -> Any:
    return self


@ROWS.add("_neg_view.default", "_neg_view_copy.default")
def _neg_view(c: Call, self: Any) -> Any:
    return -self


@ROWS.add("angle.default")
def _angle(c: Call, self: Any) -> Any:
    if _is_complex(self):
        return np.angle(self)
    x = cast(self, c.dtype)
    return np.where(x != x, x, cast(np.where(x < 0, np.pi, 0.0), c.dtype))


@ROWS.add("abs.default")
def _abs(c: Call, self: Any) -> Any:
    return self if dtype_of(self) in ("i1", "u8") else abs(self)


@ROWS.add("sgn.default")
def _sgn(c: Call, self: Any) -> Any:
    """A complex number over its length, or 0."""
    if not _is_complex(self):
        return self if c.dtype == "i1" else np.sign(self)
    length = abs(self)
    whole = np.where(length == 0, cast(1, dtype_of(length)), length)
    return function("complex")(np.real(self) / whole, np.imag(self) / whole)


def _scaled(x: Any, n: int, normalization: int) -> Any:
    """Unscaled sums with the factor of a normalisation: 1, 1 over the root of the number of points, or 1 over it."""
    if not normalization or n == 1:
        return x
    factor = cast(1 / sqrt(n) if normalization == 1 else 1 / n, _PARTS.get(dtype_of(x), dtype_of(x)))
    if not _is_complex(x):
        return x * factor
    return function("complex")(np.real(x) * factor, np.imag(x) * factor)


def _sums(x: Any, dims: Sequence[int], inverse: bool) -> Any:
    for dim in dims:
        x = function("fft_axis")(x, dim % np.ndim(x), inverse)
    return x


@ROWS.add("_fft_c2c.default")
def _c2c(c: Call, self: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    n = prod(self.shape[one] for one in dim)
    return _scaled(_sums(self, dim, not forward), n, normalization)


@ROWS.add("_fft_r2c.default")
def _r2c(c: Call, self: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    n = prod(self.shape[one] for one in dim)
    if onesided:
        *others, last = dim
        found = _sums(np.fft.rfft(self, axis=last), others, False)
    else:
        found = _sums(cast(self, c.dtype), dim, False)
    return _scaled(found, n, normalization)


@ROWS.add("_fft_c2r.default")
def _c2r(c: Call, self: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    *others, last = dim
    n = prod(self.shape[one] for one in others) * last_dim_size
    found = np.fft.irfft(_sums(self, others, True), last_dim_size, axis=last, norm="forward")
    return _scaled(found, n, normalization)
