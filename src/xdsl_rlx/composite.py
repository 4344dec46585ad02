"""Functions that are written in NumPy on traced values, and compiled where they are called with arrays."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from xdsl_rlx.op_functions import Constants, computed
from xdsl_rlx.tracing import builder_of

_P = ParamSpec("_P")
_R = TypeVar("_R")


def composite(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """
    Return a function that adds its operations to the graph being traced, and that is compiled and run elsewhere.

    Its body may use NumPy, `rlx` functions and other composites. It must not depend on anything but its arguments,
    because a compiled program is kept for each combination of shapes, element types and other arguments.
    """

    constants = Constants(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if builder_of(args, kwargs) is None:
            return computed(function, args, kwargs, True, constants)
        return function(*args, **kwargs)

    return call
