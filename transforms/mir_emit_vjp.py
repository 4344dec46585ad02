"""The pass `mir-emit-vjp`: every `mir.vjp` becomes what the rule of the op inside it emits.
The rules are rows of the table VJP in `rules/`."""

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.control import VjpOp
from xdsl_rlx.transforms.driver import expect_gone, rewrite
from xdsl_rlx.transforms.reverse import lay_out_reverse
from xdsl_rlx.transforms.rules import DECOMPOSE, VJP
from xdsl_rlx.transforms.rules.table import VjpRule
from xdsl_rlx.transforms.rules.wide import define, rounded, wide, widened
from xdsl_rlx.transforms.sum_of_windows import merge_windows


class ApplyVjpRule(RewritePattern):
    """Replace a `mir.vjp` by its op's rule, or by the reverse structure of its op's decomposition."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: VjpOp, rewriter: PatternRewriter) -> None:
        inner = type(op.op)
        if VJP.get(inner) is None and VJP.reason(inner) is None and DECOMPOSE.get(inner) is not None:
            _through_decomposition(op, rewriter)
        else:
            _by_rule(op, VJP.lookup(op.op), rewriter)


def _by_rule(vjp: VjpOp, rule: VjpRule[Operation], rewriter: PatternRewriter) -> None:
    op = vjp.op
    # The rule is to see the program's values, so the op takes them for the time of the rule.
    op.operands = vjp.primals
    b = MirBuilder(rewriter)
    grads: list[SSAValue] = []
    with wide(op, b, vjp.outputs) as seen:
        taken = widened if seen is not op else MirBuilder.value
        arrived = [None if c is None else taken(b, c) for c in vjp.result_cotangents]
        cotangents = rule(seen, b, *arrived)
        for index in vjp.wrt_indices:
            cotangent, primal = cotangents[index], vjp.primals[index]
            value = cotangent if cotangent is None or isinstance(cotangent, Value) else cotangent()
            if value is None or value.ssa.type != seen.operands[index].type:
                got = "nothing" if value is None else f"a value of type {value.ssa.type}"
                raise PassFailedException(f"the vjp rule of {op.name} gave {got} as the cotangent of operand {index}")
            grads.append(value.ssa if seen is op else rounded(b, value, primal).ssa)
    for result, output in zip(op.results, vjp.outputs, strict=True):
        result.replace_all_uses_with(output)
    rewriter.replace(vjp, [], grads)


def _through_decomposition(vjp: VjpOp, rewriter: PatternRewriter) -> None:
    """
    Decompose the op inside the body, differentiate there, and inline the body.

    The block arguments keep operands apart that are one value outside.
    """
    block, op = vjp.body.block, vjp.op
    assert block.last_op is not None
    rewriter.erase(block.last_op)
    b = MirBuilder(Builder(InsertPoint.at_end(block)))
    values = define(op, b)
    seeds: dict[SSAValue, SSAValue] = {}
    for value, cotangent in zip(values, vjp.result_cotangents, strict=True):
        if cotangent is not None:
            before = seeds.get(value.ssa)
            seeds[value.ssa] = cotangent if before is None else b.add(before, cotangent).ssa
    wrt = [block.args[index] for index in vjp.wrt_indices]
    found = lay_out_reverse(list(block.ops)[1:], seeds, wrt, b.builder)
    grads = [b.zeros_like(x).ssa if grad is None else grad for x, grad in zip(wrt, found, strict=True)]
    for result, output in zip(op.results, vjp.outputs, strict=True):
        result.replace_all_uses_with(output)
    rewriter.erase(op)
    for new in block.ops:
        new.location = vjp.location
    rewriter.inline_block(block, InsertPoint.before(vjp), vjp.primals)
    rewriter.replace(vjp, [], grads)


class MirEmitVjpPass(ModulePass):
    """
    Replace every `mir.vjp` by what the rule of the op inside it emits; cotangents of slices of one value become one.

    ```
    %dx = mir.vjp primals(%x : T) outputs(%y : T) cotangents(%g : T) of [0] wrt [0] -> T {mir.exp ...}
    // becomes
    %dx = mir.mul %g, %y
    ```
    """

    name = "mir-emit-vjp"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, ApplyVjpRule())
        expect_gone(op, (VjpOp,), self.name)
        merge_windows(op)
