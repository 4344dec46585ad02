"""What a profile says, how it is printed and written down. How it is measured is in `launch_times.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Any

from xdsl_rlx.lowering.reports.kernel_work import KernelWork, Unknown
from xdsl_rlx.lowering.reports.text_tables import TextTable, duration, short

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.roofline import Roofline

MOST_ROWS_SHOWN = 40


@dataclass(frozen=True)
class LaunchTime:
    """A launch of a program, or of a loop in it, with its times per step: medians, in seconds."""

    number: int
    """The index of the launch in the program."""
    kernel: str
    where: str
    """The source location of the op that it computes; empty if unknown."""
    chunks: int
    """The number of chunks of a run, which threads share."""
    runs: float
    """The number of runs in a step: more than 1 in loops, perhaps less in branches."""
    time: float
    """Its share of the step in seconds. Shares add up to the step; concurrent launches divide their time among them."""
    busy: float
    """The time of all threads together, without waits."""
    work: KernelWork | None
    """The work of one run; None if the program is unknown."""

    @property
    def flops_per_second(self) -> float | None:
        """FLOPs per second of `time`; None if the work is unknown."""
        return None if self.work is None or not self.time else self.work.flops * self.runs / self.time

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes read and written per second of `time`; None if the work is unknown."""
        return None if self.work is None or not self.time else self.work.moved * self.runs / self.time


@dataclass(frozen=True)
class ThreadTime:
    """The times of a thread in a step, in seconds; thread 0 is the calling thread."""

    thread: int
    busy: float
    waiting: float
    """Idle time between the first and the last chunk of the step: at barriers, or without a chunk left to run."""


@dataclass(frozen=True)
class Chunk:
    """A chunk of a launch, as it ran; seconds from the start of the step."""

    launch: LaunchTime
    number: int
    thread: int
    began: float
    took: float


@dataclass(frozen=True)
class Profile:
    """The time of each launch in the steps of a compiled graph; `str` of it is a table."""

    name: str
    threads: int
    steps: tuple[float, ...]
    """Seconds of each run, without the handling of arguments."""
    launches: tuple[LaunchTime, ...]
    """The launches, the longest first."""
    thread_times: tuple[ThreadTime, ...]
    chunks: tuple[Chunk, ...]
    """The chunks of a step of median length, ordered by start time."""
    dropped: int
    """The number of chunks of the step that were not recorded, because the log was full."""
    roof: Roofline | None
    """The roofline of the machine; None if no work is known to compare with it."""

    @property
    def step(self) -> float:
        """The median of the steps."""
        return median(self.steps)

    @property
    def work(self) -> KernelWork | None:
        """The work of a step; None if the program is unknown."""
        known = [one.work.times(round(one.runs)) for one in self.launches if one.work is not None]
        return KernelWork.total(known) if len(known) == len(self.launches) else None

    @property
    def table(self) -> TextTable:
        """A table with a row per launch."""
        head = ("time", "share", "kernel", "runs", "chunks", "FLOPs", "bytes", "FLOP/s", "B/s", "of roof", "where")
        rows = tuple(self._row(one) for one in self.launches[:MOST_ROWS_SHOWN])
        return TextTable(head, rows, frozenset((2, 10)))

    def _row(self, one: LaunchTime) -> tuple[str, ...]:
        share = f"{100 * one.time / self.step:.1f}%" if self.step > 0 else ""
        runs = f"{one.runs:g}"
        cells = (duration(one.time), share, one.kernel, runs, str(one.chunks))
        return (*cells, *self._counts(one), one.where)

    def _counts(self, one: LaunchTime) -> tuple[str, str, str, str, str]:
        if one.work is None:
            return ("?", "?", "?", "?", "?")
        least = "≥ " if one.work.unknown else ""
        total = one.work.times(round(one.runs))
        roof = "" if self.roof is None or not one.time else f"{100 * self.roof.seconds(total) / one.time:.0f}%"
        flops, moved = one.flops_per_second, one.bytes_per_second
        return (
            f"{least}{short(total.flops)}",
            f"{least}{short(total.moved)}",
            "" if flops is None else f"{least}{short(flops)}",
            "" if moved is None else f"{least}{short(moved)}",
            f"{least}{roof}" if roof else "",
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines about the step, the machine, the threads, and unknown counts."""
        return tuple(self._remarks())

    def _remarks(self) -> Iterator[str]:
        runs = f"{len(self.steps)} runs, {duration(min(self.steps))} to {duration(max(self.steps))}"
        yield f"{self.name}: {duration(self.step)} per step (median of {runs}), {self.threads} threads"
        if (work := self.work) is not None and self.step > 0:
            least = "at least " if work.unknown else ""
            rate = short(work.flops / self.step, "FLOP/s")
            yield f"{least}{short(work.flops, 'FLOP')} and {short(work.moved, 'B')} per step, {rate}"
        if (roof := self.roof) is not None:
            most = f"{short(roof.flops, 'FLOP/s')} in f32, {short(roof.bandwidth, 'B/s')} from memory"
            note = "caches are faster, so kernels on cached data may exceed it"
            yield f"roof of {roof.threads} threads, measured: {most}; {note}"
        for one in self.thread_times:
            share = f"{100 * one.busy / self.step:.0f}%" if self.step > 0 else "0%"
            yield f"thread {one.thread}: busy {duration(one.busy)} ({share}), waiting {duration(one.waiting)}"
        if self.dropped:
            yield f"{self.dropped:,} more chunks ran than the log holds: times are of the logged chunks"
        if work is not None:
            yield from (f"≥: {reason}" for reason in Unknown if reason in work.unknown)
        if (more := len(self.launches) - MOST_ROWS_SHOWN) > 0:
            yield f"{more} shorter launches are not shown"

    def __str__(self) -> str:
        return "\n".join([*self.remarks, "", *self.table.lines()])

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escape(line)}</div>" for line in self.remarks) + self.table.html()

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Write the chunks as a trace for chrome://tracing and ui.perfetto.dev, with a track per thread."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [*self._events()], "displayTimeUnit": "ns"}, file)

    def _events(self) -> Iterator[dict[str, Any]]:
        about = {"ph": "M", "pid": 1}
        yield {**about, "name": "process_name", "args": {"name": self.name}}
        for one in self.thread_times:
            yield {**about, "name": "thread_name", "tid": one.thread, "args": {"name": f"thread {one.thread}"}}
        for chunk in self.chunks:
            yield {
                "name": chunk.launch.kernel,
                "cat": "launch",
                "ph": "X",
                "pid": 1,
                "tid": chunk.thread,
                "ts": chunk.began * 1e6,
                "dur": chunk.took * 1e6,
                "args": _arguments(chunk),
            }


def _arguments(chunk: Chunk) -> dict[str, object]:
    """What the viewer says of a chunk; the work is that of the whole launch."""
    launch = chunk.launch
    known: dict[str, object] = {"launch": launch.number, "chunk": chunk.number, "chunks": launch.chunks}
    if launch.where:
        known["where"] = launch.where
    if launch.work is not None:
        known |= {"flops of launch": launch.work.flops, "bytes of launch": launch.work.moved}
        if launch.work.unknown:
            known["at least, because"] = ", ".join(sorted(launch.work.unknown))
    return known
