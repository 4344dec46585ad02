"""The pass `mir-mark-elementwise-regions`: connected elementwise ops become a region.
Resizes in front of a region are moved into it by `mir_fuse_region_prologue.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.region import ELEMENTWISE, ElementwiseRegionOp
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.marking import RegionBody, is_free, resized_inputs, unmarked_blocks


@dataclass(frozen=True)
class OutlineElementwiseOps(RewritePattern):
    """Replace the last op of each group by a region of the group."""

    groups: Mapping[Operation, Sequence[Operation]]
    """Ops in order, by the last of them."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if (members := self.groups.get(op)) is None:
            return
        body = RegionBody()
        for member in members:
            body.add(member)
        rewriter.replace(op, ElementwiseRegionOp(body.inputs, body.end(op.results[0])))
        for member in reversed(members[:-1]):
            rewriter.erase(member)


class MirMarkElementwiseRegionsPass(RewritingPass):
    """
    Outline connected elementwise ops, at least two, into a `mir.elementwise_region`.

    ```
    %0 = mir.add %x, %b
    %y = mir.tanh %0
    // becomes
    %y = mir.elementwise_region (%x, %b) -> T {mir.tanh (mir.add %x, %b)}
    ```

    An op joins the region of its users if all of them are in one region, so no value is computed twice. Operands that
    broadcast keep their shapes, in any position: `[N, 1]` beside `[N, M]` too. Constants of rank 0 move inside, other
    constants become inputs. A region that exists joins like an op. Ops with attributes, such as taps, stay outside.
    `mir-unfuse-elementwise-regions` is the inverse.
    """

    name = "mir-mark-elementwise-regions"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        groups: dict[Operation, list[Operation]] = {}
        for block in unmarked_blocks(module):
            groups |= _groups(block)
        return bool(groups) and rewrite(module, OutlineElementwiseOps(groups))


def _groups(block: Block) -> dict[Operation, list[Operation]]:
    """The ops of each group of at least two, in order, by the last of them."""
    last: dict[Operation, Operation] = {}
    for op in reversed(block.ops):
        if isinstance(op, (ElementwiseRegionOp, *ELEMENTWISE)) and is_free(op):
            last[op] = _last_of_users(op.results[0], last) or op
    groups: dict[Operation, list[Operation]] = {}
    for op in reversed(last):
        groups.setdefault(last[op], []).append(op)
    return {end: members for end, members in groups.items() if len(members) > 1}


def _last_of_users(value: SSAValue, last: Mapping[Operation, Operation]) -> Operation | None:
    """The last op of the group that all users of a value are in; None if they are in none, or in several."""
    found: set[Operation | None] = set()
    for use in value.uses:
        user = use.operation
        resizes = isinstance(user, ElementwiseRegionOp) and use.index in resized_inputs(user)
        found.add(None if resizes else last.get(user))
    return found.pop() if len(found) == 1 else None
