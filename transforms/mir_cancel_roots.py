"""The pass `mir-cancel-roots`: the square of a root, or of an absolute value, becomes what is below it.
A root has no derivative at 0, and a derivative taken twice needs the square's there."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.complex import ComplexNormSqOp, HypotOp
from xdsl_rlx.dialects.mir.elementwise import AbsOp, AddOp, ExpOp, LeOp, MulOp, PowOp, SqrtOp, WhereOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.reduce import ReduceMeanOp, ReduceSumOp
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.driver import RewritingPass, is_differentiated, rewrite

_MOVED = (ExpandOp, ReshapeOp, TransposeOp)
_NEVER_NEGATIVE = (AbsOp, ComplexNormSqOp, ExpOp, HypotOp, SqrtOp)


def _is_never_negative(value: SSAValue) -> bool:
    """Whether a value is seen to be 0, positive or NaN."""
    owner = value.owner
    if isinstance(owner, (*_MOVED, ReduceSumOp, ReduceMeanOp)):
        return _is_never_negative(owner.operands[0])
    if isinstance(owner, MulOp) and owner.lhs is owner.rhs:
        return True
    if isinstance(owner, AddOp | MulOp):
        return _is_never_negative(owner.lhs) and _is_never_negative(owner.rhs)
    number = splat(value)
    return isinstance(owner, _NEVER_NEGATIVE) or (isinstance(number, float) and number >= 0)


def _below(value: SSAValue, b: MirBuilder) -> Value | None:
    """The square of what is a root or an absolute value, computed without it; None for anything else."""
    owner = value.owner
    if isinstance(owner, AbsOp):
        x = b.value(owner.operand)
        return x * x
    if isinstance(owner, HypotOp):
        x, y = map(b.value, owner.operands)
        return x * x + y * y
    if isinstance(owner, SqrtOp):
        return b.value(owner.operand) if _is_never_negative(owner.operand) else None
    if isinstance(owner, WhereOp):
        return _below_safe_root(owner, b)
    if isinstance(owner, ReshapeOp):
        found = _below(owner.operand, b)
        return None if found is None else b.reshape(found, shape_of(value))
    return None


def _below_safe_root(op: WhereOp, b: MirBuilder) -> Value | None:
    """As `_below` of what `safe_sqrt` builds: 0 where x <= 0, else the root of x, which is 1 where x <= 0."""
    root, below = op.on_false.owner, op.cond.owner
    if not isinstance(root, SqrtOp) or not isinstance(below, LeOp) or splat(op.on_true) != 0 or splat(below.rhs) != 0:
        return None
    inner = root.operand.owner
    right = isinstance(inner, WhereOp) and inner.cond is op.cond and inner.on_false is below.lhs
    return b.value(below.lhs) if right and _is_never_negative(below.lhs) else None


class CancelRoot(RewritePattern):
    """A product of two that are one root, its powers 2 and 4, and `|x| x`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp | PowOp, rewriter: PatternRewriter) -> None:
        power = 2.0 if isinstance(op, MulOp) else splat(op.rhs)
        if is_differentiated(op) or element_of(op.result) not in FLOATS or power not in (2.0, 4.0):
            return
        b = MirBuilder(rewriter)
        if isinstance(op, MulOp) and (x := _times_its_absolute_value(op)) is not None:
            signed = b.where(b.lt(x, 0.0), -(b.value(x) * x), b.value(x) * x)
            rewriter.replace(op, [], [signed.ssa])
            return
        if isinstance(op, MulOp) and op.lhs is not op.rhs and not _are_absolute_values_of_one(op):
            return
        if (square := _below(op.lhs, b)) is None:
            return
        found = square if power == 2.0 else square * square
        rewriter.replace(op, [], [b.expand(found, shape_of(op.result)).ssa])


def _are_absolute_values_of_one(op: MulOp) -> bool:
    lhs, rhs = op.lhs.owner, op.rhs.owner
    return isinstance(lhs, AbsOp) and isinstance(rhs, AbsOp) and lhs.operand is rhs.operand


def _times_its_absolute_value(op: MulOp) -> SSAValue | None:
    """The x of `|x| x`, which is a square on either side of 0."""
    for absolute, x in ((op.lhs.owner, op.rhs), (op.rhs.owner, op.lhs)):
        if isinstance(absolute, AbsOp) and absolute.operand is x:
            return x
    return None


class MirCancelRootsPass(RewritingPass):
    """
    Replace the square of an absolute value, of `hypot`, and of the root of what is never negative.

    ```
    %0 = mir.abs %x
    %y = mir.mul %0, %0
    // becomes
    %y = mir.mul %x, %x
    ```

    The derivative of the root is 0 at 0 by convention, or infinite. The square is smooth: its second derivative there
    is 2, where the product rule finds 0 or NaN. `|x| x` becomes a choice of two squares: its second derivative at 0 is
    that of the right side.
    """

    name = "mir-cancel-roots"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, CancelRoot())
