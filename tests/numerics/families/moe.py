"""Products by experts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import Build, Operand, Sample, integers, values
from oracle import Array, convert, widen

from xdsl_rlx.dialects.mir import moe
from xdsl_rlx.dialects.shapes import shape_of

Op = moe.GroupedMatmulOp
Weight = moe.GroupedMatmulBackwardWeightOp


def _product(transpose: bool = False) -> Build:
    return lambda m, x, w, i: m.grouped_matmul(x, w, i, transpose)


def _weight(experts: int) -> Build:
    return lambda m, x, g, i: m.grouped_matmul_backward_weight(x, g, i, experts)


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, m, e, k, n, ids in (
        ("", 7, 3, 4, 5, Operand((7,), integers(0, 3), "i64")),
        ("-idle", 5, 4, 3, 2, Operand((5,), values(2, 0, 2), "i32")),
        ("-outside", 6, 3, 2, 4, Operand((6,), values(-5, 7, 1, 0, 3), "i64")),
        ("-f32-ids", 4, 3, 3, 1, Operand((4,), values(2, 0, 1, 2), "f32")),
        ("-one-expert", 5, 1, 3, 4, Operand((5,), values(0), "i64")),
        ("-one-row", 1, 3, 1, 2, Operand((1,), values(1), "i64")),
        ("-no-rows", 0, 2, 3, 4, Operand((0,), values(0), "i64")),
        ("-no-columns", 3, 2, 3, 0, Operand((3,), values(0, 1), "i64")),
        ("-no-inner", 3, 2, 0, 4, Operand((3,), values(0, 1), "i64")),
    ):
        tensors = (Operand((m, k)), Operand((e, k, n)), ids)
        turned = (Operand((m, k)), Operand((e, n, k)), ids)
        pair = (Operand((m, k)), Operand((m, n)), ids)
        both = (0, 1)
        rows.append(Sample(f"grouped_matmul{suffix}", Op, _product(), tensors, differentiable=both))
        rows.append(Sample(f"grouped_matmul-transposed{suffix}", Op, _product(True), turned, differentiable=both))
        name = f"grouped_matmul_backward_weight{suffix}"
        rows.append(Sample(name, Weight, _weight(e), pair, differentiable=both))
    ids = Operand((1100,), values(1, 1, 0, 1), "i64")
    wide = (Operand((1100, 3)), Operand((2, 3, 300)), ids)
    rows.append(Sample("grouped_matmul-blocks", Op, _product(), wide))
    wide = (Operand((1100, 300)), Operand((1100, 3)), ids)
    rows.append(Sample("grouped_matmul_backward_weight-blocks", Weight, _weight(2), wide, tol=64))
    half = (Operand((7, 4)), Operand((3, 4, 5)), Operand((7,), integers(0, 3), "i64"))
    rows.append(Sample("grouped_matmul-narrow", Op, _product(), half, ("f16", "bf16")))
    half = (Operand((7, 4)), Operand((7, 5)), Operand((7,), integers(0, 3), "i64"))
    rows.append(Sample("grouped_matmul_backward_weight-narrow", Weight, _weight(3), half, ("f16", "bf16")))
    return rows


def _grouped(np_: Any, op: Op, x: Any, w: Any, ids: Any) -> Any:
    experts = shape_of(op.w)[0]
    chosen = w[np_.clip(ids, 0, max(experts - 1, 0))]
    return np_.einsum("mk,mnk->mn" if op.transposed else "mk,mkn->mn", x, chosen)


def _oracle_grouped(op: Op, x: Array, w: Array, ids: Array) -> Array:
    return _grouped(np, op, widen(x), widen(w), convert(ids, np.dtype(np.int64)))


def _oracle_weight(op: Weight, x: Array, g: Array, ids: Array) -> Array:
    total = np.zeros(shape_of(op.result))
    for row, expert in enumerate(np.clip(convert(ids, np.dtype(np.int64)), 0, max(len(total) - 1, 0))):
        total[expert] += np.outer(widen(x)[row], widen(g)[row])
    return total


def _jax_weight(op: Weight, x: Any, g: Any, ids: Any) -> Any:
    experts = shape_of(op.result)[0]
    sent = jax.nn.one_hot(jnp.clip(ids.astype(jnp.int64), 0, experts - 1), experts, dtype=x.dtype)
    return jnp.einsum("me,mk,mn->ekn", sent, x, g)


SAMPLES = tuple(_samples())
ORACLE = {Op: _oracle_grouped, Weight: _oracle_weight}
JAX = {Op: lambda op, x, w, ids: _grouped(jnp, op, x, w, ids.astype(jnp.int64)), Weight: _jax_weight}
