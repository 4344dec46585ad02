"""Neighbouring loops of a group taken as one: fewer indices, and longer loops to cut into pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_rlx.lowering.buffers import Buffer
from xdsl_rlx.lowering.fusion.analysis.iteration_space import AxisMap, Space
from xdsl_rlx.lowering.fusion.analysis.loop_tables import StridedLayout
from xdsl_rlx.lowering.fusion.analysis.nesting import Structure


@dataclass(frozen=True)
class Merging:
    """The number that each loop has afterwards, the same for those that become one, and the extents of these."""

    number: Sequence[int]
    extents: Sequence[int]

    @staticmethod
    def of(space: Space, structure: Structure, buffers: Mapping[SSAValue, Buffer]) -> Merging:
        """As many as every value and every buffer allows; what the nesting keeps apart stays apart."""
        number: list[int] = []
        extents: list[int] = []
        for loop, (extent, joined) in enumerate(zip(space.extents, _joined(space, structure, buffers), strict=True)):
            if loop and joined:
                extents[-1] *= extent
            else:
                extents.append(extent)
            number.append(len(extents) - 1)
        return Merging(number, extents)

    def space(self, space: Space) -> Space:
        """The space over the merged loops: a value has an axis for each."""
        maps: dict[SSAValue, AxisMap] = {}
        for value, axes in space.maps.items():
            maps[value] = tuple(dict.fromkeys(self.number[loop] for loop in axes if loop is not None))
        return Space(tuple(self.extents), maps)

    def structure(self, structure: Structure) -> Structure:
        """The nesting of the merged loops."""
        if not structure.kinds:
            return Structure(max(len(self.extents) - 1, 0), structure.middle, structure.kinds)
        first = [*self.number, len(self.extents)]
        middle = structure.middle and (first[structure.middle[0]], first[structure.middle[1]])
        return Structure(first[structure.split], middle, structure.kinds)

    def buffer(self, buffer: Buffer, axes: AxisMap | None) -> Buffer:
        """A buffer with an axis for each merged loop; one that is needed whole stays as it is."""
        if axes is None:
            return buffer
        strides: dict[int, int] = {}
        for axis, loop in enumerate(axes):
            if loop is not None:
                strides[self.number[loop]] = buffer.layout.strides[axis]
        shape = tuple(self.extents[loop] for loop in strides)
        layout = StridedLayout(buffer.layout.offset, shape, tuple(strides.values()))
        return Buffer(buffer.root, layout, buffer.element)


def _joined(space: Space, structure: Structure, buffers: Mapping[SSAValue, Buffer]) -> list[bool]:
    """Whether each loop goes on where the one in front of it ends, in all that varies over either."""
    walls = {structure.split, *(structure.middle or ())} if structure.kinds else set[int]()
    joined = [loop not in walls for loop in range(len(space.extents))]
    for value, axes in space.maps.items():
        layout = buffers[value].layout if value in buffers else None
        place = {loop: axis for axis, loop in enumerate(axes) if loop is not None}
        for loop in range(1, len(space.extents)):
            if (loop - 1 in place) != (loop in place):
                joined[loop] = False
            elif loop in place and layout is not None:
                outer, inner = layout.strides[place[loop - 1]], layout.strides[place[loop]]
                joined[loop] = joined[loop] and outer == inner * space.extents[loop]
    return joined
