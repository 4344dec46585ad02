"""The table of ATen operators: rows are added by the modules of the families, and found by the walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

BuildT = TypeVar("BuildT", bound=Callable[..., Any])


class Status(Enum):
    """How an operator is translated."""

    EXACT = "exact"
    """Into one operation of mir, or two."""
    COMPOSITE = "composite"
    """Into several operations."""
    REFUSED = "refused"
    """Not at all, for a reason."""


@dataclass(frozen=True)
class Row:
    """How one ATen operator is translated: `build(call, *arguments)` returns its results."""

    name: str
    build: Callable[..., Any] | None
    status: Status
    reason: str = ""


class Rows:
    """Rows by the full name of the operator, such as `aten.add.Tensor`."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, *names: str, composite: bool = False, namespace: str = "aten") -> Callable[[BuildT], BuildT]:
        """Decorator that adds a row for each of these operators, which take the same arguments."""
        status = Status.COMPOSITE if composite else Status.EXACT

        def decorate(build: BuildT) -> BuildT:
            for name in names:
                self._insert(Row(f"{namespace}.{name}", build, status))
            return build

        return decorate

    def refuse(self, reason: str, *names: str) -> None:
        """Add rows for operators that are not translated, and say why."""
        for name in names:
            self._insert(Row(f"aten.{name}", None, Status.REFUSED, reason))

    def _insert(self, row: Row) -> None:
        assert row.name not in self._rows, f"two rows for {row.name}"
        self._rows[row.name] = row

    def get(self, name: str) -> Row | None:
        """The row of an operator, if there is one."""
        return self._rows.get(name)

    def all(self) -> Sequence[Row]:
        """All rows, by name."""
        return [self._rows[name] for name in sorted(self._rows)]


ROWS = Rows()
"""The rows of all families; `frontends/aten/table.py` imports these."""


@dataclass(frozen=True)
class Call:
    """What the builder of a row knows beside the arguments: the element types of the results, and random keys."""

    dtypes: tuple[str, ...]
    """Names of the element types of the results that are tensors, in order."""
    next_key: Callable[[], Any]
    """A new key for random numbers at each call; raises FrontendError where the program was given none."""
    floating: str = "f32"
    """PyTorch's default floating-point type."""

    @property
    def dtype(self) -> str:
        """The element type of the first result."""
        return self.dtypes[0]
