"""What becomes of the ops of a program: composite ops that it spells out, kernels, and what was missed and why.
All of it is read off the program and what passes make of copies of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.mir.core import HasKernel
from xdsl_rlx.lowering.pipelines import fusion_passes
from xdsl_rlx.lowering.target import COMMON, CostModel
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.engines.compose import Composition, compose
from xdsl_rlx.transforms.rules.raise_table import Reason
from xdsl_rlx.transforms.signature import Signature
from xdsl_rlx.transforms.structure import structure_of_region


@dataclass(frozen=True)
class FusionGroup:
    """The ops of one kernel."""

    ops: tuple[str, ...]
    """The names of its ops, in order."""
    locations: tuple[str, ...]
    """Their source locations: lines of Python, and blocks of hir."""
    launches: int
    """The number of launches of the kernel, which equal groups share. Copies do not form groups."""


@dataclass(frozen=True)
class MissedFusion:
    """A group of ops that has the structure of a composite op, but is not raised."""

    composite: str
    location: str
    """The location of the last op of the pattern."""
    reason: Reason
    hint: str

    def __str__(self) -> str:
        return f"{self.composite} at {self.location}: {self.reason}: {self.hint}"


@dataclass(frozen=True)
class FusionReport:
    """The fusion of the ops of a program; `str` of it is a table."""

    ops_before: int
    """The number of mir ops of the program, without constants."""
    ops_after: int
    """The number of mir ops after composite ops are raised, without constants."""
    raised: tuple[tuple[str, int], ...]
    """The composite ops that were raised, with their counts."""
    groups: tuple[FusionGroup, ...]
    missed_fusions: tuple[MissedFusion, ...]

    @property
    def launches(self) -> int:
        """
        The number of launches of groups in one run, where loops count once; `rlx.inspect` also counts layout copies.
        """
        return sum(group.launches for group in self.groups)

    @property
    def summary(self) -> str:
        """One line of counts."""
        found = "".join(f" {name.removeprefix('mir.')}={count}" for name, count in self.raised)
        kernels = f"kernels={len(self.groups)} launches={self.launches}"
        return f"ops={self.ops_before}→{self.ops_after}{found} {kernels} missed={len(self.missed_fusions)}"

    def __str__(self) -> str:
        lines = [self.summary, *(f"  {count} x {name} was spelled out" for name, count in self.raised)]
        for number, group in enumerate(self.groups):
            shared = f", {group.launches} launches" if group.launches > 1 else ""
            lines.append(f"  kernel {number}{shared}: {_counted(group.ops)}")
            lines += [f"    {location}" for location in group.locations]
        return "\n".join([*lines, *(f"  missed {miss}" for miss in self.missed_fusions)])


def _counted(names: Iterable[str]) -> str:
    counts = Counter(name.removeprefix("mir.") for name in names)
    return ", ".join(name if count == 1 else f"{name} x{count}" for name, count in counts.items())


def report_of(module: ModuleOp, model: CostModel = COMMON) -> FusionReport:
    """The report on a module at hir or mir, which stays as it is, for a processor."""
    spelled, ctx = module.clone(), Context()
    ConvertHirToMirPass(fusion_policy="fusable").apply(ctx, spelled)
    before = _size(spelled)
    found = compose(spelled, lambda _: True)
    return FusionReport(before, _size(spelled), _raised(found), _groups(module, model), _missed(found, module))


def _size(module: ModuleOp) -> int:
    return sum(op.name.startswith("mir.") and op.name != "mir.constant" for op in module.walk())


def _raised(found: Composition) -> tuple[tuple[str, int], ...]:
    # what a larger pattern took in is no op of the program any more
    counts = Counter(op.composite.name for op in found.raised if op.at.parent is not None)
    return tuple(sorted(counts.items()))


def _missed(found: Composition, module: ModuleOp) -> tuple[MissedFusion, ...]:
    # what a backward pass reads is computed for it, whatever the forward pass could have been
    is_gradient = any(isinstance(op, FuncOp) and Signature(op).gradients for op in module.ops)
    is_expected = {Reason.MULTI_CONSUMER} if is_gradient else set[Reason]()
    return tuple(
        MissedFusion(miss.composite.name, _place(miss.at), miss.why.reason, miss.why.hint)
        for miss in found.missed
        if miss.why.reason not in is_expected
    )


def _place(op: Operation) -> str:
    return "an unknown place" if op.location == UNKNOWN_LOC else str(op.location)


def _groups(module: ModuleOp, model: CostModel) -> tuple[FusionGroup, ...]:
    """The kernels of what a program is compiled to, in the order of their first launch."""
    fused, ctx = module.clone(), Context()
    for step in fusion_passes(fused, model):
        step.apply(ctx, fused)
    alike: dict[object, list[list[Operation]]] = {}
    for op in fused.walk():
        if isinstance(op, FusionOp):
            key = (structure_of_region(op.body), op.loops)
            alike.setdefault(key, []).append([inner for inner in op.body.ops if not isinstance(inner, YieldOp)])
        elif op.has_trait(HasKernel):
            types = (tuple(x.type for x in op.operands), tuple(op.result_types))
            key = (op.name, types, frozenset(op.properties.items()), frozenset(op.attributes.items()))
            alike.setdefault(key, []).append([op])
    return tuple(_group(same) for same in alike.values())


def _group(same: Sequence[Sequence[Operation]]) -> FusionGroup:
    """One kernel of all the places that it runs for."""
    places = dict.fromkeys(_place(op) for ops in same for op in ops if op.location != UNKNOWN_LOC)
    return FusionGroup(tuple(op.name for op in same[0]), tuple(places), len(same))
