"""Nests of registered ops: the function that a user wrote, on the op's operands and results."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import where
from xdsl_rlx.dialects.mir.custom import CustomBase, shaped
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.kernel_dsl import Nested
from xdsl_rlx.lowering.kernels.work import NestRule, Work


def custom_nest(function: Callable[..., Any], iterations: int | Callable[..., int]) -> NestRule[CustomBase]:
    """The row of an op whose iterations are calls of `function(it, *inputs, *outputs, **options)`."""

    def row(op: CustomBase, work: Work) -> None:
        """So many iterations as the op was registered with, each about as much work as its share of the elements."""
        options = op.option_values
        count = iterations if isinstance(iterations, int) else iterations(*map(shaped, op.inputs), **options)
        if not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f'{op.name} "{op.callee.data}"{where(op)} runs a number of iterations, got {count!r}'
            raise PassFailedException(message)
        reads, writes = [work.read(x) for x in op.inputs], [work.write(y) for y in op.outputs]
        elements = sum(prod(shape_of(x)) for x in (*op.inputs, *op.outputs))
        work.over(count, 4 * elements // max(count, 1) + 1, reads, writes)(Nested(function, options))

    return row
