"""Passes with the costs of a model."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl_rlx.lowering.target import NAMES

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


# a program is lowered by fifteen passes of up to sixty costs each
@cache
def with_costs(kind: type[T], model: DataclassInstance, **others: Any) -> T:
    """Return a pass, or a group of costs, with the fields that it shares with a model, and `others`."""
    return kind(**{name: getattr(model, name) for name in _shared(kind, type(model))}, **others)


@cache
def _shared(kind: type[DataclassInstance], model: type[DataclassInstance]) -> tuple[str, ...]:
    """The costs that are fields of both."""
    names = {field.name for field in fields(model)}
    return tuple(field.name for field in fields(kind) if field.name in NAMES and field.name in names)
