"""NumPy's functions of samples along a line, of polynomials and of windows, on values of a graph."""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, nan, pi
from typing import Any, SupportsIndex, cast

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.constants import element_type as element_of_name
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir import compositions
from xdsl_rlx.dialects.mir.promotion import Kind
from xdsl_rlx.dialects.mir.segments import segment_total
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    FLOATS,
    INTS,
    dims,
    element_of,
    i1,
    integers,
    normalize_axes,
    normalize_axis,
)
from xdsl_rlx.frontends.numpy.elements import ufunc, where
from xdsl_rlx.frontends.numpy.reductions import sum_of
from xdsl_rlx.frontends.numpy.rows import FUNCTIONS, as_floats, as_value, check_rank, composed, of_one_type, row
from xdsl_rlx.frontends.numpy.shapes import take
from xdsl_rlx.graph_methods import sorting


def _line(x: Value, axis: int) -> Value:
    """The axis behind the others."""
    return x.b.moveaxis(x, axis, -1)


@row("diff")
def _diff(a: Operand, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Value:
    """Differences of neighbours along an axis, so often; of booleans, whether they differ."""
    parts = [x for x in (prepend, a, append) if x is not None]
    values = of_one_type(parts)
    if n < 0:
        raise GraphError(f"np.diff: expected an order of at least 0, got {n}")
    x = values[0 if prepend is None else 1]
    at = normalize_axis(axis, x.rank)
    if len(parts) > 1 and n:
        shape = (*x.shape[:at], 1, *x.shape[at + 1 :])
        x = x.b.concat([x.b.expand(one, shape) if one.rank == 0 else one for one in values], at)
    for _ in range(min(n, x.shape[at])):
        after, before = (x.b.narrow(x, at, start, x.shape[at] - 1) for start in (1, 0))
        x = after ^ before if element_of(x.ssa) == i1 else after - before
    return x


@row("ediff1d")
def _ediff1d(ary: Value, to_end: Any = None, to_begin: Any = None) -> Value:
    """Differences of neighbours of all elements, between others."""
    parts = [x for x in (to_begin, _diff(ary.b.ravel(ary)), to_end) if x is not None]
    return FUNCTIONS["hstack"](parts)


@row("gradient")
def _gradient(f: Value, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes by the differences of neighbours on both sides, at the ends of the inner one, or with order 2 of two."""
    x = as_floats(f)
    axes = tuple(range(x.rank)) if axis is None else normalize_axes(integers("gradient", axis), x.rank)
    spaces = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(spaces) != len(axes):
        raise GraphError(f"np.gradient: {len(spaces)} distances for {len(axes)} axes")
    found = tuple(_slopes(x, one, space, edge_order) for one, space in zip(axes, spaces, strict=True))
    return found[0] if len(found) == 1 else found


def _slopes(x: Value, axis: int, space: Any, edge_order: int) -> Value:
    given = x.dtype
    x, steps = of_one_type([x, space])
    y = _line(x, axis)
    if y.shape[-1] <= edge_order:
        raise GraphError(f"np.gradient: expected more than {edge_order} elements along an axis, got {y.shape[-1]}")
    h = _diff(steps) if steps.rank else x.b.expand(steps, (y.shape[-1] - 1,))
    d = _diff(y) / h
    if steps.rank:
        before, after = h[:-1], h[1:]
        inner = (d[..., :-1] * after + d[..., 1:] * before) / (before + after)
    else:
        # without the element in the middle, which may be infinite or NaN
        inner = (y[..., 2:] - y[..., :-2]) / (steps * 2)
    first, last = d[..., :1], d[..., -1:]
    if edge_order == 2:
        first = first + (first - d[..., 1:2]) * h[:1] / (h[:1] + h[1:2])
        last = last + (last - d[..., -2:-1]) * h[-1:] / (h[-1:] + h[-2:-1])
    return x.b.moveaxis(x.b.concat([first, inner, last], -1), -1, axis).astype(given)


@row("trapezoid")
def _trapezoid(y: Operand, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    """The area below the lines between samples."""
    heights = as_value(y, x, dx)
    line = _line(heights, axis)
    middles = line[..., 1:] + line[..., :-1]
    if x is None:
        return sum_of(middles * dx, -1) / 2.0
    places = as_value(x, heights)
    places = places if places.rank == 1 else _line(places, axis)
    return sum_of(middles * _diff(places), -1) / 2.0


@row("interp")
def _interp(x: Operand, xp: Operand, fp: Operand, left: Any = None, right: Any = None, period: None = None) -> Value:
    """The function through the points `(xp, fp)`, `xp` ascending, by lines; its ends beyond them."""
    if period is not None:
        raise GraphTypeError("np.interp of a traced value does not support period=; pass x % period")
    at, places = of_one_type([x, xp], Kind.FLOATS)
    (heights,) = of_one_type([as_value(fp, x, xp)], Kind.FLOATS)
    check_rank("interp", places, 1)
    check_rank("interp", heights, 1)
    last = places.shape[0] - 1
    low = composed(
        compositions.clip,
        places.b,
        sorting.searchsorted(places.b, places, at, "right") - 1,
        0,
        max(last - 1, 0),
    )
    high = compositions.clip(places.b, low + 1, 0, last)
    # a few of the numbers are made wide, behind the search: tables stay as short as they are
    wide = "c128" if element_of(heights.ssa) in COMPLEXES else "f64"
    x0, x1 = (take(places, number, 0).astype("f64") for number in (low, high))
    y0, y1 = (take(heights, number, 0).astype(wide) for number in (low, high))
    at, run = at.astype("f64"), x1 - x0
    slope = (y1 - y0) / where(run == 0, 1, run)
    inside = where(at == x1, y1, y0 + slope * (at - x0))
    (begin, end), (lowest, highest) = (
        tuple(table[place].astype(type_) for place in (0, last)) for table, type_ in ((heights, wide), (places, "f64"))
    )
    ends = begin if left is None else left, end if right is None else right
    return where(at < lowest, ends[0], where(at > highest, ends[1], inside))


def _correlation(a: Value, v: Value, mode: str) -> Value:
    """`sum_n a[n + k] v[n]` for `k` of the mode, where `a` is not shorter."""
    n, m = a.shape[0], v.shape[0]
    if mode not in ("full", "same", "valid"):
        raise GraphTypeError(f"mode: expected 'full', 'same' or 'valid', got {mode!r}")
    front = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    behind = {"full": m - 1, "same": m - 1 - m // 2, "valid": 0}[mode]
    if not m:
        raise GraphError("convolve: expected at least one element, got an empty array")
    padded = composed(compositions.pad, a.b, a, (front, behind))
    if element_of(a.ssa) in FLOATS:
        # its windows are not written to memory
        return a.b.conv(padded.reshape(1, 1, -1), v.reshape(1, 1, m)).reshape(-1)
    windows = compositions.frames(a.b, padded, m, 1)
    assert windows.shape[0] == n + front + behind - m + 1
    return windows @ v


def _lines(name: str, a: Operand, v: Operand) -> tuple[Value, Value]:
    x, y = of_one_type([a, v])
    check_rank(name, x, 1)
    check_rank(name, y, 1)
    return x, y


@row("convolve")
def _convolve(a: Operand, v: Operand, mode: str = "full") -> Value:
    """`sum_n a[n] v[k - n]`: all of it, as many as the longer has, or where both overlap."""
    x, y = _lines("convolve", a, v)
    x, y = (y, x) if y.shape[0] > x.shape[0] else (x, y)
    return _correlation(x, y.b.flip(y, 0), mode)


@row("correlate")
def _correlate(a: Operand, v: Operand, mode: str = "valid") -> Value:
    """`sum_n a[n + k] conj(v[n])`: all of it, as many as the longer has, or where both overlap."""
    x, y = _lines("correlate", a, v)
    if y.shape[0] > x.shape[0]:
        found = _correlation(y, x.b.conjugate(x), mode)
        return found.b.flip(found.b.conjugate(found), 0)
    return _correlation(x, y.b.conjugate(y), mode)


@row("lib.stride_tricks.sliding_window_view")
def _windows(x: Value, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Value:
    """All windows along some axes, whose extents are behind the others."""
    sizes = integers("sliding_window_view", window_shape)
    axes = tuple(range(x.rank)) if axis is None else integers("sliding_window_view", axis)
    if len(sizes) != len(axes):
        raise GraphError(f"sliding_window_view: {len(sizes)} extents of windows for {len(axes)} axes")
    rank = x.rank
    if 0 in sizes:
        left = list(x.shape)
        for size, one in zip(sizes, axes, strict=True):
            left[normalize_axis(one, rank)] -= size - 1
        return x.b.full((*left, *sizes), 0, x.dtype)
    for size, one in zip(sizes, axes, strict=True):
        at = normalize_axis(one, rank)
        found = composed(compositions.frames, x.b, x.b.moveaxis(x, at, -1), size, 1)
        x = found.b.moveaxis(found, -2, at)
    return x


@row("polyval")
def _polyval(p: Any, x: Any) -> Value:
    """The polynomial with the coefficients `p`, that of the highest power first."""
    coefficients, at = as_value(p, x), as_value(x, p)
    check_rank("polyval", coefficients, least=1)
    total = coefficients[0] if coefficients.shape[0] else at.b.zeros_like(at)
    for n in range(1, coefficients.shape[0]):
        total = total * at + coefficients[n]
    return total + at.b.zeros_like(at) if coefficients.shape[0] == 1 else total


@row("vander")
def _vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:
    """The powers of each element in a row, the highest first."""
    import numpy as np

    check_rank("vander", x, 1)
    if not x.weak and x.dtype != "bf16":
        x = x.astype(np.result_type(x.dtype.dtype, np.int64))
    (count,) = (x.shape[0],) if N is None else integers("np.vander: N", N)
    if count < 0:
        raise GraphError(f"np.vander: N: expected an integer of at least 0, got {count}")
    if not count:
        return x.b.full((*x.shape, 0), 0, x.dtype)
    powers = [x.b.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return compositions.stack(x.b, powers if increasing else powers[::-1], 1)


@row("unwrap")
def _unwrap(p: Value, discont: float | None = None, axis: int = -1, *, period: float = 2 * pi) -> Value:
    """Angles less or more whole turns, so that neighbours are at most half a turn apart."""
    (x,) = of_one_type([p])
    whole = element_of(x.ssa) in INTS and isinstance(period, int)
    x = _line(x if whole else as_floats(x), axis)
    # integers stay integers: half of an odd period is then no difference that there is
    half = period // 2 if whole else period / 2
    steps = _diff(x)
    short = (steps + half) % period - half
    if not whole or period % 2 == 0:
        short = where(ufunc("logical_and", short == -half, steps > 0), half, short)
    turns = where(abs(steps) < (period / 2 if discont is None else max(discont, half)), 0, short - steps)
    moved = x.b.concat([x[..., :1], (x[..., 1:] + x.b.cumsum(turns, -1)).astype(x.dtype)], -1)
    return x.b.moveaxis(moved, -1, axis)


@row("linspace")
def linspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: object = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """Evenly spaced numbers from `start` to `stop`, along a new axis."""
    (num,) = integers("linspace", num)
    first, last = of_one_type([start, stop], Kind.FLOATS)
    gaps = num - 1 if endpoint else num
    first, last = FUNCTIONS["broadcast_arrays"](first, last)
    parts = first.b.reshape(first.b.iota(num).astype(first.dtype), (num, *(1,) * first.rank))
    step = (last - first) / max(gaps, 1)
    line = parts * step + first
    if endpoint and num > 1:
        line = first.b.concat([line[:-1], last[None]], 0)
    line = first.b.moveaxis(_of_type(line, dtype), 0, axis)
    return (line, step if gaps > 0 else nan) if retstep else line


def _of_type(line: Value, dtype: Any, floor: bool = True) -> Value:
    """In the element type that is asked for; of integers that below, or that nearer to 0."""
    if dtype is None:
        return line
    return (ufunc("floor", line) if floor and element_of_name(dtype) in INTS else line).astype(dtype)


@row("logspace")
def _logspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    base: Operand = 10.0,
    dtype: object = None,
    axis: int = 0,
) -> Value:
    """Powers of `base`, evenly spaced in the exponent."""
    found = ufunc("power", base, linspace(as_value(start, stop, base), stop, num, endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype)


@row("geomspace")
def _geomspace(
    start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, dtype: object = None, axis: int = 0
) -> Value:
    """Numbers from `start` to `stop`, of one sign, of which each is the same multiple of the one before."""
    (num,) = integers("geomspace", num)
    first, last = of_one_type([start, stop], Kind.FLOATS)
    wide = "c128" if element_of(first.ssa) in COMPLEXES else "f64"
    first, last = FUNCTIONS["broadcast_arrays"](first.astype(wide), last.astype(wide))
    # the first end is 1 in units of its sign; of ends of two signs the logarithm is NaN
    sign = first / abs(first)
    line = ufunc("power", 10.0, linspace(*(ufunc("log10", end / sign) for end in (first, last)), num, endpoint)) * sign
    if num > 0:
        line = first.b.concat([first[None], line[1:]], 0)
    if num > 1 and endpoint:
        line = first.b.concat([line[:-1], last[None]], 0)
    return _of_type(first.b.moveaxis(line, 0, axis), dtype, floor=False)


@row("cumulative_sum")
def _cumulative_sum(
    x: Value, /, *, axis: int | None = None, dtype: object = None, out: None = None, include_initial: bool = False
) -> Value:
    """Sums of all elements so far, with 0 in front where that is asked for."""
    return _running("cumsum", x, axis, dtype, include_initial, 0)


@row("cumulative_prod")
def _cumulative_prod(
    x: Value, /, *, axis: int | None = None, dtype: object = None, out: None = None, include_initial: bool = False
) -> Value:
    """Products of all elements so far, with 1 in front where that is asked for."""
    return _running("cumprod", x, axis, dtype, include_initial, 1)


def _running(name: str, x: Value, axis: int | None, dtype: object, initial: bool, start: int) -> Value:
    x = x if x.rank else x.reshape(1)
    if axis is None and x.rank > 1:
        raise GraphTypeError("expected an axis for an array of more than one axis; pass axis=")
    at = normalize_axis(axis or 0, x.rank)
    found = FUNCTIONS[name](x, at, dtype)
    if not initial:
        return found
    first = found.b.full((*x.shape[:at], 1, *x.shape[at + 1 :]), start, found.dtype)
    return found.b.concat([first, found], at)


def _limits(range: Any) -> tuple[Any, Any]:
    """The least and the largest edge; GraphError for what is no pair, infinite or in descending order."""
    pair = isinstance(range, Sequence | Value) or getattr(range, "shape", ()) == (2,)
    if not pair or len(range) != 2:
        raise GraphError(f"np.histogram: range: expected a pair of numbers, got {shown(range)}")
    first, last = range
    if not any(isinstance(x, Value) for x in range) and not -inf < first <= last < inf:
        raise GraphError(f"np.histogram: range: expected finite numbers in ascending order, got {shown(range)}")
    return first, last


@row("histogram_bin_edges")
def _edges(a: Value, bins: Any = 10, range: Any = None, weights: Any = None) -> Value:
    """The edges of `bins` bins of equal width from the least element to the largest, or of `range`; or the given."""
    if isinstance(bins, str):
        raise GraphTypeError(f"np.histogram: bins: expected an integer or a vector of edges, got {bins!r}")
    if isinstance(bins, Value) or not isinstance(bins, SupportsIndex) or getattr(bins, "shape", ()):
        edges = as_value(bins, a)
        check_rank("histogram", edges, 1)
        given: list[Any] = [] if isinstance(bins, Value) else [*cast("Any", bins)]
        if not any(isinstance(x, Value) for x in given) and any(x > y for x, y in pairwise(given)):
            raise GraphError(f"np.histogram: bins: expected edges in ascending order, got {shown(bins)}")
        return edges
    if isinstance(bins, bool) or (count := int(bins)) < 1:
        raise GraphError(f"np.histogram: bins: expected an integer of at least 1, got {bins!r}")
    values = as_floats(a)
    if range is None:
        first, last = (values.min(), values.max()) if a.size else (0.0, 1.0)
    else:
        first, last = _limits(range)
    first, last, _ = of_one_type([first, last, values])
    same, b = first == last, a.b
    half = b.where(same, b.constant(0.5, first.dtype), b.constant(0, first.dtype))
    return linspace(first - half, last + half, count + 1)


@row("histogram")
def _histogram(
    a: Value, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Value, Value]:
    """How many elements are between edges, the last one included, or the sum of their weights; and the edges."""
    edges = _edges(a, bins, range)
    count = edges.shape[0] - 1
    if count < 1:
        raise GraphError("np.histogram: bins: expected at least 2 edges, got a vector of 1")
    bounds, numbers = of_one_type([edges, a.ravel()])
    b = a.b
    at = sorting.searchsorted(b, bounds, numbers, "right") - 1
    at = b.where(numbers == bounds[count], count - 1, at)
    inside = (numbers >= bounds[0]) & (numbers <= bounds[count])
    each = b.full(numbers.shape, 1, "i64") if weights is None else as_value(weights, a)
    if each.size != a.size or (weights is not None and each.shape != a.shape):
        raise GraphError(f"np.histogram: weights: expected shape {dims(a.shape)}, as a, got {dims(each.shape)}")
    found = segment_total(b, each.ravel(), b.where(inside, at, count), count)
    if density:
        found = as_floats(found)
        found = found / (bounds[1:] - bounds[:-1]) / found.sum()
    return found, edges
