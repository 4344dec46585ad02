"""Derivative rules of functions of JAX: JAX applies the rule while it traces, and the walk builds what it has traced.

The equation is made a function again, of which `jax.jvp` or `jax.vjp` is traced. So both are in the terms of the table.
"""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl_rlx.custom_derivatives import custom_jvp, custom_vjp
from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import COMPLEXES, FLOATS, stored_dtype
from xdsl_rlx.frontends.shared.values import is_constant, traced


def with_rules(
    c: Call,
    xs: Sequence[Any],
    build: Callable[..., Sequence[Any]],
    by_jvp: bool = True,
    differentiable: Sequence[int] | None = None,
) -> list[Any]:
    """
    The results of an equation, which `build` gives for its operands, with the derivatives that JAX has for it.

    These are its tangents, or with `by_jvp` false its cotangents, by the operands that are `differentiable`.
    """
    moving = [n for n, x in enumerate(xs) if not is_constant(x)]

    def merged(some: Sequence[Any]) -> list[Any]:
        found = list(xs)
        for n, x in zip(moving, some, strict=True):
            found[n] = x
        return found

    def function(*some: Any) -> tuple[Any, ...]:
        return tuple(traced(x) for x in build(*merged(some)))

    owner: Any = (custom_jvp if by_jvp else custom_vjp)(function)
    owner.recurs_as, owner.equals = _identity(c), _Equation(c.eqn)
    every = range(len(xs)) if differentiable is None else differentiable
    floats = [n for n in moving if n in every and _is_float(c.eqn.invars[n].aval)]
    outputs = [n for n, one in enumerate(c.eqn.outvars) if _is_float(one.aval)]
    if not floats or not outputs:
        return list(function(*(xs[n] for n in moving)))
    derived = _Derived(c, owner, merged, moving, floats, outputs)
    if by_jvp:
        owner.defjvp(derived.pushed())
    else:
        owner.defvjp(*derived.pulled())
    return list(owner(*(xs[n] for n in moving)))


class _Equation:
    """An equation, equal to those that compute the same of their operands."""

    def __init__(self, eqn: Any) -> None:
        self.eqn = eqn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Equation) and (self.eqn is other.eqn or self._definition() == other._definition())

    def __hash__(self) -> int:
        return hash(self.eqn.primitive.name)

    def _definition(self) -> tuple[str, ...]:
        """The function by its text and the arrays that it captures; other parameters by their texts."""
        params = self.eqn.params
        inner = params.get("call_jaxpr")
        if inner is None:
            return self.eqn.primitive.name, str(sorted(params.items(), key=lambda item: item[0]))
        return self.eqn.primitive.name, str(inner.jaxpr), *(str(id(one)) for one in inner.consts)


def _identity(c: Call) -> tuple[Any, ...]:
    """
    What equations of one function have in common: its place in the source, and the types of its operands.

    A primitive without a row is known by its name: that of its tangents can have more operands.
    """
    if ROWS.get(c.eqn.primitive.name) is None:
        return (c.eqn.primitive.name,)
    debug = getattr(getattr(c.params.get("call_jaxpr"), "jaxpr", None), "debug_info", None)
    return (c.eqn.primitive.name, str(getattr(debug, "func_src_info", None)), *(str(x.aval) for x in c.eqn.invars))


def _is_float(aval: Any) -> bool:
    return stored_dtype(aval) in (*FLOATS, *COMPLEXES) and str(aval.dtype) != "float0"


def as_function(eqn: Any) -> Callable[..., list[Any]]:
    """An equation as a function of arrays in the place of all its operands."""
    from jax.api_util import debug_info
    from jax.extend import core

    names = list(dict.fromkeys(one for one in eqn.invars if not hasattr(one, "val")))
    results = tuple(f"[{n}]" for n in range(len(eqn.outvars)))
    given = tuple(one.aval for one in names)
    known = debug_info("from_jax", lambda *_: None, given, {}, result_paths_thunk=lambda: results)
    jaxpr = core.Jaxpr((), names, eqn.outvars, [eqn], eqn.effects, known)
    called = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))

    def function(*operands: Any) -> list[Any]:
        given = {one: x for one, x in zip(eqn.invars, operands, strict=True) if not hasattr(one, "val")}
        return called(*(given[one] for one in names))

    return function


def types_of(variables: Sequence[Any]) -> list[Any]:
    """The types of variables, for JAX to trace with."""
    from jax import ShapeDtypeStruct

    return [ShapeDtypeStruct(one.aval.shape, one.aval.dtype) for one in variables]


