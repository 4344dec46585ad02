"""Where an op comes from, also in the words of error messages."""

import sys

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute, Operation, SSAValue


def where(op: Operation) -> str:
    """The location of an op behind the word "at", or nothing if it is not known."""
    return "" if op.location == UNKNOWN_LOC else f" at {op.location}"


def source_of(op: Operation) -> str:
    """The scopes, file and line that an op comes from: ` in layer3 at model.py:12`; empty if they are not known."""
    location: Attribute = op.location
    scopes = list[str]()
    while isinstance(location, NameLoc):
        scopes.append(location.desc.data)
        location = location.location
    within = f" in {'/'.join(scopes)}" if scopes else ""
    if isinstance(location, FileLineColLoc):
        return f"{within} at {location.filename.data}:{location.line.data}"
    return within


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
