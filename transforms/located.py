"""How every engine inserts and replaces ops: what stands for an op has its location and the names of its results."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.builder import Value


@contextmanager
def located(builder: Builder, location: LocationAttr) -> Generator[list[Operation]]:
    """
    The ops that `builder` inserts meanwhile, each at `location` if it has none.

    Of several around each other, the innermost says where.
    """
    inserted: list[Operation] = []

    def locate(op: Operation) -> None:
        inserted.append(op)
        if op.regions:
            locate_all((op,), location)
        elif op.location == UNKNOWN_LOC:
            op.location = location

    builder.operation_insertion_handler.insert(0, locate)
    try:
        yield inserted
    finally:
        builder.operation_insertion_handler.remove(locate)


def locate_all(ops: Iterable[Operation], location: LocationAttr) -> None:
    """Give ops, and those in their regions, the location if they have none."""
    for op in ops:
        for inner in op.walk():
            if inner.location == UNKNOWN_LOC:
                inner.location = location


def replace(op: Operation, values: Sequence[Value | SSAValue]) -> None:
    """Use other values for the results of an op, and erase it; values without a name take the results'."""
    for result, value in zip(op.results, values, strict=True):
        new = value.ssa if isinstance(value, Value) else value
        new.name_hint = new.name_hint or result.name_hint
        result.replace_all_uses_with(new)
    op.detach()
    op.erase()
