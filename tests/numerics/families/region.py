"""Regions of elementwise ops and of resizes. What they mean is what the ops in them do."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Operand, Sample, ints
from oracle import Array, evaluate_block
from xdsl.ir import Block

from xdsl_rlx.dialects.mir import region
from xdsl_rlx.dialects.mir.bodies import end_of, ops_of

_EVERY_KIND = Sample(
    "elementwise_region",
    region.ElementwiseRegionOp,
    lambda m, x, y, n: m.elementwise_region(
        lambda a, b, k: m.where(m.gt(k, 0), m.tanh(a * b), m.cast(k, a.dtype) - a / (b * b + 1.0)), x, y, n
    ),
    (Operand((3, 4)), Operand((4,)), ints((3, 1))),
    differentiable=(0, 1),
    tol=16,
)


def _region(name: str, build: Any, *operands: Operand, **more: Any) -> Sample:
    wrt = more.pop("differentiable", tuple(range(len(operands))))
    op = region.ElementwiseRegionOp
    return Sample(f"elementwise_region-{name}", op, build, operands, differentiable=wrt, tol=16, **more)


def _batch(name: str, build: Any, *operands: Operand, **more: Any) -> Sample:
    op, wrt = region.BatchElementwiseRegionOp, tuple(range(len(operands)))
    return Sample(f"batch_elementwise_region{name}", op, build, operands, differentiable=wrt, tol=16, **more)


def _twice(m: Any, x: Any) -> Any:
    return m.transform_region(lambda a: m.resize_nearest_2x(m.resize_nearest_2x(a)), x)


def _resized(name: str, build: Any, shape: tuple[int, ...]) -> Sample:
    return Sample(f"transform_region{name}", region.TransformRegionOp, build, (Operand(shape),), differentiable=(0,))


_SUM = lambda m, x, y: m.elementwise_region(lambda a, b: m.sin(a) + b * a, x, y)  # noqa: E731

SAMPLES = (
    _EVERY_KIND,
    # the element counts divide each other, and so an index modulo a count would read the wrong elements
    _region("column", _SUM, Operand((3, 1)), Operand((3, 6))),
    _region("middle", _SUM, Operand((2, 1, 4)), Operand((2, 2, 4))),
    _region("outer", _SUM, Operand((3, 1)), Operand((1, 6))),
    _region("scalar", _SUM, Operand(()), Operand((2, 3))),
    _region("rank", _SUM, Operand((2, 3, 4)), Operand((3, 1))),
    _region("empty", _SUM, Operand((0, 3)), Operand((3,))),
    _region(
        "captured", lambda m, x, y: m.elementwise_region(lambda a: a * m.exp(y), x), Operand((2, 3)), Operand((3,))
    ),
    _region("same", lambda m, x: m.elementwise_region(lambda a: a, x), Operand((3,))),
    _region("compare", lambda m, x, y: m.elementwise_region(m.lt, x, y), ints((3, 1)), ints((4,)), differentiable=()),
    Sample(
        "elementwise_region-narrow",
        region.ElementwiseRegionOp,
        lambda m, x: m.elementwise_region(lambda a: m.silu(a) * 2.0, x),
        (Operand((3, 4)),),
        NARROW,
        tol=16,
    ),
    _region(
        "prologue",
        lambda m, x, y, s: m.elementwise_region(
            lambda a, b: m.sin(m.resize_nearest_2x(m.resize_nearest_2x(a))) * m.resize_nearest_2x(b) + s, x, y
        ),
        Operand((2, 1, 1, 2)),
        Operand((1, 3, 2, 4)),
        Operand((4, 1)),
    ),
    _resized("", _twice, (2, 3, 2, 1)),
    _resized("-none", lambda m, x: m.transform_region(lambda a: a, x), (1, 2, 2, 2)),
    _batch("", lambda m, x, y: m.batch_elementwise_region(lambda a: m.tanh(a) * 2.0, [x, y]), *2 * [Operand((1, 3))]),
    _batch(
        "-captured",
        lambda m, x, y, z, s: m.batch_elementwise_region(lambda a: m.exp(a * s) + s, (x, y, z)),
        *3 * [Operand((2, 3))],
        Operand((3,)),
    ),
    _batch(
        "-prologue",
        lambda m, x, y: m.batch_elementwise_region(lambda a: m.tanh(m.resize_nearest_2x(a)), [x, y]),
        *2 * [Operand((1, 2, 2, 1))],
    ),
    _batch("-one", lambda m, x: m.batch_elementwise_region(m.sin, [x, x]), Operand((2,))),
    _batch("-empty", lambda m, x, y: m.batch_elementwise_region(m.sin, [x, y]), *2 * [Operand((0, 2))]),
)


def _jax_block(block: Block, inputs: tuple[Any, ...]) -> Any:
    from numerics.families import JAX

    env = dict(zip(block.args, inputs, strict=True))
    for op in ops_of(block):
        env[op.results[0]] = JAX[type(op)](op, *(env[x] for x in op.operands))
    return env[end_of(block).values[0]]


def _inside(op: Any, *xs: Array) -> Array:
    return evaluate_block(op.body.block, xs)[0]


def _batch_inside(op: Any, *xs: Array) -> Array:
    n = len(op.inputs)
    return np.concatenate([evaluate_block(op.body.block, [x, *xs[n:]])[0] for x in xs[:n]])


def _jax_inside(op: Any, *xs: Any) -> Any:
    return _jax_block(op.body.block, xs)


def _jax_batch_inside(op: Any, *xs: Any) -> Any:
    n = len(op.inputs)
    return jnp.concatenate([_jax_block(op.body.block, (x, *xs[n:])) for x in xs[:n]])


ORACLE = {
    region.ElementwiseRegionOp: _inside,
    region.TransformRegionOp: _inside,
    region.BatchElementwiseRegionOp: _batch_inside,
}
JAX = {
    region.ElementwiseRegionOp: _jax_inside,
    region.TransformRegionOp: _jax_inside,
    region.BatchElementwiseRegionOp: _jax_batch_inside,
}
