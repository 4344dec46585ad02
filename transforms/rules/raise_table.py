"""The table RAISE: how what is written in simpler ops is seen to be a composite op, the inverse of DECOMPOSE.
Its rows stand beside the definitions they invert; what they look at the program through is in `terms.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value

OpT = TypeVar("OpT", bound=Operation)


class Reason(StrEnum):
    """Why what has the structure of a composite op does not become one."""

    MULTI_CONSUMER = "MultiConsumer"
    """A value inside is an output, or something else reads it: it would be computed twice."""
    SHAPE = "Shape"
    """An operand does not broadcast as the op takes it."""
    DTYPE = "Dtype"
    """The op does not take the element type."""
    AXIS = "Axis"
    """It is along another axis than that of the op."""
    MASK = "Mask"
    """Some row may see nothing, and what the op gives for such a row is something else."""


@dataclass(frozen=True)
class Missed:
    """What matched but for a guard."""

    reason: Reason
    hint: str
    """What could be written instead, or what stands in the way."""


@dataclass(frozen=True)
class Raised:
    """What a row found behind the last op of a pattern: what it reads, and how the composite op is built of that."""

    leaves: Sequence[SSAValue]
    """The values that the pattern begins with; what lies between them and the last op is taken in."""
    build: Callable[[MirBuilder], Value]
    is_faster: bool = True
    """Whether the op is to be expected to run at least as fast as what it stands for."""


RaiseRule: TypeAlias = Callable[[OpT], Raised | Missed | None]
"""`(last op of the pattern) -> what it is`, None where it is something else. It looks and changes nothing."""


class Walk(IntEnum):
    """In which walk over a block a row is asked: those of larger patterns before those that would take a part of it."""

    FUNCTIONS = 0
    """First op first, so that a pattern is seen in terms of those inside: activations, softmax, norms, attention."""
    BLOCKS = 1
    """Last op first, as all that follow: attention with its projections, whole layers."""
    SUMS = 2
    """A sum of two values, which would be the bias of a product else."""
    PRODUCTS = 3
    HALVES = 4
    """An op in f32 between casts of half floats."""


class RaiseRow(NamedTuple):
    """A pattern of a composite op."""

    op: type[Operation]
    stage: Walk
    rule: RaiseRule[Any]
    among: frozenset[type[Operation]] = frozenset()
    """A program in which no op is of one of these classes has none of the pattern; empty: not known."""


class RaiseTable:
    """Patterns by the class of their last op."""

    def __init__(self) -> None:
        self._rows: dict[type[Operation], list[RaiseRow]] = {}
        self._of_stage: dict[Walk, dict[type[Operation], list[RaiseRow]]] = {stage: {} for stage in Walk}

    def rule(
        self,
        op: type[Operation],
        *last: type[OpT],
        stage: Walk = Walk.FUNCTIONS,
        among: Sequence[type[Operation]] = (),
    ) -> Callable[[RaiseRule[OpT]], RaiseRule[OpT]]:
        """
        Decorator: the function sees the composite `op` in programs, behind an op of a class in `last`.

        It is asked only in programs that have an op of a class in `among`, if that says any. These are simple ops, not
        those that other rows make.
        """

        def register(function: RaiseRule[OpT]) -> RaiseRule[OpT]:
            row = RaiseRow(op, stage, function, frozenset(among))
            for kind in last:
                self._rows.setdefault(kind, []).append(row)
                self._of_stage[stage].setdefault(kind, []).append(row)
            return function

        return register

    def rows(
        self, stage: Walk, wanted: Callable[[type[Operation]], bool], present: Collection[type[Operation]]
    ) -> dict[type[Operation], list[RaiseRow]]:
        """
        The rows of a stage for the composite ops that are wanted, by the class of the last op, in a program that has
        ops of the classes `present`.
        """
        chosen = {
            kind: [row for row in rows if (not row.among or not row.among.isdisjoint(present)) and wanted(row.op)]
            for kind, rows in self._of_stage[stage].items()
        }
        return {kind: rows for kind, rows in chosen.items() if rows}

    @property
    def ops(self) -> Sequence[type[Operation]]:
        """The composite ops that have a pattern."""
        return tuple(dict.fromkeys(row.op for rows in self._rows.values() for row in rows))


RAISE = RaiseTable()
"""How programs in simpler ops are seen to be composite ones."""
