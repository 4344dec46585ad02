"""What nothing reads goes. As upstream's `dce`, but that asks each op by its traits: here its class answers."""

from functools import cache

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import IsTerminator, MemoryEffect, NoMemoryEffect, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import region_dce, would_be_trivially_dead


@cache
def is_pure(kind: type[Operation]) -> bool:
    """Whether every op of a class may go where nothing reads its results, and be shared with one like it."""
    effects = [trait for trait in kind.traits if isinstance(trait, MemoryEffect)]
    if not effects or not all(isinstance(trait, NoMemoryEffect) for trait in effects):
        return False
    return not kind.has_trait(IsTerminator) and not kind.has_trait(SymbolOpInterface)


def is_dead(op: Operation) -> bool:
    """Whether nothing reads an op's results, and it does nothing else."""
    if any(result.first_use is not None for result in op.results):
        return False
    return is_pure(type(op)) or would_be_trivially_dead(op)


def remove_dead(region: Region, listener: PatternRewriterListener) -> bool:
    """Erase what nothing reads, users first. Whether anything was."""
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
