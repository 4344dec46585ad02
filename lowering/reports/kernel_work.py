"""How much a launch computes and moves, counted on its kernel: arithmetic, and the buffers that loads and stores touch.
What is known of the integers that loops run to is in `index_ranges.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import log2, prod
from typing import Any, cast

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import AnyFloat, Float64Type, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import (
    LAPACK_OPS,
    BlockGemmOp,
    CallFunctionOp,
    FftOp,
    GemmOp,
    IfOp,
    KernelOp,
    LapackOp,
    LaunchOp,
    LoopOp,
    WhileOp,
)
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, is_any_length
from xdsl_rlx.dialects.lir.scalar import DotBf16Op, ScalarOp
from xdsl_rlx.lowering.analysis.index_ranges import IndexRanges
from xdsl_rlx.lowering.analysis.linear_sums import Linear
from xdsl_rlx.lowering.kernel_library.calls import called_function
from xdsl_rlx.lowering.kernel_pass import kernels_of

MOST_VISITS = 20_000
"""Blocks that are walked, for one launch, with numbers in place of what is counted by."""


class Unknown(StrEnum):
    """Why a count is of a part only."""

    LENGTH = "the length of a loop depends on data, or on more numbers than were tried"
    BRANCH = "data decides between branches"
    LIBRARY = "a call of LAPACK"


@dataclass(frozen=True)
class KernelWork:
    """The arithmetic and memory traffic of one or several launches; a lower bound if `unknown` is not empty."""

    flops: int = 0
    """Floating-point operations: a fused multiply-add counts as two, a function such as exp as one."""
    wide: int = 0
    """The floating-point operations on f64 among `flops`."""
    read: int = 0
    """Bytes of the buffers that are read; each element counts once."""
    written: int = 0
    unknown: frozenset[Unknown] = frozenset()
    dots: int = 0
    """The floating-point operations in dot products of bf16 among `flops`."""

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    @staticmethod
    def total(works: Iterable[KernelWork]) -> KernelWork:
        """Return the sum of several works."""
        given = list(works)
        return KernelWork(
            sum(work.flops for work in given),
            sum(work.wide for work in given),
            sum(work.read for work in given),
            sum(work.written for work in given),
            frozenset[Unknown]().union(*(work.unknown for work in given)),
            sum(work.dots for work in given),
        )

    def times(self, count: int) -> KernelWork:
        """Return the work of `count` runs."""
        read, written = self.read * count, self.written * count
        return KernelWork(self.flops * count, self.wide * count, read, written, self.unknown, self.dots * count)


def work_of(kernel: KernelOp, extent: int, chunk: int) -> KernelWork:
    """
    The work of a launch of a kernel over `extent` iterations by `chunk`.

    Of a buffer no more is moved than it holds: what is read again comes from a cache. A loop that runs to a number that
    an outer one counts is walked for each of those, up to `MOST_VISITS`.
    """
    counts = _Count()
    whole, rest = divmod(extent, chunk)
    walk = _Walk(kernel)

    def pieces(first: int, count: int) -> _Count:
        low = Linear(first * chunk) if count == 1 else walk.symbols.new(first * chunk, (first + count - 1) * chunk)
        return walk.piece(low, chunk)

    if whole:
        counts.add(walk.alike(whole, pieces), 1)
    if rest:
        counts.add(walk.piece(Linear(whole * chunk), rest), 1)
    return counts.work(kernel)


@dataclass
class _Count:
    """What a part of a kernel does: operations, and elements of buffers loaded and stored."""

    flops: int = 0
    wide: int = 0
    loads: Counter[SSAValue] = field(default_factory=Counter[SSAValue])
    stores: Counter[SSAValue] = field(default_factory=Counter[SSAValue])
    unknown: set[Unknown] = field(default_factory=set[Unknown])
    dots: int = 0

    def add(self, other: _Count, times: int) -> None:
        self.flops += other.flops * times
        self.wide += other.wide * times
        self.dots += other.dots * times
        for mine, others in ((self.loads, other.loads), (self.stores, other.stores)):
            for buffer, count in others.items():
                mine[buffer] += count * times
        if times:
            self.unknown |= other.unknown

    def compute(self, flops: int, value: SSAValue) -> None:
        self.flops += flops
        type_ = value.type
        if isinstance(type_, Float64Type) or getattr(type_, "element_type", None) == Float64Type():
            self.wide += flops

    def work(self, kernel: KernelOp) -> KernelWork:
        read, written = (
            sum(
                min(count, count if is_any_length(_buffer(arg)) else prod(_buffer(arg).get_shape()))
                * element_bytes(_buffer(arg).element_type)
                for arg in kernel.body.block.args
                if (count := elements[arg])
            )
            for elements in (self.loads, self.stores)
        )
        return KernelWork(self.flops, self.wide, read, written, frozenset(self.unknown), self.dots)


def _buffer(value: SSAValue) -> AnyMemRef:
    return cast(AnyMemRef, value.type)


_ONE = (
    ScalarOp,
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.DivfOp,
    arith.NegfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
)
"""The ops of arith and lir that count as one operation; those of math do, too."""


DOT = 4
"""Operations of a dot product of two pairs, added to a sum."""


def _flops(op: Operation) -> int:
    if isinstance(op, math.FmaOp):
        return 2
    if isinstance(op, DotBf16Op):
        return DOT
    functions = op.dialect_name() == "math" and isinstance(op.results[0].type, AnyFloat)
    return 1 if functions or isinstance(op, _ONE) else 0


class _Walk(IndexRanges):
    """Walks of one kernel, for pieces of a launch."""

    def __init__(self, kernel: KernelOp) -> None:
        super().__init__()
        self.kernel = kernel
        self.visits = 0

    def piece(self, low: Linear, chunk: int) -> _Count:
        """The work of the iterations [low, low + chunk)."""
        *_, lo, hi = self.kernel.body.block.args
        self.forms[lo], self.forms[hi] = low, low.add(chunk)
        return self.count(self.kernel.body.block)

    def count(self, block: Block) -> _Count:
        """The work of a block, run once."""
        self.visits += 1
        found = _Count()
        for op in block.ops:
            if (row := _ROWS.get(type(op))) is not None:
                row(self, op, found)
            elif op.results:
                found.compute(_flops(op), op.results[0])
                found.dots += DOT if isinstance(op, DotBf16Op) else 0
                for result in op.results:
                    self.learn(op, result)
        return found

    def learn(self, op: Operation, result: SSAValue) -> None:
        """What an integer is now."""
        # a walk before may have seen another number
        self.forms.pop(result, None)
        if (form := self._result(op)) is not None:
            self.forms[result] = self._within(result.type, form)

    def _select(self, op: arith.SelectOp) -> Linear:
        taken = self.taken(op.cond)
        return super()._select(op) if taken is None else self.of(op.lhs if taken else op.rhs)

    def number(self, value: Linear) -> int | None:
        low, high = self.range(value)
        return low if low == high else None

    def loop(self, op: scf.ForOp, found: _Count) -> None:
        low, step = self.of(op.lb), self.number(self.of(op.step))
        span = self.number(self.of(op.ub).plus(low, -1))
        for value in (*op.results, *op.body.block.args):
            self.forms.pop(value, None)
        if span is None or not step:
            found.unknown.add(Unknown.LENGTH)
            return
        trips = max(0, -(-span // step))
        if not trips:
            return

        def turns(first: int, count: int) -> _Count:
            begin = low.add(first * step)
            least, most = self.range(begin)
            inner = begin if count == 1 else self.symbols.new(least, most + (count - 1) * step)
            self.forms[op.body.block.args[0]] = inner
            return self.count(op.body.block)

        found.add(self.alike(trips, turns), 1)

    def alike(self, trips: int, run: Callable[[int, int], _Count]) -> _Count:
        """
        The work of a number of turns, of which `run(first, count)` counts any one of `count` turns from `first` on.

        Turns of which that is not known at once, as those of a loop whose last block is shorter, are divided in halves
        until it is, unless a single turn is no better known or too many blocks were visited.
        """
        at_once = run(0, trips)
        parts = [(at_once, trips)]
        if at_once.unknown and trips > 1 and not run(0, 1).unknown >= at_once.unknown:
            parts = self._divided(trips, run, at_once.unknown) or parts
        together = _Count()
        for one, count in parts:
            together.add(one, count)
        return together

    def _divided(
        self, trips: int, run: Callable[[int, int], _Count], unknown: set[Unknown]
    ) -> list[tuple[_Count, int]] | None:
        """The work of each part of some turns, and how many it has; None where dividing them does not help."""
        parts, spans = list[tuple[_Count, int]](), [(0, trips)]
        while spans:
            first, count = spans.pop()
            one = run(first, count)
            if self.visits > MOST_VISITS or (count == 1 and one.unknown >= unknown):
                return None
            if one.unknown and count > 1:
                spans += [(first + count // 2, count - count // 2), (first, count // 2)]
            else:
                parts.append((one, count))
        return parts

    def branch(self, op: scf.IfOp, found: _Count) -> None:
        sides = [self.count(region.block) if region.blocks else _Count() for region in op.regions]
        for value in op.results:
            self.forms.pop(value, None)
        taken = self.taken(op.cond)
        if taken is None:
            sides.sort(key=lambda side: side.flops)
            if sides[0] != sides[1]:
                found.unknown.add(Unknown.BRANCH)
        found.add(sides[0] if taken is not False else sides[1], 1)

    def taken(self, condition: SSAValue) -> bool | None:
        """Whether a condition holds; None where that is not known."""
        for truth in (True, False):
            needed = self.implied(condition, truth)
            if needed and all(self.range(x)[0] >= 0 for x in needed) and isinstance(condition.owner, arith.CmpiOp):
                return truth
            if any(self.range(x)[1] < 0 for x in needed):
                return not truth
        return None

    def repeat(self, op: scf.WhileOp, found: _Count) -> None:
        for value in op.results:
            self.forms.pop(value, None)
        found.unknown.add(Unknown.LENGTH)

    def product(self, op: GemmOp, found: _Count) -> None:
        inner = None if op.inner_lo is None or op.inner_hi is None else (op.inner_lo, op.inner_hi)
        depth = _buffer(op.a).get_shape()[-1] if inner is None else self.between(*inner)
        self.multiplied(op, self.between(op.row_lo, op.row_hi), self.between(op.col_lo, op.col_hi), depth, found)

    def block_product(self, op: BlockGemmOp, found: _Count) -> None:
        rows, cols, depth = (self.number(self.of(x)) for x in (op.rows, op.cols, op.depth))
        self.multiplied(op, rows, cols, depth, found)

    def between(self, low: SSAValue, high: SSAValue) -> int | None:
        return self.number(self.of(high).plus(self.of(low), -1))

    def multiplied(
        self, op: GemmOp | BlockGemmOp, rows: int | None, cols: int | None, depth: int | None, found: _Count
    ) -> None:
        if rows is None or cols is None or depth is None:
            found.unknown.add(Unknown.LENGTH)
            return
        found.compute(2 * rows * cols * depth, op.c)
        found.loads[op.a] += rows * depth
        found.loads[op.b] += depth * cols
        found.stores[op.c] += rows * cols
        if op.accumulate is not None:
            found.loads[op.c] += rows * cols

    def routine(self, op: LapackOp, found: _Count) -> None:
        found.unknown.add(Unknown.LIBRARY)

    def fourier(self, op: FftOp, found: _Count) -> None:
        """The customary `5 n log2 n` of a transform, twice of one that is a convolution."""
        transforms = 1 if op.convolved is None else 2
        flops = 5 * op.inner * log2(op.inner) * transforms + (0 if op.chirp is None else 6 * (op.inner + 2 * op.points))
        found.compute(round(op.width * flops), op.result)
        source, result = op.sides
        found.loads[op.source] += op.width * source.numbers
        found.stores[op.result] += op.width * result.numbers

    def called(self, op: CallFunctionOp, found: _Count) -> None:
        """A function of a tiled matmul, or of a sort."""
        if (length := self.between(op.low, op.high)) is None:
            found.unknown.add(Unknown.LENGTH)
            return
        work = called_function(op).work(op.plan, length)
        found.compute(2 * work.multiplications, op.writes[-1])
        found.dots += 2 * work.packed
        for buffer, count in zip(op.reads, work.reads, strict=True):
            found.loads[buffer] += count
        for buffer, count in zip(op.writes, work.writes, strict=True):
            found.stores[buffer] += count

    def load(self, op: memref.LoadOp, found: _Count) -> None:
        self.forms.pop(op.res, None)
        found.loads[op.memref] += 1

    def store(self, op: memref.StoreOp, found: _Count) -> None:
        found.stores[op.memref] += 1


_ROWS: dict[type[Operation], Callable[[_Walk, Any, _Count], None]] = {
    scf.ForOp: _Walk.loop,
    scf.IfOp: _Walk.branch,
    scf.WhileOp: _Walk.repeat,
    GemmOp: _Walk.product,
    BlockGemmOp: _Walk.block_product,
    **dict.fromkeys(LAPACK_OPS, _Walk.routine),
    FftOp: _Walk.fourier,
    CallFunctionOp: _Walk.called,
    memref.LoadOp: _Walk.load,
    memref.StoreOp: _Walk.store,
}


def works_of(kernels: Sequence[KernelOp]) -> Callable[[str, int, int], KernelWork]:
    """The work of launches of these kernels: a function of a kernel's name, extent and chunk that counts each once."""
    named = {kernel.sym_name.data: kernel for kernel in kernels}
    known: dict[tuple[str, int, int], KernelWork] = {}

    def work(name: str, extent: int, chunk: int) -> KernelWork:
        key = (name, extent, chunk)
        if key not in known:
            known[key] = work_of(named[name], extent, chunk)
        return known[key]

    return work


