"""Sums, means, products and the extremes of elements along axes."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import (
    NARROW,
    SPECIAL,
    TIES,
    Build,
    Operand,
    Sample,
    Sampler,
    apart,
    ints,
    normal,
    uniform,
    values,
)
from oracle import Array, widen
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import reduce

_REDUCTIONS: tuple[tuple[str, type[Operation], Sampler, bool], ...] = (
    ("reduce_sum", reduce.ReduceSumOp, normal(), False),
    ("reduce_mean", reduce.ReduceMeanOp, normal(), False),
    ("reduce_max", reduce.ReduceMaxOp, apart(), True),
    ("reduce_min", reduce.ReduceMinOp, apart(), True),
    ("reduce_prod", reduce.ReduceProdOp, uniform(0.5, 1.5), False),
)


def _build(name: str, axes: tuple[int, ...], keep_dim: bool) -> Build:
    return lambda m, x: getattr(m, name)(x, axes, keep_dim)


def _in_its_own_type(name: str) -> Build:
    """Of integers that wrap, where the builder would have them in i64."""
    return lambda m, x: getattr(m, name)(x, (1,), dtype=x.dtype)


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for name, op, sampler, exact in _REDUCTIONS:
        for suffix, shape, axes, keep_dim in (
            ("-rows", (3, 5), (1,), False),
            ("-columns", (3, 5), (0,), False),
            ("-columns-keep", (3, 5), (0,), True),
            ("-all", (3, 5), (0, 1), False),
            ("-all-keep", (2, 3, 4), (0, 1, 2), True),
            ("-outer", (2, 3, 4), (0, 2), False),
            ("-inner", (2, 3, 4), (1,), False),
            ("-negative", (2, 3, 4), (-1, -3), True),
            ("-none", (2, 3), (), False),
            ("-one", (3, 1), (1,), False),
            ("-long", (2, 67), (1,), False),
            ("-scalar", (), (), False),
            ("-of-empty", (2, 0, 3), (1,), False),
            ("-empty", (0, 3), (1,), False),
        ):
            if name == "reduce_mean" and suffix == "-of-empty":
                continue
            operand = Operand(shape, sampler)
            build = _build(name, axes, keep_dim)
            wrt = () if exact and suffix == "-of-empty" else (0,)
            rows.append(Sample(name + suffix, op, build, (operand,), differentiable=wrt, tol=32, exact=exact))
        build = _build(name, (1,), False)
        ties = (Operand((3, 7), TIES),)
        rows.append(Sample(f"{name}-ties", op, build, ties, differentiable=(0,), smooth=not exact, tol=32, exact=exact))
        if exact:
            among = (Operand((2, 3, 4), TIES),)
            over = _build(name, (0, 2), False)
            rows.append(Sample(f"{name}-ties-outer", op, over, among, differentiable=(0,), smooth=False, exact=True))
        special = (Operand((13, 2), SPECIAL),)
        rows.append(Sample(f"{name}-special", op, build, special, tol=32, exact=exact))
        narrow = (Operand((3, 9), sampler),)
        rows.append(Sample(f"{name}-narrow", op, build, narrow, NARROW, tol=32, exact=exact))
        columns = _build(name, (0,), False)
        rows.append(Sample(f"{name}-narrow-columns", op, columns, narrow, NARROW, tol=32, exact=exact))
        if name != "reduce_mean":
            own = _in_its_own_type(name) if name in ("reduce_sum", "reduce_prod") else build
            rows.append(Sample(f"{name}-int", op, own, (ints((3, 5)),), ("i32",), exact=True))
    mean = _build("reduce_mean", (1,), False)
    rows.append(Sample("reduce_mean-of-empty", reduce.ReduceMeanOp, mean, (Operand((2, 0)),)))
    for suffix, numbers in (("one-zero", (2.0, 0.0, 3.0, 0.5)), ("two-zeros", (0.0, 2.0, 0.0, 3.0))):
        operand = (Operand((2, 4), values(*numbers)),)
        build = _build("reduce_prod", (1,), True)
        rows.append(Sample(f"reduce_prod-{suffix}", reduce.ReduceProdOp, build, operand, differentiable=(0,)))
    return rows


def _extreme(f: Any, empty: Callable[[np.dtype[Any]], Any]) -> Callable[..., Array]:
    def row(op: reduce.ReduceOp, x: Array) -> Array:
        wide = widen(x)
        return f(wide, axis=op.axis_list, keepdims=op.keep_dim is not None, initial=empty(wide.dtype))

    return row


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _sum(op: reduce.ReduceOp, x: Array) -> Array:
    wide = widen(x)
    return np.sum(wide, axis=op.axis_list, keepdims=op.keep_dim is not None, dtype=wide.dtype)


def _mean(op: reduce.ReduceOp, x: Array) -> Array:
    count = np.prod([x.shape[axis] for axis in op.axis_list])
    return _sum(op, x) / count


def _prod(op: reduce.ReduceOp, x: Array) -> Array:
    wide = widen(x)
    return np.prod(wide, axis=op.axis_list, keepdims=op.keep_dim is not None, dtype=wide.dtype)


def _jax(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, x: f(x, axis=op.axis_list, keepdims=op.keep_dim is not None)


SAMPLES = tuple(_samples())
ORACLE = {
    reduce.ReduceSumOp: _sum,
    reduce.ReduceMeanOp: _mean,
    reduce.ReduceMaxOp: _extreme(np.max, _lowest),
    reduce.ReduceMinOp: _extreme(np.min, _highest),
    reduce.ReduceProdOp: _prod,
}
JAX = {
    reduce.ReduceSumOp: _jax(jnp.sum),
    reduce.ReduceMeanOp: _jax(jnp.mean),
    reduce.ReduceMaxOp: _jax(jnp.max),
    reduce.ReduceMinOp: _jax(jnp.min),
    reduce.ReduceProdOp: _jax(jnp.prod),
}
