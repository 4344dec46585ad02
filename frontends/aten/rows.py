"""The table of ATen operators: rows are added by the modules of the families, and found by the walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl_rlx.frontends.shared.rows import Row, Status, Table

BuildT = TypeVar("BuildT", bound=Callable[..., Any])


class Rows(Table[Row]):
    """Rows by the full name of the operator, such as `aten.add.Tensor`."""

    def add(self, *names: str, composite: bool = False, namespace: str = "aten") -> Callable[[BuildT], BuildT]:
        """Decorator that adds a row for each of these operators, which take the same arguments."""
        return self.by(names, lambda name, build: Row(f"{namespace}.{name}", build, Status.of(composite)))

    def refuse(self, reason: str, *names: str) -> None:
        """Add rows for operators that are not translated, and say why."""
        self.insert(Row(f"aten.{name}", None, Status.REFUSED, reason) for name in names)


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
