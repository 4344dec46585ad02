"""Calls of reductions, running sums, statistics, and functions of samples along a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.numpy_draws import Arguments, Draw, Entry, Near

TABLE: dict[str, Entry] = {}

_FLOATS = ("float16", "float32", "float64")


def _mask(d: Draw, shape: tuple[int, ...]) -> np.ndarray:
    return d.array("bool", d.of((shape, shape, shape[-1:])))


def _sum_type(d: Draw, x: np.ndarray) -> Any:
    """An element type that a sum may be computed in."""
    if x.dtype.kind == "c":
        return d.of(("complex64", "complex128"))
    return d.of((*_FLOATS, "complex128", *(("int32", "int64", int, "int8") if x.dtype.kind in "biu" else ())))


def _sums(d: Draw) -> Arguments:
    x = d.any("biufffc")
    kwargs = d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))
    if d.chance(0.25):
        kwargs["dtype"] = _sum_type(d, x)
    if d.chance(0.25):
        kwargs["initial"] = d.of((0, 2, 3.5, 1)) if x.dtype.kind in "fc" else d.of((0, 2))
    if d.chance(0.25):
        kwargs["where"] = _mask(d, x.shape)
    return (x,), kwargs


def _means(d: Draw) -> Arguments:
    x = d.any("biufffc")
    kwargs = d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))
    if d.chance(0.25):
        kwargs["dtype"] = d.of((*_FLOATS, "complex128") if x.dtype.kind != "c" else ("complex64", "complex128"))
    if d.chance(0.25):
        kwargs["where"] = _mask(d, x.shape)
    return (x,), kwargs


def _variances(d: Draw) -> Arguments:
    (x,), kwargs = _means(d)
    if "complex" in kwargs.get("dtype", ""):
        del kwargs["dtype"]
    if d.chance(0.4):
        kwargs[d.of(("ddof", "correction"))] = d.of((0, 1, 2, 0.5))
    axis = kwargs.get("axis")
    legal = axis is None or all(-x.ndim <= one < x.ndim for one in np.atleast_1d(axis))
    if d.chance(0.15) and x.dtype.kind == "f" and "dtype" not in kwargs and legal:
        kwargs["mean"] = np.asarray(x.astype("f8").mean(axis, keepdims=True), x.dtype)
    return (x,), kwargs


def _extremes(d: Draw) -> Arguments:
    x = d.any("biufffc", odd=0.3)
    kwargs = d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))
    if d.chance(0.3):
        kwargs["initial"] = d.of((0, 2, 5))
        if d.chance(0.5):
            kwargs["where"] = _mask(d, x.shape)
    return (x,), kwargs


def _nan_extremes(d: Draw) -> Arguments:
    x = d.any("biufffc", odd=0.5)
    return (x,), d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))


def _truth(d: Draw) -> Arguments:
    x = d.any("biufffc", odd=0.3)
    kwargs = d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))
    if d.chance(0.3):
        kwargs["where"] = _mask(d, x.shape)
    return (x,), kwargs


def _places(d: Draw) -> Arguments:
    x = d.any("biuffffc", odd=0.4)
    kwargs: dict[str, Any] = {}
    if d.chance(0.7):
        kwargs["axis"] = d.axis(x.ndim) if x.ndim else None
    return (x,), {**kwargs, **d.some(keepdims=lambda: d.chance(0.5))}


def _running(d: Draw) -> Arguments:
    x = d.any("biufffc")
    kwargs: dict[str, Any] = {}
    if d.chance(0.7):
        kwargs["axis"] = d.axis(x.ndim) if x.ndim else None
    if d.chance(0.25):
        kwargs["dtype"] = _sum_type(d, x)
    return (x,), kwargs


def _cumulative(d: Draw) -> Arguments:
    (x,), kwargs = _running(d)
    return (x,), {**kwargs, **d.some(include_initial=lambda: d.chance(0.5))}


def _middle(d: Draw, odd: float = 0.3) -> Arguments:
    x = d.any("biufff", odd=odd)
    return (x,), d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5), overwrite_input=False)


def _parts(percent: float) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        (x,), kwargs = _middle(d)
        if x.dtype.kind == "f":
            # between two equal infinities there is one, and to NumPy NaN
            x = np.where(np.isinf(x), np.asarray(9, x.dtype), x)
        q = d.of((0, 1, 0.5, 0.3, 0.25, 1 / 3, 1.5, [0.3, 0.5], [[0.1], [1.0]], [0.25, 0.75, 0.5]))
        q = (np.asarray(q) * percent).tolist() if percent != 1 else q
        return (x, q), kwargs

    return draw


def _average(d: Draw) -> Arguments:
    x = d.any("biuffc", empty=False)
    kwargs = d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5), returned=True)
    if d.chance(0.6):
        axis = kwargs.get("axis")
        whole = axis is None or d.chance(0.5) or not isinstance(axis, int) or not -x.ndim <= axis < x.ndim
        shape = x.shape if whole else (x.shape[axis],)
        dtype = d.of((x.dtype.name, "float64", "int64"))
        kwargs["weights"] = np.asarray(abs(d.array(dtype, shape, 0)) + 1, dtype)
    return (x,), kwargs


def _reduce(d: Draw) -> Arguments:
    x = d.any("biufff", 1, 2, 3)
    return (x,), d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))


def _accumulate(d: Draw) -> Arguments:
    x = d.any("biufff", 1, 2, 3)
    return (x,), d.some(axis=lambda: d.axis(x.ndim))


def _cov(d: Draw) -> Arguments:
    kinds = d.of(("i", "f", "f", "c"))
    x = d.array(d.dtype(kinds), d.of(((4,), (3, 5), (2, 4), (1, 3), (5, 3))), 0)
    kwargs = d.some(rowvar=lambda: d.chance(0.5), bias=lambda: d.chance(0.5), ddof=lambda: d.of((0, 1, 2)))
    if d.chance(0.3) and 1 not in x.shape:
        kwargs["y"] = d.array(x.dtype.name, x.shape, 0)
    return (x,), kwargs


def _corrcoef(d: Draw) -> Arguments:
    (x,), kwargs = _cov(d)
    x = x + (np.arange(x.size).reshape(x.shape) ** 2 % 7).astype(x.dtype)
    return (x,), {key: one for key, one in kwargs.items() if key == "rowvar"}


def _diff(d: Draw) -> Arguments:
    x = d.any("biuffc", 1, 2, 3)
    kwargs = d.some(n=lambda: d.of((0, 1, 2, 3, -1)), axis=lambda: d.axis(x.ndim))
    for end in ("prepend", "append"):
        if d.chance(0.2):
            kwargs[end] = d.of((d.array(x.dtype.name, ()), d.array(x.dtype.name, x.shape)))
    return (x,), kwargs


def _ediff1d(d: Draw) -> Arguments:
    x = d.any("iuff")
    return (x,), d.some(
        to_end=lambda: d.array(x.dtype.name, d.shape(0, 1)), to_begin=lambda: d.array(x.dtype.name, (2,))
    )


def _gradient(d: Draw) -> Arguments:
    x = d.array(d.dtype("biufffc"), d.shape(1, 2), 0.1)
    kwargs = d.some(edge_order=lambda: d.of((1, 2)))
    spaces: list[Any] = []
    if d.chance(0.4):
        kwargs["axis"] = d.axis(x.ndim)
    if d.chance(0.5):
        spaces.append(d.of((2.0, 0.5, 3)))
    elif d.chance(0.5):
        wanted = [kwargs["axis"]] if "axis" in kwargs else range(x.ndim)
        if all(-x.ndim <= one < x.ndim for one in wanted):
            spaces = [np.cumsum(d.rng.integers(1, 4, x.shape[one])).astype(float) for one in wanted]
    return (x, *spaces), kwargs


def _trapezoid(d: Draw) -> Arguments:
    y = d.any("biufffc", 1, 2)
    kwargs = d.some(axis=lambda: d.axis(y.ndim), dx=lambda: d.of((0.5, 2, 1.0)))
    axis = kwargs.get("axis", -1)
    if d.chance(0.4) and -y.ndim <= axis < y.ndim:
        kwargs["x"] = d.array(d.of(("float64", "int64", y.dtype.name)), d.of((y.shape, (y.shape[axis],))), 0)
    return (y,), kwargs


def _interp(d: Draw) -> Arguments:
    n = d.int(2, 6)
    xp = np.cumsum(d.rng.integers(1, 4, n)).astype(d.of(("float64", "float64", "float32", "int64")))
    fp = d.array(d.of(("float64", "float64", "float32", "int64", "complex128")), (n,), 0.1)
    x = np.concatenate([xp, d.array("float64", (5,), 0.2), [np.inf, -np.inf, np.nan][: d.int(0, 3)], xp + 0.25])
    x = d.of((x, x[0], x.reshape(1, -1)))
    return (np.asarray(x, d.of(("float64", "float64", "float32"))), xp, fp), d.some(
        left=-1.0, right=lambda: d.of((5.0, 0))
    )


def _convolution(d: Draw) -> Arguments:
    dtype = d.dtype("biufffc")
    sizes = [d.of((1, 2, 3, 4, 5, 9, *((0,) * d.chance(0.2)))) for _ in range(2)]
    other = d.dtype("if") if d.chance(0.2) else dtype
    pair = d.array(dtype, (sizes[0],), 0.05), d.array(other, (sizes[1],), 0.05)
    return pair, d.some(mode=lambda: d.of(("full", "same", "valid")))


def _polyval(d: Draw) -> Arguments:
    dtype = d.dtype("iuffc")
    return (d.array(dtype, (d.int(0, 5),), 0.1), d.array(d.of((dtype, dtype, "float64")), d.shape(), 0)), {}


def _vander(d: Draw) -> Arguments:
    return (d.any("biuffc", *((1, 1, 1, 2) if d.chance(0.1) else (1,))),), d.some(
        N=lambda: d.int(0, 5), increasing=lambda: d.chance(0.5)
    )


def _unwrap(d: Draw) -> Arguments:
    x = d.any("iff", 1, 2, odd=0)
    return (x,), d.some(
        discont=lambda: d.of((1.0, 4.0, None)), axis=lambda: d.axis(x.ndim), period=lambda: d.of((2.0, 4, 3, 7.5))
    )


def _ends(d: Draw) -> tuple[Any, Any]:
    """Two ends of a space; of two that are arrays, and of one beside a number."""
    dtype = d.dtype("iufff")
    ranks = d.of(((0,), (0,), (1,), (2,)))
    shape = d.shape(*ranks)
    start, stop = d.array(dtype, shape, 0.05), d.array(dtype, d.of((shape, ())), 0)
    if d.chance(0.2):
        return d.of(((start, d.of((2, 10.0, 0.1))), (d.of((0, -3.5)), stop)))
    return start, stop


def _space_options(d: Draw, start: Any, stop: Any) -> dict[str, Any]:
    rank = np.broadcast(start, stop).ndim
    kwargs = d.some(num=lambda: d.of((0, 1, 2, 3, 7, 10, 50)), endpoint=lambda: d.chance(0.5))
    if d.chance(0.2):
        kwargs["dtype"] = d.of(("float32", "float64", int, "int32"))
    if d.chance(0.3):
        kwargs["axis"] = d.int(-rank - 1, rank)
    return kwargs


def _linspace(d: Draw) -> Arguments:
    start, stop = _ends(d)
    return (start, stop), {**_space_options(d, start, stop), **d.some(retstep=True)}


def _logspace(d: Draw) -> Arguments:
    start, stop = (np.clip(one, -3, 3) if isinstance(one, np.ndarray) else 2 for one in _ends(d))
    return (start, stop), {**_space_options(d, start, stop), **d.some(base=lambda: d.of((2, 10, 0.5, np.e)))}


def _geomspace(d: Draw) -> Arguments:
    dtype = d.dtype("iffc")
    shape = d.shape(0, 0, 1)
    tens = (1, 1000, 10, 2, 1024, 5) if np.dtype(dtype).kind == "i" and "8" not in dtype else (1, 2, 100, 8, 5)
    sign = d.of((1, -1))
    start, stop = (np.asarray(d.rng.choice(tens, one) * sign, dtype) for one in (shape, d.of((shape, ()))))
    if d.chance(0.1):
        return (start, -stop), {"num": 5}
    kwargs = _space_options(d, start, stop)
    return (start, stop), {key: one for key, one in kwargs.items() if dtype[0] != "c" or key != "dtype"}


def _rows() -> None:
    ulps, sums = Near.ULPS, Near.SUMS
    for name in ("sum", "nansum"):
        TABLE[name] = Entry(_sums, sums)
    for name in ("prod", "nanprod"):
        TABLE[name] = Entry(_sums, ulps, 120)
    for name in ("mean", "nanmean"):
        TABLE[name] = Entry(_means, sums)
    for name in ("var", "std", "nanvar", "nanstd"):
        TABLE[name] = Entry(_variances, Near.NORM, 16)
    for name in ("max", "amax", "min", "amin"):
        TABLE[name] = Entry(_extremes, zeros=False)
    for name in ("nanmax", "nanmin"):
        TABLE[name] = Entry(_nan_extremes, zeros=False)
    TABLE["ptp"] = Entry(_nan_extremes)
    for name in ("any", "all"):
        TABLE[name] = Entry(_truth)
    TABLE["count_nonzero"] = Entry(_nan_extremes)
    for name in ("argmax", "argmin", "nanargmax", "nanargmin"):
        TABLE[name] = Entry(_places)
    for name in ("cumsum", "nancumsum"):
        TABLE[name] = Entry(_running, sums)
    for name in ("cumprod", "nancumprod"):
        TABLE[name] = Entry(_running, ulps, 120)
    TABLE["cumulative_sum"] = Entry(_cumulative, sums)
    TABLE["cumulative_prod"] = Entry(_cumulative, ulps, 120)
    for name in ("median", "nanmedian"):
        TABLE[name] = Entry(_middle, ulps, zeros=False)
    TABLE["quantile"] = Entry(_parts(1), Near.NORM)
    TABLE["percentile"] = Entry(_parts(100), Near.NORM)
    TABLE["average"] = Entry(_average, sums, 32)
    for name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or"):
        TABLE[f"{name}.reduce"] = Entry(_reduce, ulps if name == "multiply" else sums, 120)
    TABLE["logaddexp.reduce"] = Entry(
        lambda d: ((x := d.any("ff", 1, 2, 3, empty=False),), d.some(axis=lambda: d.axis(x.ndim))), Near.NORM, 16
    )
    for name in ("add", "multiply", "maximum", "minimum"):
        TABLE[f"{name}.accumulate"] = Entry(_accumulate, ulps if name == "multiply" else sums, 120)
    TABLE["cov"] = Entry(_cov, Near.NORM, 32)
    TABLE["corrcoef"] = Entry(_corrcoef, Near.NORM, 64)
    TABLE["diff"] = Entry(_diff)
    TABLE["ediff1d"] = Entry(_ediff1d)
    TABLE["gradient"] = Entry(_gradient, Near.NORM, 16)
    TABLE["trapezoid"] = Entry(_trapezoid, sums, 32)
    TABLE["interp"] = Entry(_interp, Near.NORM, 8)
    for name in ("convolve", "correlate"):
        TABLE[name] = Entry(_convolution, sums)
    TABLE["polyval"] = Entry(_polyval, sums, 32)
    TABLE["vander"] = Entry(_vander, ulps)
    TABLE["unwrap"] = Entry(_unwrap, Near.NORM, 16)
    TABLE["linspace"] = Entry(_linspace, Near.NORM, 2)
    TABLE["logspace"] = Entry(_logspace, ulps, 64)
    TABLE["geomspace"] = Entry(_geomspace, ulps, 32)


_rows()
