"""How the driver and the engines insert and replace ops: what stands for an op has its location, and its names."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.mir_builder import Value


class located:
    """
    Has the ops that `builder` inserts meanwhile stand at `location`, each with those in its regions, if it has none.

    Of several around each other, the innermost says where.
    """

    def __init__(self, builder: Builder, location: LocationAttr):
        self._handlers = builder.operation_insertion_handler
        self._location = location

    def __enter__(self) -> None:
        self._handlers.insert(0, self._locate)

    def __exit__(self, *_: object) -> None:
        self._handlers.remove(self._locate)

    def _locate(self, op: Operation) -> None:
        locate(op, self._location)


def locate(op: Operation, location: LocationAttr) -> None:
    """Give an op, and those in its regions, the location if they have none."""
    for inner in op.walk() if op.regions else (op,):
        if inner.location == UNKNOWN_LOC:
            inner.location = location


@contextmanager
def recorded(builder: Builder) -> Generator[list[Operation]]:
    """The ops that `builder` inserts meanwhile."""
    inserted: list[Operation] = []
    builder.operation_insertion_handler.append(inserted.append)
    try:
        yield inserted
    finally:
        builder.operation_insertion_handler.remove(inserted.append)


def replace(op: Operation, values: Sequence[Value | SSAValue]) -> None:
    """Use other values for the results of an op, and erase it; values without a name take the results'."""
    for result, value in zip(op.results, values, strict=True):
        new = value.ssa if isinstance(value, Value) else value
        new.name_hint = new.name_hint or result.name_hint
        result.replace_all_uses_with(new)
    op.detach()
    op.erase()
