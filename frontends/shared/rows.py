"""Tables of how the operators of a front end are translated: the mechanism; the rows are each front end's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

BuildT = TypeVar("BuildT", bound=Callable[..., Any])


class Status(Enum):
    """How an operator is translated."""

    EXACT = "exact"
    """Into one operation of mir, or two."""
    COMPOSITE = "composite"
    """Into several operations."""
    REFUSED = "refused"
    """Not at all, for a reason."""

    @staticmethod
    def of(composite: bool) -> Status:
        """The status of an operator that is translated."""
        return Status.COMPOSITE if composite else Status.EXACT


@dataclass(frozen=True)
class Row:
    """How one operator is translated: `build(call, *operands)` returns its results; None if it is refused."""

    name: str
    build: Callable[..., Any] | None
    status: Status
    reason: str = ""


RowT = TypeVar("RowT", bound=Row)


class Table(Generic[RowT]):
    """Rows by the full name of the operator."""

    def __init__(self) -> None:
        self._rows: dict[str, RowT] = {}

    def insert(self, rows: Iterable[RowT]) -> None:
        """Add rows, of operators that have none."""
        for row in rows:
            assert row.name not in self._rows, f"two rows for {row.name}"
            self._rows[row.name] = row

    def by(self, names: Sequence[str], make: Callable[[str, BuildT], RowT]) -> Callable[[BuildT], BuildT]:
        """Decorator that adds the rows that `make` makes of each name and the function."""

        def decorate(build: BuildT) -> BuildT:
            self.insert(make(name, build) for name in names)
            return build

        return decorate

    def get(self, name: str) -> RowT | None:
        """The row of an operator, if there is one."""
        return self._rows.get(name)

    def all(self) -> Sequence[RowT]:
        """All rows, by name."""
        return [self._rows[name] for name in sorted(self._rows)]
