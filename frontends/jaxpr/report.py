"""What became of the primitives of a program: `Imported.report`."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl_rlx.frontends.jaxpr import walk


@dataclass(frozen=True)
class Report:
    """How often each primitive of a program occurs, by the way in which it is translated."""

    exact: Mapping[str, int]
    """Primitives that are one operation of mir, or two."""
    composite: Mapping[str, int]
    """Primitives that are several operations."""
    lowered: Mapping[str, int]
    """Primitives without a translation of their own, which are built by their StableHLO."""
    rules: Mapping[str, int]
    """Functions that keep a derivative rule of their own, by name."""

    @classmethod
    def of(cls, jaxpr: Any, x64: bool) -> Report:
        """Return the report of a closed jaxpr, which JAX has traced with 64-bit types or without."""
        fired = walk.fired(jaxpr.jaxpr, x64).most_common()

        def by(status: str) -> dict[str, int]:
            return {name: count for (name, one), count in fired if one == status}

        return cls(by("exact"), by("composite"), by(walk.LOWERED), dict(walk.rules(jaxpr.jaxpr, x64).most_common()))

    def __str__(self) -> str:
        parts = (
            ("exact", self.exact),
            ("composite", self.composite),
            (walk.LOWERED, self.lowered),
            ("derivative rules", self.rules),
        )
        lines = [f"{title}: {', '.join(f'{name} x{n}' for name, n in part.items())}" for title, part in parts if part]
        return "\n".join(lines)
