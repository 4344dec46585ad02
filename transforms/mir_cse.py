"""The pass `mir-cse`: what several ops compute is computed once.

Upstream's `cse` asks each op by its traits whether it may go, and hashes the types of every op several times. Here the
class of an op answers the first question, and no more is hashed than tells ops apart.
"""

from collections.abc import Container, Hashable
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsolatedFromAbove

from xdsl_rlx.transforms.dead_ops import is_dead, is_pure
from xdsl_rlx.transforms.driver import RewritingPass, is_elementwise


class MirCsePass(RewritingPass):
    """
    Merge equal ops without side effects within a block, and remove dead ops.

    ```
    %0 = mir.exp %x
    %1 = mir.exp %x
    %y = mir.add %0, %1
    // becomes
    %0 = mir.exp %x
    %y = mir.add %0, %0
    ```

    Equivalent to xDSL's `cse`, but faster.
    """

    name = "mir-cse"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return share_common(module)


@cache
def _is_isolated(kind: type[Operation]) -> bool:
    return kind.has_trait(IsolatedFromAbove)


def share_common(module: ModuleOp, chosen: Container[Operation] | None = None) -> bool:
    """Share what ops of a module compute, or what `chosen` ones do. Whether there was anything to share or remove."""
    gone: list[Operation] = []
    for op in module.ops:
        for region in op.regions:
            _share_in(region, {}, gone, chosen)
    for op in gone:
        if op.parent is None:
            # gone with the op around it
            continue
        owners = dict.fromkeys(x.owner for x in op.operands if isinstance(x.owner, Operation))
        op.detach()
        op.erase()
        # what only ops that go have read goes as well
        gone += [owner for owner in owners if is_dead(owner)]
    return bool(gone)


def _share_in(
    region: Region,
    known: dict[Hashable, list[Operation]],
    gone: list[Operation],
    chosen: Container[Operation] | None,
) -> None:
    """Share what a region of one block computes, or what is `known` there already."""
    block = region.first_block
    if block is not None and block.next_block is None:
        _share_in_block(block, known, gone, chosen)


def _share_in_block(
    block: Block,
    known: dict[Hashable, list[Operation]],
    gone: list[Operation],
    chosen: Container[Operation] | None,
) -> None:
    for op in block.ops:
        kind = type(op)
        for region in op.regions:
            seen = {} if _is_isolated(kind) else {key: [*same] for key, same in known.items()}
            _share_in(region, seen, gone, chosen)
        if not is_pure(op):
            continue
        if all(result.first_use is None for result in op.results):
            gone.append(op)
            continue
        if any(len(region.blocks) > 1 for region in op.regions):
            continue
        same = known.setdefault(_key(op), [])
        for earlier in same:
            if (chosen is None or op in chosen or earlier in chosen) and _is_equal(earlier, op):
                for result, other in zip(op.results, earlier.results, strict=True):
                    result.replace_all_uses_with(other)
                gone.append(op)
                break
        else:
            same.append(op)


def _key(op: Operation) -> Hashable:
    """What ops that are equal have in common. The type of an elementwise op's result follows from the rest."""
    kind = type(op)
    types = () if is_elementwise(kind) else op.result_types
    operands = tuple(id(operand) for operand in op.operands)
    return kind, operands, frozenset(op.properties.items()), frozenset(op.attributes.items()), types


def _is_equal(op: Operation, other: Operation) -> bool:
    """Whether ops of one key compute the same."""
    return op.result_types == other.result_types and all(
        region.is_structurally_equivalent(twin) for region, twin in zip(op.regions, other.regions, strict=True)
    )
