"""Sums of products by the labels of axes, as `np.einsum`: what a subscript says, and the contractions it becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import diagonal
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import dims

Labels = tuple[str, ...]
"""The label of each axis; those of an ellipsis are numbers, counted from its last axis."""


@dataclass(frozen=True)
class Labelled:
    """A tensor and the labels of its axes, which are distinct."""

    value: Value
    labels: Labels

    def summed(self, needed: Sequence[str]) -> Labelled:
        """Without the axes that are not needed."""
        axes = [axis for axis, label in enumerate(self.labels) if label not in needed]
        if not axes:
            return self
        total = self.value.b.reduce_sum(self.value, axes, dtype=self.value.dtype)
        return Labelled(total, tuple(label for label in self.labels if label in needed))

    def times(self, other: Labelled, needed: Sequence[str]) -> Labelled:
        """
        The product, summed over what both have and nothing else needs.

        Where nothing is summed over, or each number is a sum of its own, it is a product of elements, but sums of half
        floats are a contraction's, which adds up in f32.
        """
        both = [label for label in self.labels if label in other.labels]
        batch = [label for label in both if label in needed]
        summed = [label for label in both if label not in needed]
        if not summed or (
            len(both) == len(self.labels) == len(other.labels) and self.value.dtype not in ("f16", "bf16")
        ):
            return self._by_elements(other, needed, summed)
        pairs = [[side.labels.index(label) for label in labels] for labels in (summed, batch) for side in (self, other)]
        free = [label for side in (self, other) for label in side.labels if label not in both]
        return Labelled(self.value.b.dot_general(self.value, other.value, *pairs), (*batch, *free))

    def _by_elements(self, other: Labelled, needed: Sequence[str], summed: Sequence[str]) -> Labelled:
        """The product as such: as the first factor lies if it is summed, else in the order in which axes are needed."""
        known = [*self.labels, *other.labels]
        order = tuple(self.labels if summed else (label for label in dict.fromkeys(needed) if label in known))
        first, second = (side._over(order) for side in (self, other))
        return Labelled(self.value.b.mul(first, second), order).summed(needed)

    def _over(self, labels: Sequence[str]) -> Value:
        """The tensor with these axes, 1 for those that it has not."""
        own = [label for label in labels if label in self.labels]
        moved = self.value.b.transpose(self.value, [self.labels.index(label) for label in own])
        return moved.b.expand_dims(moved, [n for n, label in enumerate(labels) if label not in own])


def einsum(m: MirBuilder, subscripts: str, *operands: Operand) -> Value:
    """
    Contract operands as `np.einsum`: `"ij,jk->ik"`, with `...` and diagonals such as `"ii->i"`.

    Operands are contracted pairwise, the cheapest pair first. GraphError for invalid labels.
    """
    values = [m.value(x) for x in m.operands(*operands)]
    inputs, output = _parsed(subscripts, values)
    terms = [_of_distinct(value, labels) for value, labels in zip(values, inputs, strict=True)]
    extents = _extents(subscripts, terms)
    terms = [_without_ones(term, extents) for term in terms]
    while len(terms) > 1:
        terms = [term.summed(_needed(terms, output, term)) for term in terms]
        first, second = min(combinations(terms, 2), key=lambda pair: _cost(pair, extents))
        rest = [term for term in terms if term is not first and term is not second]
        terms = [*rest, first.times(second, _needed(rest, output))]
    (last,) = terms
    last = last.summed(output)
    return last.value.b.transpose(last.value, [last.labels.index(label) for label in output])


def _needed(terms: Sequence[Labelled], output: Labels, but: Labelled | None = None) -> list[str]:
    return [*output, *(label for term in terms if term is not but for label in term.labels)]


def _cost(pair: Sequence[Labelled], extents: Mapping[str, int]) -> int:
    """The products of numbers that a product of tensors takes."""
    return prod(extents[label] for label in {*pair[0].labels, *pair[1].labels})


def _parsed(subscripts: str, operands: Sequence[Value]) -> tuple[list[Labels], Labels]:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise GraphError(f"einsum: {subscripts!r} names {len(parts)} operands, got {len(operands)}")
    inputs = [_labels(subscripts, part, value.rank) for part, value in zip(parts, operands, strict=True)]
    counts = Counter(label for labels in inputs for label in labels)
    dots = sorted((label for label in counts if label.isdigit()), key=int, reverse=True)
    if not arrow:
        return inputs, (*dots, *sorted(label for label, count in counts.items() if count == 1 and label.isalpha()))
    output = _labels(subscripts, right, len(right.replace("...", "")) + (len(dots) if "..." in right else 0))
    if missing := [label for label in output if label not in counts]:
        raise GraphError(f"einsum: {subscripts!r} asks for {missing[0]!r}, which no operand has")
    if len({*output}) < len(output):
        raise GraphError(f"einsum: {subscripts!r} repeats a label of the result")
    if dots and "..." not in right:
        raise GraphError(f"einsum: {subscripts!r} has '...' in an operand and not in the result")
    return inputs, output


def _labels(subscripts: str, part: str, rank: int) -> Labels:
    front, dots, back = part.partition("...")
    if not all(letter.isalpha() and letter.isascii() for letter in front + back):
        raise GraphError(f"einsum: {subscripts!r} has characters other than letters, ',', '->' and '...'")
    hidden = rank - len(front) - len(back)
    if hidden < 0 or (hidden and not dots):
        raise GraphError(f"einsum: {part!r} does not fit an operand of rank {rank}")
    return (*front, *map(str, reversed(range(hidden))), *back)


def _of_distinct(value: Value, labels: Labels) -> Labelled:
    """The diagonal of axes that have the same label."""
    while repeated := [label for label, count in Counter(labels).items() if count > 1]:
        first = labels.index(repeated[0])
        second = labels.index(repeated[0], first + 1)
        if value.shape[first] != value.shape[second]:
            raise GraphError(f"einsum: {repeated[0]!r} has two extents in an operand of shape {dims(value.shape)}")
        value = diagonal(value.b, value, 0, first, second)
        labels = (*(label for axis, label in enumerate(labels) if axis not in (first, second)), repeated[0])
    return Labelled(value, labels)


def _extents(subscripts: str, terms: Sequence[Labelled]) -> dict[str, int]:
    """The extent of each label; an axis of 1 goes with any."""
    extents: dict[str, int] = {}
    for term in terms:
        for label, extent in zip(term.labels, term.value.shape, strict=True):
            known = extents.setdefault(label, extent)
            if known == 1:
                extents[label] = extent
            elif extent not in (1, known):
                raise GraphError(f"einsum: {subscripts!r} has the extents {known} and {extent} for {label!r}")
    return extents


def _without_ones(term: Labelled, extents: Mapping[str, int]) -> Labelled:
    """Without the axes of 1 that broadcast."""
    axes = [axis for axis, label in enumerate(term.labels) if term.value.shape[axis] != extents[label]]
    if not axes:
        return term
    kept = tuple(label for axis, label in enumerate(term.labels) if axis not in axes)
    return Labelled(term.value.b.squeeze(term.value, axes), kept)
