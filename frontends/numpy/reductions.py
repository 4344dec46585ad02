"""NumPy's reductions on values of a graph, and its running sums: `np.sum`, `np.median`, `np.nanmean`, `np.cumsum`."""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, prod
from typing import Any

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir import compositions
from xdsl_rlx.dialects.mir.complex import part_type
from xdsl_rlx.dialects.mir.numpy_reductions import (
    ReductionArguments,
    extremes,
    means,
    positions,
    running,
    sums,
    truths,
    variances,
)
from xdsl_rlx.dialects.mir.promotion import Kind
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, DTYPE_NAMES, FLOATS, dims, element_of, i1, integers, normalize_axes
from xdsl_rlx.frontends.numpy.elements import ufunc, where
from xdsl_rlx.frontends.numpy.rows import (
    FUNCTIONS,
    Axis,
    as_floats,
    as_value,
    check_rank,
    composed,
    of_one_type,
    reduction_row,
    row,
)
from xdsl_rlx.graph_methods import moves, sorting, statistics


def _kept(x: Value, mask: Any, otherwise: Any) -> Value:
    """The elements where the mask of a `where=` holds, elsewhere another number."""
    return x if mask is True else where(mask, x, otherwise)


@reduction_row(sums, "sum")
def sum_of(a: Value, given: ReductionArguments) -> Value:
    """The sum over some axes, by default all; integers and truth values are summed in i64."""
    total = a.b.reduce_sum(_kept(a, given.where, 0), given.axis, given.keepdims, dtype=given.dtype)
    return total if given.initial is None else total + given.initial


@reduction_row(sums, "prod")
def _prod(a: Value, given: ReductionArguments) -> Value:
    """The product over some axes, by default all."""
    factors = a.b.accumulated(_kept(a, given.where, 1), given.dtype)
    if element_of(factors.ssa) in COMPLEXES:
        product = _complex_product(factors, given.axis, given.keepdims)
    else:
        product = a.b.reduce_prod(factors, given.axis, given.keepdims, dtype=factors.dtype)
    return product if given.initial is None else product * given.initial


def _complex_product(x: Value, axis: Axis, keepdims: bool) -> Value:
    """The last of the products of all elements so far."""
    line, kept = in_a_row(x, axis)
    first = line.b.full((*line.shape[:-1], 1), 1, line.dtype)
    product = line.b.cumprod(line.b.concat([first, line], -1), -1)[..., -1]
    return product.reshape(kept) if keepdims else product


@reduction_row(means, "mean")
def mean(a: Value, given: ReductionArguments) -> Value:
    """The mean over some axes, by default all; of integers in f64."""
    x = _in_floats(a, given)
    if given.where is True:
        return x.b.reduce_mean(x, given.axis, given.keepdims)
    total = sum_of(x, given.axis, keepdims=given.keepdims, where=given.where)
    return total / _count(x, given.where, given.axis, given.keepdims)


def _in_floats(a: Value, given: ReductionArguments) -> Value:
    """The operand in the type that a mean is computed in."""
    return as_floats(a if given.dtype is None else a.astype(given.dtype))


def _count(x: Value, mask: Any, axis: Axis, keepdims: bool) -> Value:
    """How many elements are true, in the element type of `x`, or of its parts."""
    found = sum_of(x.b.expand(as_value(mask, x), x.shape), axis, keepdims=keepdims)
    element = element_of(x.ssa)
    return found.astype(DTYPE_NAMES[part_type(element)] if element in COMPLEXES else x.dtype)


@reduction_row(extremes, "max", "amax")
def largest(a: Value, given: ReductionArguments) -> Value:
    """The largest element over some axes, by default all; NaN if one is NaN. GraphError for an axis without any."""
    return _extreme("max", a, given)


@reduction_row(extremes, "min", "amin")
def smallest(a: Value, given: ReductionArguments) -> Value:
    """The smallest element over some axes, by default all; NaN if one is NaN. GraphError for an axis without any."""
    return _extreme("min", a, given)


def _extreme(which: str, x: Value, given: ReductionArguments) -> Value:
    axis, keepdims, initial = given.axis, given.keepdims, given.initial
    axes = range(x.rank) if axis is None else normalize_axes(integers(which, axis), x.rank)
    empty = not prod(x.shape[one] for one in axes)
    if initial is None and (empty or given.where is not True):
        raise GraphError(f"np.{which} of shape {dims(x.shape)}: where= or an empty axis needs initial=")
    if element_of(x.ssa) == i1:
        return FUNCTIONS["any" if which == "max" else "all"](x, axis, keepdims=keepdims)
    meet = "maximum" if which == "max" else "minimum"
    kept = _kept(x, given.where, initial)
    if empty:
        shape = sum_of(x, axis, keepdims=keepdims).shape
        return x.b.expand(as_value(initial, x), shape).astype(x.dtype)
    found = getattr(kept.b, f"reduce_{which}")(kept, axis, keepdims)
    return found if initial is None else ufunc(meet, found, initial)


