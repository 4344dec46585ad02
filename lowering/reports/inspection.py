"""What a program is: arguments, results, ops, kernels and memory, read off the graph and what it is lowered to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.buffers import NamedBufferOp
from xdsl_rlx.dialects.lir.memory import byte_size, memref_of
from xdsl_rlx.lowering.reports.kernel_work import KernelWork, LaunchWork, Unknown, launch_works
from xdsl_rlx.lowering.reports.memory_report import MemoryReport, buffer_type, memory_report
from xdsl_rlx.lowering.reports.text_tables import TextTable, short

STAGES = ("hir", "mir", "lir")


@dataclass(frozen=True)
class BufferUse:
    """An argument or a result."""

    name: str
    kind: str
    """
    input, param or output; a donated one is `input, donated`, or `input, donated, copied back`, and one whose memory
    holds intermediate values `input, scratch`.
    """
    type: str
    bytes: int


@dataclass(frozen=True)
class KernelUse:
    """A kernel and its work in a step."""

    name: str
    where: str
    """The source location of the op of its first launch; empty if unknown."""
    launches: int
    """The number of launches in the program."""
    runs: int
    """The number of runs in a step; a lower bound if the work is unknown."""
    work: KernelWork


@dataclass(frozen=True)
class Inspection:
    """A description of a program; `str` of it is tables."""

    name: str
    stage: str
    """The stage of the given graph: hir, mir or lir."""
    buffers: tuple[BufferUse, ...]
    ops: tuple[tuple[str, int], ...]
    """The ops of the given graph with their counts, the most frequent first."""
    kernels: tuple[KernelUse, ...]
    """The kernels, those with the most FLOPs first."""
    memory: MemoryReport

    @property
    def work(self) -> KernelWork:
        """The work of a step."""
        return KernelWork.total(kernel.work for kernel in self.kernels)

    @property
    def summary(self) -> tuple[str, ...]:
        """A few lines of totals."""
        work, memory = self.work, self.memory
        least = "at least " if work.unknown else ""
        launches = sum(kernel.launches for kernel in self.kernels)
        return (
            f"{self.name}: {sum(count for _, count in self.ops)} ops at {self.stage}, {len(self.kernels)} kernels, "
            f"{launches} launches",
            f"{least}{short(work.flops, 'FLOP')} and {short(work.moved, 'B')} read and written per step",
            f"memory: inputs {short(memory.inputs, 'B')}, params {short(memory.params, 'B')}, "
            f"outputs {short(memory.outputs, 'B')}, constants {short(memory.constants, 'B')}, "
            f"arena {short(memory.arena, 'B')}",
            *(f"≥: {reason}" for reason in Unknown if reason in work.unknown),
        )

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """Tables of arguments and results, of ops, and of kernels."""
        buffers = tuple((x.name, x.kind, x.type, short(x.bytes, "B")) for x in self.buffers)
        ops = tuple((name, str(count)) for name, count in self.ops)
        head = ("kernel", "launches", "runs", "FLOPs", "bytes", "where")
        return (
            TextTable(("name", "kind", "type", "bytes"), buffers, frozenset((0, 1, 2))),
            TextTable(("op", "count"), ops, frozenset((0,))),
            TextTable(head, tuple(_row(kernel) for kernel in self.kernels), frozenset((0, 5))),
        )

    def __str__(self) -> str:
        return "\n".join([*self.summary, *(line for table in self.tables for line in ("", *table.lines()))])

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{escape(line)}</div>" for line in self.summary)
        return lines + "".join(table.html() for table in self.tables)


def _row(kernel: KernelUse) -> tuple[str, ...]:
    work, least = kernel.work, "≥ " if kernel.work.unknown else ""
    counts = (f"{least}{short(work.flops)}", f"{least}{short(work.moved)}")
    return (kernel.name, str(kernel.launches), str(kernel.runs), *counts, kernel.where)


def inspection_of(source: ModuleOp, lowered: ModuleOp) -> Inspection:
    """What a module is, of which `lowered` is the planned program; PassFailedException where it is none."""
    memory = memory_report(lowered)
    ops = Counter(op.name for op in source.walk() if op.dialect_name() in STAGES)
    stage = next((stage for stage in STAGES if any(name.startswith(f"{stage}.") for name in ops)), "mir")
    kernels = sorted(_kernels(launch_works(lowered)), key=lambda kernel: -kernel.work.flops)
    buffers = tuple(_buffers(lowered))
    return Inspection(memory.name, stage, buffers, tuple(ops.most_common()), tuple(kernels), memory)


def _kernels(works: Iterable[LaunchWork]) -> Iterator[KernelUse]:
    alike: dict[str, list[LaunchWork]] = {}
    for work in works:
        alike.setdefault(work.op.kernel.string_value(), []).append(work)
    for name, launches in alike.items():
        known = [work.op.location for work in launches if work.op.location != UNKNOWN_LOC]
        runs, total = sum(work.runs for work in launches), KernelWork.total(work.all for work in launches)
        yield KernelUse(name, str(known[0]) if known else "", len(launches), runs, total)


def _buffers(lowered: ModuleOp) -> Iterator[BufferUse]:
    kinds: dict[type[Operation], str] = {lir.InputOp: "input", lir.ParamOp: "param", lir.OutputOp: "output"}
    for op in lowered.walk():
        if (kind := kinds.get(type(op))) is None:
            continue
        name = op.buffer_name.data if isinstance(op, NamedBufferOp) else ""
        if isinstance(op, lir.OutputOp):
            name = str(op.number.value.data)
        if isinstance(op, NamedBufferOp) and op.donated is not None:
            kind += ", donated" if op.copied_back is None else ", donated, copied back"
        elif isinstance(op, NamedBufferOp) and op.scratch is not None:
            kind += ", scratch"
        yield BufferUse(name, kind, buffer_type(op), byte_size(memref_of(op.results[0])))
