"""Rows of collectives, which are the identity on one device, and refusals of what has no meaning in one program."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.values import shape_of
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call


@ROWS.add("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_broadcast", "collective_permute")
def _collective(c: Call, *operands: Any) -> Any:
    for name in ("replica_groups", "source_target_pairs"):
        groups = c.get(name)
        if groups is not None and np.size(groups) > (1 if name == "replica_groups" else 2):
            raise FrontendError(f"the program is for several devices ({name} {np.asarray(groups).tolist()})")
    if any(shape_of(x) != one.extents for x, one in zip(operands, c.op.made, strict=True)):
        raise FrontendError("the program is for several devices: operands and results differ in shape")
    return list(operands)


@ROWS.add("sdy.sharding_constraint")
def _sharding(c: Call, operand: Any) -> Any:
    return operand


@ROWS.add("partition_id", "replica_id")
def _number(c: Call) -> Any:
    return np.uint32(0)


@ROWS.add("create_token", "after_all")
def _token(c: Call, *tokens: Any) -> Any:
    return "token"


_SHAPES = "shapes that are known when the program runs are not supported; lower the program for concrete shapes"
_TRANSFER = "a program cannot exchange data with its host while it runs; pass it as an argument, or return it"
_QUANTIZED = "quantised element types of StableHLO are not supported; rlx.insert_q_dq quantises programs"

ROWS.refuse(
    _SHAPES,
    "dynamic_broadcast_in_dim",
    "dynamic_conv",
    "dynamic_gather",
    "dynamic_iota",
    "dynamic_pad",
    "dynamic_reshape",
    "real_dynamic_slice",
    "get_dimension_size",
    "set_dimension_size",
)
ROWS.refuse(_TRANSFER, "infeed", "outfeed", "send", "recv")
ROWS.refuse(_QUANTIZED, "uniform_quantize", "uniform_dequantize")
ROWS.refuse(
    "asynchronous operations are not supported; lower the program before XLA schedules it", "async_start", "async_done"
)
ROWS.refuse("the operation is deprecated; write it with dot_general", "einsum", "unary_einsum")
ROWS.refuse("the operation is deprecated; write it with all_reduce", "cross-replica-sum")
ROWS.refuse(
    "the numbers of XLA's generators are not reproduced; those of jax.random with its default keys are",
    "rng",
    "rng_bit_generator",
)
ROWS.refuse("a contraction by groups of rows has no translation; write it with dot_general", "chlo.ragged_dot")
ROWS.refuse("a scan in CHLO has no translation; lower it to stablehlo.while", "chlo.scan")
ROWS.refuse("the operation is part of another one, which has a translation", "chlo._asin_acos_kernel")
