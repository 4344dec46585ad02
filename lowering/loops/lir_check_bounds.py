"""`lir-check-bounds`: a check before every access of a kernel that is not provably inside of its buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir import CheckOp, GetrsOp, KernelOp, LaunchOp
from xdsl_rlx.dialects.lir.bounds import Reach, reaches
from xdsl_rlx.dialects.lir.memory import LARGEST_BUFFER, memref_of
from xdsl_rlx.dialects.locations import where
from xdsl_rlx.lowering.analysis.index_ranges import IndexRanges
from xdsl_rlx.lowering.analysis.linear_sums import Linear
from xdsl_rlx.lowering.kernel_pass import KernelPass
from xdsl_rlx.transforms.driver import verify_dominance

INDEX = IndexType()


@dataclass(frozen=True)
class LirCheckBoundsPass(KernelPass):
    """
    Insert a `lir.check` before each memory access or library call that is not provably in bounds.

    Bounds of an index follow from its loops, index arithmetic, the extents and chunks of launches, branches and earlier
    checks. Values loaded from memory have no bounds.

    ```mlir
    %i = memref.load %indices[%k] : memref<5xindex>
    %x = memref.load %table[%i] : memref<7xf32>
    ```
    becomes
    ```mlir
    %i = memref.load %indices[%k] : memref<5xindex>
    lir.check %i at_most %c6, "kernel @take: memref.load takes elements 0 to 6 along dimension 0 of %table"
    %x = memref.load %table[%i] : memref<7xf32>
    ```
    """

    name = "lir-check-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all kernels, of a module that is sound."""
        verify_dominance(op)
        super().apply(ctx, op)

    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Check the accesses of one kernel."""
        _Checks(kernel, launches).insert()


class _Checks:
    """The checks of one kernel: what is known where the walk is, and what is added in front of it."""

    def __init__(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        self.kernel = kernel
        self.ranges = IndexRanges()
        sizes = [(x.extent.value.data, x.chunk.value.data) for x in launches if x.extent.value.data]
        self.runs = bool(sizes) or not launches
        if sizes:
            self._bound_pieces(sizes)

    def insert(self) -> None:
        """Walk the kernel and check what is not known; a kernel that never runs is left alone."""
        if self.runs:
            self.ranges.walk(self.kernel.body.block, self._visit)

    def _bound_pieces(self, sizes: list[tuple[int, int]]) -> None:
        """A launch runs `[lo, hi)` for `lo` a multiple of its chunk, of which the last may be smaller."""
        symbols = self.ranges.symbols
        low, high = self.kernel.body.block.args[-2:]
        last = max((extent - 1) // chunk * chunk for extent, chunk in sizes)
        lo = self.ranges.forms[low] = symbols.new(0, last)
        longest = max(min(chunk, extent) for extent, chunk in sizes)
        extent = max(extent for extent, _ in sizes)
        self.ranges.forms[high] = symbols.new(1, extent, [lo.add(1)], [lo.add(longest)])

    def _visit(self, op: Operation) -> None:
        if isinstance(op, scf.ForOp):
            self._check_step(op)
        elif isinstance(op, CheckOp):
            value, limit = self.ranges.of(op.value), self.ranges.of(op.limit)
            self.ranges.facts += [value, limit.plus(value, -1)]
        for reach in reaches(op):
            self._check(op, reach)
        if isinstance(op, GetrsOp):
            self._check_pivots(op)

    def _check(self, op: Operation, reach: Reach) -> None:
        if reach.extent == DYNAMIC_INDEX:
            # the verifier has seen that it is the element of an iteration
            return
        form, extent = self.ranges.of, reach.extent
        start, end = form(reach.start), Linear(extent)
        what = f"along dimension {reach.dimension} of {self._name(reach.buffer)}"
        elements = f"{op.name} takes elements 0 to {extent - 1} {what}" if extent else f"there are no elements {what}"
        if reach.stop is not None:
            self._require(op, reach.stop, form(reach.stop), end, f"{op.name} ends at 0 to {extent} {what}")
            ordered = f"{op.name} starts, {what}, no later than it ends"
            self._require(op, reach.start, start, form(reach.stop), ordered)
        elif reach.count is not None:
            count = form(reach.count)
            self._require(op, reach.count, count, end, f"{op.name} takes 0 to {extent} elements {what}")
            fitting = f"{op.name} starts {what} where its elements fit in"
            self._require(op, reach.start, start, end.plus(count, -1), fitting, minus=reach.count)
        else:
            self._require(op, reach.start, start, end.add(-1), elements)

    def _require(
        self, op: Operation, value: SSAValue, x: Linear, limit: Linear, what: str, minus: SSAValue | None = None
    ) -> None:
        """Check `0 <= value <= limit`, of which `minus` was taken, before `op` unless that is known; it is then."""
        room = limit.plus(x, -1)
        if self.ranges.holds(x) and self.ranges.holds(room):
            return
        b = Builder(InsertPoint.before(op))
        if not limit.terms:
            most = _constant(b, limit.constant)
        elif minus is not None:
            total = limit.plus(self.ranges.of(minus))
            most = b.insert(arith.SubiOp(_constant(b, total.constant), minus)).result
        else:
            most = next(v for v in op.operands if self.ranges.of(v) == limit)
        self._insert(b, op, value, most, what)
        self.ranges.facts += [x, room]

    def _insert(self, b: Builder, op: Operation, value: SSAValue, limit: SSAValue, what: str) -> None:
        check = b.insert(CheckOp(value, limit, f"kernel @{self.kernel.sym_name.data}{where(op)}: {what}"))
        check.location = op.location

    def _check_step(self, op: scf.ForOp) -> None:
        step = self.ranges.of(op.step)
        if not self.ranges.holds(step.add(-1)):
            b = Builder(InsertPoint.before(op))
            less = b.insert(arith.SubiOp(op.step, _constant(b, 1))).result
            self._insert(b, op, less, _constant(b, LARGEST_BUFFER), "the step of a loop, less one, is not negative")

    def _check_pivots(self, op: GetrsOp) -> None:
        """LAPACK exchanges the rows that the pivots name, counted from 1, whatever they are."""
        _, pivots, _ = op.buffers()
        (n,) = pivots.shape
        b = Builder(InsertPoint.before(op))
        inside = Block(arg_types=[INDEX])
        b.insert(scf.ForOp(_constant(b, 0), _constant(b, n), _constant(b, 1), (), inside))
        within = Builder(InsertPoint.at_end(inside))
        loaded = within.insert(memref.LoadOp.get(pivots.buffer, [*pivots.indices, inside.args[0]])).res
        row = within.insert(arith.IndexCastOp(loaded, INDEX)).result
        first = within.insert(arith.SubiOp(row, _constant(within, 1))).result
        what = f"a pivot of {op.name} in {self._name(pivots.buffer)}, less one, is 0 to {n - 1}"
        self._insert(within, op, first, _constant(within, n - 1), what)
        within.insert(scf.YieldOp())

    def _name(self, buffer: SSAValue) -> str:
        if buffer.name_hint:
            return f"%{buffer.name_hint}"
        kind = f"buffer {buffer.index}" if isinstance(buffer, BlockArgument) else "a scratch buffer"
        return f"{kind} ({memref_of(buffer)})"


def _constant(b: Builder, value: int) -> SSAValue:
    return b.insert(arith.ConstantOp(IntegerAttr(value, INDEX))).result
