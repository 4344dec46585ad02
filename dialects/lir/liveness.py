"""How long the buffers of a program are in use, loops taken as a whole where their iterations share a buffer.

Branches need no care: what runs is a part of the program in its order, so that what is not in use at the same time
there is not so when a branch is left out. Slots of the two branches of a `lir.if` are therefore never in use together.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Block, SSAValue

from xdsl_rlx.dialects.lir.buffers import InputOp, OutputOp, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.control_flow import IfOp, LoopOp, StepOp, WhileOp
from xdsl_rlx.dialects.lir.launch import LaunchOp

if TYPE_CHECKING:
    from xdsl_rlx.dialects.lir.program import ProgramOp


@dataclass
class Life:
    """
    The numbers, in the order of the program, of the op that declares a buffer and of its first and last use.

    A use in a loop around which the buffer is declared is one of the whole loop: from its first op to its end.
    """

    op: SlotOp | OutputOp | InputOp
    declared: int
    depth: int
    """In how many loops it is declared."""
    first: int = -1
    """-1: no launch uses it."""
    last: int = -1


def lives_of(program: "ProgramOp") -> list[Life]:
    """Of slots, outputs and scratch inputs, those used in the order of their first launches, then the others."""
    walk = _Walk()
    walk.block(program.body.block)
    unused = [life for name, life in walk.lives.items() if life.first < 0 and name is life.op.result]
    return [*walk.used, *unused]


def launches_of(program: "ProgramOp") -> list[tuple[int, LaunchOp]]:
    """The launches with their numbers in the same order."""
    walk = _Walk()
    walk.block(program.body.block)
    return walk.launches


@dataclass
class _LoopSpan:
    """A loop in which the walk is."""

    begin: int
    lasting: list[Life] = field(default_factory=list[Life])
    """What is in use until it ends."""


class _Walk:
    def __init__(self) -> None:
        self.time = 0
        self.loops: list[_LoopSpan] = []
        self.lives: dict[SSAValue, Life] = {}
        """Of a buffer under each of its names."""
        self.used: list[Life] = []
        self.launches: list[tuple[int, LaunchOp]] = []

    def block(self, block: Block) -> None:
        for op in block.ops:
            # asked in the order of how many there are
            if isinstance(op, LaunchOp):
                self.launches.append((self.time, op))
                for value in op.operands:
                    self.read(value)
            elif isinstance(op, ViewOp | StepOp):
                if (life := self.lives.get(op.source)) is not None:
                    self.lives[op.result] = life
            elif isinstance(op, SlotOp | OutputOp) or (isinstance(op, InputOp) and op.scratch is not None):
                self.lives[op.result] = Life(op, self.time, len(self.loops))
            elif isinstance(op, IfOp):
                self.read(op.predicate)
                for region in op.regions:
                    self.time += 1
                    self.block(region.block)
            elif isinstance(op, LoopOp | WhileOp):
                self.loops.append(_LoopSpan(self.time))
                for region in op.regions:
                    self.time += 1
                    self.block(region.block)
                if isinstance(op, WhileOp):
                    self.read(op.predicate)
                for life in self.loops.pop().lasting:
                    life.last = self.time
            self.time += 1

    def read(self, value: SSAValue) -> None:
        if (life := self.lives.get(value)) is not None:
            self.use(life)

    def use(self, life: Life) -> None:
        loop = self.loops[life.depth] if life.depth < len(self.loops) else None
        if life.first < 0:
            life.first = self.time if loop is None else loop.begin
            self.used.append(life)
        life.last = self.time
        if loop is not None and (not loop.lasting or loop.lasting[-1] is not life):
            loop.lasting.append(life)
