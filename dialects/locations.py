"""Where an op comes from, in the words of error messages."""

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation


def where(op: Operation) -> str:
    """The location of an op behind the word "at", or nothing if it is not known."""
    return "" if op.location == UNKNOWN_LOC else f" at {op.location}"


def named(op: Operation) -> str:
    """The name of an op, and where it comes from."""
    return f"{op.name}{where(op)}"
