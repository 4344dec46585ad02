"""Jacobians from a program that was compiled as `rlx.jvp`: one run per unit vector. All at once is `mir-jacfwd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering.numba.runtime.arguments import dtype_of
from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph

Array = np.ndarray[Any, Any]


def by_columns(compiled: CompiledGraph, wrt: Sequence[str] | str) -> Callable[..., tuple[Array, ...]]:
    """The Jacobians by `wrt` as a function of the arguments of `compiled` without its tangent; GraphError if none."""
    if not isinstance(wrt, str):
        if len(wrt) != 1:
            raise GraphError(f"jacfwd of a compiled jvp is by one argument, got {len(wrt)}; give it the graph instead")
        wrt = wrt[0]
    name = f"tangent_{wrt}"
    arguments, outputs = compiled.program.arguments, compiled.outputs
    spec = next((spec for spec in arguments if spec.name == name), None)
    if spec is None or len(outputs) % 2:
        raise GraphError(f"jacfwd by '{wrt}' takes a compiled jvp for it; graph '{compiled.name}' is none")
    names = [argument.name for argument in arguments if argument.name != name]
    count = len(outputs) // 2
    dtype = dtype_of(spec.dtype)

    def jacobians(*args: object, **kwargs: object) -> tuple[Array, ...]:
        if len(args) > len(names):
            raise GraphError(f"graph '{compiled.name}' takes {len(names)} arguments, got {len(args)} by position")
        given = dict(zip(names, args, strict=False))
        if twice := [key for key in kwargs if key in given or key == name]:
            raise GraphError(f"argument '{twice[0]}' of graph '{compiled.name}' is given twice")
        found = [np.zeros((prod(y.shape), prod(spec.shape)), dtype_of(y.dtype)) for y in outputs[count:]]
        tangent = np.zeros(spec.shape, dtype)
        for column in range(tangent.size):
            tangent.flat[column] = 1
            for jacobian, y in zip(found, compiled(**given, **kwargs, **{name: tangent})[count:], strict=True):
                jacobian[:, column] = y.reshape(-1)
            tangent.flat[column] = 0
        return tuple(m.reshape(*y.shape, *spec.shape) for m, y in zip(found, outputs[count:], strict=True))

    return jacobians
