"""The text of a program at each stage of its lowering, line by line, with what each line comes from.
How it is shown is in `page.py`."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, ModuleOp, NameLoc, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.lowering.fusion.mir_fuse import MirFusePass
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.lowering.progress import Progress
from xdsl_rlx.lowering.target import COMMON, CostModel
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass

OP, GROUP = "\0op ", "\0group "
"""Names that locations get for the time of a lowering: the number of an op as it was given, or of a group."""


@dataclass(frozen=True)
class StageText:
    """The text of a module, and for each line the numbers of the ops, as they were given, that it comes from."""

    title: str
    lines: tuple[str, ...]
    sources: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class OpGroup:
    """What becomes kernels together: ops in one fusion, an op with loops of its own, or a launch of a given program."""

    ops: tuple[Operation, ...]
    within: Operation
    """The op of the program that they are."""
    sources: tuple[int, ...]
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class Lowered:
    """A program on its way from what was given to kernels."""

    places: tuple[str, ...]
    """Where each op that was given comes from."""
    stages: tuple[StageText, ...]
    groups: tuple[OpGroup, ...]
    lowered: ModuleOp


def lowering_of(module: ModuleOp, threads: int = 1, model: CostModel = COMMON) -> Lowered:
    """The stages of a module, which is not changed, on its way to a planned program for so many threads."""
    work, ctx = module.clone(), Context()
    places = tuple(_mark(work))
    stages, fused = list[StageText](), None
    given = work.clone()
    with Progress("report") as progress:
        for step in remaining_passes(work, threads, model):
            progress.say(step.name)
            step.apply(ctx, work)
            if isinstance(step, ConvertHirToMirPass):
                stages.append(_stage("mir", work, {}))
            if isinstance(step, MirFusePass):
                fused = work.clone()
                _mark_groups(work)
    marked = _groups(fused if fused is not None else work)
    kernels = _kernels(work, len(marked), fused is None)
    groups = tuple(
        OpGroup(ops, within, sources, tuple(kernels[number])) for number, (ops, within, sources) in enumerate(marked)
    )
    if fused is not None:
        stages.append(_stage("fused", fused, {}))
    first = _stage("given", given, {})
    last = [_stage("lir", work, _sources_of_kernels(groups))] if fused is not None else []
    for op in work.walk():
        op.location = _unmarked(op.location)
    return Lowered(places, (first, *stages, *last), groups, work)


def _mark(module: ModuleOp) -> Iterator[str]:
    """Number the ops of a module; gives where each comes from."""
    number = 0
    for op in module.walk():
        if op.dialect_name() in ("hir", "mir") or isinstance(op, LaunchOp):
            yield str(op.location).removeprefix("loc(").removesuffix(")")
            op.location = NameLoc(StringAttr(f"{OP}{number}"), op.location)
            number += 1


def _group_ops(module: ModuleOp) -> Iterator[Operation]:
    """Fusions, ops that stand outside of them, and the launches of a given program."""
    for op in module.walk():
        outside = op.dialect_name() == "mir" and not isinstance(op.parent_op(), FusionOp)
        if isinstance(op, LaunchOp) or (outside and not isinstance(op, ConstantOp | YieldOp)):
            yield op


def _mark_groups(module: ModuleOp) -> None:
    for number, op in enumerate(_group_ops(module)):
        for inner in op.walk():
            inner.location = NameLoc(StringAttr(f"{GROUP}{number}"), inner.location)


def _groups(module: ModuleOp) -> list[tuple[tuple[Operation, ...], Operation, tuple[int, ...]]]:
    found = list[tuple[tuple[Operation, ...], Operation, tuple[int, ...]]]()
    for op in _group_ops(module):
        inside = [x for x in op.body.ops if not isinstance(x, YieldOp)] if isinstance(op, FusionOp) else [op]
        marks = {mark for x in (op, *inside) for mark in _marks(x.location, OP)}
        found.append((tuple(inside), op, tuple(sorted(marks))))
    return found


def _marks(location: Attribute, kind: str) -> Iterator[int]:
    """The numbers of a kind that a location has."""
    if isinstance(location, NameLoc):
        if location.desc.data.startswith(kind):
            yield int(location.desc.data.removeprefix(kind))
        yield from _marks(location.location, kind)
    elif isinstance(location, FusedLoc):
        for part in cast("ArrayAttr[Attribute]", location.locations):
            yield from _marks(part, kind)


def _kernels(module: ModuleOp, groups: int, given: bool) -> list[list[str]]:
    """The kernels that each group is launched as; those of a given program are its launches themselves."""
    found: list[dict[str, None]] = [{} for _ in range(groups)]
    for number, op in enumerate(op for op in module.walk() if isinstance(op, LaunchOp)):
        # the launches of a given program are the groups
        for mark in [number] if given else _marks(op.location, GROUP):
            found[mark][op.kernel.string_value()] = None
    return [list(names) for names in found]


def _unmarked(location: LocationAttr) -> LocationAttr:
    """A location without the numbers."""
    while isinstance(location, NameLoc) and location.desc.data.startswith((OP, GROUP)):
        location = cast(LocationAttr, location.location)
    return location


def _sources_of_kernels(groups: Sequence[OpGroup]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for group in groups:
        for name in group.kernels:
            found.setdefault(name, set()).update(group.sources)
    return found


def _stage(title: str, module: ModuleOp, kernels: dict[str, set[int]]) -> StageText:
    stream = _LineCounter()
    printer = _LinePrinter(stream)
    printer.print_op(module)
    lines = stream.getvalue().split("\n")
    sources: list[tuple[int, ...]] = [()] * len(lines)
    for line, op in sorted(printer.places, key=lambda place: place[0]):
        marks = set(_marks(op.location, OP))
        if isinstance(op, LaunchOp):
            marks |= kernels.get(op.kernel.string_value(), set())
        sources[line] = tuple(sorted(marks))
    for kernel, first, last in printer.kernels:
        marks = tuple(sorted(kernels.get(kernel.sym_name.data, ())))
        sources[first : last + 1] = [marks] * (last + 1 - first)
    return StageText(title, tuple(lines), tuple(sources))


class _LineCounter(io.StringIO):
    """A stream that knows the line it is at."""

    line = 0

    def write(self, text: str, /) -> int:
        self.line += text.count("\n")
        return super().write(text)


class _LinePrinter(Printer):
    """A printer that notes the line at which each op begins."""

    def __init__(self, stream: _LineCounter) -> None:
        super().__init__(stream)
        self.lines = stream
        self.places = list[tuple[int, Operation]]()
        self.kernels = list[tuple[KernelOp, int, int]]()

    def print_op(self, op: Operation) -> None:
        first = self.lines.line
        self.places.append((first, op))
        super().print_op(op)
        if isinstance(op, KernelOp):
            self.kernels.append((op, first, self.lines.line))
