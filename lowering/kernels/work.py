"""The table of ops with loop nests of their own, and the work that such a row fills.
The rows are in the files of the families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod
from typing import Any, Protocol, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.lowering.buffers import Argument, Buffer, Launch
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Nested, nest, rolled
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.target import ConvCosts
from xdsl_rlx.transforms.rules.rule_table import RuleTable

UNEVEN = 1 / 16
"""The share of its time that a thread may have more to do than the others, rather than that there are more pieces."""

OpT = TypeVar("OpT", bound=Operation)


class Buffers(Protocol):
    """Where values are, and room for more: what the lowering of the function offers."""

    threads: int
    """How many threads the program is cut up for."""

    @property
    def costs(self) -> ConvCosts:
        """The costs that decide which of several kernels an op becomes."""
        ...

    def read(self, value: SSAValue, contiguous: bool = True) -> Buffer:
        """The buffer of an operand, copied first if it has gaps and `contiguous` is asked for."""
        ...

    def write(self, value: SSAValue) -> Buffer:
        """The buffer of a result: contiguous, its contents undefined."""
        ...

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        """A new contiguous buffer in the arena, named as the value `like`."""
        ...

    def constant(self, value: AnyDense) -> Buffer:
        """A buffer that holds these numbers."""
        ...

    def console(self) -> Buffer:
        """The buffer that stands for what is printed."""
        ...

    def pieces(self, extent: int, work: int) -> int:
        """Into how many pieces `extent` iterations of `work` scalar operations each are cut."""
        ...


@dataclass(frozen=True)
class Runs:
    """`count` runs of `size` of an extent, from `first` on."""

    first: int
    count: int
    size: int

    @staticmethod
    def of(extent: int, size: int) -> list[Runs]:
        """An extent cut into runs of `size` and the shorter rest; one of nothing is a run without a size."""
        count, rest = divmod(extent, size)
        found = [Runs(0, count, size)] if count else []
        return [*found, Runs(count * size, 1, rest)] if rest or not count else found


@dataclass
class Work:
    """
    What becomes of one op: the launches, one after the other.

    Iterations of a launch run in any order and at the same time: what one writes no other may write or read. Results
    must not depend on how a launch is cut into pieces, so a sum over iterations is a loop inside of one.
    """

    buffers: Buffers
    launches: list[Launch] = field(default_factory=list[Launch])

    @property
    def costs(self) -> ConvCosts:
        """The costs that decide which of several kernels an op becomes."""
        return self.buffers.costs

    @property
    def threads(self) -> int:
        """How many threads the program is cut up for."""
        return self.buffers.threads

    def read(self, value: SSAValue, shape: Sequence[int] | None = None) -> Argument:
        """An operand, contiguous: with its own shape, or seen as `shape`."""
        return _seen(self.buffers.read(value), shape, value.name_hint)

    def read_strided(self, value: SSAValue) -> Argument:
        """An operand as it lies, possibly transposed or broadcast."""
        buffer = self.buffers.read(value, contiguous=False)
        return Argument(buffer, buffer.layout.shape, buffer.layout.strides, value.name_hint)

    def write(self, value: SSAValue, shape: Sequence[int] | None = None) -> Argument:
        """A result, contiguous: with its own shape, or seen as `shape`."""
        return _seen(self.buffers.write(value), shape, value.name_hint)

    def constant(self, value: AnyDense) -> Argument:
        """Numbers known now: a table, say."""
        return _seen(self.buffers.constant(value), None, "table")

    def console(self) -> Argument:
        """What launches with an effect write to, so that they keep their order; nothing is stored there."""
        return _seen(self.buffers.console(), None, "console")

    def scratch(self, shape: Sequence[int], element: Attribute, name: str) -> Argument:
        """Room that launches share, for what one computes and a later one reads."""
        return _seen(self.buffers.room(shape, element), None, name)

    def pieces(self, extent: int, work: int) -> int:
        """How many pieces a launch of `extent` iterations of about `work` scalar operations each has."""
        return max(1, -(-extent // self._chunk(extent, work)))

    def scratch_per_piece(
        self, extent: int, work: int, shape: Sequence[int], element: Attribute, name: str
    ) -> Argument:
        """Room of `shape` for each piece of a launch of `extent` and `work`: index it by `iteration.piece` first."""
        return self.scratch((self.pieces(extent, work), *shape), element, name)

    def _chunk(self, extent: int, work: int) -> int:
        """Iterations of a piece: fewer than pieces are asked for take, where threads would wait for the last ones."""
        pieces, threads = self.buffers.pieces(extent, work), self.buffers.threads
        largest = max(1, -(-extent // pieces))

        def longest(chunk: int) -> int:
            """Iterations of the thread that has the most."""
            return ceil(ceil(extent / chunk) / threads) * chunk

        if pieces == 1 or threads == 1:
            return largest
        best = min(range(largest, (largest - 1) // 2, -1), key=longest)
        return best if longest(best) * (1 + UNEVEN) < longest(largest) else largest

    def over(
        self,
        extent: int,
        work: int,
        reads: Sequence[Argument],
        writes: Sequence[Argument],
        chunk: int | None = None,
        *,
        blas_threads: int = 1,
    ) -> Callable[[Callable[..., None]], None]:
        """
        Decorator: a launch of `extent` iterations of about `work` scalar operations each; none if `extent` is 0.

        `chunk` iterations are a piece, by default as many as `work` asks for. The function is one iteration,
        `function(it, *reads, *writes)`, of the subset of `nest`, or is one already. If all are one piece, the calls of
        BLAS and LAPACK in it have up to `blas_threads` threads.
        """

        def launch(function: Callable[..., None]) -> None:
            body = function if isinstance(function, Nested) else nest(function)
            self.launch(extent, work, reads, writes, body.emit, chunk, blas_threads=blas_threads)

        return launch

    def launch(
        self,
        extent: int,
        work: int,
        reads: Sequence[Argument],
        writes: Sequence[Argument],
        emit: Callable[[Nest, SSAValue, SSAValue, Sequence[SSAValue]], None],
        chunk: int | None = None,
        *,
        blas_threads: int = 1,
    ) -> None:
        """As `over`, where `emit(nest, index, piece, buffers)` inserts the ops of one iteration."""
        if not extent:
            return
        arguments = (*reads, *writes)
        chunk = self._chunk(extent, work) if chunk is None else chunk
        kernel = Kernel([a.type for a in arguments], [a.name for a in arguments], extent, len(reads))
        entry, buffers = kernel.entry, kernel.block.args[:-2]
        piece = entry.quotient(kernel.bounds[0], chunk)
        for inside, index in entry.over(kernel.bounds, "i"):
            emit(inside, index, piece, buffers)
        blas_threads = blas_threads if extent <= chunk else 1
        self.launches.append(Launch(kernel.finish(), extent, chunk, tuple(reads), tuple(writes), blas_threads))

    def again(self, extent: int, reads: Sequence[Argument], writes: Sequence[Argument], back: int = 1) -> None:
        """A launch, the last one by default, once more, with `extent` iterations and other buffers of its types."""
        self.launches.append(replace(self.launches[-back], extent=extent, reads=tuple(reads), writes=tuple(writes)))


def _seen(buffer: Buffer, shape: Sequence[int] | None, name: str | None) -> Argument:
    extents = buffer.layout.shape if shape is None else tuple(shape)
    return Argument(buffer, extents, row_major_strides(extents), name)


def add_up(work: Work, parts: Argument, result: Argument) -> None:
    """`result` is the sum of `parts`, in their order; an iteration is a row."""
    copies, *rows, width = parts.shape

    @work.over(prod(rows), copies * width, [parts], [result])
    def add(it: Iteration, parts: Array, result: Array) -> None:
        row = it.unravel(*rows)
        for j in rolled(range(width)):
            result[row][j] = sum(parts[n][row][j] for n in range(copies))


NestRule: TypeAlias = Callable[[OpT, Work], None]
"""`(op, work)`: adds the launches that compute the results of `op` from its operands."""


class NestTable(RuleTable[NestRule[Any]]):
    """Ops with the trait `HasKernel`: what they are as loops."""

    def rule(self, *ops: type[OpT]) -> Callable[[NestRule[OpT]], NestRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


NEST = NestTable("nest")
