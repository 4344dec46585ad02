"""The pass `mir-lower-complex`: complex tensors become pairs of real ones.
What each op does with pairs is in `rules/parts.py`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator

from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.complex import ComplexOp, ImagOp, RealOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.rules.parts import PARTS, Parts


class MirLowerComplexPass(ModulePass):
    """
    Compute on the parts of complex tensors, two real tensors each.

    ```mlir
    func.func @f(%z : tensor<4xcomplex<f32>>, %w : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %y = mir.add %z, %w
    // becomes
      %zr = mir.real %z    %zi = mir.imag %z    %wr = mir.real %w    %wi = mir.imag %w
      %yr = mir.add %zr, %wr    %yi = mir.add %zi, %wi
      %y = mir.complex %yr, %yi
    ```

    `mir.real` and `mir.imag` of an argument are views of its buffer, and `mir.complex` of what is returned writes into
    such views.
    """

    name = "mir-lower-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        lower_complex(op)


def lower_complex(module: ModuleOp) -> None:
    """Compute on parts in every function of a module, and in what is run in it: bodies take and yield whole tensors."""
    for op in list(module.walk()):
        if isinstance(op, FuncOp | BodyOp):
            for region in op.regions:
                for block in region.blocks:
                    _Block(block).lower()


def _is_complex(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and element_of(value) in COMPLEXES


class _Block:
    """A block on the way: the parts of the complex values so far."""

    def __init__(self, block: Block):
        self.block = block
        self.parts: dict[SSAValue, Parts] = {}
        self.done: list[Operation] = []
        self.gone: set[object] = set()

    def lower(self) -> None:
        for op in list(self.block.ops):
            if any(map(_is_complex, op.operands)) or any(map(_is_complex, op.results)):
                self._lower(op)
        for op in reversed(self.done):
            op.detach()
            op.erase()

    def _lower(self, op: Operation) -> None:
        b = MirBuilder(Builder(InsertPoint.before(op)))
        rule = PARTS.get(type(op))
        with located(b.builder, op.location):
            if rule is not None:
                operands = [self._operand(x, b) for x in op.operands]
                self._take(op, rule(op, b, *operands))
            else:
                self._whole(op, b)

    def _take(self, op: Operation, found: Sequence[Value | Parts]) -> None:
        for result, value in zip(op.results, found, strict=True):
            if isinstance(value, Parts):
                self.parts[result] = value
                for part, suffix in ((value.re, "re"), (value.im, "im")):
                    part.ssa.name_hint = part.ssa.name_hint or (
                        f"{result.name_hint}_{suffix}" if result.name_hint else None
                    )
            else:
                value.ssa.name_hint = value.ssa.name_hint or result.name_hint
                result.replace_all_uses_with(value.ssa)
        self.done.append(op)
        self.gone.add(op)

    def _whole(self, op: Operation, b: MirBuilder) -> None:
        """An op that takes complex tensors as they lie in memory: the operands are put together for it."""
        for number, operand in enumerate(op.operands):
            if operand in self.parts and operand.owner in self.gone:
                parts = self.parts[operand]
                whole = b.op(ComplexOp, parts.re.ssa, parts.im.ssa)
                whole.ssa.name_hint = operand.name_hint
                op.operands[number] = whole.ssa
        assert op.has_trait(IsTerminator) or op.results

    def _operand(self, value: SSAValue, b: MirBuilder) -> Value | Parts:
        """An operand with operators that build where `b` inserts."""
        if not _is_complex(value):
            return b.value(value)
        parts = self._parts(value)
        return Parts(b.value(parts.re.ssa), b.value(parts.im.ssa))

    def _parts(self, value: SSAValue) -> Parts:
        """The parts of a value; those of one that is there as a whole (an argument, say) are taken behind it."""
        if value not in self.parts:
            owner = value.owner
            point = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
            b = MirBuilder(Builder(point))
            parts = Parts(b.op(RealOp, value), b.op(ImagOp, value))
            for part, suffix in ((parts.re, "re"), (parts.im, "im")):
                part.ssa.name_hint = f"{value.name_hint}_{suffix}" if value.name_hint else None
            self.parts[value] = parts
        return self.parts[value]