@row("ptp")
def _ptp(a: Value, axis: Axis = None, out: None = None, keepdims: bool = False) -> Value:
    """The largest element less the smallest."""
    return largest(a, axis, keepdims=keepdims) - smallest(a, axis, keepdims=keepdims)


@reduction_row(variances, "var")
def var(a: Value, given: ReductionArguments) -> Value:
    """The mean of squared distances to the mean, of which the number of elements is reduced by `ddof`."""
    x, axis, keepdims = _in_floats(a, given), given.axis, given.keepdims
    ddof = given.ddof if given.correction is None else given.correction
    if given.where is True and given.mean is None and isinstance(ddof, int):
        return composed(statistics.var, x.b, x, axis, ddof, keepdims)
    middle = mean(x, axis, keepdims=True, where=given.where) if given.mean is None else given.mean
    apart = abs(x - middle) ** 2
    count = _count(x, given.where, axis, keepdims)
    return sum_of(apart, axis, keepdims=keepdims, where=given.where) / ufunc("maximum", count - ddof, 0)


@reduction_row(variances, "std")
def _std(a: Value, given: ReductionArguments) -> Value:
    """The square root of `var`."""
    axis, ddof, keepdims = given.axis, given.ddof, given.keepdims
    if given.where is True and given.mean is None and given.correction is None and isinstance(ddof, int):
        x = _in_floats(a, given)
        return composed(statistics.std, x.b, x, axis, ddof, keepdims)
    options = {"where": given.where, "mean": given.mean, "correction": given.correction}
    return ufunc("sqrt", var(a, axis, given.dtype, None, ddof, keepdims, **options))


@reduction_row(truths, "any")
def _any(a: Value, given: ReductionArguments) -> Value:
    """Whether an element is not 0."""
    return composed(statistics.any, a.b, _kept(a, given.where, False), given.axis, given.keepdims)


@reduction_row(truths, "all")
def _all(a: Value, given: ReductionArguments) -> Value:
    """Whether all elements are not 0."""
    return composed(statistics.all, a.b, _kept(a, given.where, True), given.axis, given.keepdims)


@row("count_nonzero")
def _count_nonzero(a: Value, axis: Axis = None, *, keepdims: bool = False) -> Value:
    """How many elements are not 0."""
    return sum_of(ufunc("not_equal", a, 0), axis, keepdims=keepdims)


