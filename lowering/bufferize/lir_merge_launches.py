"""`lir-merge-launches`: launches over the same iterations become one, whose chunks find in the cache what they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, ReturnOp, SlotOp, StepOp, ViewOp
from xdsl_rlx.dialects.lir.bounds import SCRATCH_LIMIT, reaches
from xdsl_rlx.dialects.lir.buffers import ConstantOp, InputOp, OutputOp, ParamOp
from xdsl_rlx.dialects.lir.memory import byte_size, element_bytes, memref_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.kernel_pass import erase_unused, kernels_of, launches_of, root_of, symbols_of, take_name
from xdsl_rlx.lowering.target import MergeCosts
from xdsl_rlx.transforms.driver import verify_dominance

_PLAIN = (
    KernelOp,
    ReturnOp,
    memref.LoadOp,
    memref.StoreOp,
    memref.AllocaOp,
    scf.ForOp,
    scf.IfOp,
    scf.YieldOp,
)
_DECLARATIONS = (SlotOp, ViewOp, StepOp, InputOp, ParamOp, ConstantOp, OutputOp)


@dataclass(frozen=True)
class LirMergeLaunchesPass(MergeCosts, ModulePass):
    """
    Merge a launch with the one before it if both have the same iterations, and share more than the cache holds.

    ```mlir
    lir.launch @max over 100000 by 1024 reads(%x : ..) writes(%0 : ..)
    lir.launch @first over 100000 by 1024 reads(%x, %0 : ..) writes(%1 : ..)
    // becomes
    lir.launch @max_first over 100000 by 1024 reads(%x : ..) writes(%0, %1 : ..)
    ```

    Each chunk runs the first kernel, then the second one, which finds there what it reads again. An iteration of either
    touches, of a buffer that one of them writes, the elements of that iteration only. Chunks have as many iterations as
    stay in L2; launches whose chunks would be shorter than `min_merged_bytes` of a line stay as they are.
    """

    name = "lir-merge-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all programs of a module."""
        kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(op)}
        launches = launches_of(op)
        if len(kernels) < 2 or not launches:
            return
        merged = _Merged(op, kernels, symbols_of(op), self)
        for block in dict.fromkeys(x.parent_block() for found in launches.values() for x in found):
            assert block is not None
            merged.block(block)
        if merged.made:
            erase_unused(op, launches.keys() | merged.made.values())


@dataclass
class _Merged:
    """The kernels of a module, with those that were made of two."""

    module: ModuleOp
    kernels: dict[str, KernelOp]
    taken: set[str]
    costs: MergeCosts
    made: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])

    def block(self, block: Block) -> None:
        """Merge neighbouring launches of a block."""
        before: LaunchOp | None = None
        for op in [*block.ops]:
            if isinstance(op, LaunchOp):
                chunk = None if before is None else _chunk(before, op, self.kernels, self.costs)
                before = op if before is None or chunk is None else self.merge(before, op, chunk)
            elif not isinstance(op, _DECLARATIONS):
                before = None

    def merge(self, first: LaunchOp, second: LaunchOp, chunk: int) -> LaunchOp:
        """Put one launch in the place of two."""
        if not self.made:
            verify_dominance(self.module)
        both = first, second
        written = list(dict.fromkeys(x for launch in both for x in launch.writes))
        read = list(dict.fromkeys(x for launch in both for x in launch.reads if x not in written))
        buffers = [*read, *written]
        places = [[buffers.index(x) for x in launch.operands] for launch in both]
        name = self.kernel_of(both, buffers, places)
        new = LaunchOp(name, first.extent.value.data, chunk, read, written)
        new.location = second.location
        block = second.parent_block()
        assert block is not None
        block.insert_op_before(new, second)
        for launch in both:
            launch.detach()
            launch.erase()
        return new

    def kernel_of(self, both: Sequence[LaunchOp], buffers: Sequence[SSAValue], places: list[list[int]]) -> str:
        """The name of the kernel that does what those of two launches do."""
        parts = [self.kernels[x.kernel.string_value()] for x in both]
        key = (*(x.sym_name.data for x in parts), *map(tuple, places), *(x.type for x in buffers))
        if key in self.made:
            return self.made[key]
        stems = [x.sym_name.data for x in parts]
        name = take_name(f"{stems[0]}_{stems[1].partition('_')[2] or stems[1]}", self.taken)
        kernel = KernelOp(name, [x.type for x in buffers])
        block = kernel.body.block
        for part, own in zip(parts, places, strict=True):
            given = [*(block.args[n] for n in own), *block.args[-2:]]
            mapping: dict[SSAValue, SSAValue] = dict(zip(part.body.block.args, given, strict=True))
            for old, new in zip(part.body.block.args, given, strict=True):
                new.name_hint = new.name_hint or old.name_hint
            block.add_ops(op.clone(mapping) for op in part.body.block.ops if not isinstance(op, ReturnOp))
        block.add_op(ReturnOp())
        self.kernels[name] = kernel
        self.made[key] = name
        around = parts[1].parent_block()
        assert around is not None
        around.insert_op_after(kernel, parts[1])
        return name


