"""Equal groups and nests of a program share kernels: one is lowered, and its launches are made again for the others.
What the launches compute is not known here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.lir.memory import AnyMemRef
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.kernels.work import Buffers

Event: TypeAlias = Callable[[Buffers, Sequence[SSAValue]], Buffer]
"""A buffer asked for on the way: the same one for other values."""

Place: TypeAlias = tuple[SSAValue, int]
"""The root of a buffer, and its offset there in elements."""


@dataclass(frozen=True)
class Passed:
    """What a launch is given: `by` elements on from the place of this number, seen as `type`."""

    place: int
    by: int
    type: AnyMemRef


@dataclass(frozen=True)
class Step:
    """A launch of a kernel with buffers of the site."""

    kernel: SymbolRefAttr
    extent: int
    chunk: int
    reads: tuple[Passed, ...]
    writes: tuple[Passed, ...]
    blas_threads: int


@dataclass(frozen=True)
class LoweredSite:
    """What lowering a site took: the buffers to ask for, in order, then the launches."""

    events: tuple[Event, ...]
    steps: tuple[Step, ...]


class Site:
    """
    Ops that are lowered together, with the buffers that they find.

    `key` is all that their kernels depend on: kinds and attributes of ops, types, which values and buffers are the same
    ones, and how buffers lie; with `offsets` also where they start; and what is `also` known of the ops. Sites of equal
    keys have their values and places in the same order, so what was done at one can be done again at the other. It is
    None for ops with regions.
    """

    def __init__(
        self,
        ops: Sequence[Operation],
        buffers: Sequence[Mapping[SSAValue, Buffer]],
        *,
        offsets: bool = False,
        also: Sequence[object] = (),
    ):
        self.places: list[Place] = []
        self._numbers: dict[SSAValue, int] = {}
        parts: list[object] = [*also]
        roots: dict[SSAValue, int] = {}
        places: dict[Place, int] = {}
        for op in ops:
            parts += [type(op), len(op.operands), *map(self._number, op.operands), *(r.type for r in op.results)]
            for result in op.results:
                self._number(result)
            parts += [*op.properties.items(), *op.attributes.items()]
        for group in buffers:
            parts.append(len(group))
            for value, buffer in group.items():
                layout = buffer.layout
                place = buffer.root, layout.offset
                self.places.append(place)
                parts += [
                    self._number(value),
                    value.type,
                    buffer.element,
                    layout.shape,
                    layout.strides,
                    roots.setdefault(buffer.root, len(roots)),
                    places.setdefault(place, len(places)),
                    layout.offset if offsets else None,
                ]
        self.values = list(self._numbers)
        self.key = None if any(op.regions for op in ops) else tuple(parts)

    def _number(self, value: SSAValue) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def number(self, value: SSAValue) -> int:
        """The number of a value that the ops touch."""
        return self._numbers[value]

    def repeat(self, events: Iterable[Event], buffers: Buffers) -> None:
        """Ask for buffers as it was done at an equal site."""
        for event in events:
            self.add(event(buffers, self.values))

    def add(self, buffer: Buffer) -> None:
        """Note the place of one more buffer."""
        self.places.append((buffer.root, buffer.layout.offset))

    def passed(self, arguments: Iterable[Argument]) -> tuple[Passed, ...]:
        """Arguments by the numbers of their places."""
        exact: dict[Place, int] = {}
        roots: dict[SSAValue, int] = {}
        for number, place in enumerate(self.places):
            exact.setdefault(place, number)
            roots.setdefault(place[0], number)
        found: list[Passed] = []
        for argument in arguments:
            root, offset = argument.buffer.root, argument.buffer.layout.offset
            number = exact.get((root, offset), roots[root])
            found.append(Passed(number, offset - self.places[number][1], argument.type))
        return tuple(found)


class Recorder:
    """The buffers of a lowering, as asked for at one site: what is asked for is noted."""

    def __init__(self, buffers: Buffers, site: Site):
        self.threads = buffers.threads
        self.costs = buffers.costs
        self.events: list[Event] = []
        self._buffers = buffers
        self._site = site

    def _note(self, event: Event) -> Buffer:
        buffer = event(self._buffers, self._site.values)
        self.events.append(event)
        self._site.add(buffer)
        return buffer

    def read(self, value: SSAValue, contiguous: bool = True) -> Buffer:
        number = self._site.number(value)
        return self._note(lambda buffers, values: buffers.read(values[number], contiguous))

    def write(self, value: SSAValue) -> Buffer:
        number = self._site.number(value)
        return self._note(lambda buffers, values: buffers.write(values[number]))

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        if like is None:
            return self._note(lambda buffers, values: buffers.room(shape, element))
        number = self._site.number(like)
        return self._note(lambda buffers, values: buffers.room(shape, element, values[number]))

    def constant(self, value: AnyDense) -> Buffer:
        return self._note(lambda buffers, values: buffers.constant(value))

    def console(self) -> Buffer:
        return self._note(lambda buffers, values: buffers.console())

    def pieces(self, extent: int, work: int) -> int:
        return self._buffers.pieces(extent, work)
