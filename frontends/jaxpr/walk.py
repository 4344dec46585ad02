"""The walk over a jaxpr: look all primitives up, then build the equations one by one."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from xdsl_rlx.builder import Graph
from xdsl_rlx.frontends.jaxpr import lowered, private
from xdsl_rlx.frontends.jaxpr.custom_rules import types_of, with_rules
from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import (
    AS_SIGNED,
    MOST_FOLDED,
    SEES_SIGN,
    stored,
    stored_dtype,
    stored_shape,
    unsupported,
)
from xdsl_rlx.frontends.shared.errors import FrontendError, Missing, missing_ops
from xdsl_rlx.frontends.shared.rows import Status
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, numpy_dtype, traced
from xdsl_rlx.tracing import builder_of


def inner_jaxprs(eqn: Any, x64: bool) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation that its row walks, without those of a reduction's body."""
    row = ROWS.get(eqn.primitive.name)
    if row is None or row.name in _BODIES_ARE_READ_BY_ROWS:
        return
    if row.definition is not None:
        yield definition_of(eqn, x64).jaxpr
        return
    for param in eqn.params.values():
        for one in param if isinstance(param, tuple | list) else (param,):
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "eqns"):
                yield inner


_BODIES_ARE_READ_BY_ROWS = frozenset(
    ("reduce", "reduce_window", "scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub",
     "select_and_scatter")
)  # fmt: skip


_MOST_KEPT = 256
"""Definitions of equations that are kept: each is needed when a function is checked, and again when it is built."""


@lru_cache(_MOST_KEPT)
def definition_of(eqn: Any, x64: bool) -> Any:
    """Return the function that an equation stands for as a closed jaxpr."""
    import jax

    row = ROWS.get(eqn.primitive.name)
    assert row is not None and row.definition is not None
    with jax.enable_x64(x64):
        return jax.make_jaxpr(row.definition(eqn))(*types_of(eqn.invars))


def equations(jaxpr: Any, x64: bool, *around: Any) -> Iterator[tuple[Any, ...]]:
    """The equations of a jaxpr, and those of all jaxprs in it; each with those around it, the outermost first."""
    for eqn in jaxpr.eqns:
        yield (*around, eqn)
        for inner in inner_jaxprs(eqn, x64):
            yield from equations(inner, x64, *around, eqn)


def _reason(eqn: Any, x64: bool) -> str | None:
    """Why an equation is not translated; None if it is."""
    row = ROWS.get(eqn.primitive.name)
    if row is not None and row.status is Status.REFUSED:
        return row.reason
    if row is not None and row.why_not is not None and (reason := row.why_not(eqn)) is not None:
        return reason
    avals = [one.aval for one in (*eqn.invars, *eqn.outvars)]
    for aval in avals:
        if (reason := unsupported(aval)) is not None:
            return reason
    if row is None:
        return lowered.why_not(eqn, x64)
    if row.name in SEES_SIGN and any(str(aval.dtype) in AS_SIGNED for aval in avals):
        return "16-bit and 64-bit unsigned integers are only supported in operations on bits"
    return None


def missing(jaxpr: Any, x64: bool = False) -> list[Missing]:
    """Return the primitives of a jaxpr that cannot be translated, with counts and first locations."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for *around, eqn in equations(jaxpr, x64):
        if (reason := _reason(eqn, x64)) is not None:
            key = (eqn.primitive.name, reason)
            counts[key] += 1
            first.setdefault(key, private.location(eqn, *around))
    return [Missing(name, count, first[name, reason], reason) for (name, reason), count in counts.most_common()]


def fired(jaxpr: Any, x64: bool = False) -> Counter[tuple[str, str]]:
    """Return how often each row is used for a jaxpr, by primitive and status; LOWERED is that of those without one."""
    names = [eqn.primitive.name for *_, eqn in equations(jaxpr, x64)]
    rows = [(name, ROWS.get(name)) for name in names]
    return Counter((name, LOWERED if row is None else row.status.value) for name, row in rows)


LOWERED = "through StableHLO"


_WITH_RULES = ("custom_jvp_call", "custom_vjp_call", "custom_linear_solve", "linear_call")


def rules(jaxpr: Any, x64: bool = False) -> Counter[str]:
    """Return how often each function with a derivative rule of its own is called, by name."""
    every = [eqn for *_, eqn in equations(jaxpr, x64)]
    return Counter(private.name_of_custom(eqn) for eqn in every if eqn.primitive.name in _WITH_RULES)


def traced_jaxpr(function: Callable[..., Any], example: Sequence[Any], x64: bool, name: str) -> tuple[Any, Any]:
    """A function of JAX as a closed jaxpr, and its results' shapes; FrontendError lists primitives without a row."""
    import jax
    from jax.core import Tracer

    with jax.enable_x64(True) if x64 else nullcontext():
        jaxpr, results = jax.make_jaxpr(function, return_shape=True)(*example)
    if found := missing(jaxpr.jaxpr, x64):
        raise missing_ops(name, found, "Replace them in the function, or take that part out of it.")
    for one in jaxpr.consts:
        if isinstance(one, Tracer):
            raise FrontendError(
                f"{name}: it uses a value that JAX traces in another function, {one.aval.str_short()}; pass that as an "
                "argument, and keep no values of a function that has returned"
            )
    return jaxpr, results


