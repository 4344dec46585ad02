"""The table of JAX's primitives: rows are added by the modules of the families, and found by the walk."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from xdsl_rlx.frontends.jaxpr.types import stored_dtype, stored_shape
from xdsl_rlx.frontends.shared import rows as shared
from xdsl_rlx.frontends.shared.rows import Status

BuildT = TypeVar("BuildT", bound=Callable[..., Any])


class Walker(Protocol):
    """What rows of calls and loops need of the walk."""

    x64: bool
    """Whether JAX traces with 64-bit types."""

    def run(self, jaxpr: Any, operands: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr that is closed, for these operands."""
        ...

    def trace(self, function: Callable[..., Any], *example: Any) -> Any:
        """A function of JAX as a jaxpr, with its element types as they are."""
        ...

    def map(self, eqn: Any, jaxpr: Any, operands: Sequence[Any]) -> list[Any]:
        """The results of a closed jaxpr of numbers for the elements of arrays of one shape."""
        ...

    def defined(self, c: Call, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an equation by the function that it stands for, with the derivatives that JAX has."""
        ...

    def kept(self, eqn: Any, what: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What is made of an equation, once."""
        ...


@dataclass(frozen=True)
class Call:
    """An equation: what the builder of a row knows beside the operands."""

    eqn: Any
    walk: Walker

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters of the primitive."""
        return self.eqn.params

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """Element types of the results, as mir keeps them."""
        return tuple(stored_dtype(one.aval) for one in self.eqn.outvars)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the results."""
        return tuple(stored_shape(one.aval) for one in self.eqn.outvars)

    @property
    def dtype(self) -> str:
        """The element type of the first result."""
        return self.dtypes[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.shapes[0]

    @property
    def given(self) -> tuple[str, ...]:
        """Element types of the operands, as JAX names them."""
        return tuple(str(one.aval.dtype) for one in self.eqn.invars)

    @property
    def made(self) -> tuple[str, ...]:
        """Element types of the results, as JAX names them."""
        return tuple(str(one.aval.dtype) for one in self.eqn.outvars)


@dataclass(frozen=True)
class Row(shared.Row):
    """How one primitive is translated: `build(call, *operands)` returns its result, or a sequence of several."""

    why_not: Callable[[Any], str | None] | None = None
    """Why an equation is not translated, by its parameters; None if it is."""
    definition: Callable[[Any], Callable[..., Any]] | None = None
    """The function of JAX that an equation stands for, which is walked."""
    by_jvp: Callable[[Any], bool] = lambda _: True
    """Whether derivatives of a definition are those of JAX's forward mode, else of its reverse mode."""
    differentiable: Callable[[Any], Sequence[int] | None] = lambda _: None
    """The operands that JAX has derivatives of a definition by; None for all."""


def _defined(c: Call, *xs: Any) -> Any:
    return c.walk.defined(c, xs)


class Rows(shared.Table[Row]):
    """Rows by the name of the primitive."""

    def add(
        self, *names: str, composite: bool = False, why_not: Callable[[Any], str | None] | None = None
    ) -> Callable[[BuildT], BuildT]:
        """Decorator that adds a row for each of these primitives."""
        return self.by(names, lambda name, build: Row(name, build, Status.of(composite), why_not=why_not))

    def define(
        self,
        *names: str,
        by_jvp: Callable[[Any], bool] = lambda _: True,
        differentiable: Callable[[Any], Sequence[int] | None] = lambda _: None,
    ) -> Callable[[BuildT], BuildT]:
        """Decorator that adds a row for each primitive, by a function that returns what an equation stands for."""
        options: dict[str, Any] = {"by_jvp": by_jvp, "differentiable": differentiable}
        return self.by(
            names,
            lambda name, definition: Row(name, _defined, Status.COMPOSITE, definition=definition, **options),
        )

    def refuse(self, reason: str, *names: str) -> None:
        """Add rows for primitives that are not translated, and say why."""
        self.insert(Row(name, None, Status.REFUSED, reason) for name in names)


ROWS = Rows()
"""The rows of all families; `frontends/jaxpr/table.py` imports these."""
