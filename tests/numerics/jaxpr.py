"""What JAX has traced, evaluated in NumPy: an interpreter of jaxprs.

JAX differentiates while it traces, so its rules are all in the jaxpr. XLA would compile each, for seven times as long
as tracing takes, to run it once. A primitive that has no row here is run by JAX itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import mpmath
import numpy as np
import scipy.special
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

Array = np.ndarray[Any, Any]


def evaluate(function: Callable[..., Any], *arguments: Any) -> list[Array]:
    """The arrays that a function of JAX returns, a flat list, for arguments that are arrays or lists of them."""
    return trace(function, *arguments)(*arguments)


def trace(function: Callable[..., Any], *arguments: Any) -> Callable[..., list[Array]]:
    """The same for any arguments of the types of these: the function is traced once."""
    traced = jax.make_jaxpr(function)(*arguments)

    def evaluated(*arguments: Any) -> list[Array]:
        with np.errstate(all="ignore"):
            return run(traced.jaxpr, traced.consts, [np.asarray(x) for x in jax.tree.leaves(arguments)])

    return evaluated


def run(jaxpr: Jaxpr, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Array]:
    """The results of a jaxpr."""
    env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

    def read(atom: Any) -> Any:
        return np.asarray(atom.val if isinstance(atom, Literal) else env[atom])

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        name = equation.primitive.name
        if name in CALLS:
            found: Any = CALLS[name](equation.params, *operands)
        elif name in ROWS:
            found = ROWS[name](*operands, **equation.params)
        elif name in PLAIN:
            found = PLAIN[name](*operands)
        else:
            found = equation.primitive.bind(*operands, **equation.params)
        results = found if isinstance(found, list | tuple) else [found]
        for variable, result in zip(equation.outvars, results, strict=True):
            aval: Any = variable.aval
            env[variable] = np.asarray(result).astype(aval.dtype, copy=False)
            assert env[variable].shape == aval.shape, f"{name}: {env[variable].shape} for {aval}"
    return [read(atom) for atom in jaxpr.outvars]


def _closed(jaxpr: ClosedJaxpr, *arguments: Any) -> list[Array]:
    return run(jaxpr.jaxpr, jaxpr.consts, arguments)


def _scan(params: dict[str, Any], *operands: Any) -> list[Array]:
    fixed, carried, length = params["num_consts"], params["num_carry"], params["length"]
    consts, carry, xs = operands[:fixed], list(operands[fixed : fixed + carried]), operands[fixed + carried :]
    steps = range(length)[::-1] if params["reverse"] else range(length)
    rows: dict[int, list[Array]] = {}
    for step in steps:
        found = _closed(params["jaxpr"], *consts, *carry, *(x[step] for x in xs))
        carry, rows[step] = found[:carried], found[carried:]
    avals = params["jaxpr"].out_avals[carried:]
    return [
        *carry,
        *(
            np.stack([rows[step][n] for step in range(length)]) if length else np.zeros((0, *aval.shape), aval.dtype)
            for n, aval in enumerate(avals)
        ),
    ]


def _while(params: dict[str, Any], *operands: Any) -> list[Array]:
    split = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    conditions, bodies, carry = operands[: split[0]], operands[split[0] : split[1]], list(operands[split[1] :])
    while (going := np.asarray(_closed(params["cond_jaxpr"], *conditions, *carry)[0])).any():
        # of a batch, those that are done keep what they have
        after = _closed(params["body_jaxpr"], *bodies, *carry)
        carry = [
            np.where(going.reshape(going.shape + (1,) * (x.ndim - going.ndim)), x, c)
            for x, c in zip(after, carry, strict=True)
        ]
    return carry


def _cond(params: dict[str, Any], index: Any, *operands: Any) -> list[Array]:
    branches = params["branches"]
    return _closed(branches[min(max(int(index), 0), len(branches) - 1)], *operands)


CALLS: dict[str, Callable[..., list[Array]]] = {
    "jit": lambda params, *xs: _closed(params["jaxpr"], *xs),
    "pjit": lambda params, *xs: _closed(params["jaxpr"], *xs),
    "custom_jvp_call": lambda params, *xs: _closed(params["call_jaxpr"], *xs),
    "custom_vjp_call": lambda params, *xs: _closed(params["call_jaxpr"], *xs),
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "checkpoint": lambda params, *xs: run(params["jaxpr"], (), xs),
    "closed_call": lambda params, *xs: _closed(params["call_jaxpr"], *xs),
}
"""Primitives that run other jaxprs."""


def _div(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu":
        return np.where(y == 0, -1, np.sign(x) * np.sign(y) * (np.abs(x) // np.maximum(np.abs(y), 1)))
    return np.divide(x, y)


def _sign(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))
    return np.where(np.isnan(x), x, np.sign(x))


def _logistic(x: Array) -> Array:
    return scipy.special.expit(x)


def _igamma_grad_a(a: float, x: float) -> float:
    return float(mpmath.diff(lambda t: mpmath.gammainc(t, 0, x, regularized=True), a))


PLAIN: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "add": np.add,
    "add_any": np.add,
    "and": np.bitwise_and,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "complex": lambda re, im: re + 1j * im,
    "cosh": np.cosh,
    "digamma": scipy.special.digamma,
    "div": _div,
    "eq": np.equal,
    "erf_inv": scipy.special.erfinv,
    "floor": np.floor,
    "ge": np.greater_equal,
    "gt": np.greater,
    "imag": np.imag,
    "is_finite": np.isfinite,
    "le": np.less_equal,
    "bessel_i0e": scipy.special.i0e,
    "bessel_i1e": scipy.special.i1e,
    "igamma": scipy.special.gammainc,
    "igamma_grad_a": np.vectorize(_igamma_grad_a),
    "igammac": scipy.special.gammaincc,
    "lgamma": scipy.special.gammaln,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "nextafter": np.nextafter,
    "not": np.invert,
    "or": np.bitwise_or,
    "pow": np.power,
    "polygamma": scipy.special.polygamma,
    "real": np.real,
    "regularized_incomplete_beta": scipy.special.betainc,
    "rem": np.fmod,
    # XLA compares with the numbers of cases, so that one beyond the last is the last
    "select_n": lambda which, *cases: np.choose(which.astype(np.intp), cases, mode="clip"),
    "sign": _sign,
    "sinh": np.sinh,
    "square": np.square,
    "stop_gradient": np.asarray,
    "sub": np.subtract,
    "xor": np.bitwise_xor,
    "zeta": scipy.special.zeta,
}
"""Primitives whose parameters do not change what they compute."""


def _broadcast_in_dim(x: Array, *_: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int], **__: Any) -> Array:
    full = [1] * len(shape)
    for axis, extent in zip(broadcast_dimensions, x.shape, strict=True):
        full[axis] = extent
    return np.broadcast_to(x.reshape(full), shape)


def _dot_general(x: Array, y: Array, dimension_numbers: Any, **_: Any) -> Array:
    (left, right), (left_batch, right_batch) = dimension_numbers
    names = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for a, b in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        names[1][b] = names[0][a]
    free = [n for a, n in enumerate(names[0]) if a not in (*left, *left_batch)]
    others = [n for a, n in enumerate(names[1]) if a not in (*right, *right_batch)]
    return np.einsum(x, names[0], y, names[1], [*(names[0][a] for a in left_batch), *free, *others])


def _pad(x: Array, value: Array, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    spread = [max(0, n + (n - 1) * inner) for n, (_, _, inner) in zip(x.shape, padding_config, strict=True)]
    dilated = np.full(spread, value, x.dtype)
    dilated[tuple(slice(None, None, inner + 1) for _, _, inner in padding_config)] = x
    widths = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    padded = np.pad(dilated, widths, constant_values=value)
    return padded[
        tuple(
            slice(max(-low, 0), n - max(-high, 0))
            for n, (low, high, _) in zip(padded.shape, padding_config, strict=True)
        )
    ]


def _reshape(x: Array, new_sizes: Sequence[int], dimensions: Sequence[int] | None, **_: Any) -> Array:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


def _extreme(reduce: Callable[..., Any], infinity: float) -> Callable[..., Any]:
    def over(x: Array, axes: Sequence[int], **_: Any) -> Array:
        least = infinity
        if x.dtype.kind in "iu":
            least = np.iinfo(x.dtype).min if infinity < 0 else np.iinfo(x.dtype).max
        return reduce(x, axis=tuple(axes), initial=least)

    return over


def _reducer(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes, **_: reduce(x, axis=tuple(axes))


def _index_of(search: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes, index_dtype: search(x, axis=axes[0])


def _running(accumulate: Callable[..., Any]) -> Callable[..., Any]:
    def run_along(x: Array, axis: int, reverse: bool) -> Array:
        return np.flip(accumulate(np.flip(x, axis), axis), axis) if reverse else accumulate(x, axis)

    return run_along


def _sort(*xs: Array, dimension: int, num_keys: int, **_: Any) -> list[Array]:
    if num_keys == 1:
        order = np.argsort(xs[0], axis=dimension, kind="stable")
    else:
        order = np.lexsort([*reversed(xs[:num_keys])], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _starts(x: Array, starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    clamped = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(clamped, sizes, strict=True))


def _dynamic_update_slice(x: Array, update: Array, *starts: Any, **_: Any) -> Array:
    result = x.copy()
    result[_starts(x, starts, update.shape)] = update
    return result


def _iota(*_: Any, dtype: Any, shape: Sequence[int], dimension: int, **__: Any) -> Array:
    own = [-1 if axis == dimension else 1 for axis in range(len(shape))]
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(own), shape)


def _split(x: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def _fft(x: Array, fft_type: Any, fft_lengths: Sequence[int]) -> Array:
    kind, axes = str(getattr(fft_type, "name", fft_type)).lower(), tuple(range(-len(fft_lengths), 0))
    functions = {"fft": np.fft.fftn, "ifft": np.fft.ifftn, "rfft": np.fft.rfftn, "irfft": np.fft.irfftn}
    return functions[kind](x, tuple(fft_lengths), axes)


def _round(x: Array, rounding_method: Any) -> Array:
    return np.rint(x) if int(rounding_method) else np.copysign(np.floor(np.abs(x) + 0.5), x)


def _convert(x: Array, new_dtype: Any, **_: Any) -> Array:
    return x.real.astype(new_dtype) if x.dtype.kind == "c" and np.dtype(new_dtype).kind != "c" else x.astype(new_dtype)


def _slice(
    x: Array, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None
) -> Array:
    steps = strides or [1] * x.ndim
    return x[tuple(slice(*bounds) for bounds in zip(start_indices, limit_indices, steps, strict=True))]


def _unary(function: Callable[[Array], Any]) -> Callable[..., Any]:
    return lambda x, **_: function(x)


def _windows(starts: Array, where: Any, sizes: Sequence[int], batching: Sequence[tuple[int, int]]) -> list[Array]:
    """An index per dimension of the operand, all of the shape `[batch.., sizes..]`."""
    batch, rank = starts.shape[:-1], len(sizes)
    found = [np.arange(n).reshape([n if axis == d else 1 for axis in range(rank)]) for d, n in enumerate(sizes)]
    for number, d in enumerate(where):
        found[d] = found[d] + starts[..., number].astype(np.int64).reshape(*batch, *[1] * rank)
    for d, axis in batching:
        own = np.arange(batch[axis]).reshape([-1 if a == axis else 1 for a in range(len(batch))])
        found[d] = found[d] + own.reshape(*own.shape, *[1] * rank)
    return [np.broadcast_to(index, (*batch, *sizes)) for index in found]


def _inside(index: Sequence[Array], shape: Sequence[int], rank: int) -> Array:
    """Which windows lie within the operand whole, of the shape of the batch with 1 for each axis of the window."""
    inside = np.ones(index[0].shape if index else (), bool)
    for own, n in zip(index, shape, strict=True):
        inside = inside & (own >= 0) & (own < n)
    return inside.all(axis=tuple(range(-rank, 0)), keepdims=True)


def _clipped(starts: Array, where: Any, sizes: Sequence[int], shape: Sequence[int], mode: Any) -> Array:
    if "CLIP" not in str(mode).upper():
        return starts
    limits = np.array([shape[d] - sizes[d] for d in where], np.int64)
    return np.clip(starts.astype(np.int64), 0, limits)


def _gather(
    x: Array, starts: Array, dimension_numbers: Any, slice_sizes: Sequence[int], mode: Any, fill_value: Any, **_: Any
) -> Array:
    d = dimension_numbers
    starts = _clipped(starts, d.start_index_map, slice_sizes, x.shape, mode)
    batching = list(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    index = _windows(starts, d.start_index_map, slice_sizes, batching)
    inside = _inside(index, x.shape, x.ndim)
    bounded = tuple(np.clip(own, 0, max(n - 1, 0)) for own, n in zip(index, x.shape, strict=True))
    taken = x[bounded] if x.size else np.zeros(inside.shape[: starts.ndim - 1] + tuple(slice_sizes), x.dtype)
    missing = fill_value if fill_value is not None else (np.nan if x.dtype.kind in "fc" else 0)
    result = np.where(inside, taken, np.asarray(missing).astype(x.dtype))
    batch = starts.ndim - 1
    gone = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    kept = [n for axis, n in enumerate(result.shape) if axis - batch not in gone]
    result = result.reshape(kept)
    return np.moveaxis(result, range(batch, result.ndim), d.offset_dims)


def _scatter(combine: Callable[..., None]) -> Callable[..., Array]:
    def scatter(x: Array, starts: Array, updates: Array, dimension_numbers: Any, mode: Any, **_: Any) -> Array:
        d, batch = dimension_numbers, starts.ndim - 1
        gone = sorted((*d.inserted_window_dims, *d.operand_batching_dims))
        values = np.moveaxis(updates, d.update_window_dims, range(batch, updates.ndim))
        values = np.expand_dims(values, tuple(batch + axis for axis in gone))
        sizes = values.shape[batch:]
        starts = _clipped(starts, d.scatter_dims_to_operand_dims, sizes, x.shape, mode)
        batching = list(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True))
        index = _windows(starts, d.scatter_dims_to_operand_dims, sizes, batching)
        kept = np.broadcast_to(_inside(index, x.shape, x.ndim), values.shape)
        result = x.copy()
        combine(result, tuple(own[kept] for own in index), values[kept])
        return result

    return scatter


def _put(x: Array, index: Any, values: Array) -> None:
    x[index] = values


def _sliding(x: Array, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """The windows of `x`, of the shape `[places.., sizes..]`."""
    spread = [(n - 1) * d + 1 for n, d in zip(sizes, dilations, strict=True)]
    if any(n < own for n, own in zip(x.shape, spread, strict=True)):
        places = [max(0, (n - own) // s + 1) for n, own, s in zip(x.shape, spread, strides, strict=True)]
        return np.zeros((*places, *sizes), x.dtype)
    windows = np.lib.stride_tricks.sliding_window_view(x, spread)
    return windows[tuple(slice(None, None, step) for step in (*strides, *dilations))]


def _reduce_window(reduce: Callable[..., Any], neutral: float) -> Callable[..., Array]:
    def over(
        x: Array,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        base_dilation: Sequence[int],
        window_dilation: Sequence[int],
    ) -> Array:
        widths = [(low, high, d - 1) for (low, high), d in zip(padding, base_dilation, strict=True)]
        padded = _pad(x, np.asarray(neutral, x.dtype), widths)
        windows = _sliding(padded, window_dimensions, window_strides, window_dilation)
        return reduce(windows, axis=tuple(range(x.ndim, 2 * x.ndim)))

    return over


def _select_and_scatter_add(
    source: Array,
    x: Array,
    select_prim: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Array:
    """The source's elements added where the first extreme of their windows is."""
    largest = select_prim.name == "ge"
    fill = np.asarray(-np.inf if largest else np.inf, x.dtype)
    widths = [(low, high, 0) for low, high in padding]
    ones = [1] * x.ndim
    windows = _sliding(_pad(x, fill, widths), window_dimensions, window_strides, ones)
    flat = windows.reshape(*source.shape, int(np.prod(window_dimensions)))
    at = np.unravel_index(flat.argmax(-1) if largest else flat.argmin(-1), tuple(window_dimensions))
    index = [
        place * step + own - low
        for place, step, own, (low, _) in zip(np.indices(source.shape), window_strides, at, padding, strict=True)
    ]
    result = np.zeros_like(x)
    np.add.at(result, tuple(index), source)
    return result


