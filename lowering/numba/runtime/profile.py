"""What a profile says, how it is printed and written down. How it is measured is in `launch_times.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Any

from xdsl_rlx.lowering.analysis.kernel_work import KernelWork, Unknown
from xdsl_rlx.lowering.text_tables import TextTable, duration, short

if TYPE_CHECKING:
    from xdsl_rlx.lowering.numba.runtime.roofline import Roofline

MOST_ROWS_SHOWN = 40


@dataclass(frozen=True)
class LaunchTime:
    """A launch of a program, or of a loop in it, and what it takes per step: medians, in seconds."""

    number: int
    """Which one of the program, in order."""
    kernel: str
    where: str
    """Where the op that it computes comes from; empty where that is not known."""
    pieces: int
    """Into which a run of it is cut, for threads to share."""
    runs: float
    """How often it runs in a step: loops run it many times, branches perhaps not."""
    time: float
    """Its part of the step, so that parts add up: what runs at the same time shares that time."""
    busy: float
    """The same for all threads together, without waiting for each other."""
    work: KernelWork | None
    """Of one run; None where the program is not known."""

    @property
    def flops_per_second(self) -> float | None:
        """Of its part of the step; None where the work is not known."""
        return None if self.work is None or not self.time else self.work.flops * self.runs / self.time

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes read and written, of the same."""
        return None if self.work is None or not self.time else self.work.moved * self.runs / self.time


@dataclass(frozen=True)
class ThreadTime:
    """A thread in a step, in seconds: thread 0 is the one that calls."""

    thread: int
    busy: float
    waiting: float
    """Between the first and the last piece of the step without one of its own: at barriers, or for want of pieces."""


@dataclass(frozen=True)
class Piece:
    """A piece of a launch, as it was run: seconds from the begin of the step."""

    launch: LaunchTime
    number: int
    thread: int
    began: float
    took: float


@dataclass(frozen=True)
class Profile:
    """What takes how long in the steps of a compiled graph. Printed, it is a table."""

    name: str
    threads: int
    steps: tuple[float, ...]
    """Seconds of each run, without what a call spends on its arguments."""
    launches: tuple[LaunchTime, ...]
    """Those that take longest first."""
    thread_times: tuple[ThreadTime, ...]
    pieces: tuple[Piece, ...]
    """Those of a step of median length, in the order in which they began."""
    dropped: int
    """Pieces of that step that there was no room to write down."""
    roof: Roofline | None
    """What the machine can do at most; None where nothing is known to compare with it."""

    @property
    def step(self) -> float:
        """The median of the steps."""
        return median(self.steps)

    @property
    def work(self) -> KernelWork | None:
        """That of a step; None where the program is not known."""
        known = [one.work.times(round(one.runs)) for one in self.launches if one.work is not None]
        return KernelWork.total(known) if len(known) == len(self.launches) else None

    @property
    def table(self) -> TextTable:
        """A row per launch."""
        head = ("time", "share", "kernel", "runs", "pieces", "FLOPs", "bytes", "FLOP/s", "B/s", "of roof", "where")
        rows = tuple(self._row(one) for one in self.launches[:MOST_ROWS_SHOWN])
        return TextTable(head, rows, frozenset((2, 10)))

    def _row(self, one: LaunchTime) -> tuple[str, ...]:
        share = f"{100 * one.time / self.step:.1f}%" if self.step > 0 else ""
        runs = f"{one.runs:g}"
        cells = (duration(one.time), share, one.kernel, runs, str(one.pieces))
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
        """The step, the machine, the threads, and what is not known, a line each."""
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
            yield f"roof of {roof.threads} threads, measured: {most}; caches are faster, so what they hold is above it"
        for one in self.thread_times:
            share = f"{100 * one.busy / self.step:.0f}%" if self.step > 0 else "0%"
            yield f"thread {one.thread}: busy {duration(one.busy)} ({share}), waiting {duration(one.waiting)}"
        if self.dropped:
            yield f"{self.dropped:,} more pieces were run than written down: times are of those that were"
        if work is not None:
            yield from (f"≥: {reason}" for reason in Unknown if reason in work.unknown)
        if (more := len(self.launches) - MOST_ROWS_SHOWN) > 0:
            yield f"{more} more launches take less than those below"

    def __str__(self) -> str:
        return "\n".join([*self.remarks, "", *self.table.lines()])

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escape(line)}</div>" for line in self.remarks) + self.table.html()

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Write the pieces as a trace that chrome://tracing and ui.perfetto.dev show: a track per thread."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [*self._events()], "displayTimeUnit": "ns"}, file)

    def _events(self) -> Iterator[dict[str, Any]]:
        about = {"ph": "M", "pid": 1}
        yield {**about, "name": "process_name", "args": {"name": self.name}}
        for one in self.thread_times:
            yield {**about, "name": "thread_name", "tid": one.thread, "args": {"name": f"thread {one.thread}"}}
        for piece in self.pieces:
            yield {
                "name": piece.launch.kernel,
                "cat": "launch",
                "ph": "X",
                "pid": 1,
                "tid": piece.thread,
                "ts": piece.began * 1e6,
                "dur": piece.took * 1e6,
                "args": _arguments(piece),
            }


def _arguments(piece: Piece) -> dict[str, object]:
    """What the viewer says of a piece; the work is that of the whole launch."""
    launch = piece.launch
    known: dict[str, object] = {"launch": launch.number, "piece": piece.number, "pieces": launch.pieces}
    if launch.where:
        known["where"] = launch.where
    if launch.work is not None:
        known |= {"flops of launch": launch.work.flops, "bytes of launch": launch.work.moved}
        if launch.work.unknown:
            known["at least, because"] = ", ".join(sorted(launch.work.unknown))
    return known
