"""What nothing reads goes. As upstream's `dce`, which this package does not run beside it: that asks each op by its
traits, here its class answers. Regions of several blocks are left to upstream's."""

from functools import cache

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import IsTerminator, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import region_dce, would_be_trivially_dead

from xdsl_rlx.dialects.effects import has_effects


@cache
def _is_frame(kind: type[Operation]) -> bool:
    return kind.has_trait(IsTerminator) or kind.has_trait(SymbolOpInterface)


def is_pure(op: Operation) -> bool:
    """Whether an op may go where nothing reads its results, and be shared with one like it."""
    return not _is_frame(type(op)) and not has_effects(op)


def is_dead(op: Operation) -> bool:
    """Whether nothing reads an op's results, and it does nothing else."""
    if any(result.first_use is not None for result in op.results):
        return False
    return is_pure(op) or would_be_trivially_dead(op)


def remove_dead(region: Region, listener: PatternRewriterListener | None = None) -> bool:
    """Erase what nothing reads, users first, and tell the listener. Whether anything was."""
    listener = PatternRewriterListener() if listener is None else listener
    block = region.first_block
    if block is None:
        return False
    if block.next_block is not None:
        return region_dce(region, listener)
    changed = False
    for op in reversed(block.ops):
        if is_dead(op):
            listener.handle_operation_removal(op)
            block.erase_op(op, safe_erase=False)
            changed = True
        else:
            for inner in op.regions:
                changed |= remove_dead(inner, listener)
    return changed
