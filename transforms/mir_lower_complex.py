"""The pass `mir-lower-complex`: complex tensors become pairs of real ones.
What each op does with pairs is in `rules/parts.py`."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.complex import ComplexOp, ImagOp, RealOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import TransposeOp
from xdsl_rlx.dialects.mir.spectral import FftOp, IrfftOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.driver import RewritingPass, sweep, verify_dominance
from xdsl_rlx.transforms.rules.parts import PARTS, Parts

TAKES_TRANSPOSED = (FftOp, IrfftOp)
"""Ops whose kernels read columns of complex tensors as well as rows."""


class MirLowerComplexPass(RewritingPass):
    """
    Replace complex tensors by their real and imaginary parts, two real tensors each.

    ```mlir
    func.func @f(%z : tensor<4xcomplex<f32>>, %w : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %y = mir.add %z, %w
    // becomes
      %zr = mir.real %z    %zi = mir.imag %z    %wr = mir.real %w    %wi = mir.imag %w
      %yr = mir.add %zr, %wr    %yi = mir.add %zi, %wi
      %y = mir.complex %yr, %yi
    ```

    `mir.real` and `mir.imag` of an argument are views of its buffer; `mir.complex` of a result writes into such views.
    """

    name = "mir-lower-complex"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        pattern = ComputeOnParts()
        changed = sweep(module, pattern)
        for op in reversed([op for op in pattern.done if op not in pattern.kept]):
            op.detach()
            op.erase()
        # the parts of what is read as a whole
        remove_dead(module.body)
        return changed

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        self.run(ctx, op)


def _is_complex(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and element_of(value) in COMPLEXES


@dataclass
class ComputeOnParts(RewritePattern):
    """
    An op on complex tensors becomes ops on their parts; bodies, and ops without a row, take and yield whole tensors.

    For one sweep, in which definitions come before uses. An op whose results are parts now stays, for nothing to read.
    """

    parts: dict[SSAValue, Parts] = field(default_factory=dict[SSAValue, Parts])
    """The parts of the complex values so far."""

    done: list[Operation] = field(default_factory=list[Operation])
    """The ops that stay for nothing."""

    kept: set[Operation | Block] = field(default_factory=set[Operation | Block])
    """Those of them that an op reads after all."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not any(map(_is_complex, op.operands)) and not any(map(_is_complex, op.results)):
            return
        b = MirBuilder(rewriter)
        if (rule := PARTS.get(type(op))) is None:
            self._make_whole(op, rewriter)
            return
        operands = [self._operand(x, rewriter) for x in op.operands]
        self.done.append(op)
        for result, value in zip(op.results, rule(op, b, *operands), strict=True):
            if isinstance(value, Parts):
                self._take(result, value)
            else:
                value.ssa.name_hint = value.ssa.name_hint or result.name_hint
                rewriter.replace_all_uses_with(result, value.ssa)
        rewriter.has_done_action = True

    def _take(self, value: SSAValue, parts: Parts) -> None:
        self.parts[value] = parts
        for part, suffix in ((parts.re.ssa, "re"), (parts.im.ssa, "im")):
            part.name_hint = part.name_hint or (f"{value.name_hint}_{suffix}" if value.name_hint else None)

    def _make_whole(self, op: Operation, rewriter: PatternRewriter) -> None:
        """The operands of an op that takes complex tensors as they lie in memory are put together for it."""
        for number, operand in enumerate(op.operands):
            if isinstance(op, TAKES_TRANSPOSED) and self._is_transposed_whole(operand):
                self.kept.add(operand.owner)
            elif (parts := self.parts.get(operand)) is not None and not self._is_whole(operand):
                whole = rewriter.insert(ComplexOp(parts.re.ssa, parts.im.ssa)).result
                whole.name_hint = operand.name_hint
                op.operands[number] = whole

    def _is_whole(self, value: SSAValue) -> bool:
        """Whether a value with parts is there as a whole: an argument, or the result of an op without a row."""
        return not isinstance(value.owner, Operation) or PARTS.get(type(value.owner)) is None

    def _is_transposed_whole(self, value: SSAValue) -> bool:
        """Whether a value is a view of one that is there as a whole."""
        return isinstance(value.owner, TransposeOp) and self._is_whole(value.owner.operand)

    def _operand(self, value: SSAValue, rewriter: PatternRewriter) -> Value | Parts:
        """An operand with operators that build where `rewriter` inserts."""
        b = MirBuilder(rewriter)
        if not _is_complex(value):
            return b.value(value)
        if value not in self.parts:
            self._take_apart(value, rewriter)
        parts = self.parts[value]
        return Parts(b.value(parts.re.ssa), b.value(parts.im.ssa))

    def _take_apart(self, value: SSAValue, rewriter: PatternRewriter) -> None:
        """The parts of a value that is there as a whole (an argument, say) are taken behind it."""
        owner, here = value.owner, rewriter.insertion_point
        point = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
        rewriter.insertion_point = point
        b = MirBuilder(rewriter)
        self._take(value, Parts(b.op(RealOp, value), b.op(ImagOp, value)))
        rewriter.insertion_point = here