def _chunk(first: LaunchOp, second: LaunchOp, kernels: dict[str, KernelOp], costs: MergeCosts) -> int | None:
    """How many iterations a chunk of both together has; None if they stay apart."""
    both = [(launch, kernels[launch.kernel.string_value()]) for launch in (first, second)]
    extent = first.extent.value.data
    if extent != second.extent.value.data or extent < 2 or any(launch.in_order for launch, _ in both):
        return None
    touched = _root_bytes(first), _root_bytes(second)
    shared, sizes = touched[0].keys() & touched[1].keys(), touched[0] | touched[1]
    if sum(sizes[root] for root in shared) <= costs.l2_bytes or not all(_is_plain(kernel) for _, kernel in both):
        return None
    if not all(_is_apart(root, both) for root in shared):
        return None
    if sum(_scratch_bytes(kernel) for _, kernel in both) > SCRATCH_LIMIT:
        return None
    chunks = [launch.chunk.value.data for launch, _ in both]
    most = int(costs.l2_bytes * costs.merged_l2_share) * extent // sum(sizes.values())
    chunk = min(*chunks, most - most % costs.line_columns)
    run = min(_run_bytes(launch, kernel) for launch, kernel in both)
    if chunk < 1 or (chunk < extent and chunk * run < costs.min_merged_bytes):
        return None
    as_before = chunks == [chunk, chunk]
    return chunk if as_before or all(_has_any_bounds(kernel) for _, kernel in both) else None


def _root_bytes(launch: LaunchOp) -> dict[SSAValue, int]:
    """The bytes of what a launch touches, by what declares it: those of the largest view."""
    found: dict[SSAValue, int] = {}
    for value in launch.operands:
        type_, root = memref_of(value), root_of(value)
        found[root] = max(found.get(root, 0), prod(type_.get_shape()) * element_bytes(type_.element_type))
    return found


def _is_plain(kernel: KernelOp) -> bool:
    """Whether a kernel has loops over elements only."""
    return all(isinstance(op, _PLAIN) or is_side_effect_free(op) for op in ops_within(kernel))


def _has_any_bounds(kernel: KernelOp) -> bool:
    """Whether nothing but the bounds of loops depends on which iterations a kernel is run for."""
    low, high = kernel.body.block.args[-2:]
    return all(
        isinstance(use.operation, scf.ForOp) and use.index == place
        for place, value in enumerate((low, high))
        for use in value.uses
    )


def _is_apart(root: SSAValue, both: Sequence[tuple[LaunchOp, KernelOp]]) -> bool:
    """Whether iterations of two launches touch elements of their own, of a buffer that is written, or all read it."""
    used = [
        (launch, kernel, number)
        for launch, kernel in both
        for number, value in enumerate(launch.operands)
        if root_of(value) is root
    ]
    values = [launch.operands[number] for launch, _, number in used]
    if not any(value in launch.writes for value, (launch, _, _) in zip(values, used, strict=True)):
        return True
    axes = [_own_axes(kernel.body.block.args[number], kernel) for _, kernel, number in used]
    return len({*values}) == 1 and bool(set[int].intersection(*axes))


def _scratch_bytes(kernel: KernelOp) -> int:
    """What a kernel has on the stack."""
    return sum(byte_size(memref_of(op.memref)) for op in ops_within(kernel) if isinstance(op, memref.AllocaOp))


def _own_axes(buffer: SSAValue, kernel: KernelOp) -> set[int]:
    """The dimensions of a kernel's buffer along which an iteration touches its own element only."""
    found = set(range(memref_of(buffer).get_num_dims()))
    for op in ops_within(kernel):
        touched = [reach for reach in reaches(op) if reach.buffer is buffer]
        found &= {reach.dimension for reach in touched if reach.is_iteration} if touched else found
    return found


def _run_bytes(launch: LaunchOp, kernel: KernelOp) -> int:
    """The least bytes of a buffer that lie side by side for each iteration: of whole rows, or of one column."""
    types = [memref_of(value) for value in launch.operands]
    return min(
        (
            prod(type_.get_shape()[axis + 1 :]) * element_bytes(type_.element_type)
            for type_, buffer in zip(types, kernel.body.block.args, strict=False)
            for axis in _own_axes(buffer, kernel)
        ),
        default=1,
    )
