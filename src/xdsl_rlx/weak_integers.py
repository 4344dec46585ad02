"""Python's integers as arguments of compiled functions: what they have to fit in, checked at each call.

A Python integer is an i64 that takes the integer type of the array that it meets, as in NumPy. NumPy raises where the
number does not fit; a trace does not know the number, so it records what has to fit, and the call checks it.
Comparisons need no check: they compare in i64.
"""

# What is built is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.constants import NUMPY_NAMES
from xdsl_rlx.dialects.mir import elementwise as mir
from xdsl_rlx.dialects.mir import rounding
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, INTS, element_of
from xdsl_rlx.lowering.run_errors import ArgumentError

Number: TypeAlias = Callable[[Sequence[Any]], int]
"""The integer that a value has in a call with these operands."""

_OPS: Mapping[type[Operation], Callable[..., int]] = {
    mir.AddOp: operator.add,
    mir.SubOp: operator.sub,
    mir.MulOp: operator.mul,
    mir.NegOp: int.__neg__,
    mir.AbsOp: int.__abs__,
    mir.MaxOp: max,
    mir.MinOp: min,
    rounding.FloordivOp: lambda a, b: a // b if b else 0,
    rounding.ModOp: lambda a, b: a % b if b else 0,
    CastOp: int,
}
"""What Python computes for ops on integers that came from Python."""


@dataclass(frozen=True)
class Fit:
    """That an integer has to fit into an element type."""

    number: Number
    type: IntegerType
    name: str
    """Of the argument that it is computed from."""

    def check(self, operands: Sequence[Any]) -> None:
        """ArgumentError if it does not in a call with these operands."""
        low, high = constants.integer_range(self.type)
        if not low <= (found := self.number(operands)) <= high:
            name = NUMPY_NAMES[DTYPE_NAMES[self.type]]
            raise ArgumentError(
                f"{self.name}: {found} is out of range for an array of {name} ({low} to {high}); pass np.int64 for an "
                "integer that has a type of its own, or convert the array"
            )


def number_of(value: SSAValue, argument: Callable[[SSAValue], tuple[Number, str] | None]) -> tuple[Number, str] | None:
    """
    How the number that a value of integers stands for is computed, and the argument that it comes from.

    None where it comes from anything but the arguments that `argument` knows, and constants, by simple arithmetic.
    """
    if (known := argument(value)) is not None:
        return known
    owner = value.owner
    if isinstance(owner, mir.ConstantOp):
        found = constants.splat_value(owner.value)
        return None if not isinstance(found, int) else ((lambda _: found), "")
    if not isinstance(owner, Operation) or (compute := _OPS.get(type(owner))) is None:
        return None
    if any(element_of(x) not in (*INTS, constants.i1) for x in owner.operands):
        return None
    parts = [number_of(x, argument) for x in owner.operands]
    numbers = [part[0] for part in parts if part is not None]
    if len(numbers) != len(parts):
        return None
    name = next((part[1] for part in parts if part is not None and part[1]), "")
    return (lambda operands: compute(*(number(operands) for number in numbers))), name
