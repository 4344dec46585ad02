"""Rows of custom calls, by target."""

from __future__ import annotations

from xdsl_rlx.frontends.stablehlo.tree import Op


def reason(op: Op) -> str | None:
    """Why a custom call is not translated; None if it is."""
    return "has no translation"
