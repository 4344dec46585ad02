"""An interpreter of mir functions by JAX's equivalents of their ops: the second opinion on derivatives.

Composites and backward ops are written out in the files of their families and left to JAX's own differentiation.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from numerics.families import JAX, family_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

jax.config.update("jax_enable_x64", True)


def jax_function(module: ModuleOp) -> Callable[..., list[Any]]:
    """The module's function as a JAX function of arrays."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))

    def call(*inputs: Any) -> list[Any]:
        env: dict[SSAValue, Any] = dict(zip(function.body.block.args, inputs, strict=True))
        for op in function.body.block.ops:
            operands = [env[x] for x in op.operands]
            if isinstance(op, ReturnOp):
                return operands
            assert type(op) in JAX, (
                f"add the meaning of {op.name} in JAX to tests/numerics/families/{family_of(type(op))}.py"
            )
            found = JAX[type(op)](op, *operands)
            env.update(zip(op.results, found if isinstance(found, tuple) else (found,), strict=True))
        raise AssertionError("a function without func.return")

    return call


def pull_back(module: ModuleOp, inputs: Sequence[Any], wrt: Sequence[int], cotangent: Any) -> list[Any]:
    """
    The first result, then the cotangents of the inputs numbered `wrt` for a cotangent of it.

    Both are `dL/dx + i dL/dy` for complex numbers, the conjugates of what JAX takes and gives.
    """
    call = jax_function(module)

    def of_wrt(*chosen: Any) -> Any:
        full = list(inputs)
        for index, value in zip(wrt, chosen, strict=True):
            full[index] = value
        return call(*full)[0]

    result, pull = jax.vjp(of_wrt, *(inputs[index] for index in wrt))
    return [result, *(jnp.conj(x) for x in pull(jnp.conj(cotangent)))]
