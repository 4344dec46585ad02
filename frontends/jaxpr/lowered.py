"""Primitives without a row: each is lowered alone to StableHLO, and the other table builds that."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl_rlx.frontends.jaxpr import private
from xdsl_rlx.frontends.jaxpr.custom_rules import as_function, types_of, with_rules
from xdsl_rlx.frontends.jaxpr.rows import Call
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.values import traced
from xdsl_rlx.frontends.stablehlo.imported_program import ImportedProgram
from xdsl_rlx.frontends.stablehlo.read import read

OF_JAX = frozenset(("call_exported", "ffi_call", "pallas_call"))
"""JAX's own primitives that are translated so: each stands for a program, or for a function of a library."""

_MOST_KEPT = 256
"""Programs of equations that are kept: each is needed when a function is checked, and again when it is built."""


@lru_cache(_MOST_KEPT)
def program_of(eqn: Any, x64: bool) -> ImportedProgram:
    """Return an equation as a program in StableHLO; FrontendError if it has none, or one that is not translated."""
    import jax

    with jax.enable_x64(x64):
        jitted = jax.jit(as_function(eqn), keep_unused=True)
        try:
            text = jitted.trace(*types_of(eqn.invars)).lower(lowering_platforms=("cpu",)).as_text()
        except Exception as error:  # the lowering is code of the primitive's author
            said = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise FrontendError(f"has no translation, and cannot be lowered alone: {said}") from error
    return ImportedProgram(read(text), "main", None)


def why_not(eqn: Any, x64: bool) -> str | None:
    """Why an equation cannot be built by its StableHLO; None if it can."""
    try:
        program_of(eqn, x64)
    except FrontendError as error:
        if not error.missing:
            return str(error)
        parts = dict.fromkeys(f"{one.op}: {one.reason}" for one in error.missing)
        return f"has no translation, and neither has its StableHLO: {'; '.join(parts)}"
    return None


def through_stablehlo(c: Call, *xs: Any) -> Any:
    """The results of an equation by its StableHLO, with the derivative rule that the primitive has in JAX, if any."""
    program = program_of(c.eqn, c.walk.x64)

    def build(*operands: Any) -> Any:
        found = program(*map(traced, operands))
        return found if isinstance(found, tuple) else (found,)

    operands = [traced(x) for x in xs]
    return with_rules(c, operands, build) if operands and private.has_jvp(c.eqn.primitive) else build(*operands)
