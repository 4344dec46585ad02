"""The pass `mir-rematerialize`: what waits in memory when most does is computed again behind that, where it pays.
What that is is chosen in `engines/residuals.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.bodies import isolate
from xdsl_rlx.dialects.mir.branch import RematOp
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.engines.residuals import at_narrow_places, bytes_of, computed_again, forward_pass, kept_ops
from xdsl_rlx.transforms.signature import graph_of


@dataclass(frozen=True)
class MirRematerializePass(ModulePass):
    """
    Recompute forward values in the backward pass instead of keeping them across the memory peak.

    ```
    %h = mir.gelu %x                       %h = mir.gelu %x
    ...                                    ...
    %d = mir.matmul %h, %g        ->       %again = mir.remat captured (%x) { .. mir.gelu .. }
                                           %d = mir.matmul %again, %g
    ```

    In a gradient program the peak is assumed behind the scalar first result, the loss; else where most bytes are live.
    A `mir.remat` is inserted in front of the first op that uses its results, and is fused by itself. A minimum cut
    minimises the time of recomputed ops plus `price` for each byte kept.
    """

    name = "mir-rematerialize"

    price: float
    """Cost of keeping one byte, in additions of one element."""

    stride: int = 1
    """Checkpoint every `stride`-th narrow point of the forward pass, and recompute the segments between them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        graph = graph_of(op, self.name)
        block = graph.block
        if not graph.outputs:
            raise PassFailedException(
                f"{self.name}: @{graph.name} has no results; expected the loss as its first result"
            )
        ops = [x for x in block.ops if not isinstance(x, ReturnOp)]
        seeds = [argument.value for argument in graph.arguments if argument.optional]
        needed = forward_pass(block, graph.outputs[:1], seeds)
        forward, backward = [x for x in ops if x in needed], [x for x in ops if x not in needed]
        if not backward or shape_of(graph.outputs[0]):
            first = _fullest(ops)
            forward, backward = ops[:first], ops[first:]
        if self.stride < 1:
            raise PassFailedException(f"{self.name}: expected a stride of at least 1, got {self.stride}")
        kept = kept_ops(forward, backward, self.price, at_narrow_places(forward, self.stride))
        _compute_again(block, backward, computed_again(forward, backward, kept))


def _fullest(ops: Sequence[Operation]) -> int:
    """How many ops there are in front of the place where most bytes wait for who reads them."""
    place = {op: n for n, op in enumerate(ops)}
    change = [0] * (len(ops) + 2)
    for op, n in place.items():
        for result in op.results:
            last = max((place.get(use.operation, len(ops)) for use in result.uses), default=n)
            change[n + 1] += bytes_of(result)
            change[last + 1] -= bytes_of(result)
    best = most = held = 0
    for n, by in enumerate(change[: len(ops)]):
        held += by
        if held > most:
            best, most = n, held
    return best


def _compute_again(block: Block, backward: Sequence[Operation], again: Mapping[Operation, Sequence[Operation]]) -> None:
    """Put what is computed again in front of the ops that need it first, and have all others behind read it there."""
    at = {inner: op for op, ops in again.items() for inner in ops}
    behind = set(backward)
    env: dict[SSAValue, SSAValue] = {}
    for op in backward:
        if ops := again.get(op):
            results = [
                r
                for inner in ops
                for r in inner.results
                if any(_is_outside(u.operation, op, at, behind) for u in r.uses)
            ]
            remat = _remat(ops, results, env)
            remat.location = op.location
            block.insert_op_before(remat, op)
            env |= dict(zip(results, remat.results_, strict=True))
        op.operands = [env.get(x, x) for x in op.operands]


def _is_outside(user: Operation, op: Operation, at: Mapping[Operation, Operation], behind: set[Operation]) -> bool:
    """Whether what is computed again in front of an op is read there by this one, and not within."""
    return user in behind or at.get(user, op) is not op


def _remat(ops: Sequence[Operation], results: Sequence[SSAValue], env: Mapping[SSAValue, SSAValue]) -> RematOp:
    body = Block()
    inside = dict(env)
    for op in ops:
        copy = op.clone(inside)
        for old, new in zip(op.results, copy.results, strict=True):
            new.name_hint = old.name_hint
        body.add_op(copy)
    body.add_op(YieldOp(*(inside[value] for value in results)))
    return RematOp(isolate(body, 0), body)
