"""Fusions that differ in nothing but numbers get them as inputs, so that one kernel serves them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import frexp, isfinite

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.constants import splat_value
from xdsl_rlx.dialects.mir.bodies import ops_of
from xdsl_rlx.dialects.mir.control import FusionLoopsAttr, FusionOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, ConstantOp, MulOp, SubOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.fusion.analysis.nesting import loops_of_inputs, space_of_fusion
from xdsl_rlx.transforms.driver import sweep
from xdsl_rlx.transforms.structure import structure_of_region


def share_bodies(module: ModuleOp) -> None:
    """
    Pass the constants of fusions in which alone they differ from others.

    ```mlir
    mir.fusion(%x) {                            mir.fusion(%x, %c) {
    ^bb0(%a: tensor<8xf32>):                    ^bb0(%a: tensor<8xf32>, %k: tensor<f32>):
      %k = mir.constant dense<0.3>        ->      %y = mir.mul %a, %k
      %y = mir.mul %a, %k                         mir.yield %y }
      mir.yield %y }
    ```
    """
    alike: dict[tuple[object, ...], list[tuple[FusionOp, Sequence[ConstantOp]]]] = {}
    for op in module.walk():
        if isinstance(op, FusionOp) and (constants := _numbers_of(op)):
            alike.setdefault(structure_of_region(op.body, set(constants)), []).append((op, constants))
    passed: dict[FusionOp, Sequence[ConstantOp]] = {}
    for fusions in alike.values():
        numbers = zip(*([constant.value for constant in constants] for _, constants in fusions), strict=True)
        differ = [place for place, values in enumerate(numbers) if len(set(values)) > 1]
        if differ:
            passed |= {fusion: [constants[place] for place in differ] for fusion, constants in fusions}
    if passed:
        sweep(module, PassNumbers(passed))


def _numbers_of(fusion: FusionOp) -> list[ConstantOp]:
    """The constants of a fusion that might as well be passed."""
    return [op for op in fusion.body.block.ops if isinstance(op, ConstantOp) and _is_any_number(op)]


def _is_any_number(constant: ConstantOp) -> bool:
    """
    Whether code is no better for knowing the number of a constant.

    It is for 0 and 1, and for whole numbers (a power of an odd one keeps the sign of the base) and powers of two (a
    division by one is a multiplication), but for single ones that are added or multiplied.
    """
    number = splat_value(constant.value)
    if not isinstance(number, float) or not isfinite(number) or abs(number) in (0.0, 1.0):
        return False
    if not number.is_integer() and abs(frexp(number)[0]) != 0.5:
        return True
    is_single = all(n == 1 for n in shape_of(constant.result))
    return is_single and all(isinstance(use.operation, MulOp | AddOp | SubOp) for use in constant.result.uses)


@dataclass(frozen=True)
class PassNumbers(RewritePattern):
    """Some constants of a fusion are computed before it, and passed."""

    constants: Mapping[FusionOp, Sequence[ConstantOp]]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FusionOp, rewriter: PatternRewriter) -> None:
        if (constants := self.constants.get(op)) is None:
            return
        body, decided = op.body.block, None
        numbers = [constant.result for constant in constants]
        if op.loops is not None:
            decided = op.loops.with_inputs(_loops_of(op, op.loops, numbers))
        for constant, number in zip(constants, numbers, strict=True):
            argument = rewriter.insert_block_argument(body, len(body.args), number.type)
            argument.name_hint = number.name_hint
            rewriter.replace_all_uses_with(number, argument)
            constant.detach()
            rewriter.insert(constant)
        inputs = [*op.inputs, *numbers]
        passed = rewriter.insert(FusionOp(inputs, op.result_types, op.detach_region(op.body), decided))
        rewriter.replace(op, [], passed.results)


def _loops_of(
    fusion: FusionOp, decided: FusionLoopsAttr, numbers: Sequence[SSAValue]
) -> Sequence[Sequence[int] | None]:
    """The loops of constants of a fusion as inputs of it: none of those of one element, which most are."""
    if all(n == 1 for value in numbers for n in shape_of(value)):
        return [()] * len(numbers)
    space = space_of_fusion(fusion, decided, ops_of(fusion.body.block))
    assert space is not None, "the ops of a fusion do not fit its loops"
    return loops_of_inputs(space, numbers)