def _convolution(
    x: Array,
    kernel: Array,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> Array:
    x, kernel = x.transpose(dimension_numbers.lhs_spec), kernel.transpose(dimension_numbers.rhs_spec)
    groups = max(feature_group_count, batch_group_count)
    if batch_group_count > 1:
        x = np.moveaxis(x.reshape(batch_group_count, x.shape[0] // batch_group_count, *x.shape[1:]), 0, 1)
        x = x.reshape(x.shape[0], batch_group_count * x.shape[2], *x.shape[3:])
    dilated = [(low, high, d - 1) for (low, high), d in zip(padding, lhs_dilation, strict=True)]
    x = _pad(x, np.zeros((), x.dtype), [(0, 0, 0)] * 2 + dilated)
    windows = _sliding(x, (1, 1, *kernel.shape[2:]), (1, 1, *window_strides), (1, 1, *rhs_dilation))
    space = len(window_strides)
    windows = windows.squeeze((2 + space, 3 + space))
    windows = windows.reshape(x.shape[0], groups, x.shape[1] // groups, *windows.shape[2:])
    kernel = kernel.reshape(groups, kernel.shape[0] // groups, *kernel.shape[1:])
    places, taps = range(10, 10 + space), range(20, 20 + space)
    result = np.einsum(windows, [0, 1, 2, *places, *taps], kernel, [1, 3, 2, *taps], [0, 1, 3, *places])
    result = result.reshape(result.shape[0], groups * kernel.shape[1], *result.shape[3:])
    return result.transpose(np.argsort(dimension_numbers.out_spec))


ROWS: dict[str, Callable[..., Any]] = {
    "argmax": _index_of(np.argmax),
    "argmin": _index_of(np.argmin),
    "broadcast_in_dim": _broadcast_in_dim,
    "cbrt": _unary(np.cbrt),
    "concatenate": lambda *xs, dimension: np.concatenate(xs, dimension),
    "conj": _unary(np.conj),
    "convert_element_type": _convert,
    "conv_general_dilated": _convolution,
    "copy": _unary(np.copy),
    "cos": _unary(np.cos),
    "cummax": _running(np.maximum.accumulate),
    "cumprod": _running(np.cumprod),
    "cumsum": _running(np.cumsum),
    "dot_general": _dot_general,
    "dynamic_slice": lambda x, *starts, slice_sizes: x[_starts(x, starts, slice_sizes)],
    "dynamic_update_slice": _dynamic_update_slice,
    "erf": _unary(scipy.special.erf),
    "erfc": _unary(scipy.special.erfc),
    "exp": _unary(np.exp),
    "exp2": _unary(np.exp2),
    "expm1": _unary(np.expm1),
    "fft": _fft,
    "gather": _gather,
    "integer_pow": lambda x, y: np.power(x, y) if y >= 0 else 1 / np.power(x, -y),
    "iota": _iota,
    "log": _unary(np.log),
    "log1p": _unary(np.log1p),
    "logistic": _unary(_logistic),
    "pad": _pad,
    "reduce_and": _reducer(np.logical_and.reduce),
    "reduce_max": _extreme(np.max, -np.inf),
    "reduce_min": _extreme(np.min, np.inf),
    "reduce_or": _reducer(np.logical_or.reduce),
    "reduce_prod": _reducer(np.prod),
    "reduce_sum": _reducer(np.sum),
    "reduce_window_max": _reduce_window(np.max, -np.inf),
    "reduce_window_min": _reduce_window(np.min, np.inf),
    "reduce_window_sum": _reduce_window(np.sum, 0),
    "reshape": _reshape,
    "rev": lambda x, dimensions: np.flip(x, dimensions),
    "round": _round,
    "rsqrt": _unary(lambda x: 1 / np.sqrt(x)),
    "scatter": _scatter(_put),
    "scatter-add": _scatter(np.add.at),
    "select_and_scatter_add": _select_and_scatter_add,
    "sin": _unary(np.sin),
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "sqrt": _unary(np.sqrt),
    "squeeze": lambda x, dimensions: np.squeeze(x, tuple(dimensions)),
    "stack": lambda *xs, **p: np.stack(xs, p.get("axis", p.get("dimension", 0))),
    "tan": _unary(np.tan),
    "tanh": _unary(np.tanh),
    "transpose": lambda x, permutation: np.transpose(x, permutation),
    "unstack": lambda x, **p: [np.take(x, n, p.get("axis", 0)) for n in range(x.shape[p.get("axis", 0)])],
}
"""Primitives with parameters."""
