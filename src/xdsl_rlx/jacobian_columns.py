"""Jacobians from a program that was compiled as `rlx.jvp`: one run per unit vector. All at once is `mir-jacfwd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.errors import GraphError, RlxError
from xdsl_rlx.dialects.names import fresh_name
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

Array = np.ndarray[Any, Any]


def by_columns(compiled: CompiledGraph, wrt: Sequence[str] | str) -> Callable[..., tuple[Array, ...]]:
    """The Jacobians by `wrt` as a function of the arguments of `compiled` without its tangent; GraphError if none."""
    if not isinstance(wrt, str):
        if len(wrt) != 1:
            raise GraphError(
                f"jacfwd of a compiled jvp: expected one argument in wrt, got {len(wrt)}; pass the graph instead"
            )
        wrt = wrt[0]
    arguments, outputs = compiled.program.arguments, compiled.outputs
    spec = _tangent_of(compiled, wrt)
    if spec is None or len(outputs) % 2:
        raise GraphError(f"jacfwd by '{wrt}': expected a compiled jvp for it, got graph '{compiled.name}'")
    names = [argument.name for argument in arguments if argument is not spec]
    count = len(outputs) // 2
    dtype = dtype_of(spec.dtype)

    def jacobians(*args: object, **kwargs: object) -> tuple[Array, ...]:
        if len(args) > len(names):
            raise GraphError(f"graph '{compiled.name}' takes {len(names)} arguments, got {len(args)} by position")
        given = dict(zip(names, args, strict=False))
        if twice := [key for key in kwargs if key in given or key == spec.name]:
            raise GraphError(f"argument '{twice[0]}' of graph '{compiled.name}' is given twice")
        found = [np.zeros((prod(y.shape), prod(spec.shape)), dtype_of(y.dtype)) for y in outputs[count:]]
        tangent = np.zeros(spec.shape, dtype)
        for column in range(tangent.size):
            tangent.flat[column] = 1
            for jacobian, y in zip(found, compiled(**given, **kwargs, **{spec.name: tangent})[count:], strict=True):
                jacobian[:, column] = y.reshape(-1)
            tangent.flat[column] = 0
        return tuple(m.reshape(*y.shape, *spec.shape) for m, y in zip(found, outputs[count:], strict=True))

    return jacobians


def _tangent_of(compiled: CompiledGraph, wrt: str) -> TensorSpec | None:
    """
    The tangent of `wrt`; None if there is none, GraphError if its name may be that of another argument's tangent.

    `rlx.jvp` appends tangents as inputs, each with the first name that no argument before it has.
    """
    program = compiled.program
    with suppress(RlxError):
        # the graph says it; a program that was made of lir does not
        known = as_graph_module(compiled.origin.module()).tangent_names
        return next((spec for spec in program.inputs if spec.name == known.get(wrt)), None)
    taken = [spec.name for spec in program.arguments]
    for spec in reversed([spec for spec in program.inputs if spec.name not in program.optional]):
        taken.remove(spec.name)
        of = [name for name in taken if fresh_name(f"tangent_{name}", taken) == spec.name]
        if wrt in of and len(of) > 1:
            raise GraphError(
                f"'{spec.name}' may be the tangent of {' or of '.join(of)}; pass the graph to jacfwd instead"
            )
        if not of or wrt in of:
            return spec if of else None
    return None
