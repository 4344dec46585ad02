"""Functions that are written in NumPy on traced values, and compiled where they are called with arrays."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError, RlxError
from xdsl_rlx.op_functions import Constants, computed
from xdsl_rlx.static_keys import is_array_like
from xdsl_rlx.tracing import builder_of

_P = ParamSpec("_P")
_R = TypeVar("_R")


def composite(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """
    Return a function that adds its operations to the graph being traced, and that is compiled and run elsewhere.

    Its body may use NumPy, `rlx` functions and other composites. It must not depend on anything but its arguments,
    because a compiled program is kept for each combination of shapes, element types and other arguments. Shapes that do
    not fit are a GraphError. So is an error of a body that has an operand which is no array: the operand is named.
    """

    constants = Constants(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            if builder_of(args, kwargs) is None:
                return computed(function, args, kwargs, True, constants)
            return function(*args, **kwargs)
        except RlxError:
            raise
        except VerifyException as error:
            raise GraphError(f"{function.__name__}: {error}") from None
        except (AttributeError, TypeError):
            _check_operands(function, args, kwargs)
            raise
        except (IndexError, ValueError) as error:
            # of NumPy, for shapes and axes of arrays that are no values
            _check_operands(function, args, kwargs)
            raise GraphError(f"{function.__name__}: {error}") from error

    return call


def _check_operands(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """GraphTypeError for arguments that do not fit the parameters, and for an operand that is not an array."""
    parameters = signature(function)
    try:
        given = parameters.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise GraphTypeError(f"{function.__name__}: {error}") from None
    for name, x in given.items():
        one = parameters.parameters[name]
        if one.annotation in ("Any", Any) and x is not one.default and not is_array_like(x):
            raise GraphTypeError(f"{function.__name__}: {name}: expected a value or an array, got {shown(x)}")
