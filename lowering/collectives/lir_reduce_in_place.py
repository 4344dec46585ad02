"""`lir-reduce-in-place`: collectives whose operand nothing else reads leave their result there."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.dialects.lir import LaunchOp, OutputOp, ProgramOp, SlotOp
from xdsl_rlx.dialects.lir.collectives import IN_PLACE
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.lowering.collectives.collective_kernels import CollectiveKernels, CollectiveLaunch
from xdsl_rlx.lowering.kernel_pass import users_of
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirReduceInPlacePass(ModulePass):
    """
    Have reductions over processes, and broadcasts, leave their result in the memory of their operand.

    ```mlir
    %bucket = lir.slot : memref<7xf32>
    %sum = lir.slot : memref<7xf32>
    lir.launch @k writes(%bucket : ..)
    lir.launch @all_reduce reads(%bucket : ..) writes(%sum, %console : ..)
    // becomes
    %bucket = lir.slot : memref<7xf32>
    lir.launch @k writes(%bucket : ..)
    lir.launch @all_reduce_in_place writes(%bucket, %console : ..)
    ```

    The operand is a whole slot that nothing uses behind the launch, and the result a slot or output that nothing uses
    before. An output takes the place of the operand's slot.
    """

    name = "lir-reduce-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = CollectiveKernels(op)
        if not kernels:
            return
        verify_dominance(op)
        for program in [x for x in op.ops if isinstance(x, ProgramOp)]:
            for launch in [x for x in program.walk() if isinstance(x, LaunchOp)]:
                found = kernels.launch_of(launch)
                if found is not None and found.op.call.data in IN_PLACE and _can_be_one(found):
                    _merge(found, kernels)
        kernels.erase_unused()


def _can_be_one(found: CollectiveLaunch) -> bool:
    """Whether source and target are memory that is in use one after the other."""
    source, target, block = found.source.owner, found.target.owner, found.launch.parent_block()
    if not isinstance(source, SlotOp) or not isinstance(target, SlotOp | OutputOp):
        return False
    if source.parent_block() is not block or memref_of(found.source) != memref_of(found.target):
        return False
    if target.parent_block() is not block or block is None:
        return False
    number = {op: n for n, op in enumerate(block.ops)}
    here = number[found.launch]
    before = [number[x] for x in users_of(found.source, block) if x is not found.launch]
    behind = [number[x] for x in users_of(found.target, block) if x is not found.launch]
    return all(n < here for n in before) and all(n > here for n in behind)


def _merge(found: CollectiveLaunch, kernels: CollectiveKernels) -> None:
    """Give both the same memory: that of the source, or the output."""
    source, target, launch = found.source.owner, found.target.owner, found.launch
    assert isinstance(source, SlotOp) and isinstance(target, SlotOp | OutputOp)
    block = source.parent_block()
    assert block is not None
    kept, gone = (source, target) if isinstance(target, SlotOp) else (target, source)
    new = LaunchOp(kernels.in_place(found).sym_name.data, 1, 1, [], [kept.result, found.network])
    new.location = launch.location
    block.insert_op_before(new, launch)
    launch.detach()
    launch.erase()
    if kept is target:
        kept.detach()
        block.insert_op_before(kept, gone)
    gone.result.replace_all_uses_with(kept.result)
    gone.detach()
    gone.erase()
