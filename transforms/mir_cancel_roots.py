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

_KEEP_SIGNS = (AddOp, MulOp, ExpandOp, ReshapeOp, TransposeOp, ReduceMeanOp, ReduceSumOp)
_NEVER_NEGATIVE = (AbsOp, ComplexNormSqOp, ExpOp, HypotOp, SqrtOp)


def _is_never_negative(value: SSAValue) -> bool:
    """Whether a value is seen to be 0, positive or NaN: so are sums and products of what is."""
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        one = waiting.pop()
        owner = one.owner
        if one in seen or isinstance(owner, _NEVER_NEGATIVE) or (isinstance(owner, MulOp) and owner.lhs is owner.rhs):
            continue
        seen.add(one)
        number = splat(one)
        if isinstance(owner, _KEEP_SIGNS):
            waiting += owner.operands
        elif not isinstance(number, float) or not number >= 0:
            return False
    return True


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
    """A product of two that are one root, its power 2, an even power of `|x|`, and `|x| x`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp | PowOp, rewriter: PatternRewriter) -> None:
        if is_differentiated(op) or element_of(op.result) not in FLOATS:
            return
        b = MirBuilder(rewriter)
        found = _product(op, b) if isinstance(op, MulOp) else _power(op, b)
        if found is not None:
            rewriter.replace(op, [], [b.expand(found, shape_of(op.result)).ssa])


def _product(op: MulOp, b: MirBuilder) -> Value | None:
    for absolute, x in ((op.lhs.owner, b.value(op.rhs)), (op.rhs.owner, b.value(op.lhs))):
        if isinstance(absolute, AbsOp) and absolute.operand is x.ssa:
            one = b.ones_like(x)
            return b.where(x < 0.0, -one, one) * (x * x)
    return _below(op.lhs, b) if op.lhs is op.rhs or _are_absolute_values_of_one(op) else None


def _power(op: PowOp, b: MirBuilder) -> Value | None:
    power, base = splat(op.rhs), op.lhs.owner
    if power == 2.0:
        return _below(op.lhs, b)
    if isinstance(base, AbsOp) and isinstance(power, float) and power % 2 == 0:
        return b.pow(base.operand, power)
    return None


def _are_absolute_values_of_one(op: MulOp) -> bool:
    lhs, rhs = op.lhs.owner, op.rhs.owner
    return isinstance(lhs, AbsOp) and isinstance(rhs, AbsOp) and lhs.operand is rhs.operand


class MirCancelRootsPass(RewritingPass):
    """
    Simplify squares of absolute values, of `hypot`, and of roots of non-negative values.

    ```
    %0 = mir.abs %x
    %y = mir.mul %0, %0
    // becomes
    %y = mir.mul %x, %x
    ```

    The derivative of a root at 0 is 0 by convention, or infinite. The square is smooth: its second derivative at 0 is
    2, where the product rule gives 0 or NaN. `|x| x` becomes the square times 1 or -1; its second derivative at 0
    is the right-sided one.
    """

    name = "mir-cancel-roots"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, CancelRoot())