@row("average")
def _average(
    a: Operand, axis: Axis = None, weights: Operand | None = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The mean, each element counted as often as its weight says; with `returned`, and the sum of the weights."""
    if weights is None:
        x = as_floats(as_value(a))
        found = mean(x, axis, keepdims=keepdims)
        each = prod(x.shape) // max(prod(found.shape), 1)
        return (found, x.b.full(found.shape, each, x.dtype)) if returned else found
    x, by = of_one_type([a, weights], Kind.FLOATS)
    if by.shape != x.shape:
        if axis is None:
            raise GraphTypeError(
                f"np.average: weights of shape {dims(by.shape)} for an array of shape {dims(x.shape)} need axis="
            )
        axes = normalize_axes(integers("average", axis), x.rank)
        by = by.reshape([n if place in axes else 1 for place, n in enumerate(x.shape)])
    by = by.b.expand(by, x.shape)
    total = sum_of(by, axis, keepdims=keepdims)
    found = sum_of(x * by, axis, keepdims=keepdims) / total
    return (found, total.astype(found.dtype)) if returned else found


def in_a_row(x: Value, axis: Axis) -> tuple[Value, tuple[int, ...]]:
    """The elements that are reduced along the last axis, and the shape that keeps their axes."""
    axes = tuple(range(x.rank)) if axis is None else normalize_axes(integers("axis", axis), x.rank)
    kept = tuple(1 if place in axes else n for place, n in enumerate(x.shape))
    moved = x.b.moveaxis(x, axes, tuple(range(x.rank - len(axes), x.rank)))
    count = prod(x.shape[one] for one in axes)
    return moved.reshape(*moved.shape[: x.rank - len(axes)], count), kept


def _ordered(x: Value, axis: Axis) -> tuple[Value, Callable[[Value], Value], tuple[int, ...]]:
    """
    Sorted elements along the last axis, and the shape that keeps the axes.

    Between them, what makes NaN of an element of each row in which one is NaN.
    """
    line, kept = in_a_row(x, axis)
    if not line.shape[-1]:
        raise GraphError(f"expected at least one element, got an array of shape {dims(x.shape)}")
    ordered = sorting.sort(line.b, line, -1)
    if element_of(line.ssa) not in FLOATS:
        return ordered, lambda one: one, kept
    has_nan = ufunc("isnan", line.b.reduce_max(line.b.stop_gradient(line), -1))
    return ordered, lambda one: where(has_nan, nan, one), kept


@row("quantile")
def _quantile(
    a: Operand,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Value:
    """The number below which the part `q` of the elements lies, between two of them on a line; NaN if one is NaN."""
    import numpy as np

    if isinstance(q, Value) or method != "linear":
        raise GraphTypeError(f"np.quantile: expected a static q and method 'linear', got method {method!r}")
    whole = np.asarray(q).dtype.kind in "iu"
    if element_of(as_value(a).ssa) == i1 and not whole:
        raise GraphTypeError("np.quantile of booleans is an error, as in NumPy; convert them with astype(float)")
    # of whole parts, which are the ends, NumPy takes elements as they are
    x = as_value(a) if whole else as_floats(as_value(a))
    ordered, checked, kept = _ordered(x.astype("f64") if np.ndim(q) and not whole else x, axis)
    last = ordered.shape[-1] - 1
    parts: list[Value] = []
    for part in np.asarray(q, dtype=np.float64).reshape(-1).tolist():
        if not 0 <= part <= 1:
            raise GraphError(f"np.quantile: expected q from 0 to 1, got {part}")
        low = int(part * last)
        around, further = ordered[..., low : low + 2], part * last - low
        between = around[..., 0] + (around[..., 1] - around[..., 0]) * further if further else around[..., 0]
        between = checked(between)
        parts.append(between.reshape(kept) if keepdims else between)
    return compositions.stack(x.b, parts, 0).reshape(*np.shape(q), *parts[0].shape) if np.ndim(q) else parts[0]


@row("percentile")
def _percentile(a: Operand, q: Any, *args: Any, **options: Any) -> Value:
    """`np.quantile`, with parts of a hundred."""
    import numpy as np

    if not isinstance(q, Value):
        if not all(0 <= part <= 100 for part in np.ravel(q).tolist()):
            raise GraphError(f"np.percentile: expected q from 0 to 100, got {shown(q)}")
        q = np.true_divide(q, 100)
    return _quantile(a, q, *args, **options)


@row("median")
def _median(
    a: Operand, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Value:
    """The middle element, or the mean of the two in the middle; NaN if one is NaN."""
    x = as_floats(as_value(a))
    if not prod(x.shape):
        return mean(x, axis, keepdims=keepdims)
    ordered, checked, kept = _ordered(x, axis)
    count = ordered.shape[-1]
    middle = checked(mean(ordered[..., (count - 1) // 2 : count // 2 + 1], -1))
    return middle.reshape(kept) if keepdims else middle


@row("nanmedian")
def _nanmedian(
    a: Operand, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Value:
    """The median of what is not NaN; NaN where all are."""
    x = as_floats(as_value(a))
    if not prod(x.shape):
        return mean(x, axis, keepdims=keepdims)
    line, kept = in_a_row(x, axis)
    ordered = sorting.sort(line.b, line, -1)
    last = _count(line, ufunc("logical_not", ufunc("isnan", line)), -1, True).astype("i64")
    ends = [moves.take_along_axis(line.b, ordered, ufunc("maximum", at, 0), -1) for at in ((last - 1) // 2, last // 2)]
    middle = where(last == 0, nan, (ends[0] + ends[1]) / 2)[..., 0]
    return middle.reshape(kept) if keepdims else middle


_WITH_NAN = (*FLOATS, *COMPLEXES)


def _without_nan(name: str, otherwise: float) -> None:
    """A row for a reduction that passes over NaN, by another number in their place."""

    @row(f"nan{name}")
    def reduced(a: Value, axis: Axis = None, *args: Any, **options: Any) -> Value:
        kept = where(ufunc("isnan", a), otherwise, a) if element_of(a.ssa) in _WITH_NAN else a
        return FUNCTIONS[name](kept, axis, *args, **options)

    reduced.__doc__ = f"`np.{name}` of what is not NaN."


for _name, _otherwise in {"sum": 0, "prod": 1, "cumsum": 0, "cumprod": 1, "argmax": -inf, "argmin": inf}.items():
    _without_nan(_name, _otherwise)


def _of_numbers(name: str) -> None:
    """A row for a reduction of what is not NaN, by its `where=`."""

    @row(f"nan{name}")
    def reduced(a: Value, axis: Axis = None, *args: Any, where: Any = True, **options: Any) -> Value:
        if element_of(a.ssa) not in _WITH_NAN:
            return FUNCTIONS[name](a, axis, *args, where=where, **options)
        there = ufunc("logical_not", ufunc("isnan", a))
        counted = there if where is True else ufunc("logical_and", there, where)
        return FUNCTIONS[name](_kept(a, there, 0), axis, *args, where=counted, **options)

    reduced.__doc__ = f"`np.{name}` of what is not NaN."


for _name in ("mean", "var", "std"):
    _of_numbers(_name)


def _extreme_of_numbers(name: str, otherwise: float) -> None:
    """A row for an extreme of what is not NaN, which is NaN where all are."""

    @row(f"nan{name}")
    def reduced(a: Value, axis: Axis = None, out: None = None, keepdims: bool = False) -> Value:
        if element_of(a.ssa) not in FLOATS:
            return FUNCTIONS[name](a, axis, keepdims=keepdims)
        missing = ufunc("isnan", a)
        found = FUNCTIONS[name](where(missing, otherwise, a), axis, keepdims=keepdims)
        return where(missing.all(axis, keepdims=keepdims), nan, found)

    reduced.__doc__ = f"`np.{name}` of what is not NaN."


for _name, _otherwise in {"max": -inf, "min": inf}.items():
    _extreme_of_numbers(_name, _otherwise)


@reduction_row(running, "cumsum")
def _cumsum(a: Value, given: ReductionArguments) -> Value:
    """Sums of all elements so far along an axis; with None, of all elements."""
    x, axis = a.b.accumulated(a, given.dtype), given.axis
    if element_of(x.ssa) in COMPLEXES:
        return x.b.complex(*(_cumsum(part, axis) for part in (x.b.real(x), x.b.imag(x))))
    flat, axis = (x.b.ravel(x), 0) if axis is None else (x, axis)
    return x.b.cumsum(flat, axis, dtype=x.dtype)


@reduction_row(running, "cumprod")
def _cumprod(a: Value, given: ReductionArguments) -> Value:
    """Products of all elements so far along an axis; with None, of all elements."""
    x = a.b.accumulated(a, given.dtype)
    found = x.b.cumprod(x.b.ravel(x), 0) if given.axis is None else x.b.cumprod(x, given.axis)
    return found.b.cast(found, x.dtype)


@reduction_row(positions, "argmax")
def _argmax(a: Value, given: ReductionArguments) -> Value:
    """The position of the first of the largest elements along an axis, or of all; NaN counts as the largest."""
    return composed(compositions.argmax, a.b, a, given.axis, given.keepdims)


@reduction_row(positions, "argmin")
def _argmin(a: Value, given: ReductionArguments) -> Value:
    """The position of the first of the smallest elements along an axis, or of all; NaN counts as the smallest."""
    return composed(compositions.argmin, a.b, a, given.axis, given.keepdims)


@row("cov")
def cov(
    m: Operand, y: Operand | None = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Value:
    """Covariances of variables, one in each row or else column, of whose observations `ddof` are not counted."""
    x, axis = _variables(m, m if y is None else y, rowvar)
    if y is not None:
        other, other_axis = _variables(y, m, rowvar)
        x = x.b.concat([x, other if axis == other_axis else other.T], axis)
    less = ddof if ddof is not None else 0 if bias else 1
    # the layout of the data is kept: columns that are transposed are read with strides
    centred = x - x.b.reduce_mean(x, [1 - axis], True)
    conjugate = x.b.conjugate(centred)
    products = centred.T @ conjugate if axis else centred @ conjugate.T
    found = products / float(max(x.shape[1 - axis] - less, 0))
    return found.reshape(()) if found.shape == (1, 1) else found


def _variables(m: Operand, other: Operand, rowvar: bool) -> tuple[Value, int]:
    """Return observations of variables, and which of two axes runs over the variables."""
    x = as_floats(as_value(m, other))
    x = x.astype("f64" if element_of(x.ssa) in FLOATS else "c128")
    check_rank("cov", x, 0, 1, 2)
    return (x.reshape(1, -1), 0) if x.rank < 2 else (x, 0 if rowvar else 1)


@row("corrcoef")
def _corrcoef(x: Operand, y: Operand | None = None, rowvar: bool = True) -> Value:
    """Covariances divided by the two standard deviations."""
    found = cov(x, y, rowvar)
    if not found.rank:
        return found / found
    variance = compositions.diagonal(found.b, found)
    is_complex = element_of(found.ssa) in COMPLEXES
    deviation = ufunc("sqrt", found.b.real(variance) if is_complex else variance)
    found = found / deviation[:, None] / deviation[None, :]
    if is_complex:
        return found.b.complex(
            *(compositions.clip(found.b, part, -1, 1) for part in (found.b.real(found), found.b.imag(found)))
        )
    return ufunc("minimum", ufunc("maximum", found, -1), 1)