@dataclass(frozen=True)
class LaunchWork:
    """A launch of a program, how often it runs in a step at least, and what each of its runs does."""

    op: LaunchOp
    runs: int
    each: KernelWork

    @property
    def all(self) -> KernelWork:
        """That of all runs."""
        return self.each.times(self.runs)


def launch_works(module: ModuleOp) -> list[LaunchWork]:
    """The launches of the programs of a lir module, in order, each once."""
    work = works_of(kernels_of(module))
    found = list[LaunchWork]()
    for op in module.walk():
        if isinstance(op, LaunchOp):
            runs, unknown = _runs(op)
            each = work(op.kernel.string_value(), op.extent.value.data, op.chunk.value.data)
            found.append(LaunchWork(op, runs, replace(each, unknown=each.unknown | unknown)))
    return found


def _runs(op: Operation) -> tuple[int, frozenset[Unknown]]:
    """How often an op runs in a step at least, and why that is not all."""
    runs, unknown = 1, frozenset[Unknown]()
    while (parent := op.parent_op()) is not None:
        if isinstance(parent, LoopOp):
            runs *= parent.count
        elif isinstance(parent, IfOp | WhileOp):
            # the test of a loop runs once, its body and a branch perhaps not at all
            runs *= isinstance(parent, WhileOp) and op.parent_region() is parent.test
            unknown |= {Unknown.BRANCH if isinstance(parent, IfOp) else Unknown.LENGTH}
        op = parent
    return runs, unknown
