"""Jacobians from a program that was compiled as `rlx.jvp`: one run per unit vector. All at once is `mir-jacfwd`."""

from __future__ import annotations

import re
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
    arguments, outputs = compiled.program.arguments, compiled.outputs
    name = _tangent_name([argument.name for argument in arguments], wrt)
    spec = next((spec for spec in arguments if spec.name == name), None)
    if spec is None or len(outputs) % 2:
        raise GraphError(f"jacfwd by '{wrt}' takes a compiled jvp for it; graph '{compiled.name}' is none")
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


def _tangent_name(names: Sequence[str], wrt: str) -> str | None:
    """That of the tangent of `wrt`: `rlx.jvp` appends it, and numbers it where an argument is called like it."""
    of_others = {f"tangent_{name}" for name in names if name != wrt}
    like = re.compile(rf"tangent_{re.escape(wrt)}(_\d+)?")
    return next((name for name in reversed(names) if like.fullmatch(name) and name not in of_others), None)
