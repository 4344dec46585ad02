"""How functions of this package reach ops: operands of one type and shape, and derivatives of their own."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.promotion import Kind, applied
from xdsl_rlx.dialects.mir.special import SpecialFunction
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import dims
from xdsl_rlx.tracing import builder_of


def elementwise(name: str, *operands: Any) -> Any:
    """The builder method of that name; integers become the default float type."""
    return applied(name, _with_value(operands), Kind.FLOATS)


def iterated(function: SpecialFunction, *operands: Any) -> Any:
    """A special function of operands that broadcast."""

    def build(b: Any, *values: Any) -> Any:
        return b.special_function(_broadcast(b, values), function)

    return applied(build, _with_value(operands), Kind.FLOATS)


def computed_in_floats(function: Callable[..., Any], *operands: Any) -> Any:
    """
    `function` of the operands as values of one float type and shape.

    NumPy would compute Python numbers by itself, with its warnings at infinities.
    """

    def build(b: Any, *values: Any) -> Any:
        return function(*_broadcast(b, values))

    return applied(build, _with_value(operands), Kind.FLOATS)


def with_tangent(function: Callable[..., Any], tangent: Callable[..., Any], *operands: Any) -> Any:
    """
    `function(*operands)`, of operands that broadcast, with a tangent of its own.

    `tangent(*operands, *tangents)` is linear in the tangents.
    """

    def build(b: Any, *values: Any) -> Any:
        return b.custom_fn(function, *_broadcast(b, values), jvp=tangent)

    return applied(build, _with_value(operands), Kind.FLOATS)


def _with_value(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands of which one is a value of the graph being traced, where all are numbers and arrays."""
    builder = builder_of(operands)
    if builder is None or any(isinstance(x, Value) for x in operands):
        return operands
    first, *others = operands
    return builder.constant(np.asarray(first, np.float64)), *others


def _broadcast(b: Any, values: tuple[Any, ...]) -> list[Any]:
    found = [b.value(b.operand(x)) for x in values]
    try:
        shape = np.broadcast_shapes(*(x.shape for x in found))
    except ValueError:
        shapes = " and ".join(dims(x.shape) for x in found)
        raise GraphError(f"operands: expected shapes that broadcast, got {shapes}; reshape one") from None
    return [x if x.shape == shape else b.expand(x, shape) for x in found]
