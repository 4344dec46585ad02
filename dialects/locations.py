"""Where an op comes from, also in the words of error messages."""

import sys

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


def source_name(filename: str) -> str:
    """What a file of code is called: a cell of a notebook, whose file is a temporary one, `In[3]`."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = None if shell is None else shell.compile.format_code_name(filename)
    return filename if cell is None else cell[1]
