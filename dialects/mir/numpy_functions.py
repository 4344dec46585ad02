"""NumPy's functions on values of a graph, by NumPy's names and with NumPy's arguments: `np.sum(x, axis=0)`, `x.sum(0)`.

They are rows in `numpy_elements.py` and `numpy_shapes.py`; what is in neither, the caller is told by name.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.dialects.mir import numpy_shapes
from xdsl_rlx.dialects.mir.numpy_elements import FUNCTIONS, reduced, ufunc
from xdsl_rlx.dialects.mir.numpy_methods import of_python

assert numpy_shapes.FUNCTIONS is FUNCTIONS

__all__ = ["FUNCTIONS", "function", "reduced", "ufunc"]


def function(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy's; GraphTypeError for one that no op computes."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise GraphTypeError(f"np.{name} does not take a value of a graph: no op computes it")
    kwargs = {key: x for key, x in kwargs.items() if not (key in ("out", "order", "where") and x is None)}
    if "dtype" in kwargs:
        kwargs["dtype"] = of_python(kwargs["dtype"])
    try:
        return found(*args, **kwargs)
    except TypeError:
        try:
            signature(found).bind(*args, **kwargs)
        except TypeError as error:
            takes = ", ".join(signature(found).parameters)
            raise GraphTypeError(f"np.{name} of a value of a graph takes {takes}: {error}") from None
        raise
    except AttributeError as error:
        raise GraphTypeError(f"np.{name} does not take a value of a graph: no op computes it") from error
