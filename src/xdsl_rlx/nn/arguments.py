"""Checks and conversions of arguments that the functions of `rlx.nn` share."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.value import Value


def kind_of(x: Any) -> str:
    """Return `f` for floats of any precision, else NumPy's kind of the element type: `b`, `i`, `u` or `c`."""
    kind = np.dtype(x.dtype).kind
    return "f" if kind == "V" else kind


def floating(x: Any) -> Any:
    """Return `x`, converted to the default float type if it is of integers or booleans."""
    return x if not hasattr(x, "dtype") or kind_of(x) in "fc" else x * 1.0


def matched(x: Any, *others: Any) -> tuple[Any, ...]:
    """Return `x` as floats, and the others, of which integers and booleans are converted to the type of `x`."""
    x = floating(x)
    return x, *(y.astype(x.dtype) if hasattr(y, "dtype") and kind_of(y) not in "fc" else y for y in others)


def is_half(x: Any) -> bool:
    """Whether the element type is float16 or bfloat16."""
    return kind_of(x) == "f" and np.dtype(x.dtype).itemsize == 2


def accumulating(x: Any) -> Any:
    """Return `x` as floats of at least 32 bits, for sums of many terms."""
    return x.astype(np.float32) if is_half(x) else floating(x)


def check_choice(function: str, name: str, found: object, expected: Sequence[str]) -> None:
    """Raise GraphError if an argument is none of the expected strings."""
    if found not in expected:
        raise GraphError(f"{function}: {name}: expected one of {', '.join(map(repr, expected))}, got {shown(found)}")


def check_integer(function: str, name: str, found: Any, least: int) -> None:
    """Raise GraphError if an argument is not an integer of at least `least`."""
    if isinstance(found, bool) or not isinstance(found, int | np.integer) or found < least:
        raise GraphError(f"{function}: {name}: expected an integer of at least {least}, got {shown(found)}")


def check_shape(function: str, name: str, x: Any, expected: Sequence[int], why: str) -> None:
    """Raise GraphError if `x` does not have the expected shape; `why` says whose shape it is."""
    if tuple(np.shape(x)) != tuple(expected):
        raise GraphError(
            f"{function}: {name}: expected shape {list(expected)}, {why}, got {list(np.shape(x))}; reshape {name}"
        )


def check_element_types(function: str, **given: Any) -> None:
    """Raise GraphError if values that a function passes to one op have different element types."""
    types = {name: str(x.dtype) for name, x in given.items() if isinstance(x, Value)}
    if len(set(types.values())) > 1:
        listed = ", ".join(f"{name} is {type_}" for name, type_ in types.items())
        raise GraphError(f"{function}: operands have different element types: {listed}; cast one")


def axis_index(function: str, axis: int, rank: int) -> int:
    """Return `axis` counted from the front; GraphError if it is out of range."""
    if not -rank <= axis < rank:
        raise GraphError(f"{function}: axis: expected an integer from {-rank} to {rank - 1}, got {axis}")
    return axis % rank


def per_axis(function: str, name: str, given: Any, count: int, least: int) -> tuple[int, ...]:
    """Return one integer of at least `least` for each of `count` spatial axes, from one for all or a sequence."""
    many = (given,) * count if isinstance(given, int | np.integer) and not isinstance(given, bool) else given
    if (
        not isinstance(many, Sequence)
        or isinstance(many, str)
        or len(many) != count
        or not all(isinstance(one, int | np.integer) and one >= least for one in many)
    ):
        raise GraphError(
            f"{function}: {name}: expected an integer of at least {least}, or {count} of them, got {shown(given)}"
        )
    return tuple(int(one) for one in many)


def reduced(function: str, losses: Any, reduction: str) -> Any:
    """Return the mean or the sum of all losses, or with the reduction "none" the losses themselves."""
    check_choice(function, "reduction", reduction, ("mean", "sum", "none"))
    return losses if reduction == "none" else np.mean(losses) if reduction == "mean" else np.sum(losses)


def weighted_mean(total: Any, weight: Any) -> Any:
    """Return `total / weight`; NaN without a gradient if the weight is 0, as in PyTorch."""
    nothing = weight == 0
    return np.where(nothing, np.nan, total / np.where(nothing, 1, weight))
