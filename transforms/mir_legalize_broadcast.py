"""The pass `mir-legalize-broadcast`: operands of elementwise ops have the shape of the result."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.driver import RewritingPass, sweep
from xdsl_rlx.transforms.op_kinds import OpKind, kind_of


@dataclass(frozen=True)
class ExpandOperands(RewritePattern):
    """An elementwise op whose operands broadcast gets them expanded."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not op.has_trait(Elementwise) or _is_in_region(op):
            return
        target = shape_of(op.results[0])
        if all(shape_of(x) == target for x in op.operands):
            return
        b = MirBuilder(rewriter)
        operands = [b.expand(b.value(x), target).ssa for x in op.operands]
        copy = type(op).create(
            operands=operands,
            result_types=op.result_types,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        rewriter.replace(op, copy)


def _is_in_region(op: Operation) -> bool:
    """Whether an op is in a body of elementwise ops, in which there are no others."""
    holder = op.parent_op()
    return isinstance(holder, BodyOp) and kind_of(type(holder)) is OpKind.BOUNDARY


class MirLegalizeBroadcastPass(RewritingPass):
    """
    Insert a `mir.expand` for every operand of an elementwise op that broadcasts.

    ```
    %y = mir.add %x, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    // becomes
    %0 = mir.expand %b : tensor<3xf32> to tensor<4x3xf32>
    %y = mir.add %x, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    ```

    For consumers of the IR without implicit broadcasting. Kernels broadcast themselves, and `mir-canonicalize` removes
    these ops. Bodies of `mir.elementwise_region` and the like are left alone.
    """

    name = "mir-legalize-broadcast"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return sweep(module, ExpandOperands())
