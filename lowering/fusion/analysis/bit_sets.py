"""Sets of numbers as bits, in chunks: small where the numbers are close together, whatever they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

WIDTH = 1024
"""Bits of a chunk: one integer each. Fewer cost time in dense sets, more cost memory in sparse ones."""


class BitSet:
    """
    An immutable set of numbers from 0 up.

    One integer for all of them would be as long as the largest number: the sets of a block of `n` ops would take
    `n * n` bits, though most are of a few neighbours each.
    """

    __slots__ = ("_chunks",)

    def __init__(self, chunks: dict[int, int] | None = None):
        """`chunks`: of each chunk that is not empty its bits, for a set that owns them."""
        self._chunks: Final = chunks if chunks is not None else {}

    @staticmethod
    def of(number: int) -> BitSet:
        """The set of one number."""
        return BitSet({number // WIDTH: 1 << number % WIDTH})

    def __or__(self, other: BitSet) -> BitSet:
        large, small = self._chunks, other._chunks
        if len(large) < len(small):
            large, small = small, large
        if not small:
            return self if large is self._chunks else other
        found = large.copy()
        for at, bits in small.items():
            found[at] = found.get(at, 0) | bits
        return BitSet(found)

    def __and__(self, other: BitSet) -> BitSet:
        large, small = self._chunks, other._chunks
        if len(large) < len(small):
            large, small = small, large
        found: dict[int, int] = {}
        for at, bits in small.items():
            if common := bits & large.get(at, 0):
                found[at] = common
        return BitSet(found)

    def __sub__(self, other: BitSet) -> BitSet:
        chunks = other._chunks
        found: dict[int, int] = {}
        for at, bits in self._chunks.items():
            if left := bits & ~chunks.get(at, 0):
                found[at] = left
        return BitSet(found)

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BitSet) and self._chunks == other._chunks

    def __hash__(self) -> int:
        return hash(frozenset(self._chunks.items()))

    def __iter__(self) -> Iterator[int]:
        for at in sorted(self._chunks):
            bits = self._chunks[at]
            while bits:
                lowest = bits & -bits
                yield at * WIDTH + lowest.bit_length() - 1
                bits ^= lowest

    @property
    def chunk_count(self) -> int:
        """How many chunks it takes."""
        return len(self._chunks)
