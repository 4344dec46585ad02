"""Parts of a block that have nothing to do with each other and are equal: they are grouped once.

The update of an optimiser has such a part for each parameter of one shape. Grouping costs much more for each op than
finding out that a part is like another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from xdsl_rlx.dialects.shapes import shape_of

Part = list[Operation]
"""The ops of a part, in their order."""


def equal_parts(block: Block, waits: Mapping[Operation, Sequence[Operation]]) -> list[list[Part]]:
    """
    The parts that equal others, with these, of which there are at least two.

    Ops belong to one part if one reads what the other computes or waits for it, or both read the same values. Single
    elements do not count if they are arguments or several parts read them: nothing is grouped for reading one of them.
    Only the block's terminator reads the results of a part that is equal to others.

    `waits`: the ops that have to run before an op, though it reads nothing of them.
    """
    ops = [op for op in block.ops if not op.has_trait(IsTerminator)]
    sets = _Sets(ops)
    for op in ops:
        for operand in op.operands:
            if not _is_apart(operand):
                sets.join(op, operand.owner if isinstance(operand, OpResult) else operand)
        for other in waits.get(op, ()):
            sets.join(op, other)
    for op in reversed(ops):
        users = [use.operation for result in op.results for use in result.uses if use.operation in sets]
        if len({sets.root(user) for user in users}) == 1:
            sets.join(op, users[0])
    parts: dict[int, Part] = {}
    for op in ops:
        parts.setdefault(sets.root(op), []).append(op)
    # what others read is in no part that is left alone
    for op in ops:
        for operand in op.operands:
            if isinstance(operand, OpResult) and sets.root(operand.op) != sets.root(op):
                parts.pop(sets.root(operand.op), None)
    alike: dict[tuple[object, ...], list[Part]] = {}
    if len(parts) > 1:
        names = _Names()
        for part in parts.values():
            # what computes nothing but single elements may share a kernel with any other such part
            if not any(op.regions for op in part) and not all(map(_is_single, (r for op in part for r in op.results))):
                alike.setdefault(tuple(names.structure(part, waits)), []).append(part)
    return [equal for equal in alike.values() if len(equal) > 1]


def _is_apart(value: SSAValue) -> bool:
    """Whether ops that read a value need not be in one part, nor in that of the op that computes it."""
    if isinstance(value, OpResult) and value.uses.get_length() == 1:
        return False
    return _is_single(value)


def _is_single(value: SSAValue) -> bool:
    """Whether a value is one element; values of ops from elsewhere may be no tensors."""
    return isinstance(value.type, TensorType) and all(n == 1 for n in shape_of(value))


class _Sets:
    """Disjoint sets of ops, and of the values that these read, by union and find with halved paths."""

    def __init__(self, ops: Sequence[Operation]):
        self._number: dict[Operation | SSAValue | Block, int] = {op: number for number, op in enumerate(ops)}
        self._above = list(range(len(ops)))

    def __contains__(self, op: Operation) -> bool:
        return op in self._number

    def root(self, of: Operation | SSAValue | Block) -> int:
        above = self._above
        number = self._number.get(of)
        if number is None:
            number = self._number[of] = len(above)
            above.append(number)
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    def join(self, one: Operation, other: Operation | SSAValue | Block) -> None:
        self._above[self.root(one)] = self.root(other)


@dataclass
class _Names:
    """What ops are made of as numbers: attributes are asked for again and again, and their hashes take their time."""

    attributes: dict[Attribute, int] = field(default_factory=dict[Attribute, int])
    known: dict[int, int] = field(default_factory=dict[int, int])
    """By the identity of attributes, which the ops keep."""

    def of(self, attribute: Attribute) -> int:
        number = self.known.get(id(attribute))
        if number is None:
            number = self.known[id(attribute)] = self.attributes.setdefault(attribute, len(self.attributes))
        return number

    def structure(self, part: Part, waits: Mapping[Operation, Sequence[Operation]]) -> Iterator[object]:
        """Everything in a part but names and locations: equal for equal parts, and only for them."""
        place = {op: number for number, op in enumerate(part)}
        outside: dict[SSAValue, int] = {}
        for op in part:
            yield type(op)
            for attributes in (op.properties, op.attributes):
                yield len(attributes)
                for name in sorted(attributes):
                    yield name
                    yield self.of(attributes[name])
            yield len(op.operands)
            for operand in op.operands:
                if isinstance(operand, OpResult):
                    owner = place.get(operand.op)
                    # what parts have in common stands for itself
                    yield operand if owner is None else (owner, operand.index)
                else:
                    yield outside.setdefault(operand, len(outside))
                    yield self.of(operand.type)
            yield tuple(place[other] for other in waits.get(op, ()))
            for result in op.results:
                yield self.of(result.type)
                yield sum(use.operation not in place for use in result.uses)


@dataclass(frozen=True)
class Copy:
    """An op that is computed again for some of its users, in another cluster."""

    op: Operation
    copy: Operation
    uses: Sequence[tuple[Operation, int]]
    """The users of the copy, and the numbers of their operands."""


def insert_copy(op: Operation, uses: Iterable[tuple[Operation, int]]) -> Operation:
    """Let users, given with the number of the operand, use a copy of an op of one result, right behind it."""
    copy = op.clone()
    copy.results[0].name_hint = op.results[0].name_hint
    assert op.parent is not None
    op.parent.insert_op_after(copy, op)
    for user, operand in uses:
        user.operands[operand] = copy.results[0]
    return copy


def repeat_copies(first: Part, others: Iterable[Part], copies: Iterable[Copy]) -> Iterator[tuple[Operation, Operation]]:
    """
    Copy in other parts what was copied in the first of these equal parts; each takes in its copies, in the same order.

    Gives each op of the others that is copied, with its copy.
    """
    place = {op: number for number, op in enumerate(first)}
    own = [one for one in copies if one.op in place]
    for one in own:
        place[one.copy] = len(first)
        first.append(one.copy)
    for part in others:
        for one in own:
            op = part[place[one.op]]
            copy = insert_copy(op, [(part[place[user]], operand) for user, operand in one.uses])
            part.append(copy)
            yield op, copy
