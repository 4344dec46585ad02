"""What tells regions apart: a key that structurally equivalent ones have in common."""

from collections.abc import Container, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue


def structure_of_region(region: Region, apart: Container[Operation] = ()) -> tuple[object, ...]:
    """
    Everything in a region but names and locations: equal for structurally equivalent regions, and only for them.

    The attributes of the ops `apart` do not count.
    """
    parts: list[object] = []
    numbers: dict[int, int] = {}
    """Of values by `id`, which is what they hash by, in Python."""
    blocks: dict[Block, int] = {}

    def define(values: Sequence[SSAValue]) -> None:
        for value in values:
            numbers[id(value)] = len(numbers)
            parts.append(value.type)

    def add(region: Region) -> None:
        for block in region.blocks:
            blocks[block] = len(blocks)
        for block in region.blocks:
            parts.append(len(block.args))
            define(block.args)
            for op in block.ops:
                operands, successors = tuple(op.operands), tuple(op.successors)
                parts.extend((op.name, len(operands), len(op.results), len(op.regions), len(successors)))
                # what is defined outside, or further down, stands for itself
                parts.extend([numbers.get(id(operand), operand) for operand in operands])
                parts.extend([blocks.get(successor, successor) for successor in successors])
                for attributes in () if op in apart else (op.properties, op.attributes):
                    parts.append(len(attributes))
                    for name in sorted(attributes):
                        parts.extend((name, attributes[name]))
                for inner in op.regions:
                    add(inner)
                define(op.results)
            parts.append(None)

    add(region)
    return tuple(parts)
