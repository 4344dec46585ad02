"""Lines of LLVM text, without what is there already: values by number and indices by value.
What the lines say is in `llvm_body.py`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation

_FOLDED: dict[type[Operation], tuple[str, Callable[[int, int], int]]] = {
    arith.AddiOp: ("0", operator.add),
    arith.SubiOp: ("0", operator.sub),
    arith.MuliOp: ("1", operator.mul),
}
"""Arithmetic on indices, with the second operand that leaves the first as it is."""


def folded_index(kind: type[Operation], operands: Sequence[str], type: Attribute) -> str | None:
    """A sum, difference or product of indices that needs no instruction; None for all others."""
    if not isinstance(type, IndexType) or kind not in _FOLDED:
        return None
    neutral, function = _FOLDED[kind]
    a, b = operands
    if b == neutral:
        return a
    if a == neutral and kind is not arith.SubiOp:
        return b
    found = function(int(a), int(b)) if a.isdigit() and b.isdigit() else -1
    # what wraps is left to LLVM
    return str(found) if 0 <= found < 1 << 63 else None


class LlvmLines:
    """The lines of a function so far. `label` names the block being filled, for phis."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.label = "entry"
        self._count = 0
        self._known: dict[str, str] = {}
        """Instructions that every way here has come by, with the names of their results."""

    def line(self, text: str) -> str:
        """
        The name of an instruction's result: it is emitted unless the same one was before.

        Loops that are written out would have most of their indices many times otherwise, and LLVM as much to do with
        these as with what is computed.
        """
        name = self._known.get(text)
        if name is None:
            name = self._known[text] = self.new_line(text)
        return name

    def new_line(self, text: str) -> str:
        """Emit an instruction whose result need not be that of the same one before, and give its name."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def emit(self, text: str) -> None:
        """Emit an instruction without a result."""
        self.lines.append(f"  {text}")

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    @contextmanager
    def branched(self) -> Generator[None]:
        """Blocks that not every way leads through: what is emitted there is not known afterwards."""
        outside = len(self._known)
        yield
        # a dict gives back last what came in last
        for _ in range(len(self._known) - outside):
            self._known.popitem()
