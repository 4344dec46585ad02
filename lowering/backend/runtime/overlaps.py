"""Which buffers of a call share memory: found by sorting their addresses. `fast_call.py` has the same in machine code,
for calls in which nothing has to be explained."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple

from xdsl_rlx.lowering.run_errors import ArgumentError


class Use(Enum):
    """What a call does with a buffer."""

    READ = auto()
    UPDATED = auto()
    """It is an argument that a result is written over."""
    OUTPUT = auto()


class CallBuffer(NamedTuple):
    """The bytes from `begin` to `end` that a call uses as the argument or output of this number in its signature."""

    begin: int
    end: int
    use: Use
    number: int
    name: str


def overlapping(buffers: Iterable[CallBuffer]) -> list[tuple[CallBuffer, CallBuffer]]:
    """
    Each buffer with those that it overlaps, of each use the one that reaches furthest of all that begin before it.

    So every buffer that overlaps one of another use is in a pair with one of that use, unless two of one use overlap,
    which are in a pair then. That takes as long as sorting.
    """
    found: list[tuple[CallBuffer, CallBuffer]] = []
    furthest: dict[Use, CallBuffer] = {}
    used = [buffer for buffer in buffers if buffer.begin < buffer.end]
    for buffer in sorted(used, key=lambda buffer: buffer.begin):
        found += [(other, buffer) for other in furthest.values() if buffer.begin < other.end]
        if buffer.use not in furthest or furthest[buffer.use].end < buffer.end:
            furthest[buffer.use] = buffer
    return found


def outputs_in_arguments(graph: str, buffers: Sequence[CallBuffer]) -> set[int]:
    """
    The numbers of the outputs that lie in memory of arguments that are only read.

    ArgumentError for an updated argument that shares memory with another argument or an output, and for two outputs
    that do.
    """
    found: set[int] = set()
    for pair in overlapping(buffers):
        first, second = sorted(pair, key=lambda buffer: (buffer.use is not Use.OUTPUT, buffer.number))
        uses = {first.use, second.use}
        if uses == {Use.READ}:
            continue
        if uses == {Use.READ, Use.OUTPUT}:
            found.add(first.number)
        elif uses == {Use.OUTPUT}:
            raise ArgumentError(f"out[{first.number}] and out[{second.number}] of graph {graph!r} overlap")
        elif first.use is Use.OUTPUT:
            raise ArgumentError(f"out[{first.number}] of graph {graph!r} overlaps {second.name!r}, which is donated")
        else:
            one, other = (first, second) if first.use is Use.UPDATED else (second, first)
            what = f"argument {one.name!r} of graph {graph!r}"
            raise ArgumentError(f"{what} is donated, but overlaps another argument: {other.name!r}")
    return found
