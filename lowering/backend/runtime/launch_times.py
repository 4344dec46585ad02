"""Runs that write down when each chunk of a launch began and ended, and what is read off them.
What comes of it, and how it is printed, is in `profile.py`; the driver's side is `run_traced` in `scheduler.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import UNKNOWN_LOC

from xdsl_rlx.lowering.backend.driver.layout import WORD, LaunchRow, PoolTable, TraceRow, TraceTable
from xdsl_rlx.lowering.backend.driver.manifest import ScheduledLaunch
from xdsl_rlx.lowering.backend.driver.process import RunPlan, Words, pool
from xdsl_rlx.lowering.backend.runtime.binding import Binding
from xdsl_rlx.lowering.backend.runtime.build_program import launched_program
from xdsl_rlx.lowering.backend.runtime.profile import Chunk, LaunchTime, Profile, ThreadTime
from xdsl_rlx.lowering.backend.runtime.roofline import roofline
from xdsl_rlx.lowering.kernel_pass import kernels_of
from xdsl_rlx.lowering.reports.kernel_work import KernelWork, works_of
from xdsl_rlx.lowering.run_errors import ArgumentError, RlxError

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

MOST_ROWS = 1 << 19
"""Chunks of a run that are written down at most; 28 MB."""

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


def profile_of(
    graph: CompiledGraph, binding: Binding, args: Sequence[object], kwargs: Mapping[str, object], runs: int
) -> Profile:
    """The profile of calls of a graph; `ArgumentError` for less than one run."""
    if runs < 1:
        raise ArgumentError(f"expected at least one run, got {runs}")
    traced = [_run(binding, args, kwargs, 1)]
    for _ in range(runs):
        traced.append(_run(binding, args, kwargs, traced[-1].count))
    del traced[0]
    steps = np.array([run.ended - run.began for run in traced]) / 1e9
    typical = traced[int(np.argsort(steps, kind="stable")[(len(steps) - 1) // 2])]
    launches = _launches(graph, binding.plan, traced)
    return Profile(
        graph.name,
        graph.threads,
        tuple(steps.tolist()),
        launches,
        _threads(traced, graph.threads),
        typical.chunks(launches),
        max(0, typical.count - len(typical.launch)),
        roofline(graph.threads, graph.origin.compile_text) if any(one.work is not None for one in launches) else None,
    )


@dataclass
class _Run:
    """A run: when it was, in nanoseconds, and its chunks in the order in which they began."""

    began: int
    ended: int
    count: int
    """Chunks that were run; not all of them need have been written down."""
    launch: Numbers
    """Which row of launches each chunk is of."""
    chunk: Numbers
    thread: Numbers
    starts: Numbers
    ends: Numbers

    @property
    def busy(self) -> Numbers:
        return self.ends - self.starts

    def share(self, count: int) -> Reals:
        """
        Nanoseconds of the run that each launch accounts for.

        While anything runs, time belongs to what runs: chunks that overlap, one with the next, share the time from the
        first begin to the last end by how long each takes. So a chunk pays for the threads that wait for it.
        """
        if not len(self.launch):
            return np.zeros(count)
        latest = np.maximum.accumulate(self.ends)
        fresh = np.concatenate([[True], self.starts[1:] >= latest[:-1]])
        first = np.flatnonzero(fresh)
        spans = latest[np.concatenate([first[1:], [len(fresh)]]) - 1] - self.starts[first]
        group = np.cumsum(fresh) - 1
        together = np.bincount(group, self.busy)
        scale = spans / np.maximum(together, 1)
        return np.bincount(self.launch, self.busy * scale[group], count).astype(np.float64)

    def chunks(self, launches: Sequence[LaunchTime]) -> tuple[Chunk, ...]:
        named = {one.number: one for one in launches}
        columns = (self.launch, self.chunk, self.thread, self.starts - self.began, self.busy)
        return tuple(
            Chunk(named[launch], chunk, thread, start / 1e9, busy / 1e9)
            for launch, chunk, thread, start, busy in zip(*(column.tolist() for column in columns), strict=True)
        )


def _run(binding: Binding, args: Sequence[object], kwargs: Mapping[str, object], expected: int) -> _Run:
    """A run with room for as many chunks as the one before had."""
    # the row behind those that count takes what there is no room for
    room = min(expected, MOST_ROWS) + 1
    table: Words = np.zeros((TraceTable.size + TraceRow.size * room) // WORD, np.int64)
    table[TraceTable.CLOCK // WORD] = pool().table[PoolTable.CLOCK // WORD]
    table[TraceTable.ROWS // WORD] = room
    began, ended = binding.run_traced(args, kwargs, table)
    count = int(table[TraceTable.COUNT // WORD])
    rows = table[TraceTable.size // WORD :].reshape(-1, TraceRow.size // WORD)[: min(count, room - 1)]
    starts, ends = (_clock(rows, field) for field in (TraceRow.BEGAN, TraceRow.ENDED))
    order = np.argsort(starts, kind="stable")
    rows, tables = rows[order], binding.plan.tables
    launch = (rows[:, TraceRow.LAUNCH // WORD] - tables.launches) // LaunchRow.size
    chunk, thread = rows[:, TraceRow.CHUNK // WORD], rows[:, TraceRow.THREAD // WORD]
    return _Run(began, ended, count, launch, chunk, thread, starts[order], ends[order])


def _clock(rows: Numbers, field: int) -> Numbers:
    return rows[:, field // WORD] * 1_000_000_000 + rows[:, field // WORD + 1]


def _launches(graph: CompiledGraph, plan: RunPlan, traced: Sequence[_Run]) -> tuple[LaunchTime, ...]:
    """The launches that ran, those that take longest first."""
    scheduled = plan.tables.scheduled
    shares = np.array([run.share(len(scheduled)) for run in traced])
    busy = np.array([np.bincount(run.launch, run.busy, len(scheduled)) for run in traced])
    counts = np.array([np.bincount(run.launch, minlength=len(scheduled)) for run in traced])
    times, busy, counts = (np.median(x, axis=0) for x in (shares, busy, counts))
    about = _about(graph, scheduled)
    found = [
        LaunchTime(
            number, launch.kernel, about[number][0], launch.chunks, counts[number] / launch.chunks,
            times[number] / 1e9, busy[number] / 1e9, about[number][1],
        )
        for number, launch in enumerate(scheduled)
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: -one.time))


def _about(graph: CompiledGraph, scheduled: Sequence[ScheduledLaunch]) -> list[tuple[str, KernelWork | None]]:
    """Where each launch comes from, and its work; neither, where nobody knows what the graph was compiled from."""
    try:
        module = graph.origin.lowered()
    except RlxError:
        return [("", None)] * len(scheduled)
    program, ops = launched_program(module)
    work = works_of(kernels_of(module))
    numbers = {id(launch): number for number, launch in enumerate(graph.program.launches)}
    assert len(program.launches) == len(numbers)
    found = list[tuple[str, KernelWork | None]]()
    for launch in scheduled:
        op = ops[numbers[id(launch)]]
        place = "" if op.location == UNKNOWN_LOC else str(op.location)
        found.append((place, work(launch.kernel, launch.extent, launch.chunk)))
    return found


def _threads(traced: Sequence[_Run], threads: int) -> tuple[ThreadTime, ...]:
    busy = np.array([np.bincount(run.thread, run.busy, threads) for run in traced])
    within = np.array([run.ends.max() - run.starts.min() if len(run.ends) else 0 for run in traced])
    waiting = within[:, None] - busy
    found: tuple[Any, ...] = tuple(np.median(x, axis=0) / 1e9 for x in (busy, waiting))
    return tuple(ThreadTime(n, float(b), float(w)) for n, (b, w) in enumerate(zip(*found, strict=True)))
