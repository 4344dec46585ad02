"""The parameters of NumPy's reductions, each list once: methods of values and rows of `frontends/numpy` take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeAlias, cast

from xdsl_rlx.dialects.calls import checked

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.numpy_methods import NumpyMethods
    from xdsl_rlx.dialects.mir.value import Operand, Value

P = ParamSpec("P")

Axis: TypeAlias = "int | Sequence[int] | None"


class ReductionArguments(NamedTuple):
    """What a reduction is called with; `out` and parameters that it does not take have their defaults."""

    axis: Any
    keepdims: bool = False
    dtype: object = None
    initial: Operand | None = None
    where: Any = True
    ddof: float = 0
    mean: Any = None
    """The mean of `var` and `std`, where the caller has it."""
    correction: float | None = None
    """The name of `ddof` in the array API."""


def sums(
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Any = True,
) -> ReductionArguments:
    """Return the parameters of `np.sum` and `np.prod`."""
    return ReductionArguments(axis, keepdims, dtype, initial, where)


def means(
    axis: Axis = None, dtype: object = None, out: None = None, keepdims: bool = False, *, where: Any = True
) -> ReductionArguments:
    """Return the parameters of `np.mean`."""
    return ReductionArguments(axis, keepdims, dtype, where=where)


def variances(
    axis: Axis = None,
    dtype: object = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Operand | None = None,
    correction: float | None = None,
) -> ReductionArguments:
    """Return the parameters of `np.var` and `np.std`."""
    return ReductionArguments(axis, keepdims, dtype, None, where, ddof, mean, correction)


def extremes(
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Operand | None = None,
    where: Any = True,
) -> ReductionArguments:
    """Return the parameters of `np.max` and `np.min`."""
    return ReductionArguments(axis, keepdims, None, initial, where)


def truths(axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> ReductionArguments:
    """Return the parameters of `np.any` and `np.all`."""
    return ReductionArguments(axis, keepdims, where=where)


def positions(axis: int | None = None, out: None = None, *, keepdims: bool = False) -> ReductionArguments:
    """Return the parameters of `np.argmax` and `np.argmin`."""
    return ReductionArguments(axis, keepdims)


def running(axis: int | None = None, dtype: object = None, out: None = None) -> ReductionArguments:
    """Return the parameters of `np.cumsum` and `np.cumprod`."""
    return ReductionArguments(axis, dtype=dtype)


def reduction_method(
    name: str, parameters: Callable[P, ReductionArguments], doc: str
) -> Callable[Concatenate[NumpyMethods, P], Value]:
    """Return the method of values that is NumPy's reduction `name`; its arguments are converted and checked."""

    def reduced(self: NumpyMethods, *args: P.args, **kwargs: P.kwargs) -> Value:
        return cast("Value", self).b.__numpy__().function(name, (self, *args), kwargs)

    reduced.__name__, reduced.__qualname__, reduced.__doc__ = name, f"NumpyMethods.{name}", doc
    given = inspect.signature(parameters).parameters.values()
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(reduced)["__signature__"] = inspect.Signature([first, *given], return_annotation="Value")
    return checked(reduced)
