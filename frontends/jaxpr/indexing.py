"""Rows of gathers, scatters, slices at traced positions, padding, windows, convolutions and sorts."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import like, wider
from xdsl_rlx.frontends.shared.convolutions import ConvDims, ConvWindows, convolution
from xdsl_rlx.frontends.shared.gathers import GatherDims, gather
from xdsl_rlx.frontends.shared.scatters import ScatterDims, scatter
from xdsl_rlx.frontends.shared.slices import dynamic_slice, dynamic_update_slice, pad
from xdsl_rlx.frontends.shared.values import traced
from xdsl_rlx.frontends.shared.windows import Windows, neutral, reduce_window, reduce_window_by
from xdsl_rlx.tree_control import while_loop
from xdsl_rlx.tree_functions import jvp, vjp


def _integers(xs: Any) -> tuple[int, ...]:
    return tuple(int(x) for x in xs)


def _pairs(xs: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(a), int(b)) for a, b in xs)


def _mode(c: Call) -> str:
    return str(getattr(c.params["mode"], "name", c.params["mode"]))


@ROWS.add("gather", composite=True)
def _gather(c: Call, operand: Any, indices: Any) -> Any:
    numbers, rank = c.params["dimension_numbers"], len(c.shape)
    # the words of keys are a further axis of each slice
    words = range(len(c.eqn.outvars[0].aval.shape), rank)
    dims = GatherDims(
        (*_integers(numbers.offset_dims), *words),
        _integers(numbers.collapsed_slice_dims),
        _integers(numbers.start_index_map),
        _integers(numbers.operand_batching_dims),
        _integers(numbers.start_indices_batching_dims),
    )
    sizes = _integers(c.params["slice_sizes"])
    mode = "fill" if _mode(c) == "FILL_OR_DROP" else "clip"
    return gather(operand, indices, dims, (*sizes, *np.shape(operand)[len(sizes) :]), mode, c.params["fill_value"])


_KINDS = {
    "scatter": "set",
    "scatter-add": "add",
    "scatter-max": "max",
    "scatter-min": "min",
    "scatter-mul": "mul",
    "scatter-sub": "sub",
}


@ROWS.add(*_KINDS, composite=True)
def _scatter(c: Call, operand: Any, indices: Any, updates: Any) -> Any:
    numbers, kind = c.params["dimension_numbers"], _KINDS[c.eqn.primitive.name]
    dims = ScatterDims(
        _integers(numbers.update_window_dims),
        _integers(numbers.inserted_window_dims),
        _integers(numbers.scatter_dims_to_operand_dims),
        _integers(numbers.operand_batching_dims),
        _integers(numbers.scatter_indices_batching_dims),
    )
    mode = "clip" if _mode(c) == "CLIP" else "drop"
    body = c.params["update_jaxpr"]
    if kind == "set" and body is not None and body.eqns:
        return _scatter_apply(c, operand, indices, updates, dims, mode)
    return scatter(operand, indices, updates, dims, kind, mode, bool(c.params["unique_indices"]))


def _scatter_apply(c: Call, operand: Any, indices: Any, updates: Any, dims: ScatterDims, mode: str) -> Any:
    """A function of each element that an index names, as often as indices name it."""
    body = _closed(c.params["update_jaxpr"], c.params["update_consts"])
    x, ones = traced(operand), np.ones(np.shape(updates), np.int32)
    times = traced(scatter(np.zeros(x.shape, np.int32), indices, ones, dims, "add", mode))

    def applied(done: Any, x: Any) -> Any:
        return np.where(times > done, c.walk.map(c.eqn, body, [x, x])[0], x)

    if c.params["unique_indices"]:
        return applied(np.int32(0), x)
    start = traced(np.int32(0)), x
    most = max(int(ones.size), 1)
    after = while_loop(
        lambda carry: np.any(times > carry[0]), lambda carry: (carry[0] + 1, applied(*carry)), start, most
    )
    return after[1]


def _closed(jaxpr: Any, consts: Sequence[Any] = ()) -> Any:
    from jax.extend.core import ClosedJaxpr

    return jaxpr if hasattr(jaxpr, "consts") else ClosedJaxpr(jaxpr, tuple(consts))


@ROWS.add("dynamic_slice", composite=True)
def _dynamic_slice(c: Call, operand: Any, *starts: Any) -> Any:
    sizes = _integers(c.params["slice_sizes"])
    hidden = np.shape(operand)[len(sizes) :]
    return dynamic_slice(operand, [*starts, *[np.int64(0)] * len(hidden)], (*sizes, *hidden))


@ROWS.add("dynamic_update_slice", composite=True)
def _dynamic_update_slice(c: Call, operand: Any, update: Any, *starts: Any) -> Any:
    hidden = np.ndim(operand) - len(starts)
    return dynamic_update_slice(operand, update, [*starts, *[np.int64(0)] * hidden])


@ROWS.add("pad")
def _pad(c: Call, operand: Any, value: Any) -> Any:
    low, high, interior = zip(*c.params["padding_config"], strict=True) if c.params["padding_config"] else ((), (), ())
    return pad(operand, value, _integers(low), _integers(high), _integers(interior)) if low else operand


@ROWS.add("conv_general_dilated", composite=True)
def _conv_general_dilated(c: Call, lhs: Any, rhs: Any) -> Any:
    numbers, params = c.params["dimension_numbers"], c.params
    dims = ConvDims(*(_integers(one) for one in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)))
    windows = ConvWindows(
        _integers(params["window_strides"]),
        _pairs(params["padding"]),
        _integers(params["lhs_dilation"]),
        _integers(params["rhs_dilation"]),
    )
    groups, batches = int(params["feature_group_count"]), int(params["batch_group_count"])
    return convolution(lhs, rhs, dims, windows, groups, batches, dtype=wider(c.given, c.dtype))


def _windows(c: Call) -> Windows:
    params = c.params
    sizes = _integers(params["window_dimensions"])
    ones = (1,) * len(sizes)
    return Windows(
        sizes,
        _integers(params["window_strides"]),
        _pairs(params["padding"]),
        _integers(params.get("base_dilation", ones)),
        _integers(params.get("window_dilation", ones)),
    )


@ROWS.add("reduce_window_sum", "reduce_window_max", "reduce_window_min", composite=True)
def _reduce_window(c: Call, operand: Any) -> Any:
    kind = {"reduce_window_sum": "add", "reduce_window_max": "max", "reduce_window_min": "min"}[c.eqn.primitive.name]
    return reduce_window(operand, like(neutral(kind, c.dtype), c.dtype), kind, _windows(c))


def _selected(c: Call) -> str:
    return {"ge": "max", "le": "min"}[str(c.params["select_prim"])]


@ROWS.add("select_and_scatter_add", composite=True)
def _select_and_scatter_add(c: Call, source: Any, operand: Any) -> Any:
    """The gradient of a reduction of windows: to the element of each window that it selects."""
    kind = _selected(c)
    start = like(neutral(kind, c.dtype), c.dtype)
    return vjp(lambda x: reduce_window(x, start, kind, _windows(c)))((traced(operand),), traced(source))[1][0]


@ROWS.add("select_and_gather_add", composite=True)
def _select_and_gather_add(c: Call, tangents: Any, operand: Any) -> Any:
    """The tangents at the elements of windows that a reduction selects."""
    kind = _selected(c)
    start = like(neutral(kind, c.dtype), c.dtype)
    return jvp(lambda x: reduce_window(x, start, kind, _windows(c)))((traced(operand),), (traced(tangents),))[1]


ROWS.refuse("no operation selects by a function; jax.lax.reduce_window has max and min", "select_and_scatter")


_BODIES = {"add": "add", "mul": "mul", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor"}


def body_kind(jaxpr: Any) -> str | None:
    """The name of a reduction's body that is one operation on both of its arguments; None for another one."""
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    own = [one for one in eqn.invars if not hasattr(one, "val")]
    whole = len(own) == 2 and set(own) == set(jaxpr.invars) and list(jaxpr.outvars) == list(eqn.outvars)
    return _BODIES.get(eqn.primitive.name) if whole else None