@dataclass(frozen=True)
class _Rule:
    """A rule as a jaxpr of operands and tangents or cotangents, with the operands that it is a derivative by."""

    jaxpr: Any
    floats: tuple[int, ...]


def _traced_rule(floats: Sequence[int], trace: Callable[[Sequence[int]], Any]) -> _Rule:
    """
    A rule by all operands with derivatives but those of which Equinox says that there must be none.

    JAX raises its error only where such an operand depends on an argument. Here a rule is built for all floats at
    first, and an operand whose rule is an error is a constant.
    """
    try:
        return _Rule(trace(floats), (*floats,))
    except RuntimeError as error:
        if not _is_refusal(error):
            raise
    allowed = [n for n in floats if _is_allowed(trace, n)]
    return _Rule(trace(allowed) if allowed else None, (*allowed,))


def _is_allowed(trace: Callable[[Sequence[int]], Any], number: int) -> bool:
    try:
        trace([number])
    except RuntimeError as error:
        if not _is_refusal(error):
            raise
        return False
    return True


def _is_refusal(error: RuntimeError) -> bool:
    return str(error).startswith("Unexpected tangent")


def _of_floats(function: Callable[..., Any], floats: Sequence[int], primals: Sequence[Any]) -> Callable[..., Any]:
    """A function of these operands, where the others are constants: JAX knows that they have no tangents."""

    def called(*some: Any) -> Any:
        given = dict(zip(floats, some, strict=True))
        return function(*(given.get(n, x) for n, x in enumerate(primals)))

    return called


def _chosen(found: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    return [found[n] for n in numbers]


@dataclass(frozen=True)
class _Derived:
    """An equation as a function, `owner`, of the operands that are no constants, whose numbers are `moving`."""

    call: Call
    owner: Callable[..., Any]
    merged: Callable[..., list[Any]]
    """All operands of the equation, from those that are no constants."""
    moving: Sequence[int]
    floats: Sequence[int]
    """The operands that it has derivatives by."""
    outputs: Sequence[int]
    """The results that have derivatives."""

    def pushed(self) -> Callable[..., Any]:
        """The rule of forward mode."""
        import jax

        eqn, outputs = self.call.eqn, self.outputs
        count = len(eqn.outvars)

        def derive(function: Callable[..., Any], at: Sequence[Any], moved: Sequence[Any]) -> Any:
            return _chosen(jax.jvp(function, at, list(moved))[1], outputs)

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            rule = self._rule("jvp", derive, lambda floats: _chosen(eqn.invars, floats))
            if not rule.floats:
                return self.owner(*primals), None
            moved = [tangents[self.moving.index(n)] for n in rule.floats]
            slopes = dict(zip(outputs, self.call.walk.run(rule.jaxpr, [*self.merged(primals), *moved]), strict=True))
            # of results, only the structure is read: their values are those of the function
            return (0,) * count, tuple(slopes.get(n) for n in range(count))

        return jvp

    def pulled(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The two functions of a rule of reverse mode."""
        import jax

        eqn, outputs = self.call.eqn, self.outputs

        def derive(function: Callable[..., Any], at: Sequence[Any], cotangents: Sequence[Any]) -> Any:
            return jax.vjp(lambda *some: _chosen(function(*some), outputs), *at)[1](list(cotangents))

        def fwd(*primals: Any) -> Any:
            return self.owner(*primals), primals

        def bwd(primals: Sequence[Any], cotangents: Sequence[Any]) -> Any:
            rule = self._rule("vjp", derive, lambda _: _chosen(eqn.outvars, outputs))
            if not rule.floats:
                return (None,) * len(self.moving)
            found = self.call.walk.run(rule.jaxpr, [*self.merged(primals), *_chosen(cotangents, outputs)])
            given = dict(zip(rule.floats, found, strict=True))
            return tuple(given.get(n) for n in self.moving)

        return fwd, bwd

    def _rule(
        self,
        kind: str,
        derive: Callable[[Callable[..., Any], Sequence[Any], Sequence[Any]], Any],
        moved: Callable[[Sequence[int]], Sequence[Any]],
    ) -> _Rule:
        """The rule that `derive` gives, traced once: `moved` has the variables of the tangents or cotangents."""
        walk, eqn = self.call.walk, self.call.eqn

        def trace(floats: Sequence[int]) -> Any:
            function = as_function(eqn)

            def both(primals: Sequence[Any], others: Sequence[Any]) -> Any:
                return derive(_of_floats(function, floats, primals), _chosen(primals, floats), others)

            return walk.trace(both, types_of(eqn.invars), types_of(moved(floats)))

        return walk.kept(eqn, (kind, *self.floats), lambda: _traced_rule(self.floats, trace))
