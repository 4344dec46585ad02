"""The table of StableHLO's operations: rows are added by the modules of the families, and found by the walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from xdsl.ir import SSAValue

from xdsl_rlx.frontends.shared import rows as shared
from xdsl_rlx.frontends.shared.rows import Status
from xdsl_rlx.frontends.stablehlo.tree import Block, Op, Type
from xdsl_rlx.frontends.stablehlo.types import stored

BuildT = TypeVar("BuildT", bound=Callable[..., Any])


class Walker(Protocol):
    """What rows of calls and regions need of the walk."""

    notes: dict[SSAValue, Any]
    """What rows know of values for others: the matrix of packed reflections."""

    def call(self, name: str, operands: Sequence[Any]) -> list[Any]:
        """The results of a function of the module."""
        ...

    def function(self, name: str) -> Block:
        """The body of a function of the module."""
        ...

    def block(self, block: Block, operands: Sequence[Any]) -> list[Any]:
        """What a block returns for these arguments."""
        ...

    def elementwise(self, block: Block, operands: Sequence[Any]) -> list[Any]:
        """What a block on single elements returns for tensors of them."""
        ...


@dataclass(frozen=True)
class Call:
    """An operation: what the builder of a row knows beside the operands."""

    op: Op
    walk: Walker

    def get(self, name: str, otherwise: Any = None) -> Any:
        """An attribute, or what stands for one that is omitted."""
        return self.op.attributes.get(name, otherwise)

    @property
    def type(self) -> Type:
        """The type of the first result."""
        return self.op.made[0]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.op.made[0].extents

    @cached_property
    def dtype(self) -> str:
        """The element type of the first result, as mir keeps it."""
        return stored(self.op.made[0].dtype)

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """Element types of the results, as mir keeps them."""
        return tuple(stored(one.dtype) for one in self.op.made)

    @property
    def given(self) -> tuple[str, ...]:
        """Element types of the operands, as StableHLO names them."""
        return tuple(one.dtype for one in self.op.given)


@dataclass(frozen=True)
class Row(shared.Row):
    """How one operation is translated: `build(call, *operands)` returns its result, or a sequence of several."""

    folds: bool = False
    """Whether `build` computes with NumPy where all operands are constants."""


class Rows(shared.Table[Row]):
    """Rows by the name of the operation; names without a dialect are of `stablehlo`."""

    def add(self, *names: str, composite: bool = False, folds: bool = False) -> Callable[[BuildT], BuildT]:
        """Decorator that adds a row for each of these operations."""
        return self.by(names, lambda name, build: Row(_full(name), build, Status.of(composite), folds=folds))

    def refuse(self, reason: str, *names: str) -> None:
        """Add rows for operations that are not translated, and say why."""
        self.insert(Row(_full(name), None, Status.REFUSED, reason) for name in names)


def _full(name: str) -> str:
    return name if "." in name else f"stablehlo.{name}"


ROWS = Rows()
"""The rows of all families; `frontends/stablehlo/table.py` imports these."""
