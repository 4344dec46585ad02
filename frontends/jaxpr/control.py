"""Rows of loops and branches; loops are never unrolled."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import stored_shape
from xdsl_rlx.frontends.shared.values import is_constant, numpy_dtype, traced
from xdsl_rlx.tree_control import scan, switch, while_loop


def _large_traced(xs: Sequence[Any]) -> list[Any]:
    """Operands that a body captures: large constants become one value outside of it."""
    return [traced(x) if is_constant(x) and x.nbytes > 1024 else x for x in xs]


@ROWS.add("scan")
def _scan(c: Call, *operands: Any) -> Any:
    consts, carries = int(c.params["num_consts"]), int(c.params["num_carry"])
    captured = _large_traced(operands[:consts])
    init = [traced(x) for x in operands[consts : consts + carries]]
    xs = [traced(x) for x in operands[consts + carries :]]
    # a scan of this package has at least one carry
    padding = [] if init else [traced(np.int32(0))]

    def body(carry: Sequence[Any], each: Any) -> Any:
        found = c.walk.run(c.params["jaxpr"], [*captured, *carry[:carries], *(each or ())])
        ys = tuple(found[carries:])
        return (*found[:carries], *carry[carries:]), ys or None

    length, reverse = int(c.params["length"]), bool(c.params["reverse"])
    left, ys = scan(body, (*init, *padding), tuple(xs) or None, length, reverse)
    return [*left[:carries], *(ys or ())]


@ROWS.add("while")
def _while(c: Call, *operands: Any) -> Any:
    first, second = int(c.params["cond_nconsts"]), int(c.params["body_nconsts"])
    captured = _large_traced(operands[: first + second])
    of_test, of_body = captured[:first], captured[first:]
    init = tuple(traced(x) for x in operands[first + second :])
    batch = stored_shape(c.params["cond_jaxpr"].jaxpr.outvars[0].aval)

    def holds(carry: Sequence[Any]) -> Any:
        return c.walk.run(c.params["cond_jaxpr"], [*of_test, *carry])[0]

    def body(carry: Sequence[Any]) -> Any:
        found = c.walk.run(c.params["body_jaxpr"], [*of_body, *carry])
        if not batch:
            return tuple(found)
        # each loop of a batch keeps its carry when it has ended
        goes_on = holds(carry)
        return tuple(
            np.where(goes_on.reshape(*batch, *[1] * (np.ndim(x) - len(batch))), x, old)
            for x, old in zip(found, carry, strict=True)
        )

    return list(while_loop(lambda carry: np.any(holds(carry)) if batch else holds(carry), body, init))


@ROWS.add("cond")
def _cond(c: Call, index: Any, *operands: Any) -> Any:
    branches = c.params["branches"]
    if is_constant(index):
        return c.walk.run(branches[min(max(int(index), 0), len(branches) - 1)], operands)
    captured = _large_traced(operands)
    if str(index.dtype) == "bool":
        index = index.astype(numpy_dtype("i32"))

    def branch(jaxpr: Any) -> Any:
        return lambda: tuple(traced(x) for x in c.walk.run(jaxpr, captured))

    return list(switch(index, [branch(one) for one in branches]))


@ROWS.add("platform_index")
def _platform_index(c: Call) -> Any:
    """The first branch that is for CPUs, or the default, which has no platforms."""
    for number, platforms in enumerate(c.params["platforms"]):
        if platforms is None or "cpu" in platforms:
            return np.int32(number)
    raise ValueError("expected a branch for the CPU")
