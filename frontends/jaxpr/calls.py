"""Rows of calls: functions in functions, with the derivative rules that they have."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

from xdsl_rlx import debug
from xdsl_rlx.frontends.jaxpr import direct_solves
from xdsl_rlx.frontends.jaxpr.custom_rules import with_rules
from xdsl_rlx.frontends.jaxpr.rectified import rectified
from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.shared.values import is_constant, traced
from xdsl_rlx.solvers import custom_linear_solve
from xdsl_rlx.tree_control import remat


@ROWS.add("jit", "closed_call", "call", "composite", "custom_vmap_call")
def _call(c: Call, *xs: Any) -> Any:
    name = next(name for name in ("jaxpr", "call_jaxpr", "call") if name in c.params)
    return c.walk.run(c.params[name], xs)


@ROWS.add("remat2")
def _remat(c: Call, *xs: Any) -> Any:
    """Captures operands, so that what is constant stays so."""
    from jax.extend.core import ClosedJaxpr

    inner = c.params["jaxpr"]
    jaxpr = inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())
    if all(map(is_constant, xs)):
        return c.walk.run(jaxpr, xs)
    return list(remat(lambda: tuple(c.walk.run(jaxpr, xs)))())


@ROWS.add("custom_jvp_call", "custom_vjp_call")
def _custom(c: Call, *xs: Any) -> Any:
    def build(*operands: Any) -> Any:
        return c.walk.run(c.params["call_jaxpr"], operands)

    if all(map(is_constant, xs)):
        return build(*xs)
    return rectified(with_rules(c, xs, build, by_jvp=c.eqn.primitive.name == "custom_jvp_call"))


@ROWS.add("debug_print")
def _debug_print(c: Call, *xs: Any) -> Any:
    if c.params["static_args"] or not c.params["has_placeholders"]:
        raise ValueError("only arrays are printed; put other arguments into the text")
    args, kwargs = c.params["in_tree"].unflatten(xs)
    debug.print(c.params["fmt"], *args, **kwargs)
    return []


@ROWS.add("remat_opt")
def _remat_opt(c: Call, *xs: Any) -> Any:
    return c.walk.run(c.params["fwd_jaxpr"], xs)


@ROWS.add("linear_call")
def _linear_call(c: Call, *xs: Any) -> Any:
    """A linear function with the function that is its transpose."""

    def build(*operands: Any) -> Any:
        return c.walk.run(c.params["callee"], operands)

    return build(*xs) if all(map(is_constant, xs)) else with_rules(c, xs, build, by_jvp=False)


@ROWS.add("custom_linear_solve", composite=True)
def _custom_linear_solve(c: Call, *operands: Any) -> Any:
    jaxprs, lengths = c.params["jaxprs"], c.params["const_lengths"]
    names = ("matvec", "vecmat", "solve", "transpose_solve")
    captured: dict[str, Any] = {}
    start = 0
    for name in names:
        count = int(getattr(lengths, name))
        captured[name] = operands[start : start + count]
        start += count
    b = tuple(traced(x) for x in operands[start:])
    if direct_solves.by_factors(jaxprs.solve) and (product := direct_solves.product(jaxprs.matvec)) is not None:
        (matrix,) = captured["matvec"]
        if direct_solves.factors_of(captured["solve"][0], matrix):
            return product.solve(matrix, b[0])

    def run(name: str, xs: Any) -> Any:
        return tuple(c.walk.run(getattr(jaxprs, name), [*captured[name], *xs]))

    transposed = None
    if jaxprs.transpose_solve is not None:
        transposed = lambda _, g: run("transpose_solve", g)[: len(b)]  # noqa: E731
    results = len(c.eqn.outvars)

    def solve(_: Any, x: Any) -> Any:
        found = run("solve", x)
        return (found[: len(b)], found[len(b) :]) if results > len(b) else found

    # JAX takes the function itself for its transpose where it is said to be symmetric
    symmetric = jaxprs.vecmat is jaxprs.matvec
    found = custom_linear_solve(
        lambda x: run("matvec", x), b, solve, None if symmetric else transposed, symmetric, has_aux=results > len(b)
    )
    return [*found[0], *found[1]] if results > len(b) else list(found)


@ROWS.add("xdsl_rlx")
def _own(c: Call, *xs: Any) -> Any:
    """A function of `rlx.to_jax`, whose graph is inlined."""
    return c.params["program"].inlined(*xs)


@ROWS.add("xdsl_rlx_linear")
def _own_linear(c: Call, *xs: Any) -> Any:
    """Tangents of such a function: residuals, which come first, are only read by its transpose."""
    linear = c.params["linear"]
    return linear.tangents.inlined(*xs[linear.residuals :])
