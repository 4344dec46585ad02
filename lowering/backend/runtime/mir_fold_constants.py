"""The pass `mir-fold-constants`: what depends on constants alone is computed now, by the kernels that would compute it.

So there is one meaning of every op, in every element type, and none is written down a second time here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.constants import from_array
from xdsl_rlx.dialects.mir import creation, custom, ops_of, random
from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import RewritingPass, is_constant, verify_dominance
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.op_kinds import OpKind, kind_of
from xdsl_rlx.transforms.signature import graph_of

_NEVER = {*ops_of(random), *ops_of(custom)} | {*ops_of(creation)}
"""Random numbers, code of others, and positions, which are counted faster than they are read."""


@dataclass(frozen=True)
class MirFoldConstantsPass(RewritingPass):
    """
    Evaluate ops whose operands are all constants.

    ```
    %0 = mir.constant dense<[1.0, 4.0]> : tensor<2xbf16>
    %1 = mir.sqrt %0 : tensor<2xbf16>
    // becomes
    %1 = mir.constant dense<[1.0, 2.0]> : tensor<2xbf16>
    ```

    Results equal those of the compiled op bit for bit. Connected half-precision ops are rounded once, as in one kernel;
    sums have the order of one thread. Not folded: results of more than `limit` elements, random numbers, `mir.iota`,
    custom ops, and `mir.expand`s with users, which cost nothing. Of ops with bodies, only the ops inside are folded.
    """

    name = "mir-fold-constants"

    limit: int = 1024
    """Maximum elements of a folded result."""

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"limit: expected a number of elements, got {self.limit}")

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        verify_dominance(module)
        known = self._known(graph_of(module, self.name).block)
        read = _read_elsewhere(known)
        if not read:
            return False
        arrays = iter(compile_module(_program(known, read), threads=1)())
        for op in read:
            b = MirBuilder(Builder(InsertPoint.before(op)))
            with located(b.builder, op.location):
                constants = [b.builder.insert(ConstantOp(from_array(next(arrays)))) for _ in op.results]
            replace(op, [constant.result for constant in constants])
        remove_dead(module.body, PatternRewriterListener())
        return True

    def _known(self, block: Block) -> list[Operation]:
        """The ops of a block, and of the bodies in it, of which everything can be computed now, in order."""
        found: list[Operation] = []
        values: set[SSAValue] = set()
        for op in block.ops:
            if is_constant(op):
                values.update(op.results)
            elif op.regions:
                if kind_of(type(op)) in (OpKind.BODY, OpKind.LOOP):
                    found += [inner for region in op.regions for inner in self._known(region.block)]
            elif self._is_foldable(op) and values.issuperset(op.operands):
                values.update(op.results)
                found.append(op)
        return found

    def _is_foldable(self, op: Operation) -> bool:
        if not isinstance(op, MirOp) or type(op) in _NEVER:
            return False
        return all(prod(shape_of(result)) <= self.limit for result in op.results)


def _read_elsewhere(known: list[Operation]) -> list[Operation]:
    """Those of the ops that others read, in order. An expand that others read is one of these others."""
    kept = set(known)
    read: list[Operation] = []
    for op in reversed(known):
        if any(use.operation not in kept for result in op.results for use in result.uses):
            if isinstance(op, ExpandOp):
                kept.discard(op)
            else:
                read.append(op)
    return read[::-1]


def _program(known: Sequence[Operation], read: Sequence[Operation]) -> ModuleOp:
    """A function without arguments that computes the ops, and returns the results of those that are read."""
    block = Block()
    copies: dict[SSAValue, SSAValue] = {}
    for op in known:
        for operand in op.operands:
            if operand not in copies:
                assert isinstance(operand.owner, Operation)
                block.add_op(operand.owner.clone(copies))
        block.add_op(op.clone(copies))
    results = [copies[result] for op in read for result in op.results]
    block.add_op(ReturnOp(*results))
    return ModuleOp([FuncOp("constants", ([], [value.type for value in results]), Region(block))])
