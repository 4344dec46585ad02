"""The pass `mir-cse`: what several ops compute is computed once.

Upstream's `cse` asks each op by its traits whether it may go, and hashes the types of every op several times. Here the
class of an op answers the first question, and no more is hashed than tells ops apart.
"""

from collections.abc import Container, Generator, Hashable
from contextlib import contextmanager
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsolatedFromAbove

from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.dead_ops import is_dead, is_pure
from xdsl_rlx.transforms.driver import RewritingPass, is_constant, is_elementwise


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
            _share_in(region, _Known(), gone, chosen)
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


class _Known:
    """The ops of the scopes that are open, by `_key`."""

    def __init__(self) -> None:
        self._ops: dict[Hashable, list[Operation]] = {}
        self._added: list[list[Operation]] = []
        """The list of each op that was added, in order: what leaves a scope is taken back without copies."""

    def alike(self, op: Operation) -> list[Operation]:
        """Earlier ops that may be equal to an op."""
        return self._ops.setdefault(_key(op), [])

    def add(self, alike: list[Operation], op: Operation) -> None:
        """Add an op to the earlier ones that `alike` found."""
        alike.append(op)
        self._added.append(alike)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget on exit what was added in between."""
        outside = len(self._added)
        yield
        while len(self._added) > outside:
            self._added.pop().pop()


def _share_in(
    region: Region,
    known: _Known,
    gone: list[Operation],
    chosen: Container[Operation] | None,
) -> None:
    """Share what a region of one block computes, or what is `known` there already."""
    block = region.first_block
    if block is not None and block.next_block is None:
        _share_in_block(block, known, gone, chosen)


def _share_in_block(
    block: Block,
    known: _Known,
    gone: list[Operation],
    chosen: Container[Operation] | None,
) -> None:
    for op in block.ops:
        kind = type(op)
        for region in op.regions:
            if _is_isolated(kind):
                _share_in(region, _Known(), gone, chosen)
                continue
            with known.scope():
                _share_in(region, known, gone, chosen)
        if not is_pure(op):
            continue
        if all(result.first_use is None for result in op.results):
            gone.append(op)
            continue
        if any(len(region.blocks) > 1 for region in op.regions) or _has_loops_of_its_own(op, block):
            continue
        same = known.alike(op)
        is_chosen = chosen is None or op in chosen
        has_twin = False
        for earlier in same:
            if not _is_equal(earlier, op):
                continue
            if is_chosen or (chosen is not None and earlier in chosen):
                for result, other in zip(op.results, earlier.results, strict=True):
                    result.replace_all_uses_with(other)
                gone.append(op)
                break
            has_twin = True
        else:
            # of ops that are equal and not chosen, later ones need the first alone
            if not has_twin:
                known.add(same, op)


def _has_loops_of_its_own(op: Operation, block: Block) -> bool:
    """Whether an op is a constant in a kernel: one that is read as a row is not one that is read as a column."""
    return is_constant(op) and isinstance(block.parent_op(), FusionOp) and bool(shape_of(op.results[0]))


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