class Walk:
    """Walks over the jaxprs of a program, in what is being traced."""

    def __init__(self, x64: bool) -> None:
        """With `x64`, derivative rules are traced with 64-bit types."""
        self.x64 = x64
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._around: list[Any] = []
        """The equations whose jaxprs are being walked, the outermost first."""

    def trace(self, function: Callable[..., Any], *example: Any) -> Any:
        """A function of JAX as a closed jaxpr; FrontendError for primitives without a row."""
        return traced_jaxpr(function, example, self.x64, "a derivative rule")[0]

    def kept(self, eqn: Any, what: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What is made of an equation, once."""
        key = (id(eqn), *what)
        if key not in self._kept:
            # the equation is held, so that no other one gets its number
            self._kept[key] = make(), eqn
        return self._kept[key][0]

    def run(self, jaxpr: Any, operands: Sequence[Any]) -> list[Any]:
        """Build a closed jaxpr for these operands, which are values and NumPy arrays; return its results."""
        return self._built(jaxpr.jaxpr, [stored(one) for one in jaxpr.consts], operands)

    def defined(self, c: Call, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an equation by the function that it stands for, with the derivatives that JAX has."""
        jaxpr = definition_of(c.eqn, self.x64)

        def build(*xs: Any) -> Sequence[Any]:
            return self.run(jaxpr, xs)

        if all(map(is_constant, operands)):
            return build(*operands)
        row = ROWS.get(c.eqn.primitive.name)
        assert row is not None
        return with_rules(c, operands, build, row.by_jvp(c.eqn), row.differentiable(c.eqn))

    def map(self, eqn: Any, jaxpr: Any, operands: Sequence[Any]) -> list[Any]:
        """The results of a closed jaxpr of numbers for the elements of arrays of one shape."""
        import jax
        from jax.extend.core import jaxpr_as_fun

        shape = tuple(np.shape(operands[0]))
        size = int(np.prod(shape))
        types = [jax.ShapeDtypeStruct((size,), one.aval.dtype) for one in jaxpr.jaxpr.invars]
        many = self.kept(eqn, ("map", size), lambda: self.trace(jax.vmap(jaxpr_as_fun(jaxpr)), *types))
        found = self.run(many, [np.reshape(x, (size,)) for x in operands])
        return [np.reshape(x, shape) for x in found]

    def _built(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values |= zip(jaxpr.invars, operands, strict=True)
        left = _last_uses(jaxpr)

        def read(one: Any) -> Any:
            return stored(np.asarray(one.val, one.aval.dtype)) if hasattr(one, "val") else values[one]

        live = _live(jaxpr)
        for number, eqn in enumerate(jaxpr.eqns):
            if number not in live:
                continue
            found = self._called(eqn, [read(one) for one in eqn.invars])
            values |= zip(eqn.outvars, found, strict=True)
            for one in left.get(number, ()):
                values.pop(one, None)
        return [read(one) for one in jaxpr.outvars]

    def _called(self, eqn: Any, operands: list[Any]) -> Sequence[Any]:
        row, name = ROWS.get(eqn.primitive.name), eqn.primitive.name
        build = lowered.through_stablehlo if row is None else row.build
        assert build is not None, f"{name} is refused"
        if operands and all(map(is_constant, operands)) and _bytes(eqn) > MOST_FOLDED:
            operands = [traced(one) for one in operands]
        self._around.append(eqn)
        try:
            with self._part(eqn), np.errstate(all="ignore"):
                found = build(Call(eqn, self), *operands)
                several = found if isinstance(found, tuple | list) else (found,)
                return [_typed(x, one.aval) for x, one in zip(several, eqn.outvars, strict=True)]
        except FrontendError:
            raise
        except (ValueError, TypeError) as error:
            place = private.location(eqn, *self._around)
            raise FrontendError(f"{name}, at {place}: {error}", [Missing(name, 1, place, str(error))]) from error

    def _part(self, eqn: Any) -> AbstractContextManager[None]:
        """A scope for the locations of operations: the names that `jax.named_scope` gives."""
        builder, name = builder_of(), private.scope(eqn)
        return builder.named(name) if name and isinstance(builder, Graph) else nullcontext()


def _typed(x: Any, aval: Any) -> Any:
    """The result of a row with the element type and the shape that JAX has."""
    dtype, shape = stored_dtype(aval), stored_shape(aval)
    x = x if hasattr(x, "dtype") else np.asarray(x)
    if dtype_of(x) != dtype:
        x = cast(x, dtype)
    assert tuple(x.shape) == shape, f"expected shape {shape}, got {x.shape}"
    return x


def _bytes(eqn: Any) -> int:
    avals = [one.aval for one in eqn.outvars]
    return sum(int(np.prod(stored_shape(one))) * numpy_dtype(stored_dtype(one)).itemsize for one in avals)


def _live(jaxpr: Any) -> set[int]:
    """The numbers of the equations that results depend on, or that have effects."""
    needed = {one for one in jaxpr.outvars if not hasattr(one, "val")}
    found: set[int] = set()
    for number, eqn in reversed([*enumerate(jaxpr.eqns)]):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            found.add(number)
            needed |= {one for one in eqn.invars if not hasattr(one, "val")}
    return found


def _last_uses(jaxpr: Any) -> dict[int, list[Any]]:
    """The variables that each equation, by number, is the last one to use."""
    last: dict[Any, int] = {}
    for number, eqn in enumerate(jaxpr.eqns):
        last |= {one: number for one in (*eqn.invars, *eqn.outvars) if not hasattr(one, "val")}
    kept = {one for one in jaxpr.outvars if not hasattr(one, "val")}
    found: dict[int, list[Any]] = {}
    for one, number in last.items():
        if one not in kept:
            found.setdefault(number, []).append(one)
    return found
