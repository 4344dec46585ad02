"""Whether a result is NumPy's: structure, element type, shape, and numbers as near as a row of the table says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from fuzz.numpy_draws import Call, Entry, Near

_WIDER = {
    **dict.fromkeys(("float16", "float32"), np.float64),
    **dict.fromkeys(("float64",), np.longdouble),
    **dict.fromkeys(("complex64",), np.complex128),
    **dict.fromkeys(("complex128",), np.clongdouble),
}


def leaves(found: Any) -> list[Any]:
    if isinstance(found, tuple | list):
        return [leaf for part in found for leaf in leaves(part)]
    return [found]


def difference(call: Call, entry: Entry, found: Any, expected: Any) -> str | None:
    """How a result differs from NumPy's; None if it does not."""
    ours, theirs = leaves(entry.seen(found)), leaves(entry.seen(expected))
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    exact = entry.near is Near.EXACT
    wide = None if exact or not (entry.wider or _halves(call)) else _of(call, entry, wide=True)
    sizes = _of(call, entry, sizes=True) if entry.near is Near.SUMS else None
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(other, np.dtype):
            if np.dtype(one) != other:
                return f"dtype {one} for {other}"
            continue
        x, y = np.asarray(one), np.asarray(other)
        if (x.dtype, x.shape) != (_dtype(y), y.shape):
            return f"{x.dtype}{list(x.shape)} for {y.dtype}{list(y.shape)}"
        wrong = _wrong(entry, call, x, y, _at(wide, index, y), _at(sizes, index, y))
        if wrong.any():
            count, at = int(wrong.sum()), tuple(int(n) for n in np.argwhere(wrong)[0])
            return f"{count} of {wrong.size}, at {list(at)} {x[at]!r} for {y[at]!r}"
    return None


def _dtype(y: np.ndarray) -> np.dtype[Any]:
    """The element type that a result has here: there is no u64."""
    return np.dtype(np.int64) if y.dtype == np.uint64 else y.dtype


def _halves(call: Call) -> bool:
    """Whether NumPy rounds to f16 between steps, where one kernel does not."""
    return any(one.dtype == np.float16 for one in call.arrays())


def _at(every: list[Any] | None, index: int, like: np.ndarray) -> np.ndarray | None:
    if every is None or index >= len(every) or np.shape(every[index]) != like.shape:
        return None
    return np.asarray(every[index])


def _of(call: Call, entry: Entry, wide: bool = False, sizes: bool = False) -> list[Any] | None:
    """NumPy's results for the same numbers in a wider type, or for their absolute values."""

    def other(x: np.ndarray) -> np.ndarray:
        if wide:
            return x.astype(_WIDER.get(x.dtype.name, x.dtype))
        return np.abs(x).astype("f8") if x.dtype.kind in "fc" else np.abs(x.astype("f8")) if x.dtype.kind != "b" else x

    kwargs = {key: one for key, one in call.kwargs.items() if key != "dtype"}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return leaves(entry.seen(Call(call.name, call.args, kwargs).run(other)))
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return None


def _wrong(
    entry: Entry, call: Call, x: np.ndarray, y: np.ndarray, wide: np.ndarray | None, sizes: np.ndarray | None
) -> np.ndarray:
    """Where elements are too far from NumPy's."""
    if y.dtype.kind == "c":
        return _wrong_complex(entry, call, x, y, wide, sizes)
    with np.errstate(all="ignore"):
        same = (x == y) | ((x != x) & (y != y))
    if y.dtype.kind != "f":
        return ~same
    signs = (y == 0) & (x == 0) & (np.signbit(x) != np.signbit(y)) & entry.zeros
    if entry.near in (Near.NORM, Near.SUMS):
        signs = np.zeros_like(signs)
    if entry.near is Near.EXACT:
        return ~same | signs
    with np.errstate(all="ignore"):
        bound, far = _bound(entry, call, y, sizes), x.astype(np.longdouble)
        near = np.isfinite(y) & (abs(far - y) <= bound)
        if wide is not None and wide.dtype.kind == "f":
            near |= np.isfinite(wide) & (abs(far - wide) <= bound)
            # what overflows in the result's type only
            near |= x == wide.astype(x.dtype)
    return ~(same | near) | signs


def _bound(entry: Entry, call: Call, y: np.ndarray, sizes: np.ndarray | None) -> Any:
    if entry.near is Near.ULPS:
        return max(entry.ulps, 0.51) * np.spacing(abs(y)) if _halves(call) else entry.ulps * np.spacing(abs(y))
    info = np.finfo(y.dtype)
    eps, least = float(info.eps), float(info.smallest_subnormal)
    if "dtype" not in call.kwargs or call.name.endswith("space"):
        eps = max([eps, *(float(np.finfo(one.dtype).eps) for one in call.arrays() if one.dtype.kind in "fc")])
    if entry.near is Near.SUMS:
        reach = abs(y) if sizes is None else np.asarray(sizes, "f8")
        return entry.ulps * 4 * (eps * np.where(np.isfinite(reach), reach, np.inf) + least)
    finite = np.abs(y[np.isfinite(y)]).astype("f8")
    reach = max([float(finite.max(initial=0)), *_reaches(call)])
    return entry.ulps * eps * max(reach, 1e-30)


def _reaches(call: Call) -> list[float]:
    """The largest finite number of each operand that has floats."""
    found: list[float] = []
    for one in call.arrays():
        with np.errstate(all="ignore"):
            numbers = np.abs(one).astype("f8") if one.dtype.kind != "b" else one.astype("f8")
        found.append(float(numbers[np.isfinite(numbers)].max(initial=0)))
    return found


def _wrong_complex(
    entry: Entry, call: Call, x: np.ndarray, y: np.ndarray, wide: np.ndarray | None, sizes: np.ndarray | None
) -> np.ndarray:
    """As a distance in the plane; of what is not finite, whether it is so in both."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(y)
        same = (x == y) | (~finite & ~np.isfinite(x))
        if entry.near is Near.EXACT:
            return ~same
        bound = _bound(entry, call, abs(y), sizes) * ((entry.complex_ulps or entry.ulps) / max(entry.ulps, 1))
        near = finite & (abs(x.astype(np.clongdouble) - y) <= bound)
        if wide is not None:
            near |= abs(x.astype(np.clongdouble) - wide) <= entry.ulps * np.spacing(abs(y))
    return ~(same | near)