@ROWS.add("reduce_window", composite=True)
def _reduce_window_by(c: Call, *operands: Any) -> Any:
    count = len(operands) // 2
    body = c.params["jaxpr"]
    kind = body_kind(getattr(body, "jaxpr", body))
    if kind is not None and kind != "xor":
        return reduce_window(operands[0], operands[1], kind, _windows(c))

    def combine(xs: Sequence[Any], ys: Sequence[Any]) -> Sequence[Any]:
        return c.walk.map(c.eqn, _closed(body, c.params.get("consts", ())), [*xs, *ys])

    return reduce_window_by(operands[:count], operands[count:], combine, _windows(c))


@ROWS.add("reduce", composite=True)
def _reduce(c: Call, *operands: Any) -> Any:
    """By halves: the function of a reduction is associative, as JAX asks."""
    count = len(operands) // 2
    axes, body = _integers(c.params["dimensions"]), _closed(c.params["jaxpr"])
    xs, inits = list(operands[:count]), operands[count:]
    rest = [axis for axis in range(np.ndim(xs[0])) if axis not in axes]
    shape = [np.shape(xs[0])[axis] for axis in rest]
    size = int(np.prod([np.shape(xs[0])[axis] for axis in axes]))
    xs = [np.reshape(np.transpose(traced(x), (*axes, *rest)), (size, *shape)) for x in xs]

    def combine(some: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        return c.walk.map(c.eqn, body, [*some, *others])

    while size > 1:
        half = size // 2
        joined = combine([x[:half] for x in xs], [x[half : 2 * half] for x in xs])
        if size % 2:
            joined = [np.concatenate([one, x[2 * half :]]) for one, x in zip(joined, xs, strict=True)]
        xs, size = joined, size - half
    start = [np.broadcast_to(traced(one), tuple(shape)) for one in inits]
    return combine(start, [x[0] for x in xs]) if size else start


@ROWS.add("sort", composite=True)
def _sort(c: Call, *operands: Any) -> Any:
    """By each key in turn, the last one first: each sort is stable."""
    axis, keys = int(c.params["dimension"]), int(c.params["num_keys"])
    xs: list[Any] = [traced(x) for x in operands]
    if len(xs) == 1:
        return np.sort(xs[0], axis)
    order: Any = None
    for key in reversed(xs[:keys]):
        found = np.argsort(key if order is None else np.take_along_axis(key, order, axis), axis, stable=True)
        order = found if order is None else np.take_along_axis(order, found, axis)
    return [np.take_along_axis(x, order, axis) for x in xs]
