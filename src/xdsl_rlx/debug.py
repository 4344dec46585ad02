"""Look into a model: find the op that made a NaN, run the Python function without compiling it, stop in a debugger."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import builtins
import os
import pdb
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from xdsl_rlx.dialects.errors import GraphError, NanError
from xdsl_rlx.lowering.backend.driver.debug_prints import formatted
from xdsl_rlx.lowering.backend.runtime.observer import OBSERVER
from xdsl_rlx.nan_search import check, has_nan
from xdsl_rlx.print_templates import template
from xdsl_rlx.tracing import EAGER, builder_of, is_tracing

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

__all__ = ["breakpoint", "check_nans", "print"]


@contextmanager
def check_nans(enabled: bool = True) -> Generator[None]:
    """
    In this context, a result with NaN raises NanError, which names the op that made the first one.

    The message has the op, the line of the user's program, the positions of the NaN and the iterations of the loops
    around it. Arguments are copied before each call. When a result has NaN, the graph runs again op by op, which
    compiles each kind of op once. A gradient's ops have the lines of the ops that they are derived from. NaN that no
    result has, such as one that `np.where` leaves out, is ignored. Donated arguments have their old values again after
    the error.
    """
    token = OBSERVER.set(_checked if enabled else None)
    try:
        yield
    finally:
        OBSERVER.reset(token)


def _checked(graph: CompiledGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    before = graph.copies(args, kwargs)
    token = OBSERVER.set(None)
    try:
        results = graph(*args, **kwargs)
        given = dict(zip((spec.name for spec in graph.program.arguments), args, strict=False)) | kwargs
        written = [given[name] for name in graph.program.updated if name in given]
        if not any(has_nan(np.asarray(array)) for array in (*results, *written)):
            return results
        # the state of before is needed to continue from
        for name in graph.program.updated:
            if name in given:
                np.copyto(given[name], before[name])
            else:
                graph.set_param(name, before[name])
        check(graph, before)
    finally:
        OBSERVER.reset(token)
    raise NanError(
        f"a result of '{graph.name}' has NaN, but no op gives NaN when the ops run one by one: "
        "fused ops round in another order"
    )


@contextmanager
def eager(enabled: bool = True) -> Generator[None]:
    """
    In this context, compiled functions run as the Python functions that they are made of, on NumPy arrays.

    `rlx.scan`, `rlx.cond`, `rlx.while_loop` and `rlx.fori_loop` run as Python loops and branches. So `print`, a
    debugger and tracebacks see arrays. Ops of `rlx` are compiled one by one. Functions that `grad` and other
    transformations are applied to are still traced. Donated arguments are not written to.
    """
    token = EAGER.set(enabled)
    try:
        yield
    finally:
        EAGER.reset(token)


def print(fmt: str, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """
    Print `fmt.format(*args, **kwargs)` and a newline when the compiled function runs, as `jax.debug.print`.

    Arguments are arrays, or tuples, lists and dicts of arrays, of any shapes and dtypes. Anything else is formatted
    while the function is traced. A field can be any of `str.format`: `{}`, `{0}`, `{x:.3f}`, `{x.shape}`, `{x[0]}`.
    Formats such as `.3f` are for arrays of rank 0.

    Lines come in the order of the Python function, iteration by iteration, for any number of threads. With
    `ordered=False` they may come in any order; they come in this one. Compilation neither drops nor repeats a print:
    one in a branch prints if the branch is taken, and a gradient prints the values of the function once. Of a function
    under `vmap`, a print of batched values prints one line for each example, in their order.

    In `eager`, and outside of compiled functions, it prints at once. Raises GraphError for a format string that does
    not fit the arguments, naming the field, and for an argument that no field has.
    """
    text, operands = template(fmt, args, kwargs)
    builder = builder_of(*operands)
    if builder is None:
        builtins.print(formatted(text, [np.asarray(x) for x in operands]))
    else:
        builder.debug_print(text, *operands)


def breakpoint() -> None:
    """
    Stop in the debugger at the caller, inside of `eager`.

    Raises GraphError in a function that is being traced, where values are not known yet.
    """
    if is_tracing():
        raise GraphError("debug.breakpoint: values are not known while a function is traced; run it in rlx.eager()")
    if sys.breakpointhook is sys.__breakpointhook__ and not os.environ.get("PYTHONBREAKPOINT"):
        # Python's own hook would stop here, one frame below
        pdb.Pdb().set_trace(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    else:
        sys.breakpointhook()
