"""The memory of large results, which later calls use again.
Who fills results, and takes the memory in machine code, is in `scheduler.py` and `fast_call.py`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.layout import CACHE_LINE, KEPT_COUNT, KeptRow, PythonObject
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec
from xdsl_rlx.lowering.backend.driver.primitives import peek32
from xdsl_rlx.lowering.backend.driver.process import Words, address, words

KEPT_BYTES = 1 << 18
"""Results from this size on are kept: the C library gives smaller ones memory that the process has."""

SINGLE_BYTES = range(1 << 21, (1 << 24) + 1)
"""
Of these sizes, a program's only large result is not kept either.

The C library gives it what was freed last, by NumPy or another library too, and is likely to be in a cache: half of the
time of a function that writes 16 MB. It returns memory to the system where more than twice the largest piece is free
(at most 64 MB in glibc), so that several results would have new pages in each call, and so might a smaller one beside
the user's arrays. benchmarks/breadth.py: "2000x3x2000".
"""


class Results:
    """
    Arrays for the results of a program.

    For each large one there are two buffers, for callers that hold on to the results of one call during the next. A
    buffer that only this object refers to is nobody's: every array over it, and every view of such an array, has the
    buffer for its base. A third result in use at once gets memory of its own.
    """

    def __init__(self, specs: Sequence[TensorSpec]) -> None:
        self._specs = specs
        kept = _kept(specs)
        self._kept = [[_buffer(spec) for _ in range(KEPT_COUNT)] if n in kept else [] for n, spec in enumerate(specs)]
        self.tables: list[Words | None] = [
            words([word for one in kept for word in _row(one)]) if kept else None for kept in self._kept
        ]
        """Per result the buffers as machine code reads them, None for a small one."""

    def new(self, index: int) -> NDArray[Any]:
        """An uninitialised array for a result."""
        for position in range(len(self._kept[index])):
            array = self._array(index, position)
            # made before it is asked, so that no other thread can do the same in between: this object's and the array's
            if peek32(id(self._kept[index][position]) + PythonObject.REFERENCES) == 2:
                return array
        return np.empty(self._specs[index].shape, dtype_of(self._specs[index].dtype))

    def _array(self, index: int, position: int) -> NDArray[Any]:
        spec, start = self._specs[index], _offset(self._kept[index][position])
        part = self._kept[index][position][start : start + spec.nbytes]
        return part.view(dtype_of(spec.dtype)).reshape(spec.shape)

    def first_buffers(self) -> list[NDArray[np.uint8]]:
        """The buffers that a caller who lets results go never gets beyond."""
        return [kept[0] for kept in self._kept if kept]


def _kept(specs: Sequence[TensorSpec]) -> set[int]:
    """Of which results the memory is kept."""
    large = {number for number, spec in enumerate(specs) if spec.nbytes >= KEPT_BYTES}
    return set() if len(large) == 1 and max(spec.nbytes for spec in specs) in SINGLE_BYTES else large


def _buffer(spec: TensorSpec) -> NDArray[np.uint8]:
    # itself the owner of its memory: NumPy makes the owner the base of every array over it
    return np.empty(spec.nbytes + CACHE_LINE, np.uint8)


def _row(buffer: NDArray[np.uint8]) -> list[int]:
    return KeptRow.filled({KeptRow.OWNER: id(buffer), KeptRow.START: address(buffer) + _offset(buffer)})


def _offset(buffer: NDArray[np.uint8]) -> int:
    return -address(buffer) % CACHE_LINE
