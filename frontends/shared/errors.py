"""The exception of the front ends, and what it lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl_rlx.dialects.errors import RlxError


@dataclass(frozen=True)
class Missing:
    """An operator that cannot be read: how often a program has it, where first, and why not."""

    op: str
    count: int
    location: str
    reason: str = "has no translation"

    def __str__(self) -> str:
        times = "once" if self.count == 1 else f"{self.count} times"
        return f"{self.op} ({times}, first at {self.location}): {self.reason}"


class FrontendError(RlxError, ValueError):
    """
    A program of another framework cannot be read, or a package that is needed is not installed.

    `missing` lists the operators that cannot be read, all at once.
    """

    def __init__(self, message: str, missing: Sequence[Missing] = ()):
        super().__init__(message)
        self.missing = tuple(missing)


def missing_ops(program: str, missing: Iterable[Missing], cure: str) -> FrontendError:
    """Return the error that lists operators without a row."""
    found = list(missing)
    lines = "".join(f"\n  {one}" for one in found)
    noun = "operator" if len(found) == 1 else "operators"
    return FrontendError(f"{program}: {len(found)} {noun} cannot be read:{lines}\n{cure}", found)
