"""What tells a value of a graph from other operands. It is below `Value`, whose operators call what asks for it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from xdsl_rlx.dialects.mir.value import Value


class TensorValue:
    """The base class of `Value`, which has its operators and methods."""

    __slots__ = ()


def is_value(x: object) -> "TypeIs[Value]":
    """Whether an operand is a value of a graph."""
    return isinstance(x, TensorValue)
