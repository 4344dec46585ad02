"""The table of NumPy's functions on values of a graph, and what its rows share; the rows are in files beside this one.

A row has the parameters of NumPy's function, in their order. `out` is among them for its place only, and so is what
says how NumPy goes about it (`order`, `kind`, `copy`): a graph knows no memory. A parameter that is a `Value` is one
when the row is called.
"""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.arrays import is_number
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.numpy_reductions import ReductionArguments
from xdsl_rlx.dialects.mir.promotion import Kind, innermost, joined, together
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import c128, dims, f64, i1, i64

P = ParamSpec("P")
R = TypeVar("R")

Axis: TypeAlias = int | Sequence[int] | None
Function: TypeAlias = Callable[..., Any]

FUNCTIONS: dict[str, Function] = {}
"""By NumPy's name, with `linalg.` or `fft.` in front where they are of these."""


def row(*names: str) -> Callable[[Function], Function]:
    """Decorator: the function is what NumPy's of these names is."""

    def register(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


def reduction_row(
    parameters: Callable[P, ReductionArguments], *names: str
) -> Callable[[Callable[[Value, ReductionArguments], Value]], Callable[Concatenate[Value, P], Value]]:
    """Decorator: the function is what NumPy's reductions of these names, with these parameters, are."""

    def register(function: Callable[[Value, ReductionArguments], Value]) -> Callable[Concatenate[Value, P], Value]:
        @wraps(function)
        def reduced(a: Value, *args: P.args, **kwargs: P.kwargs) -> Value:
            return function(a, parameters(*args, **kwargs))

        operand = Parameter("a", Parameter.POSITIONAL_OR_KEYWORD, annotation=Value)
        vars(reduced)["__signature__"] = Signature([operand, *signature(parameters).parameters.values()])
        row(*names)(reduced)
        return reduced

    return register


def as_value(x: Any, *others: Any) -> Value:
    """An operand, perhaps a list, as a value of the graph that it or the others are of."""
    if isinstance(x, Value):
        return x
    x = joined(x) if isinstance(x, list | tuple) else x
    if isinstance(x, Value):
        return x
    builder = innermost(others)
    if is_number(x):
        plain = next(_PLAIN[kind] for kind in _PLAIN if isinstance(x, kind))  # pyright: ignore[reportUnnecessaryIsInstance]
        return Value(builder.scalar(x, plain).ssa, builder, plain != i1)
    return builder.value(builder.operand(x))


_PLAIN = {bool: i1, int: i64, float: f64, complex: c128}


def as_floats(x: Operand) -> Value:
    """As NumPy has means: of floats, and integers as f64."""
    _, (converted,), _ = together([x], Kind.FLOATS)
    return as_value(converted)


def of_one_type(operands: Sequence[Any], kind: Kind = Kind.AS_IS) -> list[Value]:
    """Operands, of which one is a value, as values of one element type."""
    _, converted, weak = together(operands, kind)
    found = [as_value(x, *operands) for x in converted]
    return [Value(x.ssa, x.b, True) for x in found] if weak else found


def composed(
    function: Callable[Concatenate[MirBuilder, P], R], builder: MirBuilder, *args: P.args, **kwargs: P.kwargs
) -> R:
    """
    Call a function that builds several ops with what NumPy was called with, as the method of a graph.

    Arguments are converted and checked; shapes that do not fit are a GraphError that begins with the function's name.
    """
    try:
        return _converting(function)(builder, *args, **kwargs)
    except VerifyException as error:
        raise GraphError(f"{function.__name__}: {error}") from None


@lru_cache(maxsize=256)
def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    return checked(function)


def check_rank(name: str, x: Value, *ranks: int, least: int | None = None) -> None:
    """GraphError for an operand of a function that has another number of axes than those, or than the least."""
    if x.rank not in ranks if least is None else x.rank < least:
        wanted = f"at least {least}" if least is not None else " or ".join(map(str, ranks))
        raise GraphError(f"np.{name}: expected {wanted} axes, got an array of shape {dims(x.shape)}")
