"""Where an op comes from, also in the words of error messages."""

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Operation, SSAValue


def where(op: Operation) -> str:
    """The location of an op behind the word "at", or nothing if it is not known."""
    return "" if op.location == UNKNOWN_LOC else f" at {op.location}"


def named(op: Operation) -> str:
    """The name of an op, and where it comes from."""
    return f"{op.name}{where(op)}"


def location_of(value: SSAValue) -> LocationAttr:
    """The location of what computes a value; that of an argument is not known."""
    return value.owner.location if isinstance(value.owner, Operation) else UNKNOWN_LOC
